"""A comparison of all schemes on one problem, with the same number of ranks or threads.

Every scheme searches with the same budget. A row has the scheme's speed, its messages, the size of its tree, its
duplicate work (different leaves that were evaluated, as a share of the playouts), and whether it chooses the move of a
long sequential search. Bandit and policy are the same for all, so that only the schemes differ. The default is UCB1,
because some schemes have no RAVE.
"""

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from functools import cached_property
from statistics import fmean
from typing import Any

from treespan.core.errors import OptionError, TreespanError, named
from treespan.core.options import LARGEST, check_range, split_spec
from treespan.games.position import Position
from treespan.lab.measure.searches import RANK_NAMES, Search, start_of, unwaited
from treespan.lab.measure.speed import mean_playout_plies
from treespan.lab.measure.speedup import MAX_PROBLEMS
from treespan.lab.store.records import Figures
from treespan.lab.store.runner import OnStep, check_jobs, measure, scaled
from treespan.runtimes.launch import require_own_ranks
from treespan.runtimes.network import find_profile
from treespan.runtimes.run import check_fit
from treespan.schemes.plan import DEFAULT_NETWORK, MPI, SIMULATED, THREADS, Budget, Plan
from treespan.schemes.registry import SCHEMES, read_scheme
from treespan.schemes.scheme import Scheme
from treespan.search.options import SearchOptions
from treespan.search.tree import MAX_VISITS

REFERENCE_FACTOR = 10  # playouts of the long search, over those of the sequential search
MAX_REFERENCE = 5_000_000
DEFAULT_PLAYOUTS = 20_000  # of each search
SHORTEST_PLAYOUT = 1e-12  # seconds; in a network profile nothing may take time


@dataclass(frozen=True)
class Contest:
    """The conditions of a comparison. Give playouts or seconds, and 0 for the other."""

    start: Position  # the position to search
    runtime: str
    workers: int
    playouts: int = 0
    seconds: float = 0.0
    schemes: tuple[str, ...] = ()  # specs; none: all schemes
    bandit: str = "ucb1"
    policy: str = "light"
    network: str = "qdr"
    problems: int = 1
    seed: int = 1

    def __post_init__(self) -> None:
        if self.runtime == MPI:
            require_own_ranks(named("ranks", self.workers), f"give {named('simulate')} or {named('threads')}")
        check_range("problems", self.problems, 1, MAX_PROBLEMS)
        check_range("seed", self.seed, -LARGEST // 2, LARGEST // 2)

    def as_json(self) -> dict[str, Any]:
        """Return the options as a dictionary, with the game as its spec."""
        names = "game runtime workers playouts seconds schemes bandit policy network problems seed"
        position = {"position": self._place["diagram"]} if self._place else {}
        return {name: getattr(self, name) for name in names.split()} | position

    @property
    def game(self) -> str:
        """The game's spec."""
        return self.start.game.spec()

    @cached_property
    def _place(self) -> dict[str, Any]:
        return start_of(self.start)

    @property
    def real_time(self) -> str | None:
        """What measures real time, in words; None if all ranks are simulated."""
        return None if self.runtime == SIMULATED else f"a comparison on {RANK_NAMES[self.runtime]}"

    def chosen(self) -> list[str]:
        return list(self.schemes) or [name for name in SCHEMES if name != "sequential"]

    def scheme(self, spec: str) -> tuple[Scheme, SearchOptions]:
        common = {"bandit": self.bandit, "policy": self.policy}
        given = split_spec(spec)[1]  # options in a spec replace those of the contest
        return read_scheme(spec, self.start.game, **{k: v for k, v in common.items() if k not in given})

    def search(self, spec: str, problem: int) -> Search:
        return self._search(*self.scheme(spec), self.runtime, self.workers, problem)

    def base(self, problem: int) -> Search:
        """Return the sequential search with the same budget."""
        scheme, options = self.scheme("sequential")
        if self.runtime != SIMULATED:
            return self._search(scheme, options, THREADS, 1, problem)
        # The network's profile says how long it takes: so it need not wait, and a budget of seconds becomes playouts.
        search = self._search(scheme, replace(options, policy=unwaited(self.policy)), THREADS, 1, problem)
        if not self.seconds:
            return search
        playouts = min(max(1, round(self.seconds * _simulated_rate(self))), MAX_VISITS)
        return replace(search, plan=search.plan.with_budget(Budget(playouts=playouts)))

    def _search(self, scheme: Scheme, options: SearchOptions, runtime: str, ranks: int, problem: int) -> Search:
        budget = Budget(self.playouts or None, self.seconds or None)
        plan = Plan(
            scheme,
            options,
            budget,
            self.seed + problem - 1,
            runtime,
            ranks,
            network=self.network if runtime == SIMULATED else DEFAULT_NETWORK,
        )
        return Search(self.start.game, plan, problem, **self._place)


@dataclass(frozen=True)
class SchemeRow:
    """One scheme: means over the problems."""

    scheme: str
    playouts_per_second: float
    speedup: float  # over the sequential search
    messages_per_playout: float
    bytes_per_playout: float
    nodes: float
    depth: float
    best_share: float
    distinct_leaves: float | None
    agreement: float  # share of the problems in which it chose the long search's move
    optimal: float | None
    load: float


@dataclass(frozen=True)
class Refusal:
    """A scheme that cannot run under these conditions, and why."""

    scheme: str
    reason: str


@dataclass(frozen=True)
class Comparison:
    """The results of a comparison."""

    rows: list[SchemeRow]  # the sequential search first, then the fastest first
    refusals: list[Refusal]
    reference_playouts: int
    reference_moves: list[str]

    def as_json(self) -> dict[str, Any]:
        """Return the results as a dictionary."""
        return asdict(self)


def compare(contest: Contest, jobs: int = 1, on_step: OnStep | None = None) -> Comparison:
    """Run all searches: first the sequential ones, then the long ones and those of the schemes."""
    check_jobs(jobs, contest.real_time)
    problems = range(1, contest.problems + 1)
    specs, refusals = _runnable(contest)
    if not specs:
        raise OptionError(f"no scheme runs like that: {refusals[0].scheme}: {refusals[0].reason}")
    first = 1 / (len(specs) + 2)  # share of the sequential searches
    base_searches = [contest.base(problem) for problem in problems]
    base_figures = measure(base_searches, jobs=jobs, on_step=scaled(on_step, 0.0, first))
    bases = [base_figures[search] for search in base_searches]
    references = [_reference(contest, search, base_figures[search]) for search in base_searches]
    searches = {spec: [contest.search(spec, problem) for problem in problems] for spec in specs}
    units = [*references, *(search for found in searches.values() for search in found)]
    found = measure(units, jobs=jobs, on_step=scaled(on_step, first, 1.0), tolerate=(TreespanError,))
    for reference in references:
        if "error" in found[reference]:
            raise TreespanError(found[reference]["error"])
    moves = [str(found[reference]["move"]) for reference in references]
    rate = _simulated_rate(contest) if contest.runtime == SIMULATED else None
    rates = [rate or float(base["playouts_per_second"]) for base in bases]
    if rate:
        bases = [{**base, "playouts_per_second": rate} for base in bases]
    rows, failures = _rows(searches, found, rates, moves)
    base_row = _row("sequential", bases, rates, moves)
    return Comparison([base_row, *rows], refusals + failures, int(found[references[0]]["playouts"]), moves)


def _reference(contest: Contest, base: Search, figures: Figures) -> Search:
    """Return the long sequential search of a problem. Its move is taken for the right one."""
    short = int(figures["playouts"])
    playouts = max(short, min(REFERENCE_FACTOR * short, MAX_REFERENCE))
    options = replace(base.plan.options, policy=unwaited(contest.policy))
    return replace(base, plan=replace(base.plan, options=options, budget=Budget(playouts=playouts)))


def _rows(
    searches: Mapping[str, Sequence[Search]],
    found: Mapping[Search, Figures],
    rates: Sequence[float],
    moves: Sequence[str],
) -> tuple[list[SchemeRow], list[Refusal]]:
    """Return the rows of schemes, the fastest first, and the schemes that have failed."""
    rows, failures = [], []
    for spec, own in searches.items():
        figures = [found[search] for search in own]
        errors = [str(one["error"]) for one in figures if "error" in one]
        if errors:
            failures.append(Refusal(spec, errors[0]))
        else:
            rows.append(_row(spec, figures, rates, moves))
    return sorted(rows, key=lambda row: row.speedup, reverse=True), failures


def _runnable(contest: Contest) -> tuple[list[str], list[Refusal]]:
    """Return the schemes that can run, and the refusals of others. Raises OptionError for a misspelt name."""
    specs, refusals = [], []
    for spec in contest.chosen():
        read_scheme(spec)
        try:
            check_fit(contest.search(spec, 1).request())
            specs.append(spec)
        except OptionError as error:
            refusals.append(Refusal(spec, error.message))
    return specs, refusals


def _simulated_rate(contest: Contest) -> float:
    """Return the playouts per second of a sequential search on the machine that the network's profile describes."""
    profile, game = find_profile(contest.network), contest.start.game
    wait = contest.scheme("sequential")[1].wait_seconds()
    plies = mean_playout_plies(game, unwaited(contest.policy))
    return 1.0 / max(wait + profile.per_ply * plies + profile.sequential, SHORTEST_PLAYOUT)


def _row(spec: str, results: Sequence[Figures], rates: Sequence[float], moves: Sequence[str]) -> SchemeRow:
    def mean(name: str) -> float:
        return fmean(float(result[name]) for result in results)

    leaves = [result["distinct_leaves"] for result in results]
    optimal = [result["optimal"] for result in results]
    return SchemeRow(
        scheme=spec,
        playouts_per_second=mean("playouts_per_second"),
        speedup=fmean(result["playouts_per_second"] / rate for result, rate in zip(results, rates, strict=True)),
        messages_per_playout=mean("messages_per_playout"),
        bytes_per_playout=mean("bytes_per_playout"),
        nodes=mean("nodes"),
        depth=mean("depth"),
        best_share=mean("best_share"),
        distinct_leaves=None if None in leaves else fmean(leaves),
        agreement=fmean(result["move"] == move for result, move in zip(results, moves, strict=True)),
        optimal=None if None in optimal else fmean(optimal),
        load=mean("load"),
    )
