"""Options of the test run, and the program itself as a fixture."""

import os
import sys
from collections import Counter
from typing import Any

import hypothesis
import pytest

from treespan import play
from treespan.cli import main
from treespan.core.announce import SILENT
from treespan.core.jit import JIT_DISABLED
from treespan.core.programs import find_program
from treespan.engine import engine
from treespan.lab.match import referee

# Whether a search compiles depends on which test came first: the tests of `announce` alone look at what is said then.
os.environ[SILENT] = "1"

# The first example of a test may compile, and the machine may be busy: no example has a time limit.
hypothesis.settings.register_profile("treespan", deadline=None)
hypothesis.settings.load_profile("treespan")

LONG = "long; run with --full (make test-full)"
# Programs that tests need, by the names that their marker `programs` gives.
NEEDS = {"gnugo": "needs GNU Go; install the Debian package gnugo, or your system's"}
# Reasons to skip a test as they follow a number in the summary; others stand in parentheses.
IN_SUMMARY = {LONG: "long cross-checks (make test-full)", NEEDS["gnugo"]: "need GNU Go (install gnugo)"}


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--full", action="store_true", help="also run the long cross-checks")


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    if not config.getoption("--full"):
        skip = pytest.mark.skip(reason=LONG)
        for item in items:
            if item.get_closest_marker("full"):  # not item.keywords, which has the names of folders, too
                item.add_marker(skip)
    for item in items:
        for name in [name for marker in item.iter_markers("programs") for name in marker.args]:
            if find_program(name) is None:
                item.add_marker(pytest.mark.skip(reason=NEEDS[name]))


@pytest.hookimpl(trylast=True)
def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """One line: how many tests were skipped, by reason, and how to run them. Nothing if none was."""
    reports = terminalreporter.getreports("skipped")  # of all processes; `longrepr` is file, line and reason
    counts = Counter(str(report.longrepr[2]).removeprefix("Skipped: ") for report in reports)
    if counts:
        texts = [f"{count} {IN_SUMMARY.get(reason, f'({reason})')}" for reason, count in counts.most_common()]
        terminalreporter.write_line(f"skipped: {', '.join(texts)}")


@pytest.fixture
def treespan(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Any:
    """Run the program in this process. Returns exit status, stdout and stderr."""

    def run(*arguments: str) -> tuple[Any, str, str]:
        monkeypatch.setattr(sys, "argv", ["treespan", *arguments])
        with pytest.raises(SystemExit) as stop:
            main()
        captured = capsys.readouterr()
        return stop.value.code, captured.out, captured.err

    return run


@pytest.fixture(autouse=True)
def quick_scoring(monkeypatch: pytest.MonkeyPatch) -> None:
    """Without the JIT fewer playouts must do to tell dead stones: the boards of tests are small and settled."""
    if JIT_DISABLED:
        monkeypatch.setattr(engine, "STATUS_PLAYOUTS", 20)
        monkeypatch.setattr(referee, "SCORING_PLAYOUTS", 20)
        monkeypatch.setattr(play, "SCORE_PLAYOUTS", 20)
