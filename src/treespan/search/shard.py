"""Nodes apart from their tree: to move them to another rank, or to keep them in a file.

In a shard only keys lead from node to node. So its nodes can be added to any tree of the same kind.
"""

from typing import NamedTuple

import numpy as np

from treespan.core.jit import njit
from treespan.search.tree import FREE, NO_NODE, NODES, TreeArrays, add_node, remove_node


class Shard(NamedTuple):
    """Some nodes, and the moves of all of them, node by node. The fields are those of `TreeArrays`."""

    node_key: np.ndarray
    node_count: np.ndarray
    node_visits: np.ndarray
    node_player: np.ndarray
    node_proven: np.ndarray
    node_search: np.ndarray
    edge_move: np.ndarray
    edge_key: np.ndarray
    edge_visits: np.ndarray
    edge_wins: np.ndarray
    edge_proven: np.ndarray
    edge_prior: np.ndarray
    edge_expert: np.ndarray
    edge_amaf_visits: np.ndarray
    edge_amaf_wins: np.ndarray


def nodes_in_use(tree: TreeArrays) -> np.ndarray:
    """Return the nodes that are in the table."""
    return np.flatnonzero(tree.node_search[: int(tree.used[NODES])] != FREE).astype(np.uint32)


def find(tree: TreeArrays, key: int) -> np.uint32:
    """Return the node with this key, or NO_NODE. Python calls it, without compiling."""
    mask = len(tree.slots) - 1
    slot = int(key) & mask
    while True:
        node = tree.slots[slot]
        if node == NO_NODE or int(tree.node_key[node]) == int(key):
            return np.uint32(node)
        slot = (slot + 1) & mask


def forget(tree: TreeArrays, key: int) -> None:
    """Take the node with this key out of a tree, if it is there."""
    node = find(tree, key)
    if node != NO_NODE:
        remove_node(tree, node)


def copy_nodes(tree: TreeArrays, nodes: np.ndarray) -> Shard:
    """Return a copy of some nodes of a tree in which only keys lead to nodes. Nothing must be under way there."""
    counts = tree.node_count[nodes].astype(np.int64)
    before = np.cumsum(counts) - counts
    edges = np.repeat(tree.node_first[nodes].astype(np.int64) - before, counts) + np.arange(counts.sum())
    of_nodes = {name: getattr(tree, name)[nodes] for name in Shard._fields if name.startswith("node_")}
    of_edges = {name: getattr(tree, name) for name in Shard._fields if name.startswith("edge_")}
    return Shard(**of_nodes, **{name: array[edges] if len(array) else array for name, array in of_edges.items()})


def add_nodes(tree: TreeArrays, shard: Shard) -> int:
    """Add nodes to a tree of the same kind. Returns how many found no room; none of them may be in the tree already."""
    return int(enter_shard(tree, shard))


@njit
def enter_shard(tree, shard):
    """Add nodes one by one, with their statistics; nothing is under way there. Returns how many found no room."""
    first, lost = 0, 0
    for i in range(len(shard.node_key)):
        count = np.int64(shard.node_count[i])
        node = add_node(tree, shard.node_key[i], shard.node_player[i], count)
        if node == NO_NODE:
            lost += 1
        else:
            tree.node_visits[node], tree.node_proven[node] = shard.node_visits[i], shard.node_proven[i]
            tree.node_search[node] = shard.node_search[i]
            begin = np.int64(tree.node_first[node])
            for j in range(count):
                copy_edge(tree, np.uint32(begin + j), shard, np.uint32(first + j))
        first += count
    return lost


@njit
def copy_edge(tree, edge, shard, source):
    tree.edge_move[edge], tree.edge_key[edge] = shard.edge_move[source], shard.edge_key[source]
    tree.edge_visits[edge], tree.edge_wins[edge] = shard.edge_visits[source], shard.edge_wins[source]
    tree.edge_proven[edge], tree.edge_child[edge] = shard.edge_proven[source], NO_NODE
    if len(tree.edge_flight) > 0:
        tree.edge_flight[edge] = 0
    if len(tree.edge_prior) > 0:
        tree.edge_prior[edge] = shard.edge_prior[source]
    if len(tree.edge_expert) > 0:
        tree.edge_expert[edge] = shard.edge_expert[source]
    if len(tree.edge_amaf_visits) > 0:
        tree.edge_amaf_visits[edge] = shard.edge_amaf_visits[source]
        tree.edge_amaf_wins[edge] = shard.edge_amaf_wins[source]
