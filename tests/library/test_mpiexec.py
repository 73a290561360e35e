"""Calls of the library that all ranks of an MPI job make: all get the result, or all raise the error."""

import ast
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from tests.support.ranks import run_under_mpiexec
from treespan.core.jit import JIT_DISABLED

pytest.importorskip("mpi4py", reason="mpi4py is missing; pip install treespan[mpich]")
pytestmark = pytest.mark.skipif(JIT_DISABLED, reason="the MPI runtime needs the compiler")

# Each rank makes the calls one after another, and writes what it gets into a file of its own.
SCRIPT = """
from pathlib import Path
import treespan as ts
from mpi4py import MPI

rank = MPI.COMM_WORLD.rank
GAME = "pgame:branching=4"

def fail(step):
    raise RuntimeError("boom")

def answer(call):
    try:
        return str(call())
    except Exception as error:
        return f"{type(error).__name__}: {error}"

calls = {
CALLS
}
found = {name: answer(call) for name, call in calls.items()}
Path(f"answers-{rank}").write_text(repr(found))
"""


def answers(calls: dict[str, str], folder: Path, before: str = "") -> Sequence[dict[str, Any]]:
    """What each of two ranks gets from calls."""
    lines = "\n".join(f"    {name!r}: lambda: {call}," for name, call in calls.items())
    done = run_under_mpiexec(before + SCRIPT.replace("CALLS", lines), folder)
    assert done.returncode == 0, done.stderr
    return [ast.literal_eval((folder / f"answers-{rank}").read_text()) for rank in (0, 1)]


MEASUREMENTS = {
    "match": 'ts.match("playouts=20", "playouts=10", "tictactoe", games=2).score.games',
    "match in processes": 'ts.match("playouts=20", "playouts=10", "tictactoe", games=2, jobs=2).score.games',
    "speedup": 'ts.speedup(GAME, "span", simulate=[1, 2], playouts=200)',
    "compare": 'ts.compare(GAME, simulate=2, playouts=200, schemes=["span"])',
    "advise": 'ts.advise(GAME, machines=2, playouts=200, searches=1, network="qdr").command[:12]',
}
CANNOT = "starts ranks, which a rank of mpiexec or srun cannot; give"
REFUSED = {
    'ts.speedup(GAME, "span", simulate=[1], ranks=[3], playouts=200)': f"OptionError: ranks=3 {CANNOT} simulate",
    "ts.compare(GAME, ranks=2, playouts=200)": f"OptionError: ranks=2 {CANNOT} simulate",
    "ts.advise(GAME, machines=2)": f"OptionError: measuring messages {CANNOT} network",
    'ts.match("ranks=2", "playouts=10", "tictactoe", games=2)': "OptionError: player A: 'ranks=2': a player of a match",
    'ts.compare(GAME, simulate=2, schemes=["spam"])': "OptionError: unknown scheme 'spam'; did you mean 'span'?",
}


def test_rank_0_measures_and_all_ranks_get_the_table(tmp_path: Path) -> None:
    first, second = answers(MEASUREMENTS, tmp_path)
    assert first == second and first["match"] == first["match in processes"] == "2"
    assert "speed-up" in first["speedup"] and "span" in first["compare"] and first["advise"] == "mpiexec -n 2"


def test_what_cannot_be_measured_is_refused_on_all_ranks(tmp_path: Path) -> None:
    first, second = answers({call: call for call in REFUSED}, tmp_path)
    assert first == second
    for call, error in REFUSED.items():
        assert first[call].startswith(error) and "\n" not in first[call]


def test_an_error_of_rank_0_is_raised_on_all_ranks(tmp_path: Path) -> None:
    first, second = answers({"fail": "ts.compare(GAME, simulate=2, playouts=200, on_step=fail)"}, tmp_path)
    assert first["fail"] == "RuntimeError: boom" and second["fail"] == "TreespanError: rank 0: RuntimeError: boom"


def test_a_search_uses_the_ranks_of_the_job_however_many_it_asks_for(tmp_path: Path) -> None:
    calls = {
        "ranks=7": "ts.search(GAME, playouts=100, ranks=7).ranks",
        "ranks=0": "ts.search(GAME, playouts=100, ranks=0)",
    }
    first, second = answers(calls, tmp_path)
    assert first == second and first["ranks=7"] == "2"
    assert first["ranks=0"] == "OptionError: ranks=0 is out of range; give 1..65536"
