"""AMAF statistics for RAVE (Gelly & Silver 2007): a move's value from all simulations in which its player made the
move at any later time, not only at once.

A move counts only for the player who made it first in a simulation: a later stone on the same point is another move.
"""

import numpy as np

from treespan.core.atomics import atomic_add
from treespan.core.jit import njit_unit
from treespan.games.rules import CHANCE, NATURES_MOVE


@njit_unit("none")
def update_amaf(tree, work, depth, plies, value, is_shared):
    """Credit the simulation to every edge of the path's nodes whose move the node's player made there or later.

    With `is_shared` the updates are atomic, so that no thread's credit is lost.

    `work.first_maker[move]` is 2 * stamp + player. Each simulation has its own stamp, so the array is never cleared.
    """
    stamp = 2 * (work.first_maker[0] // 2 + 1)
    marks = work.first_maker[1:]
    work.first_maker[0] = stamp
    for ply in range(plies - 1, -1, -1):  # backwards: the earliest maker is written last and stays
        entry = work.trace[ply]
        if entry == NATURES_MOVE:
            continue
        if entry >= 0:
            marks[entry] = stamp
        else:
            marks[~entry] = stamp + 1
    for level in range(depth - 1, -1, -1):
        node = work.path_node[level]
        player = tree.node_player[node]
        if player == CHANCE:
            continue
        marks[tree.edge_move[work.path_edge[level]]] = stamp + player
        gain = value if player == 0 else 1.0 - value
        first = tree.node_first[node]
        mark = stamp + player
        for edge in range(first, first + tree.node_count[node]):
            # No branches: whether a move was made later is a coin toss, which no processor predicts.
            made = marks[np.uint32(tree.edge_move[edge])] == mark
            if not is_shared:
                tree.edge_amaf_visits[edge] += np.int32(made)
                tree.edge_amaf_wins[edge] += gain if made else 0.0
            elif made:
                atomic_add(tree.edge_amaf_visits, edge, 1)
                atomic_add(tree.edge_amaf_wins, edge, gain)
