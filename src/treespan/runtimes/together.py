"""What the ranks of an MPI job do together. In a process that mpiexec or srun has not started, nothing of this happens.

- `together`: a call that all ranks make, such as `treespan.search`, goes on at all of them or at none. A mistake that
  only one rank has made would leave the others waiting.
- `by_first_rank`: rank 0 measures, and all ranks get the result, or the error.
"""

import hashlib
import pickle
import time
from collections.abc import Callable
from contextvars import ContextVar
from functools import wraps
from typing import Any, TypeVar

import cloudpickle
import numpy as np

from treespan.core.errors import OptionError, TreespanError
from treespan.runtimes.launch import alone, inside_mpi, world_size
from treespan.runtimes.mpi_binding import MpiError, fail_all_ranks, load_mpi
from treespan.runtimes.world import surely, world

F = TypeVar("F", bound=Callable[..., Any])
NAP_SECONDS = 0.002  # between two looks whether the others have come: MPI's own waiting burns a core


class _Call:
    """A call that all ranks make."""

    has_met = False  # whether the ranks have told each other if they can go on


_call: ContextVar[_Call | None] = ContextVar("call", default=None)


def together(asks_all: Callable[..., bool]) -> Callable[[F], F]:
    """Let the ranks of a job make a call only if all of them can; else all raise the error.

    asks_all: gets the arguments of the call, and returns whether all ranks make it.

    The ranks meet once: where the body calls `meet`, where it fails, or at its end.
    """

    def decorate(function: F) -> F:
        @wraps(function)
        def call(*arguments: Any, **options: Any) -> Any:
            is_part = _call.get() is not None  # of another such call
            if is_part or not inside_mpi() or not asks_all(*arguments, **options):
                return function(*arguments, **options)
            before = _call.set(_Call())
            try:
                result = function(*arguments, **options)
                meet()
                return result
            except BaseException as error:
                meet(error)
                raise
            finally:
                _call.reset(before)

        return call  # type: ignore[return-value]  # it can be called alike

    return decorate


def meet(error: BaseException | None = None) -> None:
    """Tell the other ranks that this one goes on, or the error that keeps it from that, and hear the same of them.

    Raises the error of the first rank that has one; not at ranks that have one of their own.
    """
    call = _call.get()
    if not inside_mpi() or (call and call.has_met):
        return
    if call:
        call.has_met = True
    try:
        load_mpi()
    except MpiError:  # no rank can: each says so when it wants to search
        return
    found = surely(lambda comm: _first_error(comm, error))
    if error is None and found is not None:
        raise found


def _first_error(comm: Any, error: BaseException | None) -> BaseException | None:
    """The error of the first rank that has one."""
    mine, first = np.array([comm.size if error is None else comm.rank]), np.zeros(1, dtype=np.int64)
    _wait_for(comm.Iallreduce(mine, first, op=load_mpi().MIN))
    guilty = int(first[0])
    if guilty == comm.size:
        return None
    found = None if error is None else _portable(error, f"rank {guilty}: ")
    told: BaseException = comm.bcast(found if comm.rank == guilty else None, root=guilty)
    return told


def by_first_rank(function: F) -> F:
    """Let rank 0 of a job make the call, as if it were alone; all ranks get its result, or its error."""

    @wraps(function)
    def call(*arguments: Any, **options: Any) -> Any:
        if not inside_mpi():
            return function(*arguments, **options)
        world_size()  # refuses a launcher whose ranks do not know each other
        error: BaseException | None = None
        result = None
        if world().rank == 0:
            try:
                with alone():
                    result = function(*arguments, **options)
            except BaseException as caught:
                error = caught
        told, result = share((None if error is None else _portable(error), result))
        if error is not None:
            raise error
        if told is not None:
            raise told
        return result

    return call  # type: ignore[return-value]  # it can be called alike


def require_same(thing: bytes, complaint: str) -> None:
    """Raise OptionError at all ranks of this job unless they give the same."""
    number = int.from_bytes(hashlib.sha256(thing).digest()[:7], "little")

    def find_least(comm: Any) -> np.ndarray:
        mine, least = np.array([number, -number]), np.zeros(2, dtype=np.int64)
        _wait_for(comm.Iallreduce(mine, least, op=load_mpi().MIN))
        return least

    least = surely(find_least)
    if least[0] != -least[1]:
        raise OptionError(complaint)


def share(thing: Any) -> Any:
    """Return, at all ranks of this job, what rank 0 gives."""
    try:  # the others wait for it
        leader, words = surely(lambda comm: _told(comm, thing))
        return thing if leader else pickle.loads(words)
    except BaseException as error:
        fail_all_ranks(error)
        raise


def _told(comm: Any, thing: Any) -> tuple[bool, bytes]:
    """Whether this is rank 0, and what that gives."""
    _wait_for(comm.Ibarrier())
    is_leader = comm.rank == 0
    return is_leader, comm.bcast(_packed(thing) if is_leader else None, root=0)


def _packed(thing: Any) -> bytes:
    """Pickle a thing for the other ranks. They run the same script, and so they have its classes, or most of them."""
    try:
        return pickle.dumps(thing)
    except Exception:  # a class within a function
        words: bytes = cloudpickle.dumps(thing)
        return words


def _portable(error: BaseException, who: str = "") -> BaseException:
    """Return an error as the other ranks raise it."""
    if isinstance(error, KeyboardInterrupt):
        return KeyboardInterrupt()
    if isinstance(error, TreespanError):
        return type(error)(who + error.message)
    return TreespanError(f"{who or 'rank 0: '}{type(error).__name__}: {error}")


def _wait_for(request: Any) -> None:
    while not request.Test():
        time.sleep(NAP_SECONDS)
