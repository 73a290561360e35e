"""The crown of `span`: a few ranks that hold copies of the hot top of the tree, and nothing else.

A job that comes back to the root passes the homes of the root and of its best moves, and these bound how often jobs can
come back. So some ranks are kept free of nodes and playouts: jobs start there, go down the copies without a message,
then from home to home as ever, and come back to the rank that they started from. The top of the tree is where all jobs
pass, so a twentieth of the ranks can serve them all.

Copies are those of `copies.py`: the home of a node has counted each result once. A copy tells its home what is new,
jobs under way included, and hears the totals. In between it supposes that the others change as it does: ranks of the
crown see the same and choose alike, and without that all of them flood the same move before they hear of each other
(1,200 ranks, 48 of them in the crown, 0.1 ms, b = 40: 472 times as fast as one rank instead of 884).
"""

import numpy as np

from treespan.core.handles import Handle, value_of
from treespan.core.jit import njit
from treespan.schemes.base import Request
from treespan.schemes.copies import (
    GAP,
    HELD,
    NO_COPY,
    PACE,
    QUOTA,
    STARTED_AT,
    find_copy,
    new_copies,
    note_amaf,
    send_news,
    show_move,
    stay_or_ask,
)
from treespan.schemes.distributed import Place
from treespan.schemes.grants import next_pace, portion_of
from treespan.schemes.hooks import rank_of, with_hooks
from treespan.schemes.rank import ALL_PLAYOUTS, DRAINING, KEPT_FREE, NO_LOAD, NOW, PACE_UNIT, TREE_LENGTH
from treespan.schemes.starters import end_job, handle_own, start_jobs
from treespan.schemes.tds import TdsRank, flights_of, start_job
from treespan.search.tree import MAX_VISITS

# A node is copied once it has N_DUP visits, if more than one in HOT_VISITS playouts or in HOT_JOBS of those under way
# goes there; all as a copy shows them, what it supposes of others included. Where jobs count as all playouts that they
# may do, that is too coarse for nodes which each rank of the crown sees rarely, and HOT_JOBS holds for playouts, too:
# the best move's share at b = 150, 2 million playouts of 0.1 ms, 3 trees, was 17 with HOT_VISITS, 32 to 35 % without
N_DUP, HOT_VISITS, HOT_JOBS = 200, 1000, 60
# A copy tells its home after N_SYNC new visits, but all copies of a node together not more often than every EVERY_NS
N_SYNC, EVERY_NS = 8, 30_000
# Such a job is away for so many talks of each copy with its home, as the last GAPS starts of jobs tell. Without that,
# with 120 ranks in the crown and grants of 3 playouts, all of them sent their jobs the same way, then all another way
AWAY, GAPS = 12, 32


def with_crown(request: Request, place: Place, rank: TdsRank, crown: int) -> Handle:
    """The handle of a rank in a search with a crown of so many ranks, among which jobs and playouts are dealt out."""
    playouts, jobs = request.budget.playouts or MAX_VISITS, -(-rank.all_jobs // crown)
    whole = new_copies(rank, place, playouts, starters=crown, jobs=jobs, n_dup=N_DUP, n_sync=N_SYNC, extrapolate=True)
    first = 1 if rank.settings.whole_grants else (request.budget.playouts or 0) // (50 * jobs * crown)
    whole.state[:, PACE] = max(rank.grant, first) * PACE_UNIT
    if request.workers == 0:  # else the rank itself is inside no playout anyway
        rank.port.numbers[np.array(place.ranks) < crown, KEPT_FREE] = NO_LOAD
    return with_hooks(
        whole,
        begin=begin,
        restart=restart,
        find=find_copy,
        select=count_flight,
        stay=stay,
        count_result=count_result,
        synchronise=handle_own,
    )


@njit
def begin(handle, row, slot):
    """Jobs start in the crown."""
    if rank_of(handle).port.first + row < value_of(handle).starters:
        start_jobs(handle, row)
    return 1


@njit
def restart(handle, row, slot):
    """A job is back at its rank of the crown: grant it playouts, or end it if none are left."""
    port, state = rank_of(handle).port, value_of(handle).state[row]
    if state[QUOTA] == 0 or port.numbers[row, DRAINING] != 0:
        end_job(handle, row, slot)
    else:
        granted = grant_of(handle, row)
        state[QUOTA] -= granted
        start_job(rank_of(handle), row, slot, granted)
    return 1


@njit
def grant_of(handle, row):
    """As few playouts as this rank can serve: more while messages wait here; or, where jobs count as all that they may
    do, while they are back so soon that copies have hardly heard of each other since they left."""
    copies = value_of(handle)
    rank, state = rank_of(handle), copies.state[row]
    now, waiting = rank.port.numbers[row, NOW], rank.port.numbers[row, TREE_LENGTH]
    gap = min(now - state[STARTED_AT], AWAY * EVERY_NS * copies.starters)  # a pause says nothing about jobs
    state[GAP] += (gap - state[GAP]) // GAPS
    state[STARTED_AT] = now
    if rank.settings.whole_grants and state[GAP] * copies.jobs < AWAY * EVERY_NS * copies.starters:
        waiting = max(waiting, 2 * rank.crowd)
    state[PACE] = next_pace(rank, state[PACE], waiting, copies.jobs)
    return portion_of(state[QUOTA], state[PACE] // PACE_UNIT, copies.jobs)


@njit
def stay(handle, row, slot):
    """In the crown a job goes on while there are copies; a hot node gets one."""
    copies = value_of(handle)
    rank = rank_of(handle)
    if rank.port.first + row >= copies.starters:
        return 0
    job, levels = rank.port.jobs.headers[slot], rank.port.jobs.levels
    if job.edge_visits < rank.settings.threshold:  # a leaf by this move, though another one leads to a copy
        return 0
    flights = np.int64(rank.tree.edge_flight[levels[slot, job.levels - 1].edge])
    hot_visits, all_flights = HOT_VISITS, rank.all_jobs
    if rank.settings.whole_grants:
        hot_visits, all_flights = HOT_JOBS, rank.all_jobs * (copies.state[row, PACE] // PACE_UNIT)
    is_hot = job.edge_visits * hot_visits > levels[slot, 0].total or flights * HOT_JOBS > all_flights
    return stay_or_ask(handle, row, slot, is_hot and job.edge_visits > copies.n_dup)


@njit
def count_flight(handle, row, slot):
    """A job goes down: if from a copy, the home shall hear of it."""
    copies = value_of(handle)
    jobs = rank_of(handle).port.jobs
    level = jobs.levels[slot, jobs.headers[slot].levels]
    if copies.role[level.node] == NO_COPY:
        return 0
    copies.new_flights[level.edge] += flights_of(level, rank_of(handle).settings)
    show_move(handle, level.node, level.edge)
    return 1


@njit
def count_result(handle, row, slot):
    """A job has come back: if to a copy, the home shall hear of its results."""
    copies = value_of(handle)
    port = rank_of(handle).port
    level = port.jobs.levels[slot, port.jobs.headers[slot].levels]
    node, edge = level.node, level.edge
    if copies.role[node] == NO_COPY:
        return 0
    copies.new_flights[edge] -= flights_of(level, rank_of(handle).settings)
    copies.new_visits[edge] += level.gained_visits
    copies.new_wins[edge] += level.gained_wins
    copies.news[node] += level.gained_visits
    note_amaf(handle, slot)
    show_move(handle, node, edge)
    if port.jobs.headers[slot].levels == 0:
        port.numbers[row, ALL_PLAYOUTS] = rank_of(handle).tree.node_visits[node]
    is_due = port.numbers[row, NOW] - copies.synced_at[node] >= EVERY_NS * copies.starters
    if is_due and copies.news[node] >= copies.n_sync and copies.role[node] == HELD:
        send_news(handle, row, node)
    return 1
