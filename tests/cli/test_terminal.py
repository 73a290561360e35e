"""What people see while a search runs."""

import io
import sys

import pytest

from treespan import terminal
from treespan.schemes.base import Budget


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


@pytest.mark.parametrize("is_simulated", [False, True])
def test_progress_of_a_simulated_search_shows_both_times(is_simulated: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    screen = Terminal()
    monkeypatch.setattr(sys, "stderr", screen)
    monkeypatch.setattr(terminal, "PROGRESS_AFTER_SECONDS", 0.0)
    monkeypatch.setenv("COLUMNS", "120")
    with terminal.search_progress(Budget(playouts=1000), is_simulated) as report:
        assert report is not None
        report(250, 0.5)
    shown = screen.getvalue()
    assert "250 playouts, 500/s" in shown
    assert ("0.500 s simulated" in shown) == is_simulated


def test_no_progress_where_nobody_looks(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "stderr", io.StringIO())
    monkeypatch.setattr(terminal, "open_terminal", lambda: None)
    with terminal.search_progress(Budget(playouts=1000)) as report:
        assert report is None
