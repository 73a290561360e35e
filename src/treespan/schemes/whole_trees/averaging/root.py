"""`root`: independent trees whose root statistics are added up (cazenave2008; bourki2010).

With `period=0` the trees are merged once, at the end: *single-run* of Cazenave & Jouandeau 2007 as cazenave2008 tells
it, *voting* or *very slow root* in bourki2010. With a period it is *multiple-runs*: "periodically updates the trees
with the results of the other slaves", here the root of every tree with the sums over all.

    every rank:  simulate until playouts or time are used up; every `period`:
        sum  <- all-reduce(results at the root since the last time)
        root <- root + results of the others
    rank 0:      choose the move from the sum over all ranks

Deviations and additions:
- The paper does not say how much of the trees multiple-runs updates; here it is the root. See slow-tree for more.
- Nobody waits for a merge: simulations go on meanwhile (`rounds.py`).
- `extend`: more time while the ranks prefer different moves (gelly2008's remark on Algorithm 6).
- AMAF values stay in their tree.

Rank i draws from stream i of the seed: one rank equals `sequential` bit for bit, and without a period the result for N
ranks depends on the seed and N only.
"""

from dataclasses import dataclass

from treespan.games.rules import Game
from treespan.schemes.plan import Plan
from treespan.schemes.whole_trees.averaging.scheme import RoundScheme
from treespan.search.searcher import Searcher


@dataclass(frozen=True)
class Root(RoundScheme):
    """An independent tree at each rank. The roots are added up, at the end or every `period` seconds.

    >>> import treespan as ts
    >>> result = ts.search("tictactoe", scheme=ts.Root(), threads=2, playouts=2000)
    >>> result.move, result.ranks
    ('b2', 2)
    """

    name = "root"
    summary = "independent trees, their roots merged at the end or every period"
    paper = "cazenave2008 (single-run, multiple-runs), bourki2010 (voting)"

    @property
    def has_searchers(self) -> bool:
        """Whether trees meet at the end only, and each has one simulation at a time."""
        return not self.period and self.jobs <= 1 and self.extend <= 1

    def new_searchers(self, game: Game, plan: Plan) -> list[Searcher]:
        return [Searcher(game, plan.options, plan.seed, stream) for stream in range(plan.ranks)]
