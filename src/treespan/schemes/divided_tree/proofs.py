"""Proofs in a divided tree, and how they travel. What proves what is said in `search/solver.py`.

To a job, a proven position is a leaf whose value is known: it waits for its turn among the leaves, and counts like any
simulation. `proof` in its header says what is proven of the position at which it stands, for the first player. The home
of its last level hears of it with the result: that move is proven. If the node thereby is proven, too, the job goes up
one more level and tells it there, and so on; otherwise it goes on as ever.

So a proof goes up one path. Whoever comes to the node by another one finds the proof there, and takes it along. The
first rank at which the root is proven has all jobs called home.
"""

import numpy as np

from treespan.core.handles import value_of
from treespan.core.jit import njit, njit_inline
from treespan.games.rules import FIRST
from treespan.schemes.divided_tree.trail import write_playout
from treespan.schemes.protocol import evaluation
from treespan.schemes.protocol.messages import NOT_PLAYED
from treespan.schemes.protocol.port import NOTHING, stop_search
from treespan.search.solver import node_proof, proof_of, proven_value, seen_by
from treespan.search.tree import UNPROVEN


@njit_inline
def proof_for_first(tree, node):
    """What is proven of a node, if anything, for the first player."""
    return seen_by(FIRST, tree.node_player[node], tree.node_proven[node])


@njit
def evaluate(handle, row, slot):
    """Give the leaf of a job its value, by its proof or by a playout. Returns the plies; NOT_PLAYED: it was proven."""
    evaluator = value_of(handle)
    job = evaluator.jobs.headers[slot]
    if job.proof != UNPROVEN:
        take_proven_value(evaluator, slot)
        return np.int64(NOT_PLAYED)
    job.is_free = False
    plies = evaluation.evaluate(handle, row, slot)
    if plies == 0 and evaluator.settings.solver:  # the game was over
        job.proof = proof_of(FIRST, job.value)
    return plies


@njit
def locate(handle, row, slot):
    """Bring the evaluator's states[1] to the leaf of a job; NOTHING if that has its value, for it is proven."""
    evaluator = value_of(handle)
    if evaluator.jobs.headers[slot].proof == UNPROVEN:
        evaluator.jobs.headers[slot].is_free = False
        return evaluation.locate(handle, row, slot)
    take_proven_value(evaluator, slot)
    return NOTHING


@njit_inline
def take_proven_value(evaluator, slot):
    jobs = evaluator.jobs
    job = jobs.headers[slot]
    job.value, job.is_free = proven_value(FIRST, job.proof), True
    if jobs.plane_words > 0:
        write_playout(jobs, slot, evaluator.work.trace, 0)  # no playout: the moves of the path count


@njit_inline
def is_news(rank, row, slot):
    """Whether a job knows a proof that the home of its last level may not know."""
    job = rank.port.jobs.headers[slot]
    if job.proof == UNPROVEN:
        return False
    level = rank.port.jobs.levels[slot, job.levels - 1]
    return level.home != rank.port.first + row or rank.tree.edge_proven[level.edge] == UNPROVEN


@njit
def prove(rank, row, slot):
    """A job reports to the home of its last level: its proof is the move's. Returns whether that is new here."""
    job = rank.port.jobs.headers[slot]
    level = rank.port.jobs.levels[slot, job.levels]
    return prove_move(rank, row, slot, level.node, level.edge)


@njit
def prove_move(rank, row, slot, node, edge):
    """A job's proof is that of a move, and may prove the node; that of a root ends the search.

    From here on the job has the node's proof, whoever found it. Returns whether the move's is new here.
    """
    tree, job = rank.tree, rank.port.jobs.headers[slot]
    is_new = job.proof != UNPROVEN and tree.edge_proven[edge] == UNPROVEN
    if is_new:
        tree.edge_proven[edge] = seen_by(tree.node_player[node], FIRST, job.proof)
        if tree.node_proven[node] == UNPROVEN:
            tree.node_proven[node] = node_proof(tree, node)
            if job.levels == 0 and tree.node_proven[node] != UNPROVEN:
                rank.port.budget[0].to_grant = 0
                stop_search(rank.port, row)
    job.proof = proof_for_first(tree, node)
    return is_new
