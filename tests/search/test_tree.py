"""The tree's arrays: room, the table of keys, and what a search does when the room is used up."""

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.support.results import result_of
from tests.support.searches import assert_consistent, new_searcher, nodes_by_key, search, sized
from treespan.core.errors import OptionError
from treespan.search.options import BANDITS, SearchOptions
from treespan.search.tree import (
    EDGES,
    EDGES_PER_NODE,
    NO_NODE,
    NODES,
    REFUSED,
    ROOT,
    SEARCH,
    TERMINAL,
    UNPROVEN,
    add_node,
    bytes_per_edge,
    find_node,
    new_tree,
)

PLAYOUTS = sized(3000, without_jit=300)
REALISTIC_BRANCHING = (7, 40, 82, 362)  # Connect Four, SameGame, Go 9x9 and 19x19


# Adding and finding


def test_nodes_are_added_side_by_side() -> None:
    tree = new_tree(100, with_priors=False, with_amaf=False)
    nodes = [add_node(tree, np.uint64(key), 1, count) for key, count in ((10, 3), (11, 1), (12, 5))]
    assert nodes == [0, 1, 2]
    assert tree.node_first[:3].tolist() == [0, 3, 4] and tree.node_count[:3].tolist() == [3, 1, 5]
    assert tree.node_key[:3].tolist() == [10, 11, 12] and tree.node_player[:3].tolist() == [1, 1, 1]
    assert not tree.node_visits[:3].any() and (tree.node_proven[:3] == UNPROVEN).all()
    assert tree.used[:SEARCH].tolist() == [3, 9, 0]


@settings(max_examples=30)
@given(st.sets(st.one_of(st.integers(0, 2**64 - 1), st.integers(0, 60).map(lambda n: n << 32)), max_size=40))
def test_every_key_is_found_and_no_other(keys: set[int]) -> None:
    """Half of the keys share their low bits, and so their first slot."""
    tree = new_tree(100, with_priors=False, with_amaf=False)
    names = {key: int(add_node(tree, np.uint64(key), 0, 1)) for key in keys}
    for key, node in names.items():
        assert int(find_node(tree, np.uint64(key))) == node
        if key ^ 1 not in keys:
            assert find_node(tree, np.uint64(key ^ 1)) == NO_NODE


def test_node_that_does_not_fit_is_refused_and_counted() -> None:
    tree = new_tree(10, with_priors=False, with_amaf=False)
    assert add_node(tree, np.uint64(1), 0, 8) == ROOT
    assert add_node(tree, np.uint64(2), 0, 3) == NO_NODE
    assert find_node(tree, np.uint64(2)) == NO_NODE
    assert add_node(tree, np.uint64(3), 0, 2) == 1
    assert add_node(tree, np.uint64(4), 0, 1) == NO_NODE
    assert tree.used[:SEARCH].tolist() == [2, 10, 2]


def test_nodes_can_run_out_before_edges() -> None:
    tree = new_tree(100, with_priors=False, with_amaf=False)
    room = len(tree.node_key)
    added = [add_node(tree, np.uint64(key), 0, 1) for key in range(room + 5)]
    assert [node == NO_NODE for node in added] == [False] * room + [True] * 5
    assert tree.used[:SEARCH].tolist() == [room, room, 5]
    assert all(int(find_node(tree, np.uint64(key))) == key for key in range(room))


@pytest.mark.parametrize("capacity", [2, 100, 1000, 4096, 99_999])
def test_table_is_at_most_half_full(capacity: int) -> None:
    tree = new_tree(capacity, with_priors=False, with_amaf=False)
    assert len(tree.slots) >= 2 * len(tree.node_key) and len(tree.slots).bit_count() == 1
    assert (tree.slots == NO_NODE).all()


def test_optional_arrays_take_no_room_unless_used() -> None:
    lengths = {
        (priors, amaf): [len(a) for a in (t.edge_prior, t.edge_amaf_visits, t.edge_amaf_wins)]
        for priors in (False, True)
        for amaf in (False, True)
        for t in [new_tree(50, priors, amaf)]
    }
    assert lengths == {
        (False, False): [0, 0, 0],
        (True, False): [50, 0, 0],
        (False, True): [0, 50, 50],
        (True, True): [50, 50, 50],
    }


@pytest.mark.parametrize(
    "capacity, message",
    [
        (5, "nodes=5 is too small: branching is 7; give at least 8"),
        (2**32, f"nodes={2**32} is too large; give at most {int(TERMINAL) - 1}"),
    ],
)
def test_capacities_that_cannot_work_are_refused(capacity: int, message: str) -> None:
    with pytest.raises(OptionError) as refusal:
        new_tree(capacity, False, False, branching=7)
    assert str(refusal.value) == message


# Memory


@pytest.mark.parametrize("options", [{"bandit": bandit} for bandit in BANDITS] + [{"bandit": "rave", "widening": 40.0}])
@pytest.mark.parametrize("capacity", [5_000_000, 1_048_500, 300_000])
def test_an_edge_takes_at_most_40_bytes(options: dict[str, Any], capacity: int) -> None:
    """The capacities lie at different places between two powers of two, the sizes of the table."""
    chosen = SearchOptions(**options)
    tree = new_tree(capacity, chosen.uses_priors(), chosen.uses_amaf())
    for branching in REALISTIC_BRANCHING:
        tree.used[NODES], tree.used[EDGES] = 1000, 1000 * branching
        assert bytes_per_edge(tree) <= 40


def test_bytes_of_an_edge_are_those_of_the_arrays() -> None:
    tree = new_tree(40_000, with_priors=True, with_amaf=True)
    tree.used[EDGES] = len(tree.edge_move)
    tree.used[NODES] = len(tree.node_key)
    assert bytes_per_edge(tree) * len(tree.edge_move) == pytest.approx(sum(a.nbytes for a in tree) - tree.used.nbytes)
    assert len(tree.node_key) == 40_000 // EDGES_PER_NODE + 16


# Searches


@pytest.mark.parametrize("algorithm", ["uct", "dfuct"])
@pytest.mark.parametrize("spec", ["connect4", "pgame"])
def test_search_finds_every_node_by_its_key(spec: str, algorithm: str) -> None:
    tree = search(spec, PLAYOUTS, algorithm=algorithm).tree
    assert all(int(find_node(tree, np.uint64(key))) == node for key, node in nodes_by_key(tree).items())
    assert int(tree.used[NODES]) > PLAYOUTS // 50 and int(tree.used[REFUSED]) == 0


@pytest.mark.parametrize("algorithm", ["uct", "dfuct"])
@pytest.mark.parametrize("spec", ["connect4", "tictactoe", "pgame"])
@pytest.mark.parametrize("nodes", [9, 30, 80])
def test_search_goes_on_when_the_tree_is_full(spec: str, nodes: int, algorithm: str) -> None:
    searcher = search(spec, PLAYOUTS, algorithm=algorithm, nodes=nodes, solver=False)
    assert_consistent(searcher, PLAYOUTS)
    tree = searcher.tree
    assert tree.used[REFUSED] > 0
    assert int(tree.used[EDGES]) + searcher.game.max_moves > nodes or tree.used[NODES] == len(tree.node_key)


@pytest.mark.parametrize("spec", ["connect4", "pgame"])
def test_room_that_is_not_needed_changes_nothing(spec: str) -> None:
    small, large = (search(spec, PLAYOUTS, nodes=nodes) for nodes in (20_000, 1_000_000))
    assert small.tree.used.tolist() == large.tree.used.tolist()
    assert [m.visits for m in small.root().moves] == [m.visits for m in large.root().moves]


@pytest.mark.parametrize("nodes, full", [(100, True), (100_000, False)])
def test_result_says_that_the_tree_was_full(nodes: int, full: bool) -> None:
    result = result_of(f"sequential:nodes={nodes}", "connect4", PLAYOUTS)
    assert (result.refused_expansions > 0) == full == result.tree_full == result.as_json()["tree_full"]
    assert result.root_visits == result.playouts == PLAYOUTS
    assert result.edges <= nodes


def test_tree_too_small_for_the_game_is_refused() -> None:
    with pytest.raises(OptionError, match="nodes=8 is too small: branching is 9; give at least 10"):
        new_searcher("tictactoe", nodes=8)
