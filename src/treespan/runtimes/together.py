"""What the ranks of an MPI job do together. In a process that mpiexec or srun has not started, nothing of this happens.

`by_first_rank`: rank 0 measures, and all ranks get the result, or the error.
"""

import pickle
import time
from collections.abc import Callable
from functools import wraps
from typing import Any, TypeVar

import cloudpickle

from treespan.core.errors import TreespanError
from treespan.runtimes.launch import alone, inside_mpi, world_size
from treespan.runtimes.mpi_binding import fail_all_ranks, load_mpi

F = TypeVar("F", bound=Callable[..., Any])
NAP_SECONDS = 0.002  # between two looks whether the others have come: MPI's own waiting burns a core


def by_first_rank(function: F) -> F:
    """Let rank 0 of a job make the call, as if it were alone; all ranks get its result, or its error."""

    @wraps(function)
    def call(*arguments: Any, **options: Any) -> Any:
        if not inside_mpi():
            return function(*arguments, **options)
        world_size()  # refuses a launcher whose ranks do not know each other
        error: BaseException | None = None
        result = None
        if load_mpi().COMM_WORLD.rank == 0:
            try:
                with alone():
                    result = function(*arguments, **options)
            except BaseException as caught:
                error = caught
        told, result = share((error and _portable(error), result))
        if error or told:
            raise error or told
        return result

    return call  # type: ignore[return-value]  # it can be called alike


def share(thing: Any) -> Any:
    """Return, at all ranks of this job, what rank 0 gives."""
    comm = load_mpi().COMM_WORLD
    try:  # the others wait for it
        _wait_for(comm.Ibarrier())
        words = comm.bcast(_packed(thing) if comm.rank == 0 else None, root=0)
        return thing if comm.rank == 0 else pickle.loads(words)
    except BaseException as error:
        fail_all_ranks(error)
        raise


def _packed(thing: Any) -> bytes:
    """Pickle a thing for the other ranks. They run the same script, and so they have its classes, or most of them."""
    try:
        return pickle.dumps(thing)
    except Exception:  # a class within a function
        words: bytes = cloudpickle.dumps(thing)
        return words


def _portable(error: BaseException) -> BaseException:
    """Return an error as the other ranks raise it."""
    if isinstance(error, KeyboardInterrupt):
        return KeyboardInterrupt()
    if isinstance(error, TreespanError):
        return type(error)(error.message)
    return TreespanError(f"rank 0: {type(error).__name__}: {error}")


def _wait_for(request: Any) -> None:
    while not request.Test():
        time.sleep(NAP_SECONDS)
