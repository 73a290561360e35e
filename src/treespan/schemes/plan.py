"""The one description of a search, which the library, the command line, the engine, the laboratory and ranks share.

A `Plan` says everything about a search but the position: how simulations are spread (a scheme), how one of them goes
down the tree (`SearchOptions`), when it ends, and where it runs. It is frozen and can be pickled. A `Request` is a plan
for a position.
"""

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from treespan.core.errors import OptionError, about, named
from treespan.core.options import LARGEST, check_range
from treespan.games.position import Position
from treespan.games.registry import load_file
from treespan.schemes.kept import TreeName
from treespan.search.options import SearchOptions
from treespan.search.tree import MAX_VISITS

if TYPE_CHECKING:
    from treespan.schemes.scheme import Scheme
    from treespan.search.result import SearchResult

Progress = Callable[[int, float], None]  # playouts done, seconds gone; called a few times a second
# Returns values, for the first player, of positions given as an array of the game's state records
Evaluate = Callable[[np.recarray], Sequence[float] | np.ndarray]
WantsStop = Callable[
    [], bool
]  # whether the search shall end now; asked a few times a second, a `Wish` is heard at once
THREADS, MPI, SIMULATED = RUNTIMES = ("threads", "mpi", "simulated")
RANK_OPTIONS = {THREADS: "threads", MPI: "ranks", SIMULATED: "simulate"}  # which say how many there are
DEFAULT_NETWORK = "qdr"
POLL_SECONDS = 0.05  # between two looks at a search that runs
MAX_THREADS, MAX_RANKS, MAX_WORKERS = 1024, 65_536, 256
MAX_LATENCY = 10.0  # seconds


class Pace:
    """What is due now and then, at once at first."""

    def __init__(self, every: float):
        self.every = every  # seconds
        self._next = 0.0

    def is_due(self) -> bool:
        """Whether it is time again."""
        now = time.monotonic()
        if now < self._next:
            return False
        self._next = now + self.every
        return True


class Looks(Pace):
    """The wish to see results so far. A runtime asks a few times a second whether one is due, and then tells it."""

    def __init__(self, every: float, show: "Callable[[SearchResult], None]"):
        super().__init__(every)
        self._show = show

    def tell(self, so_far: "SearchResult") -> None:
        """Show a result so far, if it knows anything."""
        if so_far.root_visits:
            self._show(so_far)

    def of(self, change: "Callable[[SearchResult], SearchResult]") -> "Looks":
        """The same wish, of a runtime that tells results of another kind."""
        return Looks(self.every, lambda so_far: self._show(change(so_far)))


@dataclass(frozen=True)
class Budget:
    """When a search ends: after so many playouts, or so much time, whichever comes first."""

    playouts: int | None = None
    seconds: float | None = None

    def __post_init__(self) -> None:
        if self.playouts is None and self.seconds is None:
            raise OptionError(f"a search needs a budget; give {named('playouts')} or {named('seconds')}")
        if self.playouts is not None:
            check_range("playouts", self.playouts, 1, MAX_VISITS)
        if self.seconds is not None and not 0 < self.seconds < 1e8:
            bounds = "more than 0 and less than 1e8"
            raise OptionError(f"{named('seconds', self.seconds)} is out of range; give {bounds}")


@dataclass(frozen=True)
class Plan:
    """Everything about a search but the position."""

    scheme: "Scheme"
    options: SearchOptions
    budget: Budget
    seed: int = 1
    runtime: str = THREADS  # where its ranks run
    ranks: int = 1  # threads of this process, MPI processes, or ranks of a simulated cluster
    workers: int = 0  # threads of each rank that play out; 0: the rank itself does
    network: str = DEFAULT_NETWORK  # of a simulated cluster
    evaluate: Evaluate | str | None = None  # instead of playouts: a function, or FILE.py:NAME
    latency: float = 0.0  # seconds that MPI messages are held back, to emulate a slower network

    def __post_init__(self) -> None:
        check_range(RANK_OPTIONS[self.runtime], self.ranks, 1, MAX_THREADS if self.runtime == THREADS else MAX_RANKS)
        check_range("workers", self.workers, 0, MAX_WORKERS)
        check_range("latency", self.latency, 0, MAX_LATENCY)
        check_range("seed", self.seed, -LARGEST, LARGEST)
        self.scheme.check_options(self.options)
        self._check_runtime()

    def _check_runtime(self) -> None:
        """Refuse a runtime that the scheme does not run on."""
        scheme = self.scheme
        which = f"scheme {scheme.name}{about('scheme', scheme.name)}"
        if self.latency and self.runtime != MPI:
            others = f"{named('ranks')}, or {named('simulate')} with a network"
            raise OptionError(f"{named('latency')} holds MPI messages back; give {others}")
        if self.runtime != THREADS and not scheme.on_ranks:
            raise OptionError(f"{which} runs on threads only; for ranks give {named('scheme', 'span')}")
        if self.runtime == MPI and scheme.needs_one_memory:
            others = f"{named('threads')}, {named('simulate')}, or {named('scheme', 'slow-tree')}"
            raise OptionError(f"{which} needs one memory; give {others}")
        if not scheme.on_ranks and self.ranks != 1:
            others = named("scheme", "shared")
            raise OptionError(f"{which} runs in 1 thread, not {self.ranks}; give {others}")

    @property
    def has_workers(self) -> bool:
        """Whether threads or a Python function play out for the ranks."""
        return self.workers > 0 or self.evaluate is not None

    @property
    def worker_threads(self) -> int:
        """Threads that evaluate for each rank. Python runs one at a time, which costs no simulated time."""
        if self.evaluate is None:
            return self.workers
        return max(1, self.workers) if self.runtime == SIMULATED else 1

    @property
    def evaluators(self) -> int:
        """How many leaves are evaluated at once."""
        return self.ranks * max(1, self.worker_threads)

    @property
    def evaluation(self) -> Evaluate | None:
        """The function that evaluates positions instead of playouts."""
        return load_evaluation(self.evaluate) if isinstance(self.evaluate, str) else self.evaluate

    @property
    def playouts(self) -> int:
        """The playouts of the budget, or the most that there can be."""
        return self.budget.playouts or MAX_VISITS

    def spec(self) -> str:
        """The scheme and its options, as text."""
        return self.scheme.spec(self.options)

    def with_seed(self, seed: int) -> "Plan":
        return replace(self, seed=seed)

    def with_budget(self, budget: Budget) -> "Plan":
        return replace(self, budget=budget)


@dataclass(frozen=True)
class Request:
    """A plan for a position: what a scheme makes its ranks of."""

    position: Position
    plan: Plan
    tree: TreeName | None = None  # that the search goes on with, and leaves for the next one; None: one of its own
    banned: frozenset[int] = frozenset()  # moves that are not to be chosen
    save: Path | None = None  # folder of the last save of the tree: there is what is lost with a rank

    @property
    def cut(self) -> frozenset[int]:
        """The moves that the root must not have: those banned, and those that only the game's history forbids."""
        return self.banned | self.position.forbidden_moves


@cache
def load_evaluation(spec: str) -> Evaluate:
    """The function NAME of FILE.py: it takes an array of states and returns the first player's values."""
    path, colon, name = spec.rpartition(":")
    if not colon:
        raise OptionError(f"{named('evaluate', spec)} is not FILE.py:NAME; give as mynet.py:values")
    function = getattr(load_file(Path(path)), name, None)
    if not callable(function):
        raise OptionError(f"{named('evaluate', spec)}: '{path}' has no function '{name}'; name one that it has")
    found: Evaluate = function
    return found
