"""Searches for the tests. One small board a game: tests of one process share its compiled code."""

from typing import Any

import numpy as np
import pytest

from treespan.core.jit import JIT_DISABLED
from treespan.games.position import Position
from treespan.games.registry import make_game
from treespan.search.options import SearchOptions
from treespan.search.result import SearchResult
from treespan.search.searcher import Searcher
from treespan.search.tree import EDGES, NO_NODE, NODES, ROOT, TERMINAL, TreeArrays

SMALL_GAMES = ("tictactoe", "connect4", "pgame", "sailing:size=4")
LARGE_GAMES = ("go:size=5", "hex:size=5", "havannah:base=4", "samegame:width=4,height=4,colors=3")
# Compiling UCT and df-UCT for one game takes some 20 s; without the JIT all games are cheap.
EVERY_GAME = [
    *SMALL_GAMES,
    *(pytest.param(spec, marks=() if JIT_DISABLED else pytest.mark.full) for spec in LARGE_GAMES),
]

ROOM = 50_000  # moves; more than any of these searches needs


def sized(playouts: int, without_jit: int) -> int:
    """A number of playouts that takes well below a second."""
    return without_jit if JIT_DISABLED else playouts


def position_of(spec: str, moves: str = "") -> Position:
    position = Position(make_game(spec))
    position.play_text(moves)
    return position


def search(start: str | Position, playouts: int, seed: int = 1, moves: str = "", **options: Any) -> Searcher:
    """A finished search of a game's first position, or of the one after `moves`."""
    searcher = new_searcher(start, seed, moves, **options)
    searcher.run(playouts)
    searcher.finish()
    return searcher


def new_searcher(start: str | Position, seed: int = 1, moves: str = "", **options: Any) -> Searcher:
    position = position_of(start, moves) if isinstance(start, str) else start
    searcher = Searcher(position.game, SearchOptions(**{"nodes": ROOM, **options}), seed)
    searcher.set_position(position)
    return searcher


Statistics = dict[int, tuple[int, float]]  # visits and wins by move


def statistics(result: SearchResult) -> dict[str, tuple[int, float]]:
    """Visits and wins by the names of the root's moves."""
    return {move.move: (move.visits, move.wins) for move in result.moves}


def root_statistics(searcher: Searcher) -> Statistics:
    return node_statistics(searcher.tree, int(ROOT))


def node_statistics(tree: TreeArrays, node: int) -> Statistics:
    edges = edges_of(tree, node)
    columns = (tree.edge_move[edges], tree.edge_visits[edges], tree.edge_wins[edges])
    return {move: (visits, wins) for move, visits, wins in zip(*(column.tolist() for column in columns), strict=True)}


def edges_of(tree: TreeArrays, node: int) -> slice:
    first = int(tree.node_first[node])
    return slice(first, first + int(tree.node_count[node]))


def nodes_by_key(tree: TreeArrays) -> dict[int, int]:
    return {int(tree.node_key[node]): node for node in range(int(tree.used[NODES]))}


def tree_statistics(tree: TreeArrays) -> dict[int, Statistics]:
    """Of every node that was visited, by its key."""
    return {key: node_statistics(tree, node) for key, node in nodes_by_key(tree).items() if tree.node_visits[node] > 0}


def visit_counts(statistics: dict[int, Statistics]) -> dict[int, dict[int, int]]:
    return {key: {move: visits for move, (visits, _) in moves.items()} for key, moves in statistics.items()}


def assert_same_tree(one: TreeArrays, other: TreeArrays, wins_tolerance: float = 0.0) -> None:
    """Equal visits and wins everywhere. Sums of rewards other than 0, 1/2 and 1 may be rounded differently."""
    assert_same_statistics(tree_statistics(one), tree_statistics(other), wins_tolerance)


def assert_same_statistics(
    one: dict[int, Statistics], other: dict[int, Statistics], wins_tolerance: float = 0.0
) -> None:
    assert visit_counts(one) == visit_counts(other)
    for key, moves in one.items():
        for move, (_, wins) in moves.items():
            assert wins == pytest.approx(other[key][move][1], abs=wins_tolerance, rel=0)


def assert_consistent(searcher: Searcher, playouts: int, kept: int = 0) -> None:
    """What holds after every search, whatever game, bandit and algorithm; `kept` visits were there before."""
    tree = searcher.tree
    nodes, edges = int(tree.used[NODES]), int(tree.used[EDGES])
    assert searcher.playouts == playouts and int(tree.node_visits[ROOT]) == kept + playouts
    assert 0 < nodes <= len(tree.node_key) and 0 < edges <= len(tree.edge_move)
    assert len(nodes_by_key(tree)) == nodes, "two nodes have one key"
    for node in range(nodes):
        assert int(tree.edge_visits[edges_of(tree, node)].sum()) == int(tree.node_visits[node])
    visits, wins = tree.edge_visits[:edges], tree.edge_wins[:edges]
    assert (visits >= 0).all() and (wins >= -1e-9).all() and (wins <= visits + 1e-9).all()
    children = tree.edge_child[:edges]
    assert ((children < nodes) | (children == NO_NODE) | (children == TERMINAL)).all()
    assert (visits[children < nodes] >= searcher.options.threshold).all()
    parents = np.bincount(children[children < nodes], minlength=nodes)
    assert (parents[1:] >= 1).all(), "a node that no move leads to"
