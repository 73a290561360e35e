"""What is said while code is compiled: nothing for a while, then one line, or a counter on a terminal."""

import os
import pty
import subprocess
from pathlib import Path
from typing import Any

import pytest

from tests.support.programs import DRAW, command, environment, run
from treespan.core import announce as announcing
from treespan.core.announce import PATIENCE_SECONDS
from treespan.core.jit import JIT_DISABLED

# The first argument is the patience.
SPEAK = """
import sys, time
from treespan.core import announce as announcing
from treespan.core.announce import announce

announcing.PATIENCE_SECONDS = float(sys.argv.pop(1))

for seconds in sys.argv[1:]:
    with announce(lambda: 6, 12):
        time.sleep(float(seconds))
print("done")
"""
SHORT = 0.1  # as long a patience as a test has
LONG = (str(SHORT), str(SHORT + 0.4))


def test_nothing_is_said_within_a_second(tmp_path: Path) -> None:
    done = run(SPEAK, tmp_path, str(PATIENCE_SECONDS), "0.5", "0.5", "0.5")
    assert (done.stdout, done.stderr) == ("done\n", "")
    assert PATIENCE_SECONDS == 1


def test_one_line_is_said_where_no_terminal_is(tmp_path: Path) -> None:
    done = run(SPEAK, tmp_path, str(SHORT), str(2 * SHORT + 0.4), str(SHORT + 0.4))
    (line,) = done.stderr.splitlines()
    assert line.startswith("treespan: compiling") and "\r" not in done.stderr
    assert done.stdout == "done\n"


@pytest.mark.parametrize("variable", ["TREESPAN_SILENT", "PMI_RANK", "PMIX_RANK", "OMPI_COMM_WORLD_RANK"])
def test_nothing_is_said_by_other_ranks_or_where_it_is_not_wanted(variable: str, tmp_path: Path) -> None:
    settings: Any = {variable: "1"}
    done = run(SPEAK, tmp_path, *LONG, **settings)
    assert (done.returncode, done.stdout, done.stderr) == (0, "done\n", "")


def test_first_rank_speaks(tmp_path: Path) -> None:
    assert "compiling" in run(SPEAK, tmp_path, *LONG, PMI_RANK="0").stderr


def test_terminal_shows_how_far_it_is_and_is_cleared(tmp_path: Path) -> None:
    ours, theirs = pty.openpty()
    with subprocess.Popen(
        command(SPEAK, tmp_path, *LONG), env=environment(), stdout=subprocess.PIPE, stderr=theirs, text=True
    ) as process:
        os.close(theirs)
        shown = b""
        try:
            while part := os.read(ours, 1000):
                shown += part
        except OSError:  # Linux says so when the other side is closed
            pass
        finally:
            os.close(ours)
        assert process.stdout is not None
        assert process.stdout.read() == "done\n"
    text = shown.decode()
    assert text.startswith("\rcompiling 7 of 12 …")
    assert text.endswith("\r") and text.split("\r")[-2].strip() == ""


SLOW_IMPORT = """
import importlib.abc, sys, threading, time
from treespan.core import compiled

class Slow(importlib.abc.MetaPathFinder):
    def find_spec(self, name, path, target=None):
        if name == "treespan.core.compiler":
            time.sleep(1.6)
            print("loaded", file=sys.stderr, flush=True)

sys.meta_path.insert(0, Slow())
start = compiled._start_helpers
def start_helpers(*arguments):
    print(threading.active_count(), "thread", file=sys.stderr, flush=True)
    start(*arguments)
compiled._start_helpers = start_helpers
"""


@pytest.mark.skipif(JIT_DISABLED, reason="nothing is compiled")
def test_compiling_begins_with_the_loading_of_the_compiler(tmp_path: Path) -> None:
    done = run(SLOW_IMPORT + DRAW, tmp_path, home=tmp_path / "home")
    assert done.stderr.splitlines() == ["treespan: compiling; the code is kept for next time", "loaded", "1 thread"]


def test_count_does_not_pass_the_total(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    import time

    for name in ("TREESPAN_SILENT", "PMI_RANK", "PMIX_RANK", "OMPI_COMM_WORLD_RANK"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setattr(announcing, "PATIENCE_SECONDS", 0.05)
    monkeypatch.setattr("sys.stderr.isatty", lambda: True, raising=False)
    with announcing.announce(lambda: 12, 12):
        time.sleep(0.3)
    assert "compiling 12 of 12" in capsys.readouterr().err


def test_error_while_compiling_is_not_held_back() -> None:
    with pytest.raises(ValueError, match="of the compiler"), announcing.announce(lambda: 0, 1):
        raise ValueError("of the compiler")
