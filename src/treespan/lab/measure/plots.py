"""Pictures of measurements, as PNG and SVG. Only this file imports Matplotlib, and only when it draws."""

import io
from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from treespan.core.errors import TreespanError, about
from treespan.games.rules import FIRST
from treespan.lab.measure.compare import SchemeRow
from treespan.lab.measure.published import published_speedups
from treespan.lab.measure.review import MoveReview
from treespan.lab.measure.searches import RANK_NAMES
from treespan.lab.measure.speedup import Scaling, ScalingRow
from treespan.lab.papers.study import Block, FilledCell, Map

if TYPE_CHECKING:
    from matplotlib.figure import Figure

# Colours that most colour-blind people can tell apart (Okabe & Ito); the markers serve for print.
SERIES = {"mpi": ("#0072B2", "o"), "threads": ("#009E73", "s"), "simulated": ("#D55E00", "D")}
COLOURS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#000000", "#8B5A2B", "#7F7F7F", "#6A3D9A")
MARKERS = "oDs^vP*Xhd"
DPI, NOTEBOOK_DPI = 160, 80
SEQUENTIAL = "#555555"  # the colour of the sequential search beside schemes
SHORT = 100  # numbers beside bars have a digit after the point below this
NAME_SIZE = 0.08, 0.05  # of a blunder's name: of the length of a game, and of the win rates from 0 to 1
MANY_DECADES = 2000  # greatest value over least: from here on a logarithmic axis has room for powers of ten alone
STYLE = {
    "font.size": 10,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.grid": True,
    "grid.color": "#e4e4e4",
    "grid.linewidth": 0.8,
    "lines.linewidth": 1.8,
    "lines.markersize": 6,
    "legend.frameon": False,
    "svg.hashsalt": "treespan",  # so that the same rows make the same file
}


class PlotError(TreespanError):
    """A picture cannot be drawn or written."""


def require_matplotlib() -> Any:
    """Return the package Matplotlib. Raises PlotError, which says how to install it, if it is missing."""
    try:
        import matplotlib
    except ImportError:
        raise PlotError(f"plots need matplotlib{about('plot')}; pip install treespan[plots], or draw nothing") from None
    return matplotlib


def plot_speedup(plan: Scaling, rows: Sequence[ScalingRow], path: Path) -> list[Path]:
    """Write `speedup_figure` to `path` with suffixes .png and .svg."""
    return _save(speedup_figure(plan, rows), path)


def speedup_figure(plan: Scaling, rows: Sequence[ScalingRow]) -> "Figure":
    """Draw speed-up and best move's share against the number of ranks or threads."""
    matplotlib = require_matplotlib()
    from matplotlib.figure import Figure

    with matplotlib.rc_context(STYLE):
        figure = Figure(figsize=(10.5, 4.6), layout="constrained")
        speed, quality = figure.subplots(1, 2)
        figure.suptitle(_title(plan), fontsize=11)
        _draw_speedups(speed, plan, rows)
        _draw_shares(quality, rows)
        return figure


def write_figure(figure: "Figure", path: str | Path | None) -> "Figure":
    """Write a figure to a file, if one is named; otherwise let a notebook show it. Returns the figure."""
    if path is None:
        vars(figure)["_repr_png_"] = partial(_png, figure)  # else only where a cell has imported pyplot before
        return figure
    try:
        with require_matplotlib().rc_context(STYLE):
            figure.savefig(path, dpi=DPI)
    except (OSError, ValueError) as error:
        raise PlotError(
            f"cannot write '{path}'{about('path', path)}: {error}; name a .png, .svg or .pdf that can be written"
        ) from None
    return figure


def _png(figure: "Figure") -> bytes:
    """Return a figure as the bytes of a file."""
    file = io.BytesIO()
    with require_matplotlib().rc_context(STYLE):
        figure.savefig(file, format="png", dpi=NOTEBOOK_DPI)
    return file.getvalue()


def _save(figure: "Figure", path: Path) -> list[Path]:
    files = [path.with_suffix(".png"), path.with_suffix(".svg")]
    try:
        with require_matplotlib().rc_context(STYLE):
            for file in files:
                metadata = {"Date": None} if file.suffix == ".svg" else None
                figure.savefig(file, dpi=DPI, metadata=metadata)
    except OSError as error:
        which = f"'{error.filename or path}'{about('plot', path)}"
        reason = f"{error.strerror}, but the results are kept"
        raise PlotError(f"cannot write {which}: {reason}; name a file that can be written") from None
    return files


def _title(plan: Scaling) -> str:
    problems = "1 problem" if plan.problems == 1 else f"{plan.problems} problems"
    network = f", network {plan.network}" if any(runtime == "simulated" for runtime, _ in plan.points) else ""
    return f"{plan.spec} on {plan.game.spec()}\n{plan.playouts:,} playouts, {problems}{network}"


def _draw_speedups(axes: Any, plan: Scaling, rows: Sequence[ScalingRow]) -> None:
    most = max(row.workers for row in rows)
    figures = published_speedups(plan.game.spec(), plan.spec)
    published = {cores: speedup for cores, speedup in figures.items() if cores <= most}
    axes.plot([1, most], [1, most], color="#999999", linestyle=":", linewidth=1.2, label="ideal")
    if published:
        style = {"color": "#555555", "marker": "^", "linestyle": "--", "linewidth": 1.2}
        axes.plot(list(published), list(published.values()), label="yoshizoe2011", **style)
    for runtime, series in _by_runtime(rows).items():
        colour, marker = SERIES[runtime]
        below = [row.speedup - row.speedup_min for row in series]
        above = [row.speedup_max - row.speedup for row in series]
        means, workers = [row.speedup for row in series], [row.workers for row in series]
        axes.errorbar(workers, means, [below, above], color=colour, marker=marker, label=RANK_NAMES[runtime], capsize=3)
    axes.set(xscale="log", yscale="log", ylabel="speed-up over sequential df-UCT (mean, min–max)")
    _plain_log_axis(axes.yaxis)
    _worker_axis(axes, rows)
    axes.legend(loc="upper left")


def _draw_shares(axes: Any, rows: Sequence[ScalingRow]) -> None:
    for runtime, series in _by_runtime(rows).items():
        colour, marker = SERIES[runtime]
        workers, shares = [row.workers for row in series], [100 * row.best_share for row in series]
        axes.plot(workers, shares, color=colour, marker=marker, label=RANK_NAMES[runtime])
    sequential = 100 * rows[0].sequential_best_share
    axes.axhline(sequential, color="#000000", linestyle="--", linewidth=1.2, label="sequential df-UCT")
    axes.set(xscale="log", ylim=(0, 102), ylabel="best move's share of the root's visits, %")
    _worker_axis(axes, rows)
    axes.legend(loc="lower left" if sequential > 50 else "upper left")


def _by_runtime(rows: Sequence[ScalingRow]) -> dict[str, list[ScalingRow]]:
    found: dict[str, list[ScalingRow]] = {}
    for row in sorted(rows, key=lambda row: row.workers):
        found.setdefault(row.runtime, []).append(row)
    return found


def _worker_axis(axes: Any, rows: Sequence[ScalingRow]) -> None:
    """Label the axis with the numbers of ranks or threads that were measured, not with powers of ten."""
    axes.set_xlabel("ranks or threads")
    _name_ticks(axes, sorted({row.workers for row in rows}))


def _name_ticks(axes: Any, places: Sequence[float]) -> None:
    """Label an axis with the numbers that were measured, not with powers of ten."""
    from matplotlib.ticker import NullLocator

    axes.xaxis.set_minor_locator(NullLocator())
    axes.set_xticks(*_ticks(places))


def _ticks(places: Sequence[float], nearest: float = 1.3) -> tuple[list[float], list[str]]:
    """Return positions and labels. If the labels of neighbours would touch, the greater one has none."""
    shown: list[float] = []
    for number in places:
        if not shown or number >= nearest * shown[-1]:
            shown.append(number)
    return shown, [f"{number:,.10g}" for number in shown]


def _plain_log_axis(axis: Any) -> None:
    """Label a logarithmic axis with 1, 2, 5, 10, …, or with 1, 10, 100, … where these are enough. For a drawn axis."""
    from matplotlib.ticker import FuncFormatter, LogLocator, NullFormatter

    low, high = axis.get_view_interval()
    steps = (1.0, 2.0, 5.0) if high < MANY_DECADES * low else (1.0,)
    axis.set_major_locator(LogLocator(subs=steps, numticks=16))
    axis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:,.10g}"))
    axis.set_minor_formatter(NullFormatter())


def plot_comparison(title: str, rows: Sequence[SchemeRow], path: Path) -> list[Path]:
    """Write `comparison_figure` to `path` with suffixes .png and .svg."""
    return _save(comparison_figure(title, rows), path)


def comparison_figure(title: str, rows: Sequence[SchemeRow]) -> "Figure":
    """Draw speed and, beside it, the quality of the search, scheme by scheme. A line goes on from the first row.

    The first row is the sequential search.
    """
    matplotlib = require_matplotlib()
    from matplotlib.figure import Figure

    leaves = [row.distinct_leaves for row in rows]
    panels: tuple[tuple[str, list[float | None]], ...] = (
        ("speed-up", [row.speedup for row in rows]),
        ("best move's share, %", [100 * row.best_share for row in rows]),
        ("distinct leaves, % of playouts", [None if share is None else 100 * share for share in leaves]),
    )
    with matplotlib.rc_context(STYLE):
        figure = Figure(figsize=(11, 1.2 + 0.36 * len(rows)), layout="constrained")
        figure.suptitle(f"{title}\ndashed: the sequential search", fontsize=11)
        for axes, (name, values), colour in zip(figure.subplots(1, 3, sharey=True), panels, COLOURS, strict=False):
            lengths = [value or 0.0 for value in values]
            colours = [SEQUENTIAL, *[colour] * (len(rows) - 1)]
            bars = axes.barh([row.scheme for row in rows], lengths, color=colours)
            labels = ["not known" if value is None else _short(value) for value in values]
            paper = {"facecolor": "#ffffff", "edgecolor": "none", "pad": 1}  # the line does not cross the numbers
            axes.bar_label(bars, labels, padding=4, fontsize=8, bbox=paper)
            if values[0] is not None:
                axes.axvline(values[0], color=SEQUENTIAL, linestyle="--", linewidth=1.2)
            axes.set(xlabel=name, xlim=(0, 1.18 * max(*lengths, 1e-9)))
            axes.grid(visible=False)
            axes.tick_params(axis="y", length=0)
        axes.invert_yaxis()  # the panels share it
        return figure


def _short(value: float) -> str:
    return f"{value:,.1f}" if value < SHORT else f"{value:,.0f}"


def plot_review(reviews: Sequence[MoveReview], blunder: float, path: Path) -> None:
    """Write `review_figure` to `path`."""
    write_figure(review_figure(reviews, blunder), path)


def review_figure(reviews: Sequence[MoveReview], blunder: float) -> "Figure":
    """Draw Black's win rate over a game. A dot marks each blunder; number, colour and name of the move stand beside it.

    A dot has the colour of the player. Where two names would touch, the greater blunder has its name.
    """
    matplotlib = require_matplotlib()
    from matplotlib.figure import Figure
    from matplotlib.ticker import MaxNLocator

    with matplotlib.rc_context(STYLE):
        figure = Figure(figsize=(9, 4.2), layout="constrained")
        axes = figure.subplots()
        rates = [100 * rate for rate in (reviews[0].before, *(review.after for review in reviews))]
        axes.axhline(50, color="#999999", linestyle=":", linewidth=1.2)
        axes.plot(range(len(rates)), rates, color=COLOURS[0], zorder=2)
        blunders = [review for review in reviews if review.is_blunder(blunder)]
        for player, name, colour in ((FIRST, "Black", "#000000"), (1 - FIRST, "White", "#ffffff")):
            own = [review for review in blunders if review.player == player]
            if own:
                places = [review.number for review in own], [100 * review.after for review in own]
                axes.scatter(
                    *places, 34, color=colour, edgecolor="#000000", zorder=3, clip_on=False, label=f"blunder of {name}"
                )
            _name_blunders(axes, own, len(reviews))
        axes.set(xlim=(0, len(reviews)), ylim=(-14, 114), xlabel="move", ylabel="Black's chance to win, %")
        axes.set_yticks(range(0, 101, 25))
        axes.xaxis.set_major_locator(MaxNLocator(integer=True))
        if blunders:
            figure.legend(loc="outside upper right", ncols=2)
        figure.suptitle(f"Black's chance to win; blunders cost {blunder:.0%} or more", fontsize=11, x=0.01, ha="left")
        return figure


def _name_blunders(axes: Any, blunders: Sequence[MoveReview], moves: int) -> None:
    """Write the names of one player's blunders before their dots, where the line has not been."""
    from matplotlib.patheffects import withStroke

    named: list[MoveReview] = []
    width, height = NAME_SIZE
    for review in sorted(blunders, key=lambda review: -review.loss):
        near = [other for other in named if abs(review.number - other.number) < width * moves]
        if any(abs(review.after - other.after) < height for other in near):
            continue
        named.append(review)
        is_first, is_down = review.number < width * moves, review.player == FIRST
        axes.annotate(
            f"{review.number} {review.color} {review.move}",
            (review.number, 100 * review.after),
            (7 if is_first else -7, -3 if is_down else 3),
            textcoords="offset points",
            ha="left" if is_first else "right",
            va="top" if is_down else "bottom",
            fontsize=8,
            path_effects=[withStroke(linewidth=3, foreground="#ffffff")],
        )


# Pictures of the laboratory's report

WIDE = 16  # a greater ratio of greatest to least value makes an axis logarithmic


def block_svg(block: Block, cells: Sequence[FilledCell]) -> str:
    """Draw the columns of a block against `x`, with their ranges; published figures are dashed. Returns SVG text."""
    matplotlib = require_matplotlib()
    from matplotlib.figure import Figure

    assert block.plot is not None
    scale = 100.0 if any(filled.cell.is_share for filled in cells) else 1.0
    with matplotlib.rc_context({**STYLE, "svg.hashsalt": block.title, "svg.fonttype": "none"}):
        figure = Figure(figsize=(7.5, 4.4), layout="constrained")
        axes = figure.subplots()
        for index, column in enumerate(dict.fromkeys(filled.cell.column for filled in cells)):
            own = [filled for filled in cells if filled.cell.column == column and filled.cell.x is not None]
            _draw_column(axes, column, own, COLOURS[index % len(COLOURS)], MARKERS[index % len(MARKERS)], scale)
        drawn = sorted({filled.cell.x for filled in cells if filled.value and filled.cell.x is not None})
        if block.plot.has_ideal:
            ends = [drawn[0], drawn[-1]]
            axes.plot(ends, ends, color="#999999", linestyle=":", linewidth=1.2, label="ideal")
        if block.plot.is_log:
            axes.set(yscale="log")
            _plain_log_axis(axes.yaxis)
        if block.plot.is_log or drawn[-1] > WIDE * drawn[0] > 0:
            axes.set(xscale="log")
            _name_ticks(axes, drawn)
        axes.set(xlabel=block.plot.x_label, ylabel=block.plot.y_label + (", %" if scale > 1 else ""))
        axes.legend(fontsize=8)
        return _svg_text(figure)


def _draw_column(axes: Any, name: str, cells: Sequence[FilledCell], colour: str, marker: str, scale: float) -> None:
    ours = [(filled.cell.x, filled.value) for filled in cells if filled.value]
    paper = [(filled.cell.x, scale * filled.cell.published) for filled in cells if filled.cell.published is not None]
    if ours:
        means = [scale * value.mean for _, value in ours]
        below = [scale * (value.mean - value.low) for _, value in ours]
        above = [scale * (value.high - value.mean) for _, value in ours]
        places = [x for x, _ in ours]
        axes.errorbar(places, means, [below, above], color=colour, marker=marker, label=name, capsize=3)
    if ours and paper:
        style = {"color": colour, "marker": marker, "linestyle": "--", "linewidth": 1.0, "markersize": 4, "alpha": 0.55}
        axes.plot([x for x, _ in paper], [y for _, y in paper], label=f"{name}, paper", **style)


def map_svg(chart: Map) -> str:
    """Draw a grid of fields, each with the name and colour of the best scheme there. Returns SVG text."""
    matplotlib = require_matplotlib()
    from matplotlib.figure import Figure
    from matplotlib.patches import Rectangle

    names = sorted({name for name, _ in chart.best.values()})
    colours = dict(zip(names, COLOURS, strict=False))
    with matplotlib.rc_context({**STYLE, "svg.hashsalt": chart.title, "svg.fonttype": "none"}):
        figure = Figure(figsize=(1.4 + 1.35 * len(chart.columns), 1.2 + 0.7 * len(chart.rows)), layout="constrained")
        axes = figure.subplots()
        for y, row in enumerate(chart.rows):
            for x, column in enumerate(chart.columns):
                name, value = chart.best.get((row, column), ("none", 0.0))
                colour = colours.get(name, "#ffffff")
                axes.add_patch(Rectangle((x, y), 1, 1, facecolor=colour, edgecolor="#ffffff", alpha=0.35, linewidth=2))
                text = f"{name}\n{value:,.0f}×" if (row, column) in chart.best else name
                axes.text(x + 0.5, y + 0.5, text, ha="center", va="center", fontsize=9)
        axes.set(xlim=(0, len(chart.columns)), ylim=(0, len(chart.rows)), xlabel=chart.x_label, ylabel=chart.y_label)
        axes.set_xticks([x + 0.5 for x in range(len(chart.columns))], chart.columns)
        axes.set_yticks([y + 0.5 for y in range(len(chart.rows))], chart.rows)
        axes.grid(visible=False)
        return _svg_text(figure)


def _svg_text(figure: "Figure") -> str:
    text = io.StringIO()
    figure.savefig(text, format="svg", metadata={"Date": None})
    return text.getvalue()
