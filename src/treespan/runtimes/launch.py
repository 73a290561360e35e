"""Whether this process is a rank of an MPI job, and which program starts the ranks of one."""

import contextlib
import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from contextvars import ContextVar
from pathlib import Path

from treespan.core.errors import OptionError
from treespan.core.machine import RANK_VARIABLES
from treespan.runtimes.mpi_binding import Library, MpiError, find_library, load_mpi
from treespan.runtimes.world import world

# Set for each rank by mpiexec, or by srun with an MPI plugin: how many there are
SIZE_VARIABLES = ("PMI_SIZE", "OMPI_COMM_WORLD_SIZE", "SLURM_STEP_NUM_TASKS")
LAST_SLURM_STEP = 0xFFFFFFEF  # above are Slurm's own: batch scripts, interactive shells
ALONE = "TREESPAN_ALONE"  # environment variable of the processes that a rank starts: they are no ranks
_is_alone = ContextVar("is_alone", default=False)


def inside_mpi() -> bool:
    """Whether this process takes part in an MPI job. A rank that works `alone` does not."""
    return is_rank() and not _is_alone.get() and ALONE not in os.environ


@contextlib.contextmanager
def alone() -> Iterator[None]:
    """Let a rank work as if it were no rank, while the others wait."""
    before = _is_alone.set(True)
    try:
        yield
    finally:
        _is_alone.reset(before)


def environment_alone() -> dict[str, str]:
    """The environment of a process that is no rank, even if this one is."""
    return {**os.environ, ALONE: "1"} if is_rank() else dict(os.environ)


def is_rank() -> bool:
    """Whether this process, or the one that has started it, is a rank that mpiexec or srun has started."""
    if "SLURM_PTY_PORT" in os.environ:  # a shell by `srun --pty`: one may launch ranks from there
        return "OMPI_COMM_WORLD_RANK" in os.environ
    return any(name in os.environ for name in RANK_VARIABLES) or _is_slurm_task()


def _is_slurm_task() -> bool:
    """Whether srun started several of us. A batch script or an interactive shell is no task."""
    step, tasks = os.environ.get("SLURM_STEP_ID", ""), os.environ.get("SLURM_STEP_NUM_TASKS", "")
    return step.isdigit() and int(step) <= LAST_SLURM_STEP and tasks.isdigit() and int(tasks) > 1


def join_job() -> None:
    """Let a rank join its MPI job before anything can fail: its error can then end the others, who would wait."""
    if inside_mpi():
        load_mpi()


def world_size() -> int:
    """How many ranks this MPI job has; refuses a launcher that does not know our MPI."""
    size: int = world().size
    name = next((name for name in SIZE_VARIABLES if name in os.environ), None)
    if load_mpi().COMM_WORLD.size == 1 and name and os.environ[name] != "1":
        library = find_library()
        raise MpiError(
            f"{name} is {os.environ[name]}, but {library.vendor} sees one rank; use the mpiexec of {library.path}, "
            "or give srun the --mpi=... of that MPI (srun --mpi=list)"
        )
    return size


def require_own_ranks(what: str, remedy: str) -> None:
    """Refuse what starts ranks of its own where mpiexec or srun has started some: one mpiexec cannot start another."""
    if is_rank():
        remedy += ", or start it without mpiexec and srun"
        raise OptionError(f"{what} starts ranks, which a rank of mpiexec or srun cannot; {remedy}")


def find_mpiexec(library: Library) -> str:
    """The launcher of an MPI: beside its library, beside Python, else on the PATH."""
    # Where several MPIs share a folder, as on Debian, the plain name may be the other one's.
    names = ["mpiexec.openmpi" if library.is_open_mpi else "mpiexec.mpich", "mpiexec"]
    prefixes = [folder.parent for folder in Path(library.path).parents if folder.name.startswith("lib")]
    homes = [*(prefix / "bin" for prefix in prefixes), Path(sys.executable).parent]
    beside = [str(home / name) for home in homes for name in names if (home / name).exists()]
    on_path = filter(None, map(shutil.which, reversed(names)))  # an environment module puts its mpiexec in front
    for candidate in [*beside, *on_path]:
        if _is_open_mpi(candidate) == library.is_open_mpi:
            return candidate
    raise MpiError(f"there is no mpiexec for the {library.vendor} of {library.path}; pip install treespan[mpich]")


def _is_open_mpi(mpiexec: str) -> bool:
    text = subprocess.run([mpiexec, "--version"], capture_output=True, text=True).stdout
    return "Open MPI" in text or "OpenRTE" in text
