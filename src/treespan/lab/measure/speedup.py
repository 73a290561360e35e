"""Scaling of a parallel scheme: its speed-up, and the quality of its search beside that.

Each problem is searched once at every number of ranks or threads. The base of both speed-up and quality is one search
by the sequential df-UCT, with equal playouts and the same options of selection. Problems differ in the `seed` of the
game if it has that option (P-game, SameGame), else in the seed of the search.

Speed-up is playouts per second over those of the sequential df-UCT:

- On ranks and threads of this machine: over its rate, measured here for the same problem. If playouts wait
  (`policy=wait=1ms`), those of the base search do not: waiting changes nothing in one thread, and would take K times as
  long. A second, short sequential search, whose playouts do wait for about RATE_SECONDS in all, measures the rate.
- On simulated ranks: over 1 / (playout + `Network.sequential`), both by the network's profile. A playout takes its
  waiting time, and the profile's time for each ply. The number of plies is the mean over playouts from the first
  position, which is a little more than from the leaves of a tree.
"""

import dataclasses
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from statistics import fmean
from typing import Any

from treespan.core.errors import OptionError, about, named
from treespan.core.options import LARGEST, check_range
from treespan.games.position import Position
from treespan.games.rules import Game
from treespan.lab.measure.published import published_speedups
from treespan.lab.measure.searches import RANK_NAMES, Search, start_of, unwaited
from treespan.lab.measure.speed import mean_playout_plies
from treespan.lab.store.records import Figures
from treespan.runtimes.launch import require_own_ranks
from treespan.runtimes.network import find_profile
from treespan.schemes.one_process.sequential import Sequential
from treespan.schemes.plan import DEFAULT_NETWORK, MPI, SIMULATED, THREADS, Budget, Plan
from treespan.schemes.scheme import Scheme
from treespan.search.options import SearchOptions

MAX_PROBLEMS = 10_000
RATE_SECONDS = 1.0  # of playouts that wait, to measure the rate of the sequential search
MIN_RATE_PLAYOUTS = 100


@dataclass(frozen=True)
class Scaling:
    """The conditions of a measurement: a scheme at several numbers of ranks or threads."""

    game: Game
    scheme: Scheme
    options: SearchOptions
    points: tuple[tuple[str, int], ...]  # runtime and number of ranks or threads
    playouts: int
    network: str = "qdr"
    problems: int = 10
    seed: int = 1
    start: Position | None = None  # the position to search; None: the game's first one

    def __post_init__(self) -> None:
        if not self.points:
            numbers = f"{named('ranks')}, {named('threads')} or {named('simulate')}"
            raise OptionError(f"nothing to measure{about('simulate')}; give {numbers}, each with its numbers of them")
        for runtime, count in self.points:
            if runtime == MPI:
                remedy = f"give {named('simulate')} or {named('threads')}"
                require_own_ranks(named("ranks", count), remedy)
        find_profile(self.network)
        check_range("problems", self.problems, 1, MAX_PROBLEMS)
        check_range("seed", self.seed, -LARGEST // 2, LARGEST // 2)
        for runtime, workers in self.points:
            self.search(runtime, workers, 1)  # raises for numbers out of range

    @property
    def real_time(self) -> str | None:
        """What measures real time, in words; None if all ranks are simulated."""
        real = dict.fromkeys(RANK_NAMES[runtime] for runtime, _ in self.points if runtime != SIMULATED)
        return f"speed-up on {' and '.join(real)}" if real else None

    @property
    def spec(self) -> str:
        return self.scheme.spec(self.options)

    @property
    def base(self) -> SearchOptions:
        """The options of the sequential df-UCT: the scheme's. With RAVE, for which there is no df-UCT, it is UCT."""
        algorithm = "uct" if self.options.uses_amaf() else "dfuct"
        return replace(self.options, algorithm=algorithm, policy="light")

    @cached_property
    def _place(self) -> dict[str, Any]:
        return start_of(self.start) if self.start is not None else {}

    def searches(self) -> list[Search]:
        """Return all searches, problem by problem, so that an interrupted run has complete problems."""
        found: list[Search] = []
        for problem in range(1, self.problems + 1):
            found.append(self.equal_search(problem))
            if any(runtime != "simulated" for runtime, _ in self.points):
                found.append(self.rate_search(problem))
            found += [self.search(runtime, workers, problem) for runtime, workers in self.points]
        return list(dict.fromkeys(found))

    def search(self, runtime: str, workers: int, problem: int) -> Search:
        """Return the parallel search of a problem."""
        return self._search(self.scheme, self.options, runtime, workers, self.playouts, problem)

    def equal_search(self, problem: int) -> Search:
        """Return the sequential search with equal playouts, which do not wait: the base of quality."""
        return self._search(Sequential(), self.base, THREADS, 1, self.playouts, problem)

    def rate_search(self, problem: int) -> Search:
        """Return the sequential search whose rate is the base of speed-ups on this machine."""
        wait = self.options.wait_seconds()
        if wait == 0.0:
            return self.equal_search(problem)
        playouts = min(self.playouts, max(MIN_RATE_PLAYOUTS, round(RATE_SECONDS / wait)))
        options = replace(self.base, policy=self.options.policy)
        return self._search(Sequential(), options, THREADS, 1, playouts, problem)

    def _search(
        self, scheme: Scheme, options: SearchOptions, runtime: str, ranks: int, playouts: int, problem: int
    ) -> Search:
        game: Any = self.game  # a dataclass
        seed = self.seed
        if not self._place and "seed" in {field.name for field in dataclasses.fields(game)}:
            game = replace(game, seed=game.seed + problem - 1)
        else:
            seed += problem - 1
        plan = Plan(
            scheme,
            options,
            Budget(playouts=playouts),
            seed,
            runtime,
            ranks,
            network=self.network if runtime == SIMULATED else DEFAULT_NETWORK,
        )
        return Search(game, plan, problem, **self._place)


@dataclass(frozen=True)
class ScalingRow:
    """The results at one number of ranks or threads: means over the problems, beside those of the sequential search."""

    runtime: str
    workers: int
    problems: int
    playouts_per_second: float
    speedup: float
    speedup_min: float
    speedup_max: float
    efficiency: float
    best_share: float
    sequential_best_share: float
    depth: float
    sequential_depth: float
    optimal: float | None  # share of the problems whose optimal move was chosen; None: the game does not know it
    sequential_optimal: float | None
    messages_per_playout: float
    reports_per_playout: float
    load: float
    end_seconds: float
    wall_seconds: float  # of one search, simulated or not
    paper_speedup: float | None


def rows(plan: Scaling, found: Mapping[Search, Figures]) -> list[ScalingRow]:
    """Return the table of results, from the figures of all its searches."""
    problems = range(1, plan.problems + 1)
    equals = [found[plan.equal_search(problem)] for problem in problems]
    published = published_speedups(plan.game.spec(), plan.spec)
    table = []
    for runtime, workers in plan.points:
        results = [found[plan.search(runtime, workers, problem)] for problem in problems]
        if runtime == "simulated":
            base_rates = [simulated_base_rate(plan)] * plan.problems
        else:
            base_rates = [found[plan.rate_search(problem)]["playouts_per_second"] for problem in problems]
        speedups = [result["playouts_per_second"] / base for result, base in zip(results, base_rates, strict=True)]
        table.append(
            ScalingRow(
                runtime=runtime,
                workers=workers,
                problems=plan.problems,
                playouts_per_second=_mean(results, "playouts_per_second"),
                speedup=fmean(speedups),
                speedup_min=min(speedups),
                speedup_max=max(speedups),
                efficiency=fmean(speedups) / workers,
                best_share=_mean(results, "best_share"),
                sequential_best_share=_mean(equals, "best_share"),
                depth=_mean(results, "depth"),
                sequential_depth=_mean(equals, "depth"),
                optimal=_share(results, "optimal"),
                sequential_optimal=_share(equals, "optimal"),
                messages_per_playout=_mean(results, "messages_per_playout"),
                reports_per_playout=_mean(results, "reports_per_playout"),
                load=_mean(results, "load"),
                end_seconds=_mean(results, "end_seconds"),
                wall_seconds=_mean(results, "wall_seconds"),
                paper_speedup=published.get(workers),
            )
        )
    return table


def simulated_base_rate(plan: Scaling) -> float:
    """Return the playouts per second of the sequential df-UCT on the machine that the network's profile describes."""
    profile = find_profile(plan.network)
    plies = mean_playout_plies(plan.game, unwaited(plan.options.policy))
    playout = plan.options.wait_seconds() + profile.per_ply * plies
    return 1.0 / max(playout + profile.sequential, 1e-12)  # in a profile nothing may take time


def full_trees(found: Mapping[Search, Figures]) -> int:
    """Return how many searches ran out of room in their tree."""
    return sum(bool(figures["tree_full"]) for figures in found.values())


def _mean(results: Sequence[Figures], name: str) -> float:
    return fmean(result[name] for result in results)


def _share(results: Sequence[Figures], name: str) -> float | None:
    return None if results[0][name] is None else _mean(results, name)
