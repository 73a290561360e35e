"""The report's files: a web page that contains its pictures, and Markdown with pictures in files of their own."""

import re
from collections.abc import Sequence
from pathlib import Path

from treespan.core.errors import TreespanError, named
from treespan.lab.measure.plots import PlotError, block_svg, map_svg
from treespan.lab.papers.markdown import as_markdown, chart_of
from treespan.lab.papers.report import Result, read_results
from treespan.lab.papers.webpage import as_html

PICTURES = "pictures"


def write_files(folder: Path) -> list[Path]:
    """Write the report of a folder's records. Returns the files."""
    if not folder.is_dir():
        raise TreespanError(f"there are no results in '{folder}'; run treespan paper run KEY, or give {named('out')}")
    results = read_results(folder)
    pictures = draw(results)
    texts = {
        f"{PICTURES}/{picture_name(key, title)}": svg for key, found in pictures.items() for title, svg in found.items()
    }
    links = {
        key: {title: f"{PICTURES}/{picture_name(key, title)}" for title in found} for key, found in pictures.items()
    }
    texts["report.md"] = as_markdown(results, links)
    inline = {key: {title: inline_svg(svg) for title, svg in found.items()} for key, found in pictures.items()}
    texts["report.html"] = as_html(results, inline)
    try:
        (folder / PICTURES).mkdir(exist_ok=True)
        for name, text in texts.items():
            (folder / name).write_text(text, encoding="utf-8")
    except OSError as error:
        raise TreespanError(
            f"cannot write '{error.filename or folder}': {error.strerror}; the results are kept"
        ) from None
    return [folder / "report.html", folder / "report.md"]


def draw(results: Sequence[Result]) -> dict[str, dict[str, str]]:
    """Return pictures of maps, and of blocks with enough figures, as SVG; none without Matplotlib."""
    try:
        return {result.study.key: draw_result(result) for result in results if result.was_run}
    except PlotError:
        return {}


def draw_result(result: Result) -> dict[str, str]:
    """Return pictures by their titles."""
    found = {}
    if chart := chart_of(result):
        found[chart.title] = map_svg(chart)
    for block in result.sheet.blocks():
        cells = result.sheet.of(block)
        if block.plot and sum(filled.value is not None for filled in cells) > 1:
            found[block.title] = block_svg(block, cells)
    return found


def picture_name(key: str, title: str) -> str:
    return re.sub(r"[^A-Za-z0-9.]+", "-", f"{key} {title}")[:100].strip("-") + ".svg"


def inline_svg(svg: str) -> str:
    """Return the SVG element alone, without XML declarations. Names do not clash: each picture has its own salt."""
    return svg[svg.index("<svg") :]
