"""Moving on: exactly what lies below the move is kept, and the search goes on from there."""

from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest

from tests.support.searches import (
    assert_consistent,
    edges_of,
    new_searcher,
    nodes_by_key,
    search,
    sized,
    tree_statistics,
)
from tests.support.trees import child_of, content, most_visited
from treespan.core.errors import PositionError
from treespan.games.position import Position
from treespan.games.tictactoe import TicTacToe
from treespan.search.options import SearchOptions
from treespan.search.reuse import keep_subtree
from treespan.search.searcher import Searcher
from treespan.search.tree import EDGES, NO_NODE, NODES, ROOT, TERMINAL, new_tree
from treespan.search.work import LEVELS

PLAYOUTS = sized(3000, without_jit=300)
VARIANTS: list[dict[str, Any]] = [
    {},
    {"algorithm": "dfuct"},
    {"bandit": "rave"},
    {"bandit": "rave-mse"},
    {"bandit": "puct"},
    {"bandit": "rave", "widening": 3.3},
    {"solver": False, "threshold": 1},
]


@pytest.mark.parametrize("options", VARIANTS, ids=str)
@pytest.mark.parametrize("spec", ["tictactoe", "connect4", "pgame"])
def test_exactly_what_lies_below_the_move_is_kept(spec: str, options: dict[str, Any]) -> None:
    searcher = search(spec, PLAYOUTS, **options)
    old, move = searcher.tree, most_visited(searcher)
    below = content(old, child_of(old, 0, move))
    assert searcher.advance(move)
    new = searcher.tree
    assert content(new, 0) == below
    assert int(new.used[NODES]) == len(below) == len(nodes_by_key(new))
    assert int(new.used[EDGES]) == sum(len(node["edge_move"]) for node in below.values())
    assert searcher.playouts == 0
    assert searcher.position is not None and int(new.node_key[ROOT]) == searcher.position.key


@pytest.mark.parametrize("options", VARIANTS, ids=str)
@pytest.mark.parametrize("spec", ["tictactoe", "connect4", "pgame"])
def test_searching_on_keeps_the_books(spec: str, options: dict[str, Any]) -> None:
    searcher = search(spec, PLAYOUTS, **{**options, "solver": False})
    for _ in range(3):
        assert searcher.advance(most_visited(searcher))
        kept = searcher.root().visits
        assert kept > 0
        searcher.run(PLAYOUTS)
        searcher.finish()
        assert_consistent(searcher, PLAYOUTS, kept)


@pytest.mark.parametrize("algorithm", ["uct", "dfuct"])
def test_proofs_are_kept(algorithm: str) -> None:
    """O must block at a3; every other answer loses."""
    searcher = search("tictactoe", PLAYOUTS, moves="a1 b2 a2", algorithm=algorithm)
    assert searcher.root().proven is not None
    block = searcher.game.parse_move("a3")
    proven = {m.id: m.proven for m in searcher.root().moves}
    assert all(proof == "loss" for move, proof in proven.items() if move != block)
    assert searcher.advance(block)
    opposite = {"loss": "win", "draw": "draw", "win": "loss"}
    assert searcher.root().proven == opposite[str(proven[block])]
    assert searcher.run(10) == 0


def test_advancing_by_two_moves_is_advancing_twice() -> None:
    once, twice = search("connect4", PLAYOUTS), search("connect4", PLAYOUTS)
    first = most_visited(once)
    assert twice.advance(first)
    second = most_visited(twice)
    assert twice.advance(second)
    assert once.advance(first, second)
    assert content(once.tree, 0) == content(twice.tree, 0)
    assert once.position is not None and once.position.moves_made == [first, second]


def test_advancing_by_nothing_keeps_everything() -> None:
    searcher = search("connect4", PLAYOUTS)
    before = content(searcher.tree, 0)
    assert searcher.advance()
    assert content(searcher.tree, 0) == before


def test_advancing_past_nature_keeps_what_is_below_its_move() -> None:
    searcher = search("sailing:size=4", sized(5000, without_jit=300), c=0.05, threshold=1)
    heading = most_visited(searcher)
    nature = child_of(searcher.tree, 0, heading)
    edges = edges_of(searcher.tree, nature)
    wind = int(searcher.tree.edge_move[edges][np.argmax(searcher.tree.edge_visits[edges])])
    below = content(searcher.tree, child_of(searcher.tree, nature, wind))
    assert searcher.advance(heading, wind)
    assert content(searcher.tree, 0) == below


def test_advancing_to_natures_turn_is_refused_and_changes_nothing() -> None:
    searcher = search("sailing:size=4", 100)
    before, position = content(searcher.tree, 0), searcher.position
    with pytest.raises(PositionError, match="nature moves here; play its move first"):
        searcher.advance(most_visited(searcher))
    assert content(searcher.tree, 0) == before and searcher.position is position


@pytest.mark.parametrize("moves", [[8], [8, 0]])
def test_move_without_a_node_starts_anew(moves: list[int]) -> None:
    searcher = search("tictactoe", 5, threshold=100)
    assert not searcher.advance(*moves)
    assert (searcher.root().visits, int(searcher.tree.used[NODES]), searcher.playouts) == (0, 1, 0)
    searcher.run(100)
    searcher.finish()
    assert_consistent(searcher, 100)


@pytest.mark.parametrize("moves, message", [([0], "not legal"), ([3, 3, 9], "not legal")])
def test_illegal_moves_are_refused_and_change_nothing(moves: list[int], message: str) -> None:
    searcher = search("connect4", PLAYOUTS, moves="1 1 1 1 1 1")
    before, position = content(searcher.tree, 0), searcher.position
    with pytest.raises(PositionError, match=message):
        searcher.advance(*moves)
    assert content(searcher.tree, 0) == before and searcher.position is position


def test_advancing_to_the_end_of_the_game_is_refused() -> None:
    searcher = search("tictactoe", 100, moves="a1 b1 a2 b2")
    with pytest.raises(
        PositionError, match="the game is over, so there is nothing to search; give an earlier position"
    ):
        searcher.advance(searcher.game.parse_move("a3"))


def test_results_still_on_the_stack_are_not_lost() -> None:
    whole, moved = (new_searcher("pgame", algorithm="dfuct", c=0.05) for _ in range(2))
    for searcher in (whole, moved):
        searcher.run(PLAYOUTS)
        assert int(searcher.work.counters[LEVELS]) > 2
    whole.finish()
    move = most_visited(whole)
    below = content(whole.tree, child_of(whole.tree, 0, move))
    assert moved.advance(move)
    assert content(moved.tree, 0) == below


def test_tree_that_was_full_has_room_again() -> None:
    searcher = search("connect4", PLAYOUTS, nodes=100, solver=False)
    assert int(searcher.tree.used[2]) > 0
    searcher.advance(most_visited(searcher))
    assert int(searcher.tree.used[2]) == 0
    kept, edges = searcher.root().visits, int(searcher.tree.used[EDGES])
    searcher.run(PLAYOUTS)
    assert int(searcher.tree.used[EDGES]) > edges
    assert_consistent(searcher, PLAYOUTS, kept)


def test_shared_nodes_are_copied_once() -> None:
    searcher = search("tictactoe", PLAYOUTS, threshold=1, solver=False)
    tree = new_tree(searcher.options.nodes, False, False)
    keep_subtree(searcher.tree, tree, 0)
    assert tree_statistics(tree) == tree_statistics(searcher.tree)
    assert int(tree.used[NODES]) == int(searcher.tree.used[NODES])
    children = tree.edge_child[: int(tree.used[EDGES])]
    assert (children[children < TERMINAL] < int(tree.used[NODES])).all() and NO_NODE in children


# Moves that only the history forbids


class Restless(TicTacToe):
    """Tic-tac-toe in which the corners may not be taken after the first move; with the rules of the original."""

    def forbidden_moves(self, state: Any, moves: Sequence[int], history: Sequence[int]) -> set[int]:
        return {0, 2, 6, 8} & set(moves) if len(history) > 1 else set()


def restless_searcher(moves: str, **options: Any) -> Searcher:
    position = Position(Restless())
    position.play_text(moves)
    searcher = Searcher(position.game, SearchOptions(nodes=10_000, **options))
    searcher.set_position(position)
    return searcher


@pytest.mark.parametrize("algorithm", ["uct", "dfuct"])
def test_forbidden_moves_are_taken_out_of_the_root(algorithm: str) -> None:
    searcher = restless_searcher("b2", algorithm=algorithm, solver=False)
    assert sorted(m.id for m in searcher.root().moves) == [1, 3, 5, 7]
    searcher.run(500)
    searcher.finish()
    assert sum(m.visits for m in searcher.root().moves) == searcher.root().visits == 500
    assert all(m.visits > 0 for m in searcher.root().moves)


@pytest.mark.parametrize("playouts", [20, 500])
def test_visits_of_forbidden_moves_are_not_the_new_roots(playouts: int) -> None:
    searcher = restless_searcher("", solver=False, threshold=1)
    searcher.run(playouts)
    assert searcher.advance(4)
    view = searcher.root()
    assert sorted(m.id for m in view.moves) == [1, 3, 5, 7]
    assert view.visits == sum(m.visits for m in view.moves)
    searcher.run(100)
    assert searcher.root().visits == view.visits + 100


def test_proof_by_a_forbidden_move_is_dropped() -> None:
    """X to move could win at a corner; the history forbids it."""
    searcher = restless_searcher("", threshold=1)
    searcher.set_position(Position(searcher.game, searcher.game.read_diagram(".XX OO. ...")))
    assert searcher.run(1000) < 1000 and searcher.root().proven == "win"
    searcher.advance()  # with a history of one position nothing is forbidden
    assert searcher.root().proven == "win"
    searcher.set_position(Position(searcher.game, searcher.game.read_diagram(".XX .O. ...")))
    searcher.run(1000)
    mistake = searcher.game.parse_move("a2")  # leads there, with a history of two
    assert {m.id: m.proven for m in searcher.root().moves}[mistake] == "loss"
    assert searcher.advance(mistake)
    assert {0, 2, 6, 8}.isdisjoint(m.id for m in searcher.root().moves)
    assert all(m.proven != "win" for m in searcher.root().moves) and searcher.root().proven != "win"
