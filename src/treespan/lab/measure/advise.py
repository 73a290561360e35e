"""Advice: the best scheme for a game on a cluster, found by measured costs and simulated searches.

The time of a playout is measured on this machine. The costs of messages are measured here, too, or come from a network
profile. With these costs every candidate searches the game on a simulated cluster. The advised candidate is the fastest
whose search is as good as the sequential search with equal playouts: its best move's share is at most TOLERANCE lower.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from statistics import fmean
from typing import Any

from treespan.core.errors import OptionError, about
from treespan.core.options import check_range
from treespan.games.position import Position
from treespan.games.rules import Game
from treespan.lab.measure.searches import Search, start_of, unwaited
from treespan.lab.measure.speed import mean_playout_plies, playout_rate
from treespan.lab.measure.speedup import MAX_PROBLEMS
from treespan.lab.store.records import Figures
from treespan.lab.store.runner import OnStep, check_jobs, measure
from treespan.runtimes.network import Network
from treespan.schemes.plan import MAX_WORKERS, SIMULATED, THREADS, Budget, Plan
from treespan.schemes.registry import read_scheme
from treespan.search.options import SearchOptions

TOLERANCE = 0.05
BANDIT = "ucb1"  # all candidates can do it
MAX_RANKS = 4096
PLAYOUTS_PER_CORE = 500  # of a simulated search
MIN_PLAYOUTS, MAX_PLAYOUTS = 20_000, 400_000
# Schemes with a rank for each core, then with a rank for each machine whose other cores play out, then with threads
SINGLE = ("span", "span:jobs=5", "span:jobs=10", "tds-dfuct", "treesplit", "mp-mcts", "slow-tree", "root")
WITH_WORKERS = ("span", "treesplit", "slow-tree", "master-worker", "leaf")
ON_ONE_MACHINE = ("shared",)


@dataclass(frozen=True)
class Candidate:
    scheme: str
    ranks: int  # or threads, if it has one memory
    workers: int  # of each rank

    @property
    def is_threads(self) -> bool:
        return self.scheme in ON_ONE_MACHINE

    def command(self, game: str, policy: str, machines: int = 1) -> str:
        """Return the command line of this search on real threads or ranks; mpiexec starts ranks on several machines."""
        workers = f" --workers {self.workers}" if self.workers else ""
        search = f"treespan search {game} --scheme {self.scheme}{workers} --bandit {BANDIT} --policy {policy}"
        if self.is_threads:
            return f"{search} --threads {self.ranks}"
        return f"{search} --ranks {self.ranks}" if machines == 1 else f"mpiexec -n {self.ranks} {search}"


@dataclass(frozen=True)
class Prediction:
    """The prediction for a candidate: means over the searches."""

    candidate: Candidate
    jobs: float  # playouts that may be under way, for each rank
    speedup: float  # over the sequential search on one core
    best_share: float
    depth: float
    messages_per_playout: float
    distinct_leaves: float | None
    is_good: bool  # its best move's share is near the sequential search's


@dataclass(frozen=True)
class Advice:
    playout_seconds: float
    sequential_share: float  # best move's share in the sequential search with equal playouts
    sequential_depth: float
    playouts: int
    predictions: list[Prediction]  # the advised one first

    @property
    def best(self) -> Prediction:
        return self.predictions[0]


def candidates(machines: int, cores: int, known: set[str]) -> list[Candidate]:
    """Return the candidates that are worth a simulation, of the schemes in `known`."""
    ranks = machines * cores
    found = [Candidate(scheme, ranks, 0) for scheme in SINGLE]
    if 1 < cores <= MAX_WORKERS + 1:
        found += [Candidate(scheme, machines, cores - 1) for scheme in WITH_WORKERS]
    if machines == 1:
        found += [Candidate(scheme, cores, 0) for scheme in ON_ONE_MACHINE]
    return [candidate for candidate in found if candidate.scheme.partition(":")[0] in known]


@dataclass(frozen=True)
class Question:
    """What advice is wanted for. Raises OptionError for a question without an answer, before anything is measured."""

    start: Position  # the position to search
    candidates: list[Candidate]
    policy: str = "light"
    playouts: int = 0  # of every simulated search; 0: as many as keep the cores busy
    searches: int = 3
    machines: int = 1

    def __post_init__(self) -> None:
        check_range("machines", self.machines, 1, MAX_RANKS)
        check_range("searches", self.searches, 1, MAX_PROBLEMS)
        most = self.most_ranks()
        if not 1 <= most <= MAX_RANKS:
            which = f"{most} ranks{about('cores', most // self.machines)}"
            raise OptionError(f"{which} are out of range; give machines and cores for 1..{MAX_RANKS}")
        self.equal_search(1)  # raises for playouts out of range, and for an unknown policy

    @property
    def game(self) -> str:
        """The game's spec."""
        return self.start.game.spec()

    @cached_property
    def _place(self) -> dict[str, Any]:
        return start_of(self.start)

    def most_ranks(self) -> int:
        return max((candidate.ranks for candidate in self.candidates), default=0)

    def playouts_of_each(self) -> int:
        return self.playouts or min(max(PLAYOUTS_PER_CORE * self.most_ranks(), MIN_PLAYOUTS), MAX_PLAYOUTS)

    def equal_search(self, seed: int) -> Search:
        """Return the sequential search with equal playouts, which do not wait."""
        return self._search("sequential", unwaited(self.policy), seed)

    def search(self, candidate: Candidate, seed: int, network: Network) -> Search:
        """Return a candidate's search on a simulated cluster."""
        place = {"runtime": SIMULATED, "ranks": candidate.ranks, "workers": candidate.workers}
        return replace(self._search(candidate.scheme, self.policy, seed, **place), profile=network)

    def _search(self, scheme: str, policy: str, seed: int, **place: Any) -> Search:
        chosen, options = read_scheme(scheme, self.start.game, bandit=BANDIT, policy=policy)
        plan = Plan(chosen, options, Budget(playouts=self.playouts_of_each()), seed, **{"runtime": THREADS, **place})
        return Search(self.start.game, plan, seed, **self._place)


def advise(question: Question, network: Network, jobs: int = 1, on_step: OnStep | None = None) -> Advice:
    """Simulate the candidates. Returns the advice."""
    check_jobs(jobs)
    seeds = range(1, question.searches + 1)
    seconds, network = measured_costs(question.start.game, question.policy, network)
    equal = [question.equal_search(seed) for seed in seeds]
    tried = {one: [question.search(one, seed, network) for seed in seeds] for one in question.candidates}
    found = measure([*equal, *(search for own in tried.values() for search in own)], jobs=jobs, on_step=on_step)
    share = fmean(found[search]["best_share"] for search in equal)
    predictions = []
    for candidate, own in tried.items():
        plan = own[0].plan
        under_way = plan.scheme.under_way(plan) / candidate.ranks
        figures = [found[search] for search in own]
        predictions.append(_predict(candidate, under_way, figures, seconds + network.sequential, share))
    predictions.sort(key=lambda p: (p.is_good, p.speedup if p.is_good else p.best_share), reverse=True)
    depth = fmean(found[search]["depth"] for search in equal)
    return Advice(seconds, share, depth, question.playouts_of_each(), predictions)


def measured_costs(game: Game, policy: str, network: Network) -> tuple[float, Network]:
    """Return the seconds of a playout on this machine, and the network with the measured time of its plies."""
    if policy.startswith("wait"):
        return SearchOptions(policy=policy).wait_seconds(), replace(network, per_ply=0.0)
    seconds = 1.0 / playout_rate(game, 0.3, 3, policy).per_second
    return seconds, replace(network, per_ply=seconds / max(mean_playout_plies(game, policy), 1.0))


def _predict(
    candidate: Candidate, jobs: float, results: Sequence[Figures], sequential: float, share: float
) -> Prediction:
    def mean(name: str) -> float:
        return fmean(float(result[name]) for result in results)

    leaves = [result["distinct_leaves"] for result in results if result["distinct_leaves"] is not None]
    return Prediction(
        candidate=candidate,
        jobs=jobs,
        speedup=mean("playouts_per_second") * sequential,
        best_share=mean("best_share"),
        depth=mean("depth"),
        messages_per_playout=mean("messages_per_playout"),
        distinct_leaves=fmean(leaves) if leaves else None,
        is_good=mean("best_share") >= share - TOLERANCE,
    )
