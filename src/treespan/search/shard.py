"""Nodes apart from their tree: to move them to another rank, or to keep them in a file.

In a shard only keys lead from node to node. So its nodes can be added to any tree of the same kind.
"""

from typing import NamedTuple

import numpy as np

from treespan.core.jit import njit
from treespan.games.rules import CHANCE, FIRST, SECOND
from treespan.search.tree import FREE, NO_NODE, NODES, TERMINAL, WIN, TreeArrays, add_node, find_node, remove_node


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
    nodes = int(tree.used[NODES])
    in_table = tree.node_search[:nodes] != FREE if len(tree.node_search) else tree.node_count[:nodes] > 0
    return np.flatnonzero(in_table).astype(np.uint32)


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
    """Return a copy of some nodes. Nothing must be under way there."""
    counts = tree.node_count[nodes].astype(np.int64)
    before = np.cumsum(counts) - counts
    edges = np.repeat(tree.node_first[nodes].astype(np.int64) - before, counts) + np.arange(counts.sum())
    of_edges = {name: getattr(tree, name) for name in Shard._fields if name.startswith("edge_")}
    return Shard(
        node_key=tree.node_key[nodes],
        node_count=tree.node_count[nodes],
        node_visits=tree.node_visits[nodes],
        node_player=tree.node_player[nodes],
        node_proven=tree.node_proven[nodes],
        node_search=tree.node_search[nodes] if len(tree.node_search) else np.zeros(len(nodes), dtype=np.int32),
        **{name: array[edges] if len(array) else array for name, array in of_edges.items()}
        | {"edge_key": tree.edge_key[edges] if len(tree.edge_key) else _keys_of_children(tree, edges)},
    )


def _keys_of_children(tree: TreeArrays, edges: np.ndarray) -> np.ndarray:
    """Return the keys of the nodes that moves lead to in a tree where indices lead there; 0 for leaves."""
    children = tree.edge_child[edges]
    keys = np.zeros(len(edges), dtype=np.uint64)
    are_nodes = children < TERMINAL
    keys[are_nodes] = tree.node_key[children[are_nodes]]
    return keys


def choose(shard: Shard, wanted: np.ndarray) -> Shard:
    """Return the part of a shard with the nodes that are wanted, of which there is a truth value for each."""
    if wanted.all():
        return shard
    of_edges = np.repeat(wanted, shard.node_count)
    return Shard._make(
        array[wanted if name.startswith("node_") else of_edges] if len(array) else array
        for name, array in zip(Shard._fields, shard, strict=True)
    )


def fits(shard: Shard, tree: TreeArrays, move_ids: int) -> bool:
    """Whether arrays that were read are nodes of a tree with such arrays, in a game with moves below `move_ids`."""
    nodes, edges = len(shard.node_key), len(shard.edge_move)
    for name, array in zip(Shard._fields, shard, strict=True):
        like = getattr(tree, name)
        is_there = len(like) > 0 or name in ("edge_key", "node_search")
        if array.dtype != like.dtype or array.shape != ((nodes if name.startswith("node_") else edges) * is_there,):
            return False
    if (shard.node_count == 0).any() or int(shard.node_count.astype(np.int64).sum()) != edges:
        return False
    is_real = bool((shard.edge_wins >= 0).all() and (shard.edge_wins <= shard.edge_visits + 1e-6).all())
    are_moves = bool(((shard.edge_move >= 0) & (shard.edge_move < move_ids)).all())
    are_players = bool(np.isin(shard.node_player, (FIRST, SECOND, CHANCE)).all())
    are_proofs = bool(
        ((shard.node_proven >= 0) & (shard.node_proven <= WIN)).all() and (shard.edge_proven <= WIN).all()
    )
    return is_real and are_moves and are_players and are_proofs and len(np.unique(shard.node_key)) == nodes


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
            if len(tree.node_search) > 0:
                tree.node_search[node] = shard.node_search[i]
            begin = np.int64(tree.node_first[node])
            for j in range(count):
                copy_edge(tree, np.uint32(begin + j), shard, np.uint32(first + j))
        first += count
    return lost


@njit
def copy_edge(tree, edge, shard, source):
    tree.edge_move[edge] = shard.edge_move[source]
    tree.edge_visits[edge], tree.edge_wins[edge] = shard.edge_visits[source], shard.edge_wins[source]
    tree.edge_proven[edge], tree.edge_child[edge] = shard.edge_proven[source], NO_NODE
    if len(tree.edge_key) > 0:
        tree.edge_key[edge] = shard.edge_key[source]
    if len(tree.edge_flight) > 0:
        tree.edge_flight[edge] = 0
    if len(tree.edge_prior) > 0:
        tree.edge_prior[edge] = shard.edge_prior[source]
    if len(tree.edge_expert) > 0:
        tree.edge_expert[edge] = shard.edge_expert[source]
    if len(tree.edge_amaf_visits) > 0:
        tree.edge_amaf_visits[edge] = shard.edge_amaf_visits[source]
        tree.edge_amaf_wins[edge] = shard.edge_amaf_wins[source]


@njit
def link(tree, keys):
    """Where indices lead to nodes: the tree's first moves lead to the nodes with these keys, one for each; 0: to none.

    Added to an empty tree, the moves of a shard are its first ones.
    """
    for edge in range(len(keys)):
        if keys[edge] != 0:
            tree.edge_child[np.uint32(edge)] = find_node(tree, keys[edge])
