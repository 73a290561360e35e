"""How a parallel scheme scales, with the quality of its search beside the speed.

Each problem is searched once at every number of workers, and once by the sequential df-UCT with as many playouts and
the same options of selection: the base of both speed-up and quality. A problem is another `seed` of the game where it
has that option (P-game, SameGame), else another seed of the search.

Speed-up is playouts a second over those of the sequential df-UCT:

- on ranks and threads of this machine: over its rate measured on this machine, for the same problem. Where playouts
  wait (`policy=wait=1ms`) the search of equal playouts does not: waiting changes nothing in one thread, and would take
  K times as long. Its rate is that of a second, short search whose playouts do wait, for about RATE_SECONDS.
- on simulated ranks: over 1 / (playout + `Network.sequential`), both of the network's profile. A playout takes its
  waiting time and the profile's time a ply; plies are the mean of playouts from the first position, which is a little
  more than from the leaves of a tree.
"""

import dataclasses
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from statistics import fmean
from typing import Any

from treespan.core.errors import OptionError, named
from treespan.core.options import LARGEST, check_range
from treespan.games.position import Position
from treespan.games.rules import Game
from treespan.lab.measure.published import published_speedups
from treespan.lab.measure.searches import RANK_NAMES, Search, start_of, unwaited
from treespan.lab.measure.speed import mean_playout_plies
from treespan.lab.store.records import Figures
from treespan.runtimes.launch import inside_mpi
from treespan.runtimes.network import find_profile
from treespan.schemes.one_process.sequential import Sequential
from treespan.schemes.plan import DEFAULT_NETWORK, SIMULATED, THREADS, Budget, Plan
from treespan.schemes.scheme import Scheme
from treespan.search.options import SearchOptions

MAX_PROBLEMS = 10_000
RATE_SECONDS = 1.0  # of waited playouts, to measure the rate of the sequential search
MIN_RATE_PLAYOUTS = 100


@dataclass(frozen=True)
class Scaling:
    """What is to be measured: a scheme at several numbers of ranks."""

    game: Game
    scheme: Scheme
    options: SearchOptions
    points: tuple[tuple[str, int], ...]  # runtime and number of workers
    playouts: int
    network: str = "qdr"
    problems: int = 10
    seed: int = 1
    start: Position | None = None  # what is searched; None: the game's first position

    def __post_init__(self) -> None:
        if not self.points:
            examples = f"{named('ranks', '1,2,4')}, {named('threads', '1,2,4')} or {named('simulate', '1,12,144,1200')}"
            raise OptionError(f"nothing to measure; give {examples}")
        if inside_mpi():
            raise OptionError("speedup starts its own ranks; start it without mpiexec or srun")
        find_profile(self.network)
        check_range("problems", self.problems, 1, MAX_PROBLEMS)
        check_range("seed", self.seed, -LARGEST // 2, LARGEST // 2)
        for runtime, workers in self.points:
            self.search(runtime, workers, 1)  # refuses numbers that are out of range

    @property
    def real_time(self) -> str | None:
        """What measures real time, in words; None where all ranks are simulated."""
        real = dict.fromkeys(RANK_NAMES[runtime] for runtime, _ in self.points if runtime != SIMULATED)
        return f"speed-up on {' and '.join(real)}" if real else None

    @property
    def spec(self) -> str:
        return self.scheme.spec(self.options)

    @property
    def base(self) -> SearchOptions:
        """Of the sequential df-UCT: the scheme's options of selection. (RAVE has no df-UCT: UCT then.)"""
        algorithm = "uct" if self.options.uses_amaf() else "dfuct"
        return replace(self.options, algorithm=algorithm, policy="light")

    @cached_property
    def _place(self) -> dict[str, Any]:
        return start_of(self.start) if self.start is not None else {}

    def searches(self) -> list[Search]:
        """All searches, problem by problem, so that a run that was cut short has whole problems."""
        found: list[Search] = []
        for problem in range(1, self.problems + 1):
            found.append(self.equal_search(problem))
            if any(runtime != "simulated" for runtime, _ in self.points):
                found.append(self.rate_search(problem))
            found += [self.search(runtime, workers, problem) for runtime, workers in self.points]
        return list(dict.fromkeys(found))

    def search(self, runtime: str, workers: int, problem: int) -> Search:
        """The parallel search of a problem."""
        return self._search(self.scheme, self.options, runtime, workers, self.playouts, problem)

    def equal_search(self, problem: int) -> Search:
        """The sequential search of as many playouts, which do not wait: the base of quality."""
        return self._search(Sequential(), self.base, THREADS, 1, self.playouts, problem)

    def rate_search(self, problem: int) -> Search:
        """The sequential search whose rate is the base of speed-ups on this machine."""
        wait = self.options.wait_seconds()
        if wait == 0.0:
            return self.equal_search(problem)
        playouts = min(self.playouts, max(MIN_RATE_PLAYOUTS, round(RATE_SECONDS / wait)))
        options = replace(self.base, policy=self.options.policy)
        return self._search(Sequential(), options, THREADS, 1, playouts, problem)

    def _search(
        self, scheme: Scheme, options: SearchOptions, runtime: str, ranks: int, playouts: int, problem: int
    ) -> Search:
        game: Any = self.game  # each game is a dataclass with options of its own
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
    """One number of workers: means over the problems, the sequential search's beside."""

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
    optimal: float | None  # share of the problems whose optimal move was chosen, where the game knows it
    sequential_optimal: float | None
    messages_per_playout: float
    reports_per_playout: float
    load: float
    end_seconds: float
    wall_seconds: float  # of one search, simulated or not
    paper_speedup: float | None


def rows(plan: Scaling, found: Mapping[Search, Figures]) -> list[ScalingRow]:
    """The table of what was measured, from the figures of all its searches."""
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
    """Playouts a second of the sequential df-UCT on the machine that the network's profile describes."""
    profile = find_profile(plan.network)
    plies = mean_playout_plies(plan.game, unwaited(plan.options.policy))
    playout = plan.options.wait_seconds() + profile.per_ply * plies
    return 1.0 / max(playout + profile.sequential, 1e-12)  # a profile may say that nothing takes time


def full_trees(found: Mapping[Search, Figures]) -> int:
    """How many searches ran out of room in their tree."""
    return sum(bool(figures["tree_full"]) for figures in found.values())


def _mean(results: Sequence[Figures], name: str) -> float:
    return fmean(result[name] for result in results)


def _share(results: Sequence[Figures], name: str) -> float | None:
    return None if results[0][name] is None else _mean(results, name)
