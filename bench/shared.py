"""Speed-up and search quality of the scheme `shared` on the cores of this machine.

    .venv/bin/python bench/shared.py [--threads 1,2,4,8,16] [--games go:size=9 go:size=19] [--scheme shared:...]

Each search has `--playouts` simulations for each of its threads, so that all take the same time at perfect
efficiency. Speed is the best of `--rounds` rounds, in which the searches take turns with the sequential one. `CPU` is
the processor time of a simulation in relation to the sequential one's: what sharing costs, also where other work on the
machine keeps the threads from running at the same time. The best move's share of the visits and the depth stand beside
those of the sequential search with as many playouts, each the mean over the rounds, which have different seeds. The
sequential search has the same options, such as bandit and policy. `apart` is the speed-up of as many sequential
searches at once, each with a tree of its own: how much of so many processors this machine has.
"""

import argparse
import time
from collections import defaultdict
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field

from rich.console import Console

from treespan.core.options import split_spec
from treespan.core.tables import plain_table
from treespan.games.position import Position
from treespan.games.registry import make_game
from treespan.runtimes.plan import make_plan
from treespan.schemes.plan import Request
from treespan.search.result import SearchResult


def search(game: str, scheme: str, threads: int, playouts: int, seed: int) -> SearchResult:
    plan = make_plan(scheme=scheme, threads=threads, playouts=playouts, seed=seed)
    return plan.scheme.search_here(Request(Position(make_game(game)), plan))


@dataclass
class Figures:
    """What the rounds of one search gave."""

    rates: list[float] = field(default_factory=list)  # simulations a second
    cpu: list[float] = field(default_factory=list)  # seconds of processor time a simulation
    shares: list[float] = field(default_factory=list)  # of the best move
    depths: list[float] = field(default_factory=list)

    def add(self, game: str, scheme: str, threads: int, playouts: int, seed: int) -> None:
        before = time.process_time()
        result = search(game, scheme, threads, playouts, seed)
        self.cpu.append((time.process_time() - before) / result.playouts)
        self.rates.append(result.playouts_per_second)
        self.shares.append(result.best_share)
        self.depths.append(result.depth)

    def quality(self) -> tuple[str, str]:
        return f"{sum(self.shares) / len(self.shares):.1%}", f"{sum(self.depths) / len(self.depths):.2f}"


def independent_rate(game: str, scheme: str, threads: int, playouts: int, seed: int) -> float:
    """Simulations a second of as many searches at once as there are threads, with nothing in common."""

    def seconds(number: int) -> float:
        return search(game, scheme, 1, playouts, seed + number).seconds

    with ThreadPoolExecutor(threads) as pool:
        return threads * playouts / max(pool.map(seconds, range(threads)))


def without_threads(scheme: str) -> str:
    """The sequential search with the options that it shares with this scheme."""
    _, options = split_spec(scheme)
    return "sequential:" + ",".join(f"{k}={v}" for k, v in options.items() if k not in ("virtual_loss", "update"))


def measure(game: str, scheme: str, threads: list[int], playouts: int, rounds: int) -> dict[tuple[str, int], Figures]:
    """Figures of the scheme by threads, of the sequential search with as many playouts, and of independent ones."""
    figures: dict[tuple[str, int], Figures] = defaultdict(Figures)
    sequential = without_threads(scheme)
    for name in (sequential, scheme):
        Figures().add(game, name, 1, 1, 0)  # compiles
    for seed in range(1, rounds + 1):
        for count in threads:
            figures["sequential", count].add(game, sequential, 1, count * playouts, seed)
            figures["shared", count].add(game, scheme, count, count * playouts, seed)
            figures["independent", count].rates.append(independent_rate(game, sequential, count, playouts, seed))
    return figures


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--threads", default="1,2,4,8,16", help="numbers of threads, as 1,2,4")
    parser.add_argument("--games", nargs="+", default=["go:size=9", "go:size=19"])
    parser.add_argument("--scheme", default="shared")
    parser.add_argument("--playouts", type=int, default=50_000, help="for each thread")
    parser.add_argument("--rounds", type=int, default=5)
    arguments = parser.parse_args()
    threads = [int(part) for part in arguments.threads.split(",")]
    columns = ("simulations/s", "speed-up", "apart", "efficiency", "CPU", "share", "sequential", "depth", "sequential")
    table = plain_table("game", "threads", *columns, right_from=1)
    for game in arguments.games:
        figures = measure(game, arguments.scheme, threads, arguments.playouts, arguments.rounds)
        sequential = [rate for (name, _), row in figures.items() if name == "sequential" for rate in row.rates]
        for count in threads:
            row, equal = figures["shared", count], figures["sequential", count]
            speedup = max(row.rates) / max(sequential)
            (share, depth), (equal_share, equal_depth) = row.quality(), equal.quality()
            table.add_row(
                game,
                str(count),
                f"{max(row.rates):,.0f}",
                f"{speedup:.2f}",
                f"{max(figures['independent', count].rates) / max(sequential):.2f}",
                f"{speedup / count:.0%}",
                f"{min(row.cpu) / min(equal.cpu):.3f}",
                share,
                equal_share,
                depth,
                equal_depth,
            )
    Console(width=140).print(table)


if __name__ == "__main__":
    main()
