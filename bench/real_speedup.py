"""Speed-up and search quality of a distributed scheme on the MPI ranks of this machine (yoshizoe2011, Table 4).

    .venv/bin/python bench/real_speedup.py [--ranks 1 2 4 8 12 16] [--branching 8 40 150] [--waits 1ms 0.1ms]

Each run has so many playouts that it would take `--seconds` at perfect efficiency. The speed-up is over the sequential
df-UCT measured in the same run of this program; its best move's share and depth, at as many playouts, stand beside.
On dedicated cores playouts wait by spinning out their last part; with more ranks than cores they sleep.
"""

import argparse
import json
import subprocess
import sys

from rich.console import Console

from treespan.core.options import parse_seconds
from treespan.terminal import plain_table


def search(game: str, *options: str) -> dict:
    command = [sys.executable, "-m", "treespan", "search", game, *options, "--json"]
    done = subprocess.run(command, capture_output=True, text=True, timeout=600)
    if done.returncode:
        sys.exit(done.stderr or done.stdout)
    result: dict = json.loads(done.stdout)
    return result


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--ranks", type=int, nargs="+", default=[1, 2, 4, 8, 12, 16])
    parser.add_argument("--branching", type=int, nargs="+", default=[8, 40, 150])
    parser.add_argument("--waits", nargs="+", default=["1ms", "0.1ms"])
    parser.add_argument("--seconds", type=float, default=2.0)
    parser.add_argument("--scheme", default="tds-dfuct")
    arguments = parser.parse_args()
    columns = (
        "playouts/s",
        "speed-up",
        "efficiency",
        "share",
        "sequential",
        "depth",
        "sequential",
        "messages",
        "load",
        "end ms",
    )
    table = plain_table("b", "wait", "ranks", *columns, right_from=0)
    for branching in arguments.branching:
        for wait in arguments.waits:
            game, playout = f"pgame:branching={branching}", parse_seconds(wait, "--waits")
            base_options = ("--scheme", "sequential:algorithm=dfuct,solver=no", "--policy", f"wait={wait}")
            base = search(game, *base_options, "--playouts", str(int(arguments.seconds / playout)))
            for ranks in arguments.ranks:
                count = str(int(ranks * arguments.seconds / playout))
                equal = search(game, *base_options[:2], "--playouts", count)
                result = search(
                    game,
                    "--ranks",
                    str(ranks),
                    "--scheme",
                    arguments.scheme,
                    "--policy",
                    f"wait={wait}",
                    "--playouts",
                    count,
                )
                speedup = result["playouts_per_second"] / base["playouts_per_second"]
                table.add_row(
                    str(branching),
                    wait,
                    str(ranks),
                    f"{result['playouts_per_second']:,.0f}",
                    f"{speedup:.2f}",
                    f"{speedup / ranks:.0%}",
                    f"{result['best_share']:.1%}",
                    f"{equal['best_share']:.1%}",
                    f"{result['depth']:.2f}",
                    f"{equal['depth']:.2f}",
                    f"{result['messages']['per_playout']:.2f}",
                    f"{sum(result['load']) / ranks:.0%}",
                    f"{result['end_seconds'] * 1e3:.2f}",
                )
    Console(width=140).print(table)


if __name__ == "__main__":
    main()
