"""A session on MPI ranks: one rank speaks GTP, all search, and all end together."""

import re
import subprocess
import sys

import pytest

from treespan.core.jit import JIT_DISABLED

pytest.importorskip("mpi4py", reason="mpi4py is missing; pip install treespan[mpich]")
pytestmark = pytest.mark.skipif(JIT_DISABLED, reason="the MPI runtime needs the compiler")

COMMAND = [
    sys.executable,
    "-m",
    "treespan",
    "gtp",
    "--game",
    "go:size=5,superko=yes",
    "--ranks",
    "2",
    "--playouts",
    "100",
]


def test_the_board_may_grow() -> None:
    text = "1 boardsize 9\n2 genmove b\n3 genmove w\n4 genmove b\n5 boardsize 5\n6 genmove b\n9 quit\n"
    done = subprocess.run(COMMAND, input=text, capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stderr
    moves = r"=1\n\n=2 \w+\n\n=3 \w+\n\n=4 \w+\n\n=5\n\n=6 [A-E][1-5]\n\n=9\n\n"
    assert re.fullmatch(moves, done.stdout)


@pytest.mark.parametrize("ending", ["9 quit\n", ""], ids=["quit", "end of stream"])
def test_gtp_on_ranks(ending: str) -> None:
    text = "1 genmove b\n2 genmove w\n3 lz-analyze\n" + ending
    done = subprocess.run(COMMAND, input=text, capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stderr
    moves, refusal, *rest = done.stdout.rpartition("?3")
    assert re.fullmatch(r"=1 \w+\n\n=2 \w+\n\n", moves) and refusal == "?3"
    assert rest[0].startswith(" scheme span cannot be watched") and rest[0].endswith("=9\n\n" if ending else "\n\n")
