"""Trees of ranks that live from search to search."""

from typing import Any

import numpy as np
import pytest

from tests.support.distributed import SCHEMES, check_kept, moves_of, one_job, request
from tests.support.go_games import SEND_TWO, at
from tests.support.searches import new_searcher, sized
from treespan.core.errors import TreespanError
from treespan.games.position import Position
from treespan.runtimes.run import run_search
from treespan.schemes.kept import Kept, TreeName, drop, put_back, recall
from treespan.schemes.plan import SIMULATED, THREADS, Request
from treespan.search.result import SearchResult
from treespan.search.shard import add_nodes, copy_nodes, find, forget, nodes_in_use
from treespan.search.tree import FREE, NO_NODE, NODES, REFUSED, SEARCH, add_node, new_tree, room_of

PLAYOUTS = sized(2000, without_jit=150)
RUNTIMES = [(SIMULATED, 5), (THREADS, 3)]


class Living:
    """A tree of ranks, and its searches."""

    def __init__(self, scheme: str, spec: str, runtime: str, ranks: int, **more: Any):
        self.first = request(scheme, spec, PLAYOUTS, ranks, runtime=runtime, **more)
        self.name = TreeName()
        self.position = self.first.position
        self.places = range(1 if runtime == SIMULATED else ranks)

    def search(self) -> SearchResult:
        result = run_search(Request(self.position, self.first.plan, self.name))
        assert result is not None and result.playouts == self.first.plan.playouts
        assert sum(move.visits for move in result.moves) == result.root_visits
        return result

    def play(self, *moves: int) -> None:
        self.position = self.position.copy()
        for move in moves:
            self.position.play(move)

    def kept(self) -> list[Kept]:
        """What the ranks keep, looked at."""
        found = []
        for first in self.places:
            kept = recall(self.name, first)
            assert kept is not None
            put_back(self.name, first, kept)
            found.append(kept)
        return found

    def visits_of_root(self) -> int:
        nodes = [(kept.tree, find(kept.tree, self.position.key)) for kept in self.kept()]
        return sum(int(tree.node_visits[node]) for tree, node in nodes if node != NO_NODE)


@pytest.mark.parametrize("runtime, ranks", RUNTIMES)
@pytest.mark.parametrize("scheme", SCHEMES)
def test_root_visits_are_those_kept_and_the_new_playouts(scheme: str, runtime: str, ranks: int) -> None:
    living = Living(scheme, "connect4", runtime, ranks)
    before = 0
    for step in range(4):
        result = living.search()
        assert result.root_visits == before + PLAYOUTS
        check_kept(living.kept(), living.first)
        if step % 2:
            living.play(result.moves[0].id)
        before = living.visits_of_root()
        assert before == result.root_visits or 0 < before <= result.moves[0].visits
    drop(living.name)
    assert recall(living.name, 0) is None


@pytest.mark.parametrize("runtime", [SIMULATED, THREADS])
def test_the_root_comes_to_a_rank_that_holds_nothing_else(runtime: str) -> None:
    """From so many ranks on, rank 0 of span has the root; then it has the next one, and its home has it no more."""
    living = Living("span", "connect4", runtime, 100 if runtime == SIMULATED else 3)
    if runtime == THREADS:
        living = Living("tds-uct:dedicated_root=yes", "connect4", runtime, 3)
    for _ in range(3):
        result = living.search()
        if runtime == THREADS:
            roots = [find(kept.tree, living.position.key) != NO_NODE for kept in living.kept()]
            assert roots == [True, False, False]
            assert len(nodes_in_use(living.kept()[0].tree)) == 1
        living.play(result.moves[0].id)
        before = living.visits_of_root()
        assert before > 0
        assert living.search().root_visits == before + PLAYOUTS


@pytest.mark.parametrize("runtime, ranks", RUNTIMES)
@pytest.mark.parametrize("scheme", ["tds-uct", "span:grant=3", "treesplit:n_dup=4,n_sync=5", "mp-mcts"])
def test_in_a_full_tree_what_was_not_used_makes_room(scheme: str, runtime: str, ranks: int) -> None:
    room = 150 if ranks == 3 else 400
    living = Living(f"{scheme}{',' if ':' in scheme else ':'}nodes={room},threshold=1", "connect4", runtime, ranks)
    refused: list[int] = []
    for _ in range(5):
        before = living.visits_of_root() if refused else 0
        result = living.search()
        assert result.root_visits == before + PLAYOUTS
        refused.append(result.refused_expansions)
        check_kept(living.kept(), living.first)
        living.play(result.moves[0].id)
    for kept in living.kept():
        tree = kept.tree
        assert int(tree.used[SEARCH]) == 5 and int(tree.used[NODES]) < 2 * room
        new = tree.node_search[: int(tree.used[NODES])] == 5
        assert new.any()
    assert refused[0] > 0  # a first search finds nothing that could go


@pytest.mark.parametrize("algorithm", ["uct", "dfuct"])
@pytest.mark.parametrize("runtime", [SIMULATED, THREADS])
def test_one_rank_with_one_job_goes_on_like_the_sequential_search(algorithm: str, runtime: str) -> None:
    spec = "pgame:branching=4"
    living = Living(one_job(algorithm), spec, runtime, 1)
    sequential = new_searcher(spec, algorithm=algorithm, max_depth=127)
    for _ in range(3):
        result = living.search()
        sequential.run(PLAYOUTS)
        sequential.finish()
        root = sequential.root()
        assert moves_of(result) == {move.id: (move.visits, move.wins) for move in root.moves}
        assert result.root_visits == root.visits
        living.play(result.moves[0].id)
        sequential.advance(result.moves[0].id)


def test_the_same_searches_have_the_same_traces() -> None:
    traces = []
    for _ in range(2):
        living = Living("span", "connect4", SIMULATED, 8)
        results = []
        for _ in range(3):
            results.append(living.search())
            living.play(results[-1].moves[0].id)
        traces.append([(result.signature, result.seconds, result.messages["sent"]) for result in results])
    assert traces[0] == traces[1]


@pytest.mark.parametrize("runtime, ranks", RUNTIMES)
def test_a_root_without_moves_that_its_history_forbids_is_not_used_by_other_ways(runtime: str, ranks: int) -> None:
    """Superko: as long as the history is the same the tree goes on; the same position by another way has all moves."""
    living = Living("span", "go:size=5", runtime, ranks)
    living.position = at(SEND_TWO, superko=True)
    living.position.play_text("A1 C1")
    forbidden = living.position.forbidden_moves
    assert forbidden and not forbidden & {move.id for move in living.search().moves}
    assert living.search().root_visits == 2 * PLAYOUTS
    other = Position(living.position.game, living.position.state)
    assert other.key == living.position.key and not other.forbidden_moves
    living.position = other
    result = living.search()
    assert forbidden <= {move.id for move in result.moves} and result.root_visits == PLAYOUTS


def test_a_search_that_fails_leaves_nothing() -> None:
    living = Living("span", "connect4", THREADS, 2, evaluate=lambda states: [0.5] * len(states))
    assert living.search().root_visits == PLAYOUTS
    plan = living.first.plan

    def fail(states: Any) -> Any:
        raise ValueError("no value")

    living.first = request("span", "connect4", PLAYOUTS, 2, runtime=THREADS, evaluate=fail)
    with pytest.raises((TreespanError, ValueError)):
        living.search()
    living.first = Request(living.position, plan)
    assert living.search().root_visits == PLAYOUTS


def test_what_was_forgotten_is_dropped() -> None:
    living = Living("tds-uct", "tictactoe", SIMULATED, 2)
    living.search()
    old, living.name = living.name, living.name.forgotten()
    assert living.search().root_visits == PLAYOUTS
    assert recall(old, 0) is None


# The tree's own part


def test_nodes_leave_the_table_and_make_room() -> None:
    """Against a dictionary: whatever is added and removed, each key leads to its node."""
    rng = np.random.default_rng(5)
    tree = new_tree(200, with_priors=False, with_amaf=False, with_flights=True, with_keys=True)
    tree.used[SEARCH] = 1
    known: dict[int, int] = {}
    for step in range(sized(6000, without_jit=1500)):
        if step % 100 == 0:
            tree.used[SEARCH] += 1
        key = int(rng.integers(0, 64)) + 64 * int(rng.integers(0, 4))  # many meet in the table
        if key in known and rng.random() < 0.5:
            forget(tree, key)
            del known[key]
        elif key not in known:
            count = int(rng.integers(1, 9))
            node = add_node(tree, np.uint64(key), 0, count)
            if node != NO_NODE:
                known = {other: place for other, place in known.items() if place != int(node)}  # it made room
                known[key] = int(node)
                assert int(tree.node_count[node]) == count <= room_of(tree, node)
        assert all(int(find(tree, other)) == place for other, place in known.items())
        assert find(tree, 10**6) == NO_NODE
        assert sorted(known.values()) == nodes_in_use(tree).tolist()
    assert int(tree.used[REFUSED]) > 0


def test_no_node_makes_room_that_this_search_has_used() -> None:
    tree = new_tree(20, with_priors=False, with_amaf=False, with_flights=True, with_keys=True)
    tree.used[SEARCH] = 1
    added = [add_node(tree, np.uint64(key), 0, 4) for key in range(6)]
    assert added[:5] == [0, 1, 2, 3, 4] and added[5] == NO_NODE
    tree.used[SEARCH] = 2
    assert add_node(tree, np.uint64(10), 0, 5) == NO_NODE  # none has room for five
    tree.node_search[[1, 2]] = 2
    replaced = [int(add_node(tree, np.uint64(key), 0, 3)) for key in (20, 21, 22)]
    assert sorted(replaced) == [0, 3, 4]
    assert add_node(tree, np.uint64(23), 0, 1) == NO_NODE
    assert [int(find(tree, key)) for key in (1, 2)] == [1, 2] and find(tree, 0) == NO_NODE


def test_nodes_move_from_tree_to_tree() -> None:
    living = Living("tds-dfuct:bandit=rave", "connect4", SIMULATED, 4)
    living.search()
    tree = living.kept()[0].tree
    shard = copy_nodes(tree, nodes_in_use(tree))
    other = new_tree(len(tree.edge_move), False, True, 7, with_flights=True, with_keys=True)
    order = np.random.default_rng(1).permutation(len(shard.node_key)).astype(np.uint32)
    assert add_nodes(other, copy_nodes(tree, nodes_in_use(tree)[order])) == 0
    back = copy_nodes(other, np.array([find(other, key) for key in shard.node_key]))
    for name, before, after in zip(shard._fields, shard, back, strict=True):
        assert np.array_equal(before, after), name
    assert not (other.node_search[: int(other.used[NODES])] == FREE).any()
    small = new_tree(20, False, True, 7, with_flights=True, with_keys=True)
    assert add_nodes(small, shard) == len(shard.node_key) - int(small.used[NODES])
