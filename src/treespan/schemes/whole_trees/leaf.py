"""`leaf`: one tree, several playouts at each leaf in parallel (cazenave2008: at-the-leaves).

    rank 0: while playouts are left:
                descend the tree once
                send the sequence to all players; each plays a random game to the end and sends the result
                when all results are there: count each of them along the path

cazenave2008 names it as one of three schemes of Cazenave & Jouandeau 2007: "computes multiple playouts in parallel at
each leaf of the UCT tree". All players wait for the slowest, and k playouts at one leaf tell less than one at each of
k leaves.

Deviations and additions:
- Rank 0 is one of the players.
- Results are counted as they come; nobody looks at the tree before the last one is there, so the order does not matter.
- A leaf is expanded after `threshold` playouts, which k playouts at once may exceed. The last leaf of a budget gets
  what is left of it.

One rank with one playout at a leaf equals `sequential` bit for bit. RAVE is not possible: a result does not say which
moves were played.
"""

from dataclasses import dataclass
from typing import ClassVar

from treespan.core.options import option
from treespan.schemes.plan import Plan
from treespan.schemes.whole_trees.scheme import WITHOUT_AMAF, BusyTree


@dataclass(frozen=True)
class Leaf(BusyTree):
    """One tree in rank 0. All ranks play out at each leaf at once.

    >>> import treespan as ts
    >>> result = ts.search("tictactoe", scheme=ts.Leaf(playouts_per_leaf=4), simulate=4, playouts=2000)
    >>> result.move, result.playouts_by_rank
    ('b2', [500, 500, 500, 500])
    """

    name = "leaf"
    summary = "one tree in rank 0, playouts at a leaf by all ranks at once"
    paper = "cazenave2008 (at-the-leaves)"
    has_trees: ClassVar[bool] = False
    search_choices = BusyTree.search_choices | {"bandit": WITHOUT_AMAF}

    playouts_per_leaf: int = option(0, "playouts at a leaf; 0: one for each rank, or worker", low=0, high=100_000)

    def playouts_at_leaf(self, plan: Plan) -> int:
        return self.playouts_per_leaf or plan.evaluators

    def jobs_in_tree(self, plan: Plan) -> int:
        return self.playouts_at_leaf(plan)
