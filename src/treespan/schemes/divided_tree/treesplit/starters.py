"""Searches whose jobs start at all ranks, each at its copy of the root: how they begin and end (`copies.py`).

The budget is dealt out to the ranks. One whose jobs are all back is quiet. When all are, what is new
in copies goes home; when that is done the search is over.
"""

import numpy as np

from treespan.core.handles import call_entry, value_of
from treespan.core.jit import njit
from treespan.schemes.divided_tree.rank import home_of
from treespan.schemes.divided_tree.treesplit.copies import (
    ASK,
    COPY,
    FLUSH,
    FLUSHED,
    HELD,
    QUIET,
    SYNC,
    TOTALS,
    WINDOW,
    answer,
    copy_root,
    prove_at_home,
    send_news,
    take_answer,
)
from treespan.schemes.protocol.hooks import rank_of
from treespan.schemes.protocol.messages import DETOUR, SYNC_UP
from treespan.schemes.protocol.port import HANDLED, announce_end, new_slot, release, send
from treespan.search.tree import NO_NODE


@njit
def start_jobs(handle, row):
    """Start the jobs of this rank at its copy of the root; if its budget is empty it is quiet at once."""
    copies = value_of(handle)
    rank, state = rank_of(handle), copies.state[row]
    if home_of(rank.root_key, rank) != rank.port.first + row:
        copy_root(handle, row)
    state.alive = min(copies.jobs, state.quota)
    for _ in range(state.alive):
        call_entry(rank.hooks.restart, rank.hooks.handle, row, new_slot(rank.port, row))
    if state.alive == 0:
        tell(handle, row, QUIET, 0)


@njit
def end_job(handle, row, slot):
    """A job is back and there is nothing left to do: when all are, rank 0 hears of it."""
    port, state = rank_of(handle).port, value_of(handle).state[row]
    release(port, row, slot)
    state.alive -= 1
    if state.alive == 0:
        tell(handle, row, QUIET, 0)


@njit
def handle_own(handle, row, slot):
    """Hook `synchronise`: a message that is no simulation on its way. Returns the work beyond that of any message."""
    if rank_of(handle).port.jobs.headers[slot].kind == DETOUR:
        prove_at_home(handle, row, slot)
        return 0
    state, note = value_of(handle).state[row], rank_of(handle).port.jobs.notes[slot]
    what, moves = note.what, np.int64(note.levels)
    if what in (ASK, SYNC):
        answer(handle, row, slot)
    elif what in (COPY, TOTALS):
        node = take_answer(handle, row, slot)
        if state.flushing:
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
    note = port.jobs.notes[slot]
    note.kind, note.what, note.key, note.levels = SYNC_UP, what, np.uint64(0), 0
    send(port, row, slot, receiver)


@njit
def handle_signal(handle, row, slot):
    """The end of a search: when all ranks are quiet, copies are flushed; when all have done that, it is over."""
    copies = value_of(handle)
    port, state, what = rank_of(handle).port, copies.state[row], rank_of(handle).port.jobs.notes[slot].what
    release(port, row, slot)
    if what == FLUSHED:
        state.flushed_ranks += 1
        if state.flushed_ranks == port.ranks:
            announce_end(port, row)
        return
    if what == QUIET:
        state.quiet_ranks += 1
        if state.quiet_ranks < port.ranks:
            return
    me = port.first + row
    for below in range(2 * me + 1, min(2 * me + 3, port.ranks)):
        tell(handle, row, FLUSH, below)
    state.flushing, state.flush_at = True, state.last_copy
    flush_on(handle, row)


@njit
def flush_on(handle, row):
    """Send home what is new in copies, as many at a time as may be unanswered; when nothing is left, tell rank 0."""
    copies = value_of(handle)
    state = copies.state[row]
    while state.flush_at != NO_NODE and state.unanswered < WINDOW:
        node = state.flush_at
        state.flush_at = copies.next_copy[node]
        if copies.role[node] == HELD and has_news(handle, node):
            send_news(handle, row, node)
    if state.flush_at == NO_NODE and state.unanswered == 0:
        state.flushing = False
        tell(handle, row, FLUSHED, 0)


@njit
def has_news(handle, node):
    copies = value_of(handle)
    first = rank_of(handle).tree.node_first[node]
    news = False
    for edge in range(first, first + rank_of(handle).tree.node_count[node]):
        news |= copies.new_visits[edge] != 0
    return news
