"""A GTP session on MPI ranks, started by us or by mpiexec: one process speaks, all search, and all end together."""

import re
import subprocess
import sys

import pytest

from treespan.core.jit import JIT_DISABLED
from treespan.runtimes.launch import find_mpiexec
from treespan.runtimes.mpi_binding import find_library

pytest.importorskip("mpi4py", reason="mpi4py is missing; pip install treespan[mpich]")
pytestmark = [
    pytest.mark.skipif(JIT_DISABLED, reason="the MPI runtime needs the compiler"),
    pytest.mark.parametrize("launcher", ["treespan", "mpiexec"]),
]

SESSION = [sys.executable, "-m", "treespan", "gtp", "--game", "go:size=5,superko=yes", "--playouts", "100"]


def speak(launcher: str, text: str) -> str:
    """What a session on two ranks answers."""
    command = [*SESSION, "--ranks", "2"]
    if launcher == "mpiexec":
        library = find_library()
        if library.is_open_mpi and not text.endswith("quit\n"):
            pytest.skip("the mpiexec of Open MPI 5 does not tell a rank that its input has ended")
        extra = ["--oversubscribe", "--allow-run-as-root"] if library.is_open_mpi else []
        command = [find_mpiexec(library), *extra, "-n", "2", *SESSION]
    done = subprocess.run(command, input=text, capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_the_board_may_grow(launcher: str) -> None:
    text = "1 boardsize 9\n2 genmove b\n3 genmove w\n4 genmove b\n5 boardsize 5\n6 genmove b\n9 quit\n"
    moves = r"=1\n\n=2 \w+\n\n=3 \w+\n\n=4 \w+\n\n=5\n\n=6 [A-E][1-5]\n\n=9\n\n"
    assert re.fullmatch(moves, speak(launcher, text))


@pytest.mark.parametrize("ending", ["9 quit\n", ""], ids=["quit", "end of stream"])
def test_gtp_on_ranks(ending: str, launcher: str) -> None:
    answers = speak(launcher, "1 genmove b\n2 genmove w\n3 lz-analyze\n4 undo\n5 genmove w\n" + ending)
    wanted = r"=1 \w+\n\n=2 \w+\n\n=3\n(info .*\n)*\n=4\n\n=5 \w+\n\n" + ("=9\n\n" if ending else "")
    assert re.fullmatch(wanted, answers)
