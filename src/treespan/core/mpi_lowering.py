"""MPI's functions for compiled code, by the names under which `runtimes/mpi_binding.py` makes them known."""

from typing import Any

from numba import types


def _external(name: str, arguments: int) -> Any:
    return types.ExternalFunction("treespan_" + name, types.int32(*[types.int64] * arguments))


mpi_isend = _external("MPI_Isend", 7)
mpi_irecv = _external("MPI_Irecv", 7)
mpi_cancel = _external("MPI_Cancel", 1)
mpi_recv = _external("MPI_Recv", 7)
mpi_iprobe = _external("MPI_Iprobe", 5)
mpi_test = _external("MPI_Test", 3)
