"""df-UCT: equal to its slow twin, and to UCT if all moves are compared; its stack test skips nothing that matters."""

import math
from typing import Any

import numpy as np
import pytest
from hypothesis import assume, example, given, settings
from hypothesis import strategies as st

from tests.naive.dfuct import NaiveDfUct
from tests.support.results import result_of
from tests.support.searches import (
    EVERY_GAME,
    SMALL_GAMES,
    assert_consistent,
    assert_same_statistics,
    assert_same_tree,
    new_searcher,
    position_of,
    root_statistics,
    search,
    sized,
    tree_statistics,
)
from tests.support.trees import naive_statistics
from treespan.core.jit import JIT_DISABLED
from treespan.search.dfuct import quiet_playouts
from treespan.search.options import SearchOptions
from treespan.search.work import LEVELS, REPORTS, RETURNS, THIRD_BEST, THIRD_BEST_AUDIT

PLAYOUTS = sized(3000, without_jit=200)
NAIVE_PLAYOUTS = sized(400, without_jit=100)
SEEDS = (1,) if JIT_DISABLED else (1, 2)
VARIANTS: list[dict[str, Any]] = [
    {},
    {"c": 0.1},  # stays below for long
    {"bandit": "tuned1"},
    {"bandit": "puct"},
    {"fpu": "1.1", "c": 0.3},
    {"fpu": "nan"},
    {"widening": 4.3},
    {"bandit": "puct", "widening": 7.7},
    {"threshold": 1, "max_depth": 3},
]
# Where rewards are other than 0, 1/2 and 1, sums of sums are rounded differently from sums.
ROUNDING = 1e-9


@pytest.mark.parametrize("kept_moves", ["2", "all"])
@pytest.mark.parametrize("options", VARIANTS, ids=str)
@pytest.mark.parametrize("spec", SMALL_GAMES)
def test_tree_and_counters_equal_those_of_the_slow_twin(spec: str, options: dict[str, Any], kept_moves: str) -> None:
    chosen = {**options, "algorithm": "dfuct", "kept_moves": kept_moves, "audit": True, "solver": False}
    for seed in SEEDS:
        twin = NaiveDfUct(position_of(spec), SearchOptions(**chosen), seed)
        twin.run(NAIVE_PLAYOUTS)
        searcher = search(spec, NAIVE_PLAYOUTS, seed, **chosen)
        assert_same_statistics(tree_statistics(searcher.tree), naive_statistics(twin), ROUNDING)
        counters = searcher.work.counters[[REPORTS, RETURNS, THIRD_BEST]].tolist()
        assert counters == [twin.reports, twin.returns, twin.third_best]
        if kept_moves == "2":
            assert int(searcher.work.counters[THIRD_BEST_AUDIT]) == twin.audit


@pytest.mark.parametrize("options", [{}, {"bandit": "tuned2"}, {"bandit": "puct"}, {"solver": True}], ids=str)
@pytest.mark.parametrize("spec", EVERY_GAME)
def test_comparing_all_moves_gives_exactly_uct(spec: str, options: dict[str, Any]) -> None:
    playouts = sized(3000, without_jit=60)
    for seed in SEEDS:
        uct = search(spec, playouts, seed, **{"solver": False, **options})
        all_moves = search(spec, playouts, seed, algorithm="dfuct", kept_moves="all", **{"solver": False, **options})
        assert uct.playouts == all_moves.playouts
        assert_same_tree(uct.tree, all_moves.tree, ROUNDING)
        assert (uct.tree.used == all_moves.tree.used).all()


@pytest.mark.parametrize("bandit", ["ucb1", "tuned1", "puct"])
@pytest.mark.parametrize("spec", EVERY_GAME)
def test_visits_add_up(spec: str, bandit: str) -> None:
    playouts = sized(3000, without_jit=60)
    searcher = search(spec, playouts, algorithm="dfuct", bandit=bandit, solver=False)
    assert_consistent(searcher, playouts)
    assert sum(visits for visits, _ in root_statistics(searcher).values()) == playouts


def test_two_moves_are_not_always_enough() -> None:
    """Otherwise the tests of `kept_moves=2` above would be those of `all`."""
    two, every = (search("pgame", PLAYOUTS, algorithm="dfuct", fpu="1.1", kept_moves=kept) for kept in ("2", "all"))
    assert tree_statistics(two.tree) != tree_statistics(every.tree)


@pytest.mark.parametrize("spec", SMALL_GAMES)
def test_pausing_changes_nothing(spec: str) -> None:
    whole = search(spec, PLAYOUTS, algorithm="dfuct")
    paused = new_searcher(spec, algorithm="dfuct")
    done = sum(paused.run(part) for part in (0, 1, 2, PLAYOUTS // 3, 7))
    paused.run(PLAYOUTS - done)
    paused.finish()
    assert_same_tree(whole.tree, paused.tree)
    assert np.array_equal(whole.work.counters, paused.work.counters)


def test_results_reach_the_tree_at_the_end_only_once() -> None:
    searcher = new_searcher("pgame", algorithm="dfuct")
    searcher.run(PLAYOUTS)
    searcher.finish()
    statistics = tree_statistics(searcher.tree)
    searcher.finish()
    assert int(searcher.work.counters[LEVELS]) == 0
    assert_same_statistics(tree_statistics(searcher.tree), statistics)
    searcher.run(PLAYOUTS)
    searcher.finish()
    assert_consistent(searcher, 2 * PLAYOUTS)


# The stack test


def ucb(wins: float, visits: int, total: int, c: float) -> float:
    return wins / visits + c * math.sqrt(math.log(total) / visits)


@settings(max_examples=500)
@given(
    best=st.tuples(st.integers(1, 2000), st.floats(0, 1)),
    second=st.tuples(st.integers(0, 2000), st.floats(0, 1)),
    others=st.integers(0, 10_000),
    c=st.one_of(st.sampled_from([0.0, 0.1, 1.0, 2.8]), st.floats(0, 10)),
    fpu=st.floats(0, 2),
)
@example(best=(1, 1.0), second=(1, 0.0), others=0, c=1.0, fpu=0.0)
@example(best=(1, 1.0), second=(1, 1.0), others=0, c=0.0, fpu=0.0)
@example(best=(2000, 1.0), second=(1, 0.0), others=0, c=0.01, fpu=0.0)
@example(best=(1, 0.0), second=(0, 0.0), others=0, c=2.8, fpu=0.0)
def test_no_level_can_flip_within_its_quiet_playouts(
    best: tuple[int, float], second: tuple[int, float], others: int, c: float, fpu: float
) -> None:
    """All losses are the worst case: a win only raises the best move, and leaves the second as it is."""
    (s1, mean), (s2, second_mean) = best, second
    w1, w2, t = mean * s1, second_mean * s2, s1 + s2 + others

    def scores(k: int) -> tuple[float, float]:
        return ucb(w1, s1 + k, t + k, c), ucb(w2, s2, t + k, c) if s2 else fpu

    assume(scores(0)[0] >= scores(0)[1])
    quiet = int(quiet_playouts(*scores(0), w1 / s1, s1, t, c))
    assert quiet >= 0
    for k in {*range(min(quiet, 50) + 1), quiet // 2, max(quiet - 1, 0), quiet}:
        first, other = scores(k)
        assert first >= other - 1e-12


def test_clear_lead_is_left_alone_for_long_and_a_tie_is_tested_at_once() -> None:
    lead, behind = ucb(950, 1000, 1500, 0.1), ucb(50, 500, 1500, 0.1)
    assert int(quiet_playouts(lead, behind, 0.95, 1000, 1500, 0.1)) > 500
    assert int(quiet_playouts(lead, lead, 0.95, 1000, 1500, 0.1)) == 0


# Counters


def test_reports_of_a_search_that_returns_after_every_playout() -> None:
    """Two moves, none visited: each of the first playouts makes the other move best. One level, one report each."""
    result = result_of("sequential:algorithm=dfuct,threshold=1000", "pgame:branching=2", 2)
    assert result.report_levels == 1.0
    assert result.third_best == 0.0 and result.third_best_audit is None


def test_reports_of_a_search_that_never_returns() -> None:
    """One move, so nothing can flip, down to the last empty cell of the board."""
    moves = "a1 b1 c1 b2 a2 c2 b3 a3"
    result = result_of("sequential:algorithm=dfuct,solver=no", "tictactoe", 50, moves)
    assert (result.report_levels, result.depth, result.max_depth) == (0.0, 1.0, 1)


def test_reports_where_nature_moves_on_the_second_level() -> None:
    """Nature draws anew after every playout: all below the first level is left each time."""
    searcher = search("sailing:size=4", PLAYOUTS, algorithm="dfuct", c=0.0, fpu="0", threshold=1, max_depth=2)
    # The move that is tried first is never passed by one of urgency 0. The first playout has no node below.
    assert sorted(visits for visits, _ in root_statistics(searcher).values())[-1] == PLAYOUTS
    assert searcher.work.counters[[REPORTS, RETURNS]].tolist() == [PLAYOUTS - 1] * 2


@pytest.mark.parametrize("options", [{}, {"c": 0.1}, {"bandit": "tuned1"}, {"bandit": "puct"}], ids=str)
def test_with_two_moves_there_is_no_third(options: dict[str, Any]) -> None:
    searcher = search("pgame:branching=2", PLAYOUTS, algorithm="dfuct", audit=True, **options)
    assert searcher.work.counters[[THIRD_BEST, THIRD_BEST_AUDIT]].tolist() == [0, 0]
    assert int(searcher.work.counters[RETURNS]) > 0


@pytest.mark.parametrize("spec", SMALL_GAMES)
def test_audit_only_looks(spec: str) -> None:
    plain, audited = (search(spec, PLAYOUTS, algorithm="dfuct", c=0.1, audit=audit) for audit in (False, True))
    assert_same_tree(plain.tree, audited.tree, ROUNDING)
    assert plain.work.counters[:THIRD_BEST_AUDIT].tolist() == audited.work.counters[:THIRD_BEST_AUDIT].tolist()
    assert int(plain.work.counters[THIRD_BEST_AUDIT]) == 0
    assert 0 <= int(audited.work.counters[THIRD_BEST_AUDIT]) <= PLAYOUTS


def test_result_has_the_figures_as_shares() -> None:
    result = result_of("sequential:algorithm=dfuct,audit=yes,fpu=1.1", "pgame", PLAYOUTS)
    assert result.report_levels is not None and 0 < result.report_levels <= result.max_depth
    assert result.third_best is not None and 0 <= result.third_best <= 1
    assert result.third_best_audit is not None and 0 < result.third_best_audit <= 1
    assert result.as_json()["report_jobs"]["per_playout"] == result.report_levels
    other = result_of("sequential", "pgame", 10)
    assert (other.report_levels, other.third_best, other.third_best_audit) == (None, None, None)


def test_df_uct_reports_less_often_than_it_descends() -> None:
    """What it is made for: most playouts stay below, once the search is past its first tries."""
    searcher = search("pgame:branching=2", sized(20_000, without_jit=500), algorithm="dfuct", c=0.3)
    depth_sum = int(searcher.work.counters[1])
    assert int(searcher.work.counters[REPORTS]) < depth_sum / 2
