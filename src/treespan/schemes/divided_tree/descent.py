"""Jobs on their way down: a move is selected, and the job goes to the home of the next position, or to its playout."""

import numpy as np

from treespan.core.handles import call_entry, value_of
from treespan.core.jit import njit, njit_inline, njit_unit
from treespan.core.rng import GOLDEN, mix64
from treespan.games.rules import CHANCE, chance, key, play
from treespan.schemes.divided_tree.rank import home_of
from treespan.schemes.divided_tree.stack import snapshot
from treespan.schemes.divided_tree.trail import amaf_snapshot
from treespan.schemes.protocol.evaluation import replay
from treespan.schemes.protocol.messages import PLAYOUT, SEARCH
from treespan.schemes.protocol.port import LEAVES, enqueue, least_loaded, load_of, send
from treespan.search.bandits import NO_EDGE, best_edge, best_two_edges
from treespan.search.tree import TERMINAL, find_node
from treespan.search.uct import find_or_add


@njit_unit("none")
def descend(handle, row, slot, node):
    """Select in a node of this rank, put a level on the job, and send it to the home of the next position."""
    rank = value_of(handle)
    game, tree, settings, work, jobs = rank.game, rank.tree, rank.settings, rank.work, rank.port.jobs
    job = jobs.headers[slot]
    level = jobs.levels[slot, job.levels]
    player = tree.node_player[node]
    second = NO_EDGE
    if player == CHANCE:
        replay(game, work, jobs, slot)
        choice = chance(game, work.states[1], rank.random[row : row + 1])
        best = np.uint32(tree.node_first[node] + np.uint32(choice))
    elif settings.depth_first:
        best, second = best_two_edges(tree, node, settings, work.scores)
    else:
        best = best_edge(tree, node, settings, work.scores)
    put_level(rank, row, slot, node, best, second)
    job.edge_visits = visits_of(tree, settings, best, tree.edge_flight[best])
    level.under_way = job.allowance if settings.whole_grants else 1
    if call_entry(rank.hooks.select, rank.hooks.handle, row, slot) == 0:
        tree.edge_flight[best] += flights_of(level, settings)
        tree.node_flight[node] += flights_of(level, settings)
    go_to_child(handle, slot, best)
    if call_entry(rank.hooks.stay, rank.hooks.handle, row, slot) != 0:
        send(rank.port, row, slot, np.int64(level.home))
    else:
        send_down(handle, row, slot)


@njit
def node_of(handle, row, slot):
    """The node of a job's position, added if need be; NO_NODE if there is no room, or the game is over."""
    rank = value_of(handle)
    found = call_entry(rank.hooks.find, rank.hooks.handle, row, slot)
    node = np.uint32(found - 1) if found != 0 else find_node(rank.tree, rank.port.jobs.headers[slot].key)
    if node >= TERMINAL:
        replay(rank.game, rank.work, rank.port.jobs, slot)
        node = find_or_add(rank.game, rank.tree, rank.work.states[1], rank.settings, rank.work)
    return node


@njit_inline
def put_level(rank, row, slot, node, best, second):
    """Note on a job's next level which move it takes in a node of this rank, and what the stack test needs."""
    tree, settings, jobs = rank.tree, rank.settings, rank.port.jobs
    level = jobs.levels[slot, jobs.headers[slot].levels]
    level.node, level.edge, level.move = node, best, tree.edge_move[best]
    level.home = rank.port.first + row
    level.player = tree.node_player[node]
    if settings.depth_first:
        snapshot(tree, settings, level, node, best, second)
        if jobs.plane_words > 0:
            amaf_snapshot(tree, jobs, slot, best, second)


@njit_inline
def flights_of(level, settings):
    """As how many simulations under way a job counts in the node of a level."""
    return np.int32(level.under_way) if settings.whole_grants else np.int32(1)  # UCT's levels travel without it


@njit_inline
def visits_of(tree, settings, edge, flights):
    """Visits of a move that decide whether its position is a leaf, with what is under way there before the job."""
    return tree.edge_visits[edge] + (min(flights, np.int32(1)) if settings.whole_grants else flights)


@njit
def go_to_child(handle, slot, edge):
    """Address a job to the position that an edge leads to."""
    rank = value_of(handle)
    game, tree, work, job = rank.game, rank.tree, rank.work, rank.port.jobs.headers[slot]
    if tree.edge_key[edge] == 0:
        replay(game, work, rank.port.jobs, slot)
        play(game, work.states[1], tree.edge_move[edge])
        tree.edge_key[edge] = key(game, work.states[1])
    job.key, job.kind, job.levels = tree.edge_key[edge], SEARCH, job.levels + 1


@njit_inline
def is_leaf(rank, row, slot):
    """Whether the position of a job is played out."""
    job = rank.port.jobs.headers[slot]
    if job.edge_visits >= rank.settings.threshold:
        return False
    if job.allowance <= rank.large_from:
        return True
    return call_entry(rank.hooks.expand_early, rank.hooks.handle, row, slot) == 0


@njit
def send_down(handle, row, slot):
    """Send a job to the home of its position; a leaf that may be played out anywhere need not go there first."""
    rank = value_of(handle)
    port, job = rank.port, rank.port.jobs.headers[slot]
    if not rank.place_idle or not is_leaf(rank, row, slot):
        send(port, row, slot, home_of(job.key, rank))
    else:
        send_leaf(handle, row, slot)


@njit
def send_leaf(handle, row, slot):
    """Have a leaf played out somewhere, from its parent's home or its own.

    It stays here unless a rank is known to have less to do, or this one has its share: then chance shall decide. Not
    the leaf's home: many jobs may be on their way to one leaf.
    """
    rank = value_of(handle)
    port, job = rank.port, rank.port.jobs.headers[slot]
    receiver = least_loaded(port, row)
    if receiver == port.first + row and load_of(port, row) > rank.fair_load:
        number = mix64(job.key + np.uint64(job.edge_visits) * GOLDEN) % np.uint64(port.ranks - rank.reserved)
        receiver = rank.reserved + np.int64(number)
    place_leaf(port, row, slot, receiver)


@njit
def wait_for_playout(handle, row, slot):
    """A job has reached its leaf: it waits here, or at a rank that has less to do."""
    rank = value_of(handle)
    place_leaf(rank.port, row, slot, least_loaded(rank.port, row) if rank.place_idle else rank.port.first + row)


@njit_inline
def place_leaf(port, row, slot, receiver):
    """Have a leaf played out at some rank."""
    if receiver == port.first + row:
        enqueue(port, row, LEAVES, slot)
    else:
        port.jobs.headers[slot].kind = PLAYOUT
        send(port, row, slot, receiver)
