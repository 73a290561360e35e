"""The search tree as flat arrays, and the transposition table that finds a node by its 64-bit key.

A node is an expanded position. Its edges are the moves that the search considers there, stored side by side. An edge
has the statistics of its move, from the view of the player who makes the move. A leaf has no node: its visits are those
of the edge that leads to it. A position that is reached in two ways has one node, so the "tree" is a graph.

A tree may live from search to search. If only keys lead to its nodes, a node notes the last search that used it. When
nodes or edges run out, one that the present search has not used makes room for a new one (`make_room`). If there is
none, or nodes are found by index, the search goes on without expanding, and the result says so.
"""

from typing import NamedTuple

import numpy as np

from treespan.core.errors import OptionError, named
from treespan.core.jit import njit, njit_inline
from treespan.core.records import on_own_lines

NO_NODE = np.uint32(0xFFFFFFFF)
BUILDING = np.uint32(0xFFFFFFFE)  # in edge_child: a thread is making the node; until then the edge leads to a leaf
TERMINAL = np.uint32(0xFFFFFFFD)  # in edge_child: the move ends the game; values from this one on are no nodes
ROOT = np.uint32(0)
MAX_VISITS = 2**31 - 1  # visits are int32; a search stops there

# Proofs about a move or a node, from the view of the player to move in the node.
UNPROVEN, LOSS, DRAW, WIN = 0, 1, 2, 3

# Indices into `TreeArrays.used`
NODES, EDGES, REFUSED, SEARCH, HAND, USES = range(6)
FREE = -1  # in node_search: the node is in no table
LOOKS = 32  # nodes that are looked at to find one that makes room

EDGES_PER_NODE = 4  # node arrays have room for capacity / 4 nodes: games with fewer moves per node are rare
_ONE = np.uint64(1)


class TreeArrays(NamedTuple):
    """All arrays of a tree. Indices are unsigned: compiled code then skips the test for negative ones."""

    node_key: np.ndarray  # uint64[nodes], the position's key
    node_first: np.ndarray  # uint32[nodes], index of the first edge
    node_count: np.ndarray  # uint32[nodes], number of edges
    node_visits: np.ndarray  # int32[nodes], simulations that went through an edge of this node
    node_player: np.ndarray  # int8[nodes], who moves: FIRST, SECOND or CHANCE
    node_proven: np.ndarray  # int8[nodes], UNPROVEN, LOSS, DRAW or WIN for that player
    node_search: np.ndarray  # int32[nodes], or [0] where indices lead to nodes: the last search that used it, or FREE
    edge_move: np.ndarray  # int32[edges], the move
    edge_child: np.ndarray  # uint32[edges], the node that it leads to, NO_NODE, TERMINAL or BUILDING
    edge_visits: np.ndarray  # int32[edges], simulations through this edge
    edge_wins: np.ndarray  # float64[edges], sum of their rewards for the player who moves
    edge_proven: np.ndarray  # int8[edges], as node_proven
    edge_prior: np.ndarray  # float32[edges], or [0] without priors: the prior probability
    edge_expert: np.ndarray  # float32[edges], or [0]: virtual wins (losses if negative) by the game's tactical solver
    edge_amaf_visits: np.ndarray  # int32[edges] or [0], simulations in which the mover made this move later (RAVE)
    edge_amaf_wins: np.ndarray  # float32[edges] or [0], sum of their rewards
    node_flight: np.ndarray  # int32[nodes] or [0], simulations under way through this node, where several are
    edge_flight: np.ndarray  # int32[edges] or [0], simulations under way through this edge: virtual losses
    edge_key: np.ndarray  # uint64[edges] or [0], key of the position that the move leads to, 0 if not known yet
    slots: np.ndarray  # uint32[power of two], open-addressing table of nodes by key
    used: np.ndarray  # int64[USES]: nodes, edges; expansions refused; the search's number; where room was sought last


def new_tree(
    capacity: int,
    with_priors: bool,
    with_amaf: bool,
    branching: int = 1,
    with_flights: bool = False,
    with_keys: bool = False,
    with_expertise: bool = False,
) -> TreeArrays:
    """Return an empty tree with room for `capacity` edges. Pages of its arrays take no memory until they are used.

    with_flights: count simulations under way, for schemes with several at a time.
    with_keys: keep the keys of edges' positions, for schemes whose nodes live at other ranks: only keys lead to nodes.
    """
    if capacity < branching:
        raise OptionError(
            f"{named('nodes', capacity)} is too small: branching is {branching}; give at least {branching + 1}"
        )
    if capacity >= int(TERMINAL):
        raise OptionError(f"{named('nodes', capacity)} is too large; give at most {int(TERMINAL) - 1}")
    nodes = capacity // EDGES_PER_NODE + 16
    slots = 1 << (2 * nodes - 1).bit_length()
    return TreeArrays(
        node_key=np.empty(nodes, dtype=np.uint64),
        node_first=np.empty(nodes, dtype=np.uint32),
        node_count=np.empty(nodes, dtype=np.uint32),
        node_visits=np.empty(nodes, dtype=np.int32),
        node_player=np.empty(nodes, dtype=np.int8),
        node_proven=np.empty(nodes, dtype=np.int8),
        node_search=np.empty(nodes if with_keys else 0, dtype=np.int32),
        edge_move=np.empty(capacity, dtype=np.int32),
        edge_child=np.empty(capacity, dtype=np.uint32),
        edge_visits=np.empty(capacity, dtype=np.int32),
        edge_wins=np.empty(capacity, dtype=np.float64),
        edge_proven=np.empty(capacity, dtype=np.int8),
        edge_prior=np.empty(capacity if with_priors else 0, dtype=np.float32),
        edge_expert=np.empty(capacity if with_expertise else 0, dtype=np.float32),
        edge_amaf_visits=np.empty(capacity if with_amaf else 0, dtype=np.int32),
        edge_amaf_wins=np.empty(capacity if with_amaf else 0, dtype=np.float32),
        node_flight=np.empty(nodes if with_flights else 0, dtype=np.int32),
        edge_flight=np.empty(capacity if with_flights else 0, dtype=np.int32),
        edge_key=np.empty(capacity if with_keys else 0, dtype=np.uint64),
        slots=np.full(slots, NO_NODE, dtype=np.uint32),
        used=on_own_lines(np.zeros(USES, dtype=np.int64)),
    )


def bytes_per_edge(tree: TreeArrays) -> float:
    """Return the bytes per edge that a full tree takes, its table included, at the branching seen so far."""
    nodes, edges = int(tree.used[NODES]), max(int(tree.used[EDGES]), 1)
    sizes: dict[str, int] = {name: array.itemsize for name, array in tree._asdict().items() if len(array)}
    node_bytes = sum(size for name, size in sizes.items() if name.startswith("node_"))
    edge_bytes = sum(size for name, size in sizes.items() if name.startswith("edge_"))
    return edge_bytes + node_bytes * nodes / edges + tree.slots.nbytes / len(tree.edge_move)


@njit_inline
def find_node(tree, key):
    """Return the node with this key, or NO_NODE."""
    mask = np.uint64(len(tree.slots) - 1)
    slot = key & mask
    while True:
        node = tree.slots[slot]
        if node == NO_NODE or tree.node_key[node] == key:
            return node
        slot = (slot + _ONE) & mask


@njit_inline
def start_node(tree, node, key, player, first, count):
    """Fill the fields of a new node. Does not enter it in the table."""
    tree.node_key[node] = key
    tree.node_first[node] = first
    tree.node_count[node] = count
    tree.node_visits[node] = 0
    tree.node_player[node] = player
    tree.node_proven[node] = UNPROVEN
    if len(tree.node_flight) > 0:
        tree.node_flight[node] = 0
    note_use(tree, node)


@njit_inline
def note_use(tree, node):
    """Note that the present search uses a node. It keeps its place until the next search."""
    if len(tree.node_search) > 0:
        tree.node_search[node] = tree.used[SEARCH]


@njit_inline
def add_node(tree, key, player, count):
    """Add a node with `count` edges. Returns its index; NO_NODE if it does not fit.

    Does not fill the edges. Does not check whether the key is there already.
    """
    node, first = tree.used[NODES], tree.used[EDGES]
    new = np.uint32(node)
    if node >= len(tree.node_key) or first + count > len(tree.edge_move):
        new = make_room(tree, count)
        if new == NO_NODE:
            tree.used[REFUSED] += 1
            return NO_NODE
        first = np.int64(tree.node_first[new])
    else:
        tree.used[NODES] += 1
        tree.used[EDGES] += count
    start_node(tree, new, key, player, first, count)
    mask = np.uint64(len(tree.slots) - 1)
    slot = key & mask
    while tree.slots[slot] != NO_NODE:
        slot = (slot + _ONE) & mask
    tree.slots[slot] = new
    return new


@njit
def make_room(tree, count):
    """Take a node with room for so many edges out of the table, and return it; NO_NODE if none was found.

    It is the one of a few that has not been used for longest, and never one that this search has used. A hand goes
    round the nodes, so nothing stops for it: what can no longer be reached goes node by node.
    """
    found, oldest = NO_NODE, tree.used[SEARCH]
    if len(tree.node_search) == 0:
        return found
    nodes = tree.used[NODES]
    for _ in range(min(nodes, LOOKS)):
        node = np.uint32(tree.used[HAND] % nodes)
        tree.used[HAND] = np.int64(node) + 1
        if tree.node_search[node] < oldest and room_of(tree, node) >= count:
            found, oldest = node, np.int64(tree.node_search[node])
    if found != NO_NODE:
        remove_node(tree, found)
    return found


@njit_inline
def room_of(tree, node):
    """Edges that fit where a node's are: they end where those of the next node begin."""
    is_last = np.int64(node) + 1 == tree.used[NODES]
    end = tree.used[EDGES] if is_last else np.int64(tree.node_first[node + np.uint32(1)])
    return end - np.int64(tree.node_first[node])


@njit
def remove_node(tree, node):
    """Take a node out of the table. Its place is kept for another one."""
    if tree.node_search[node] == FREE:
        return
    tree.node_search[node] = FREE
    mask = np.uint64(len(tree.slots) - 1)
    hole = tree.node_key[node] & mask
    while tree.slots[hole] != node:
        hole = (hole + _ONE) & mask
    slot = (hole + _ONE) & mask
    while tree.slots[slot] != NO_NODE:  # what stands behind moves up, unless it would stand before its own place
        wanted = tree.node_key[tree.slots[slot]] & mask
        if ((slot - wanted) & mask) >= ((slot - hole) & mask):
            tree.slots[hole] = tree.slots[slot]
            hole = slot
        slot = (slot + _ONE) & mask
    tree.slots[hole] = NO_NODE
