"""Ranks as threads of one process. Jobs do not move: their slots change hands through lock-free rings.

Every pair of ranks has a ring of slot numbers with one writer and one reader. A ring has room for all jobs, so it
can never be full. Whoever takes a slot out of a ring owns the job; the ring's counters are stored with release and
loaded with acquire ordering, so the new owner sees everything that the old one wrote.
"""

import os
import threading
import time
from typing import NamedTuple

import numpy as np

from treespan.core.atomics import atomic_load, atomic_store
from treespan.core.clock import now_ns, sharpen_timers, sleep_ns
from treespan.core.jit import njit, njit_inline
from treespan.schemes.base import POLL_SECONDS, Request
from treespan.schemes.distributed import Distributed, Outcome, summarise_ranks, total_seconds
from treespan.schemes.messages import NO_SLOT
from treespan.schemes.rank import (
    BUSY_NS,
    DRAINING,
    FINISHED,
    NO_RANK,
    PLAYOUTS_DONE,
    RECEIVED,
    SENT,
    Rank,
    enqueue,
)
from treespan.schemes.tds import NOT_PLAYED, advance, start_all
from treespan.search.result import SearchResult
from treespan.search.searcher import FOREVER_NS, read_root

PAD = 8  # int64s between two counters: each has a cache line of its own
# Indices into `Rings.signals`, each a line apart
STOP, OVER, LAST_PLAYOUT = 0, PAD, 2 * PAD
EMPTY_POLLS = 20  # after so many a rank without work sleeps, if ranks outnumber cores
NAP_NS = 20_000


class Rings(NamedTuple):
    """Mail between all pairs of ranks; the ring from a to b has number a * ranks + b."""

    slots: np.ndarray  # int32[pairs, size], a power of two above the number of jobs
    written: np.ndarray  # int64[pairs * PAD], slots ever written to a ring
    read: np.ndarray  # int64[pairs * PAD], slots ever read from it
    signals: np.ndarray  # int64[3 * PAD]: the user wants an end; all jobs are home; when the last playout ended


def new_rings(ranks: int, jobs: int) -> Rings:
    size = 1 << jobs.bit_length()
    written, read = (np.zeros(ranks * ranks * PAD, dtype=np.int64) for _ in range(2))
    return Rings(np.zeros((ranks * ranks, size), dtype=np.int32), written, read, np.zeros(3 * PAD, dtype=np.int64))


@njit_inline
def post(rings, sender, receiver, ranks, slot):
    """Hand a job over to another rank."""
    ring = sender * ranks + receiver
    count = rings.written[ring * PAD]  # only this thread writes it
    rings.slots[ring, count & (rings.slots.shape[1] - 1)] = slot
    atomic_store(rings.written, ring * PAD, count + 1)


@njit_inline
def collect(rank, rings, me):
    """Take in all jobs that have arrived."""
    for sender in range(rank.ranks):
        ring = sender * rank.ranks + me
        count = rings.read[ring * PAD]
        arrived = atomic_load(rings.written, ring * PAD)
        while count < arrived:
            enqueue(rank, 0, rings.slots[ring, count & (rings.slots.shape[1] - 1)], False)
            rank.numbers[0, RECEIVED] += 1
            count += 1
        rings.read[ring * PAD] = count


@njit
def run_rank(game, rank, rings, me, root_home, deadline_ns, may_nap):
    """The life of one rank: take in jobs, do one unit of work, hand on, until all jobs are home."""
    sharpen_timers()
    if me == root_home:
        start_all(game, rank, 0)
    empty_polls = 0
    while atomic_load(rings.signals, OVER) == 0:
        collect(rank, rings, me)
        begin = now_ns()
        if begin >= deadline_ns or atomic_load(rings.signals, STOP) != 0:
            rank.shared[DRAINING] = 1
        slot, target, plies = advance(game, rank, 0, me)
        if slot == NO_SLOT:
            empty_polls += 1
            if may_nap and empty_polls > EMPTY_POLLS:
                sleep_ns(NAP_NS)
            continue
        if plies != NOT_PLAYED:
            atomic_store(rings.signals, LAST_PLAYOUT, now_ns())
        empty_polls = 0
        if target != NO_RANK:
            rank.numbers[0, SENT] += 1
            post(rings, me, target, rank.ranks, slot)
        if me == root_home and rank.shared[FINISHED] != 0:
            atomic_store(rings.signals, OVER, 1)
        rank.numbers[0, BUSY_NS] += now_ns() - begin


def run_threads(scheme: Distributed, request: Request) -> SearchResult:
    """Search with one thread a rank; Ctrl-C calls all jobs home and gives the best move so far."""
    game, count = request.position.game, request.ranks
    first = scheme.new_ranks(request, rows=1, first=0)
    ranks: list[Rank] = [first] + [scheme.new_ranks(request, 1, i, first.jobs) for i in range(1, count)]
    for rank in ranks:
        rank.work.random[0] = rank.random[0]
    rings = new_rings(count, first.all_jobs)
    root_home = scheme.root_home(request.position, count)
    may_nap = count > len(os.sched_getaffinity(0))
    rings.signals[OVER] = 1
    run_rank(game, ranks[0], rings, 0, count, FOREVER_NS, may_nap)  # compiles; returns at once
    rings.signals[OVER] = 0
    start = time.monotonic_ns()
    seconds = total_seconds(request.budget)
    deadline = FOREVER_NS if seconds == float("inf") else start + int(seconds * 1e9)
    failures: list[BaseException] = []
    ended = [threading.Event() for _ in ranks]
    end_ns = [start] * count

    def work(me: int) -> None:
        try:
            run_rank(game, ranks[me], rings, me, root_home, deadline, may_nap)
        except BaseException as error:  # handed over to the calling thread, which raises it
            failures.append(error)
            rings.signals[OVER] = 1
        end_ns[me] = time.monotonic_ns()
        ended[me].set()

    threads = [threading.Thread(target=work, args=(me,), daemon=True) for me in range(count)]
    interrupted = False
    for thread in threads:
        thread.start()
    for event in ended:
        while not event.is_set():
            try:
                event.wait(POLL_SECONDS)
                if request.progress:
                    done = sum(int(rank.numbers[0, PLAYOUTS_DONE]) for rank in ranks)
                    request.progress(done, (time.monotonic_ns() - start) * 1e-9)
            except KeyboardInterrupt:
                interrupted = True
                rings.signals[STOP] = 1
    if failures:
        raise failures[0]
    end = max(end_ns)
    outcome = Outcome(
        root=read_root(game, ranks[root_home].tree),
        numbers=np.concatenate([rank.numbers for rank in ranks]),
        used=np.sum([rank.tree.used for rank in ranks], axis=0),
        seconds=(end - start) * 1e-9,
        end_seconds=max(end - int(rings.signals[LAST_PLAYOUT]), 0) * 1e-9,
        wall_seconds=(end - start) * 1e-9,
        runtime="threads",
        interrupted=interrupted,
    )
    return summarise_ranks(scheme, request, outcome)
