"""A session on MPI ranks: rank 0 leads, and the others wait for its orders between searches without burning a core."""

import time
from typing import Any

from treespan.games.position import Position
from treespan.runtimes.mpi_binding import load_mpi
from treespan.runtimes.plan import Plan
from treespan.schemes.base import Progress
from treespan.search.result import SearchResult

NAP_SECONDS = 0.002  # between two looks for an order
DISMISSED = None  # the order that ends the session


class Crew:
    """The ranks of this MPI job. Rank 0 calls `search` and at the end `dismiss`, the others `follow`."""

    def __init__(self) -> None:
        self._mpi = load_mpi()
        self._comm = self._mpi.COMM_WORLD.Dup()  # orders never meet the messages of a search

    @property
    def is_leader(self) -> bool:
        return bool(self._comm.rank == 0)

    def search(self, plan: Plan, position: Position, progress: Progress | None = None) -> SearchResult | None:
        """Let all ranks search a position together."""
        self._order((plan, position.game, position.state, position.history))
        return plan.search(position, progress)

    def follow(self) -> None:
        """Do what rank 0 orders, until it dismisses the crew.

        An order names the game, too: a controller may ask for another board at any time.
        """
        while (order := self._next_order()) is not DISMISSED:
            plan, game, state, history = order
            position = Position(game, state)
            position.history = history
            plan.search(position)

    def dismiss(self) -> None:
        self._order(DISMISSED)

    def _order(self, order: Any) -> None:
        requests = [self._comm.isend(order, dest=rank) for rank in range(1, self._comm.size)]
        self._mpi.Request.waitall(requests)

    def _next_order(self) -> Any:
        while not self._comm.iprobe(source=0):  # MPI's own waiting spins
            time.sleep(NAP_SECONDS)
        return self._comm.recv(source=0)
