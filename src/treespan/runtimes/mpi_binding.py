"""MPI for compiled code: the few functions that the message loop needs, bound by symbol.

Everything that differs between MPIs (handles, constants) is a run-time value in `constants()`, so one compiled cache
serves all of them. Handles are passed as 64-bit integers, which suits MPICH's ints and Open MPI's pointers alike.
Addresses are integers, too: of buffers that Python allocated and keeps alive.
"""

import ctypes
import os
import re
from pathlib import Path
from typing import Any

import llvmlite.binding
import numpy as np
from numba import types

from treespan.core.errors import TreespanError

# Indices into the array of constants
COMM, BYTE, ANY_SOURCE, ANY_TAG, CONSTANTS = range(5)
TAG = 1  # one tag for all: the kind of a job is in its header, for probing a specific tag walks the queue

_SIGNATURES = {  # name: number of arguments, all 64-bit integers
    "MPI_Isend": 7,
    "MPI_Recv": 7,
    "MPI_Iprobe": 5,
    "MPI_Test": 3,
}


class MpiError(TreespanError):
    """MPI is missing or cannot be used."""


def load_mpi() -> Any:
    """mpi4py's MPI module, initialised."""
    try:
        from mpi4py import MPI
    except (ImportError, RuntimeError) as error:
        raise MpiError(f"MPI cannot be loaded ({error}); pip install treespan[mpich]") from None
    return MPI


def bind(mpi: Any) -> np.ndarray:
    """Make the symbols of the loaded MPI known to compiled code; gives the constants of this MPI."""
    library = ctypes.CDLL(_library_path())
    for name in _SIGNATURES:
        address = ctypes.cast(getattr(library, name), ctypes.c_void_p).value
        llvmlite.binding.add_symbol("treespan_" + name, address)
    handle = mpi._handleof
    return np.array([handle(mpi.COMM_WORLD), handle(mpi.BYTE), mpi.ANY_SOURCE, mpi.ANY_TAG], dtype=np.int64)


def _library_path() -> str:
    """The MPI library that mpi4py has loaded into this process."""
    maps = Path("/proc/self/maps")
    lines = maps.read_text().splitlines() if maps.exists() else []
    paths = {line.split(maxsplit=5)[5] for line in lines if len(line.split(maxsplit=5)) == 6}
    for path in sorted(paths):
        if re.match(r"libmpi(_abi|ch)?\.so", os.path.basename(path)):
            return path
    raise MpiError("no MPI library is loaded; pip install treespan[mpich]")


def _external(name: str) -> Any:
    return types.ExternalFunction("treespan_" + name, types.int32(*[types.int64] * _SIGNATURES[name]))


mpi_isend = _external("MPI_Isend")
mpi_recv = _external("MPI_Recv")
mpi_iprobe = _external("MPI_Iprobe")
mpi_test = _external("MPI_Test")
