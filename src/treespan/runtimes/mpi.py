"""Ranks as MPI processes. The message loop is compiled and calls MPI itself.

The loop: reclaim finished sends, take in messages, do one unit of work, send. Only `MPI_Isend` sends, because
blocking sends of two ranks to each other can wait for ever. Jobs for the rank itself never go through MPI. The number
of jobs bounds all buffers. When all jobs are home, the root's home tells the others that the search is over.
"""

import os
import threading
import time
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from treespan.core.atomics import atomic_load
from treespan.core.clock import now_ns, sharpen_timers, sleep_ns
from treespan.core.jit import JIT_DISABLED, njit, njit_inline
from treespan.runtimes.mpi_binding import (
    ANY_SOURCE,
    ANY_TAG,
    BYTE,
    COMM,
    TAG,
    MpiError,
    bind,
    fail_all_ranks,
    load_mpi,
    mpi_iprobe,
    mpi_isend,
    mpi_recv,
    mpi_test,
)
from treespan.schemes.base import POLL_SECONDS, Request
from treespan.schemes.distributed import Distributed, Outcome, summarise_ranks, total_seconds
from treespan.schemes.messages import END, HEADER, LEVEL, NO_SLOT, STOP, UCT_LEVEL_BYTES, Jobs
from treespan.schemes.rank import (
    BUSY_NS,
    DRAINING,
    FINISHED,
    NO_RANK,
    NUMBERS,
    PLAYOUTS_DONE,
    RECEIVED,
    SENT,
    SENT_BYTES,
    enqueue,
)
from treespan.schemes.tds import NOT_PLAYED, advance, start_all
from treespan.search.result import SearchResult
from treespan.search.searcher import FOREVER_NS, read_root

HEADER_WORDS = HEADER.itemsize // 8
LEVEL_WORDS = LEVEL.itemsize // 8
UCT_LEVEL_WORDS = UCT_LEVEL_BYTES // 8
SEND_SLOTS = 256  # messages that MPI may still be sending
EMPTY_POLLS = 20  # after so many a rank without work sleeps, if ranks outnumber cores
NAP_NS = 20_000
STOP_FILE = "TREESPAN_STOP_FILE"  # environment variable: a file whose appearance ends the search

# Indices into `Mail.counts`
FREE, SEND_FIRST, SEND_COUNT, LAST_PLAYOUT, ENDED, COUNTS = range(6)


class Mail(NamedTuple):
    """Buffers between jobs and MPI."""

    header_words: np.ndarray  # uint64[jobs, HEADER_WORDS], the memory of the jobs' headers
    level_words: np.ndarray  # uint64[jobs, max_levels * LEVEL_WORDS], that of their levels
    free: np.ndarray  # int32[jobs], slots without a job; the first counts[FREE] count
    outgoing: np.ndarray  # uint64[SEND_SLOTS, words], messages that MPI sends
    requests: np.ndarray  # int64[SEND_SLOTS], their handles
    incoming: np.ndarray  # uint64[words], the message that is received
    scratch: np.ndarray  # int64[32], status and flag
    counts: np.ndarray  # int64[COUNTS]
    stop: np.ndarray  # int64[1], set by Python: the user wants an end


def new_mail(jobs: Jobs) -> Mail:
    capacity, max_levels = jobs.levels.shape
    words = HEADER_WORDS + max_levels * LEVEL_WORDS
    return Mail(
        header_words=np.asarray(jobs.headers).view(np.uint64).reshape(capacity, HEADER_WORDS),
        level_words=np.asarray(jobs.levels).reshape(-1).view(np.uint64).reshape(capacity, max_levels * LEVEL_WORDS),
        free=np.arange(capacity, dtype=np.int32),
        outgoing=np.zeros((SEND_SLOTS, words), dtype=np.uint64),
        requests=np.zeros(SEND_SLOTS, dtype=np.int64),
        incoming=np.zeros(words, dtype=np.uint64),
        scratch=np.zeros(32, dtype=np.int64),
        counts=np.array([capacity, 0, 0, 0, 0], dtype=np.int64),
        stop=np.zeros(1, dtype=np.int64),
    )


@njit_inline
def reclaim(mail):
    """Free the buffers of messages that MPI has sent, the oldest first."""
    while mail.counts[SEND_COUNT] > 0:
        first = mail.counts[SEND_FIRST]
        mail.scratch[0] = 0
        mpi_test(mail.requests[first:].ctypes.data, mail.scratch.ctypes.data, mail.scratch[1:].ctypes.data)
        if np.int32(mail.scratch[0]) == 0:
            return
        mail.counts[SEND_FIRST] = (first + 1) % SEND_SLOTS
        mail.counts[SEND_COUNT] -= 1


@njit
def send(rank, mail, constants, target, slot, kind):
    """Send the job in `slot`, and free it; or with NO_SLOT a message that is nothing but its kind."""
    while True:
        reclaim(mail)
        if mail.counts[SEND_COUNT] < SEND_SLOTS:
            break
        take_in(rank, mail, constants)  # or two ranks with full buffers would wait for each other
    place = (mail.counts[SEND_FIRST] + mail.counts[SEND_COUNT]) % SEND_SLOTS
    message = mail.outgoing[place]
    words = np.int64(HEADER_WORDS)
    if slot == NO_SLOT:
        message[2] = np.uint64(kind)  # where the header has `kind`
    else:
        for i in range(HEADER_WORDS):
            message[i] = mail.header_words[slot, i]
        kept = LEVEL_WORDS if rank.settings.depth_first else UCT_LEVEL_WORDS
        for level in range(rank.jobs.headers[slot].levels):
            for i in range(kept):
                message[words] = mail.level_words[slot, level * LEVEL_WORDS + i]
                words += 1
        mail.free[mail.counts[FREE]] = slot
        mail.counts[FREE] += 1
        rank.numbers[0, SENT] += 1
        rank.numbers[0, SENT_BYTES] += 8 * words
    request = mail.requests[place:].ctypes.data
    mpi_isend(message.ctypes.data, 8 * words, constants[BYTE], target, TAG, constants[COMM], request)
    mail.counts[SEND_COUNT] += 1


@njit
def take_in(rank, mail, constants):
    """Receive all messages that have arrived; says whether the search is over."""
    while True:
        mail.scratch[0] = 0
        flag, status = mail.scratch.ctypes.data, mail.scratch[1:].ctypes.data
        mpi_iprobe(constants[ANY_SOURCE], constants[ANY_TAG], constants[COMM], flag, status)
        if np.int32(mail.scratch[0]) == 0:
            return False
        room = 8 * len(mail.incoming)
        mpi_recv(
            mail.incoming.ctypes.data,
            room,
            constants[BYTE],
            constants[ANY_SOURCE],
            constants[ANY_TAG],
            constants[COMM],
            status,
        )
        kind = np.int32(mail.incoming[2])
        if kind == END:
            return True
        if kind == STOP:
            rank.shared[DRAINING] = 1
            continue
        rank.numbers[0, RECEIVED] += 1
        mail.counts[FREE] -= 1
        slot = mail.free[mail.counts[FREE]]
        for i in range(HEADER_WORDS):
            mail.header_words[slot, i] = mail.incoming[i]
        kept = LEVEL_WORDS if rank.settings.depth_first else UCT_LEVEL_WORDS
        words = HEADER_WORDS
        for level in range(rank.jobs.headers[slot].levels):
            for i in range(kept):
                mail.level_words[slot, level * LEVEL_WORDS + i] = mail.incoming[words]
                words += 1
        enqueue(rank, 0, slot, False)


@njit
def run_rank(game, rank, mail, constants, me, root_home, deadline_ns, may_nap, only_compile):
    """The life of one rank, until all jobs are home."""
    if only_compile:
        return
    sharpen_timers()
    if me == root_home:
        mail.counts[FREE] = 0
        start_all(game, rank, 0)
    empty_polls, told_stop = 0, False
    while True:
        reclaim(mail)
        if take_in(rank, mail, constants):
            break
        begin = now_ns()
        if begin >= deadline_ns:
            rank.shared[DRAINING] = 1
        if atomic_load(mail.stop, 0) != 0 and not told_stop:
            told_stop = True
            rank.shared[DRAINING] = 1
            for other in range(rank.ranks):
                if other != me:
                    send(rank, mail, constants, other, NO_SLOT, STOP)
        slot, target, plies = advance(game, rank, 0, me)
        if slot == NO_SLOT:
            empty_polls += 1
            if may_nap and empty_polls > EMPTY_POLLS:
                sleep_ns(NAP_NS)
            continue
        if plies != NOT_PLAYED:
            mail.counts[LAST_PLAYOUT] = now_ns()
        empty_polls = 0
        if target != NO_RANK:
            send(rank, mail, constants, target, slot, 0)
        rank.numbers[0, BUSY_NS] += now_ns() - begin
        if me == root_home and rank.shared[FINISHED] != 0:
            for other in range(rank.ranks):
                if other != me:
                    send(rank, mail, constants, other, NO_SLOT, END)
            break
    while mail.counts[SEND_COUNT] > 0:
        reclaim(mail)
    mail.counts[ENDED] = now_ns()


def run_mpi(scheme: Distributed, request: Request) -> SearchResult | None:
    """Search with the ranks of this MPI job; rank 0 gets the result, the others None."""
    if JIT_DISABLED:
        raise MpiError("the MPI runtime needs the compiler; unset NUMBA_DISABLE_JIT, or use --simulate")
    mpi = load_mpi()
    comm = mpi.COMM_WORLD
    try:
        return _run_mpi(scheme, request, mpi, comm)
    except BaseException as error:  # one rank's failure must not leave the others waiting
        fail_all_ranks(error)
        raise


def _run_mpi(scheme: Distributed, request: Request, mpi: Any, comm: Any) -> SearchResult | None:
    constants = bind(mpi)
    me, game = comm.rank, request.position.game
    rank = scheme.new_ranks(request, rows=1, first=me)
    rank.work.random[0] = rank.random[0]
    mail = new_mail(rank.jobs)
    root_home = scheme.root_home(request.position, comm.size)
    ranks_here = comm.Split_type(mpi.COMM_TYPE_SHARED).size
    may_nap = ranks_here > len(os.sched_getaffinity(0))

    def run(deadline: int, only_compile: bool) -> None:
        run_rank(game, rank, mail, constants, me, root_home, deadline, may_nap, only_compile)

    if me == 0:
        run(0, True)  # compiles into the cache; the others then load it
    wait_for_all(comm)
    run(0, True)
    wait_for_all(comm)
    start = time.monotonic_ns()
    seconds = total_seconds(request.budget)
    deadline = FOREVER_NS if seconds == float("inf") else start + int(seconds * 1e9)
    worker = threading.Thread(target=run, args=(deadline, False), daemon=True)
    worker.start()
    interrupted = watch(worker, mail, rank.numbers, request, start)
    end = int(mail.counts[ENDED])
    last = comm.allreduce(int(mail.counts[LAST_PLAYOUT]) - start, op=mpi.MAX)
    numbers = comm.gather(rank.numbers[0])
    used = comm.reduce(rank.tree.used)
    root = comm.bcast(read_root(game, rank.tree) if me == root_home else None, root=root_home)
    interrupted = comm.allreduce(interrupted, op=mpi.LOR)
    if me != 0:
        return None
    outcome = Outcome(
        root=root,
        numbers=np.array(numbers).reshape(comm.size, NUMBERS),
        used=used,
        seconds=(end - start) * 1e-9,
        end_seconds=max(end - start - last, 0) * 1e-9,
        wall_seconds=(end - start) * 1e-9,
        runtime="mpi",
        interrupted=interrupted,
    )
    return summarise_ranks(scheme, request, outcome)


def wait_for_all(comm: Any) -> None:
    """A barrier that does not burn the cores that the compiler needs: MPI's own spins."""
    request = comm.Ibarrier()
    while not request.Test():
        time.sleep(0.002)


def watch(worker: threading.Thread, mail: Mail, numbers: np.ndarray, request: Request, start: int) -> bool:
    """Wait for the worker; pass on Ctrl-C and the launcher's wish to stop. Says whether there was one."""
    stop_file = os.environ.get(STOP_FILE)
    while worker.is_alive():
        try:
            time.sleep(POLL_SECONDS)
            if stop_file and Path(stop_file).exists():
                mail.stop[0] = 1
            if request.progress:  # one rank's count stands for all
                request.progress(int(numbers[0, PLAYOUTS_DONE]) * request.ranks, (time.monotonic_ns() - start) * 1e-9)
        except KeyboardInterrupt:
            mail.stop[0] = 1
    return bool(mail.stop[0])
