"""The report as Markdown, and its tables as rows of texts, which the web page shares."""

import math
from collections.abc import Sequence
from dataclasses import dataclass

from treespan.lab.papers.report import Origin, Result
from treespan.lab.papers.study import Block, FilledCell, Map, Sheet, Value

NOT_RUN = "not run"
INTRODUCTION = (
    "Published figures of the five papers stand beside ours. In parentheses a win rate has its 95 % interval, and any "
    "other figure its extremes over the problems. The ratio is ours over the published figure. What was not run says "
    "so, and what was run in part counts for no claim. Claims are judged by the means, unless they say how sure they "
    "are. Where two intervals overlap, the difference may be chance: then nothing is proven, neither that a claim "
    "holds nor that it fails."
)


@dataclass(frozen=True)
class Grid:
    """A block as rows of texts."""

    title: str
    head: list[str]
    rows: list[list[str]]
    notes: list[str]


def number(value: float) -> str:
    """Write a number with three significant digits and no exponent."""
    if value == 0:
        return "0"
    digits = max(0, min(4, 2 - math.floor(math.log10(abs(value)))))
    return f"{value:,.{digits}f}"


def figure(value: float, is_share: bool) -> str:
    if not is_share:
        return number(value)
    percent = 100 * value
    return f"{percent:.1f} %" if percent >= 10 else f"{percent:.3g} %"


def measured(filled: FilledCell) -> str:
    """Return our figure with its range, or that it was not run, or only in part."""
    value, is_share = filled.value, filled.cell.is_share
    if value is None:
        return NOT_RUN
    text = figure(value.mean, is_share)
    if value.low != value.high:
        text += f" ({_range(value, is_share)})"
    if filled.is_partial:
        text += f" [{value.count} of {len(filled.cell.units)}]"
    return text


def _range(value: Value, is_share: bool) -> str:
    low, high = figure(value.low, is_share), figure(value.high, is_share)
    return f"{low.removesuffix(' %')}–{high}" if is_share else f"{low}–{high}"


def grid(sheet: Sheet, block: Block, compares: bool) -> Grid:
    """Return a block as a table. A column is our figure; the published figure and the ratio stand before it."""
    cells = sheet.of(block)
    rows = list(dict.fromkeys(filled.cell.row for filled in cells))
    columns = list(dict.fromkeys(filled.cell.column for filled in cells))
    published = {filled.cell.column for filled in cells if filled.cell.published is not None}
    head = [""]
    for column in columns:
        head += [f"{column}: paper", "ours", "ratio"] if column in published else [column]
    lines = []
    for row in rows:
        line = [row]
        for column in columns:
            filled = sheet.cells.get((block.title, row, column))
            if filled is None:
                line += [""] * (3 if column in published else 1)
                continue
            if column in published:
                paper = filled.cell.published
                ratio = number(filled.ratio) if filled.ratio is not None and compares else "–"
                line += ["–" if paper is None else figure(paper, filled.cell.is_share), measured(filled), ratio]
            else:
                line.append(measured(filled))
        lines.append(line)
    obstacles = dict.fromkeys(filled.obstacle for filled in cells if filled.obstacle)
    return Grid(block.title, head, lines, [f"not run: {obstacle}" for obstacle in obstacles])


def grids(result: Result, only_run: bool = False) -> list[Grid]:
    """Return the blocks as tables. Leaves out blocks that were not run and have no published figures."""
    shown = []
    for block in result.sheet.blocks():
        cells = result.sheet.of(block)
        is_run = any(filled.value for filled in cells)
        if is_run or (not only_run and any(filled.cell.published is not None for filled in cells)):
            shown.append(grid(result.sheet, block, result.compares))
    return shown


def chart_of(result: Result) -> Map | None:
    """Return the picture of the whole study; None if it has none, or has nothing to show."""
    chart = result.study.map(result.sheet.settled()) if result.study.map and result.compares else None
    return chart if chart and chart.best else None


def table(head: Sequence[str], rows: Sequence[Sequence[str]]) -> list[str]:
    """Return a Markdown table. The first column is left-aligned, the others right-aligned."""
    align = ["---", *["---:"] * (len(head) - 1)]
    return ["| " + " | ".join(line) + " |" for line in (head, align, *rows)]


def status(result: Result) -> str:
    """Return how far a study has come, in a few words."""
    if result.was_run:
        return f"run at scale {result.sheet.scale}"
    return f"{NOT_RUN}: {result.hindrance}" if result.hindrance else NOT_RUN


def section(result: Result, pictures: dict[str, str]) -> list[str]:
    """Return the section of a study; `pictures` are files by the title of their block."""
    study = result.study
    lines = [f"## {study.key}: {study.title}", "", f"Runtime: {study.runtime}. Status: {status(result)}.", ""]
    for run in result.runs:
        lines += [f"    {run.command}", "", machine_line(run), ""]
    if (chart := chart_of(result)) and chart.title in pictures:
        lines += [f"### {chart.title}", "", f"![{chart.title}]({pictures[chart.title]})", ""]
    for sub_table in grids(result):
        lines += [f"### {sub_table.title}", ""]
        if sub_table.title in pictures:
            lines += [f"![{sub_table.title}]({pictures[sub_table.title]})", ""]
        lines += [*table(sub_table.head, sub_table.rows), "", *(f"*{note}*\n" for note in sub_table.notes)]
    lines += [paragraph(result), ""]
    return lines


def machine_line(run: Origin) -> str:
    """Return a line on the machine of a run, and on the costs of its simulated networks, in microseconds."""
    texts = [", ".join(f"{name} {value}" for name, value in run.machine.items())]
    for network, costs in run.profiles.items():
        figures = [f"{name} {value * 1e6:.4g}" for name, value in costs.items() if isinstance(value, float)]
        texts.append(f"network {network}, µs: {', '.join(figures)}")
    return "; ".join(texts)


def paragraph(result: Result) -> str:
    """Return whether the claims hold here, and remarks."""
    if not result.was_run:
        return f"Not run{f': {result.hindrance}' if result.hindrance else ''}. {result.study.remark}".strip()
    notes = result.study.notes(result.sheet.settled()) if result.compares else []
    return " ".join([*map(str, result.findings()), *notes, *result.remarks(), result.study.remark]).strip()


def overview(results: Sequence[Result]) -> list[list[str]]:
    """Return key, title, runtime and status of all studies."""
    return [[r.study.key, r.study.title, r.study.runtime, status(r)] for r in results]


def as_markdown(results: Sequence[Result], pictures: dict[str, dict[str, str]]) -> str:
    """Return the whole report; `pictures` are files by key and title of the block."""
    lines = ["# Laboratory report", "", INTRODUCTION, ""]
    lines += table(["key", "what", "runtime", "status"], overview(results))
    for result in results:
        lines += ["", *section(result, pictures.get(result.study.key, {}))]
    return "\n".join(lines).rstrip() + "\n"
