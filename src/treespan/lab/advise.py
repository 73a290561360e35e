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
from treespan.lab.searches import unwaited
from treespan.lab.speed import mean_playout_plies, playout_rate
from treespan.runtimes.network import Network
from treespan.runtimes.simulated import run_simulated
from treespan.schemes.base import MAX_WORKERS, Budget, Request
from treespan.schemes.distributed import Distributed
from treespan.schemes.registry import make_scheme
from treespan.search.result import SearchResult

TOLERANCE = 0.05
BANDIT = "ucb1"  # which all candidates have
MAX_RANKS = 4096
PLAYOUTS_PER_CORE = 500  # of a simulated search
MIN_PLAYOUTS, MAX_PLAYOUTS = 20_000, 400_000
# Schemes with a rank for every core, then with a rank for every machine whose other cores play out
SINGLE = ("span", "span:jobs=5", "span:jobs=10", "tds-dfuct", "treesplit", "mp-mcts", "slow-tree", "root")
WITH_WORKERS = ("span", "treesplit", "slow-tree", "master-worker", "leaf")

Step = Callable[[str, float], None]  # what is being done, and the share of all that is done


@dataclass(frozen=True)
class Candidate:
    scheme: str
    ranks: int
    workers: int  # of each rank

    def command(self, game: str, policy: str) -> str:
        """What was simulated, as a search on real ranks."""
        workers = f" --workers {self.workers}" if self.workers else ""
        search = f"--bandit {BANDIT} --policy {policy}"
        return f"treespan search {game} --ranks {self.ranks} --scheme {self.scheme}{workers} {search}"


@dataclass(frozen=True)
class Prediction:
    """What a candidate would do: means over the searches."""

    candidate: Candidate
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
    if 2 < cores <= MAX_WORKERS + 1:
        found += [Candidate(scheme, machines, cores - 1) for scheme in WITH_WORKERS if machines > 1]
    return [candidate for candidate in found if candidate.scheme.partition(":")[0] in known]


def advise(
    game: str,
    network: Network,
    tried: list[Candidate],
    policy: str = "light",
    playouts: int = 0,
    searches: int = 3,
    on_step: Step | None = None,
) -> Advice:
    """Simulate the candidates. `playouts` 0: as many as there are cores to be kept busy."""
    chosen = make_game(game)
    most = max((candidate.ranks for candidate in tried), default=0)
    if not 1 <= most <= MAX_RANKS:
        raise OptionError(f"{most} ranks are out of range; give machines and cores for 1..{MAX_RANKS}")
    playouts = playouts or min(max(PLAYOUTS_PER_CORE * most, MIN_PLAYOUTS), MAX_PLAYOUTS)
    options = {"bandit": BANDIT, "policy": policy}
    make_scheme("sequential", chosen, **options)  # refuses a policy that the game does not have
    seconds, network = measured_costs(chosen, policy, network)
    equal = [
        make_scheme("sequential", **{**options, "policy": unwaited(policy)}).search(
            _request(chosen, playouts, seed, 1, 0)
        )
        for seed in range(1, searches + 1)
    ]
    share = fmean(result.best_share for result in equal)
    predictions = []
    for number, candidate in enumerate(tried):
        if on_step:
            on_step(f"{candidate.scheme}, {candidate.ranks} ranks", number / len(tried))
        scheme = make_scheme(candidate.scheme, chosen, **options)
        assert isinstance(scheme, Distributed)
        results = [
            run_simulated(scheme, _request(chosen, playouts, seed, candidate.ranks, candidate.workers), network)
            for seed in range(1, searches + 1)
        ]
        predictions.append(_predict(candidate, results, seconds + network.sequential, share))
    predictions.sort(key=lambda p: (p.is_good, p.speedup if p.is_good else p.best_share), reverse=True)
    return Advice(seconds, share, fmean(result.depth for result in equal), playouts, predictions)


def measured_costs(game: Game, policy: str, network: Network) -> tuple[float, Network]:
    """Seconds of a playout on this machine, and the network with the time that a ply of it takes."""
    if policy.startswith("wait"):
        return make_scheme("sequential", policy=policy).wait_seconds(), replace(network, per_ply=0.0)
    seconds = 1.0 / playout_rate(game, 0.3, 3, policy).per_second
    return seconds, replace(network, per_ply=seconds / max(mean_playout_plies(game, policy), 1.0))


def _request(game: Game, playouts: int, seed: int, ranks: int, workers: int) -> Request:
    return Request(Position(game), Budget(playouts=playouts), seed, ranks=ranks, workers=workers)


def _predict(candidate: Candidate, results: list[SearchResult], sequential: float, share: float) -> Prediction:
    best_share = fmean(result.best_share for result in results)
    leaves = [result.distinct_leaves for result in results if result.distinct_leaves is not None]
    return Prediction(
        candidate=candidate,
        speedup=fmean(result.playouts_per_second for result in results) * sequential,
        best_share=best_share,
        depth=fmean(result.depth for result in results),
        messages_per_playout=fmean(result.messages["per_playout"] for result in results),
        distinct_leaves=fmean(leaves) if leaves else None,
        is_good=best_share >= share - TOLERANCE,
    )
