"""df-UCT beside UCT at equal playouts on P-game trees: speed, and what the search is worth.

    .venv/bin/python bench/dfuct_quality.py [--playouts 1000000] [--trees 10]

The figures are those of yoshizoe2011, Tables 1, 2 and 5. Playouts take no time. `optimal` is how often the
chosen move is the branch of value 0, `share` the chosen move's share of the root's visits, `reports` the levels
returned a playout (UCT: all of them), `third` the share of returns that found a move best that was neither best
nor second best, `third anywhere` the share of playouts after which such a move was best on some level of the stack
(measured in a run of its own, not timed).
"""

import argparse

import numpy as np
from rich.console import Console
from rich.progress import track

from treespan.core.tables import plain_table
from treespan.games.position import Position
from treespan.games.registry import make_game
from treespan.runtimes.plan import make_plan
from treespan.schemes.plan import Request
from treespan.search.result import SearchResult


def search(branching: int, tree: int, options: str, playouts: int) -> SearchResult:
    position = Position(make_game(f"pgame:branching={branching},seed={tree}"))
    plan = make_plan(scheme=f"sequential:nodes=40000000,{options}", playouts=playouts)
    return plan.scheme.search_here(Request(position, plan))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--playouts", type=int, default=1_000_000)
    parser.add_argument("--trees", type=int, default=10)
    arguments = parser.parse_args()
    trees = range(1, arguments.trees + 1)
    variants = ["algorithm=uct", "algorithm=dfuct", "algorithm=dfuct,kept_moves=all"]
    columns = ("playouts/s", "optimal", "share", "depth", "reports", "third", "third anywhere")
    table = plain_table("search", "b", *columns)
    work = [(branching, options) for branching in (8, 40, 150) for options in variants]
    for branching, options in track(work, "searching", console=Console(stderr=True), transient=True):
        results = [search(branching, tree, options, arguments.playouts) for tree in trees]
        audited = ""
        if options == "algorithm=dfuct":
            audits = [search(branching, tree, options + ",audit=yes", arguments.playouts) for tree in trees]
            audited = f"{np.mean([audit.third_best_audit for audit in audits]):.2%}"
        reports = [result.depth if result.report_levels is None else result.report_levels for result in results]
        third = [result.third_best for result in results if result.third_best is not None]
        table.add_row(
            options,
            str(branching),
            f"{np.median([result.playouts_per_second for result in results]):,.0f}",
            f"{sum(bool(result.optimal) for result in results)}/{len(results)}",
            f"{np.mean([result.best_share for result in results]):.1%}",
            f"{np.mean([result.depth for result in results]):.2f}",
            f"{np.mean(reports):.2f}",
            f"{np.mean(third):.2%}" if third else "",
            audited,
        )
    Console(width=120).print(table)


if __name__ == "__main__":
    main()
