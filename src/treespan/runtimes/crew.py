"""The ranks of an MPI job as one: rank 0 leads, and the others wait for its orders without burning a core."""

import time
from collections.abc import Callable
from typing import Any

import cloudpickle

from treespan.runtimes.mpi import run_mpi
from treespan.runtimes.mpi_binding import load_mpi
from treespan.schemes.plan import Looks, Progress, Request, WantsStop
from treespan.search.result import SearchResult

NAP_SECONDS = 0.002  # between two looks for an order
DISMISSED = None  # the order that ends the session


class MpiCrew:
    """The ranks of this MPI job. Rank 0 calls `search`, `call` and at the end `dismiss`, the others `follow`."""

    def __init__(self) -> None:
        self._mpi = load_mpi()
        self._comm = self._mpi.COMM_WORLD.Dup()  # orders never meet the messages of a search
        self.rank: int = self._comm.rank

    @property
    def is_leader(self) -> bool:
        return self.rank == 0

    def search(
        self,
        request: Request,
        progress: Progress | None = None,
        wants_stop: WantsStop | None = None,
        looks: Looks | None = None,
    ) -> SearchResult:
        """Let all ranks search a position together."""
        self._order((run_mpi, (request,)))
        result = run_mpi(request, progress, wants_stop, looks)
        assert result is not None  # this is rank 0
        return result

    def call(self, function: Callable[..., Any], *arguments: Any) -> Any:
        """Let all ranks call a function; returns what rank 0 returns."""
        self._order((function, arguments))
        return function(*arguments)

    @property
    def are_there(self) -> bool:
        """The ranks of a job are there as long as the job."""
        return True

    def follow(self) -> None:
        """Do what rank 0 orders, until it dismisses the crew."""
        while (order := self._next_order()) is not DISMISSED:
            function, arguments = order
            function(*arguments)

    def dismiss(self) -> None:
        self._order(DISMISSED)

    def _order(self, order: Any) -> None:
        words = cloudpickle.dumps(order)
        requests = [self._comm.isend(words, dest=rank) for rank in range(1, self._comm.size)]
        self._mpi.Request.waitall(requests)

    def _next_order(self) -> Any:
        while not self._comm.iprobe(source=0):  # MPI's own waiting spins
            time.sleep(NAP_SECONDS)
        return cloudpickle.loads(self._comm.recv(source=0))
