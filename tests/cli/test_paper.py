"""`treespan paper` as people use it."""

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from tests.support.studies import BLOCK, PLAYERS, STUDY
from treespan.lab.papers import registry
from treespan.lab.papers.registry import STUDIES
from treespan.lab.papers.study import Cell, mean_of
from treespan.lab.papers.units import MatchGame

GNU_GO_CELL = Cell(
    BLOCK, "gnugo", "plies", [MatchGame("go:size=5", PLAYERS[0], "gtp: gnugo --mode gtp", 0)], mean_of("plies")
)


@pytest.fixture
def small_study(monkeypatch: pytest.MonkeyPatch) -> None:
    """A study that takes no time, among the others."""
    monkeypatch.setitem(STUDIES, STUDY.key, STUDY)


@pytest.mark.programs
def test_the_list_names_everything(treespan: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    status, output, _ = treespan("paper", "list", "--json")
    rows = {row["key"]: row for row in json.loads(output)}
    assert status == 0 and list(rows) == list(STUDIES)
    assert rows["yoshizoe2011.table4"]["state"] == "ready" and "tds-dfuct" in rows["yoshizoe2011.table4"]["needs"]
    assert "GNU Go" in rows["cazenave2008.table1"]["needs"]
    monkeypatch.setenv("TREESPAN_HIDE_PROGRAMS", "1")
    study = replace(STUDY, key="test.gnugo", needs="GNU Go", cells=lambda scale: [GNU_GO_CELL])
    monkeypatch.setitem(STUDIES, study.key, study)
    status, output, _ = treespan("paper", "list", "--json")
    assert "ready, with gaps: there is no program 'gnugo'; install the Debian package gnugo" in output
    status, output, _ = treespan("paper", "list")
    assert status == 0 and all(key in output for key in STUDIES)


def test_run_and_report(treespan: Any, small_study: None, tmp_path: Path) -> None:
    out = tmp_path / "results"
    status, output, errors = treespan("paper", "run", "test.table", "--scale", "smoke", "--out", str(out))
    assert status == 0 and "rate: paper" in output and "0 units done, 4 to do" in errors
    status, output, errors = treespan("paper", "run", "test", "--scale", "smoke", "--out", str(out))  # all of a paper
    assert status == 0 and "4 units done, 0 to do" in errors
    status, output, _ = treespan("paper", "run", "test.table", "--scale", "smoke", "--out", str(out), "--json")
    document = json.loads(output)
    assert (document["done"], document["planned"], document["scale"]) == (4, 4, "smoke")
    assert [cell["value"]["count"] for cell in document["cells"]] == [2, 2]
    status, output, _ = treespan("paper", "report", "--out", str(out), "--json")
    files = [Path(file) for file in json.loads(output)["files"]]
    assert status == 0 and [file.name for file in files] == ["report.html", "report.md"]
    for key in STUDIES:
        assert all(key in file.read_text() for file in files)
    assert "treespan paper run test.table --scale smoke" in files[1].read_text()


def test_results_of_another_version_are_refused_and_can_be_set_aside(
    treespan: Any, small_study: None, tmp_path: Path
) -> None:
    arguments = ("paper", "run", "test.table", "--scale", "smoke", "--out", str(tmp_path))
    assert treespan(*arguments)[0] == 0
    path = tmp_path / "test.table.jsonl"
    path.write_text(path.read_text().replace('"treespan": "', '"treespan": "9.'))
    status, _, errors = treespan(*arguments)
    assert status == 2 and "is of treespan 9." in errors and "--fresh sets the file aside" in errors
    assert treespan(*arguments, "--fresh")[0] == 0
    assert '"treespan": "9.' in (tmp_path / "test.table.old.jsonl").read_text()


@pytest.mark.parametrize(
    ("key", "expected"),
    [
        ("yoshizoe2011.table9", "did you mean yoshizoe2011.table"),
        ("bourki", "did you mean bourki2010"),
        ("zzz", "papers: yoshizoe2011, cazenave2008, gelly2008, graf2011, bourki2010, treespan"),
    ],
)
def test_unknown_keys_list_near_ones(treespan: Any, key: str, expected: str) -> None:
    status, _, errors = treespan("paper", "run", key)
    assert status == 2 and errors.count("\n") == 1 and expected in errors


def test_studies_without_their_scheme_are_refused(
    treespan: Any, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setitem(registry.STUDIES, "test.none", replace(STUDY, key="test.none", schemes=("nosuch",)))
    status, _, errors = treespan("paper", "run", "test.none", "--out", str(tmp_path))
    assert status == 2 and errors == "treespan: test.none needs the scheme nosuch, which this version does not have\n"
