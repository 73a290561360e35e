"""A rank with a whole tree: the handlers that all schemes share in which a tree is not divided among ranks.

A job goes down its rank's tree in one unit of work, as in `search/uct.py`, waits at the leaf for its playout, here or
at another rank, comes back, is counted along its path, and goes down again while the rank has simulations left.
Numbers in `LocalRank` tell the schemes apart: where trees are, how many simulations are under way in one, how many
playouts a leaf gets, and who plays out. What a scheme adds is called by address at three points (`protocol/hooks.py`).
So one compiled program serves all of them.

One simulation under way is the sequential search bit for bit, proofs and RAVE included. Several see each other as
virtual losses (`search/bandits.py`).
"""

from typing import Any, NamedTuple

import numpy as np

from treespan.core.handles import call_entry, value_of
from treespan.core.jit import njit, njit_inline, njit_unit
from treespan.core.records import record_dtype
from treespan.games.rules import CHANCE, chance, play
from treespan.schemes.protocol.evaluation import evaluate
from treespan.schemes.protocol.hooks import Hooks
from treespan.schemes.protocol.messages import NO_SLOT, NO_VALUE, NOT_PLAYED, OVER_AT_LEAF, PLAYOUT, REPORT, SEARCH
from treespan.schemes.protocol.port import (
    HANDLED,
    LEAVES,
    NOTHING,
    PARKED,
    TREE,
    URGENT,
    Port,
    announce_end,
    dequeue,
    enqueue,
    new_slot,
    send,
)
from treespan.search.bandits import best_edge, needs_amaf
from treespan.search.rave import update_amaf
from treespan.search.solver import proof_of, prove, proven_value, seen_by
from treespan.search.tree import NO_NODE, TERMINAL, UNPROVEN, TreeArrays
from treespan.search.uct import expand, gain_of
from treespan.search.work import Work

LOCAL_STATE = record_dtype(
    (
        ("quota", np.int64),  # simulations that this rank has still to begin
        ("under_way", np.int64),  # in this rank's tree
        ("idle", np.int64),  # jobs of this rank that are parked
        ("stop_at", np.int64),  # when it begins no more of them, ns; before the start: how long after it
        ("has_finished", np.bool_),  # nothing is under way, and nothing is left to begin
        ("is_held", np.bool_),  # it begins none for now
    )
)
# Work of a simulation and, on top, of each of its levels on the way down and up, in units of HANDLED: a job of TDS,
# which is queued at every level and looks its node up, takes 16. Measured by `bench/local_trees.py costs`.
BEGINNING, SELECTING, COUNTING = 24, 2, 1


class LocalRank(NamedTuple):
    """One rank; or all ranks of a simulated cluster, whose trees share arrays."""

    game: Any
    port: Port
    tree: TreeArrays
    work: Work
    settings: Any  # record of SETTINGS
    random: np.ndarray  # uint64[rows], generators
    salts: np.ndarray  # uint64[rows]: trees in the same arrays have keys of their own
    roots: np.ndarray  # uint32[rows], node of each root
    state: Any  # records[rows] of LOCAL_STATE
    has_trees: bool  # every rank has a tree; else rank 0 alone
    jobs: int  # of a tree: playouts that may be under way
    playouts_per_leaf: int
    first_player: int  # ranks from this one on play out for rank 0's tree,
    players: int  # so many of them
    level_work: int  # what a level takes more than in a tree of one's own, in units of HANDLED
    hooks: Hooks  # what a scheme adds to these handlers


@njit
def end_alone(handle, row, slot):
    """The only tree is finished, and so is the search."""
    announce_end(value_of(handle).port, row)
    return 0


@njit
def start(handle, row, slot):
    """Begin the first simulations of a rank's tree."""
    rank = value_of(handle)
    port, me = rank.port, rank.port.first + row
    rank.state[row].stop_at += port.state[row].now
    if rank.has_trees or me == 0:
        for job in range(rank.jobs):
            free = new_slot(port, row)
            port.jobs.walks[free].player = me if rank.has_trees else rank.first_player + job % rank.players
            enqueue(port, row, PARKED, free)
        rank.state[row].idle = rank.jobs
        go_on(handle, row)
    return HANDLED


@njit
def advance(handle, row, slot):
    """Handle one message."""
    rank = value_of(handle)
    port = rank.port
    job = dequeue(port, row, URGENT)
    if job != NO_SLOT:
        work = HANDLED + call_entry(rank.hooks.called, rank.hooks.handle, row, job)
        return work + go_on(handle, row)
    job = dequeue(port, row, TREE)
    if job == NO_SLOT:
        return NOTHING
    if port.jobs.walks[job].kind == PLAYOUT:
        port.counts[row].searches += 1
        enqueue(port, row, LEAVES, job)
        return HANDLED
    port.counts[row].reports += 1
    return HANDLED + end_simulation(handle, row, job)


@njit
def play_out(handle, row, slot):
    """Play out from the leaf of a job, and note the plies on it. Returns them."""
    plies = evaluate(handle, row, slot)
    value_of(handle).jobs.walks[slot].plies = plies
    return plies


@njit
def absorb(handle, row, slot):
    """The value of a leaf is there, or it was called off."""
    rank = value_of(handle)
    port = rank.port
    job = port.jobs.walks[slot]
    if job.value != NO_VALUE:
        note_playout(port, row, job.levels)
    if job.kind == PLAYOUT:  # of rank 0's tree
        port.counts[row].played_elsewhere += job.value != NO_VALUE
        job.kind = REPORT
        send(port, row, slot, 0)
        return np.int64(HANDLED)
    return end_simulation(handle, row, slot)


@njit_inline
def note_playout(port, row, levels):
    port.counts[row].playouts += 1
    port.counts[row].levels += levels
    port.counts[row].deepest = max(port.counts[row].deepest, levels)


@njit_unit("int64")
def go_on(handle, row):
    """Begin simulations while some are left and jobs are idle. Returns the work."""
    rank = value_of(handle)
    port, state = rank.port, rank.state[row]
    work = np.int64(0)
    while may_begin(rank, row):
        count = min(rank.playouts_per_leaf, state.quota)
        state.quota -= count
        state.under_way += count
        state.idle -= count
        first = dequeue(port, row, PARKED)
        port.jobs.walks[first].count = count
        descend(handle, row, first)
        work += BEGINNING + np.int64(port.jobs.walks[first].levels) * SELECTING
        for _ in range(1, count):
            other = dequeue(port, row, PARKED)
            copy_path(port.jobs, first, other)
            give_out(port, row, other)
        give_out(port, row, first)
    is_idle = state.under_way == 0 and not state.is_held
    if is_idle and not state.has_finished and (rank.has_trees or port.first + row == 0):
        state.has_finished = True
        work += call_entry(rank.hooks.finished, rank.hooks.handle, row, 0)
    return work


@njit_inline
def may_begin(rank, row):
    state, port_state = rank.state[row], rank.port.state[row]
    if state.is_held or state.quota == 0 or state.idle < min(rank.playouts_per_leaf, state.quota):
        return False
    if port_state.draining or port_state.now >= state.stop_at:
        return False
    return rank.tree.node_proven[rank.roots[row]] == UNPROVEN


@njit_inline
def copy_path(jobs, source, target):
    """Bring a second job to the leaf of the first."""
    levels = jobs.walks[source].levels
    jobs.walks[target].levels, jobs.walks[target].value = levels, jobs.walks[source].value
    for i in range(levels):
        level, copy = jobs.levels[source, i], jobs.levels[target, i]
        copy.node, copy.edge, copy.move = level.node, level.edge, level.move


@njit
def give_out(port, row, slot):
    """A job stands at its leaf: have it played out, unless its value is proven."""
    job = port.jobs.walks[slot]
    job.plies = NOT_PLAYED
    if job.value != NO_VALUE:
        note_playout(port, row, job.levels)
        job.kind = REPORT
        enqueue(port, row, TREE, slot)
    elif job.player == port.first + row:
        job.kind = SEARCH
        enqueue(port, row, LEAVES, slot)
    else:
        job.kind = PLAYOUT
        send(port, row, slot, np.int64(job.player))


@njit_unit("none")
def descend(handle, row, slot):
    """Follow the bandit from the root to a leaf, expanding it if it is due; the job gets its value if it is proven.

    As many simulations as the job's `count` says will be counted there.
    """
    rank = value_of(handle)
    game, tree, settings, work, jobs = rank.game, rank.tree, rank.settings, rank.work, rank.port.jobs
    job, count = jobs.walks[slot], jobs.walks[slot].count
    work.states[1] = work.states[0]
    work.salt[0], work.standing[0] = rank.salts[row], slot
    state = work.states[1]
    node, depth = rank.roots[row], 0
    while True:
        if tree.node_player[node] == CHANCE:
            choice = chance(game, state, rank.random[row : row + 1])
            edge = np.uint32(tree.node_first[node] + np.uint32(choice))
        else:
            edge = best_edge(tree, node, settings, work.scores)
        level = jobs.levels[slot, depth]
        level.node, level.edge, level.move = node, edge, tree.edge_move[edge]
        depth += 1
        visits = depart(tree, node, edge, settings, count)
        play(game, state, tree.edge_move[edge])
        child = tree.edge_child[edge]
        if child == NO_NODE and visits >= settings.threshold:
            child = expand(game, tree, state, edge, settings, work)
        if child >= TERMINAL or tree.edge_proven[edge] != UNPROVEN or tree.node_proven[child] != UNPROVEN:
            break
        if depth >= settings.max_depth:
            rank.port.counts[row].cut += 1
            break
        node = child
    job.levels, job.value = depth, NO_VALUE
    player = tree.node_player[node]
    if tree.edge_proven[edge] != UNPROVEN:
        job.value = proven_value(player, tree.edge_proven[edge])
    elif child < TERMINAL and tree.node_proven[child] != UNPROVEN:  # proven by another path
        proven = seen_by(player, tree.node_player[child], tree.node_proven[child])
        note_path(work, jobs, slot)
        prove(tree, work, depth, proven)
        job.value = proven_value(player, proven)


@njit_inline
def depart(tree, node, edge, settings, count):
    """Let others see that simulations take this edge. Returns its visits without them. See `search/shared.py`."""
    visits = tree.edge_visits[edge]
    if settings.count_early:
        tree.edge_visits[edge] += count
        tree.node_visits[node] += count
    elif len(tree.edge_flight) > 0:
        tree.edge_flight[edge] += count
        tree.node_flight[node] += count
    return visits


@njit_inline
def note_path(work, jobs, slot):
    """Write a job's path where proofs and AMAF look for it."""
    for i in range(jobs.walks[slot].levels):
        work.path_node[i], work.path_edge[i] = jobs.levels[slot, i].node, jobs.levels[slot, i].edge


@njit_unit("int64")
def end_simulation(handle, row, slot):
    """A job has come home: count its result and go on. Returns the work."""
    rank = value_of(handle)
    tree, settings, work, jobs = rank.tree, rank.settings, rank.work, rank.port.jobs
    job, state = jobs.walks[slot], rank.state[row]
    done = np.int64(job.levels) * (COUNTING + rank.level_work)
    if job.value == NO_VALUE:
        state.quota += 1
        back_up(tree, settings, jobs, slot)
    else:
        needs_path = needs_amaf(settings)
        if job.plies == OVER_AT_LEAF or needs_path:
            note_path(work, jobs, slot)
        if job.plies == OVER_AT_LEAF:
            note_end_of_game(tree, settings, work, np.int64(job.levels), job.value)
        back_up(tree, settings, jobs, slot)
        if needs_path:
            update_amaf(tree, work, np.int64(job.levels), np.int64(job.plies), job.value, False)
        done += call_entry(rank.hooks.counted, rank.hooks.handle, row, slot)
    state.under_way -= 1
    state.idle += 1
    enqueue(rank.port, row, PARKED, slot)
    return done + go_on(handle, row)


@njit_inline
def note_end_of_game(tree, settings, work, depth, value):
    """The game was over at the leaf: that never changes, and may prove something."""
    node, edge = work.path_node[depth - 1], work.path_edge[depth - 1]
    tree.edge_child[edge] = TERMINAL
    proof = proof_of(tree.node_player[node], value)
    if settings.solver and proof != UNPROVEN:
        prove(tree, work, depth, proof)


@njit_inline
def back_up(tree, settings, jobs, slot):
    """Add the result to every edge of the path, from its player's view; without a value only end the departure."""
    job = jobs.walks[slot]
    done = 0 if job.value == NO_VALUE else 1
    visits = done - 1 if settings.count_early else done
    for i in range(job.levels):
        node, edge = jobs.levels[slot, i].node, jobs.levels[slot, i].edge
        tree.node_visits[node] += visits
        tree.edge_visits[edge] += visits
        if len(tree.edge_flight) > 0:
            tree.edge_flight[edge] -= 1
            tree.node_flight[node] -= 1
        if done:
            tree.edge_wins[edge] += gain_of(tree.node_player[node], job.value)
