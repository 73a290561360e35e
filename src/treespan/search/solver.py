"""Proven wins, draws and losses (MCTS-Solver: Winands, Bjornsson, Saito 2008).

A move that ends the game is proven. A node is won if one of its moves is won. If all its moves are proven, the node has
the best of their values. Proofs hold for the moves that the search considers (`candidates`). A lost move is never
selected again. A proven node is never entered: its exact value replaces a playout.

Threads may prove on one tree without locks: a proof never changes, and all threads write the same.
"""

from treespan.core.atomics import fence
from treespan.core.jit import njit, njit_inline, njit_unit
from treespan.games.rules import CHANCE, FIRST
from treespan.search.tree import DRAW, LOSS, UNPROVEN, WIN

NO_LEVEL = 1 << 30


@njit_inline
def proven_value(player, proven):
    """Return the first player's reward if `player` has this proven result."""
    if proven == DRAW:
        return 0.5
    return 1.0 if (proven == WIN) == (player == FIRST) else 0.0


@njit_inline
def proof_of(player, value):
    """Return what a finished game with this reward for the first player proves for `player`."""
    if value == 0.5:
        return DRAW
    if value == 1.0:
        return WIN if player == FIRST else LOSS
    if value == 0.0:
        return LOSS if player == FIRST else WIN
    return UNPROVEN


@njit_inline
def seen_by(player, other, proven):
    """Return what is proven for `other`, if anything, from the view of `player`."""
    if player == other or proven in (DRAW, UNPROVEN):
        return proven
    return WIN + LOSS - proven


@njit
def node_proof(tree, node):
    """Return what a node's moves prove about the node."""
    first = tree.node_first[node]
    best = LOSS
    for edge in range(first, first + tree.node_count[node]):
        proven = tree.edge_proven[edge]
        if proven == WIN:
            return WIN
        if proven == UNPROVEN:
            best = UNPROVEN
        elif best != UNPROVEN:
            best = max(best, proven)
    return best


@njit_unit("int64")
def prove(tree, work, depth, proven):
    """Record that the path's last move is proven, and all that follows. Returns the topmost level touched."""
    level = depth - 1
    while True:
        node = work.path_node[level]
        tree.edge_proven[work.path_edge[level]] = proven
        fence()  # if two threads prove the last two moves of a node, at least one thread sees both proofs
        player = tree.node_player[node]
        if player == CHANCE:
            return level
        result = node_proof(tree, node)
        if result == UNPROVEN:
            return level
        tree.node_proven[node] = result
        if level == 0:
            return 0
        level -= 1
        proven = seen_by(tree.node_player[work.path_node[level]], player, result)
