"""Results: which move is chosen, how searches are told apart, and what is printed."""

import json
import math
import random
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.support.results import result_of
from tests.support.searches import position_of, search, sized
from treespan.search.options import CHOICES
from treespan.search.result import (
    MoveStatistics,
    lower_bound,
    proof_name,
    rank_moves,
    visit_signature,
)
from treespan.search.searcher import RootView, merge_moves
from treespan.search.text import result_text
from treespan.search.tree import DRAW, LOSS, UNPROVEN, WIN


def move(id: int, visits: int, wins: float, proven: str | None = None) -> MoveStatistics:
    return MoveStatistics(str(id), visits, wins / visits if visits else 0.0, proven=proven, id=id, wins=wins)


statistics = st.builds(
    lambda id, visits, share, proven: move(id, visits, share * visits, proven),
    id=st.integers(0, 100),
    visits=st.integers(0, 1000),
    share=st.floats(0, 1),
    proven=st.sampled_from([None, None, "win", "draw", "loss"]),
)
move_lists = st.lists(statistics, min_size=1, max_size=10, unique_by=lambda m: m.id)

FEW_BUT_GOOD = move(1, 10, 9.5)
MANY = move(2, 100, 60.0)
SOLID = move(3, 80, 56.0)
NEVER = move(4, 0, 0.0)


@pytest.mark.parametrize("choice, expected", [("visits", [2, 3, 1, 4]), ("mean", [1, 3, 2, 4]), ("lcb", [1, 3, 2, 4])])
def test_choices_rank_by_what_they_say(choice: str, expected: list[int]) -> None:
    assert [m.id for m in rank_moves([NEVER, SOLID, FEW_BUT_GOOD, MANY], choice)] == expected


def test_lower_bound_mistrusts_few_visits() -> None:
    lucky, sure = move(1, 2, 2.0), move(2, 200, 180.0)
    assert rank_moves([lucky, sure], "mean")[0] is lucky
    assert rank_moves([lucky, sure], "lcb")[0] is sure


@pytest.mark.parametrize("choice", CHOICES)
def test_proven_wins_come_first_and_losses_last(choice: str) -> None:
    won, lost = move(8, 1, 0.0, "win"), move(9, 10**6, 10**6 - 1.0, "loss")
    drawn = move(7, 5, 2.5, "draw")
    ranked = rank_moves([lost, MANY, drawn, won], choice)
    assert ranked[0] is won and ranked[-1] is lost


@given(move_lists, st.sampled_from(CHOICES))
def test_ranking_does_not_depend_on_the_order_given(moves: list[MoveStatistics], choice: str) -> None:
    ranked = rank_moves(moves, choice)
    shuffled = random.Random(1).sample(moves, len(moves))
    assert [m.id for m in rank_moves(shuffled, choice)] == [m.id for m in ranked]
    assert sorted(m.id for m in ranked) == sorted(m.id for m in moves)
    proofs = [{"win": 1, "loss": -1}.get(m.proven or "", 0) for m in ranked]
    assert proofs == sorted(proofs, reverse=True)


@given(move_lists)
def test_most_visited_move_is_chosen_where_nothing_is_proven(moves: list[MoveStatistics]) -> None:
    unproven = [move(m.id, m.visits, m.wins) for m in moves]
    assert rank_moves(unproven, "visits")[0].visits == max(m.visits for m in unproven)
    visited = [m for m in unproven if m.visits]
    if visited:
        assert rank_moves(unproven, "mean")[0].value == max(m.value for m in visited)


@given(st.integers(1, 10**6), st.floats(0, 1))
def test_lower_bound_is_the_root_of_wilsons_equation(visits: int, mean: float) -> None:
    bound = lower_bound(mean * visits, visits)
    assert -1e-12 <= bound <= mean + 1e-12
    # At the bound q the observed mean lies exactly 1.96 standard errors away.
    assert abs(mean - bound) == pytest.approx(1.96 * math.sqrt(max(bound * (1 - bound), 0) / visits), abs=1e-6)


def test_lower_bound_of_nothing_is_0() -> None:
    assert lower_bound(0.0, 0) == 0.0


# Signatures


@given(move_lists)
def test_signature_depends_on_moves_and_visits_only(moves: list[MoveStatistics]) -> None:
    signature = visit_signature(moves)
    assert len(signature) == 16 and int(signature, 16) >= 0
    assert visit_signature(moves[::-1]) == signature
    assert visit_signature([move(m.id, m.visits, 0.0) for m in moves]) == signature
    more = [move(m.id, m.visits + (m is moves[0]), 0.0) for m in moves]
    assert visit_signature(more) != signature


def test_signature_tells_moves_with_swapped_visits_apart() -> None:
    assert visit_signature([move(1, 5, 0), move(2, 7, 0)]) != visit_signature([move(1, 7, 0), move(2, 5, 0)])


# Merging


def test_merged_moves_add_up() -> None:
    one = RootView([move(1, 10, 5.0), move(2, 0, 0.0)], 10, None)
    other = RootView([move(2, 4, 1.0, "loss"), move(1, 30, 25.0), move(3, 1, 1.0)], 35, None)
    merged = {m.id: m for m in merge_moves([one, other])}
    assert {i: (m.visits, m.wins, m.value) for i, m in merged.items()} == {
        1: (40, 30.0, 0.75),
        2: (4, 1.0, 0.25),
        3: (1, 1.0, 1.0),
    }
    assert (merged[1].proven, merged[2].proven) == (None, "loss")
    assert one.moves[0].visits == 10  # merging changes nothing that it was given


@given(move_lists)
def test_merging_one_tree_changes_nothing(moves: list[MoveStatistics]) -> None:
    assert merge_moves([RootView(moves, 0, None)]) == moves


# What a search gives


@pytest.mark.parametrize("choice", CHOICES)
def test_chosen_move_is_the_first_of_the_ranking(choice: str) -> None:
    result = result_of(f"sequential:choice={choice}", "connect4", sized(2000, without_jit=200), seed=3)
    assert result.move == result.moves[0].move == rank_moves(result.moves, choice)[0].move
    assert result.best_share == result.moves[0].visits / result.root_visits
    assert result.line[0] == result.move


def test_win_is_played_even_if_it_was_visited_least() -> None:
    result = result_of("sequential", "tictactoe", 1000, moves="a1 b1 a2 b2", seed=3)
    assert (result.move, result.proven, result.moves[0].proven) == ("a3", "win", "win")
    assert result.playouts == result.root_visits < 1000


def test_value_is_that_of_the_player_to_move() -> None:
    """X to move is about to win; with one move more it is O who is lost."""
    for moves, sign in (("3 3 4 4", 1), ("3 3 4 4 5", -1)):
        result = result_of("sequential:solver=no", "connect4", sized(2000, without_jit=300), moves, seed=3)
        assert sign * (result.moves[0].value - 0.5) > 0.1


def test_result_as_json() -> None:
    result = result_of("sequential:bandit=puct,algorithm=dfuct", "pgame:branching=4", 300, seed=3)
    document = json.loads(json.dumps(result.as_json()))
    assert document["game"] == "pgame:branching=4"
    assert document["scheme"] == "sequential:algorithm=dfuct,bandit=puct"
    assert document["signature"] == result.signature == visit_signature(result.moves)
    assert document["playouts"] == document["root_visits"] == sum(m["visits"] for m in document["moves"]) == 300
    assert document["optimal"] in (True, False)
    assert set(document["moves"][0]) == {"move", "visits", "value", "prior"}
    names = {"runtime", "ranks", "threads", "seed", "seconds", "playouts_per_second", "wall_seconds", "depth", "nodes"}
    names |= {"messages", "report_jobs", "best_share", "load", "end_seconds", "tree_full", "interrupted"}
    assert names <= set(document)


@pytest.mark.parametrize(
    ("changes", "hints"),
    [
        ({}, True),
        ({"runtime": "threads"}, False),
        ({"runtime": "simulated"}, False),
        ({"threads": 6}, False),  # workers
        ({"seconds": 0.05}, False),
        ({"load": [0.5, 0.6]}, False),
        ({"playouts": 10_000}, False),
        ({"playouts": 0}, False),
    ],
)
def test_ranks_that_do_not_pay_are_told_of(changes: dict[str, Any], hints: bool) -> None:
    result = replace(result_of("sequential", "tictactoe", 100, seed=3), playouts=100_000, seconds=1.0)
    result = replace(result, **{"runtime": "mpi", "ranks": 2, "threads": 2, "load": [0.2, 0.25], **changes})
    line = "playouts of this game are too short for ranks: one thread is faster; search without ranks"
    assert result.hint == result.as_json()["hint"] == (line if hints else None)
    assert (line in " ".join(result_text(result).split())) is hints


def test_json_names_proofs_and_leaves_out_what_is_not_known() -> None:
    result = result_of("sequential", "tictactoe", 1000, moves="a1 b1 a2 b2", seed=3)
    entries = [entry for entry in result.as_json()["moves"] if entry["move"] == "a3"]
    assert entries == [{"move": "a3", "visits": entries[0]["visits"], "value": 1.0, "proven": "win"}]
    assert result.as_json()["optimal"] is None


def test_proofs_have_names() -> None:
    assert [proof_name(proof) for proof in (UNPROVEN, LOSS, DRAW, WIN)] == [None, "loss", "draw", "win"]


def test_principal_variation_follows_the_most_visited_moves() -> None:
    searcher = search("connect4", sized(3000, without_jit=300), solver=False)
    for first in range(7):
        line = searcher.principal_variation(first, length=4)
        assert 1 <= len(line) <= 4 and line[0] == str(first + 1)
        position = position_of("connect4", " ".join(line))
        assert len(position.moves_made) == len(line)
    view = searcher.root()
    best = max(view.moves, key=lambda m: m.visits)
    assert len(searcher.principal_variation(best.id)) >= 2


LONG_SCHEME = "span:grant=3,jobs=80,threshold=8,prior_visits=10,nodes=1000000"


def test_results_fit_any_terminal() -> None:
    counts: dict[str, Any] = {"playouts_by_rank": [10, 10], "load": [1.0, 0.5]}
    counts |= {"received_by_rank": [5, 5], "queue_peak_by_rank": [1, 1]}
    result = replace(result_of("sequential", "tictactoe", 20), scheme=LONG_SCHEME, runtime="simulated", **counts)
    for width in range(20, 121):
        assert all(len(line) <= width for line in result_text(result, width=width).splitlines())
