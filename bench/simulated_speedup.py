"""Speed-up *and* search quality of the TDS schemes on simulated clusters, beside the sequential search.

    .venv/bin/python bench/simulated_speedup.py [--playouts 1000000] [--trees 3] [--branching 8] [--wait 1ms]

Speed-up is over the sequential df-UCT of the profile (playouts x (wait + tree work)). `optimal` counts the trees in
which the branch of value 0 was chosen, `share` is the chosen move's share of the root's visits: a search that has lost
its sense of direction spreads its visits evenly, however fast it is. The sequential search has as many playouts.
`M steps/s` is the simulator's own speed, reckoned as two steps for each message and each playout.
"""

import argparse
import time

import numpy as np
from rich.console import Console
from rich.progress import track

from treespan.games.position import Position
from treespan.games.registry import make_game
from treespan.runtimes.network import find_profile
from treespan.runtimes.run import run_search
from treespan.schemes.base import Budget, Request
from treespan.schemes.registry import make_scheme
from treespan.search.result import SearchResult
from treespan.terminal import plain_table

SCHEMES = ("tds-uct", "tds-uct:dedicated_root=yes", "tds-dfuct:grant=0", "tds-dfuct:grant=100", "tds-dfuct:grant=20")


def search(scheme: str, ranks: int, tree: int, arguments: argparse.Namespace) -> SearchResult:
    position = Position(make_game(f"pgame:branching={arguments.branching},seed={tree}"))
    runtime = "simulated" if ranks else "threads"
    policy = {"policy": f"wait={arguments.wait}"} if ranks else {}
    chosen = make_scheme(scheme, nodes="40000000", **policy)
    request = Request(position, Budget(playouts=arguments.playouts), ranks=max(ranks, 1))
    result = run_search(chosen, request, runtime, arguments.network)
    assert result is not None
    return result


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--playouts", type=int, default=1_000_000)
    parser.add_argument("--trees", type=int, default=3)
    parser.add_argument("--branching", type=int, default=8)
    parser.add_argument("--wait", default="1ms")
    parser.add_argument("--ranks", type=int, nargs="+", default=[12, 144, 1200])
    parser.add_argument("--network", default="qdr")
    arguments = parser.parse_args()
    profile = find_profile(arguments.network)
    wait = make_scheme("tds-uct", policy=f"wait={arguments.wait}").wait_seconds()
    base = arguments.playouts * (wait + profile.sequential)
    columns = ("ranks", "speed-up", "optimal", "share", "depth", "reports/playout", "load", "end ms", "M steps/s")
    table = plain_table("scheme", *columns)
    rows = [("sequential:algorithm=dfuct,solver=no", 0)]
    rows += [(scheme, ranks) for ranks in arguments.ranks for scheme in SCHEMES]
    start = time.perf_counter()
    for scheme, ranks in track(rows, "simulating", console=Console(stderr=True), transient=True):
        results = [search(scheme, ranks, tree, arguments) for tree in range(1, arguments.trees + 1)]
        events = [2 * (r.messages["sent"] + r.playouts) / (r.wall_seconds or 1.0) * 1e-6 for r in results]
        table.add_row(
            scheme,
            str(ranks or 1),
            f"{np.mean([base / r.seconds for r in results]):.1f}" if ranks else "1",
            f"{sum(bool(r.optimal) for r in results)}/{len(results)}",
            f"{np.mean([r.best_share for r in results]):.1%}",
            f"{np.mean([r.depth for r in results]):.2f}",
            f"{np.mean([r.report_levels or r.depth for r in results]):.2f}",
            f"{np.mean([np.mean(r.load) for r in results]):.0%}",
            f"{np.mean([r.end_seconds for r in results]) * 1e3:.2f}",
            f"{np.mean(events):.1f}" if ranks else "",
        )
    console = Console(width=140)
    console.print(table)
    console.print(
        f"b = {arguments.branching}, {arguments.playouts:,} playouts of {arguments.wait}, {arguments.trees} trees, "
        f"network {profile.name}; {time.perf_counter() - start:.0f} s"
    )


if __name__ == "__main__":
    main()
