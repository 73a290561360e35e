"""Threads that evaluate leaves for a rank, so that a long playout never keeps the rank from serving messages.

A rank with workers does tree work and messages only. It hands leaves out through a ring to each worker, and takes
evaluated ones back through another. A Python function that evaluates positions is a worker, too: it runs outside the
compiled loop, in batches of what waits.
"""

import threading
import time
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from treespan.core.atomics import atomic_load
from treespan.core.clock import now_ns, sharpen_timers, sleep_ns
from treespan.core.errors import TreespanError, about
from treespan.core.handles import call_entry
from treespan.core.jit import Call, njit, njit_inline
from treespan.runtimes.rings import PAD, Rings, new_rings, put, take
from treespan.schemes.plan import Evaluate, Plan
from treespan.schemes.protocol.messages import NO_SLOT, NO_VALUE
from treespan.schemes.protocol.port import LEAVES, NO_PROGRAM, NOTHING, URGENT, Seat, dequeue

EMPTY_POLLS = 20  # after so many a thread without work sleeps, if threads outnumber cores
NAP_NS = 20_000
BACKLOG = 2  # leaves that a compiled worker may hold: one in work, one that waits for it
BATCH = 64  # leaves that a Python evaluation may hold
PYTHON_NAP_SECONDS = 20e-6


class Staff(NamedTuple):
    """The workers of a rank as its compiled loop sees them."""

    rings: Rings  # 2 w: leaves for worker w; 2 w + 1: leaves with their values
    held: np.ndarray  # int64[workers], leaves that each worker has
    busy: np.ndarray  # int64[workers * PAD], ns spent in evaluations
    over: np.ndarray  # int64[1], not zero: go home
    workers: int
    backlog: int


def new_staff(workers: int, backlog: int = BACKLOG) -> Staff:
    count = max(workers, 1)
    return Staff(
        rings=new_rings(2 * count, backlog),
        held=np.zeros(count, dtype=np.int64),
        busy=np.zeros(count * PAD, dtype=np.int64),
        over=np.zeros(1, dtype=np.int64),
        workers=workers,
        backlog=backlog,
    )


@njit
def work_once(port, program, staff):
    """One unit of work of a rank in real time; says whether there was any."""
    if staff.workers == 0:
        return advance(port, program) or evaluate_here(port, program)
    moved = take_back(port, program, staff)
    moved |= hand_out(port, program, staff)
    return advance(port, program) or moved


@njit_inline
def advance(port, program):
    """Handle a message, if one waits; the time that urgent ones take is noted."""
    if port.queues[0, URGENT].first == NO_SLOT:
        return call_entry(program.advance, program.rank, 0, 0) != NOTHING
    begin = now_ns()
    call_entry(program.advance, program.rank, 0, 0)
    port.counts[0].sync_ns += now_ns() - begin
    return True


@njit_inline
def evaluate_here(port, program):
    """Play out the first leaf that waits; says whether there was one."""
    slot = dequeue(port, 0, LEAVES)
    if slot == NO_SLOT:
        return False
    if port.state[0].draining:
        port.jobs.headers[slot].value = NO_VALUE
    else:
        call_entry(program.evaluate, program.evaluator, 0, slot)
        port.counts[0].last_playout = now_ns()
    call_entry(program.absorb, program.rank, 0, slot)
    return True


@njit_inline
def take_back(port, program, staff):
    moved = False
    for worker in range(staff.workers):
        slot = take(staff.rings, 2 * worker + 1)
        while slot != NO_SLOT:
            staff.held[worker] -= 1
            port.state[0].handed_out -= 1
            port.counts[0].last_playout = now_ns()
            call_entry(program.absorb, program.rank, 0, slot)
            moved = True
            slot = take(staff.rings, 2 * worker + 1)
    return moved


@njit_inline
def hand_out(port, program, staff):
    """Give leaves to the workers that hold fewest; all are called off when the search drains."""
    moved = False
    while port.queues[0, LEAVES].length > 0:
        if port.state[0].draining:
            slot = dequeue(port, 0, LEAVES)
            port.jobs.headers[slot].value = NO_VALUE
            call_entry(program.absorb, program.rank, 0, slot)
        else:
            chosen = 0
            for worker in range(1, staff.workers):
                if staff.held[worker] < staff.held[chosen]:
                    chosen = worker
            if staff.held[chosen] >= staff.backlog:
                break
            staff.held[chosen] += 1
            port.state[0].handed_out += 1
            put(staff.rings, 2 * chosen, dequeue(port, 0, LEAVES))
        moved = True
    return moved


@njit
def run_worker(program, evaluator, staff, worker, may_nap):
    """The life of a compiled worker: evaluate leaves until the rank goes home."""
    sharpen_timers()
    empty_polls = 0
    while atomic_load(staff.over, 0) == 0:
        slot = take(staff.rings, 2 * worker)
        if slot == NO_SLOT:
            empty_polls += 1
            if may_nap and empty_polls > EMPTY_POLLS:
                sleep_ns(NAP_NS)
            continue
        empty_polls = 0
        begin = now_ns()
        call_entry(program.evaluate, evaluator, 0, slot)
        staff.busy[worker * PAD] += now_ns() - begin
        put(staff.rings, 2 * worker + 1, slot)


@njit
def take_leaf(staff, worker):
    return take(staff.rings, 2 * worker)


@njit
def give_back(staff, worker, slot):
    put(staff.rings, 2 * worker + 1, slot)


class EvaluationError(TreespanError):
    """A Python evaluation failed or gave something that is no value."""


def check_values(values: Any, count: int) -> np.ndarray:
    """What an evaluation gave, as numbers in [0, 1]."""
    numbers = np.asarray(values, dtype=np.float64).reshape(-1)
    if len(numbers) != count:
        raise EvaluationError(
            f"the evaluation{about('evaluate')} gave {len(numbers)} values for {count} positions; give one for each"
        )
    bad = numbers[~((numbers >= 0.0) & (numbers <= 1.0))]
    if len(bad):
        given = f"{bad[0]:g}{about('evaluate', f'{bad[0]:g}')}"
        raise EvaluationError(f"the evaluation gave {given}; give values in 0..1, for the first player")
    return numbers


def run_python_worker(seat: Seat, staff: Staff, evaluate: Evaluate) -> None:
    """The life of a worker that calls a Python function with all positions that wait."""
    evaluator = seat.evaluators[0]
    states = evaluator.value.work.states
    batch = evaluator.value.game.new_states(BATCH)
    while not staff.over[0]:
        slots: list[int] = []
        while len(slots) < BATCH and (slot := int(take_leaf(staff, 0))) != NO_SLOT:
            if seat.locate(evaluator, 0, slot) == NOTHING:
                give_back(staff, 0, slot)
                continue
            batch[len(slots)] = states[1]
            slots.append(slot)
        if not slots:
            time.sleep(PYTHON_NAP_SECONDS)
            continue
        begin = time.monotonic_ns()
        values = check_values(evaluate(batch[: len(slots)]), len(slots))
        staff.busy[0] += time.monotonic_ns() - begin
        for slot, value in zip(slots, values, strict=True):
            seat.port.jobs.headers[slot].value = value
            give_back(staff, 0, slot)


def worker_calls(plan: Plan) -> list[Call]:
    """Return calls of what a rank's workers run, to be compiled before the clock of a search starts."""
    staff = new_staff(0)
    if plan.evaluation is not None:
        return [(take_leaf, (staff, 0)), (give_back, (staff, 0, 0))]
    return [(run_worker, (NO_PROGRAM, 0, staff, 0, False))] if plan.worker_threads else []


class Workers:
    """The worker threads of one rank, from start to end of a search."""

    def __init__(self, seat: Seat, plan: Plan, on_failure: Callable[[BaseException], None]):
        self.seat, self.evaluate, self.on_failure = seat, plan.evaluation, on_failure
        self.staff = new_staff(plan.worker_threads, BATCH if self.evaluate else BACKLOG)
        self.threads: list[threading.Thread] = []

    def start(self, may_nap: bool) -> None:
        for worker in range(self.staff.workers):
            thread = threading.Thread(target=self._run, args=(worker, may_nap), daemon=True)
            self.threads.append(thread)
            thread.start()

    def _run(self, worker: int, may_nap: bool) -> None:
        try:
            if self.evaluate is not None:
                run_python_worker(self.seat, self.staff, self.evaluate)
            else:
                number = self.seat.evaluators[worker].number
                run_worker(self.seat.program, number, self.staff, worker, may_nap)
        except BaseException as error:  # handed over to the thread that waits for the search
            self.on_failure(error)

    def end(self) -> None:
        """Send the workers home. A rank's load is then that of its workers."""
        self.staff.over[0] = 1
        for thread in self.threads:
            thread.join()
        if self.staff.workers:
            busy = int(self.staff.busy[::PAD].sum())
            self.seat.port.counts[0].busy_ns = busy // self.staff.workers
