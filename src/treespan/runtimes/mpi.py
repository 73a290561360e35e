"""Ranks as MPI processes: start, watch and end the compiled loop (`mpi_loop.py`), and gather the result.

A search has one part, unless a rank is lost (`world.py`). Then the others keep what they have of the tree, drop what
was under way, and search in a further part for what is left of the budget.
"""

import itertools
import threading
import time
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np

from treespan.core.errors import OptionError, named
from treespan.core.jit import Call
from treespan.core.machine import usable_cores
from treespan.core.records import new_records
from treespan.core.waiting import Endings, woken
from treespan.runtimes.living import bring_back
from treespan.runtimes.mpi_binding import MpiError, bind, fail_all_ranks, load_mpi, require_compiler
from treespan.runtimes.mpi_looks import HOME, NO_LOOKS, NOBODY, READER, Lookout
from treespan.runtimes.mpi_loop import Mail, mail_of, new_mail, run_rank
from treespan.runtimes.workers import Workers, new_staff, worker_calls
from treespan.runtimes.world import (
    LossError,
    agreed,
    attempted,
    heal,
    is_loss_code,
    lost_ranks,
    newly_lost,
    tells_of_losses,
    world,
)
from treespan.schemes.homes import Homes
from treespan.schemes.kept import Kept, TreeName, drop, put_back, recall
from treespan.schemes.plan import POLL_SECONDS, Budget, Looks, Plan, Progress, Request, WantsStop
from treespan.schemes.protocol.port import NO_PROGRAM, RANK_COUNTS, Port, Seat
from treespan.schemes.scheme import Finding, News, Place, bring_root, deadline_ns
from treespan.schemes.summary import Outcome, evaluated_leaves, summarise_ranks
from treespan.search.lines import Step, step_of, walk
from treespan.search.result import SearchResult, rank_moves

SHORTEST_SECONDS = 0.1  # of a part that begins anew: its root shall know something
PEAKS = ("deepest", "queue_peak", "last_playout")  # counts of which the largest counts; others are added up
_searches = itertools.count(1)  # all ranks count alike
_wrecks: list[Any] = []  # memory of parts that broke off: MPI may still know its addresses


class Watching(NamedTuple):
    """What rank 0 was given by whoever waits for the result."""

    progress: Progress | None = None
    wants_stop: WantsStop | None = None
    looks: Looks | None = None


def run_mpi(
    request: Request,
    progress: Progress | None = None,
    wants_stop: WantsStop | None = None,
    looks: Looks | None = None,
    take_over: Callable[[], Watching] | None = None,
) -> SearchResult | None:
    """Search with the ranks of this MPI job; rank 0 gets looks and the result, the others None.

    take_over: called at a rank that has become rank 0, because that is lost.
    """
    require_compiler()
    load_mpi()
    try:
        return _Search(request, Watching(progress, wants_stop, looks), take_over).run()
    except (OptionError, EOFError):  # what one rank cannot do none can; whoever started us is gone
        raise
    except BaseException as error:  # one rank's failure must not leave the others waiting
        fail_all_ranks(error)
        raise


class _Facts(NamedTuple):
    """What ranks tell each other when a part of a search begins."""

    homes: Homes | None  # of the tree that the rank has kept
    before: int | None  # visits of the root when the search began, if a former part has found out
    elapsed: int  # ns since the search began
    playouts: int  # of this rank in former parts
    was_stopped: bool
    news: News | None  # of its copies, which shall go home


class _Part(NamedTuple):
    """A part of a search: who searches, and for what is left of the budget."""

    request: Request
    place: Place
    is_over: bool  # nothing is left: only the result is wanted
    played: int  # playouts that count already


class _Search:
    """One search at this rank. Each method is called by all ranks."""

    def __init__(self, request: Request, watching: Watching, take_over: Callable[[], Watching] | None):
        self.asked, self.watching, self.take_over = request, watching, take_over
        self.survives, self.keeps = tells_of_losses(), request.plan.scheme.divides_tree
        # A tree of one search has a name, too: it must be found again when a rank was lost
        self.name = request.tree or (TreeName() if self.survives and self.keeps else None)
        self.number = next(_searches)
        self.parts = self.ranks = 0
        self.before: int | None = None  # visits of the root when the search began
        self.lost_playouts = 0  # of former parts or searches; as far as ranks knew that are lost, an estimate
        self.carried = new_records(RANK_COUNTS, 1)  # what this rank has done in former parts
        self.start = 0  # when the first part began, ns
        self.was_stopped = False
        self.kept: Kept | None = None
        self.seat: Seat | None = None
        self.mail: Mail | None = None
        self.news: News | None = None

    def run(self) -> SearchResult | None:
        try:
            while True:
                result, is_fine = attempted(self._search)
                if agreed(is_fine):
                    newly_lost(is_told=True)
                    return result[0] if result else None
                self._recover()
        finally:
            if self.name is not None and self.asked.tree is None:
                drop(self.name)

    def _recover(self) -> None:
        """A rank is lost: keep what this one has, and go on with the others."""
        me, scheme = world().rank, self.asked.plan.scheme
        if self.seat is not None:
            _wrecks.append((self.seat, self.mail))
            add_counts(self.carried, self.seat.port.counts)
            kept, self.news = scheme.salvage(self.asked, self.seat)
            self.kept = settled(self.kept, kept)
        put_back(self.name, me, self.kept, on_job=True)
        self.seat, self.mail, self.kept = None, None, None
        heal()
        if world().rank == 0 and me != 0 and self.take_over is not None:
            self.watching = self.take_over()

    # Each part

    def _begin(self, comm: Any, constants: np.ndarray) -> _Part:
        plan = self.asked.plan
        if lost_ranks():
            plan = replace(plan, ranks=comm.size)
        if plan.ranks != comm.size:
            raise OptionError(f"{named('ranks', plan.ranks)}, but MPI has {comm.size}; give as many, or leave it out")
        self.parts += 1
        self.kept = recall(self.name, comm.rank)
        request = replace(self.asked, plan=plan, tree=self.name if self.parts > 1 else self.asked.tree)
        place = Place(
            comm.rank,
            own_slots=True,
            workers=plan.worker_threads,
            search=self.number,
            runtime_calls=lambda port: loop_calls(plan, port, constants),
            kept=self.kept,
        )
        part = _Part(request, place, is_over=False, played=0)
        if self.survives:
            part = self._go_on(comm, part)
        bring_root(part.request, [part.place], lambda found: comm.allgather(found[0]))
        return part

    def _go_on(self, comm: Any, part: _Part) -> _Part:
        """What a part goes on with: the tree of the part or the search before, and the rest of the budget."""
        request, place, scheme = part.request, part.place, part.request.plan.scheme
        elapsed = time.monotonic_ns() - self.start if self.start else 0
        played = int(self.carried[0].playouts)
        mine = _Facts(
            place.homes if self.parts > 1 else None, self.before, elapsed, played, self.was_stopped, self.news
        )
        facts: list[_Facts] = comm.allgather(mine)
        self.was_stopped, self.news = any(one.was_stopped for one in facts), None
        elapsed = max(one.elapsed for one in facts)
        self.start = time.monotonic_ns() - elapsed if elapsed else 0
        if self.ranks > comm.size:  # those that are lost have done about as much as others
            self.lost_playouts += sum(one.playouts for one in facts) * (self.ranks - comm.size) // comm.size
        self.ranks = comm.size
        if not self.keeps:
            self.lost_playouts += sum(one.playouts for one in facts)
            self.carried[:] = 0
            return part._replace(request=self._for_the_rest(request, 0, elapsed))
        homes = place.homes or next((one.homes for one in facts if one.homes is not None), None)
        visits = 0
        if homes is not None:
            if self.kept is None:  # this rank had not begun when one was lost
                self.kept = scheme.nothing_kept(request, place)._replace(homes=homes)
                place = replace(place, kept=self.kept)
            if not homes.is_whole:
                assert self.kept is not None
                bring_back(request, self.kept, comm.rank)
                news = [one.news for one in facts if one.news]
                scheme.mend(request, place, news, lambda numbers: comm.allreduce(numbers))
            visits = comm.allreduce(scheme.root_visits(request, place), op=load_mpi().MAX)
        before = min((one.before for one in facts if one.before is not None), default=visits)
        self.before = min(before, visits)
        self.lost_playouts += before - self.before
        rest = self._for_the_rest(request, visits - self.before, elapsed)
        return _Part(rest, place, self._is_over(visits - self.before, elapsed), visits - self.before)

    def _for_the_rest(self, request: Request, played: int, elapsed: int) -> Request:
        """The same search, for what is left of the budget."""
        budget = request.plan.budget
        playouts = None if budget.playouts is None else max(budget.playouts - played, 1)
        seconds = None if budget.seconds is None else budget.seconds
        if seconds is not None and self.parts > 1:
            seconds = max(seconds - elapsed * 1e-9, SHORTEST_SECONDS)
        if self.was_stopped and not self.keeps:
            seconds = SHORTEST_SECONDS
        return replace(request, plan=request.plan.with_budget(Budget(playouts, seconds)))

    def _is_over(self, played: int, elapsed: int) -> bool:
        budget, is_first = self.asked.plan.budget, self.parts == 1
        is_spent = budget.playouts is not None and played >= budget.playouts
        is_late = budget.seconds is not None and elapsed * 1e-9 >= budget.seconds
        return not is_first and (is_spent or is_late or self.was_stopped)

    def _search(self, comm: Any) -> SearchResult | None:
        mpi, me = load_mpi(), comm.rank
        constants = bind(mpi, comm)
        part = self._begin(comm, constants)
        request, plan, scheme = part.request, part.request.plan, part.request.plan.scheme
        here = comm.Split_type(mpi.COMM_TYPE_SHARED)
        threads_here = here.size * (1 + plan.worker_threads)
        here.Free()  # MPI has room for some thousands, and a session searches for every move
        may_nap = threads_here > usable_cores()
        seat = self.seat = scheme.new_seat(request, part.place)
        root_home = scheme.root_home(request.position, comm.size, part.place.homes)
        workers = Workers(seat, plan, fail_all_ranks)
        latency_ns = round(plan.latency * 1e9)

        wait_for_all(comm)  # all have compiled, each its part, or loaded
        looks = self.watching.looks
        every = comm.bcast(looks.every if looks else None)  # who watches, watches at rank 0
        role = NOBODY
        if every is not None and root_home != 0:  # else rank 0 has the root
            role = {root_home: HOME, 0: READER}.get(me, NOBODY)
        mail = self.mail = mail_of(seat.port, request.position.game.max_moves, role)
        lookout = Lookout(request, seat, mail.look, root_home, every, looks)
        start = time.monotonic_ns()
        self.start = self.start or start
        deadline = 0 if part.is_over else deadline_ns(plan, start)
        workers.start(may_nap)
        state = seat.port, seat.program, mail, workers.staff, constants
        endings = Endings(1)

        def run() -> None:
            try:
                run_rank(*state, deadline, latency_ns, may_nap)
            finally:
                endings.note(0)

        threading.Thread(target=run, daemon=True).start()
        with woken(self.watching.wants_stop, endings.wake):
            self._watch(endings, mail, seat.port, comm.size, part.played, lookout)
        workers.end()
        check_mail(mail)
        end, last = int(mail.state[0].ended), int(seat.port.counts[0].last_playout)
        last = comm.allreduce(max(last - self.start, 0), op=mpi.MAX)  # 0: no playout has ended
        counts = comm.gather(add_counts(self.carried.copy(), seat.port.counts))
        used = comm.reduce(seat.tree.used)
        leaves = np.maximum.reduce(comm.allgather(evaluated_leaves([seat])))
        finding = comm.bcast(scheme.read(request, seat) if me == root_home else None, root=root_home)
        finding = replace(finding, lines=_line_of_best(comm, request, seat, root_home, finding))
        was_stopped = comm.allreduce(self.was_stopped, op=mpi.LOR)
        put_back(request.tree, me, settled(self.kept, scheme.keep(request, seat)), on_job=True)
        if me != 0:
            return None
        seconds = (end - self.start) * 1e-9
        outcome = Outcome(
            finding=finding,
            counts=np.concatenate(counts),
            used=used,
            leaves=leaves,
            seconds=seconds,
            end_seconds=max(end - self.start - last, 0) * 1e-9,
            wall_seconds=seconds,
            interrupted=was_stopped,
        )
        result = summarise_ranks(replace(request, plan=replace(plan, budget=self.asked.plan.budget)), outcome)
        result.lost_ranks = newly_lost(is_told=False)
        if result.lost_ranks:
            self._tell_loss(result)
        return result

    def _tell_loss(self, result: SearchResult) -> None:
        """Count the playouts that count: those that the root knows of."""
        if self.keeps:
            done = result.playouts
            result.playouts = result.root_visits - (self.before or 0)
            self.lost_playouts += done - result.playouts
        result.lost_playouts = max(self.lost_playouts, 0)

    def _watch(self, loop: Endings, mail: Mail, port: Port, ranks: int, played: int, lookout: Lookout) -> None:
        """Wait for the loop; pass on Ctrl-C and the wish to stop."""
        progress, wants_stop, _ = self.watching
        is_over = False
        while not is_over:
            try:  # around all of it: an interrupt comes when it likes
                while not loop.wait(POLL_SECONDS):
                    seconds = (time.monotonic_ns() - self.start) * 1e-9
                    if wants_stop and wants_stop():
                        mail.stop[0] = 1
                    if progress:  # one rank's count stands for all, unless it knows better
                        done = max(int(port.counts[0].playouts) * ranks, int(port.state[0].all_playouts))
                        progress(played + done, seconds)
                    lookout.tell(seconds)
                is_over = True
            except KeyboardInterrupt:
                mail.stop[0] = 1
        self.was_stopped |= bool(mail.stop[0])


def loop_calls(plan: Plan, port: Port, constants: np.ndarray) -> Sequence[Call]:
    """Return a call of each loop, to be compiled beside the entries that it calls."""
    loop = (run_rank, (port, NO_PROGRAM, new_mail(0, 0, NO_LOOKS), new_staff(0), constants, 0, 0, False))
    return [loop, *worker_calls(plan)]


def check_mail(mail: Mail) -> None:
    """Raise what has ended the loop, if it was an error of MPI."""
    code = int(mail.state[0].error)
    if code and is_loss_code(code):
        raise LossError
    if code:
        raise MpiError(f"MPI has failed: {load_mpi().Get_error_string(code)}")


def settled(before: Kept | None, kept: Kept | None) -> Kept | None:
    """What a rank keeps, with the table of homes that it had before; what was lost has been sought."""
    if kept is None or before is None:
        return kept
    return kept._replace(homes=replace(before.homes, lost=None))


def add_counts(total: np.ndarray, counts: Any) -> np.ndarray:
    """Add what a rank has done in a part of a search. Returns the total."""
    for name in RANK_COUNTS.names or ():
        join = np.maximum if name in PEAKS else np.add
        total[name] = join(total[name], np.asarray(counts[name]))
    return total


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
