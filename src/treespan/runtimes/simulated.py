"""A cluster in one thread: a discrete-event simulation that runs the real handlers and real playouts.

Only time is simulated. Events are ordered by (time, sequence number), so the same seed gives the same trace. All
simulated ranks share one tree array; a node's home decides whose time its work takes.
"""

import time
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np

from treespan.core.clock import now_ns
from treespan.core.handles import call_entry
from treespan.core.jit import Call, njit, njit_inline
from treespan.core.records import new_records, record_dtype
from treespan.runtimes.network import Network, find_profile
from treespan.runtimes.workers import check_values
from treespan.schemes.kept import put_back, recall
from treespan.schemes.plan import Looks, Plan, Progress, Request, WantsStop
from treespan.schemes.protocol.messages import NO_SLOT, NO_VALUE, NOT_PLAYED
from treespan.schemes.protocol.port import (
    HANDLED,
    LEAVES,
    NO_PROGRAM,
    NOTHING,
    OUT,
    PLAYED,
    TREE,
    URGENT,
    Port,
    dequeue,
    enqueue,
    message_bytes,
    receive,
)
from treespan.schemes.scheme import Finding, Place, deadline_ns
from treespan.schemes.summary import Outcome, evaluated_leaves, summarise_ranks
from treespan.search.result import SearchResult
from treespan.search.searcher import FOREVER_NS

# Kinds of events: a message arrives; a rank has time for a unit of work; a worker has played out
ARRIVE, STEP, PLAYED_OUT = 0, 1, 2
_FLOAT = np.float64
CLOCK = record_dtype(
    (
        ("now", _FLOAT),  # simulated time, ns
        ("over_at", _FLOAT),  # when rank 0 knew that all jobs are home; 0: not yet
        ("events", np.int64),  # that have happened
        ("heap_size", np.int64),  # that are still to come
        ("sequence", np.int64),  # number of the next one that is planned
    )
)
STATION = record_dtype(  # a rank as the simulator sees it
    (
        ("free_at", _FLOAT),  # when it has time for its next step
        ("owed", _FLOAT),  # its time that received messages have taken since its last step
        ("may_send_at", _FLOAT),
        ("idle_workers", np.int32),
        ("step_is_due", np.bool_),  # its next step is planned
    )
)
COSTS = record_dtype(  # ns: those of the network (`network.py`), and the set time of a playout
    tuple((name, _FLOAT) for name in ("latency", "overhead", "gap", "per_byte", "handle", "per_ply", "playout"))
)
PENDING = record_dtype(  # a step that waits for a Python evaluation
    (
        ("row", np.int64),
        ("slot", np.int64),  # NO_SLOT: there is none
        ("cost", _FLOAT),  # time taken so far
    )
)


class Cluster(NamedTuple):
    """The state of a simulation beside that of the ranks."""

    heap_time: np.ndarray  # float64[capacity]
    heap_order: np.ndarray  # int64[capacity]
    heap_what: np.ndarray  # int64[capacity]: kind, rank and slot
    clock: Any  # records[1] of CLOCK
    ranks: Any  # records[ranks] of STATION
    costs: Any  # records[1] of COSTS
    pending: Any  # records[1] of PENDING
    workers: int  # of a rank, that play out; 0: the rank itself does
    in_python: bool  # playouts are evaluated by Python


@njit_inline
def push_event(cluster, time, kind, row, slot):
    """Add an event; ties are broken by the order of creation."""
    heap_time, heap_order, heap_what, clock = cluster.heap_time, cluster.heap_order, cluster.heap_what, cluster.clock
    order, place = clock[0].sequence, clock[0].heap_size
    clock[0].sequence += 1
    clock[0].heap_size += 1
    what = (np.int64(kind) << 60) | (np.int64(row) << 32) | np.int64(slot)
    while place > 0:
        parent = (place - 1) >> 1
        if heap_time[parent] < time or (heap_time[parent] == time and heap_order[parent] < order):
            break
        heap_time[place], heap_order[place] = heap_time[parent], heap_order[parent]
        heap_what[place] = heap_what[parent]
        place = parent
    heap_time[place], heap_order[place], heap_what[place] = time, order, what


@njit_inline
def pop_event(cluster):
    """Take the earliest event; its time is the clock's."""
    heap_time, heap_order, heap_what, clock = cluster.heap_time, cluster.heap_order, cluster.heap_what, cluster.clock
    what = heap_what[0]
    clock[0].now = heap_time[0]
    clock[0].heap_size -= 1
    size = clock[0].heap_size
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


EVENTS_PER_LOOK = 16  # at the real clock: an event may be one playout of 19x19 Go, or a cheap message


@njit
def run_events(port, program, cluster, deadline, max_events, until):
    """Simulate until all ranks know of the end, a position waits for Python, `max_events` have happened, or it is
    `until`, in real ns."""
    clock, ranks = cluster.clock, cluster.ranks
    stop_at = clock[0].events + max_events
    while clock[0].heap_size > 0 and clock[0].events < stop_at:
        if clock[0].events % EVENTS_PER_LOOK == 0 and now_ns() >= until:
            return
        if clock[0].over_at == 0.0 and port.state[0].over:
            clock[0].over_at = max(clock[0].now, ranks[0].free_at)
        what = pop_event(cluster)
        clock[0].events += 1
        now = clock[0].now
        kind, row, slot = what >> 60, (what >> 32) & 0xFFFFFFF, what & 0xFFFFFFFF
        if kind == ARRIVE:
            ranks[row].owed += cluster.costs[0].overhead
            port.counts[row].mail_ns += np.int64(cluster.costs[0].overhead)
            receive(port, row, slot)
        elif kind == PLAYED_OUT:
            ranks[row].idle_workers += 1
            port.state[row].handed_out -= 1
            port.counts[row].last_playout = np.int64(now)
            enqueue(port, row, PLAYED, slot)
        else:
            if now >= deadline:
                port.state[row].draining = True
            port.state[row].now = np.int64(now)
            slot, cost = begin_step(port, program, cluster, row)
            if slot == NO_SLOT:
                if cluster.workers == 0:
                    port.counts[row].busy_ns += np.int64(cost)
                finish_step(port, cluster, row, cost)
            elif cluster.in_python:
                cluster.pending[0].row, cluster.pending[0].slot = row, slot
                cluster.pending[0].cost = cost
                return
            else:
                plies = call_entry(program.evaluate, program.evaluator, row, slot)
                play_out(port, program, cluster, row, slot, cost, plies)
            continue
        if not ranks[row].step_is_due:
            ranks[row].step_is_due = True
            push_event(cluster, max(now, ranks[row].free_at), STEP, row, 0)


@njit
def begin_step(port, program, cluster, row):
    """A unit of work of a rank. Returns the leaf that must be evaluated now, or NO_SLOT, and the time taken so far."""
    cost, handle = cluster.ranks[row].owed, cluster.costs[0].handle
    cluster.ranks[row].owed = 0.0
    played = dequeue(port, row, PLAYED)
    if played != NO_SLOT:
        return np.int64(NO_SLOT), cost + handle * call_entry(program.absorb, program.rank, row, played) / HANDLED
    may_evaluate = cluster.workers == 0 or cluster.ranks[row].idle_workers > 0
    # A worker that waits goes before the next message; a rank that plays out itself serves messages first.
    if cluster.workers == 0 or not (may_evaluate and port.queues[row, LEAVES].length > 0):
        is_urgent = port.queues[row, URGENT].first != NO_SLOT
        work = call_entry(program.advance, program.rank, row, 0)
        if is_urgent:
            port.counts[row].sync_ns += np.int64(handle * work / HANDLED)
        if work != NOTHING:
            return np.int64(NO_SLOT), cost + handle * work / HANDLED
    if not may_evaluate:
        return np.int64(NO_SLOT), cost
    slot = dequeue(port, row, LEAVES)
    if slot != NO_SLOT and port.state[row].draining:
        port.jobs.headers[slot].value = NO_VALUE
        return np.int64(NO_SLOT), cost + handle * call_entry(program.absorb, program.rank, row, slot) / HANDLED
    return slot, cost


@njit
def play_out(port, program, cluster, row, slot, cost, plies):
    """A leaf has its value: a playout takes the time of the rank, or of one of its workers."""
    playout = cluster.costs[0].playout + cluster.costs[0].per_ply * plies if plies != NOT_PLAYED else 0.0
    now = cluster.clock[0].now
    if cluster.workers == 0:
        cost += playout
        port.counts[row].last_playout = np.int64(now + cost)
        cost += cluster.costs[0].handle * call_entry(program.absorb, program.rank, row, slot) / HANDLED
        port.counts[row].busy_ns += np.int64(cost)
    else:
        cluster.ranks[row].idle_workers -= 1
        port.state[row].handed_out += 1
        port.counts[row].busy_ns += np.int64(playout / cluster.workers)
        push_event(cluster, now + cost + playout, PLAYED_OUT, row, slot)
    finish_step(port, cluster, row, cost)


@njit
def finish_step(port, cluster, row, cost):
    """Send what the rank has written, and plan its next step."""
    ranks, costs, now = cluster.ranks, cluster.costs, cluster.clock[0].now
    slot = dequeue(port, row, OUT)
    while slot != NO_SLOT:
        header = port.jobs.headers[slot]
        size = message_bytes(port, slot)
        port.counts[row].sent += 1
        port.counts[row].sent_bytes += size
        port.counts[row].mail_ns += np.int64(costs[0].overhead)
        cost += costs[0].overhead
        leaves = max(now + cost, ranks[row].may_send_at)
        ranks[row].may_send_at = leaves + costs[0].gap
        push_event(
            cluster, leaves + costs[0].latency + size * costs[0].per_byte, ARRIVE, np.int64(header.receiver), slot
        )
        slot = dequeue(port, row, OUT)
    ranks[row].free_at = now + cost
    waiting = port.queues[row, TREE].length > 0 or port.queues[row, URGENT].first != NO_SLOT
    waiting |= port.queues[row, PLAYED].first != NO_SLOT
    can_play = cluster.workers == 0 or ranks[row].idle_workers > 0
    if waiting or (can_play and port.queues[row, LEAVES].length > 0):
        push_event(cluster, now + cost, STEP, row, 0)
    else:
        ranks[row].step_is_due = False


ALL_EVENTS = 1 << 62
REPORT_NS = 100_000_000  # real time between two looks at the progress and at Ctrl-C


def new_cluster(plan: Plan, network: Network, capacity: int) -> Cluster:
    """Return a cluster in which nothing has happened, with room for so many events ahead."""
    ranks, costs, pending = new_records(STATION, plan.ranks), new_records(COSTS, 1), new_records(PENDING, 1)
    ranks.idle_workers, pending.slot = plan.workers, NO_SLOT
    costs[0] = (*network.costs_ns(), plan.options.wait_seconds() * 1e9)
    return Cluster(
        heap_time=np.zeros(capacity),
        heap_order=np.zeros(capacity, dtype=np.int64),
        heap_what=np.zeros(capacity, dtype=np.int64),
        clock=new_records(CLOCK, 1),
        ranks=ranks,
        costs=costs,
        pending=pending,
        workers=plan.workers,
        in_python=plan.evaluation is not None,
    )


class Simulation:
    """A simulated cluster that works on one request."""

    def __init__(self, request: Request, network: Network | None = None):
        plan = request.plan
        network = network or find_profile(plan.network)
        self.request, self.count = request, plan.ranks
        self.deadline = deadline_ns(plan)

        def calls(port: Port) -> list[Call]:
            """Return calls of the simulator, to be compiled beside the entries that it calls."""
            state = port, NO_PROGRAM, new_cluster(plan, network, 0)
            return [(run_events, (*state, self.deadline, ALL_EVENTS, 0)), (start_all, state)]

        self.evaluate = plan.evaluation
        kept = recall(request.tree, 0)
        self.seat = plan.scheme.new_seat(request, Place(rows=plan.ranks, runtime_calls=calls, kept=kept))
        self.port = self.seat.port
        self.cluster = new_cluster(plan, network, len(self.port.jobs.headers) + self.count * (1 + plan.workers) + 1)
        self.seat.rank.settings.wait_ns = 0  # playouts take simulated time
        start_all(self.port, self.seat.program, self.cluster)

    def run(self, events: int = ALL_EVENTS, real_ns: int = FOREVER_NS) -> bool:
        """Simulate up to `events` events, and no longer than `real_ns`; says whether the search is over."""
        end, until = int(self.cluster.clock[0].events) + events, now_ns() + real_ns
        while True:
            if self.cluster.pending[0].slot != NO_SLOT:  # an interrupted evaluation leaves it so
                self._evaluate_in_python()
            left = end - int(self.cluster.clock[0].events)
            run_events(self.port, self.seat.program, self.cluster, self.deadline, left, until)
            if self.is_over or self.cluster.clock[0].events >= end or now_ns() >= until:
                return self.is_over

    @property
    def is_over(self) -> bool:
        return bool(self.cluster.clock[0].heap_size == 0 and self.cluster.pending[0].slot == NO_SLOT)

    def _evaluate_in_python(self) -> None:
        """Evaluate the position that the simulation waits for."""
        assert self.evaluate is not None
        row, slot, cost = self.cluster.pending[0]
        evaluator = self.seat.evaluators[0]
        needs_value = self.seat.locate(evaluator, 0, int(slot)) != NOTHING
        if self.port.state[int(row)].draining:  # the search was interrupted: it must not call a slow function again
            self.port.jobs.headers[int(slot)].value = NO_VALUE
        elif needs_value:
            value = check_values(self.evaluate(evaluator.value.work.states[1:2]), 1)[0]
            self.port.jobs.headers[int(slot)].value = value
        self.cluster.pending[0].slot = NO_SLOT
        plies = 0 if needs_value else NOT_PLAYED
        play_out(self.port, self.seat.program, self.cluster, int(row), int(slot), cost, plies)

    @property
    def seconds(self) -> float:
        """Simulated time, until rank 0 knows that all jobs are home."""
        clock, ranks = self.cluster.clock, self.cluster.ranks
        if self.is_over and clock[0].over_at == 0.0:  # it was the last event
            return float(max(clock[0].now, ranks[0].free_at)) * 1e-9
        return float(clock[0].over_at or clock[0].now) * 1e-9

    @property
    def playouts(self) -> int:
        return int(self.port.counts.playouts.sum())

    def with_lines(self, found: Finding) -> Finding:
        """All nodes are at hand, so expected lines are."""
        scheme, seat = self.request.plan.scheme, self.seat
        return replace(found, lines=scheme.lines(self.request, seat, lambda key: scheme.next_step(seat, key)))

    def outcome(self, finding: Finding, wall_seconds: float, interrupted: bool = False) -> Outcome:
        """How the search went until now, or its end."""
        counts = np.asarray(self.port.counts)
        return Outcome(
            finding=finding,
            counts=counts,
            used=self.seat.tree.used,
            leaves=evaluated_leaves([self.seat]),
            seconds=self.seconds,
            end_seconds=max(self.seconds - float(counts["last_playout"].max()) * 1e-9, 0.0),
            wall_seconds=wall_seconds,
            interrupted=interrupted,
        )


@njit
def start_all(port, program, cluster):
    """Every rank starts; those that have work then begin with it."""
    for row in range(port.ranks):
        call_entry(program.start, program.rank, row, 0)
        cluster.ranks[row].step_is_due = True
        finish_step(port, cluster, row, 0.0)


def run_simulated(
    request: Request,
    progress: Progress | None = None,
    wants_stop: WantsStop | None = None,
    network: Network | None = None,
    looks: Looks | None = None,
) -> SearchResult:
    """Search on a simulated cluster; an interrupt, or a wish to stop, ends the simulated search where it is.

    `network` has the costs, instead of the plan's.
    """
    simulation = Simulation(request, network)
    simulation.run(0)  # compiles, outside the time
    start = time.perf_counter()
    interrupted = stopped = False
    while True:
        try:
            if simulation.run(real_ns=REPORT_NS):
                break
            if wants_stop and wants_stop():
                interrupted = True
                simulation.port.state.draining = True
            if progress:
                progress(simulation.playouts, simulation.seconds)
            if looks and looks.is_due():
                found = simulation.with_lines(request.plan.scheme.look(request, simulation.seat))
                looks.tell(summarise_ranks(request, simulation.outcome(found, time.perf_counter() - start)))
        except KeyboardInterrupt:
            if stopped:  # a second one: it shall end at once
                raise
            interrupted = stopped = True
            simulation.port.state.draining = True
    found = simulation.with_lines(request.plan.scheme.read(request, simulation.seat))
    result = summarise_ranks(request, simulation.outcome(found, time.perf_counter() - start, interrupted))
    if request.tree is not None:
        put_back(request.tree, 0, request.plan.scheme.keep(request, simulation.seat))
    return result
