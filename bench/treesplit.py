"""How busy `treesplit` keeps the workers of its ranks: playouts that sleep, ranks as threads (graf2011, Figure 5a).

    .venv/bin/python bench/treesplit.py [--wait 1ms] [--seconds 3] [--scheme treesplit] [--layouts 1x8 2x4 4x2 8x0]

A layout is ranks x workers; x0: ranks play out themselves. The ideal is the rate of one sequential search with the same
playouts, measured in the same run, times the number of threads that play out. Goal at 1 ms and 8 workers: 0.93 of it.
"""

import argparse

from rich.console import Console

from real_speedup import search  # beside this file
from treespan.core.errors import shown
from treespan.core.options import parse_seconds
from treespan.core.tables import plain_table

GAME = "pgame:branching=8"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--wait", default="1ms")
    parser.add_argument("--seconds", type=float, default=3.0)
    parser.add_argument("--scheme", default="treesplit")
    parser.add_argument("--layouts", nargs="+", default=["1x8", "2x4", "4x2", "8x0"])
    arguments = parser.parse_args()
    policy = ("--policy", f"wait={arguments.wait}")
    playouts = arguments.seconds / parse_seconds(arguments.wait, shown)
    alone = search(GAME, "--scheme", "sequential:solver=no", *policy, "--playouts", str(int(playouts)))
    columns = ("playouts/s", "of ideal", "messages a playout", "best move's share", "sequential")
    table = plain_table("ranks x workers", *columns, right_from=1)
    for layout in arguments.layouts:
        ranks, workers = (int(number) for number in layout.split("x"))
        threads = ranks * max(workers, 1)
        count = str(int(playouts * threads))
        equal = search(GAME, "--scheme", "sequential:solver=no", "--playouts", count)
        result = search(
            GAME,
            *("--threads", str(ranks), "--workers", str(workers), "--scheme", arguments.scheme, "--playouts", count),
            *policy,
        )
        table.add_row(
            layout,
            f"{result['playouts_per_second']:,.0f}",
            f"{result['playouts_per_second'] / threads / alone['playouts_per_second']:.3f}",
            f"{result['messages']['per_playout']:.2f}",
            f"{result['best_share']:.1%}",
            f"{equal['best_share']:.1%}",
        )
    Console(width=120).print(table)


if __name__ == "__main__":
    main()
