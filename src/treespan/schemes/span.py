"""`span`: TDS-df-UCT that stays a good search at thousands of ranks. Ours; builds on yoshizoe2011.

TDS-df-UCT scales because jobs hardly ever come back to the root, and searches badly for the same reason: a job goes on
below moves that looked good when it left. Jobs should come back often; but every job that comes back passes the homes
of the root and of its best moves, and these bound the speed. Four things together solve that:

- From CROWN_FROM ranks on some of them, the crown, hold copies of the hot top of the tree, and nothing else. Jobs start
  there and come back there, so that no home sees them all (`crown.py`).
- Playouts are granted in portions, and a job without any left comes back to the root. How large they are the search
  finds out by itself: if messages crowd where jobs come back to, portions grow slowly, else they shrink. So jobs come
  back as often as the ranks near the root can bear, whatever playouts, messages and ranks cost. Portions begin with 2 %
  of an even share of the budget: the first look at the tree is the one that jobs need most.
- A leaf is played out by the least loaded of the ranks heard from last (`place=idle`). Few jobs then keep all busy,
  and fewer jobs under way mean fewer virtual losses and fresher statistics.
- Descents and reports go before playouts, and near the end portions are small, so that jobs end together.

Handlers: `tds.py`. What each part is worth: docs/schemes/span.md.
"""

from dataclasses import dataclass

from treespan.core.handles import Handle
from treespan.core.options import option
from treespan.schemes.base import Request
from treespan.schemes.crown import with_crown
from treespan.schemes.distributed import Place
from treespan.schemes.tds import TdsRank
from treespan.schemes.tds_scheme import Tds
from treespan.search.tree import MAX_VISITS

# Few ranks need more jobs, for there is hardly anybody to take a leaf over; and as they have few all the same, each may
# do more before others hear of it: 12 ranks 10.8 -> 11.1 times as fast as one, the best move's share 76.9 and 76.6 %
JOBS, GRANT, FEW_RANKS = 5, 16, 12
LOOKS = 16  # at the root that a job shall have at least, in however small a budget of playouts
OWN_JOBS = 3  # of a rank's share of jobs: so many may wait anywhere, for a rank inside a playout serves nobody
CROWN_FROM, RANKS_PER_CROWN = 100, 20
CROWD = 5  # messages that may wait at a rank of the crown: it is inside no playout


@dataclass(frozen=True)
class Span(Tds):
    name = "span"
    summary = "TDS-df-UCT whose jobs come back often, to copies of the top of the tree: good at thousands of ranks"
    paper = "ours; after yoshizoe2011"

    algorithm: str = option("dfuct", "always dfuct", choices=("dfuct",))
    kept_moves: str = option("2", "moves compared in the stack test", choices=("2",))
    jobs: int = option(0, "jobs under way for each rank; 0: 5, and 10 for each of the first 12 ranks", low=0, high=1000)
    place: str = option("idle", "where leaves are played out: where less waits, or at home", choices=("home", "idle"))
    virtual_loss: str = option(
        "visits",
        "jobs under way count as lost (formula 1), or as unobserved (WU-UCT), each as all playouts that it may do",
        choices=("visits", "unobserved"),
    )
    crown: int = option(
        -1,
        "ranks that hold nothing but copies of the hot top of the tree; -1: one in 20, from 100 ranks on",
        low=-1,
        high=65535,
    )
    grant: int = option(
        0,
        "playouts of a job before it returns to the root, at least; 0: with a crown 1, without 16, up to 12 ranks 32, "
        "less in small budgets",
        low=0,
        high=MAX_VISITS,
    )
    waiting: float = option(
        1.0,
        "without a crown: percent of all jobs that may wait near the root before they return more rarely",
        low=0.0,
        high=100.0,
    )

    def all_jobs(self, ranks: int, workers: int = 0) -> int:
        return self.jobs * ranks or JOBS * (ranks + min(ranks, FEW_RANKS))

    def portion(self, share: int, ranks: int) -> int:
        if self.reserved(ranks):
            return self.grant or 1
        grant = 2 * GRANT if ranks <= FEW_RANKS else GRANT
        return self.grant or max(1, min(grant, share // LOOKS))

    def reserved(self, ranks: int) -> int:
        """The ranks of the crown; at least one is left for the tree."""
        if self.crown >= 0:
            return min(self.crown, ranks - 1)
        return ranks // RANKS_PER_CROWN if ranks >= CROWN_FROM else 0

    def tests_as_selected(self, ranks: int) -> bool:
        return self.reserved(ranks) > 0

    def counts_grants(self) -> bool:
        return self.virtual_loss == "unobserved"

    def starters(self, ranks: int) -> int:
        return self.reserved(ranks)

    def crowd(self, ranks: int) -> int:
        if self.reserved(ranks):
            return CROWD
        jobs = self.all_jobs(ranks)
        return int(jobs * self.waiting / 100) + OWN_JOBS * jobs // ranks

    def message_levels(self, request: Request) -> int:
        return request.position.game.max_moves if self.reserved(request.ranks) else 0

    def new_handle(self, request: Request, place: Place, rank: TdsRank) -> Handle:
        crown = self.reserved(request.ranks)
        return with_crown(request, place, rank, crown) if crown else Handle(rank)
