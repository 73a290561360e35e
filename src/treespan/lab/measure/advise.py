"""Which scheme to use for a game on so many machines: measured costs, simulated searches.

The time of a playout is measured on this machine; what messages cost is measured here, too, or taken from a network
profile. With these costs every candidate searches the game on a simulated cluster. Advice is the fastest candidate
whose search is as good as the sequential one's at equal playouts: its best move's share at most TOLERANCE lower.
"""

from collections.abc import Callable
from dataclasses import dataclass, replace
from statistics import fmean

from treespan.core.errors import OptionError
from treespan.games.position import Position
from treespan.games.registry import make_game
from treespan.games.rules import Game
from treespan.lab.measure.searches import unwaited
from treespan.lab.measure.speed import mean_playout_plies, playout_rate
from treespan.runtimes.network import Network
from treespan.runtimes.run import run_search
from treespan.runtimes.simulated import run_simulated
from treespan.schemes.plan import MAX_WORKERS, SIMULATED, THREADS, Budget, Plan, Request
from treespan.schemes.registry import read_scheme
from treespan.search.options import SearchOptions
from treespan.search.result import SearchResult

TOLERANCE = 0.05
BANDIT = "ucb1"  # which all candidates have
MAX_RANKS = 4096
PLAYOUTS_PER_CORE = 500  # of a simulated search
MIN_PLAYOUTS, MAX_PLAYOUTS = 20_000, 400_000
# Schemes with a rank for every core, then with a rank for every machine whose other cores play out, then with threads
SINGLE = ("span", "span:jobs=5", "span:jobs=10", "tds-dfuct", "treesplit", "mp-mcts", "slow-tree", "root")
WITH_WORKERS = ("span", "treesplit", "slow-tree", "master-worker", "leaf")
ON_ONE_MACHINE = ("shared",)

Step = Callable[[str, float], None]  # what is being done, and the share of all that is done


@dataclass(frozen=True)
class Candidate:
    scheme: str
    ranks: int  # or threads, if it has one memory
    workers: int  # of each rank

    @property
    def is_threads(self) -> bool:
        return self.scheme in ON_ONE_MACHINE

    def command(self, game: str, policy: str, machines: int = 1) -> str:
        """What was simulated, as a search on real ranks or threads. mpiexec starts ranks of several machines."""
        workers = f" --workers {self.workers}" if self.workers else ""
        search = f"treespan search {game} --scheme {self.scheme}{workers} --bandit {BANDIT} --policy {policy}"
        if self.is_threads:
            return f"{search} --threads {self.ranks}"
        return f"{search} --ranks {self.ranks}" if machines == 1 else f"mpiexec -n {self.ranks} {search}"


@dataclass(frozen=True)
class Prediction:
    """What a candidate would do: means over the searches."""

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
    sequential_share: float  # at as many playouts
    sequential_depth: float
    playouts: int
    predictions: list[Prediction]  # the advised one first

    @property
    def best(self) -> Prediction:
        return self.predictions[0]


def candidates(machines: int, cores: int, known: set[str]) -> list[Candidate]:
    """What is worth a simulation, among the schemes that there are."""
    ranks = machines * cores
    found = [Candidate(scheme, ranks, 0) for scheme in SINGLE]
    if 1 < cores <= MAX_WORKERS + 1:
        found += [Candidate(scheme, machines, cores - 1) for scheme in WITH_WORKERS]
    if machines == 1:
        found += [Candidate(scheme, cores, 0) for scheme in ON_ONE_MACHINE]
    return [candidate for candidate in found if candidate.scheme.partition(":")[0] in known]


@dataclass(frozen=True)
class Question:
    """What advice is asked for; one that has no answer is refused before anything is measured."""

    game: str
    candidates: list[Candidate]
    policy: str = "light"
    playouts: int = 0  # of every simulated search; 0: as many as keep the cores busy
    searches: int = 3
    machines: int = 1

    def __post_init__(self) -> None:
        most = self.most_ranks()
        if not 1 <= most <= MAX_RANKS:
            raise OptionError(f"{most} ranks are out of range; give machines and cores for 1..{MAX_RANKS}")
        self.request("sequential", 1)  # refuses a number of playouts that cannot be, and an unknown policy

    def most_ranks(self) -> int:
        return max((candidate.ranks for candidate in self.candidates), default=0)

    def playouts_of_each(self) -> int:
        return self.playouts or min(max(PLAYOUTS_PER_CORE * self.most_ranks(), MIN_PLAYOUTS), MAX_PLAYOUTS)

    def request(self, scheme: str, seed: int, runtime: str = THREADS, ranks: int = 1, workers: int = 0) -> Request:
        game, budget = make_game(self.game), Budget(playouts=self.playouts_of_each())
        policy = self.policy if runtime == SIMULATED else unwaited(self.policy)
        chosen, options = read_scheme(scheme, game, bandit=BANDIT, policy=policy)
        return Request(Position(game), Plan(chosen, options, budget, seed, runtime, ranks, workers))


def advise(question: Question, network: Network, on_step: Step | None = None) -> Advice:
    """Simulate the candidates."""
    seeds, game = range(1, question.searches + 1), make_game(question.game)
    seconds, network = measured_costs(game, question.policy, network)
    equal = [_completed(run_search(question.request("sequential", seed))) for seed in seeds]
    share = fmean(result.best_share for result in equal)
    predictions = []
    for number, candidate in enumerate(question.candidates):
        if on_step:
            on_step(f"{candidate.scheme}, {candidate.ranks} ranks", number / len(question.candidates))
        place = (SIMULATED, candidate.ranks, candidate.workers)
        requests = [question.request(candidate.scheme, seed, *place) for seed in seeds]
        results = [_completed(run_simulated(request, network=network)) for request in requests]
        plan = requests[0].plan
        jobs = plan.scheme.under_way(plan) / candidate.ranks
        predictions.append(_predict(candidate, jobs, results, seconds + network.sequential, share))
    predictions.sort(key=lambda p: (p.is_good, p.speedup if p.is_good else p.best_share), reverse=True)
    depth = fmean(result.depth for result in equal)
    return Advice(seconds, share, depth, question.playouts_of_each(), predictions)


def _completed(result: SearchResult | None) -> SearchResult:
    """Ctrl-C lets a search end with what it has, which is no figure to compare."""
    assert result is not None  # it is not on MPI ranks
    if result.interrupted:
        raise KeyboardInterrupt
    return result


def measured_costs(game: Game, policy: str, network: Network) -> tuple[float, Network]:
    """Seconds of a playout on this machine, and the network with the time that a ply of it takes."""
    if policy.startswith("wait"):
        return SearchOptions(policy=policy).wait_seconds(), replace(network, per_ply=0.0)
    seconds = 1.0 / playout_rate(game, 0.3, 3, policy).per_second
    return seconds, replace(network, per_ply=seconds / max(mean_playout_plies(game, policy), 1.0))


def _predict(
    candidate: Candidate, jobs: float, results: list[SearchResult], sequential: float, share: float
) -> Prediction:
    best_share = fmean(result.best_share for result in results)
    leaves = [result.distinct_leaves for result in results if result.distinct_leaves is not None]
    return Prediction(
        candidate=candidate,
        jobs=jobs,
        speedup=fmean(result.playouts_per_second for result in results) * sequential,
        best_share=best_share,
        depth=fmean(result.depth for result in results),
        messages_per_playout=fmean(result.messages["per_playout"] for result in results),
        distinct_leaves=fmean(leaves) if leaves else None,
        is_good=best_share >= share - TOLERANCE,
    )
