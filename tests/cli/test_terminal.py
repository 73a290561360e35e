"""What people see while a search runs."""

import io
import sys

import pytest

from tests.support.distributed import request
from treespan import terminal
from treespan.schemes.plan import RUNTIMES, SIMULATED, Plan


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def plan_on(runtime: str) -> Plan:
    return request("span", "tictactoe", 1000, ranks=2, runtime=runtime).plan


@pytest.mark.parametrize("runtime", RUNTIMES)
def test_progress_of_a_simulated_search_shows_both_times(runtime: str, monkeypatch: pytest.MonkeyPatch) -> None:
    screen = Terminal()
    monkeypatch.setattr(sys, "stderr", screen)
    monkeypatch.setattr(terminal, "PROGRESS_AFTER_SECONDS", 0.0)
    monkeypatch.setenv("COLUMNS", "120")
    with terminal.search_progress(plan_on(runtime)) as report:
        assert report is not None
        report(250, 0.5)
    shown = screen.getvalue()
    assert "250 playouts, 500/s" in shown
    assert ("0.500 s simulated" in shown) == (runtime == SIMULATED)


@pytest.mark.parametrize("runtime", RUNTIMES)
def test_no_progress_where_nobody_looks(runtime: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "stderr", io.StringIO())
    with terminal.search_progress(plan_on(runtime)) as report:
        assert report is None
