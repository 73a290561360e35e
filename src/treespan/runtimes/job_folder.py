"""The folder of one launched MPI job: where its ranks find who started them, and what must be removed after it.

Killed ranks leave their shared memory behind, as `/dev/shm/mpich_shm_*` or `sm_segment.*`. So each rank notes what it
has mapped, and the launcher removes that at its end. A launcher that was killed leaves its folder; the next one finds
that nobody holds the folder's lock any more, and removes what is noted there. Nothing else is ever removed.
"""

import contextlib
import fcntl
import json
import os
import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path

from treespan.core.errors import OptionError, TreespanError

JOB_FOLDER = "TREESPAN_JOB_FOLDER"  # environment variable of ranks that `ranks.py` has started
PREFIX, NEW_PREFIX = "treespan-job-", "treespan-new-"
SHARED_MEMORY = Path("/dev/shm")
_LOCK, _NOTES, _BEGUN, _ADDRESS, _ERROR = "lock", "rank-", "begun-", "address", "error"


class RanksLostError(TreespanError):
    """The ranks have ended, and nobody asked them to."""

    exit_status = 1


class JobFolder:
    """A folder that exists while a launched job does."""

    def __init__(self, path: Path, lock: int = -1):
        self.path = path
        self.lock = lock  # file descriptor; mpiexec inherits it, so that the job owns the folder until both are gone

    @property
    def address(self) -> str:
        """The socket of the process that has started the job."""
        return (self.path / _ADDRESS).read_text()

    @address.setter
    def address(self, socket: str) -> None:
        (self.path / _ADDRESS).write_text(socket)

    def note_begin(self) -> None:
        """In a rank: say that this process is there."""
        with contextlib.suppress(OSError):
            (self.path / f"{_BEGUN}{os.getpid()}").touch()

    def has_lost_one(self) -> bool:
        """Whether a process that was there is gone."""
        return any(not _is_alive(int(note.name.removeprefix(_BEGUN))) for note in self.path.glob(_BEGUN + "*"))

    def note_error(self, rank: int, error: BaseException) -> None:
        """In a rank: keep what has ended the job; the first error counts."""
        is_ours = isinstance(error, TreespanError)
        message = str(error.args[0]) if is_ours and error.args else f"{type(error).__name__}: {error}"
        note = {"message": f"rank {rank}: {message}", "is_mistake": isinstance(error, OptionError)}
        aside = self.path / f"{_ERROR}-{rank}"
        with contextlib.suppress(OSError):
            aside.write_text(json.dumps(note))
            os.link(aside, self.path / _ERROR)

    def error(self) -> TreespanError | None:
        """The error that a rank has noted."""
        try:
            note = json.loads((self.path / _ERROR).read_text())
        except OSError:
            return None
        return (OptionError if note["is_mistake"] else RanksLostError)(note["message"])


def _is_alive(process: int) -> bool:
    try:
        os.kill(process, 0)
    except ProcessLookupError:
        return False
    except PermissionError:  # of another user, under the same number
        pass
    return True


@contextlib.contextmanager
def open_job_folder() -> Iterator[JobFolder]:
    """A new folder; what it knows of is removed at the end, and before that what killed launchers left behind."""
    remove_abandoned()
    new = Path(tempfile.mkdtemp(prefix=NEW_PREFIX))  # not a job's before it is locked: nobody takes it for abandoned
    lock = os.open(new / _LOCK, os.O_CREAT | os.O_RDWR, 0o600)
    fcntl.flock(lock, fcntl.LOCK_EX)
    path = new.rename(new.with_name(PREFIX + new.name.removeprefix(NEW_PREFIX)))
    try:
        yield JobFolder(path, lock)
    finally:
        remove(path)
        os.close(lock)


def remove_abandoned() -> list[Path]:
    """Remove the folders of jobs of this user whose processes are gone, and their shared memory."""
    abandoned = []
    for path in Path(tempfile.gettempdir()).glob(PREFIX + "*"):
        lock = _lock_if_abandoned(path)
        if lock is not None:
            remove(path)
            os.close(lock)
            abandoned.append(path)
    return abandoned


def _lock_if_abandoned(path: Path) -> int | None:
    """The lock of a folder that nobody holds; None if somebody does, or it is not this user's."""
    try:
        if path.stat().st_uid != os.getuid():
            return None
        lock = os.open(path / _LOCK, os.O_RDWR)
    except OSError:  # gone meanwhile
        return None
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        os.close(lock)
        return None
    return lock


def remove(path: Path) -> None:
    """Remove a job's folder and the shared memory that its ranks have noted."""
    for note in path.glob(_NOTES + "*"):
        with contextlib.suppress(OSError):  # another process removes the same
            for name in note.read_text().splitlines():
                with contextlib.suppress(OSError):
                    (SHARED_MEMORY / name).unlink()
    shutil.rmtree(path, ignore_errors=True)


def job_of_rank() -> JobFolder | None:
    """The job of this process, if it is a rank that `ranks.py` has started."""
    folder = os.environ.get(JOB_FOLDER)
    return JobFolder(Path(folder)) if folder else None


def note_shared_memory() -> None:
    """In a rank that `ranks.py` has started, after MPI's start: note the shared memory that MPI has mapped."""
    folder, maps = os.environ.get(JOB_FOLDER), Path("/proc/self/maps")
    if folder and maps.exists():
        names = sorted(_names_in_shared_memory(maps.read_text()))
        with contextlib.suppress(OSError):  # another machine's folder: a launcher elsewhere
            (Path(folder) / f"{_NOTES}{os.getpid()}").write_text("".join(name + "\n" for name in names))


def _names_in_shared_memory(maps: str) -> set[str]:
    """Names of mapped files in /dev/shm, of which nothing but the memory is left if they are deleted already."""
    marker = f" {SHARED_MEMORY}/"
    paths = {line.partition(marker)[2] for line in maps.splitlines() if marker in line}
    return {name for name in paths if "/" not in name and not name.endswith(" (deleted)")}
