"""`master-worker`: the tree in one rank, playouts in all others (cazenave2008, Algorithms 1 and 2).

    Master: for each job of each worker s: seq <- descend the tree; send s the sequence
            while playouts are left:  receive a result from s; update the tree; descend again; send s the new sequence
            receive what is still out; END
    Worker: until END:  receive a sequence; play its moves; play a random game to the end; send the result

Deviations and additions:
- The paper sends the position with each move; here every rank has it from the start.
- A result brings its sequence back, so that the master keeps no list of what is out (16 bytes a move).
- The paper has one sequence out at each worker, which then waits for a message and its answer; `jobs_per_worker` keeps
  more of them there. A rank with `--workers W` counts as W workers.
- Simulations under way count as virtual losses, or all workers would get the same sequence; `virtual_loss=none` is the
  paper's. Leaves are expanded after `threshold` playouts.
- `mode=random-workers` is its Table 6: workers answer at once with a random value (after the time of
  `--policy wait=...`: Table 8). `mode=random-master` is Table 7: the master does so itself and sends nothing.
- `master_plays=yes`: the master plays out, too, when nothing waits for it.

One rank is its own worker and equals `sequential` bit for bit; a master with one worker and one job would, but for the
worker's stream of random numbers. RAVE is not possible: a result does not say which moves were played.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from treespan.core.clock import wait_ns
from treespan.core.handles import value_of
from treespan.core.jit import njit
from treespan.core.options import option
from treespan.core.rng import below
from treespan.schemes.plan import Plan
from treespan.schemes.whole_trees.handlers import play_out
from treespan.schemes.whole_trees.scheme import WITHOUT_AMAF, BusyTree

MODES = ("full", "random-workers", "random-master")


@njit
def evaluate_randomly(handle, row, slot):
    """Instead of a playout: a random value after the playout's set time."""
    evaluator = value_of(handle)
    if evaluator.settings.wait_ns > 0:
        wait_ns(evaluator.settings.wait_ns)
    evaluator.jobs.walks[slot].value = np.float64(below(evaluator.random[row : row + 1], 2))
    return 0


@dataclass(frozen=True)
class MasterWorker(BusyTree):
    """One tree in rank 0. The other ranks play out, and with `master_plays` rank 0, too.

    >>> import treespan as ts
    >>> result = ts.search("tictactoe", scheme=ts.MasterWorker(jobs_per_worker=2), simulate=4, playouts=2000)
    >>> result.move, result.playouts_by_rank[0]
    ('b2', 0)
    """

    name = "master-worker"
    summary = "the tree in rank 0, playouts in all others"
    paper = "cazenave2008"
    has_trees: ClassVar[bool] = False
    search_choices = BusyTree.search_choices | {"bandit": WITHOUT_AMAF}

    jobs_per_worker: int = option(1, "sequences out at each worker", low=1, high=1000)
    master_plays: bool = option(False, "rank 0 plays out, too")
    mode: str = option("full", "full; or, for measuring, random values from the workers or the master", choices=MODES)

    def jobs_in_tree(self, plan: Plan) -> int:
        return self.jobs_per_worker * self.players(plan.ranks) * max(1, plan.worker_threads)

    def first_player(self, ranks: int) -> int:
        return 0 if ranks == 1 or self.master_plays or self.mode == "random-master" else 1

    def players(self, ranks: int) -> int:
        return 1 if self.mode == "random-master" else ranks - self.first_player(ranks)

    def evaluate_entry(self) -> Callable[[Any, int, int], int]:
        return play_out if self.mode == "full" else evaluate_randomly
