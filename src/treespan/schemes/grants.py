"""How many playouts a df-UCT job is granted each time that it starts at the root."""

from treespan.core.jit import njit, njit_inline
from treespan.schemes.rank import PACE, PACE_UNIT, TO_GRANT

SMALLEST_GRANT = 16  # with grant=0; below it jobs come home faster than the root's home can serve them


@njit
def grant_of(rank, crowd):
    """Playouts for a job that starts at the root."""
    shared, left = rank.port.shared, rank.port.shared[TO_GRANT]
    if rank.crowd == 0:
        return min(left, rank.grant or max(left // (2 * rank.all_jobs), SMALLEST_GRANT))
    # `span`: as few as the homes near the root can serve
    shared[PACE] = next_pace(rank, shared[PACE], crowd, rank.all_jobs)
    return portion_of(left, shared[PACE] // PACE_UNIT, rank.all_jobs)


@njit_inline
def next_pace(rank, pace, waiting, jobs):
    """Larger grants if messages crowd where `jobs` jobs come back to, else smaller ones.

    A factor of at most e^0.5 while every job comes by once: jobs that are under way answer to a change only when they
    are back, and larger steps overshoot.
    """
    step = min(waiting, 2 * rank.crowd) - rank.crowd
    return max(pace + pace * step // (2 * rank.crowd * jobs), rank.grant * PACE_UNIT)


@njit_inline
def portion_of(left, granted, jobs):
    """What a job is granted of the playouts that are left; less at the end: jobs shall end together."""
    return min(left, granted, max(left // jobs, granted // 8 + 1))
