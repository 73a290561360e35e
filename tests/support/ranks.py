"""MPI ranks that tests start: which processes there are, and what they hold."""

import contextlib
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

from tests.support.programs import environment


def run_under_mpiexec(script: str, folder: Path, ranks: int = 2) -> subprocess.CompletedProcess[str]:
    """Let each of some ranks run a script in a folder, to the end."""
    from treespan.runtimes.launch import find_mpiexec
    from treespan.runtimes.mpi_binding import find_library

    path = folder / "script.py"
    path.write_text(script)
    library = find_library()
    extra = ["--oversubscribe", "--allow-run-as-root"] if library.is_open_mpi else []
    command = [find_mpiexec(library), *extra, "-n", str(ranks), sys.executable, str(path)]
    return subprocess.run(command, capture_output=True, text=True, timeout=300, cwd=folder, env=environment())


def processes_of(folder: Path) -> list[int]:
    """Processes that were started with this temporary folder: a job's launcher, its ranks, perhaps who started it."""
    marker = f"TMPDIR={folder}".encode()
    found = []
    for process in Path("/proc").glob("[0-9]*"):
        with contextlib.suppress(OSError):
            if marker in (process / "environ").read_bytes().split(b"\0"):
                found.append(int(process.name))
    return found


def ranks_of(folder: Path) -> list[int]:
    """The ranks of the jobs in this temporary folder: each has noted what it holds under its number."""
    return [int(note.name.removeprefix("rank-")) for note in folder.glob("treespan-job-*/rank-*")]


def shared_memory_of(folder: Path) -> list[Path]:
    """What the ranks of a job have noted to hold in /dev/shm."""
    notes = folder.glob("treespan-job-*/rank-*")
    return [Path("/dev/shm") / name for note in notes for name in note.read_text().splitlines()]


def survives_losses() -> bool:
    """Whether ranks that we start go on when one of them is lost."""
    from treespan.runtimes.mpi_binding import MpiError, find_library

    try:
        library = find_library()
    except MpiError:
        return False
    return library.is_open_mpi and int(library.version.partition(".")[0]) >= 5


def wait_for(condition: Callable[[], bool], seconds: float = 60) -> bool:
    end = time.monotonic() + seconds
    while not (is_met := condition()) and time.monotonic() < end:
        time.sleep(0.1)
    return is_met
