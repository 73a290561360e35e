"""Speed-up and search quality of a distributed scheme on the MPI ranks of this machine (yoshizoe2011, Table 4).

    .venv/bin/python bench/real_speedup.py [--ranks 1 2 4 8 12 16] [--branching 8 40 150] [--trees 5]

Each run has so many playouts that it would take `--seconds` at perfect efficiency. The speed-up is over the sequential
df-UCT measured in the same run of this program, the mean over the trees and the least of them; the sequential search's
best-move share, optimal moves and depth, in the same trees at as many playouts, stand beside.
On dedicated cores playouts wait by spinning out their last part; with more ranks than cores they sleep.
"""

import argparse
import json
import subprocess
import sys
from statistics import mean
from typing import Any

from rich.console import Console

from treespan.core.errors import shown
from treespan.core.options import parse_seconds
from treespan.core.tables import plain_table

SEQUENTIAL = ("--scheme", "sequential:algorithm=dfuct,solver=no")


def count(ranks: int, playout: float, arguments: argparse.Namespace) -> str:
    return str(int(ranks * arguments.seconds / playout))


def search(game: str, *options: str) -> dict[str, Any]:
    command = [sys.executable, "-m", "treespan", "search", game, *options, "--json"]
    done = subprocess.run(command, capture_output=True, text=True, timeout=600)
    if done.returncode:
        sys.exit(done.stderr or done.stdout)
    result: dict[str, Any] = json.loads(done.stdout)
    return result


def tell(what: str, run: dict[str, Any], equal: dict[str, Any], base: dict[str, Any]) -> None:
    """What one run gave, at once: the table comes at the end of many minutes, and a run cut short is not lost."""
    speedup = run["playouts_per_second"] / base["playouts_per_second"]
    shares = f"share {run['best_share']:.1%} (sequential {equal['best_share']:.1%})"
    print(f"{what}: {speedup:.2f} times, {shares}", file=sys.stderr, flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--ranks", type=int, nargs="+", default=[1, 2, 4, 8, 12, 16])
    parser.add_argument("--branching", type=int, nargs="+", default=[8, 40, 150])
    parser.add_argument("--waits", nargs="+", default=["1ms", "0.1ms"])
    parser.add_argument("--seconds", type=float, default=2.0)
    parser.add_argument("--trees", type=int, default=1)
    parser.add_argument("--scheme", default="tds-dfuct")
    arguments = parser.parse_args()
    columns = ("playouts/s", "speed-up", "least", "share", "sequential", "optimal", "depth", "sequential")
    table = plain_table("b", "wait", "ranks", *columns, "messages", "load", "end ms", right_from=0)
    for branching in arguments.branching:
        for wait in arguments.waits:
            playout, waiting = parse_seconds(wait, shown), ("--policy", f"wait={wait}")
            base = search(
                f"pgame:branching={branching}", *SEQUENTIAL, *waiting, "--playouts", count(1, playout, arguments)
            )
            for ranks in arguments.ranks:
                scheme = ("--ranks", str(ranks), "--scheme", arguments.scheme)
                equal, runs = [], []
                for tree in range(1, arguments.trees + 1):
                    game = f"pgame:branching={branching},seed={tree}"
                    playouts = ("--seed", str(tree), "--playouts", count(ranks, playout, arguments))
                    equal.append(search(game, *SEQUENTIAL, *playouts))
                    runs.append(search(game, *scheme, *waiting, *playouts))
                    tell(f"{game}, {wait}, {ranks} ranks", runs[-1], equal[-1], base)
                speeds = [run["playouts_per_second"] for run in runs]
                table.add_row(
                    str(branching),
                    wait,
                    str(ranks),
                    f"{mean(speeds):,.0f}",
                    f"{mean(speeds) / base['playouts_per_second']:.2f}",
                    f"{min(speeds) / base['playouts_per_second']:.2f}",
                    f"{mean(run['best_share'] for run in runs):.1%}",
                    f"{mean(run['best_share'] for run in equal):.1%}",
                    f"{sum(run['optimal'] for run in runs)} ({sum(run['optimal'] for run in equal)})",
                    f"{mean(run['depth'] for run in runs):.2f}",
                    f"{mean(run['depth'] for run in equal):.2f}",
                    f"{mean(run['messages']['per_playout'] for run in runs):.2f}",
                    f"{mean(sum(run['load']) / ranks for run in runs):.0%}",
                    f"{mean(run['end_seconds'] for run in runs) * 1e3:.2f}",
                )
    Console(width=140).print(table)


if __name__ == "__main__":
    main()
