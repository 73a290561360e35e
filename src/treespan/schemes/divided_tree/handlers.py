"""Transposition-table driven scheduling: UCT and df-UCT over ranks (yoshizoe2011, Figures 2 and 3).

A node lives at its home, key mod N. A *search job* goes down: at the home of its position it is expanded or a move
is selected, and the job is sent to the home of the next position. At a leaf it waits for its playout and turns into a
*report job*, which goes up level by level. With df-UCT the job carries the local stack and returns only as far as a
best move has flipped. J jobs are under way; simulations under way count as virtual losses by formula (1).

Deviations and additions:
- A leaf has no table entry: its visits stand at its parent's edge and travel in the job. So the threshold counts the
  visits through that edge; with transpositions the paper's entry counts those through all edges.
- df-UCT's budget is exact: playouts are granted to jobs in portions, and a job without any left returns to the root.
  `budget=share` is the paper's rule instead: jobs are called home when every rank has done 1.05 K / N playouts.
- `place=idle`: a playout needs only the position, so a leaf may be played out by a rank that has less to do.
- A scheme may add to the handlers at a few points (`protocol/hooks.py`).
- Proofs are not used: they would have to travel on their own.
"""

import numpy as np

from treespan.core.handles import call_entry, value_of
from treespan.core.jit import njit
from treespan.schemes.divided_tree.descent import descend, flights_of, is_leaf, node_of, send_down, wait_for_playout
from treespan.schemes.divided_tree.grants import restart_job
from treespan.schemes.divided_tree.rank import home_of
from treespan.schemes.divided_tree.stack import has_flipped
from treespan.schemes.divided_tree.trail import add_playout, credit, entries_of, follow_seconds, is_long
from treespan.schemes.protocol.messages import NO_SLOT, NO_VALUE, PLAYOUT, REPORT, SEARCH, SHARE_DONE
from treespan.schemes.protocol.port import (
    HANDLED,
    LEAVES,
    NOTHING,
    TREE,
    URGENT,
    dequeue,
    enqueue,
    note_share_done,
    send,
    send_signal,
)
from treespan.search.tree import TERMINAL
from treespan.search.uct import gain_of


@njit
def start(handle, row, slot):
    """Start the jobs of a search, at the root's home."""
    rank = value_of(handle)
    if call_entry(rank.hooks.begin, rank.hooks.handle, row, slot) == 0 and rank.port.first + row == rank.root_home:
        for job in range(rank.all_jobs):
            restart_job(handle, row, job)
    return HANDLED


@njit
def advance(handle, row, slot):
    """Handle one message."""
    rank = value_of(handle)
    job = dequeue(rank.port, row, URGENT)
    if job == NO_SLOT:
        job = dequeue(rank.port, row, TREE)
    if job == NO_SLOT:
        return NOTHING
    kind, work = rank.port.jobs.headers[job].kind, np.int64(HANDLED)
    if kind == REPORT:
        work += handle_report(handle, row, job)
    elif kind == SEARCH:
        rank.port.counts[row].searches += 1
        work += handle_search(handle, row, job)
    elif kind == PLAYOUT:
        enqueue(rank.port, row, LEAVES, job)
    else:
        work += call_entry(rank.hooks.synchronise, rank.hooks.handle, row, job)
    return work


@njit
def absorb(handle, row, slot):
    """The value of a leaf is there."""
    rank = value_of(handle)
    job = rank.port.jobs.headers[slot]
    if job.value == NO_VALUE:
        send_home(handle, row, slot)
        return HANDLED
    rank.port.counts[row].playouts += 1
    rank.port.state[row].has_played = True
    rank.port.counts[row].played_elsewhere += home_of(job.key, rank) != rank.port.first + row
    rank.port.counts[row].levels += job.levels
    rank.port.counts[row].deepest = max(rank.port.counts[row].deepest, job.levels)
    if rank.port.counts[row].playouts == rank.rank_share:
        tell_share_done(rank.port, row)
    if rank.port.jobs.plane_words > 0:
        add_playout(rank.port.jobs, slot)
    if rank.settings.depth_first:
        after_dfuct_playout(handle, row, slot)
    else:
        send_home(handle, row, slot)
    return HANDLED


@njit
def tell_share_done(port, row):
    if port.first + row == 0:
        note_share_done(port, row)
    else:
        send_signal(port, row, SHARE_DONE, 0)


@njit
def handle_search(handle, row, slot):
    """A job has come to the home of its position; gives the work beyond that of any message."""
    rank = value_of(handle)
    job = rank.port.jobs.headers[slot]
    if rank.port.state[row].draining:
        send_home(handle, row, slot)
        return NOTHING
    if is_leaf(rank, row, slot):
        wait_for_playout(handle, row, slot)
        return NOTHING
    node = node_of(handle, row, slot)
    if node >= TERMINAL or job.levels >= rank.settings.max_depth:
        rank.port.counts[row].cut += node < TERMINAL
        if job.allowance > rank.large_from:
            call_entry(rank.hooks.share_leaf, rank.hooks.handle, row, slot)
        wait_for_playout(handle, row, slot)
        return NOTHING
    if job.allowance > rank.large_from or job.levels == 0:
        work = call_entry(rank.hooks.take_over, rank.hooks.handle, row, slot)
        if work > 0:
            return work - 1
    descend(handle, row, slot, node)
    return NOTHING


@njit
def send_home(handle, row, slot):
    """Turn the job into a report for its last level that goes all the way to the root, or to where it was dealt out."""
    rank = value_of(handle)
    job = rank.port.jobs.headers[slot]
    job.target, job.allowance = job.top, 0
    report_to_last_level(handle, row, slot)


@njit
def report_to_last_level(handle, row, slot):
    rank = value_of(handle)
    job = rank.port.jobs.headers[slot]
    if job.levels == 0:  # it never left the root
        restart_job(handle, row, slot)
        return
    job.kind = REPORT
    send(rank.port, row, slot, np.int64(rank.port.jobs.levels[slot, job.levels - 1].home))


@njit
def after_dfuct_playout(handle, row, slot):
    """Add the result to the stack and go to the topmost level that has flipped."""
    rank = value_of(handle)
    jobs, settings = rank.port.jobs, rank.settings
    job = jobs.headers[slot]
    job.allowance -= 1
    target = np.int64(job.levels)
    if jobs.plane_words > 0:
        follow_seconds(jobs, slot)
    for i in range(job.top, job.levels):
        level, amaf = jobs.levels[slot, i], jobs.amaf_levels[slot if jobs.plane_words > 0 else 0, i]
        level.gained_wins += gain_of(level.player, job.value)
        level.gained_visits += 1
        if i < target and level.gained_visits >= level.test_at and has_flipped(level, amaf, settings):
            target = i
    if job.allowance <= 0 or rank.port.state[row].draining:
        send_home(handle, row, slot)
        return
    if settings.keep_all != 0 or is_long(jobs, slot):
        target = np.int64(job.top)  # with keep_all only the nodes themselves know all their moves: each must be asked
    if target < job.levels:
        job.target = target
        report_to_last_level(handle, row, slot)
        return
    last = jobs.levels[slot, job.levels - 1]  # no level has flipped: go on from the same leaf
    job.edge_visits = last.best_visits + last.gained_visits
    job.kind = SEARCH
    send_down(handle, row, slot)


@njit
def handle_report(handle, row, slot):
    """A result has come to the home of the job's last level: count it, then go up, or down again. Gives the work beyond
    that of any message."""
    rank = value_of(handle)
    jobs, tree = rank.port.jobs, rank.tree
    job = jobs.headers[slot]
    rank.port.counts[row].reports += 1
    job.levels -= 1
    level = jobs.levels[slot, job.levels]
    is_part = job.whole != NO_SLOT and job.levels == job.top
    if rank.settings.depth_first:
        visits, wins = np.int64(level.gained_visits), level.gained_wins
    elif job.value == NO_VALUE:
        visits, wins = 0, 0.0
    else:
        visits, wins = 1, gain_of(tree.node_player[level.node], job.value)  # UCT's levels travel without the player
    if jobs.plane_words > 0:
        entries = entries_of(jobs, slot, job.levels, rank.settings.depth_first)
        credit(jobs, slot, level, entries, tree, tree.edge_amaf_visits, tree.edge_amaf_wins)
    if call_entry(rank.hooks.count_result, rank.hooks.handle, row, slot) == 0:
        tree.edge_visits[level.edge] += visits
        tree.edge_wins[level.edge] += wins
        tree.node_visits[level.node] += visits
        flights = np.int32(job.flights) if is_part else flights_of(level, rank.settings)
        tree.edge_flight[level.edge] -= flights
        tree.node_flight[level.node] -= flights
    if is_part:
        return call_entry(rank.hooks.take_over, rank.hooks.handle, row, slot) - 1
    if job.levels == 0:
        job.trail = 0  # the whole path has heard
    if job.levels > job.target:
        report_to_last_level(handle, row, slot)
    elif job.allowance > 0 and not rank.port.state[row].draining:
        descend(handle, row, slot, level.node)
    else:
        send_home(handle, row, slot)
    return NOTHING
