"""What gives the leaf of a job its value: touches nothing but the job and its own buffers, so any thread may do it."""

from typing import Any, NamedTuple

import numpy as np

from treespan.core.clock import wait_ns
from treespan.core.handles import Handle, value_of
from treespan.core.jit import njit
from treespan.core.rng import generator
from treespan.core.sketch import new_sketch, note_key
from treespan.games.rules import key, play, playout, reward
from treespan.schemes.divided_tree.trail import write_playout
from treespan.schemes.plan import Request
from treespan.schemes.protocol.messages import NO_SLOT, Jobs
from treespan.schemes.protocol.port import HANDLED
from treespan.schemes.scheme import Place
from treespan.search.work import Work, new_work


class Evaluator(NamedTuple):
    """What plays out leaves: buffers and generators of its own."""

    game: Any
    jobs: Jobs
    work: Work
    settings: Any
    random: np.ndarray  # uint64[rows]
    leaves: np.ndarray  # sketch of the positions that were evaluated


def new_evaluators(request: Request, place: Place, rank: Any) -> list[Handle]:
    """One for each worker of a rank, with buffers and a stream of its own; without workers one that has the rank's."""
    if place.workers == 0:
        return [Handle(Evaluator(rank.game, rank.port.jobs, rank.work, rank.settings, rank.random, new_sketch()))]
    evaluators = []
    for worker in range(place.workers):
        work = new_work(rank.game, 1, request.plan.seed)
        work.states[0] = request.position.state
        random = generator(request.plan.seed, request.plan.ranks * (1 + worker) + place.first)
        evaluators.append(Handle(Evaluator(rank.game, rank.port.jobs, work, rank.settings, random, new_sketch())))
    return evaluators


@njit
def evaluate(handle, row, slot):
    """Play out from the leaf of a job. Returns the plies."""
    evaluator = value_of(handle)
    game, work, job = evaluator.game, evaluator.work, evaluator.jobs.headers[slot]
    if work.standing[0] != slot:
        replay(game, work, evaluator.jobs, slot)
    work.standing[0] = NO_SLOT
    note_key(evaluator.leaves, key(game, work.states[1]))
    if evaluator.settings.wait_ns > 0:
        wait_ns(evaluator.settings.wait_ns)
    plies = playout(
        game, work.states[1], evaluator.random[row : row + 1], work.trace, work.moves, evaluator.settings.policy
    )
    if evaluator.jobs.plane_words > 0:
        write_playout(evaluator.jobs, slot, work.trace, plies)
    job.value = reward(game, work.states[1])
    return np.int64(plies)


@njit
def locate(handle, row, slot):
    """Bring the evaluator's states[1] to the leaf of a job that is about to be evaluated."""
    evaluator = value_of(handle)
    replay(evaluator.game, evaluator.work, evaluator.jobs, slot)
    if evaluator.jobs.plane_words > 0:
        write_playout(evaluator.jobs, slot, evaluator.work.trace, 0)  # no playout: the moves of the path count
    note_key(evaluator.leaves, key(evaluator.game, evaluator.work.states[1]))
    return HANDLED


@njit
def replay(game, work, jobs, slot):
    """Bring states[1] to the position of a job."""
    work.standing[0] = NO_SLOT
    work.states[1] = work.states[0]
    for i in range(jobs.headers[slot].levels):
        play(game, work.states[1], jobs.levels[slot, i].move)
