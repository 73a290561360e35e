"""The MPI runtime, through the command line: it launches real processes of the installed MPI."""

import contextlib
import json
import os
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.support.distributed import one_job, sequential_moves
from tests.support.interrupts import hear_interrupts
from tests.support.ranks import processes_of, ranks_of, shared_memory_of, wait_for
from tests.support.screens import open_screen
from treespan.core.jit import JIT_DISABLED
from treespan.games.registry import make_game

pytest.importorskip("mpi4py", reason="mpi4py is missing; pip install treespan[mpich]")
pytestmark = pytest.mark.skipif(JIT_DISABLED, reason="the MPI runtime needs the compiler")

TREESPAN = [sys.executable, "-m", "treespan"]


def search(*arguments: str) -> Any:
    done = subprocess.run([*TREESPAN, "search", *arguments, "--json"], capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stderr + done.stdout
    return json.loads(done.stdout)


@pytest.mark.parametrize(
    "scheme",
    [
        "tds-uct",
        "tds-uct:dedicated_root=yes",
        "tds-dfuct",
        "tds-dfuct:grant=4",
        "slow-tree:period=0.001",
        "master-worker:jobs_per_worker=2",
        "leaf",
        "broadcast:period=0.001",
        "treesplit:n_dup=0,n_sync=3,bandit=puct",  # priors travel, too
        "span:jobs=20,grant=2,bandit=puct",
        "span:jobs=20,grant=2,bandit=rave-mse",  # trails, too
        "treesplit:n_dup=0,n_sync=3,bandit=rave",
        "mp-mcts",
    ],
)
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


FAULTY = '''
import os
from dataclasses import dataclass

from treespan.core.errors import OptionError
from treespan.games.pgame import PGame


@dataclass(frozen=True)
class Faulty(PGame):
    """Breaks at rank 1, before the search starts."""

    name = "faulty"

    @property
    def max_moves(self):
        if os.environ.get("PMI_RANK", os.environ.get("PMIX_RANK")) == "1":
            raise {ERROR}("no room here")
        return super().max_moves
'''


@pytest.mark.parametrize("error, status", [("RuntimeError", 1), ("OptionError", 2)])
def test_the_failure_of_one_rank_ends_the_job_and_is_told(error: str, status: int, tmp_path: Path) -> None:
    game = tmp_path / "faulty.py"
    game.write_text(FAULTY.replace("{ERROR}", error))
    command = [*TREESPAN, "search", str(game), "--ranks", "2", "--playouts", "100", "--json"]
    done = subprocess.run(command, capture_output=True, text=True, timeout=120)
    told = "rank 1: RuntimeError: no room here" if error == "RuntimeError" else "rank 1: no room here"
    assert done.returncode == status and f"treespan: {told}\n" in done.stderr
    assert error == "RuntimeError" or json.loads(done.stdout) == {"error": told}


@contextlib.contextmanager
def started_search(tmp_path: Path) -> Iterator[subprocess.Popen[str]]:
    """A long search on two ranks that has begun: it shows its progress on a terminal."""
    environment = {**os.environ, "TMPDIR": str(tmp_path), "TERM": "xterm", "COLUMNS": "120"}
    command = [*TREESPAN, "search", "pgame:branching=5", "--ranks", "2", "--seconds", "600", "--policy", "wait=1ms"]
    with (
        open_screen() as screen,
        subprocess.Popen(
            command,
            stdout=subprocess.PIPE,
            stderr=screen.terminal,
            text=True,
            env=environment,
            start_new_session=True,
            preexec_fn=hear_interrupts,
        ) as process,
    ):
        try:
            assert wait_for(lambda: " playouts, " in screen.text or process.poll() is not None, 300)
            assert process.poll() is None, screen.text
            yield process
        finally:
            process.kill()


@pytest.mark.parametrize("send", [os.kill, os.killpg], ids=["process", "all of a terminal"])
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_signals_end_all_ranks_with_the_best_move_so_far(
    number: signal.Signals, send: Callable[[int, int], None], tmp_path: Path
) -> None:
    with started_search(tmp_path) as process:
        memory = shared_memory_of(tmp_path)
        send(process.pid, number)
        out, _ = process.communicate(timeout=60)  # the product promises 2 s; a busy machine may take longer
    assert process.returncode == 0
    assert "best move" in out and "interrupted: the best move so far" in out
    assert processes_of(tmp_path) == [] and not any(path.exists() for path in memory)
    assert list(tmp_path.iterdir()) == []


def test_a_killed_launcher_takes_its_ranks_along_and_the_next_one_cleans_up(tmp_path: Path) -> None:
    with started_search(tmp_path) as process:
        memory = shared_memory_of(tmp_path)
        assert len(ranks_of(tmp_path)) == 2 and len(processes_of(tmp_path)) >= 3
        process.kill()
        process.communicate()
        assert wait_for(lambda: processes_of(tmp_path) == [])
    environment = {**os.environ, "TMPDIR": str(tmp_path)}
    subprocess.run([*TREESPAN, "search", "tictactoe", "--ranks", "1"], env=environment, timeout=120, check=True)
    assert list(tmp_path.iterdir()) == [] and not any(path.exists() for path in memory)


def test_the_launcher_of_another_mpi_is_refused(tmp_path: Path) -> None:
    environment = {**os.environ, "PMI_RANK": "0", "OMPI_COMM_WORLD_SIZE": "2", "TMPDIR": str(tmp_path)}
    # A process of Open MPI without mpiexec leaves its shared memory behind, whatever it runs.
    for name in ("btl_sm_backing_directory", "btl_vader_backing_directory"):
        environment[f"OMPI_MCA_{name}"] = str(tmp_path)
    environment.pop("PMI_SIZE", None)
    code = "from treespan.runtimes.launch import world_size; world_size()"
    done = subprocess.run([sys.executable, "-c", code], env=environment, capture_output=True, text=True, timeout=60)
    assert "OMPI_COMM_WORLD_SIZE is 2, but" in done.stderr and "sees one rank; use the mpiexec of" in done.stderr


def test_mistakes_are_found_before_any_rank_starts() -> None:
    done = subprocess.run([*TREESPAN, "search", "gow", "--ranks", "2"], capture_output=True, text=True, timeout=60)
    assert done.returncode == 2 and done.stderr == "treespan: unknown game 'gow'; did you mean 'go'?\n"
    both = [*TREESPAN, "search", "go", "--ranks", "2", "--simulate", "3"]
    done = subprocess.run(both, capture_output=True, text=True, timeout=60)
    assert done.returncode == 2 and "exclude each other" in done.stderr
