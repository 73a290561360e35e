"""The picture at the top of the README: speed-up and quality of the papers' schemes and of `span`, against ranks.

    python bench/scaling_picture.py [FILE.png]

Simulated ranks, playouts of 1 ms, as many playouts in every search; means over the problems.
"""

import sys
from typing import Any

import treespan as ts
from treespan.lab.measure.plots import COLOURS, MARKERS, STYLE, require_matplotlib

SCHEMES = ("span", "tds-dfuct", "tds-uct", "mp-mcts", "treesplit", "root")
RANKS = (1, 12, 48, 144, 1200)
GAME, PLAYOUTS, PROBLEMS = "pgame:branching=40", 400_000, 3


def draw(tables: dict[str, Any], path: str) -> None:
    matplotlib = require_matplotlib()
    from matplotlib.figure import Figure

    with matplotlib.rc_context(STYLE):
        figure = Figure(figsize=(10, 4), layout="constrained")
        speed, quality = figure.subplots(1, 2)
        for (scheme, table), colour, marker in zip(tables.items(), COLOURS, MARKERS, strict=False):
            style: dict[str, Any] = {
                "color": colour,
                "marker": marker,
                "label": scheme,
                "zorder": 3 if scheme == "span" else 2,
            }
            style["linewidth"] = 2.6 if scheme == "span" else 1.4
            speed.plot(RANKS, [row.speedup for row in table.rows], **style)
            quality.plot(RANKS, [100 * row.best_share for row in table.rows], **style)
        speed.plot(RANKS, RANKS, color="#999999", linestyle=":", label="ideal")
        sequential = 100 * tables["span"].rows[0].sequential_best_share
        quality.axhline(sequential, color="#999999", linestyle=":", label="sequential search")
        speed.set(xscale="log", yscale="log", xlabel="ranks", title="speed-up")
        quality.set(xscale="log", xlabel="ranks", title="best move's share of the visits, %", ylim=(0, None))
        for axes in (speed, quality):
            axes.set_xticks(RANKS, [f"{count:,}" for count in RANKS])
            axes.minorticks_off()
        speed.set_yticks(RANKS, [f"{count:,}" for count in RANKS])
        figure.legend(*quality.get_legend_handles_labels(), loc="outside right center")
        figure.savefig(path, dpi=130)


def main() -> None:
    path = sys.argv[1] if len(sys.argv) > 1 else "docs/images/scaling.png"
    tables = {}
    for scheme in SCHEMES:
        spec = f"{scheme}:nodes=20000000"
        tables[scheme] = ts.speedup(GAME, spec, simulate=RANKS, playouts=PLAYOUTS, policy="wait=1ms", problems=PROBLEMS)
        for row in tables[scheme].rows:
            figures = f"{row.speedup:,.1f} times, share {row.best_share:.1%} ({row.sequential_best_share:.1%})"
            print(f"{scheme}, {row.workers:,} ranks: {figures}", flush=True)
    draw(tables, path)


if __name__ == "__main__":
    main()
