"""What people see while a search runs."""

import io
import sys
from collections.abc import Iterator
from typing import Any

import pytest
import typer

import treespan as ts
from tests.support.distributed import request
from treespan import terminal
from treespan.cli.app import app
from treespan.core.jit import JIT_DISABLED
from treespan.lab.measure.positions import SUITE
from treespan.schemes.plan import RUNTIMES, SIMULATED, Plan
from treespan.search.result import SearchResult


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


@pytest.fixture(scope="module")
def so_far() -> SearchResult:
    return ts.search("tictactoe", playouts=50)


def plan_on(runtime: str) -> Plan:
    return request("span", "tictactoe", 1000, ranks=2, runtime=runtime).plan


@pytest.mark.parametrize("runtime", RUNTIMES)
def test_progress_shows_the_best_move_and_of_a_simulated_search_both_times(
    runtime: str, so_far: SearchResult, monkeypatch: pytest.MonkeyPatch
) -> None:
    screen = Terminal()
    monkeypatch.setattr(sys, "stderr", screen)
    monkeypatch.setattr(terminal, "PROGRESS_AFTER_SECONDS", 0.0)
    monkeypatch.setenv("COLUMNS", "120")
    with terminal.search_progress(plan_on(runtime)) as line:
        assert line is not None
        line.report(125, 0.5)
        line.looks.tell(so_far)
        line.report(250, 0.5)
    shown = screen.getvalue()
    assert f"{so_far.move} {so_far.value:.3f}, 250 playouts, 500/s" in shown
    assert ("0.500 s simulated" in shown) == (runtime == SIMULATED)


@pytest.mark.parametrize("runtime", RUNTIMES)
def test_no_progress_where_nobody_looks(runtime: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "stderr", io.StringIO())
    with terminal.search_progress(plan_on(runtime)) as line:
        assert line is None


def commands(group: Any, *words: str) -> Iterator[tuple[str, ...]]:
    """All commands, as words after `treespan`."""
    yield words
    for name, one in getattr(group, "commands", {}).items():
        yield from commands(one, *words, name)


@pytest.mark.parametrize("words", list(commands(typer.main.get_command(app))), ids=" ".join)
def test_help_fits_80_columns(words: tuple[str, ...], treespan: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    status, out, _ = treespan(*words, "--help")
    assert status == 0 and widest(out) <= 80


LISTINGS = [("games",), ("schemes",), ("doctor",), ("paper", "list"), ("calibrate", "--list")]
POSITIONS = ("bench", "positions", str(SUITE / "capture-1.txt"), "--playouts", "20", "--options", "bandit=ucb1")


@pytest.mark.parametrize("columns", ["50", "80", ""])
@pytest.mark.parametrize("words", LISTINGS, ids=" ".join)
def test_listings_fit(words: tuple[str, ...], columns: str, treespan: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", columns)
    monkeypatch.setattr(sys, "__stdout__", io.StringIO())  # no terminal
    status, out, _ = treespan(*words)
    shown = [line for line in out.splitlines() if " /" not in line]  # paths stay whole
    assert status in (0, 1) and widest("\n".join(shown)) <= int(columns or 80)


@pytest.mark.skipif(JIT_DISABLED, reason="searches on 9x9 take too long as plain Python")
def test_rows_of_positions_fit(treespan: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "40")
    status, out, _ = treespan(*POSITIONS)
    assert status == 0 and "capture (1)" in out and widest(out) <= 40


def widest(text: str) -> int:
    return max(map(len, text.splitlines()))
