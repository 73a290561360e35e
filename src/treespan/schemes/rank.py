"""A rank: its part of the tree, its queues, its statistics, and the jobs that it works on.

A rank knows nothing of networks, clocks or threads. A runtime puts jobs that arrive into the rank's queue (`enqueue`)
and asks it to do one unit of work (`advance` of the scheme), which says where the job must be sent. Descents and
reports go before playouts: others wait for them.
"""

from typing import Any, NamedTuple

import numpy as np

from treespan.core.jit import njit_inline
from treespan.schemes.messages import NO_SLOT, Jobs
from treespan.search.tree import Tree
from treespan.search.work import Work

# Indices into a row of `Rank.numbers`
(
    TREE_HEAD,  # first job of the queue of descents and reports, or NO_SLOT
    TREE_TAIL,
    LEAF_HEAD,  # first job that waits for a playout
    LEAF_TAIL,
    QUEUED,  # jobs in both queues
    QUEUE_PEAK,
    PLAYOUTS_DONE,
    SEARCHES,  # search jobs received
    REPORTS_RECEIVED,
    SENT,  # messages to other ranks
    SENT_BYTES,
    RECEIVED,  # messages from other ranks
    LEVELS_SUM,  # depth of playouts, summed
    LEVELS_MAX,
    LEVELS_CUT,  # descents that reached the depth limit
    BUSY_NS,  # spent in handlers and playouts
    NUMBERS,
) = range(17)

# Indices into `Rank.shared`: facts about the whole search, at the root's home
(
    JOBS_ALIVE,
    TO_GRANT,  # playouts of the budget that no job has yet
    DRAINING,  # not zero: no new descents, all jobs go home
    FINISHED,  # not zero: all jobs are home
    SHARED,
) = range(5)

NO_RANK = -1


class Rank(NamedTuple):
    """One or, simulated, all ranks of a search. Row i of `numbers` belongs to rank `first + i`."""

    tree: Tree  # nodes whose home is here
    work: Work
    settings: Any  # record of SETTINGS
    jobs: Jobs
    numbers: np.ndarray  # int64[rows, NUMBERS]
    shared: np.ndarray  # int64[SHARED]
    random: np.ndarray  # uint64[rows], generators
    ranks: int
    root_key: np.uint64
    grant: int  # playouts that a job gets each time that it starts at the root
    all_jobs: int  # J, jobs under way
    dedicated_root: bool  # UCT2 of yoshizoe2011


@njit_inline
def home_of(key, rank):
    """The rank that holds a position: key mod N. With a dedicated root rank 0 holds the root and nothing else."""
    if not rank.dedicated_root:
        return np.int64(key % np.uint64(rank.ranks))
    if key == rank.root_key:
        return 0
    return 1 + np.int64(key % np.uint64(rank.ranks - 1))


@njit_inline
def enqueue(rank, row, slot, is_leaf):
    """Put a job at the end of one of the rank's queues."""
    head, tail = (LEAF_HEAD, LEAF_TAIL) if is_leaf else (TREE_HEAD, TREE_TAIL)
    numbers = rank.numbers
    rank.jobs.headers[slot].next_job = NO_SLOT
    if numbers[row, head] == NO_SLOT:
        numbers[row, head] = slot
    else:
        rank.jobs.headers[numbers[row, tail]].next_job = slot
    numbers[row, tail] = slot
    numbers[row, QUEUED] += 1
    numbers[row, QUEUE_PEAK] = max(numbers[row, QUEUE_PEAK], numbers[row, QUEUED])


@njit_inline
def dequeue(rank, row, is_leaf):
    """Take the first job of a queue; NO_SLOT if it is empty."""
    head = LEAF_HEAD if is_leaf else TREE_HEAD
    slot = rank.numbers[row, head]
    if slot != NO_SLOT:
        rank.numbers[row, head] = rank.jobs.headers[slot].next_job
        rank.numbers[row, QUEUED] -= 1
    return slot
