"""MPI for compiled code: the few functions that the message loop needs, bound by symbol.

Everything that differs between MPIs (handles, constants) is a run-time value in the array that `bind` gives, so one
compiled cache serves all of them. Handles are passed as 64-bit integers, which suits MPICH's ints and Open MPI's
pointers alike. Addresses are integers, too: of buffers that Python allocated and keeps alive.
"""

import contextlib
import ctypes
import os
import signal
import sys
import time
import traceback
import warnings
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from treespan.core.errors import TreespanError, named
from treespan.core.jit import JIT_DISABLED, lowered
from treespan.runtimes.job_folder import job_of_rank, note_shared_memory

# Indices into the array of constants
COMM, BYTE, ANY_SOURCE, ANY_TAG, CONSTANTS = range(5)
TAG = 1  # one tag for all: the kind of a job is in its header
TELLS_OF_LOSSES = "OMPI_MCA_mpi_ft_enable"  # set for each rank by an mpiexec that was given `--with-ft ulfm`
LAUNCHERS = ("prterun", "prted", "mpiexec", "mpirun")
LAUNCHER_SECONDS = 3.0  # for a launcher to end its ranks
FORWARD_SECONDS = 0.2  # for mpiexec to pass on what a rank has said: what it has not read when the job aborts is lost
RANK_0_FIRST_SECONDS = 0.5  # what all ranks have to complain about, rank 0 says for all

_FUNCTIONS = ("MPI_Isend", "MPI_Irecv", "MPI_Cancel", "MPI_Recv", "MPI_Iprobe", "MPI_Test")
_COMPILED_ONLY = "only compiled code calls MPI's functions"
_in_llvm = lowered("treespan.core.mpi_lowering")


class MpiError(TreespanError):
    """MPI is missing or cannot be used."""


def require_compiler() -> None:
    """Raise MpiError where nothing is compiled: the loop of a rank calls MPI itself."""
    if JIT_DISABLED:
        raise MpiError(f"the MPI runtime needs the compiler; unset NUMBA_DISABLE_JIT, or give {named('simulate')}")


class Library(NamedTuple):
    """The MPI library that mpi4py uses in this environment."""

    vendor: str  # as "MPICH", "Open MPI", "Intel MPI"
    version: str
    path: str

    @property
    def is_open_mpi(self) -> bool:
        return self.vendor == "Open MPI"


def load_mpi() -> Any:
    """mpi4py's MPI module, initialised."""
    mpi = _import_mpi()
    if not mpi.Is_initialized():
        # One thread calls MPI at a time: the library then takes no locks
        mpi.Init_thread(mpi.THREAD_SERIALIZED)
        note_shared_memory()
    return mpi


def find_library() -> Library:
    """Which MPI mpi4py finds; does not initialise it, so that a launcher may ask."""
    mpi = _import_mpi()
    vendor, version = mpi.get_vendor()
    return Library(vendor, ".".join(map(str, version)), _path_of(_address(_symbols(mpi), "MPI_Isend")))


def _import_mpi() -> Any:
    try:
        import mpi4py

        mpi4py.rc.initialize, mpi4py.rc.finalize = False, True
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", RuntimeWarning)  # `launch.world_size` refuses the wrong mpiexec by an error
            from mpi4py import MPI
    except (ImportError, RuntimeError) as error:
        reason = str(error).splitlines()[0]
        raise MpiError(
            f"MPI cannot be loaded ({reason}); pip install treespan[mpich], or see docs/cluster.md"
        ) from None
    return MPI


def bind(mpi: Any, comm: Any = None) -> np.ndarray:
    """Make the symbols of the loaded MPI known to compiled code. Returns the constants of this MPI.

    comm: the communicator of the ranks that are there; None: of all that were started.
    """
    import llvmlite.binding

    library = _symbols(mpi)
    for name in _FUNCTIONS:
        llvmlite.binding.add_symbol("treespan_" + name, _address(library, name))
    handle = mpi._handleof
    return np.array([handle(comm or mpi.COMM_WORLD), handle(mpi.BYTE), mpi.ANY_SOURCE, mpi.ANY_TAG], dtype=np.int64)


def _symbols(mpi: Any) -> ctypes.CDLL:
    """mpi4py's extension module: a look-up in it goes on to the libmpi that it is linked with, whatever its name."""
    return ctypes.CDLL(mpi.__file__)


def _address(library: ctypes.CDLL, name: str) -> int:
    return ctypes.cast(getattr(library, name), ctypes.c_void_p).value or 0


class _SymbolInfo(ctypes.Structure):
    """Dl_info of dladdr(3)."""

    _fields_ = (
        ("file", ctypes.c_char_p),
        ("base", ctypes.c_void_p),
        ("symbol", ctypes.c_char_p),
        ("address", ctypes.c_void_p),
    )


def _path_of(address: int) -> str:
    """The library that holds the code at `address`."""
    info = _SymbolInfo()
    found = ctypes.CDLL(None).dladdr(ctypes.c_void_p(address), ctypes.byref(info))
    if not found or not info.file:
        return "unknown"
    path = Path(info.file.decode())
    return str(path.parent.resolve() / path.name)  # /usr/lib, where /lib is a link: Open MPI knows its own place


def await_turn() -> str:
    """Before a complaint: rank 0 says for all what all ranks complain about. Returns "rank 3: ", "" if alone."""
    world = _world()
    if world is None:
        return ""
    if world.rank > 0:
        time.sleep(RANK_0_FIRST_SECONDS)
    return f"rank {world.rank}: "


def end_all_ranks(status: int) -> None:
    """End all ranks of this job: they would wait for this one for ever. Returns if this process is alone."""
    world = _world()
    if world is not None:
        sys.stdout.flush()
        sys.stderr.flush()
        time.sleep(FORWARD_SECONDS)
        if os.environ.get(TELLS_OF_LOSSES) in ("1", "true"):
            end_launcher()
        world.Abort(status)
        os._exit(status)  # MPICH's Abort may return before the launcher's kill arrives


def end_launcher() -> None:
    """End the launcher of this job's ranks on this machine, which ends them: where MPI tells of lost ranks, Abort ends
    only the rank that calls it (Open MPI 5.0.11)."""
    process = os.getppid()
    while process > 1:
        try:
            stat = Path(f"/proc/{process}/stat").read_text()
        except OSError:  # it has ended, or this is no Linux
            return
        name, _, rest = stat.partition("(")[2].rpartition(")")
        if name in LAUNCHERS:
            with contextlib.suppress(OSError):
                os.kill(process, signal.SIGTERM)
            time.sleep(LAUNCHER_SECONDS)  # it ends this process, too
            return
        process = int(rest.split()[1])


def fail_all_ranks(error: BaseException) -> None:
    """Tell of an error that one rank has met, and end all ranks. Returns if this process is alone."""
    world, job = _world(), job_of_rank()
    if job is not None:
        job.note_error(0 if world is None else world.rank, error)  # told by whoever has started us
    if world is None and job is None:
        return
    prefix = await_turn()
    if not isinstance(error, TreespanError):
        traceback.print_exception(error)
    if job is None:
        print(f"treespan: {prefix}{type(error).__name__}: {error}", file=sys.stderr)
    end_all_ranks(1)


def _world() -> Any:
    """All ranks of the MPI job that this process takes part in; None if it is alone."""
    mpi: Any = sys.modules.get("mpi4py.MPI")
    started = mpi is not None and mpi.Is_initialized() and not mpi.Is_finalized()
    return mpi.COMM_WORLD if started and mpi.COMM_WORLD.size > 1 else None


# The functions themselves, for compiled code alone; all arguments are 64-bit integers.


@_in_llvm
def mpi_isend(buffer: int, count: int, datatype: int, receiver: int, tag: int, comm: int, request: int) -> int:
    raise MpiError(_COMPILED_ONLY)


@_in_llvm
def mpi_irecv(buffer: int, count: int, datatype: int, sender: int, tag: int, comm: int, request: int) -> int:
    raise MpiError(_COMPILED_ONLY)


@_in_llvm
def mpi_cancel(request: int) -> int:
    raise MpiError(_COMPILED_ONLY)


@_in_llvm
def mpi_recv(buffer: int, count: int, datatype: int, sender: int, tag: int, comm: int, status: int) -> int:
    raise MpiError(_COMPILED_ONLY)


@_in_llvm
def mpi_iprobe(sender: int, tag: int, comm: int, flag: int, status: int) -> int:
    raise MpiError(_COMPILED_ONLY)


@_in_llvm
def mpi_test(request: int, flag: int, status: int) -> int:
    raise MpiError(_COMPILED_ONLY)
