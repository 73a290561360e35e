"""Ranks as threads of one process. Jobs do not move: their slots change hands through lock-free rings.

Every pair of ranks has a ring with room for all slots, so it can never be full. Empty slots go back by the same rings:
where more messages come in than go out, as at the home of the root, slots would pile up, and others have none.
"""

import contextlib
import threading
import time
from dataclasses import replace

import numpy as np

from treespan.core.atomics import atomic_load
from treespan.core.clock import now_ns, sharpen_timers, sleep_ns
from treespan.core.handles import call_entry
from treespan.core.jit import Call, njit, njit_inline
from treespan.core.machine import usable_cores
from treespan.core.waiting import Endings, woken
from treespan.runtimes.rings import new_rings, put, take
from treespan.runtimes.workers import EMPTY_POLLS, NAP_NS, Workers, new_staff, work_once, worker_calls
from treespan.schemes.kept import put_back, recall
from treespan.schemes.plan import POLL_SECONDS, Looks, Progress, Request, WantsStop
from treespan.schemes.protocol.messages import NO_SLOT
from treespan.schemes.protocol.port import (
    FREE,
    NO_PROGRAM,
    OUT,
    Port,
    Seat,
    call_home,
    dequeue,
    message_bytes,
    new_slot,
    receive,
    release,
)
from treespan.schemes.scheme import Finding, Place, bring_root, deadline_ns
from treespan.schemes.summary import Outcome, evaluated_leaves, summarise_ranks
from treespan.search.result import SearchResult

STOP, FAILED = 0, 1  # indices into `wishes`
NO_MESSAGE = -2  # in a ring NO_MESSAGE - slot is a slot with nothing in it
SURPLUS = 4  # a rank keeps as many free slots as it began with, and 1 / SURPLUS of that


@njit_inline
def post_all(port, rings, me):
    """Hand over the messages that this rank has written."""
    slot = dequeue(port, 0, OUT)
    while slot != NO_SLOT:
        header = port.jobs.headers[slot]
        port.counts[0].sent += 1
        port.counts[0].sent_bytes += message_bytes(port, slot)
        put(rings, me * port.ranks + header.receiver, slot)
        slot = dequeue(port, 0, OUT)


@njit_inline
def collect(port, rings, me):
    """Take in all messages that have arrived."""
    for sender in range(port.ranks):
        slot = take(rings, sender * port.ranks + me)
        while slot != NO_SLOT:
            if slot > NO_SLOT:
                receive(port, 0, slot)
            else:
                release(port, 0, NO_MESSAGE - slot)
            slot = take(rings, sender * port.ranks + me)


@njit_inline
def return_slots(port, rings, me, most):
    """Give slots beyond so many back to those who sent a message in them."""
    while port.queues[0, FREE].length > most and port.ranks > 1:
        slot = new_slot(port, 0)
        sender = np.int64(port.jobs.headers[slot].sender)
        put(rings, me * port.ranks + (sender if sender != me else (me + 1) % port.ranks), NO_MESSAGE - slot)


@njit
def run_rank(port, program, rings, staff, wishes, deadline, may_nap):
    """The life of one rank: take in messages, do one unit of work, hand on, until all jobs are home."""
    me = port.first
    if atomic_load(wishes, FAILED) != 0:
        return
    sharpen_timers()
    port.state[0].now = now_ns()
    most_free = port.queues[0, FREE].length + port.queues[0, FREE].length // SURPLUS
    call_entry(program.start, program.rank, 0, 0)
    post_all(port, rings, me)  # the search may be over already
    empty_polls = 0
    while not port.state[0].over and atomic_load(wishes, FAILED) == 0:
        collect(port, rings, me)
        begin = now_ns()
        port.state[0].now = begin
        if begin >= deadline:
            port.state[0].draining = True
        elif atomic_load(wishes, STOP) != 0 and not port.state[0].draining:
            call_home(port, 0)
        if work_once(port, program, staff):
            empty_polls = 0
            port.counts[0].busy_ns += now_ns() - begin
        else:
            empty_polls += 1
            if may_nap and empty_polls > EMPTY_POLLS:
                sleep_ns(NAP_NS)
        post_all(port, rings, me)
        return_slots(port, rings, me, most_free)


def run_threads(
    request: Request,
    progress: Progress | None = None,
    wants_stop: WantsStop | None = None,
    looks: Looks | None = None,
) -> SearchResult:
    """Search with one thread a rank, and its workers; Ctrl-C calls all jobs home, and the best move so far counts."""
    plan, scheme, count = request.plan, request.plan.scheme, request.plan.ranks
    seats: list[Seat] = []

    def calls(port: Port) -> list[Call]:
        """Return a call of each loop, to be compiled beside the entries that it calls."""
        wishes = np.zeros(2, dtype=np.int64)
        loop = (run_rank, (port, NO_PROGRAM, new_rings(1, 1), new_staff(0), wishes, 0, False))
        return [loop, *worker_calls(plan)]

    places = [
        Place(me, workers=plan.worker_threads, runtime_calls=calls, kept=recall(request.tree, me))
        for me in range(count)
    ]
    bring_root(request, places, lambda found: found)
    for place in places:
        seats.append(scheme.new_seat(request, replace(place, jobs=seats[0].port.jobs if seats else None)))
    rings = new_rings(count * count, len(seats[0].port.jobs.headers))
    wishes = np.zeros(2, dtype=np.int64)
    root_home = scheme.root_home(request.position, count)
    may_nap = count * (1 + plan.worker_threads) > usable_cores()
    failures: list[BaseException] = []

    def fail(error: BaseException) -> None:
        failures.append(error)
        wishes[FAILED] = 1

    workers = [Workers(seat, plan, fail) for seat in seats]
    start = time.monotonic_ns()
    deadline = deadline_ns(plan, start)
    endings = Endings(count)
    end_ns = [start] * count

    def work(me: int) -> None:
        try:
            workers[me].start(may_nap)
            seat, staff = seats[me], workers[me].staff
            run_rank(seat.port, seat.program, rings, staff, wishes, deadline, may_nap)
        except BaseException as error:  # handed over to the calling thread, which raises it
            fail(error)
        workers[me].end()
        end_ns[me] = time.monotonic_ns()
        endings.note(me)

    def outcome(finding: Finding, end: int) -> Outcome:
        """How the search went until now, or its end."""
        counts = np.concatenate([np.asarray(seat.port.counts) for seat in seats])
        return Outcome(
            finding=finding,
            counts=counts,
            used=np.sum([seat.tree.used for seat in seats], axis=0),
            leaves=evaluated_leaves(seats),
            seconds=(end - start) * 1e-9,
            end_seconds=max(end - max(int(counts["last_playout"].max()), start), 0) * 1e-9,
            wall_seconds=(end - start) * 1e-9,
            interrupted=interrupted,
        )

    def with_lines(found: Finding) -> Finding:
        """All trees are at hand, so expected lines are."""
        seat = seats[root_home]
        lines = scheme.lines(request, seat, lambda key: scheme.next_step(seats[scheme.home_of_key(seat, key)], key))
        return replace(found, lines=lines)

    interrupted, is_over, started = False, False, 0
    wakes = contextlib.ExitStack()
    try:
        wakes.enter_context(woken(wants_stop, endings.wake))
        while not is_over:
            try:  # around all of it: an interrupt comes when it likes
                while started < count:
                    thread = threading.Thread(target=work, args=(started,), daemon=True)
                    started += 1
                    thread.start()
                while not endings.wait(POLL_SECONDS):
                    if wants_stop and wants_stop():
                        interrupted = True
                        wishes[STOP] = 1
                    if progress:
                        done = sum(int(seat.port.counts[0].playouts) for seat in seats)
                        progress(done, (time.monotonic_ns() - start) * 1e-9)
                    if looks and looks.is_due():
                        found = with_lines(scheme.look(request, seats[root_home]))
                        looks.tell(summarise_ranks(request, outcome(found, time.monotonic_ns())))
                is_over = True
            except KeyboardInterrupt:
                interrupted = True
                wishes[STOP] = 1
    finally:
        wakes.close()
        if not is_over:  # a call of the user's has failed: no thread outlives this one's search
            wishes[FAILED] = 1
            for me in range(started, count):
                endings.note(me)
            while not endings.wait(POLL_SECONDS):
                pass
    if failures:
        raise failures[0]
    result = summarise_ranks(request, outcome(with_lines(scheme.read(request, seats[root_home])), max(end_ns)))
    for me, seat in enumerate(seats if request.tree else []):
        put_back(request.tree, me, scheme.keep(request, seat))
    return result
