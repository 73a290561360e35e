"""The ranks of an MPI job as one: rank 0 leads, and the others wait for its orders without burning a core."""

import contextlib
import time
from collections.abc import Callable
from typing import Any, Protocol

import cloudpickle

from treespan.runtimes.job_folder import RanksLostError
from treespan.runtimes.mpi import Watching, run_mpi
from treespan.runtimes.mpi_binding import load_mpi
from treespan.runtimes.world import RankLostError, agreed, attempted, call_or_lose, heal, orders, surely, world
from treespan.schemes.plan import Looks, Progress, Request, WantsStop
from treespan.search.result import SearchResult

NAP_SECONDS = 0.002  # between two looks for an order
# Orders: kind and content
CALL, SEARCH, DISMISS = "call", "search", "dismiss"
LEADER_LOST = "leader lost"  # no order: rank 0 is lost, and this rank leads now


class Heir(Protocol):
    """What a rank does that must lead, because rank 0 is lost."""

    def take_over(self, every: float | None) -> Watching:
        """Speak for the ranks, which search. `every`: seconds between two results so far."""
        ...

    def deliver(self, result: SearchResult) -> None:
        """Give the result of the search to whoever waits for it."""
        ...


class MpiCrew:
    """The ranks of this MPI job. Rank 0 calls `search`, `call` and at the end `dismiss`, the others `follow`."""

    def __init__(self) -> None:
        self._mpi = load_mpi()
        orders()

    @property
    def is_leader(self) -> bool:
        return bool(world().rank == 0)

    def search(
        self,
        request: Request,
        progress: Progress | None = None,
        wants_stop: WantsStop | None = None,
        looks: Looks | None = None,
    ) -> SearchResult:
        """Let all ranks search a position together."""
        self._order(SEARCH, request, looks.every if looks else None)
        result = run_mpi(request, progress, wants_stop, looks)
        assert result is not None  # this is rank 0
        return result

    def call(self, function: Callable[..., Any], *arguments: Any) -> Any:
        """Let all ranks call a function; returns what rank 0 returns. Raises RankLostError if one is lost meanwhile."""
        self._order(CALL, function, arguments)
        return call_or_lose(function, *arguments)

    @property
    def are_there(self) -> bool:
        """The ranks of a job are there as long as the job."""
        return True

    def follow(self, heir: Heir | None = None) -> bool:
        """Do what rank 0 orders. Returns whether it has dismissed the crew; else it is lost, and this rank leads now.

        Without an heir nobody can take its place: raises RanksLostError.
        """
        while (order := self._next_order())[0] != DISMISS:
            what, content = order
            if what == SEARCH:
                request, every = content
                self._join(request, every, heir)
            elif what == CALL:
                function, arguments = content
                with contextlib.suppress(RankLostError):  # told by rank 0
                    call_or_lose(function, *arguments)
            if self.is_leader:
                if heir is None:
                    raise _nobody_leads()
                return False
        return True

    def _join(self, request: Request, every: float | None, heir: Heir | None) -> None:
        """Take part in a search; if this rank is rank 0 in the end, it tells the result."""

        def take_over() -> Watching:
            if heir is None:
                raise _nobody_leads()
            return heir.take_over(every)

        result = run_mpi(request, take_over=take_over)
        if result is not None and heir is not None:
            heir.deliver(result)

    def dismiss(self) -> None:
        self._order(DISMISS)

    def _order(self, what: str, *content: Any) -> None:
        """Give all others an order. Either all have it then, or a rank is lost, and they get it anew."""
        words = cloudpickle.dumps((what, content))

        def give(_: Any) -> None:
            line = orders()
            requests = [line.isend(words, dest=rank) for rank in range(1, line.size)]
            self._mpi.Request.waitall(requests)

        surely(give)

    def _next_order(self) -> tuple[str, Any]:
        def hear(_: Any) -> tuple[str, Any]:
            line = orders()
            while not line.iprobe(source=0):  # MPI's own waiting spins
                time.sleep(NAP_SECONDS)
            order: tuple[str, Any] = cloudpickle.loads(line.recv(source=0))
            return order

        while True:
            order, is_fine = attempted(hear)
            if agreed(is_fine):
                assert order is not None
                return order[0]
            heal()
            if self.is_leader:
                return LEADER_LOST, None


def _nobody_leads() -> RanksLostError:
    return RanksLostError("rank 0 is lost, which led the others; start again, on fewer ranks")
