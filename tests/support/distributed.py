"""What must hold after every distributed search, whatever the scheme and the runtime."""

from typing import Any

import numpy as np

from treespan.games.position import Position
from treespan.games.registry import make_game
from treespan.games.rules import CHANCE
from treespan.schemes.divided_tree.rank import TdsRank, home_of
from treespan.schemes.divided_tree.scheme import DividedTree
from treespan.schemes.divided_tree.treesplit.copies import NO_COPY, CopiesRank
from treespan.schemes.kept import Kept
from treespan.schemes.plan import SIMULATED, Budget, Plan, Request
from treespan.schemes.protocol.port import LEAVES, OUT, PLAYED, TREE, Seat
from treespan.schemes.registry import read_scheme
from treespan.search.result import SearchResult
from treespan.search.searcher import Searcher
from treespan.search.shard import find, nodes_in_use
from treespan.search.tree import EDGES, NO_NODE, NODES


def request(
    scheme: str, spec: str, playouts: int | None, ranks: int = 1, seed: int = 1, runtime: str = SIMULATED, **more: Any
) -> Request:
    """A search by a scheme that is given as text. `more` are fields of the plan, and `seconds`, `moves` and `game`."""
    position = Position(more.pop("game", None) or make_game(spec))
    position.play_text(more.pop("moves", ""))
    budget = Budget(playouts, more.pop("seconds", None))
    return Request(position, Plan(*read_scheme(scheme), budget, seed, runtime, ranks, **more))


# Every way to run a search on ranks that has handlers of its own
SCHEMES = [
    "tds-uct",
    "tds-uct:dedicated_root=yes",
    "tds-uct:place=idle",
    "tds-uct:bandit=rave",
    "tds-dfuct",
    "tds-dfuct:grant=3",
    "tds-dfuct:grant=0,jobs=3,place=idle",
    "tds-dfuct:kept_moves=all",
    "tds-dfuct:bandit=rave-mse",
    "span",
    "span:grant=1,jobs=2",
    "span:grant=2,jobs=20,place=home",
    "span:grant=3,jobs=20,bandit=rave-mse",
    "treesplit",
    "treesplit:n_dup=0,n_sync=2,place=idle",
    "treesplit:n_dup=4,n_sync=5,bandit=rave",
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


def check_seat(seat: Seat, me: int | None = None) -> None:
    """Nothing is under way any more; every node but copies is at its home, and what was new in copies, too."""
    tree, whole = seat.tree, seat.handle.whole.value
    nodes, edges = int(tree.used[NODES]), int(tree.used[EDGES])
    own = np.arange(nodes)
    if isinstance(whole, CopiesRank):
        own = np.flatnonzero(whole.role[:nodes] == NO_COPY)
        assert not whole.new_visits[:edges].any()
        assert not whole.new_amaf_visits[:edges].any()
    for node in own:
        first = int(tree.node_first[node])
        of_node = slice(first, first + int(tree.node_count[node]))
        assert tree.node_flight[node] == 0 and not tree.edge_flight[of_node].any()
        assert tree.node_visits[node] == tree.edge_visits[of_node].sum()
        if len(tree.edge_amaf_visits) > 0 and tree.node_player[node] != CHANCE:
            assert (tree.edge_visits[of_node] <= tree.edge_amaf_visits[of_node]).all()
            assert (tree.edge_amaf_visits[of_node] <= tree.node_visits[node]).all()
    assert not seat.port.queues[:, [TREE, LEAVES, PLAYED, OUT]].length.any()
    if me is not None:
        homes = [home_of_plain(key, seat.rank) for key in tree.node_key[own]]
        has_copied_root = isinstance(whole, CopiesRank) and homes[0] != me
        assert all(home == me for home in homes[has_copied_root:])


def check_kept(kept: list[Kept], wanted: Request) -> None:
    """What ranks keep of a tree is whole: each key leads to its node, at its home, and nothing is under way."""
    seen: set[int] = set()
    for me, one in enumerate(kept):
        tree = one.tree
        for node in nodes_in_use(tree):
            key = int(tree.node_key[node])
            assert find(tree, key) == node and key not in seen
            seen.add(key)
            first = int(tree.node_first[node])
            of_node = slice(first, first + int(tree.node_count[node]))
            assert tree.node_flight[node] == 0 and not tree.edge_flight[of_node].any()
            assert tree.node_visits[node] == tree.edge_visits[of_node].sum()
            assert (tree.edge_wins[of_node] <= tree.edge_visits[of_node]).all()
            if len(kept) > 1:
                assert isinstance(wanted.plan.scheme, DividedTree)
                reserved = wanted.plan.scheme.reserved(len(kept))
                is_root = key == int(one.root_key) and me == 0
                assert me == reserved + key % (len(kept) - reserved) or (reserved and is_root)
        assert int(np.count_nonzero(tree.slots != NO_NODE)) == len(nodes_in_use(tree))


def home_of_plain(key: Any, rank: TdsRank) -> int:
    plain = getattr(home_of, "py_func", home_of)
    return int(plain(np.uint64(key), rank))


def one_job(algorithm: str) -> str:
    """The scheme with one job under way that never has to fetch a new grant from the root."""
    return "tds-uct:jobs=1" if algorithm == "uct" else "tds-dfuct:jobs=1,grant=1000000"


def sequential_moves(spec: str, algorithm: str, playouts: int, seed: int, options: str = "") -> dict[int, Any]:
    """Visits and wins of the root's moves by the sequential search that one rank with one job must equal."""
    game = make_game(spec)
    of_search = read_scheme(f"sequential:algorithm={algorithm},max_depth=127{options}")[1]
    searcher = Searcher(game, of_search, seed)
    searcher.set_position(Position(game))
    searcher.run(playouts)
    searcher.finish()
    return {move.id: (move.visits, move.wins) for move in searcher.root().moves}


def moves_of(result: SearchResult) -> dict[int, Any]:
    return {move.id: (move.visits, move.wins) for move in result.moves}
