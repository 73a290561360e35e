"""`slow-root`: a tree at each rank; the roots are averaged a few times a second (gelly2008 Algorithm 6 with K = 0).

It is `slow-tree` with depth 0: bourki2010 finds that more depth helps little. Deviations: see `slow_tree.py`.
"""

from dataclasses import dataclass

from treespan.schemes.whole_trees.averaging.scheme import SlowAverage


@dataclass(frozen=True)
class SlowRoot(SlowAverage):
    """A tree at each rank. Every `period` seconds the roots of the trees are averaged.

    >>> import treespan as ts
    >>> result = ts.search("tictactoe", scheme=ts.SlowRoot(period=0.0001), simulate=4, playouts=2000)
    >>> result.move, result.between_ranks["rounds"] > 0
    ('b2', True)
    """

    name = "slow-root"
    summary = "a tree at each rank; the roots of the trees are averaged a few times a second"
    paper = "gelly2008 Algorithm 6 with K = 0, bourki2010"
