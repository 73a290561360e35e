"""One search of each kind, as people start them: with the tests of rules and compiler, what `make test-quick` runs."""

import json
import subprocess
import sys
from typing import Any

import pytest

from treespan.core.jit import JIT_DISABLED

PLAYOUTS = 50 if JIT_DISABLED else 500
SEARCH = ("search", "pgame:branching=4", "--playouts", str(PLAYOUTS), "--json")
KINDS = {  # options, and the scheme, runtime, ranks and threads that they mean
    "sequential": (("--scheme", "sequential"), ("sequential", "threads", 1, 1)),
    "df-UCT": (("--scheme", "sequential:algorithm=dfuct"), ("sequential:algorithm=dfuct", "threads", 1, 1)),
    "shared": (("--threads", "2"), ("shared", "threads", 1, 2)),
    "simulated span": (("--simulate", "4"), ("span", "simulated", 4, 1)),
}
Meaning = tuple[str, str, int, int]


def check(output: str, meaning: Meaning) -> None:
    """Nothing is lost: all playouts are done, and all are visits of the root and of its moves."""
    found = json.loads(output)
    assert (found["scheme"], found["runtime"], found["ranks"], found["threads"]) == meaning
    assert found["playouts"] == found["root_visits"] == sum(move["visits"] for move in found["moves"]) == PLAYOUTS


@pytest.mark.parametrize("kind", KINDS)
def test_a_search_of_each_kind(treespan: Any, kind: str) -> None:
    options, meaning = KINDS[kind]
    status, output, errors = treespan(*SEARCH, *options)
    assert (status, errors) == (0, "")
    check(output, meaning)


@pytest.mark.skipif(JIT_DISABLED, reason="the MPI runtime needs the compiler")
def test_a_search_over_two_ranks() -> None:
    pytest.importorskip("mpi4py", reason="mpi4py is missing; pip install treespan[mpich]")
    command = [sys.executable, "-m", "treespan", *SEARCH, "--ranks", "2"]
    done = subprocess.run(command, capture_output=True, text=True, timeout=600)
    assert done.returncode == 0, done.stderr
    check(done.stdout, ("span", "mpi", 2, 2))
