"""The loop of a rank that is an MPI process. It is compiled, and calls MPI itself.

The loop: reclaim finished sends, take in messages, do one unit of work, send. Only `MPI_Isend` sends, because
blocking sends of two ranks to each other can wait for ever. Receives are posted ahead, so that MPI puts a message where
it belongs at once: with probing first, 12 ranks were idle for 8 % of their time instead of 2 % (P-game, 0.1 ms). Jobs
for the rank itself never go through MPI. The number of jobs bounds all buffers.
"""

from typing import Any, NamedTuple

import numpy as np

from treespan.core.atomics import atomic_load
from treespan.core.clock import now_ns, sharpen_timers, sleep_ns
from treespan.core.handles import call_entry
from treespan.core.jit import njit, njit_inline
from treespan.core.records import new_records, record_dtype
from treespan.runtimes.mpi_binding import (
    ANY_SOURCE,
    ANY_TAG,
    BYTE,
    COMM,
    TAG,
    mpi_cancel,
    mpi_irecv,
    mpi_isend,
    mpi_test,
)
from treespan.runtimes.mpi_looks import (
    HOME,
    NOBODY,
    READER,
    LookMail,
    has_part,
    new_look_mail,
    take_part,
    write_part,
)
from treespan.runtimes.workers import EMPTY_POLLS, NAP_NS, work_once
from treespan.schemes.protocol.messages import HEADER_WORDS, LEVEL_WORDS, NO_SLOT
from treespan.schemes.protocol.port import (
    FREE,
    OUT,
    Port,
    amaf_words_of,
    call_home,
    dequeue,
    level_words_of,
    new_slot,
    receive,
    release,
    trail_words_of,
)

SEND_SLOTS = 256  # messages that MPI may still be sending
RECEIVE_SLOTS = 16  # messages that MPI may put in their place before the rank looks

MAIL_STATE = record_dtype(
    (
        ("send_first", np.int64),  # place of the oldest message that MPI may still be sending
        ("send_count", np.int64),
        ("receive_first", np.int64),  # place of the next message that comes
        ("late_first", np.int64),  # of those that are held back
        ("late_count", np.int64),
        ("ended", np.int64),  # when the loop ended, ns
        ("error", np.int64),  # of MPI, which ended the loop at once: a rank is lost
    )
)


class Mail(NamedTuple):
    """Buffers between jobs and MPI."""

    outgoing: np.ndarray  # uint64[SEND_SLOTS, words], messages that MPI sends
    requests: np.ndarray  # int64[SEND_SLOTS], their handles
    incoming: np.ndarray  # uint64[RECEIVE_SLOTS, words], where MPI puts the next messages, in turn
    expected: np.ndarray  # int64[RECEIVE_SLOTS], their handles
    late_slots: np.ndarray  # int32[slots], ring of messages that are held back to emulate latency
    late_until: np.ndarray  # int64[slots], until when, ns
    scratch: np.ndarray  # int64[32], status and flag
    state: Any  # records[1] of MAIL_STATE
    stop: np.ndarray  # int64[1], set by Python: the user wants an end
    look: LookMail  # in a search that is watched


def mail_of(port: Port, max_moves: int = 0, role: int = NOBODY) -> Mail:
    """Return a rank's buffers; with a role they carry roots with so many moves to rank 0."""
    capacity, words = port.jobs.level_words.shape
    look = new_look_mail(max_moves, port.search, role)
    return new_mail(capacity, words + port.jobs.amaf_level_words.shape[1] + port.jobs.trails.shape[1], look)


def new_mail(capacity: int, words: int, look: LookMail) -> Mail:
    """Return buffers for messages of so many words beside a header, and for `capacity` of them that are held back."""
    return Mail(
        outgoing=np.zeros((SEND_SLOTS, HEADER_WORDS + words), dtype=np.uint64),
        requests=np.zeros(SEND_SLOTS, dtype=np.int64),
        incoming=np.zeros((RECEIVE_SLOTS, HEADER_WORDS + words), dtype=np.uint64),
        expected=np.zeros(RECEIVE_SLOTS, dtype=np.int64),
        late_slots=np.zeros(capacity, dtype=np.int32),
        late_until=np.zeros(capacity, dtype=np.int64),
        scratch=np.zeros(32, dtype=np.int64),
        state=new_records(MAIL_STATE, 1),
        stop=np.zeros(1, dtype=np.int64),
        look=look,
    )


@njit_inline
def note_status(mail, status):
    """Note an error of MPI: the loop ends."""
    if status != 0:
        mail.state[0].error = status


@njit_inline
def is_done(mail, requests, place):
    """Whether MPI has done what was asked for; not if that has failed."""
    mail.scratch[0] = 0
    status = mpi_test(requests[place:].ctypes.data, mail.scratch.ctypes.data, mail.scratch[1:].ctypes.data)
    note_status(mail, status)
    return status == 0 and np.int32(mail.scratch[0]) != 0


@njit_inline
def reclaim(mail):
    """Free the buffers of messages that MPI has sent, the oldest first."""
    while mail.state[0].send_count > 0:
        first = mail.state[0].send_first
        if not is_done(mail, mail.requests, first):
            return
        mail.state[0].send_first = (first + 1) % SEND_SLOTS
        mail.state[0].send_count -= 1


@njit
def copy_words(target, source, count):
    for i in range(count):
        target[i] = source[i]


@njit_inline
def pack(port, slot, message):
    """Write a job as a message. Returns its length in words."""
    jobs, kept = port.jobs, level_words_of(port, slot)
    copy_words(message, jobs.header_words[slot], HEADER_WORDS)
    words = np.int64(HEADER_WORDS)
    for level in range(jobs.headers[slot].levels):
        copy_words(message[words:], jobs.level_words[slot, level * LEVEL_WORDS :], kept)
        words += kept
    amaf, trail = jobs.headers[slot].levels * amaf_words_of(port, slot), trail_words_of(port, slot)
    if amaf > 0:
        copy_words(message[words:], jobs.amaf_level_words[slot], amaf)
    if trail > 0:
        copy_words(message[words + amaf :], jobs.trails[slot], trail)
    return words + amaf + trail


@njit_inline
def unpack(port, message, slot):
    jobs = port.jobs
    copy_words(jobs.header_words[slot], message, HEADER_WORDS)
    kept = level_words_of(port, slot)
    words = np.int64(HEADER_WORDS)
    for level in range(jobs.headers[slot].levels):
        copy_words(jobs.level_words[slot, level * LEVEL_WORDS :], message[words:], kept)
        words += kept
    amaf, trail = jobs.headers[slot].levels * amaf_words_of(port, slot), trail_words_of(port, slot)
    if amaf > 0:
        copy_words(jobs.amaf_level_words[slot], message[words:], amaf)
    if trail > 0:
        copy_words(jobs.trails[slot], message[words + amaf :], trail)


@njit
def send_all(port, mail, constants, latency_ns):
    """Send the messages that this rank has written, and free their slots."""
    slot = dequeue(port, 0, OUT)
    while slot != NO_SLOT:
        while mail.state[0].send_count == SEND_SLOTS:
            reclaim(mail)
            if mail.state[0].error != 0:
                return
            take_in(port, mail, constants, latency_ns)  # or two ranks with full buffers would wait for each other
        place = next_place(mail)
        words = pack(port, slot, mail.outgoing[place])
        receiver = np.int64(port.jobs.headers[slot].receiver)
        release(port, 0, slot)
        port.counts[0].sent += 1
        port.counts[0].sent_bytes += 8 * words
        post_message(mail, constants, place, words, receiver)
        slot = dequeue(port, 0, OUT)


@njit_inline
def next_place(mail):
    """Where the next message that is sent lies."""
    return (mail.state[0].send_first + mail.state[0].send_count) % SEND_SLOTS


@njit_inline
def post_message(mail, constants, place, words, receiver):
    message, request = mail.outgoing[place], mail.requests[place:].ctypes.data
    note_status(
        mail, mpi_isend(message.ctypes.data, 8 * words, constants[BYTE], receiver, TAG, constants[COMM], request)
    )
    mail.state[0].send_count += 1


@njit
def send_look(mail, constants, is_last):
    """Send rank 0 a part of the root, if there is room; or that no more will come."""
    if mail.state[0].send_count < SEND_SLOTS:
        place = next_place(mail)
        post_message(mail, constants, place, write_part(mail.look, mail.outgoing[place], is_last), 0)


@njit
def end_looks(port, mail, constants, latency_ns, may_nap):
    """In a search that is watched: no part of a root is left for the next search."""
    if mail.look.state[0].role == HOME:
        send_look(mail, constants, True)
        while mail.state[0].send_count > 0 and mail.state[0].error == 0:
            reclaim(mail)
    elif mail.look.state[0].role == READER:
        while not mail.look.state[0].no_more and mail.state[0].error == 0:
            if not take_in(port, mail, constants, latency_ns) and may_nap:
                sleep_ns(NAP_NS)


@njit_inline
def expect(mail, constants, place):
    """Have MPI put the next message that has no place yet into this one."""
    message, source, tag = mail.incoming[place], constants[ANY_SOURCE], constants[ANY_TAG]
    request = mail.expected[place:].ctypes.data
    note_status(
        mail, mpi_irecv(message.ctypes.data, 8 * len(message), constants[BYTE], source, tag, constants[COMM], request)
    )


@njit
def take_in(port, mail, constants, latency_ns):
    """Receive all messages that have arrived, as long as there is room. Returns whether there were any."""
    took_in = False
    while port.queues[0, FREE].first != NO_SLOT:
        place = mail.state[0].receive_first
        if not is_done(mail, mail.expected, place):
            break
        took_in = True
        slot = new_slot(port, 0)
        unpack(port, mail.incoming[place], slot)
        is_job = port.jobs.headers[slot].search == port.search
        if not is_job and port.jobs.headers[slot].search == -port.search:
            take_part(mail.look, mail.incoming[place])
        expect(mail, constants, place)
        mail.state[0].receive_first = (place + 1) % RECEIVE_SLOTS
        if not is_job:  # or a late STOP of the search before
            release(port, 0, slot)
        elif latency_ns > 0:
            last = (mail.state[0].late_first + mail.state[0].late_count) % len(mail.late_slots)
            mail.late_slots[last], mail.late_until[last] = slot, now_ns() + latency_ns
            mail.state[0].late_count += 1
        else:
            receive(port, 0, slot)
    return took_in


@njit_inline
def take_in_late(port, mail, now):
    """Emulated latency: take in the messages that have been held back for long enough."""
    while mail.state[0].late_count > 0 and mail.late_until[mail.state[0].late_first] <= now:
        first = mail.state[0].late_first
        mail.state[0].late_first = (first + 1) % len(mail.late_slots)
        mail.state[0].late_count -= 1
        receive(port, 0, np.int64(mail.late_slots[first]))


@njit
def run_rank(port, program, mail, staff, constants, deadline, latency_ns, may_nap):
    """The life of one rank, until all jobs are home, or a rank is lost."""
    sharpen_timers()
    for place in range(RECEIVE_SLOTS):
        expect(mail, constants, place)
    port.state[0].now = now_ns()
    call_entry(program.start, program.rank, 0, 0)
    send_all(port, mail, constants, latency_ns)  # the search may be over already
    empty_polls, last = 0, now_ns()
    while not port.state[0].over and mail.state[0].error == 0:
        reclaim(mail)
        took_in, sent = take_in(port, mail, constants, latency_ns), port.counts[0].sent
        begin = now_ns()
        port.counts[0].mail_ns += (begin - last) * took_in
        port.state[0].now = begin
        take_in_late(port, mail, begin)
        if begin >= deadline:
            port.state[0].draining = True
        elif atomic_load(mail.stop, 0) != 0 and not port.state[0].draining:
            call_home(port, 0)
        elif has_part(mail.look):
            send_look(mail, constants, False)
        worked = work_once(port, program, staff)
        done = now_ns()
        if worked:
            empty_polls = 0
            port.counts[0].busy_ns += done - begin
        else:
            empty_polls += 1
            if may_nap and empty_polls > EMPTY_POLLS:
                sleep_ns(NAP_NS)
        send_all(port, mail, constants, latency_ns)
        last = now_ns()
        port.counts[0].mail_ns += (last - done) * (port.counts[0].sent != sent)
    while mail.state[0].send_count > 0 and mail.state[0].error == 0:
        reclaim(mail)
    mail.state[0].ended = now_ns()
    end_looks(port, mail, constants, latency_ns, may_nap)
    for place in range(RECEIVE_SLOTS):  # what comes yet is a STOP of this search: the next one drops it
        if mail.state[0].error == 0:
            mpi_cancel(mail.expected[place:].ctypes.data)
        while mail.state[0].error == 0 and not is_done(mail, mail.expected, place):
            pass
