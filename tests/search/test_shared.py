"""Threads on one tree: one thread is the sequential search; many lose nothing, and build nothing twice."""

import threading
from typing import Any

import numpy as np
import pytest

from tests.support.searches import ROOM, assert_same_tree, edges_of, nodes_by_key, position_of, search, sized
from tests.support.trees import child_of, content, most_visited
from treespan.core.jit import njit
from treespan.search.options import BANDITS, SearchOptions
from treespan.search.searcher import FOREVER_NS
from treespan.search.shared import MAX_PORTION, allot, enter_node, expand, find_built, new_team, take_portion
from treespan.search.shared_searcher import VIRTUAL_LOSSES, SharedSearcher
from treespan.search.solver import node_proof
from treespan.search.tree import (
    BUILDING,
    EDGES,
    NO_NODE,
    NODES,
    REFUSED,
    ROOT,
    TERMINAL,
    UNPROVEN,
    TreeArrays,
    add_node,
    new_tree,
)
from treespan.search.work import PLAYOUTS

COUNT = sized(3000, without_jit=200)
CONTENDED = sized(40_000, without_jit=300)
THREADS = 8  # more than cores, mostly: threads are interrupted anywhere
WITHOUT_CYCLES = ("tictactoe", "connect4", "pgame")  # a path that meets a node twice would see its own visit there


def new_shared(
    spec: str, threads: int = 1, virtual_loss: str = "none", locked: bool = False, seed: int = 1, **options: Any
) -> SharedSearcher:
    position = position_of(spec)
    searcher = SharedSearcher(
        position.game, SearchOptions(**{"nodes": ROOM, **options}), seed, threads, virtual_loss, locked
    )
    searcher.set_position(position)
    return searcher


def assert_books_balance(searcher: SharedSearcher, playouts: int, kept: int = 0) -> None:
    """No simulation is lost, counted twice or still under way; every node in use is whole and reached."""
    tree = searcher.tree
    nodes, edges = int(tree.used[NODES]), int(tree.used[EDGES])
    assert searcher.playouts == playouts and int(tree.node_visits[ROOT]) == kept + playouts
    assert nodes <= len(tree.node_key) and edges <= len(tree.edge_move)
    assert not tree.node_flight[:nodes].any() and not tree.edge_flight[:edges].any()
    built = [node for node in range(nodes) if tree.node_count[node] > 0]
    assert len({int(tree.node_key[node]) for node in built}) == len(built), "two nodes have one key"
    places = sorted((int(tree.node_first[node]), int(tree.node_count[node])) for node in built)
    ends = [0, *(first + count for first, count in places)]
    assert [first for first, _ in places] == ends[:-1] and ends[-1] == edges, "edges overlap, or belong to no node"
    arrivals = np.zeros(nodes, dtype=np.int64)
    children, visits, wins = tree.edge_child[:edges], tree.edge_visits[:edges], tree.edge_wins[:edges]
    assert set(children[children >= nodes].tolist()) <= {int(NO_NODE), int(TERMINAL)}, "an edge is still claimed"
    np.add.at(arrivals, children[children < nodes], visits[children < nodes])
    arrivals[ROOT] += kept + playouts
    for node in range(nodes):
        assert int(tree.edge_visits[edges_of(tree, node)].sum()) == int(tree.node_visits[node])
        assert kept or arrivals[node] >= tree.node_visits[node], "more simulations left a node than came"
    assert (visits >= 0).all() and (wins >= -1e-9).all() and (wins <= visits + 1e-9).all()
    assert (visits[children < nodes] >= searcher.options.threshold).all()
    if len(tree.edge_amaf_visits):
        own = np.repeat(tree.node_player[built] >= 0, tree.node_count[built])
        in_order = np.concatenate([np.arange(edges)[edges_of(tree, node)] for node in built])
        assert (tree.edge_amaf_visits[in_order][own] >= visits[in_order][own]).all()


# One thread


@pytest.mark.parametrize("bandit", BANDITS)
@pytest.mark.parametrize("spec", [*WITHOUT_CYCLES, "sailing:size=4"])
def test_one_thread_equals_the_sequential_search(spec: str, bandit: str) -> None:
    options: dict[str, Any] = {"bandit": bandit, "widening": 5.0 if bandit == "puct" else 0.0}
    sequential, shared = search(spec, COUNT, seed=3, **options), new_shared(spec, seed=3, **options)
    assert shared.run(COUNT) == sequential.playouts
    assert_same_search(sequential.tree, shared.tree)
    assert shared.counters.tolist() == sequential.counters.tolist()


@pytest.mark.parametrize("virtual_loss", ["loss", "visits", "unobserved"])
@pytest.mark.parametrize("bandit", BANDITS)
@pytest.mark.parametrize("spec", WITHOUT_CYCLES)
def test_one_thread_does_not_see_its_own_simulation(spec: str, bandit: str, virtual_loss: str) -> None:
    sequential, shared = search(spec, COUNT, bandit=bandit), new_shared(spec, 1, virtual_loss, bandit=bandit)
    shared.run(COUNT)
    assert_same_search(sequential.tree, shared.tree)


@pytest.mark.parametrize("options", [{"nodes": 60}, {"nodes": 60, "solver": False}, {"threshold": 1}, {"max_depth": 2}])
def test_one_thread_equals_the_sequential_search_at_the_limits(options: dict[str, Any]) -> None:
    sequential, shared = search("connect4", COUNT, **options), new_shared("connect4", locked=True, **options)
    shared.run(COUNT)
    assert_same_search(sequential.tree, shared.tree)
    assert shared.counters.tolist() == sequential.counters.tolist()


def assert_same_search(one: TreeArrays, other: TreeArrays) -> None:
    assert one.used.tolist() == other.used.tolist()
    assert_same_tree(one, other)
    edges, nodes = int(one.used[EDGES]), int(one.used[NODES])
    for name in ("edge_child", "edge_proven", "edge_amaf_visits", "edge_amaf_wins", "edge_prior"):
        assert getattr(one, name)[:edges].tolist() == getattr(other, name)[:edges].tolist()
    assert one.node_proven[:nodes].tolist() == other.node_proven[:nodes].tolist()


# Many threads


@pytest.mark.parametrize("locked", [False, True])
@pytest.mark.parametrize("virtual_loss", VIRTUAL_LOSSES)
@pytest.mark.parametrize("spec", ["tictactoe", "pgame", "sailing:size=4"])
def test_nothing_is_lost_under_contention(spec: str, virtual_loss: str, locked: bool) -> None:
    searcher = new_shared(spec, THREADS, virtual_loss, locked, solver=False, threshold=1)
    assert searcher.run(CONTENDED) == CONTENDED
    assert_books_balance(searcher, CONTENDED)
    assert searcher.run(COUNT) == COUNT  # and again, in the same tree
    assert_books_balance(searcher, CONTENDED + COUNT)


@pytest.mark.parametrize("bandit", BANDITS)
def test_every_bandit_keeps_the_books(bandit: str) -> None:
    searcher = new_shared("connect4", THREADS, "unobserved", bandit=bandit, solver=False, widening=3.0)
    assert searcher.run(CONTENDED) == CONTENDED
    assert_books_balance(searcher, CONTENDED)


@pytest.mark.parametrize("virtual_loss", VIRTUAL_LOSSES)
def test_full_tree_is_reported_and_whole(virtual_loss: str) -> None:
    searcher = new_shared("tictactoe", THREADS, virtual_loss, nodes=300, solver=False, threshold=1)
    assert searcher.run(CONTENDED) == CONTENDED
    assert int(searcher.tree.used[REFUSED]) > 0
    assert_books_balance(searcher, CONTENDED)


def test_threads_prove_what_one_thread_proves() -> None:
    sequential = search("tictactoe", sized(200_000, without_jit=500), moves="b2")
    truth = {key: int(sequential.tree.node_proven[node]) for key, node in nodes_by_key(sequential.tree).items()}
    for seed in range(sized(10, without_jit=2)):
        searcher = new_shared("tictactoe", THREADS, "loss", seed=seed)
        searcher.advance(4)
        searcher.run(sized(200_000, without_jit=500))
        tree = searcher.tree
        assert searcher.root().proven == sequential.root().proven
        for node in range(int(tree.used[NODES])):
            proven = int(tree.node_proven[node])
            assert proven == int(node_proof(tree, np.uint32(node))), "a proof was missed"
            assert UNPROVEN in (proven, truth.get(int(tree.node_key[node]), UNPROVEN)) or (
                proven == truth[int(tree.node_key[node])]
            )
        assert searcher.playouts == int(tree.node_visits[ROOT])


# Building nodes


@njit
def enter(tree, key, player, count):
    return enter_node(tree, key, player, count)


@njit
def find(tree, key):
    return find_built(tree, key)


@njit
def take(used, what, amount, limit):
    return allot(used, what, amount, limit)


def test_node_is_found_when_it_is_built_and_not_before() -> None:
    tree, key = new_tree(100, False, False), np.uint64(77)
    assert find(tree, key) == NO_NODE
    assert enter(tree, key, 1, 3) == 0
    assert find(tree, key) == BUILDING and int(tree.node_key[0]) == 77 and int(tree.node_player[0]) == 1
    tree.node_count[0] = 3
    assert find(tree, key) == 0
    assert find(tree, key + np.uint64(len(tree.slots))) == NO_NODE  # the same slot, another key


def test_position_is_entered_once_and_the_losers_index_is_free_again() -> None:
    tree, key = new_tree(100, False, False), np.uint64(5)
    other = key + np.uint64(len(tree.slots))
    assert enter(tree, key, 0, 2) == 0
    assert enter(tree, key, 0, 2) == NO_NODE and int(tree.used[NODES]) == 1
    assert enter(tree, other, 0, 2) == 1 and int(tree.used[REFUSED]) == 0


def test_node_without_room_is_refused_and_counted() -> None:
    tree = new_tree(10, False, False)
    tree.used[EDGES] = 8
    assert enter(tree, np.uint64(1), 0, 3) == NO_NODE and tree.used[:3].tolist() == [0, 8, 1]
    assert enter(tree, np.uint64(1), 0, 2) == 0
    tree.used[NODES] = len(tree.node_key)
    assert enter(tree, np.uint64(2), 0, 1) == NO_NODE and int(tree.used[REFUSED]) == 2


def test_room_is_allotted_up_to_the_last_place() -> None:
    used = np.zeros(3, dtype=np.int64)
    assert [take(used, EDGES, 3, 7) for _ in range(3)] == [0, 3, -1]
    assert take(used, EDGES, 1, 7) == 6 and used.tolist() == [0, 7, 0]


def test_edge_that_another_thread_has_claimed_is_a_leaf() -> None:
    searcher = new_shared("connect4")
    tree, work = searcher.tree, searcher.work
    for claimed in (BUILDING, TERMINAL, np.uint32(3)):
        tree.edge_child[0] = claimed
        assert expand(searcher.game, tree, work.states[1], np.uint32(0), searcher.settings, work) == claimed
    assert int(tree.used[NODES]) == 1


def test_edge_is_free_again_while_another_thread_builds_its_position() -> None:
    """The position stands in the table without edges: the simulation plays out here, and comes again."""
    searcher = new_shared("connect4")
    tree, work, position = searcher.tree, searcher.work, position_of("connect4", "4")
    work.states[1] = position.state
    node = enter(tree, np.uint64(position.key), 1, 7)
    assert expand(searcher.game, tree, work.states[1], np.uint32(2), searcher.settings, work) == NO_NODE
    assert tree.edge_child[2] == NO_NODE and int(tree.used[NODES]) == 2
    tree.node_count[node], tree.node_first[node] = 7, 7
    assert expand(searcher.game, tree, work.states[1], np.uint32(2), searcher.settings, work) == node
    assert tree.edge_child[2] == node


# Portions of the budget


@pytest.mark.parametrize("playouts, threads", [(0, 1), (1, 8), (7, 3), (100_000, 2), (1_000_000, 16)])
def test_portions_add_up_and_get_smaller(playouts: int, threads: int) -> None:
    team = new_team(threads, False)
    team.pool[0] = playouts
    portions = []
    while portion := int(take_portion(team)):
        portions.append(portion)
    assert sum(portions) == playouts and portions == sorted(portions, reverse=True)
    assert all(portion <= MAX_PORTION for portion in portions)
    assert portions[-threads:] == [1] * min(threads, playouts)  # nobody waits long for the last
    assert take_portion(team) == 0


# As a searcher


@pytest.mark.parametrize("virtual_loss", VIRTUAL_LOSSES)
def test_tree_is_kept_after_a_move(virtual_loss: str) -> None:
    searcher = new_shared("connect4", 3, virtual_loss, solver=False)
    searcher.run(COUNT)
    move = most_visited(searcher)
    below = content(searcher.tree, child_of(searcher.tree, 0, move))
    assert searcher.advance(move)
    assert content(searcher.tree, 0) == below and searcher.playouts == 0
    kept = searcher.root().visits
    assert kept > 0
    assert searcher.run(COUNT) == COUNT
    assert_books_balance(searcher, COUNT, kept)
    assert searcher.principal_variation(most_visited(searcher))[0] == searcher.game.move_name(most_visited(searcher))


def test_new_position_is_everybodys() -> None:
    searcher = new_shared("tictactoe", 3, "loss")
    searcher.run(COUNT)
    position = position_of("tictactoe", "a1 b1 a2 b2")
    searcher.set_position(position)
    assert all(work.states[0].tobytes() == position.state.tobytes() for work in searcher.works)
    searcher.run(300)
    assert searcher.root().proven == "win"
    assert searcher.playouts == searcher.root().visits == sum(move.visits for move in searcher.root().moves)


def test_stop_and_deadline_end_every_thread() -> None:
    searcher = new_shared("pgame", 3, "visits")
    searcher.run(0)
    assert 3 >= searcher.run(10**9, deadline_ns=1) > 0  # one simulation each, if others left any time for it
    threading.Timer(0.1, searcher.stop).start()
    searcher.run(10**9, FOREVER_NS)
    assert_books_balance(searcher, int(searcher.root().visits))


def test_failure_in_a_thread_ends_the_others_and_is_raised(monkeypatch: pytest.MonkeyPatch) -> None:
    searcher = new_shared("pgame", 3)
    simulate = searcher._simulate

    def broken(index: int, deadline_ns: int) -> int:
        if index == 2:
            raise ArithmeticError("the third fell ill")
        return simulate(index, deadline_ns)

    monkeypatch.setattr(searcher, "_simulate", broken)
    with pytest.raises(ArithmeticError, match="the third fell ill"):
        searcher.run(10**9)
    assert threading.active_count() == 1


def test_threads_draw_from_streams_of_their_own() -> None:
    searcher = new_shared("pgame", 4)
    assert len({int(work.random[0]) for work in searcher.works}) == 4
    assert int(searcher.work.random[0]) == int(new_shared("pgame").work.random[0])
    searcher.run(CONTENDED)
    assert sum(int(work.counters[PLAYOUTS]) for work in searcher.works) == CONTENDED


def test_threads_share_no_cache_line() -> None:
    searcher = new_shared("pgame", 4)
    arrays = [array for work in searcher.works for array in work if array.nbytes]
    arrays += [searcher.team.pool, searcher.team.lock, searcher.tree.used]
    lines = [set(range(a.ctypes.data // 64, (a.ctypes.data + a.nbytes - 1) // 64 + 1)) for a in arrays]
    assert sum(map(len, lines)) == len(set().union(*lines))


def test_sequential_and_shared_nodes_live_in_one_table() -> None:
    tree = new_tree(100, False, False)
    assert add_node(tree, np.uint64(9), 0, 4) == 0
    assert find(tree, np.uint64(9)) == 0 and enter(tree, np.uint64(9), 0, 4) == NO_NODE
