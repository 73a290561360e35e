"""Searches whose jobs start at all ranks, each at its copy of the root: how they begin and end (`copies.py`).

The budget is dealt out to the ranks. One whose jobs are all back is quiet. When all are, what is new
in copies goes home; when that is done the search is over.
"""

import numpy as np

from treespan.core.handles import call_entry, value_of
from treespan.core.jit import njit
from treespan.schemes.divided_tree.rank import home_of
from treespan.schemes.divided_tree.treesplit.copies import (
    ALIVE,
    ASK,
    COPY,
    FLUSH,
    FLUSH_AT,
    FLUSHED,
    FLUSHED_RANKS,
    FLUSHING,
    HELD,
    LAST_COPY,
    QUIET,
    QUIET_RANKS,
    QUOTA,
    SYNC,
    TOTALS,
    UNANSWERED,
    WINDOW,
    answer,
    copy_root,
    send_news,
    take_answer,
)
from treespan.schemes.protocol.hooks import rank_of
from treespan.schemes.protocol.messages import SYNC_UP
from treespan.schemes.protocol.port import HANDLED, announce_end, new_slot, release, send
from treespan.search.tree import NO_NODE


@njit
def start_jobs(handle, row):
    """Start the jobs of this rank at its copy of the root; if its budget is empty it is quiet at once."""
    copies = value_of(handle)
    rank, state = rank_of(handle), copies.state[row]
    if home_of(rank.root_key, rank) != rank.port.first + row:
        copy_root(handle, row)
    state[ALIVE] = min(copies.jobs, state[QUOTA])
    for _ in range(state[ALIVE]):
        call_entry(rank.hooks.restart, rank.hooks.handle, row, new_slot(rank.port, row))
    if state[ALIVE] == 0:
        tell(handle, row, QUIET, 0)


@njit
def end_job(handle, row, slot):
    """A job is back and there is nothing left to do: when all are, rank 0 hears of it."""
    port, state = rank_of(handle).port, value_of(handle).state[row]
    release(port, row, slot)
    state[ALIVE] -= 1
    if state[ALIVE] == 0:
        tell(handle, row, QUIET, 0)


@njit
def handle_own(handle, row, slot):
    """Hook `synchronise`: a message that is no simulation; gives the work beyond that of any message."""
    state, header = value_of(handle).state[row], rank_of(handle).port.jobs.headers[slot]
    what, moves = header.target, np.int64(header.levels)
    if what in (ASK, SYNC):
        answer(handle, row, slot)
    elif what in (COPY, TOTALS):
        node = take_answer(handle, row, slot)
        if state[FLUSHING] != 0:
            if what == TOTALS and has_news(handle, node):
                send_news(handle, row, node)
            flush_on(handle, row)
    else:
        handle_signal(handle, row, slot)
    return moves * HANDLED // 400  # a move takes some 5 ns, a handled message 2 us


@njit
def tell(handle, row, what, receiver):
    """Send a message without anything else."""
    port = rank_of(handle).port
    slot = new_slot(port, row)
    header = port.jobs.headers[slot]
    header.kind, header.target, header.key, header.levels = SYNC_UP, what, np.uint64(0), 0
    send(port, row, slot, receiver)


@njit
def handle_signal(handle, row, slot):
    """The end of a search: when all ranks are quiet, copies are flushed; when all have done that, it is over."""
    copies = value_of(handle)
    port, state, what = rank_of(handle).port, copies.state[row], rank_of(handle).port.jobs.headers[slot].target
    release(port, row, slot)
    if what == FLUSHED:
        state[FLUSHED_RANKS] += 1
        if state[FLUSHED_RANKS] == port.ranks:
            announce_end(port, row)
        return
    if what == QUIET:
        state[QUIET_RANKS] += 1
        if state[QUIET_RANKS] < port.ranks:
            return
    me = port.first + row
    for below in range(2 * me + 1, min(2 * me + 3, port.ranks)):
        tell(handle, row, FLUSH, below)
    state[FLUSHING], state[FLUSH_AT] = 1, state[LAST_COPY]
    flush_on(handle, row)


@njit
def flush_on(handle, row):
    """Send home what is new in copies, as many at a time as may be unanswered; when nothing is left, tell rank 0."""
    copies = value_of(handle)
    state = copies.state[row]
    while state[FLUSH_AT] != NO_NODE and state[UNANSWERED] < WINDOW:
        node = np.uint32(state[FLUSH_AT])
        state[FLUSH_AT] = copies.next_copy[node]
        if copies.role[node] == HELD and has_news(handle, node):
            send_news(handle, row, node)
    if state[FLUSH_AT] == NO_NODE and state[UNANSWERED] == 0:
        state[FLUSHING] = 0
        tell(handle, row, FLUSHED, 0)


@njit
def has_news(handle, node):
    copies = value_of(handle)
    first = rank_of(handle).tree.node_first[node]
    news = False
    for edge in range(first, first + rank_of(handle).tree.node_count[node]):
        news |= copies.new_visits[edge] != 0
    return news
