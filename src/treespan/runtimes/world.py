"""The ranks of an MPI job that are there, and how they go on when one of them is lost.

Open MPI tells the ranks when another one is lost (ULFM), if its mpiexec was given `--with-ft ulfm`. Then every step
that all ranks take together ends with `agreed`: either all have taken it, or all call `heal` and are fewer. Whoever
meets a loss in the midst of a step goes to its end at once. MPICH tells nothing, and its mpiexec ends the job.
"""

import contextlib
import os
import time
from collections.abc import Callable
from typing import Any, TypeVar

from treespan.runtimes.job_folder import RanksLostError
from treespan.runtimes.mpi_binding import TELLS_OF_LOSSES, load_mpi
from treespan.schemes.kept import lose_ranks

T = TypeVar("T")
KNOWN_SECONDS = 1.0  # after which a rank that is lost is known to be so


class LossError(Exception):
    """A rank is lost, as compiled code has noticed."""


class RankLostError(RanksLostError):
    """A rank was lost while all ranks called a function. `ranks` others are there, with what they have of trees."""

    ranks = 1


class _World:
    """What this process knows of the ranks."""

    comm: Any = None  # communicator of the ranks that are there; None: all that there were
    orders: Any = None  # another one of the same ranks, for orders
    lost = 0  # ranks that were lost
    lost_before = 0  # of these, ranks that a result has told of


_world = _World()


def world() -> Any:
    """The communicator of the ranks that are there."""
    mpi = load_mpi()
    return mpi.COMM_WORLD if _world.comm is None else _world.comm


def orders() -> Any:
    """A communicator of the same ranks: what goes there never meets the messages of a search."""
    if _world.orders is None:
        _world.orders = world().Dup()
    return _world.orders


def tells_of_losses() -> bool:
    """Whether MPI tells the ranks of this job when one is lost."""
    mpi = load_mpi()
    vendor, version = mpi.get_vendor()
    return vendor == "Open MPI" and version >= (5,) and os.environ.get(TELLS_OF_LOSSES) in ("1", "true")


def lost_ranks() -> int:
    """How many ranks of this job are lost."""
    return _world.lost


def newly_lost(is_told: bool) -> int:
    """How many of them no result has told of. `is_told`: one tells now."""
    new = _world.lost - _world.lost_before
    if is_told:
        _world.lost_before = _world.lost
    return new


def is_loss(error: BaseException) -> bool:
    """Whether an error means that a rank is lost."""
    if isinstance(error, LossError):
        return True
    return isinstance(error, load_mpi().Exception) and is_loss_code(error.Get_error_code())


def is_loss_code(code: int) -> bool:
    """Whether an error of MPI means that a rank is lost.

    Barriers that do not block may call it "other" (Open MPI 5.0.11). So of any error we ask whether a rank is known to
    be lost.
    """
    mpi = load_mpi()
    if not tells_of_losses():
        return False
    if mpi.Get_error_class(code) in (mpi.ERR_PROC_FAILED, mpi.ERR_PROC_FAILED_PENDING, mpi.ERR_REVOKED):
        return True
    end = time.monotonic() + KNOWN_SECONDS
    while not (is_known := _knows_of_loss(world())) and time.monotonic() < end:
        time.sleep(KNOWN_SECONDS / 100)
    return is_known


def _knows_of_loss(comm: Any) -> bool:
    with contextlib.suppress(load_mpi().Exception):
        comm.Iprobe()  # lets MPI hear the news
    return bool(comm.Is_revoked() or comm.Get_failed().size > 0)


def agreed(is_fine: bool) -> bool:
    """Whether all ranks have come to the end of a step without a loss. All get the same answer; if not, all `heal`."""
    return _agreed(world(), is_fine) if tells_of_losses() else is_fine


def _agreed(comm: Any, is_fine: bool) -> bool:
    if not is_fine:
        _revoke(comm)
        _revoke(_world.orders)
    try:
        return bool(comm.Agree(int(is_fine)))
    except load_mpi().Exception as error:
        if is_loss(error):
            return False
        raise


def _revoke(comm: Any) -> None:
    """Let everyone who waits in a communicator meet an error."""
    if comm is not None:
        comm.Revoke()


def heal() -> None:
    """Go on without the ranks that are lost. Those that are left are numbered anew, in the same order."""
    mpi, before = load_mpi(), world()
    comm, is_whole = before, False
    while not is_whole:
        _revoke(comm)
        comm = comm.Shrink()
        comm.Set_errhandler(mpi.ERRORS_RETURN)
        try:
            _world.orders, is_fine = comm.Dup(), True
        except mpi.Exception:  # another one is lost meanwhile
            _world.orders, is_fine = None, False
        is_whole = _agreed(comm, is_fine)
    there = mpi.Group.Translate_ranks(comm.Get_group(), list(range(comm.size)), before.Get_group())
    _world.comm = comm
    _world.lost += before.size - comm.size
    lose_ranks([int(rank) for rank in there], comm.rank)


def surely(step: Callable[[Any], T]) -> T:
    """Take a step with all ranks, which gets their communicator; anew if one of them is lost meanwhile."""
    while True:
        result, is_fine = attempted(step)
        if agreed(is_fine):
            assert result is not None
            return result[0]
        heal()


def call_or_lose(function: Callable[..., T], *arguments: Any) -> T:
    """Call a function at all ranks. Raises RankLostError, at all of them, if a rank is lost meanwhile."""
    result, is_fine = attempted(lambda _: function(*arguments))
    if agreed(is_fine):
        assert result is not None
        return result[0]
    heal()
    raise rank_lost(world().size)


def rank_lost(ranks: int) -> RankLostError:
    """The error of a call that a loss has ended, with so many ranks left."""
    error = RankLostError(f"a rank was lost; {ranks} go on; do it again")
    error.ranks = ranks
    return error


def attempted(step: Callable[[Any], T]) -> tuple[tuple[T] | None, bool]:
    """Take a step. Returns the result, and whether no loss was met."""
    try:
        return (step(world()),), True
    except Exception as error:
        if not is_loss(error):
            raise
        return None, False
