"""The protocol of a rank: what a runtime may ask a scheme, and what both see.

A rank knows nothing of networks, clocks or threads. A scheme is four compiled entries (`Program`):

    start     put the first jobs into the queue of the rank that begins
    advance   handle one message that waits: a descent or a report; returns the work done, NOTHING if none waited
    evaluate  give the leaf of a job its value; touches nothing but the job and the evaluator's own buffers
    absorb    go on with a job whose evaluation is there (or, with NO_VALUE, was called off)

A runtime puts arrived messages into the rank's queue (`receive`), calls `advance`, takes leaves from `LEAVES` and has
them evaluated, where and when it likes, and delivers what it finds in `OUT`. Descents and reports go before playouts:
others wait for them.
"""

from typing import Any, NamedTuple

import numpy as np

from treespan.core.handles import Entry, Handle
from treespan.core.jit import Call, njit, njit_inline, njit_unit
from treespan.core.records import LINE, new_records, on_own_lines, record_dtype
from treespan.schemes.protocol.messages import END, HEADER_WORDS, LEVEL_WORDS, NO_SLOT, SHARE_DONE, STOP, SYNC_UP, Jobs
from treespan.search.lines import LINE_MOVES, LINES

# Queues of a rank: indices into its row of `Port.queues`
(
    TREE,  # descents and reports that wait
    LEAVES,  # jobs that wait for a playout
    URGENT,  # notes of a scheme's own
    PARKED,  # jobs that wait for something to do
    PLAYED,  # jobs whose playout has ended
    OUT,  # messages to other ranks
    FREE,  # slots that no message is in
) = range(7)
QUEUES = 8  # room for as many
# Records of ranks fill cache lines: a simulation goes from rank to rank at each event
QUEUE = record_dtype((("first", np.int32), ("last", np.int32), ("length", np.int32)))
RANK_STATE = record_dtype(
    (
        ("now", np.int64),  # when the handler was called, ns: handlers know no clock
        ("all_playouts", np.int64),  # of the whole search, where a rank knows
        ("shares_done", np.int32),  # ranks that have done their share, at rank 0
        ("handed_out", np.int32),  # leaves that its workers have
        ("kept_free", np.int32),  # of playouts: counts as so many leaves that wait
        ("heard_at", np.int32),  # where the next load that is heard of goes
        ("draining", np.bool_),  # no new descents, all jobs go home
        ("over", np.bool_),  # all jobs are home, and this rank knows
        ("has_played", np.bool_),  # a playout has ended here since the last message
        ("leaf_is_due", np.bool_),  # a leaf that waits goes before the next message
    ),
    LINE // 2,
)
RANK_COUNTS = record_dtype(  # what a result tells of a rank
    tuple(
        (name, np.int64)
        for name in (
            "playouts",
            "played_elsewhere",  # of these, playouts of other ranks' leaves
            "searches",  # search jobs received
            "reports",  # report jobs received
            "sent",  # messages to other ranks
            "sent_bytes",
            "received",  # messages from other ranks
            "levels",  # depth of playouts, summed
            "deepest",
            "cut",  # descents that reached the depth limit
            "queue_peak",  # the most that waited in TREE and LEAVES
            "busy_ns",  # spent in handlers and playouts
            "sync_ns",  # of these, spent on urgent messages
            "mail_ns",  # spent in sending and receiving (MPI, simulated)
            "last_playout",  # when the last one ended, ns
        )
    ),
    LINE,
)
BUDGET = record_dtype(
    (
        ("jobs_alive", np.int64),
        ("to_grant", np.int64),  # playouts of the budget that no job has yet
    )
)
LOAD = record_dtype((("rank", np.int32), ("load", np.int32)))
HEARD = 8  # loads of other ranks that a rank remembers
NO_LOAD = 2**30  # of ranks that nothing is sent to: they shall have no leaves, or were not heard from
NO_NEWS = -1  # as a load: the message says nothing of it
# Of each rank, for messages that are no jobs: STOP and END, to three ranks each; SHARE_DONE; and expected lines
SPARE_SLOTS = 7 + LINES
NOTHING, HANDLED = 0, 16  # results of `advance` and `absorb`: work done, in units of 1/16 of a handled job
NO_RANK = -1


class Port(NamedTuple):
    """What runtimes see of one or, simulated, all ranks. Row i of each array belongs to rank `first` + i."""

    jobs: Jobs
    queues: Any  # records[rows, QUEUES] of QUEUE
    state: Any  # records[rows] of RANK_STATE
    counts: Any  # records[rows] of RANK_COUNTS
    heard: Any  # records[rows, HEARD] of LOAD, some ranks heard from and their loads
    budget: Any  # records[1] of BUDGET: facts about the whole search, at the root's home
    line_wish: np.ndarray  # int64[1], set by Python at the root's home: rank 0 shall be told expected lines
    lines: np.ndarray  # int32[LINES, 1 + LINE_MOVES], at rank 0: their lengths and moves
    first: int
    ranks: int
    search: int  # number of this search
    level_words: int  # of a job's level on the wire
    amaf_words: int = 0  # likewise, for RAVE
    common_slots: bool = False  # simulated ranks have one stock of free slots, that of the first row


def new_port(jobs: Jobs, first: int, rows: int, **facts: Any) -> Port:
    """Return the port of `rows` ranks from `first` on; `facts` are its further fields.

    The ranks have no free slots, and have heard from nobody.
    """
    queues, heard = new_records(QUEUE, rows * QUEUES), new_records(LOAD, rows * HEARD)
    queues["first"], queues["last"] = NO_SLOT, NO_SLOT
    heard["rank"], heard["load"] = NO_RANK, NO_LOAD
    return Port(
        jobs=jobs,
        queues=on_own_lines(queues).reshape(rows, QUEUES),
        state=on_own_lines(new_records(RANK_STATE, rows)),
        counts=on_own_lines(new_records(RANK_COUNTS, rows)),
        heard=on_own_lines(heard).reshape(rows, HEARD),
        budget=new_records(BUDGET, 1),
        line_wish=np.zeros(1, dtype=np.int64),
        lines=np.zeros((LINES, 1 + LINE_MOVES), dtype=np.int32),
        first=first,
        **facts,
    )


class Program(NamedTuple):
    """A scheme on one rank, ready to run: addresses of entries and of what they work on."""

    start: Entry
    advance: Entry
    absorb: Entry
    evaluate: Entry
    rank: Any  # number of the handle for the first three
    evaluator: Any  # number of the handle for `evaluate`


NO_PROGRAM = Program(0, 0, 0, 0, 0, 0)  # in its place where code is compiled


class Seat(NamedTuple):
    """A program with what Python may look at; keeps its memory alive."""

    program: Program
    port: Port
    tree: Any  # TreeArrays
    rank: Any  # the rank's tuple
    handle: Handle  # of `rank`; its `whole` has what a scheme adds
    evaluators: list[Handle]
    locate: Any  # (evaluator, row, slot): brings the evaluator's states[1] to a job's leaf; NOTHING: that has its value


@njit_inline
def enqueue(port, row, queue, slot):
    """Put a job at the end of one of the rank's queues."""
    place, headers = port.queues[row, queue], port.jobs.headers
    headers[slot].next_slot = NO_SLOT
    if place.first == NO_SLOT:
        place.first = slot
    else:
        headers[place.last].next_slot = slot
    place.last = slot
    place.length += 1
    if queue <= LEAVES:
        waiting = port.queues[row, TREE].length + port.queues[row, LEAVES].length
        port.counts[row].queue_peak = max(port.counts[row].queue_peak, waiting)


@njit_inline
def dequeue(port, row, queue):
    """Take the first job of a queue; NO_SLOT if it is empty."""
    place = port.queues[row, queue]
    slot = np.int64(place.first)
    if slot != NO_SLOT:
        place.first = port.jobs.headers[slot].next_slot
        place.length -= 1
    return slot


@njit_inline
def release(port, row, slot):
    """Free a slot. The last one freed is the next one used: few slots are ever touched."""
    free = port.queues[0 if port.common_slots else row, FREE]
    port.jobs.headers[slot].next_slot = free.first
    free.first = slot
    free.length += 1


@njit_inline
def new_slot(port, row):
    """A free slot; NO_SLOT if there is none."""
    return dequeue(port, 0 if port.common_slots else row, FREE)


@njit_inline
def free_slots(port, row):
    return port.queues[0 if port.common_slots else row, FREE].length


@njit
def link_free_slots(port, row, first, end):
    """Make slots available to a rank."""
    for slot in range(end - 1, first - 1, -1):
        release(port, row, slot)


@njit_inline
def level_words_of(port, slot):
    """Words of each level of a message on the wire; numbers of another kind travel whole."""
    return port.level_words if port.jobs.headers[slot].kind < SYNC_UP else LEVEL_WORDS


@njit_inline
def amaf_words_of(port, slot):
    """The same of what RAVE adds to each level."""
    return port.amaf_words if port.jobs.headers[slot].kind < SYNC_UP else 0


@njit_inline
def trail_words_of(port, slot):
    """Words of a job's trail on the wire."""
    header, plane_words = port.jobs.headers[slot], port.jobs.plane_words
    if plane_words == 0 or header.kind >= SYNC_UP:
        return np.int64(0)
    return np.int64(header.trail) * (1 + 2 * plane_words)


@njit_inline
def message_bytes(port, slot):
    level = level_words_of(port, slot) + amaf_words_of(port, slot)
    return 8 * (HEADER_WORDS + np.int64(port.jobs.headers[slot].levels) * level + trail_words_of(port, slot))


@njit_inline
def load_of(port, row):
    """Leaves that wait at a rank, those that its workers have included; of a rank that shall get none: very many."""
    return port.queues[row, LEAVES].length + port.state[row].handed_out + port.state[row].kept_free


@njit_inline
def send(port, row, slot, receiver):
    """Address a message; what is for the rank itself goes into its own queue."""
    me = port.first + row
    if receiver == me:
        enqueue(port, row, TREE, slot)
        return
    header = port.jobs.headers[slot]
    header.sender, header.receiver, header.search = me, receiver, port.search
    # A rank tells its load once for each playout. A busy home sends many messages and has few leaves: if all told so,
    # it would be flooded (400 leaves waited at one of 1,200 ranks where 5 are a rank's share)
    header.load = load_of(port, row) if port.state[row].has_played else NO_NEWS
    port.state[row].has_played = False
    enqueue(port, row, OUT, slot)


@njit_inline
def receive(port, row, slot):
    """Take in a message from another rank."""
    header = port.jobs.headers[slot]
    port.counts[row].received += 1
    if header.load != NO_NEWS:
        note_load(port, row, header.sender, header.load)
    if header.kind < SYNC_UP:
        enqueue(port, row, TREE, slot)
    elif header.kind < END:
        enqueue(port, row, URGENT, slot)
    else:
        handle_signal(port, row, slot)


@njit_inline
def note_load(port, row, sender, load):
    """Remember what waits at a rank: in its place, or instead of the rank that was entered first."""
    for i in range(HEARD):
        if port.heard[row, i].rank == sender:
            port.heard[row, i].load = load
            return
    state = port.state[row]
    news = port.heard[row, state.heard_at]
    news.rank, news.load = sender, load
    state.heard_at = (state.heard_at + 1) & (HEARD - 1)


@njit_inline
def least_loaded(port, row):
    """Where a playout would wait least: a rank that was heard from, if it has less than half waiting, or this rank.

    A leaf that goes elsewhere costs two messages: with two fewer instead of half it was 3.77 messages a playout instead
    of 3.45 (`span`, 12 ranks, 0.1 ms, b = 8), and no faster with 1,200 ranks.
    """
    best, load, place = port.first + row, load_of(port, row) // 2, NO_SLOT
    for i in range(HEARD):
        news = port.heard[row, i]
        if news.load < load:
            best, load, place = np.int64(news.rank), np.int64(news.load), i
    if place != NO_SLOT:
        port.heard[row, place].load += 1  # the playout that it is about to get
    return best


def signal_calls(port: Port) -> list[Call]:
    """Return calls of the units that say and hear how a search ends, to be compiled beside what calls them."""
    return [(send_signal, (port, 0, 0, 0)), (note_share_done, (port, 0)), (handle_signal, (port, 0, 0))]


@njit_unit("none")
def handle_signal(port, row, slot):
    """A message that is no job."""
    kind = port.jobs.headers[slot].kind
    release(port, row, slot)
    if kind == SHARE_DONE:
        note_share_done(port, row)
    elif kind == STOP and not port.state[row].draining:
        call_home(port, row)
    elif kind == END and not port.state[row].over:
        announce_end(port, row)


@njit
def call_home(port, row):
    """No new descents here, and tell the ranks below in the tree of ranks."""
    port.state[row].draining = True
    tell_ranks_below(port, row, STOP)


@njit
def stop_search(port, row):
    """At a rank that knows that nothing is left to be found out: rank 0 shall call all jobs home."""
    if port.first + row != 0:
        send_signal(port, row, STOP, 0)
    elif not port.state[row].draining:
        call_home(port, row)


@njit
def end_search(port, row):
    """At the root's home, when all jobs are home: rank 0 shall tell everybody."""
    if port.first + row == 0:
        announce_end(port, row)
    else:
        send_signal(port, row, END, 0)


@njit
def announce_end(port, row):
    """The search is over: note it, and tell the ranks below."""
    port.state[row].draining = True
    port.state[row].over = True
    tell_ranks_below(port, row, END)


@njit
def tell_ranks_below(port, row, kind):
    """Rank r tells 2 r + 1 and 2 r + 2, which tell theirs: all know after log2 N messages."""
    me = port.first + row
    for below in range(2 * me + 1, 2 * me + 3):
        if below < port.ranks:
            send_signal(port, row, kind, below)


@njit_unit("none")
def send_signal(port, row, kind, receiver):
    slot = new_slot(port, row)
    if slot != NO_SLOT:
        for i in range(HEADER_WORDS):
            port.jobs.header_words[slot, i] = 0
        port.jobs.headers[slot].kind = kind
        send(port, row, slot, receiver)


@njit_unit("none")
def note_share_done(port, row):
    """At rank 0: when all ranks have done their share, call the jobs home."""
    port.state[row].shares_done += 1
    if port.state[row].shares_done == port.ranks and not port.state[row].draining:
        call_home(port, row)
