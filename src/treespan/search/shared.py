"""UCT by several threads on one tree, without locks (gelly2008, Algorithm 4): select, expand, playout, backup.

The steps are those of `uct.py`, with three differences:

- Statistics change by atomic adds, so no update is lost. They are read plainly: a formula may see the visits of one
  moment and the rewards of the next, as if the simulations between had ended in another order.
- A node is published after it is built. A thread claims the edge (`BUILDING`), enters the node in the table without
  edges, fills its edges, then stores their number and, last, the edge's child. A thread that reads one of these two
  with acquire ordering sees a complete node. Nobody waits: until then the other threads play out there as at a leaf.
- Threads may see the simulations that others have under way, so that they take other paths: see `depart`.

Nodes and edges are allotted by compare-and-set, so that none lies beyond the arrays. When the room is used up, the
search goes on without expanding, as a sequential one does.
"""

from typing import NamedTuple

import numpy as np

from treespan.core.atomics import atomic_add, atomic_cas, atomic_load, atomic_store
from treespan.core.clock import now_ns, sleep_ns
from treespan.core.jit import njit, njit_inline
from treespan.core.records import on_own_lines
from treespan.games.rules import candidates, key, play, to_play
from treespan.search.bandits import needs_amaf
from treespan.search.rave import update_amaf
from treespan.search.tree import (
    BUILDING,
    EDGES,
    NO_NODE,
    NODES,
    REFUSED,
    ROOT,
    TERMINAL,
    UNPROVEN,
    start_node,
)
from treespan.search.uct import FIRST_CHECK, evaluate, fill_edges, gain_of, next_interval, order_moves, pick_edge
from treespan.search.work import DEPTH_CUT, DEPTH_MAX, DEPTH_SUM, PLAYOUTS, TRANSPOSED

PORTIONS = 8  # a thread takes this part of its even share of the playouts left: so all threads end at the same time
MAX_PORTION = 1024  # most simulations that a thread takes at once
SPINS = 1000  # looks at a lock before a nap: with more threads than cores the lock's holder may not be running
NAP_NS = 1000
NO_ROOM = -1
_ONE = np.uint64(1)


class Team(NamedTuple):
    """The counters that threads share beside the tree, each on a cache line of its own."""

    pool: np.ndarray  # int64[1], playouts that no thread has taken yet
    lock: np.ndarray  # int64[1], not zero: a thread selects or backs up; used if `is_locked`
    threads: int
    is_locked: bool


def new_team(threads: int, is_locked: bool) -> Team:
    pool, lock = (on_own_lines(np.zeros(1, dtype=np.int64)) for _ in range(2))
    return Team(pool, lock, threads, is_locked)


@njit
def run_shared(game, tree, settings, work, team, deadline_ns):
    """Simulate in one thread until no playouts are left, or `run_uct` would end. Returns the simulations done."""
    done, left = 0, 0
    next_check, interval, last_ns = FIRST_CHECK, FIRST_CHECK, now_ns()
    while atomic_load(tree.node_proven, ROOT) == UNPROVEN:
        if left == 0:
            left = take_portion(team)
            if left == 0:
                break
        simulate(game, tree, settings, work, team)
        left -= 1
        done += 1
        if done >= next_check:
            now = now_ns()
            if now >= deadline_ns or atomic_load(work.stop, 0) != 0:
                break
            interval = next_interval(interval, now - last_ns)
            last_ns = now
            next_check = done + interval
    return done


@njit
def take_portion(team):
    """Take some of the playouts that are left: fewer towards the end, 0 if there are none."""
    seen = atomic_load(team.pool, 0)
    portion = min(max(seen // (PORTIONS * team.threads), 1), MAX_PORTION)
    there = atomic_add(team.pool, 0, -portion)
    return min(max(there, 0), portion)


@njit_inline
def simulate(game, tree, settings, work, team):
    work.states[1] = work.states[0]
    state = work.states[1]
    acquire(team)
    depth = select(game, tree, state, settings, work)
    release(team)
    value, plies = evaluate(game, tree, state, settings, work, depth)
    acquire(team)
    backup(tree, settings, work, depth, value)
    if needs_amaf(settings):
        update_amaf(tree, work, depth, plies, value, True)
    release(team)


@njit_inline
def acquire(team):
    """Wait until no other thread is at the tree. Does nothing if the threads use no lock."""
    if team.is_locked:
        spins = 0
        while not atomic_cas(team.lock, 0, 0, 1):
            while atomic_load(team.lock, 0) != 0:
                spins += 1
                if spins % SPINS == 0:
                    sleep_ns(NAP_NS)


@njit_inline
def release(team):
    if team.is_locked:
        atomic_store(team.lock, 0, 0)


@njit_inline
def select(game, tree, state, settings, work):
    """Step 1: follow the bandit from the root to a leaf, and expand it if it is due. Returns the path's length."""
    node = ROOT
    depth = 0
    while True:
        edge = pick_edge(game, tree, state, node, settings, work)
        work.path_node[depth] = node
        work.path_edge[depth] = edge
        depth += 1
        visits = depart(tree, node, edge, settings)
        play(game, state, tree.edge_move[edge])
        child = atomic_load(tree.edge_child, edge)
        if child == NO_NODE and visits >= settings.threshold:
            child = expand(game, tree, state, edge, settings, work)
        if child >= TERMINAL or tree.edge_proven[edge] != UNPROVEN or tree.node_proven[child] != UNPROVEN:
            break
        if depth >= settings.max_depth:
            work.counters[DEPTH_CUT] += 1
            break
        node = child
    work.counters[DEPTH_SUM] += depth
    work.counters[DEPTH_MAX] = max(work.counters[DEPTH_MAX], depth)
    return depth


@njit_inline
def depart(tree, node, edge, settings):
    """Let the other threads see that a simulation takes this edge. Returns the edge's visits without it.

    With `count_early` the visit enters the statistics at once, and its reward is 0 until the result is back: every
    reader sees a lost visit. Counted as a flight, only the bandit formulas see it.
    """
    if settings.count_early:
        atomic_add(tree.node_visits, node, 1)
        return atomic_add(tree.edge_visits, edge, 1)
    if len(tree.edge_flight) > 0:
        atomic_add(tree.node_flight, node, 1)
        atomic_add(tree.edge_flight, edge, 1)
    return atomic_load(tree.edge_visits, edge)


@njit
def expand(game, tree, state, edge, settings, work):
    """Step 2: expand the leaf behind `edge`. It gets the node of its position, if that is in the tree already.

    Returns the node; TERMINAL if the game is over there, NO_NODE if the tree is full, BUILDING if another thread is
    at it.
    """
    if not atomic_cas(tree.edge_child, edge, NO_NODE, BUILDING):
        return atomic_load(tree.edge_child, edge)  # another thread was quicker
    child = find_or_build(game, tree, state, settings, work)
    atomic_store(tree.edge_child, edge, child)
    return child


@njit
def find_or_build(game, tree, state, settings, work):
    """Return the node of a position; NO_NODE if another thread is building it or the tree is full; TERMINAL at the end.

    Builds the node if there is none.
    """
    position_key = key(game, state)
    node = find_built(tree, position_key)
    if node == BUILDING:
        return NO_NODE
    if node != NO_NODE:
        work.counters[TRANSPOSED] += 1
        return node
    count = candidates(game, state, work.moves)
    if count == 0:
        return TERMINAL
    node = enter_node(tree, position_key, to_play(game, state), count)
    if node == NO_NODE:
        return NO_NODE
    first = allot(tree.used, EDGES, count, len(tree.edge_move))
    if first == NO_ROOM:  # other threads took the edges; the node stays in the table and is never built
        atomic_add(tree.used, REFUSED, 1)
        return NO_NODE
    order_moves(game, state, position_key, count, settings, work, len(tree.edge_prior) > 0)
    fill_edges(tree, np.uint32(first), count, work, len(tree.edge_prior) > 0)
    tree.node_first[node] = first
    atomic_store(tree.node_count, node, count)
    return node


@njit_inline
def find_built(tree, key):
    """Return the node with this key; NO_NODE if there is none, BUILDING if it has no edges yet."""
    mask = np.uint64(len(tree.slots) - 1)
    slot = key & mask
    while True:
        node = atomic_load(tree.slots, slot)
        if node == NO_NODE:
            return NO_NODE
        if tree.node_key[node] == key:
            return node if atomic_load(tree.node_count, node) > 0 else BUILDING
        slot = (slot + _ONE) & mask


@njit_inline
def enter_node(tree, key, player, count):
    """Enter a node in the table without edges, and return it.

    Returns NO_NODE if the tree has no room for the node and its `count` edges, or if another thread has entered the
    position meanwhile.
    """
    has_room = atomic_load(tree.used, EDGES) + count <= len(tree.edge_move)
    index = allot(tree.used, NODES, 1, len(tree.node_key)) if has_room else NO_ROOM
    if index == NO_ROOM:
        atomic_add(tree.used, REFUSED, 1)
        return NO_NODE
    node = np.uint32(index)
    start_node(tree, node, key, player, 0, 0)
    mask = np.uint64(len(tree.slots) - 1)
    slot = key & mask
    while not atomic_cas(tree.slots, slot, NO_NODE, node):
        if tree.node_key[atomic_load(tree.slots, slot)] == key:
            # Give the index back. If a later index is in use already, this one stays without a node.
            atomic_cas(tree.used, NODES, index + 1, index)
            return NO_NODE
        slot = (slot + _ONE) & mask
    return node


@njit_inline
def allot(used, what, amount, limit):
    """Take `amount` nodes or edges. Returns the first one; NO_ROOM if fewer are left."""
    while True:
        first = atomic_load(used, what)
        if first + amount > limit:
            return np.int64(NO_ROOM)
        if atomic_cas(used, what, first, first + amount):
            return first


@njit_inline
def backup(tree, settings, work, depth, value):
    """Step 4: add the result to every edge of the path, from its player's view. The simulation is over.

    Rewards come first: a visit that others see before its reward would look like a loss.
    """
    for level in range(depth):
        node, edge = work.path_node[level], work.path_edge[level]
        atomic_add(tree.edge_wins, edge, gain_of(tree.node_player[node], value))
        if not settings.count_early:
            atomic_add(tree.edge_visits, edge, 1)
            atomic_add(tree.node_visits, node, 1)
            if len(tree.edge_flight) > 0:
                atomic_add(tree.edge_flight, edge, -1)
                atomic_add(tree.node_flight, node, -1)
    work.counters[PLAYOUTS] += 1
