"""The MPI runtime, through the command line: it launches real processes of the installed MPI."""

import json
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest

from tests.runtimes.distributed import one_job, sequential_moves
from tests.schemes.test_schemes import hear_interrupts
from treespan.core.jit import JIT_DISABLED
from treespan.games.registry import make_game
from treespan.runtimes.launch import inside_mpi

pytest.importorskip("mpi4py", reason="mpi4py is missing; pip install treespan[mpich]")
pytestmark = pytest.mark.skipif(JIT_DISABLED, reason="the MPI runtime needs the compiler")

TREESPAN = [sys.executable, "-m", "treespan"]


def search(*arguments: str) -> Any:
    done = subprocess.run([*TREESPAN, "search", *arguments, "--json"], capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stderr + done.stdout
    return json.loads(done.stdout)


def shared_segments() -> set[Path]:
    """What MPI jobs have left in shared memory."""
    return set(Path("/dev/shm").glob("mpich*"))


@pytest.mark.parametrize("scheme", ["tds-uct", "tds-uct:dedicated_root=yes", "tds-dfuct", "tds-dfuct:grant=4"])
def test_nothing_is_lost_on_three_ranks(scheme: str) -> None:
    result = search("pgame:branching=5", "--ranks", "3", "--scheme", scheme, "--playouts", "5000")
    assert result["runtime"] == "mpi" and result["ranks"] == 3
    assert result["playouts"] == result["root_visits"] == sum(result["playouts_by_rank"]) == 5000
    assert sum(move["visits"] for move in result["moves"]) == 5000
    assert result["messages"]["sent"] == result["messages"]["received"] > 0


@pytest.mark.parametrize("algorithm", ["uct", "dfuct"])
def test_one_rank_with_one_job_is_the_sequential_search(algorithm: str) -> None:
    spec = "pgame:branching=5"
    result = search(spec, "--ranks", "1", "--scheme", one_job(algorithm), "--playouts", "2000", "--seed", "7")
    expected = sequential_moves(spec, algorithm, 2000, 7)
    names = make_game(spec).move_name
    assert {move["move"]: move["visits"] for move in result["moves"]} == {names(m): v for m, (v, _) in expected.items()}


def test_time_limit_and_more_ranks_than_cores() -> None:
    result = search("tictactoe", "--ranks", "6", "--seconds", "0.5")
    assert result["playouts"] == result["root_visits"] > 0
    assert 0.4 < result["seconds"] < 10 and result["ranks"] == 6  # ranks start their clocks at slightly different times


@pytest.mark.parametrize("sent", [signal.SIGINT, signal.SIGTERM])
def test_signals_end_all_ranks_with_the_best_move_so_far(sent: signal.Signals) -> None:
    command = [
        *TREESPAN,
        "search",
        "pgame:branching=5",
        "--ranks",
        "2",
        "--seconds",
        "60",
        "--policy",
        "wait=1ms",
        "--json",
    ]
    before = shared_segments()
    process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True, preexec_fn=hear_interrupts)
    time.sleep(8)  # the ranks have loaded their code by now
    process.send_signal(sent)
    start = time.monotonic()
    out, _ = process.communicate(timeout=60)
    result = json.loads(out)
    assert process.returncode == 0 and result["interrupted"] is True
    assert result["playouts"] == result["root_visits"] > 0
    assert time.monotonic() - start < 5  # ends within 2 s; more is the processes' own end on a busy machine
    patience = time.monotonic() + 10  # another job of this user may be passing by
    while (left := shared_segments() - before) and time.monotonic() < patience:
        time.sleep(0.5)
    assert not left


def test_mistakes_are_found_before_any_rank_starts() -> None:
    done = subprocess.run([*TREESPAN, "search", "gow", "--ranks", "2"], capture_output=True, text=True, timeout=60)
    assert done.returncode == 2 and done.stderr == "treespan: unknown game 'gow'; did you mean 'go'?\n"
    both = [*TREESPAN, "search", "go", "--ranks", "2", "--simulate", "3"]
    done = subprocess.run(both, capture_output=True, text=True, timeout=60)
    assert done.returncode == 2 and "exclude each other" in done.stderr


def test_this_process_is_no_rank() -> None:
    assert not inside_mpi()
