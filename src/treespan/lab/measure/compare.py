"""All schemes on one problem, on the same number of workers: what each of them makes of it.

Every scheme searches with the same budget. Beside its speed stand what it sends, the tree that it builds, its duplicate
work (different leaves that were evaluated, as a share of the playouts) and whether it chooses the move of a long
sequential search. Bandit and policy are the same for all, so that only the parallel scheme differs: UCB1 unless told
otherwise, for some schemes have no RAVE.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from statistics import fmean

from treespan.core.errors import OptionError, TreespanError
from treespan.core.options import split_spec
from treespan.games.registry import make_game
from treespan.lab.measure.searches import Search, run, unwaited
from treespan.lab.measure.speed import mean_playout_plies
from treespan.lab.store.records import Figures
from treespan.runtimes.network import find_profile
from treespan.runtimes.run import check_fit
from treespan.schemes.plan import DEFAULT_NETWORK, SIMULATED, THREADS, Budget, Plan
from treespan.schemes.registry import SCHEMES, read_scheme
from treespan.schemes.scheme import Scheme
from treespan.search.options import SearchOptions
from treespan.search.tree import MAX_VISITS

REFERENCE_FACTOR = 10  # the long search has so many times the playouts of the sequential search
MAX_REFERENCE = 5_000_000
DEFAULT_PLAYOUTS = 20_000  # of each search
SHORTEST_PLAYOUT = 1e-12  # seconds: a profile may say that nothing takes time

Step = Callable[[str, float], None]  # what is being done, and the share of all that is done


@dataclass(frozen=True)
class Contest:
    """What is compared. Give playouts or seconds, and 0 for the other."""

    game: str
    runtime: str
    workers: int
    playouts: int = 0
    seconds: float = 0.0
    schemes: tuple[str, ...] = ()  # none: all that there are
    bandit: str = "ucb1"
    policy: str = "light"
    network: str = "qdr"
    problems: int = 1
    seed: int = 1

    def chosen(self) -> list[str]:
        return list(self.schemes) or [name for name in SCHEMES if name != "sequential"]

    def scheme(self, spec: str) -> tuple[Scheme, SearchOptions]:
        common = {"bandit": self.bandit, "policy": self.policy}
        given = split_spec(spec)[1]  # what a spec says itself holds for it
        return read_scheme(spec, make_game(self.game), **{k: v for k, v in common.items() if k not in given})

    def search(self, spec: str, problem: int) -> Search:
        return self._search(*self.scheme(spec), self.runtime, self.workers, problem)

    def base(self, problem: int) -> Search:
        """The sequential search with the same budget."""
        scheme, options = self.scheme("sequential")
        if self.runtime != SIMULATED:
            return self._search(scheme, options, THREADS, 1, problem)
        # Its time is that of the profile's machine: it need not wait, and seconds are playouts of that machine.
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
        return Search(self.game, plan, problem)


@dataclass(frozen=True)
class Row:
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
    """A scheme that does not run like that, and why."""

    scheme: str
    reason: str


@dataclass(frozen=True)
class Comparison:
    rows: list[Row]  # the sequential search first
    refusals: list[Refusal]
    reference_playouts: int
    reference_moves: list[str]


def compare(contest: Contest, on_step: Step | None = None) -> Comparison:
    """Do all searches, one after the other."""
    problems = range(1, contest.problems + 1)
    specs, refusals = _runnable(contest)
    if not specs:
        raise OptionError(f"no scheme runs like that: {refusals[0].scheme}: {refusals[0].reason}")
    total, done = contest.problems * (len(specs) + 2), 0

    def step(search: Search) -> Figures:
        nonlocal done
        if on_step:
            on_step(search.describe(), done / total)
        done += 1
        return run(search)

    bases, references = [], []
    for problem in problems:
        base = contest.base(problem)
        bases.append(step(base))
        short = int(bases[-1]["playouts"])
        playouts = max(short, min(REFERENCE_FACTOR * short, MAX_REFERENCE))
        options = replace(base.plan.options, policy=unwaited(contest.policy))
        long = replace(base.plan, options=options, budget=Budget(playouts=playouts))
        references.append(step(replace(base, plan=long)))
    moves = [str(reference["move"]) for reference in references]
    rate = _simulated_rate(contest) if contest.runtime == "simulated" else None
    rates = [rate or float(base["playouts_per_second"]) for base in bases]
    if rate:
        bases = [{**base, "playouts_per_second": rate} for base in bases]
    rows = [_row("sequential", bases, rates, moves)]
    for spec in specs:
        try:
            results = [step(contest.search(spec, problem)) for problem in problems]
        except TreespanError as error:
            refusals.append(Refusal(spec, error.message))
            continue
        rows.append(_row(spec, results, rates, moves))
    return Comparison(rows, refusals, int(references[0]["playouts"]), moves)


def _runnable(contest: Contest) -> tuple[list[str], list[Refusal]]:
    """The schemes that take these options; mistakes in their names are told at once."""
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
    """Playouts a second of one sequential search on the machine that the network's profile describes."""
    profile, game = find_profile(contest.network), make_game(contest.game)
    wait = contest.scheme("sequential")[1].wait_seconds()
    plies = mean_playout_plies(game, unwaited(contest.policy))
    return 1.0 / max(wait + profile.per_ply * plies + profile.sequential, SHORTEST_PLAYOUT)


def _row(spec: str, results: Sequence[Figures], rates: Sequence[float], moves: Sequence[str]) -> Row:
    def mean(name: str) -> float:
        return fmean(float(result[name]) for result in results)

    leaves = [result["distinct_leaves"] for result in results]
    optimal = [result["optimal"] for result in results]
    return Row(
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
