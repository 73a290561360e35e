"""Ranks as MPI processes: start, watch and end the compiled loop (`mpi_loop.py`), and gather the result."""

import itertools
import threading
import time
from dataclasses import replace
from typing import Any

import numpy as np

from treespan.core.errors import OptionError, named
from treespan.core.jit import Call
from treespan.core.machine import usable_cores
from treespan.core.waiting import Endings, woken
from treespan.runtimes.mpi_binding import bind, fail_all_ranks, load_mpi, require_compiler
from treespan.runtimes.mpi_looks import HOME, NO_LOOKS, NOBODY, READER, Lookout
from treespan.runtimes.mpi_loop import Mail, mail_of, new_mail, run_rank
from treespan.runtimes.workers import Workers, new_staff, worker_calls
from treespan.schemes.kept import put_back, recall
from treespan.schemes.plan import POLL_SECONDS, Looks, Progress, Request, WantsStop
from treespan.schemes.protocol.port import NO_PROGRAM, Port, Seat
from treespan.schemes.scheme import Finding, Place, bring_root, deadline_ns
from treespan.schemes.summary import Outcome, evaluated_leaves, summarise_ranks
from treespan.search.lines import Step, step_of, walk
from treespan.search.result import SearchResult, rank_moves

_searches = itertools.count(1)  # all ranks count alike


def run_mpi(
    request: Request,
    progress: Progress | None = None,
    wants_stop: WantsStop | None = None,
    looks: Looks | None = None,
) -> SearchResult | None:
    """Search with the ranks of this MPI job; rank 0 gets looks and the result, the others None."""
    require_compiler()
    mpi = load_mpi()
    comm = mpi.COMM_WORLD
    try:
        return _run_mpi(request, mpi, comm, progress, wants_stop, looks)
    except (OptionError, EOFError):  # what one rank cannot do none can; whoever started us is gone
        raise
    except BaseException as error:  # one rank's failure must not leave the others waiting
        fail_all_ranks(error)
        raise


def _run_mpi(
    request: Request,
    mpi: Any,
    comm: Any,
    progress: Progress | None,
    wants_stop: WantsStop | None,
    looks: Looks | None,
) -> SearchResult | None:
    plan, constants = request.plan, bind(mpi)
    if plan.ranks != comm.size:
        raise OptionError(f"{named('ranks', plan.ranks)}, but MPI has {comm.size}; give as many, or leave it out")
    me, scheme = comm.rank, plan.scheme

    def calls(port: Port) -> list[Call]:
        """Return a call of each loop, to be compiled beside the entries that it calls."""
        loop = (run_rank, (port, NO_PROGRAM, new_mail(0, 0, NO_LOOKS), new_staff(0), constants, 0, 0, False))
        return [loop, *worker_calls(plan)]

    place = Place(
        me,
        own_slots=True,
        workers=plan.worker_threads,
        search=next(_searches),
        runtime_calls=calls,
        kept=recall(request.tree, me),
    )
    bring_root(request, [place], lambda found: comm.allgather(found[0]))
    here = comm.Split_type(mpi.COMM_TYPE_SHARED)
    threads_here = here.size * (1 + plan.worker_threads)
    here.Free()  # MPI has room for some thousands, and a session searches for every move
    may_nap = threads_here > usable_cores()
    seat = scheme.new_seat(request, place)
    root_home = scheme.root_home(request.position, comm.size)
    workers = Workers(seat, plan, fail_all_ranks)
    latency_ns = round(plan.latency * 1e9)

    wait_for_all(comm)  # all have compiled, each its part, or loaded
    every = comm.bcast(looks.every if looks else None)  # who watches, watches at rank 0
    role = NOBODY
    if every is not None and root_home != 0:  # else rank 0 has the root
        role = {root_home: HOME, 0: READER}.get(me, NOBODY)
    mail = mail_of(seat.port, request.position.game.max_moves, role)
    lookout = Lookout(request, seat, mail.look, root_home, every, looks)
    start = time.monotonic_ns()
    workers.start(may_nap)
    state = seat.port, seat.program, mail, workers.staff, constants
    endings = Endings(1)

    def run() -> None:
        try:
            run_rank(*state, deadline_ns(request.plan, start), latency_ns, may_nap)
        finally:
            endings.note(0)

    threading.Thread(target=run, daemon=True).start()
    with woken(wants_stop, endings.wake):
        interrupted = watch(endings, mail, seat.port, comm.size, start, progress, wants_stop, lookout)
    workers.end()
    end, last = int(mail.state[0].ended), int(seat.port.counts[0].last_playout)
    last = comm.allreduce(max(last - start, 0), op=mpi.MAX)  # 0: no playout has ended
    counts = comm.gather(np.asarray(seat.port.counts))
    used = comm.reduce(seat.tree.used)
    leaves = np.maximum.reduce(comm.allgather(evaluated_leaves([seat])))
    finding = comm.bcast(scheme.read(request, seat) if me == root_home else None, root=root_home)
    finding = replace(finding, lines=_line_of_best(comm, request, seat, root_home, finding))
    interrupted = comm.allreduce(interrupted, op=mpi.LOR)
    if request.tree is not None:
        put_back(request.tree, me, scheme.keep(request, seat))
    if me != 0:
        return None
    outcome = Outcome(
        finding=finding,
        counts=np.concatenate(counts),
        used=used,
        leaves=leaves,
        seconds=(end - start) * 1e-9,
        end_seconds=max(end - start - last, 0) * 1e-9,
        wall_seconds=(end - start) * 1e-9,
        interrupted=interrupted,
    )
    return summarise_ranks(request, outcome)


def _line_of_best(comm: Any, request: Request, seat: Seat, root_home: int, found: Finding) -> dict[int, list[str]]:
    """The expected line of the best move: all ranks walk from home to home, and all come to the same."""
    scheme, game = request.plan.scheme, request.position.game
    if not scheme.divides_tree:
        lines = scheme.lines(request, seat, lambda key: None) if comm.rank == root_home else None
        told: dict[int, list[str]] = comm.bcast(lines, root=root_home)
        return told
    best = rank_moves(found.root.moves, request.plan.options.choice)[0].id
    is_home = comm.rank == root_home
    first = comm.bcast(step_of(seat.tree, scheme.root_of(seat), best) if is_home else None, root=root_home)

    def step(key: int) -> Step | None:
        home = scheme.home_of_key(seat, key)
        next_one: Step | None = comm.bcast(scheme.next_step(seat, key) if comm.rank == home else None, root=home)
        return next_one

    return {best: [game.move_name(move) for move in walk(first, step)]}


def wait_for_all(comm: Any) -> None:
    """A barrier that does not burn the cores that the compiler needs: MPI's own spins."""
    request = comm.Ibarrier()
    while not request.Test():
        time.sleep(0.002)


def watch(
    loop: Endings,
    mail: Mail,
    port: Port,
    ranks: int,
    start: int,
    progress: Progress | None,
    wants_stop: WantsStop | None,
    lookout: Lookout,
) -> bool:
    """Wait for the loop; pass on Ctrl-C and the wish to stop. Returns whether there was one."""
    is_over = False
    while not is_over:
        try:  # around all of it: an interrupt comes when it likes
            while not loop.wait(POLL_SECONDS):
                if wants_stop and wants_stop():
                    mail.stop[0] = 1
                if progress:  # one rank's count stands for all, unless it knows better
                    done = max(int(port.counts[0].playouts) * ranks, int(port.state[0].all_playouts))
                    progress(done, (time.monotonic_ns() - start) * 1e-9)
                lookout.tell((time.monotonic_ns() - start) * 1e-9)
            is_over = True
        except KeyboardInterrupt:
            mail.stop[0] = 1
    return bool(mail.stop[0])
