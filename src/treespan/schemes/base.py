"""What a scheme is asked, and the driver that runs workers in threads until the budget is spent."""

import threading
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from treespan.core.errors import OptionError
from treespan.core.options import changed_options
from treespan.games.position import Position
from treespan.games.rules import Game
from treespan.search.options import SearchOptions
from treespan.search.result import MoveStatistics, SearchResult, rank_moves
from treespan.search.searcher import FOREVER_NS, RootView, Searcher, merge_moves
from treespan.search.tree import EDGES, MAX_VISITS, NODES, REFUSED, Tree
from treespan.search.work import (
    DEPTH_CUT,
    DEPTH_MAX,
    DEPTH_SUM,
    PLAYOUTS,
    REPORTS,
    RETURNS,
    THIRD_BEST,
    THIRD_BEST_AUDIT,
)

Progress = Callable[[int, float], None]  # playouts done, seconds gone; called a few times a second
# Values, for the first player, of positions given as an array of the game's state records
Evaluate = Callable[[Any], Sequence[float]]
POLL_SECONDS = 0.05
CHECKS = 40  # of a search by playouts: whether its choice is settled
MAX_WORKERS = 256  # of a rank


@dataclass(frozen=True)
class Budget:
    """When a search ends: after so many playouts, or so much time, whichever comes first."""

    playouts: int | None = None
    seconds: float | None = None

    def __post_init__(self) -> None:
        if self.playouts is None and self.seconds is None:
            raise OptionError("a search needs a budget; give --playouts or --seconds")
        if self.playouts is not None and not 1 <= self.playouts <= MAX_VISITS:
            raise OptionError(f"--playouts {self.playouts} is out of range; give 1..{MAX_VISITS}")
        if self.seconds is not None and not 0 < self.seconds < 1e8:
            raise OptionError(f"--seconds {self.seconds:g} is out of range; give more than 0 and less than 1e8")


@dataclass(frozen=True)
class Request:
    """One search to be done."""

    position: Position
    budget: Budget
    seed: int = 1
    threads: int = 1
    ranks: int = 1
    workers: int = 0  # threads of a rank that play out; 0: the rank itself does
    evaluate: Evaluate | None = None  # instead of playouts
    latency: float = 0.0  # seconds that MPI messages are held back, to emulate a slower network
    progress: Progress | None = None

    def __post_init__(self) -> None:
        if not 1 <= self.threads <= 1024:
            raise OptionError(f"--threads {self.threads} is out of range; give 1..1024")
        if not 1 <= self.ranks <= 65536:
            raise OptionError(f"{self.ranks} ranks are out of range; give 1..65536")
        if not 0 <= self.workers <= MAX_WORKERS:
            raise OptionError(f"--workers {self.workers} is out of range; give 0..{MAX_WORKERS}")


class Scheme(SearchOptions):
    """Base of all schemes; a subclass is a frozen dataclass of options that can `search`."""

    name: ClassVar[str]
    summary: ClassVar[str]
    paper: ClassVar[str]
    amaf_with_workers: ClassVar[bool] = True  # whether RAVE goes with threads or functions that play out for ranks

    @classmethod
    def title(cls) -> str:
        return cls.name

    def spec(self, game: Game | None = None) -> str:
        """What makes this scheme; with a game, also where that has defaults of its own."""
        changed = changed_options(self, {"bandit", *game.search_defaults} if game else ())
        return self.name + (":" + changed if changed else "")

    def search(self, request: Request) -> SearchResult:
        """Search the position until the budget is spent. Schemes with ranks need a runtime for that."""
        raise OptionError(f"scheme {self.name} needs a runtime; call treespan.runtimes.run.run_search")


@dataclass
class Run:
    """How a drive went."""

    seconds: float
    load: list[float]  # share of the time that each worker was running
    interrupted: bool


def drive(
    searchers: Sequence[Searcher],
    budget: Budget,
    progress: Progress | None,
    is_settled: Callable[[int], bool] | None = None,
) -> Run:
    """Run each searcher in a thread of its own until the budget is spent or the user interrupts.

    The playouts of the budget are dealt out evenly. Compiled code looks at the clock itself; this thread
    only reports progress, and passes Ctrl-C on. A searcher asks now and then, always after the same number of
    playouts, whether the choice `is_settled` with so many of its playouts to come; if so it ends.
    """
    for searcher in searchers:
        searcher.run(0)  # compiles, or loads from the cache, before the clock starts
        searcher.finish()
    share, rest = divmod(MAX_VISITS if budget.playouts is None else budget.playouts, len(searchers))
    quotas = [share + (i < rest) for i in range(len(searchers))]
    start = time.monotonic_ns()
    deadline = FOREVER_NS if budget.seconds is None else start + int(budget.seconds * 1e9)
    finished = [start] * len(searchers)
    failures: list[BaseException] = []

    def work(index: int) -> None:
        try:
            _run(searchers[index], quotas[index], deadline, is_settled)
        except BaseException as error:  # handed over to the calling thread, which raises it
            failures.append(error)
            for searcher in searchers:
                searcher.stop()
        finished[index] = time.monotonic_ns()
        ended[index].set()

    # Not `join`: interrupted in a join with a timeout, Python 3.11 takes a thread that still runs for ended.
    ended = [threading.Event() for _ in searchers]
    threads = [threading.Thread(target=work, args=(index,), daemon=True) for index in range(len(searchers))]
    interrupted = False
    try:
        for thread in threads:
            thread.start()
        for event in ended:
            has_ended = False
            while not has_ended:
                has_ended = event.wait(POLL_SECONDS)
                if progress:
                    progress(sum(s.playouts for s in searchers), (time.monotonic_ns() - start) * 1e-9)
    except KeyboardInterrupt:
        interrupted = True
    finally:  # whatever ended the wait, no worker is left running
        for searcher in searchers:
            searcher.stop()
        for thread in threads:
            if thread.ident is not None:  # it was started
                thread.join()
    if failures:
        raise failures[0]
    total = max(max(finished) - start, 1)
    return Run(total * 1e-9, [(end - start) / total for end in finished], interrupted)


def _run(searcher: Searcher, quota: int, deadline: int, is_settled: Callable[[int], bool] | None) -> None:
    """Run a searcher until its quota, the time or the question is spent."""
    left, step = quota, quota if is_settled is None else -(-quota // CHECKS)
    while left > 0:
        asked = min(step, left)
        done = searcher.run(asked, deadline)
        left -= done
        if done < asked or (is_settled and is_settled(left)):
            return


def summarise(scheme: Scheme, request: Request, searchers: Sequence[Searcher], run: Run) -> SearchResult:
    """The common result of one or more trees of one position."""
    end_start = time.monotonic_ns()
    for searcher in searchers:
        searcher.finish()
    views: list[RootView] = [searcher.root() for searcher in searchers]
    moves: list[MoveStatistics] = rank_moves(merge_moves(views), scheme.choice)
    counters = np.sum([searcher.counters for searcher in searchers], axis=0)
    used = np.sum([searcher.tree.used for searcher in searchers], axis=0)
    game = request.position.game
    playouts = int(counters[PLAYOUTS])
    optimal_move = getattr(game, "optimal_move", None)
    result = SearchResult(
        game=game.spec(),
        scheme=scheme.spec(),
        seed=request.seed,
        threads=request.threads,
        playouts=playouts,
        seconds=run.seconds,
        move=moves[0].move,
        root_visits=sum(view.visits for view in views),
        moves=moves,
        depth=float(counters[DEPTH_SUM]) / max(playouts, 1),
        max_depth=max(int(searcher.counters[DEPTH_MAX]) for searcher in searchers),
        nodes=int(used[NODES]),
        edges=int(used[EDGES]),
        principal_variation=searchers[0].principal_variation(moves[0].id),
        proven=next((view.proven for view in views if view.proven), None),
        optimal=optimal_move(request.position.state) == moves[0].id if optimal_move else None,
        refused_expansions=int(used[REFUSED]),
        depth_cuts=int(counters[DEPTH_CUT]),
        distinct_leaves=sum(visited_edges(searcher.tree) for searcher in searchers) / max(playouts, 1),
        load=run.load,
        interrupted=run.interrupted,
    )
    if scheme.algorithm == "dfuct":
        _add_dfuct_figures(result, counters, scheme)
    result.end_seconds = (time.monotonic_ns() - end_start) * 1e-9
    return result


def visited_edges(tree: Tree) -> int:
    """Moves of a tree that simulations have taken: each led to a leaf when it was first taken."""
    return int(np.count_nonzero(tree.edge_visits[: int(tree.used[EDGES])]))


def _add_dfuct_figures(result: SearchResult, counters: Any, scheme: Scheme) -> None:
    playouts = max(result.playouts, 1)
    reports = int(counters[REPORTS])
    result.report_levels = reports / playouts
    result.report_jobs = {
        "max_rank": reports,
        "mean_rank": reports / result.threads,
        "per_playout": result.report_levels,
    }
    result.third_best = float(counters[THIRD_BEST]) / max(int(counters[RETURNS]), 1)
    if scheme.audit:
        result.third_best_audit = float(counters[THIRD_BEST_AUDIT]) / playouts
