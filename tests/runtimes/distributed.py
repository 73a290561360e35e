"""What must hold after every distributed search, whatever the scheme and the runtime."""

from typing import Any

import numpy as np

from treespan.games.position import Position
from treespan.games.registry import make_game
from treespan.schemes.base import Budget, Request
from treespan.schemes.messages import NO_SLOT
from treespan.schemes.rank import LEAVES, OUT, PLAYED, TREE
from treespan.schemes.registry import make_scheme
from treespan.schemes.tds import TdsRank, home_of
from treespan.search.result import SearchResult
from treespan.search.searcher import Searcher
from treespan.search.tree import EDGES, NODES


def request(spec: str, playouts: int, ranks: int, seed: int = 1, moves: str = "") -> Request:
    position = Position(make_game(spec))
    position.play_text(moves)
    return Request(position, Budget(playouts=playouts), seed=seed, ranks=ranks)


# Every way to run a search on ranks that has handlers of its own
SCHEMES = [
    "tds-uct",
    "tds-uct:dedicated_root=yes",
    "tds-uct:place=idle",
    "tds-dfuct",
    "tds-dfuct:grant=3",
    "tds-dfuct:grant=0,jobs=3,place=idle",
    "tds-dfuct:kept_moves=all",
    "span",
    "span:grant=1,jobs=2,waiting=0",
    "treesplit",
    "treesplit:n_dup=0,n_sync=2,place=idle",
    "mp-mcts",
    "mp-mcts:grant=3,place=idle",
]


def check_result(result: SearchResult, playouts: int) -> None:
    """No simulation is lost or counted twice."""
    assert result.playouts == result.root_visits == playouts
    assert sum(move.visits for move in result.moves) == playouts
    assert sum(result.playouts_by_rank) == playouts
    assert result.messages["sent"] == result.messages["received"] == sum(result.received_by_rank)
    assert all(0.0 <= move.wins <= move.visits for move in result.moves)


def check_rank(rank: TdsRank, me: int | None = None) -> None:
    """Nothing is under way any more; every node is at its home."""
    nodes, edges = int(rank.tree.used[NODES]), int(rank.tree.used[EDGES])
    assert not rank.tree.node_flight[:nodes].any() and not rank.tree.edge_flight[:edges].any()
    assert (rank.port.numbers[:, [TREE, LEAVES, PLAYED, OUT]] == NO_SLOT).all()
    if me is not None:
        assert all(home_of_plain(key, rank) == me for key in rank.tree.node_key[:nodes])


def home_of_plain(key: Any, rank: TdsRank) -> int:
    plain = getattr(home_of, "py_func", home_of)
    return int(plain(np.uint64(key), rank))


def one_job(algorithm: str) -> str:
    """The scheme with one job under way that never has to fetch a new grant from the root."""
    return "tds-uct:jobs=1" if algorithm == "uct" else "tds-dfuct:jobs=1,grant=1000000"


def sequential_moves(spec: str, algorithm: str, playouts: int, seed: int, options: str = "") -> dict[int, Any]:
    """Visits and wins of the root's moves by the sequential search that one rank with one job must equal."""
    game = make_game(spec)
    scheme = make_scheme(f"sequential:algorithm={algorithm},solver=no,max_depth=127{options}")
    searcher = Searcher(game, scheme, seed)
    searcher.set_position(Position(game))
    searcher.run(playouts)
    searcher.finish()
    return {move.id: (move.visits, move.wins) for move in searcher.root().moves}


def moves_of(result: SearchResult) -> dict[int, Any]:
    return {move.id: (move.visits, move.wins) for move in result.moves}
