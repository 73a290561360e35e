"""Start the ranks of an MPI job on this machine, and end them cleanly."""

import contextlib
import ctypes
import os
import shutil
import signal
import subprocess
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import IO

from treespan.core.errors import INTERRUPTED_STATUS
from treespan.core.machine import RANK_VARIABLES, TERMINAL, is_first_rank
from treespan.runtimes.job_folder import JOB_FOLDER, open_job_folder
from treespan.runtimes.mpi import STOP_FILE
from treespan.runtimes.mpi_binding import Library, MpiError, find_library, load_mpi

# Set for each rank by mpiexec, or by srun with an MPI plugin: how many there are
SIZE_VARIABLES = ("PMI_SIZE", "OMPI_COMM_WORLD_SIZE", "SLURM_STEP_NUM_TASKS")
LAST_SLURM_STEP = 0xFFFFFFEF  # above are Slurm's own: batch scripts, interactive shells
GRACE_SECONDS = 5.0  # for the ranks to end by themselves after Ctrl-C
_PR_SET_PDEATHSIG = 1


def inside_mpi() -> bool:
    """Whether this process is a rank that mpiexec or srun has started."""
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


def open_terminal() -> IO[str] | None:
    """Rank 0's way to the launcher's terminal, for progress: Open MPI 5 keeps back what has no line end."""
    path = os.environ.get(TERMINAL)
    if path and is_first_rank():
        with contextlib.suppress(OSError):
            return open(os.open(path, os.O_WRONLY | os.O_APPEND | os.O_NOCTTY), "w", encoding="utf-8")
    return None


def world_size() -> int:
    """How many ranks this MPI job has; refuses a launcher that does not know our MPI."""
    size: int = load_mpi().COMM_WORLD.size
    name = next((name for name in SIZE_VARIABLES if name in os.environ), None)
    if size == 1 and name and os.environ[name] != "1":
        library = find_library()
        raise MpiError(
            f"{name} is {os.environ[name]}, but {library.vendor} sees one rank; use the mpiexec of {library.path}, "
            "or give srun the --mpi=... of that MPI (srun --mpi=list)"
        )
    return size


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


def command_line(ranks: int, arguments: Sequence[str], folder: Path) -> tuple[list[str], dict[str, str]]:
    """The command that starts `treespan ARGUMENTS` on `ranks` ranks, and its environment."""
    library = find_library()
    command, environment = [find_mpiexec(library), "-n", str(ranks)], dict(os.environ)
    if library.is_open_mpi:
        command += ["--oversubscribe", "--bind-to", "none"]
        environment.update(OMPI_ALLOW_RUN_AS_ROOT="1", OMPI_ALLOW_RUN_AS_ROOT_CONFIRM="1")
        # Its session folders inside ours (Open MPI 5, then 4), so that they go with it whatever happens.
        environment.update(PRTE_MCA_prte_tmpdir_base=str(folder), OMPI_MCA_orte_tmpdir_base=str(folder))
    return [*command, sys.executable, "-m", "treespan", *arguments], environment


def launch(ranks: int, arguments: Sequence[str], output: IO[bytes] | IO[str] | None = None) -> int:
    """Run `treespan ARGUMENTS` on `ranks` ranks of this machine; gives the exit status.

    What the ranks print goes to the file `output` if there is one, else where this process prints.

    Ctrl-C and SIGTERM let the search end with its best move so far. If this process is killed, so are the ranks.
    """
    with open_job_folder() as job:
        command, environment = command_line(ranks, arguments, job.path)
        environment[STOP_FILE] = str(job.stop_file)
        environment[JOB_FOLDER] = str(job.path)
        with contextlib.suppress(OSError):  # no terminal
            environment[TERMINAL] = os.ttyname(2)
        with _terminated_as_interrupted():
            # A session of its own: a terminal's Ctrl-C must reach us alone, for mpiexec would kill the ranks.
            process = subprocess.Popen(
                command,
                env=environment,
                stdout=output,
                start_new_session=True,
                preexec_fn=_die_with_parent,
                pass_fds=(job.lock,),
            )
            return _wait(process, job.stop_file)


def _wait(process: subprocess.Popen[bytes], stop_file: Path) -> int:
    try:
        return process.wait()
    except KeyboardInterrupt:
        stop_file.touch()
    try:
        return process.wait(GRACE_SECONDS)
    except (subprocess.TimeoutExpired, KeyboardInterrupt):  # nothing to show yet, or the user will not wait
        for number in (signal.SIGTERM, signal.SIGKILL):
            with contextlib.suppress(subprocess.TimeoutExpired, ProcessLookupError):
                os.killpg(process.pid, number)
                process.wait(GRACE_SECONDS)
                break
        return INTERRUPTED_STATUS


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
