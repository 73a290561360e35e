"""Reuse of a tree after a move: the part below the new root is copied into an empty tree."""

import numpy as np

from treespan.core.jit import njit
from treespan.search.tree import EDGES, NO_NODE, NODES, TERMINAL, TreeArrays, add_node


@njit
def copy_below(old, new, start, names):
    """Copy `start` and all nodes that can be reached from it, breadth first, behind the nodes that `new` has.

    `names[node]` is the node's new index, NO_NODE if it has none yet. A new node first has its children's old indices;
    they are replaced when the node's turn comes.
    """
    turn = new.used[NODES]
    names[start] = _copy_node(old, new, start)
    while turn < new.used[NODES]:
        first = new.node_first[np.uint32(turn)]
        for edge in range(first, first + new.node_count[np.uint32(turn)]):
            child = new.edge_child[edge]
            if child < TERMINAL:
                if names[child] == NO_NODE:
                    names[child] = _copy_node(old, new, child)
                new.edge_child[edge] = names[child]
        turn += 1


@njit
def _copy_node(old, new, node):
    count = old.node_count[node]
    copy = add_node(new, old.node_key[node], old.node_player[node], np.int64(count))
    new.node_visits[copy] = old.node_visits[node]
    new.node_proven[copy] = old.node_proven[node]
    source, target = old.node_first[node], new.node_first[copy]
    for i in range(np.uint64(count)):
        new.edge_move[target + i] = old.edge_move[source + i]
        new.edge_child[target + i] = old.edge_child[source + i]
        new.edge_visits[target + i] = old.edge_visits[source + i]
        new.edge_wins[target + i] = old.edge_wins[source + i]
        new.edge_proven[target + i] = old.edge_proven[source + i]
        if len(old.edge_prior) > 0:
            new.edge_prior[target + i] = old.edge_prior[source + i]
        if len(old.edge_expert) > 0:
            new.edge_expert[target + i] = old.edge_expert[source + i]
        if len(old.edge_amaf_visits) > 0:
            new.edge_amaf_visits[target + i] = old.edge_amaf_visits[source + i]
            new.edge_amaf_wins[target + i] = old.edge_amaf_wins[source + i]
        if len(new.edge_flight) > 0:  # nothing is under way between two searches
            new.edge_flight[target + i] = 0
    return copy


def keep_subtree(old: TreeArrays, new: TreeArrays, start: int) -> None:
    """Fill the empty tree `new` with the part of `old` below node `start`. `new` must have at least the same room."""
    assert new.used[NODES] == new.used[EDGES] == 0
    names = np.full(int(old.used[NODES]), NO_NODE, dtype=np.uint32)
    copy_below(old, new, np.uint32(start), names)
