"""`slow-tree`: a tree at each rank; the tops are averaged a few times a second (gelly2008 Algorithm 6; bourki2010).

    every rank, until playouts or time are used up:
        simulate
        every T0 = `period` seconds: average the statistics of all nodes with
            depth <= `depth`, at least `share` of the root's simulations and at least `min_visits` of them
    choose the move that was simulated most often, on the whole set of ranks

The averages are those of an all-reduce, computed recursively from the root as bourki2010 says: first the root's moves,
then those of its children that have enough simulations, and so on down to the depth.

Deviations and additions:
- Nobody waits for an average: simulations go on meanwhile, and are added on top (`rounds.py`).
- Trees have whole visits: an average is rounded up, with its mean value kept to one in a million. The sums behind it
  are exact: no rounding is carried on, and the decision is taken on them.
- A node's simulations are those through the move that leads to it. At most `copies` moves are shared.
- AMAF values are not averaged, and the tree below the shared depth never is.
- `extend` is the paper's "self-assessment (strong variance -> more time)": while fewer than three ranks in four prefer
  the chosen move by their own simulations, the search gets more, up to so many times its budget.

One rank has nobody to share with and equals `sequential` bit for bit. The tree of a rank with `--workers` is searched
by several playouts at once: gelly2008 reports that both gains multiply.
"""

from dataclasses import dataclass

from treespan.core.options import option
from treespan.schemes.whole_trees.averaging.scheme import SlowAverage


@dataclass(frozen=True)
class SlowTree(SlowAverage):
    """A tree at each rank. Every `period` seconds the tops of the trees, down to `depth`, are averaged.

    >>> import treespan as ts
    >>> result = ts.search("tictactoe", scheme=ts.SlowTree(depth=2, period=0.0001), simulate=4, playouts=2000)
    >>> result.move, result.between_ranks["rounds"] > 0
    ('b2', True)
    """

    name = "slow-tree"
    summary = "a tree at each rank; the tops of the trees are averaged a few times a second"
    paper = "gelly2008 Algorithm 6, bourki2010"

    depth: int = option(3, "of the deepest nodes that are averaged; 0: the root alone", low=0, high=16)
    share: float = option(0.05, "of the root's simulations that a node must have", low=0, high=1)
    min_visits: int = option(0, "simulations that a node must have, mean over the ranks", low=0)
    copies: int = option(16_384, "moves of averaged nodes, at most", low=2, high=10**6)

    def shared_depth(self) -> int:
        return self.depth

    def shared_places(self, max_moves: int) -> int:
        return max_moves + self.copies if self.depth else max_moves

    def least_share(self) -> float:
        return self.share

    def least_visits(self) -> float:
        return float(self.min_visits)
