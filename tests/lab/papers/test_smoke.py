"""Every key once at its smallest scale: what comes out has its shape, and keeps what must be true of any such table."""

from pathlib import Path
from typing import Any

import pytest

from treespan.core.jit import JIT_DISABLED
from treespan.lab.papers.laboratory import plan_work, records_path, require_runnable, run_study
from treespan.lab.papers.markdown import grids, paragraph, section, status
from treespan.lab.papers.registry import STUDIES
from treespan.lab.papers.report import read_result
from treespan.lab.papers.study import SCALES, Study, StudyError
from treespan.lab.store.records import Records

KEYS = list(STUDIES)
AGAINST_GNU_GO = ("cazenave2008.table1", "cazenave2008.table2")  # even at this scale; where it is missing, not run
RUNS = [pytest.param(key, marks=pytest.mark.programs if key in AGAINST_GNU_GO else ()) for key in KEYS]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """One for all keys: some share their records."""
    return tmp_path_factory.mktemp("results")


@pytest.mark.skipif(JIT_DISABLED, reason="thousands of playouts take the compiler")
@pytest.mark.parametrize("key", RUNS)
def test_a_key_runs(key: str, folder: Path) -> None:
    study = STUDIES[key]
    if study.unavailable():
        with pytest.raises(StudyError, match=key):
            require_runnable(study, "smoke", 1)
        return
    path = records_path(folder, study)
    with Records(path) as records:
        work = plan_work(study, "smoke", records)
        run_study(study, work, records, f"treespan paper run {key} --scale smoke")
        again = plan_work(study, "smoke", records)
    assert again.pending == [] and again.skipped == work.skipped
    result = read_result(study, folder, "smoke")
    measured = [result.sheet.cells[cell.place] for cell in study.cells("smoke") if cell.units]
    if work.skipped and not work.done and not work.pending:  # nothing of it can be done here
        (reason,) = work.skipped
        assert all(filled.obstacle == reason and filled.value is None for filled in measured)
        assert paragraph(result).startswith(f"Not run: {reason}.") and status(result) == f"not run: {reason}"
        assert [note for grid in grids(result) for note in grid.notes] == [f"not run: {reason}"]
        return
    values = [filled.value for filled in measured if not filled.obstacle]
    assert values and all(value is not None for value in values) and not any(cell.is_partial for cell in measured)
    for filled in measured:
        if filled.value:
            assert filled.value.low <= filled.value.mean <= filled.value.high
            assert filled.value.low >= 0 and (filled.value.high <= 1 or not filled.cell.is_share)
    assert result.findings() == []  # a smoke test proves nothing about claims
    assert any("not run" in cell for grid in grids(result) for row in grid.rows for cell in row) or len(values) == len(
        result.sheet.cells
    )
    assert "\n".join(section(result, {})).startswith(f"## {key}: {study.title}")


@pytest.mark.parametrize("key", KEYS)
def test_scales_measure_the_same_table(key: str) -> None:
    study = STUDIES[key]
    places = {scale: [cell.place for cell in study.cells_at(scale)] for scale in SCALES}
    for found in places.values():
        assert len(set(found)) == len(found)
    assert set(places["smoke"]) <= set(places["full"]) and set(places["desk"]) <= set(places["full"])
    published = {scale: {cell.place: cell.published for cell in study.cells_at(scale)} for scale in SCALES}
    assert all(published["full"][place] == figure for place, figure in published["desk"].items())
    counts = [len(study.units(scale)) for scale in SCALES]
    assert counts == sorted(counts)


@pytest.mark.parametrize("key", KEYS)
def test_units_have_keys_of_their_own(key: str) -> None:
    units = STUDIES[key].units("full")
    keys = {str(sorted(unit.key().items())) for unit in units}
    assert len(keys) == len(units)


def test_findings_are_made_from_figures_alone() -> None:
    """Without records no claim is confirmed or denied."""
    for study in STUDIES.values():
        sheet: Any = read_result(study, Path("/nonexistent")).sheet
        findings = study.findings(sheet)
        assert all(finding.compared == 0 and str(finding).endswith("not run.") for finding in findings)
        assert study.notes(sheet) == []


def test_all_tables_of_the_papers_are_there() -> None:
    tables = {"yoshizoe2011": range(1, 7), "cazenave2008": range(1, 10), "gelly2008": [1], "bourki2010": range(1, 6)}
    for paper, numbers in tables.items():
        assert all(f"{paper}.table{number}" in STUDIES for number in numbers)
    assert {f"gelly2008.{name}" for name in ("slow-root", "merge", "broadcast")} <= set(STUDIES)
    assert {f"graf2011.{name}" for name in ("table1a", "table1b", "figure5")} <= set(STUDIES)
    assert {"bourki2010.depth", "treespan.schemes", "treespan.strength", "treespan.internet"} <= set(STUDIES)


def test_schemes_that_are_missing_are_named() -> None:
    missing = Study("test.one", "", "", lambda scale: [], schemes=("nosuch:period=1",))
    assert missing.unavailable() == "needs the scheme nosuch, which this version does not have"
    on_threads = Study("test.two", "", "", lambda scale: [], schemes=("sequential",))
    assert on_threads.unavailable() == "needs the scheme sequential on simulated ranks; it runs on threads only"
    option = Study("test.three", "", "", lambda scale: [], schemes=("tds-uct:nosuch=1",))
    assert "unknown option" in (option.unavailable() or "")
    assert Study("test.four", "", "", lambda scale: [], schemes=("sequential",), simulated=False).unavailable() is None
