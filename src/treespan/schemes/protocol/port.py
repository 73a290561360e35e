"""The protocol of a rank: what a runtime may ask a scheme, and what both see.

A rank knows nothing of networks, clocks or threads. A scheme is four compiled entries (`Program`):

    start     put the first jobs into the queue of the rank that begins
    advance   handle one message that waits: a descent or a report; gives the work done, NOTHING if none waited
    evaluate  give the leaf of a job its value; touches nothing but the job and the evaluator's own buffers
    absorb    go on with a job whose evaluation is there (or, with NO_VALUE, was called off)

A runtime puts arrived messages into the rank's queue (`receive`), calls `advance`, takes leaves from `LEAVES` and has
them evaluated, where and when it likes, and delivers what it finds in `OUT`. Descents and reports go before playouts:
others wait for them.
"""

from typing import Any, NamedTuple

import numpy as np

from treespan.core.handles import Entry, Handle
from treespan.core.jit import njit, njit_inline
from treespan.schemes.protocol.messages import END, HEADER_WORDS, LEVEL_WORDS, NO_SLOT, SHARE_DONE, STOP, SYNC_UP, Jobs

# Queues of a rank. Its row of `Port.numbers` begins with two numbers for each: first and last slot
TREE, LEAVES, URGENT, PARKED, PLAYED, OUT, FREE = 0, 2, 4, 6, 8, 10, 12
# Further indices into a row of `Port.numbers`
(
    TREE_LENGTH,  # jobs in the queue of descents and reports
    LEAVES_LENGTH,  # jobs that wait for a playout
    FREE_LENGTH,  # slots that no message is in
    QUEUE_PEAK,  # the most of both
    DRAINING,  # not zero: no new descents, all jobs go home
    OVER,  # not zero: all jobs are home, and this rank knows
    SHARES_DONE,  # ranks that have done their share, at rank 0
    HEARD_AT,  # where the next load that is heard of goes
    PLAYOUTS_DONE,
    PLAYED_ELSEWHERE,  # of these, playouts of other ranks' leaves
    SEARCHES,  # search jobs received
    REPORTS_RECEIVED,
    SENT,  # messages to other ranks
    SENT_BYTES,
    RECEIVED,  # messages from other ranks
    LEVELS_SUM,  # depth of playouts, summed
    LEVELS_MAX,
    LEVELS_CUT,  # descents that reached the depth limit
    BUSY_NS,  # spent in handlers and playouts
    SYNC_NS,  # of these, spent on urgent messages
    HANDED_OUT,  # leaves that its workers have
    HAS_PLAYED,  # not zero: a playout has ended here since the last message
    KEPT_FREE,  # of playouts: counts as so many leaves that wait
    ALL_PLAYOUTS,  # of the whole search, where a rank knows
    MAIL_NS,  # spent in sending and receiving (MPI, simulated)
    LAST_PLAYOUT,  # when the last one ended, ns
    NOW,  # when the handler was called, ns: handlers know no clock
    NUMBERS,
) = range(14, 42)

# Indices into `Port.shared`: facts about the whole search, at the root's home
(
    JOBS_ALIVE,
    TO_GRANT,  # playouts of the budget that no job has yet
    SHARED,
) = range(3)

NO_LOAD = 2**30  # of ranks that nothing is sent to: they shall have no leaves, or were not heard from
NO_NEWS = -1  # as a load: the message says nothing of it
HEARD = 8  # loads of other ranks that a rank remembers
SPARE_SLOTS = 6  # of each rank, for its messages that are no jobs: STOP and END, twice each; END to rank 0; SHARE_DONE
NOTHING, HANDLED = 0, 16  # results of `advance` and `absorb`: work done, in units of 1/16 of a handled job
NO_RANK = -1


class Port(NamedTuple):
    """What runtimes see of one or, simulated, all ranks. Row i of each array belongs to rank `first` + i."""

    jobs: Jobs
    numbers: np.ndarray  # int64[rows, NUMBERS]
    shared: np.ndarray  # int64[SHARED]
    heard: np.ndarray  # int32[rows, HEARD, 2], some ranks heard from and their loads
    first: int
    ranks: int
    search: int  # number of this search
    level_words: int  # of a job's level on the wire
    amaf_words: int = 0  # likewise, for RAVE
    common_slots: bool = False  # simulated ranks have one stock of free slots, that of the first row


class Program(NamedTuple):
    """A scheme on one rank, ready to run: addresses of entries and of what they work on."""

    start: Entry
    advance: Entry
    absorb: Entry
    evaluate: Entry
    rank: Any  # number of the handle for the first three
    evaluator: Any  # number of the handle for `evaluate`


class Seat(NamedTuple):
    """A program with what Python may look at; keeps its memory alive."""

    program: Program
    port: Port
    tree: Any  # Tree
    rank: Any  # the scheme's own tuple
    handle: Handle  # of `rank`
    evaluators: list[Handle]
    locate: Any  # (evaluator, row, slot): brings the evaluator's states[1] to the leaf of a job
    own: Any = None  # handle of what a scheme adds
    kept: tuple[Handle, ...] = ()  # further handles that must live as long


@njit_inline
def enqueue(port, row, queue, slot):
    """Put a job at the end of one of the rank's queues."""
    numbers = port.numbers
    port.jobs.headers[slot].next_slot = NO_SLOT
    if numbers[row, queue] == NO_SLOT:
        numbers[row, queue] = slot
    else:
        port.jobs.headers[numbers[row, queue + 1]].next_slot = slot
    numbers[row, queue + 1] = slot
    if queue <= LEAVES:
        numbers[row, TREE_LENGTH if queue == TREE else LEAVES_LENGTH] += 1
        numbers[row, QUEUE_PEAK] = max(
            numbers[row, QUEUE_PEAK], numbers[row, TREE_LENGTH] + numbers[row, LEAVES_LENGTH]
        )


@njit_inline
def dequeue(port, row, queue):
    """Take the first job of a queue; NO_SLOT if it is empty."""
    slot = port.numbers[row, queue]
    if slot != NO_SLOT:
        port.numbers[row, queue] = port.jobs.headers[slot].next_slot
        if queue <= LEAVES:
            port.numbers[row, TREE_LENGTH if queue == TREE else LEAVES_LENGTH] -= 1
    return slot


@njit_inline
def release(port, row, slot):
    """Free a slot. The last one freed is the next one used: few slots are ever touched."""
    place = 0 if port.common_slots else row
    port.jobs.headers[slot].next_slot = port.numbers[place, FREE]
    port.numbers[place, FREE] = slot
    port.numbers[place, FREE_LENGTH] += 1


@njit_inline
def new_slot(port, row):
    """A free slot; NO_SLOT if there is none."""
    place = 0 if port.common_slots else row
    slot = port.numbers[place, FREE]
    if slot != NO_SLOT:
        port.numbers[place, FREE] = port.jobs.headers[slot].next_slot
        port.numbers[place, FREE_LENGTH] -= 1
    return slot


@njit_inline
def free_slots(port, row):
    return port.numbers[0 if port.common_slots else row, FREE_LENGTH]


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
    return port.numbers[row, LEAVES_LENGTH] + port.numbers[row, HANDED_OUT] + port.numbers[row, KEPT_FREE]


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
    header.load = load_of(port, row) if port.numbers[row, HAS_PLAYED] != 0 else NO_NEWS
    port.numbers[row, HAS_PLAYED] = 0
    enqueue(port, row, OUT, slot)


@njit_inline
def receive(port, row, slot):
    """Take in a message from another rank."""
    header, numbers = port.jobs.headers[slot], port.numbers
    numbers[row, RECEIVED] += 1
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
        if port.heard[row, i, 0] == sender:
            port.heard[row, i, 1] = load
            return
    at = port.numbers[row, HEARD_AT]
    port.heard[row, at, 0], port.heard[row, at, 1] = sender, load
    port.numbers[row, HEARD_AT] = (at + 1) & (HEARD - 1)


@njit_inline
def least_loaded(port, row):
    """Where a playout would wait least: a rank that was heard from, if it has less than half waiting, or this rank.

    A leaf that goes elsewhere costs two messages: with two fewer instead of half it was 3.77 messages a playout instead
    of 3.45 (`span`, 12 ranks, 0.1 ms, b = 8), and no faster with 1,200 ranks.
    """
    best, load, place = port.first + row, load_of(port, row) // 2, NO_SLOT
    for i in range(HEARD):
        if port.heard[row, i, 1] < load:
            best, load, place = np.int64(port.heard[row, i, 0]), np.int64(port.heard[row, i, 1]), i
    if place != NO_SLOT:
        port.heard[row, place, 1] += 1  # the playout that it is about to get
    return best


@njit
def handle_signal(port, row, slot):
    """A message that is no job."""
    kind, numbers = port.jobs.headers[slot].kind, port.numbers
    release(port, row, slot)
    if kind == SHARE_DONE:
        note_share_done(port, row)
    elif kind == STOP and numbers[row, DRAINING] == 0:
        call_home(port, row)
    elif kind == END and numbers[row, OVER] == 0:
        announce_end(port, row)


@njit
def call_home(port, row):
    """No new descents here, and tell the ranks below in the tree of ranks."""
    port.numbers[row, DRAINING] = 1
    tell_ranks_below(port, row, STOP)


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
    port.numbers[row, DRAINING] = 1
    port.numbers[row, OVER] = 1
    tell_ranks_below(port, row, END)


@njit
def tell_ranks_below(port, row, kind):
    """Rank r tells 2 r + 1 and 2 r + 2, which tell theirs: all know after log2 N messages."""
    me = port.first + row
    for below in range(2 * me + 1, 2 * me + 3):
        if below < port.ranks:
            send_signal(port, row, kind, below)


@njit
def send_signal(port, row, kind, receiver):
    slot = new_slot(port, row)
    if slot != NO_SLOT:
        for i in range(HEADER_WORDS):
            port.jobs.header_words[slot, i] = 0
        port.jobs.headers[slot].kind = kind
        send(port, row, slot, receiver)


@njit
def note_share_done(port, row):
    """At rank 0: when all ranks have done their share, call the jobs home."""
    port.numbers[row, SHARES_DONE] += 1
    if port.numbers[row, SHARES_DONE] == port.ranks and port.numbers[row, DRAINING] == 0:
        call_home(port, row)
