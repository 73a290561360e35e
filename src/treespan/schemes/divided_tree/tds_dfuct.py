"""`tds-dfuct`: depth-first UCT by transposition-table driven scheduling (yoshizoe2011, DFUCT).

A job carries the local stack of df-UCT and returns only as far as a best move has flipped, so few reports reach the
root. The budget is exact: the playouts are granted to jobs at the root, in portions of `grant`; a job without any left
reports to the root. Large portions are fast, for jobs then hardly ever come back to the root. But a job
that does not come back keeps the virtual losses of the first flood in its stack and never learns what the others found:
small portions keep the search's quality. `grant=0` is nearest to the paper, whose jobs never have to come back: each
time a job gets half of an even share of what is left, so that all jobs end at about the same time.
`budget=share` is the paper's end: when every rank has done 1.05 K / N playouts, all jobs are called home.
Handlers and other deviations: `divided_tree/handlers.py`.
"""

from dataclasses import dataclass

from treespan.core.options import option
from treespan.schemes.divided_tree.scheme import Tds
from treespan.search.tree import MAX_VISITS

PAPERS_SHARE = 1.05  # playouts of a rank before the search ends, as a multiple of K / N


@dataclass(frozen=True)
class TdsDfuct(Tds):
    """One tree over all ranks, by df-UCT. A job does several playouts, and seldom comes back to the root.

    >>> import treespan as ts
    >>> result = ts.search("tictactoe", scheme=ts.TdsDfuct(grant=5), simulate=8, playouts=2000)
    >>> result.move, result.ranks
    ('b2', 8)
    """

    name = "tds-dfuct"
    summary = "the same with df-UCT: the local stack travels in the job"
    paper = "yoshizoe2011 (DFUCT)"

    search_choices = Tds.search_choices | {"algorithm": ("dfuct",)}

    grant: int = option(
        20, "playouts that a job does before it returns to the root; 0: halves of what is left", low=0, high=MAX_VISITS
    )
    budget: str = option(
        "exact", "end after exactly K playouts; share: when every rank has done 1.05 K / N", choices=("exact", "share")
    )

    def portion(self) -> int:
        return self.grant

    def rank_share(self, playouts: int, ranks: int) -> int:
        return int(PAPERS_SHARE * playouts / ranks) + 1 if self.budget == "share" else 0
