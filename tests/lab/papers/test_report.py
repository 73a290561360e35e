"""The report: published figures, ours and their ratio, and no figure that was not measured."""

from dataclasses import replace
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import pytest

from tests.support.studies import BLOCK, STUDY, run
from treespan.core.errors import TreespanError
from treespan.lab.papers import report_files
from treespan.lab.papers.markdown import as_markdown, figure, grids, number, paragraph
from treespan.lab.papers.report import Result, agrees, read_result
from treespan.lab.papers.report_files import write_files
from treespan.lab.papers.study import Cell, FilledCell, Plot, Value, mean_of
from treespan.lab.papers.webpage import as_html
from treespan.lab.store.records import RecordsError


def result_of(folder: Path, scale: str | None = None) -> Result:
    return read_result(STUDY, folder, scale)


def test_figures_are_short() -> None:
    assert [number(value) for value in (0, 0.00123, 0.5, 3.14159, 65.02, 741.2, 21712516)] == [
        "0",
        "0.0012",
        "0.500",
        "3.14",
        "65.0",
        "741",
        "21,712,516",
    ]
    assert [figure(value, True) for value in (0, 0.00995, 0.5, 1)] == ["0 %", "0.995 %", "50.0 %", "100.0 %"]


def test_nothing_is_filled_in(tmp_path: Path) -> None:
    result = result_of(tmp_path)
    (grid,) = grids(result)
    assert not result.was_run and result.runs == []
    assert grid.rows == [
        ["games", "70.0 %", "not run", "–", "", "", ""],
        ["searches", "", "", "", "2.00", "not run", "–"],
    ]
    assert paragraph(result) == "Not run."


def test_ours_stand_beside_the_published_figures(tmp_path: Path) -> None:
    run(tmp_path / "test.table.jsonl")
    result = result_of(tmp_path)
    (grid,) = grids(result)
    assert grid.head == ["", "rate: paper", "ours", "ratio", "depth: paper", "ours", "ratio"]
    value = result.sheet.value(BLOCK, "games", "rate")
    assert value is not None and 0 <= value.low < value.high <= 1
    assert grid.rows[0][2].startswith(f"{100 * value.mean:.1f} % (")
    assert grid.rows[0][3] == number(value.mean / 0.7)
    assert result.sheet.scale == "full" and result.done == result.planned == 6  # desk and full are the same here
    assert str(result.findings()[0]).startswith("Published figures are met")
    markdown = as_markdown([result], {})
    assert "    treespan paper run test.table" in markdown and "| games | 70.0 % |" in markdown
    assert "cores" in markdown and "Numba" in markdown


def test_the_greatest_finished_scale_is_reported_or_what_has_begun(tmp_path: Path) -> None:
    path = tmp_path / "test.table.jsonl"
    run(path, "smoke")
    result = result_of(tmp_path)
    assert result.sheet.scale == "smoke" and not result.compares and result.findings() == []
    assert "figures mean nothing" in paragraph(result) and grids(result)[0].rows[0][3] == "–"
    partial = result_of(tmp_path, "desk")
    assert "4 of the 6 units of work of scale desk are done." in paragraph(partial)
    assert "[2 of 4]" in grids(partial)[0].rows[0][2]


def test_figures_agree_within_their_interval_or_a_few_per_cent() -> None:
    def filled(mean: float, low: float, high: float, published: float, is_interval: bool) -> FilledCell:
        cell = Cell(BLOCK, "a", "b", (), mean_of("depth"), published)
        return FilledCell(cell, Value(mean, low, high, 1, is_interval))

    assert agrees(filled(0.5, 0.3, 0.7, 0.69, True)) and not agrees(filled(0.5, 0.3, 0.7, 0.71, True))
    assert agrees(filled(9.0, 1.0, 20.0, 10.0, False)) and not agrees(filled(8.0, 1.0, 20.0, 10.0, False))


class Links(HTMLParser):
    """What a page loads from elsewhere, and the tags that it leaves open."""

    def __init__(self) -> None:
        super().__init__()
        self.loaded: list[str] = []
        self.open: list[str] = []

    def handle_starttag(self, tag: str, attributes: list[tuple[str, str | None]]) -> None:
        given = dict(attributes)
        if tag in ("img", "script", "link", "iframe") or (given.get("src") or "").startswith("http"):
            self.loaded.append(tag)
        if tag in ("table", "tr", "td", "h2", "p", "svg"):
            self.open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        if tag in ("table", "tr", "td", "h2", "p", "svg"):
            assert self.open.pop() == tag


def test_the_page_needs_nothing_else(tmp_path: Path) -> None:
    run(tmp_path / "test.table.jsonl")
    result = replace(result_of(tmp_path), study=replace(STUDY, title="<script>alert('games')</script>"))
    page = as_html([result], {"test.table": {BLOCK.title: "<svg></svg>"}})
    links = Links()
    links.feed(page)
    assert links.loaded == [] and links.open == [] and page.count("<svg") == 1
    assert "70.0 %" in page and "<script>" not in page


def test_files_are_written_with_their_pictures(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("matplotlib", reason="matplotlib is missing; pip install treespan[plots]")
    run(tmp_path / "test.table.jsonl")
    block = replace(BLOCK, plot=Plot("x", "y", is_log=True, has_ideal=True))

    def cells(scale: str) -> list[Cell]:
        return [replace(cell, block=block, x=1.0 + place) for place, cell in enumerate(STUDY.cells(scale))]

    result = read_result(replace(STUDY, cells=cells), tmp_path)
    monkeypatch.setattr(report_files, "read_results", lambda folder: [result])
    html, markdown = write_files(tmp_path)
    picture = tmp_path / "pictures" / "test.table-figures.svg"
    assert "<svg" in html.read_text() and "](pictures/test.table-figures.svg)" in markdown.read_text()
    before = picture.read_bytes()
    write_files(tmp_path)
    assert picture.read_bytes() == before and b"ideal" in before


def test_results_that_cannot_be_used_are_refused(tmp_path: Path) -> None:
    with pytest.raises(TreespanError, match=r"there are no results in .*missing"):
        write_files(tmp_path / "missing")
    path = tmp_path / "test.table.jsonl"
    run(path, "smoke")
    path.write_text(path.read_text().replace('"treespan": "', '"treespan": "9.'))
    with pytest.raises(RecordsError, match=r"is of treespan 9\..*fresh sets the file aside"):
        result_of(tmp_path)


def test_a_torn_last_line_is_overlooked(tmp_path: Path) -> None:
    path = tmp_path / "test.table.jsonl"
    run(path, "smoke")
    before: Any = result_of(tmp_path).done
    path.write_bytes(path.read_bytes() + b'{"treespan": "0.')
    assert result_of(tmp_path).done == before == 4


def test_records_of_other_sources_are_counted(tmp_path: Path) -> None:
    path = tmp_path / "test.table.jsonl"
    run(path, "smoke")
    assert result_of(tmp_path).older_sources == 0
    path.write_text(path.read_text().replace('"sources": "', '"sources": "0', 2))  # of the run, and one record
    assert "1 records were made by other sources of this version." in result_of(tmp_path).remarks()
