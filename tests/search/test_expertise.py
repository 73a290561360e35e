"""Expertise and conditioning as options: what they change in the tree, and where they are refused."""

from typing import Any

import numpy as np
import pytest

from tests.support.go_games import RACE
from tests.support.searches import assert_same_tree, new_searcher, position_of, search, sized
from treespan.core.errors import OptionError
from treespan.games.go import Go
from treespan.games.position import Position
from treespan.games.registry import make_game
from treespan.schemes.registry import read_scheme
from treespan.search.bandits import with_virtual_wins
from treespan.search.options import SearchOptions
from treespan.search.searcher import Searcher, child_of
from treespan.search.shared_searcher import SharedSearcher
from treespan.search.tree import ROOT

PLAYOUTS = sized(400, without_jit=10)
BOTH: dict[str, Any] = {"expertise": 30.0, "conditioning": True, "policy": "patterns", "bandit": "rave-mse"}


def race() -> Position:
    game = Go(size=7)
    return Position(game, game.read_diagram(f"{RACE}\nblack to play"))


def test_virtual_wins_are_wins_beside_the_visits() -> None:
    assert with_virtual_wins(0.25, 8, 4.0) == pytest.approx((0.25 * 8 + 4) / 12)
    assert with_virtual_wins(0.25, 8, -4.0) == pytest.approx(0.25 * 8 / 12)
    assert with_virtual_wins(0.25, 8, 0.0) == 0.25
    assert with_virtual_wins(np.inf, 0, 4.0) == np.inf


def test_a_node_has_the_virtual_wins_of_its_moves() -> None:
    searcher = new_searcher(race(), **BOTH)
    tree = searcher.tree
    wins = {
        searcher.game.move_name(int(tree.edge_move[edge])): float(tree.edge_expert[edge])
        for edge in range(int(tree.node_count[ROOT]))
        if tree.edge_expert[edge] != 0.0
    }
    assert wins == {"A2": pytest.approx(30 * 4 / 7), "B2": pytest.approx(30 * 4 / 7)}
    assert len(new_searcher(race(), policy="patterns").tree.edge_expert) == 0


def test_short_searches_take_to_the_necessary_move() -> None:
    chosen = {}
    for expertise in (0.0, 30.0):
        moves = search(race(), 30, **{**BOTH, "expertise": expertise}).root().moves
        chosen[expertise] = sum(move.visits for move in moves if move.move in ("A2", "B2"))
    assert chosen[30.0] > chosen[0.0]


def test_one_thread_on_a_shared_tree_is_the_sequential_search() -> None:
    alone = search(race(), PLAYOUTS, **BOTH)
    shared = SharedSearcher(race().game, SearchOptions(**{"nodes": alone.options.nodes, **BOTH}), 1, 1, "none")
    shared.set_position(race())
    shared.run(PLAYOUTS)
    assert_same_tree(alone.tree, shared.tree)


def test_threads_lose_no_simulation() -> None:
    shared = SharedSearcher(race().game, SearchOptions(nodes=50_000, **BOTH), 1, 4, "loss")
    shared.set_position(race())
    shared.run(PLAYOUTS)
    assert int(shared.tree.node_visits[ROOT]) == PLAYOUTS


def test_virtual_wins_are_kept_with_the_tree() -> None:
    searcher: Searcher = search(race(), PLAYOUTS, **BOTH)
    best = max(searcher.root().moves, key=lambda move: move.visits)
    child = child_of(searcher.tree, ROOT, best.id)
    first, count = int(searcher.tree.node_first[child]), int(searcher.tree.node_count[child])
    expected = searcher.tree.edge_expert[first : first + count].copy()
    searcher.advance(best.id)
    assert searcher.tree.edge_expert[:count].tolist() == expected.tolist()


REFUSED = [
    ("sequential:expertise=20,algorithm=dfuct", "go:size=5", "expertise=20 is not possible with algorithm=dfuct"),
    ("sequential:conditioning=yes,algorithm=dfuct", "go:size=5", "conditioning=yes is not possible with"),
    ("sequential:expertise=20", "tictactoe", "expertise=20 needs a tactical solver, and tictactoe has none"),
    (
        "shared:conditioning=yes",
        "hex:size=5",
        "conditioning=yes needs a tactical solver, and hex has none",
    ),
    ("tds-uct:expertise=20", "go:size=5", "tds-uct: expertise=20 is not possible; use sequential or shared"),
    ("leaf:conditioning=yes", "go:size=5", "leaf: conditioning=yes is not possible; use sequential or shared"),
    ("root:expertise=20", "go:size=5", "root: expertise=20 is not possible; use sequential or shared"),
    ("sequential:expertise=-1", "go:size=5", "expertise"),
]


@pytest.mark.parametrize(("spec", "game", "message"), REFUSED)
def test_refusals(spec: str, game: str, message: str) -> None:
    with pytest.raises(OptionError, match=message):
        read_scheme(spec, make_game(game))


def test_a_searcher_refuses_a_game_without_solver() -> None:
    with pytest.raises(OptionError, match="tictactoe has none"):
        Searcher(position_of("tictactoe").game, SearchOptions(expertise=20.0))
