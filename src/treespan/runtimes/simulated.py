"""A cluster in one thread: a discrete-event simulation that runs the real handlers and real playouts.

Only time is simulated. Events are ordered by (time, sequence number), so the same seed gives the same trace. All
simulated ranks share one tree array; a node's home decides whose time its work takes.
"""

import time

import numpy as np

from treespan.core.jit import njit, njit_inline
from treespan.runtimes.network import Network
from treespan.schemes.base import Request
from treespan.schemes.distributed import Distributed, Outcome, summarise_ranks, total_seconds
from treespan.schemes.messages import HEADER, LEVEL, UCT_LEVEL_BYTES
from treespan.schemes.rank import (
    BUSY_NS,
    DRAINING,
    FINISHED,
    NO_RANK,
    PLAYOUTS_DONE,
    QUEUED,
    RECEIVED,
    SENT,
    SENT_BYTES,
    enqueue,
)
from treespan.schemes.tds import NOT_PLAYED, advance, start_all
from treespan.search.result import SearchResult
from treespan.search.searcher import read_root

ARRIVE, STEP = 0, 1
LATENCY, OVERHEAD, GAP, PER_BYTE, HANDLE = range(5)
# Indices into `clock`
NOW, EVENTS, HEAP_SIZE, SEQUENCE, LAST_PLAYOUT, CLOCK = range(6)
HEADER_BYTES = HEADER.itemsize
DFUCT_LEVEL_BYTES = LEVEL.itemsize


@njit_inline
def push_event(heap_time, heap_order, heap_what, clock, time, kind, row, slot):
    """Add an event; ties are broken by the order of creation."""
    order = np.int64(clock[SEQUENCE])
    clock[SEQUENCE] += 1
    place = np.int64(clock[HEAP_SIZE])
    clock[HEAP_SIZE] += 1
    what = (np.int64(kind) << 62) | (np.int64(row) << 31) | np.int64(slot)
    while place > 0:
        parent = (place - 1) >> 1
        if heap_time[parent] < time or (heap_time[parent] == time and heap_order[parent] < order):
            break
        heap_time[place], heap_order[place] = heap_time[parent], heap_order[parent]
        heap_what[place] = heap_what[parent]
        place = parent
    heap_time[place], heap_order[place], heap_what[place] = time, order, what


@njit_inline
def pop_event(heap_time, heap_order, heap_what, clock):
    """Take the earliest event; its time goes to clock[NOW]."""
    what = heap_what[0]
    clock[NOW] = heap_time[0]
    clock[HEAP_SIZE] -= 1
    size = np.int64(clock[HEAP_SIZE])
    time, order, moved = heap_time[size], heap_order[size], heap_what[size]
    place = 0
    while True:
        child = 2 * place + 1
        if child >= size:
            break
        other = child + 1
        if other < size and (
            heap_time[other] < heap_time[child]
            or (heap_time[other] == heap_time[child] and heap_order[other] < heap_order[child])
        ):
            child = other
        if time < heap_time[child] or (time == heap_time[child] and order < heap_order[child]):
            break
        heap_time[place], heap_order[place] = heap_time[child], heap_order[child]
        heap_what[place] = heap_what[child]
        place = child
    heap_time[place], heap_order[place], heap_what[place] = time, order, moved
    return what


@njit
def run_events(game, rank, network, heap, rows, clock, costs, deadline_ns, max_events):
    """Simulate until the search is over or `max_events` have happened.

    `rows` is float64[ranks, 4]: when the rank is free, CPU owed for received messages, when it may send next,
    and whether a STEP of it is scheduled.
    """
    heap_time, heap_order, heap_what = heap
    stop_at = clock[EVENTS] + max_events
    while clock[HEAP_SIZE] > 0 and clock[EVENTS] < stop_at and rank.shared[FINISHED] == 0:
        what = pop_event(heap_time, heap_order, heap_what, clock)
        clock[EVENTS] += 1
        now = clock[NOW]
        if now >= deadline_ns:
            rank.shared[DRAINING] = 1
        kind, row, slot = (what >> 62) & 1, (what >> 31) & 0x7FFFFFFF, what & 0x7FFFFFFF
        if kind == ARRIVE:
            rows[row, 1] += network[OVERHEAD]
            rank.numbers[row, RECEIVED] += 1
            enqueue(rank, row, slot, False)
            if rows[row, 3] == 0.0:
                rows[row, 3] = 1.0
                push_event(heap_time, heap_order, heap_what, clock, max(now, rows[row, 0]), STEP, row, 0)
            continue
        cost = do_work(game, rank, network, heap, rows, clock, row, now, costs)
        rows[row, 0] = now + cost
        if rank.shared[FINISHED] != 0:
            clock[NOW] = now + cost
        rank.numbers[row, BUSY_NS] += np.int64(cost)
        if rank.numbers[row, QUEUED] > 0:
            push_event(heap_time, heap_order, heap_what, clock, now + cost, STEP, row, 0)
        else:
            rows[row, 3] = 0.0


@njit_inline
def do_work(game, rank, network, heap, rows, clock, row, now, costs):
    """One unit of work of a rank; gives the time that it takes."""
    cost = rows[row, 1] + network[HANDLE]
    rows[row, 1] = 0.0
    rank.work.random[0] = rank.random[row]
    slot, target, plies = advance(game, rank, row, row)
    rank.random[row] = rank.work.random[0]
    if plies != NOT_PLAYED:
        cost += costs[0] + costs[1] * plies
        clock[LAST_PLAYOUT] = max(clock[LAST_PLAYOUT], now + cost)
    if target != NO_RANK:
        cost += network[OVERHEAD]
        size = wire_bytes(rank, slot)
        leaves = max(now + cost, rows[row, 2])
        rows[row, 2] = leaves + network[GAP]
        rank.numbers[row, SENT] += 1
        rank.numbers[row, SENT_BYTES] += size
        arrives = leaves + network[LATENCY] + size * network[PER_BYTE]
        push_event(heap[0], heap[1], heap[2], clock, arrives, ARRIVE, target, slot)
    return cost


@njit_inline
def wire_bytes(rank, slot):
    """The length of a job's message."""
    level = DFUCT_LEVEL_BYTES if rank.settings.depth_first else UCT_LEVEL_BYTES
    return HEADER_BYTES + np.int64(rank.jobs.headers[slot].levels) * level


class Cluster:
    """A simulated cluster that works on one request."""

    def __init__(self, scheme: Distributed, request: Request, network: Network):
        self.scheme, self.request, self.network = scheme, request, network
        self.game = request.position.game
        ranks = request.ranks
        self.rank = scheme.new_ranks(request, rows=ranks, first=0)
        capacity = self.rank.all_jobs + ranks + 1  # every job may be on its way, every rank about to step
        self.heap = (np.zeros(capacity), np.zeros(capacity, np.int64), np.zeros(capacity, np.int64))
        self.rows = np.zeros((ranks, 4))
        self.clock = np.zeros(CLOCK)
        # A simulated playout takes its set time and, if it is a real one, some time a ply.
        self.costs = np.array([scheme.wait_seconds(), network.per_ply]) * 1e9
        self.rank.settings.wait_ns = 0
        self.deadline_ns = total_seconds(request.budget) * 1e9
        root_home = scheme.root_home(request.position, ranks)
        start_all(self.game, self.rank, root_home)
        self.rows[root_home, 3] = 1.0
        push_event(*self.heap, self.clock, 0.0, STEP, root_home, 0)

    def run(self, events: int) -> bool:
        """Simulate up to `events` events; says whether the search is over."""
        arguments = (self.network.as_array(), self.heap, self.rows, self.clock, self.costs, self.deadline_ns)
        run_events(self.game, self.rank, *arguments, events)
        return bool(self.rank.shared[FINISHED])

    @property
    def seconds(self) -> float:
        return float(self.clock[NOW]) * 1e-9

    @property
    def playouts(self) -> int:
        return int(self.rank.numbers[:, PLAYOUTS_DONE].sum())


EVENTS_PER_REPORT = 200_000  # between two looks at the progress and at Ctrl-C: about 0.1 s


def run_simulated(scheme: Distributed, request: Request, network: Network) -> SearchResult:
    """Search on a simulated cluster; an interrupt ends the simulated search where it is."""
    cluster = Cluster(scheme, request, network)
    cluster.run(0)
    start = time.perf_counter()
    interrupted = False
    while True:
        try:
            if cluster.run(EVENTS_PER_REPORT):
                break
            if request.progress:
                request.progress(cluster.playouts, cluster.seconds)
        except KeyboardInterrupt:
            interrupted = True
            cluster.rank.shared[DRAINING] = 1
    outcome = Outcome(
        root=read_root(cluster.game, cluster.rank.tree),
        numbers=cluster.rank.numbers,
        used=cluster.rank.tree.used,
        seconds=cluster.seconds,
        end_seconds=cluster.seconds - float(cluster.clock[LAST_PLAYOUT]) * 1e-9,
        wall_seconds=time.perf_counter() - start,
        runtime="simulated",
        interrupted=interrupted,
    )
    return summarise_ranks(scheme, request, outcome)
