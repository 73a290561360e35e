"""What gives the leaf of a job its value: touches nothing but the job and its own buffers, so any thread may do it."""

from typing import Any, NamedTuple

import numpy as np

from treespan.core.clock import wait_ns
from treespan.core.handles import value_of
from treespan.core.jit import njit
from treespan.games.rules import play, playout, reward
from treespan.schemes.messages import Jobs
from treespan.schemes.rank import HANDLED
from treespan.search.work import Work


class Evaluator(NamedTuple):
    """What plays out leaves: buffers and generators of its own."""

    game: Any
    jobs: Jobs
    work: Work
    settings: Any
    random: np.ndarray  # uint64[rows]


@njit
def evaluate(handle, row, slot):
    """Play out from the leaf of a job; gives the plies."""
    evaluator = value_of(handle)
    game, work, job = evaluator.game, evaluator.work, evaluator.jobs.headers[slot]
    replay(game, work, evaluator.jobs, slot)
    if evaluator.settings.wait_ns > 0:
        wait_ns(evaluator.settings.wait_ns)
    plies = playout(
        game, work.states[1], evaluator.random[row : row + 1], work.trace, work.moves, evaluator.settings.policy
    )
    job.value = reward(game, work.states[1])
    return np.int64(plies)


@njit
def locate(handle, row, slot):
    """Bring the evaluator's states[1] to the leaf of a job."""
    evaluator = value_of(handle)
    replay(evaluator.game, evaluator.work, evaluator.jobs, slot)
    return HANDLED


@njit
def replay(game, work, jobs, slot):
    """Bring states[1] to the position of a job."""
    work.states[1] = work.states[0]
    for i in range(jobs.headers[slot].levels):
        play(game, work.states[1], jobs.levels[slot, i].move)
