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
- A scheme may add to the handlers at a few points (`hooks.py`).
- Proofs are not used: they would have to travel on their own.
"""

from typing import Any, NamedTuple

import numpy as np

from treespan.core.handles import call_entry, value_of
from treespan.core.jit import njit, njit_inline
from treespan.core.rng import GOLDEN, mix64
from treespan.games.rules import CHANCE, chance, key, play
from treespan.schemes.evaluation import replay
from treespan.schemes.grants import grant_of
from treespan.schemes.hooks import Hooks
from treespan.schemes.messages import NO_SLOT, NO_VALUE, PLAYOUT, REPORT, SEARCH, SHARE_DONE
from treespan.schemes.rank import (
    DRAINING,
    HANDLED,
    HAS_PLAYED,
    JOBS_ALIVE,
    LEAVES,
    LEVELS_CUT,
    LEVELS_MAX,
    LEVELS_SUM,
    NOTHING,
    PLAYED_ELSEWHERE,
    PLAYOUTS_DONE,
    REPORTS_RECEIVED,
    SEARCHES,
    TO_GRANT,
    TREE,
    TREE_LENGTH,
    URGENT,
    Port,
    dequeue,
    end_search,
    enqueue,
    least_loaded,
    load_of,
    note_share_done,
    send,
    send_signal,
)
from treespan.schemes.stack import has_flipped, snapshot
from treespan.schemes.trail import add_playout, amaf_snapshot, credit, entries_of, follow_seconds, is_long
from treespan.search.bandits import (
    NO_EDGE,
    best_edge,
    best_two_edges,
)
from treespan.search.tree import TERMINAL, Tree, find_node
from treespan.search.uct import find_or_add, gain_of
from treespan.search.work import Work

ROOT_VISITS = 2**31 - 1  # as edge_visits: the root is expanded at once
MOST_UNDER_WAY = 1023  # that one job counts as: the sum over all jobs of 65,536 ranks is an int32


class TdsRank(NamedTuple):
    """One rank; or all ranks of a simulated cluster, whose trees share arrays."""

    game: Any
    port: Port
    tree: Tree  # nodes whose home is here
    work: Work
    settings: Any  # record of SETTINGS
    random: np.ndarray  # uint64[rows], generators
    root_key: np.uint64
    grant: int  # playouts that a job gets each time that it starts at the root; 0: half of an even share
    all_jobs: int  # J, jobs under way
    crowd: int  # messages that may wait near the root before grants grow; 0: grants stay as they are
    rank_share: int  # playouts after which a rank has done its share; 0: the budget is exact
    reserved: int  # the first ranks, which hold no nodes but perhaps the root
    place_idle: bool  # playouts may go to ranks with less to do
    root_home: int
    hooks: Hooks  # what a scheme adds to these handlers


@njit_inline
def home_of(position_key, rank):
    """The rank that holds a position: key mod N, where some ranks may be reserved for other work."""
    if position_key == rank.root_key:
        return rank.root_home
    return rank.reserved + np.int64(position_key % np.uint64(rank.port.ranks - rank.reserved))


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
        handle_report(handle, row, job)
    elif kind == SEARCH:
        rank.port.numbers[row, SEARCHES] += 1
        handle_search(handle, row, job)
    elif kind == PLAYOUT:
        enqueue(rank.port, row, LEAVES, job)
    else:
        work += call_entry(rank.hooks.synchronise, rank.hooks.handle, row, job)
    return work


@njit
def absorb(handle, row, slot):
    """The value of a leaf is there."""
    rank = value_of(handle)
    job, numbers = rank.port.jobs.headers[slot], rank.port.numbers
    if job.value == NO_VALUE:
        send_home(handle, row, slot)
        return HANDLED
    numbers[row, PLAYOUTS_DONE] += 1
    numbers[row, HAS_PLAYED] = 1
    numbers[row, PLAYED_ELSEWHERE] += home_of(job.key, rank) != rank.port.first + row
    numbers[row, LEVELS_SUM] += job.levels
    numbers[row, LEVELS_MAX] = max(numbers[row, LEVELS_MAX], job.levels)
    if numbers[row, PLAYOUTS_DONE] == rank.rank_share:
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
def restart_job(handle, row, slot):
    """Send a job down from the root, if playouts are left to grant; otherwise it ends."""
    rank = value_of(handle)
    port, shared = rank.port, rank.port.shared
    if call_entry(rank.hooks.restart, rank.hooks.handle, row, slot) != 0:
        return
    if shared[TO_GRANT] == 0 or port.numbers[row, DRAINING] != 0:
        shared[JOBS_ALIVE] -= 1
        if shared[JOBS_ALIVE] == 0:
            end_search(port, row)
        return
    granted = grant_of(rank, port.jobs.headers[slot].crowd)
    if rank.rank_share == 0:
        shared[TO_GRANT] -= granted
    start_job(rank, row, slot, granted)


@njit_inline
def start_job(rank, row, slot, granted):
    """A job starts at this rank's root, for so many playouts (df-UCT)."""
    job = rank.port.jobs.headers[slot]
    job.kind, job.levels, job.target, job.value, job.trail = SEARCH, 0, 0, NO_VALUE, 0
    job.key, job.edge_visits, job.allowance, job.crowd = rank.root_key, ROOT_VISITS, granted, 0
    enqueue(rank.port, row, TREE, slot)


@njit
def handle_search(handle, row, slot):
    """A job has come to the home of its position."""
    rank = value_of(handle)
    job, tree, settings = rank.port.jobs.headers[slot], rank.tree, rank.settings
    if rank.port.numbers[row, DRAINING] != 0:
        send_home(handle, row, slot)
        return
    if job.edge_visits < settings.threshold:
        wait_for_playout(handle, row, slot)
        return
    found = call_entry(rank.hooks.find, rank.hooks.handle, row, slot)
    node = np.uint32(found - 1) if found != 0 else find_node(tree, job.key)
    if node >= TERMINAL:
        replay(rank.game, rank.work, rank.port.jobs, slot)
        node = find_or_add(rank.game, tree, rank.work.states[1], settings, rank.work)
    if node >= TERMINAL or job.levels >= settings.max_depth:
        rank.port.numbers[row, LEVELS_CUT] += node < TERMINAL
        wait_for_playout(handle, row, slot)
        return
    descend(handle, row, slot, node)


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


@njit_inline
def flights_of(level, settings):
    """As how many simulations under way a job counts in the node of a level."""
    return np.int32(level.under_way) if settings.whole_grants else np.int32(1)


@njit
def descend(handle, row, slot, node):
    """Select in a node of this rank, put a level on the job, and send it to the home of the next position."""
    rank = value_of(handle)
    game, tree, settings, work, jobs = rank.game, rank.tree, rank.settings, rank.work, rank.port.jobs
    job, depth = jobs.headers[slot], jobs.headers[slot].levels
    level = jobs.levels[slot, depth]
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
    level.node, level.edge, level.move = node, best, tree.edge_move[best]
    level.home = rank.port.first + row
    level.player = player
    if settings.depth_first:
        snapshot(tree, settings, level, node, best, second)
        if jobs.plane_words > 0:
            amaf_snapshot(tree, jobs, slot, best, second)
    flights = tree.edge_flight[best]
    job.edge_visits = tree.edge_visits[best] + (min(flights, np.int32(1)) if settings.whole_grants else flights)
    if settings.whole_grants:
        level.under_way = min(job.allowance, MOST_UNDER_WAY)
    if call_entry(rank.hooks.select, rank.hooks.handle, row, slot) == 0:
        tree.edge_flight[best] += flights_of(level, settings)
        tree.node_flight[node] += flights_of(level, settings)
    go_to_child(handle, slot, best)
    if call_entry(rank.hooks.stay, rank.hooks.handle, row, slot) != 0:
        send(rank.port, row, slot, np.int64(level.home))
    else:
        send_down(handle, row, slot)


@njit
def send_down(handle, row, slot):
    """Send a job to the home of its position; a leaf that may be played out anywhere need not go there first.

    It stays here unless a rank is known to have less to do, or this one has its share: then chance shall decide. Not
    the leaf's home: many jobs may be on their way to one leaf.
    """
    rank = value_of(handle)
    port, job = rank.port, rank.port.jobs.headers[slot]
    if not rank.place_idle or job.edge_visits >= rank.settings.threshold:
        send(port, row, slot, home_of(job.key, rank))
        return
    receiver = least_loaded(port, row)
    if receiver == port.first + row and load_of(port, row) * port.ranks > rank.all_jobs:
        number = mix64(job.key + np.uint64(job.edge_visits) * GOLDEN) % np.uint64(port.ranks - rank.reserved)
        receiver = rank.reserved + np.int64(number)
    place_leaf(port, row, slot, receiver)


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


@njit
def send_home(handle, row, slot):
    """Turn the job into a report for its last level that goes all the way to the root."""
    rank = value_of(handle)
    job = rank.port.jobs.headers[slot]
    job.target, job.allowance = 0, 0
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
    for i in range(job.levels):
        level, amaf = jobs.levels[slot, i], jobs.amaf_levels[slot if jobs.plane_words > 0 else 0, i]
        level.gained_wins += gain_of(level.player, job.value)
        level.gained_visits += 1
        if i < target and level.gained_visits >= level.test_at and has_flipped(level, amaf, settings):
            target = i
    if job.allowance <= 0 or rank.port.numbers[row, DRAINING] != 0:
        send_home(handle, row, slot)
        return
    if settings.keep_all != 0 or is_long(jobs, slot):
        target = 0  # with keep_all only the nodes themselves know all their moves: each must be asked
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
    """A result has come to the home of the job's last level: count it, then go up, or down again."""
    rank = value_of(handle)
    jobs, tree = rank.port.jobs, rank.tree
    job = jobs.headers[slot]
    rank.port.numbers[row, REPORTS_RECEIVED] += 1
    job.levels -= 1
    level = jobs.levels[slot, job.levels]
    if job.levels <= 1:
        job.crowd = max(job.crowd if job.levels == 0 else 0, rank.port.numbers[row, TREE_LENGTH])
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
        tree.edge_flight[level.edge] -= flights_of(level, rank.settings)
        tree.node_flight[level.node] -= flights_of(level, rank.settings)
    if job.levels == 0:
        job.trail = 0  # the whole path has heard
    if job.levels > job.target:
        report_to_last_level(handle, row, slot)
    elif job.allowance > 0 and rank.port.numbers[row, DRAINING] == 0:
        descend(handle, row, slot, level.node)
    else:
        send_home(handle, row, slot)
