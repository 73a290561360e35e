"""`span`: one search tree over thousands of ranks that is searched as the sequential search would. Ours.

Builds on TDS-df-UCT (yoshizoe2011), which scales because jobs hardly ever come back to the root, and searches badly for
the same reason: a job goes on below moves that looked good when it left. Jobs should come back often; but each of
them passes the homes of the root and of its best moves, and these bound the speed. Here near the root one job stands
for many playouts:

- Playouts start at the root in bulk. A job with many of them waits at a node, deals them out to its moves and gathers
  the results (`dealing.py`). The homes near the root have few messages for many playouts, so they can see every result.
- Playouts under way count as visits that brought the mean so far (WU-UCT: Liu et al. 2020), each of them, wherever it
  is. Thousands of them then hardly change what is chosen; as losses they would.
- What is left when a part is small goes on as a job of df-UCT, which is soon back where it was dealt out.
- A leaf is played out by the least loaded of the ranks heard from last (`place=idle`), so that few playouts under way
  keep all ranks busy.
- Descents and reports go before playouts. From MANY_RANKS on rank 0 holds the root and does nothing else, and homes
  that deal out very many playouts play out none.

Handlers: `divided_tree/handlers.py`. What each part is worth: docs/schemes/span.md.
"""

from dataclasses import dataclass

import numpy as np

from treespan.core.options import option
from treespan.schemes.divided_tree.rank import TdsRank
from treespan.schemes.divided_tree.scheme import DividedTree
from treespan.schemes.divided_tree.span import dealing
from treespan.schemes.plan import Plan, Request
from treespan.schemes.protocol.hooks import Addition
from treespan.schemes.protocol.port import NO_LOAD, SPARE_SLOTS
from treespan.schemes.scheme import Place
from treespan.search.tree import MAX_VISITS

# Few ranks have few playouts under way all the same, so each may have more of them, in larger jobs: 48 ranks, 0.1 ms,
# b = 8, 3 trees: 34.9 times as fast as one instead of 28.7 (80 and 31 instead of 20 and 15), and as good; 12 ranks: 9.1
# instead of 8.7 (160 instead of 80)
FEW_RANKS, MANY_RANKS = 12, 100
UNDER_WAY_IF_FEW, UNDER_WAY, UNDER_WAY_IF_MANY = 160, 80, 16
GRANT, GRANT_IF_MANY = 31, 3
# No rank shall wait while others do jobs with many playouts: 32 ranks, 1 ms, 20,000 playouts, b = 4, where each has 19
# under way: 28.9 times as fast as one with jobs of 3 playouts, 14.4 with jobs of 31
JOBS_OF_EACH = 5
# If ranks are many: a home with as much under way at one node as so many ranks have plays out nothing itself, because a
# message waits half a playout at a rank that does. 1,200 ranks, b = 8, ten trees: 1,027 times as fast as one at 1 ms
# and 723 at 0.1 ms with 16 under way for each; without it 20 had to be under way for 1,013 and 737
BUSY_HOME = 20
BUDGET_SHARE = 32  # no more than this part of the budget is under way
# Leaves that may wait at a rank before chance decides where the next one goes; if ranks are few there is hardly anybody
LEAVES_IF_FEW, LEAVES = 20, 5
SLOTS = 4  # for each playout under way: a report has some to itself; so has a job, and few of them only wait


@dataclass(frozen=True)
class Span(DividedTree):
    """One tree over all ranks, searched as one rank would. Playouts start in bulk and are dealt out on the way down.

    >>> import treespan as ts
    >>> result = ts.search("tictactoe", scheme=ts.Span(grant=4), simulate=64, playouts=2000)
    >>> result.move, result.ranks
    ('b2', 64)
    """

    name = "span"
    summary = "playouts start in bulk and are dealt out on the way: searches like one rank, at thousands of them"
    paper = "ours; after yoshizoe2011"

    search_choices = DividedTree.search_choices | {"algorithm": ("dfuct",), "kept_moves": ("2",)}

    jobs: int = option(
        0,
        "playouts under way for each rank, or each of its workers; 0: 160 up to 12 ranks, 80 up to 99, then 16, and at "
        "most 1/32 of the budget; one rank alone: 1",
        low=0,
        high=10_000,
    )
    grant: int = option(
        0,
        "playouts that a single job does at most; one with more deals them out; 0: a fifth of a rank's `jobs`, "
        "at most 31, from 100 ranks on 3",
        low=0,
        high=MAX_VISITS,
    )
    place: str = option("idle", "where leaves are played out: where less waits, or at home", choices=("home", "idle"))

    def counts_whole_grants(self) -> bool:
        return True

    def all_jobs(self, plan: Plan) -> int:
        return 1  # the root's, which deals out all playouts

    def under_way(self, plan: Plan) -> int:
        ranks, evaluators = plan.ranks, plan.evaluators
        if self.jobs:
            return self.jobs * evaluators
        if evaluators == 1:
            return 1
        of_each = UNDER_WAY_IF_FEW if ranks <= FEW_RANKS else UNDER_WAY if ranks < MANY_RANKS else UNDER_WAY_IF_MANY
        part = plan.playouts // BUDGET_SHARE
        return min(of_each * evaluators, max(evaluators, part))

    def grant_of(self, plan: Plan) -> int:
        """Playouts of a single job: so few that every rank has several jobs, in short searches, too."""
        most = GRANT if plan.ranks < MANY_RANKS else GRANT_IF_MANY
        return max(1, min(most, self.under_way(plan) // plan.evaluators // JOBS_OF_EACH))

    def large_from(self, plan: Plan) -> int:
        return self.grant or self.grant_of(plan)

    def busy_from(self, plan: Plan) -> int:
        """Playouts under way at one node from which on its home plays out nothing itself; its workers may."""
        if self.reserved(plan.ranks) == 0 or plan.workers:
            return MAX_VISITS
        return BUSY_HOME * self.under_way(plan) // plan.ranks

    def fair_load(self, plan: Plan) -> int:
        return LEAVES_IF_FEW if plan.ranks <= FEW_RANKS else LEAVES

    def slots(self, plan: Plan, all_jobs: int) -> tuple[int, int]:
        return all_jobs, SPARE_SLOTS + SLOTS * -(-self.under_way(plan) // plan.ranks)

    def reserved(self, ranks: int) -> int:
        return int(ranks >= MANY_RANKS)

    def add_to(self, rank: TdsRank, request: Request, place: Place) -> Addition:
        if rank.reserved and 0 in place.ranks and request.plan.workers == 0:
            rank.port.state[0].kept_free = NO_LOAD
        whole = dealing.SpanRank(
            rank=rank,
            grant=rank.large_from,
            under_way=self.under_way(request.plan),
            busy_from=self.busy_from(request.plan),
            spare=SPARE_SLOTS * place.rows,
            waiting=np.zeros(len(rank.tree.node_key), dtype=np.int32),
            portions=np.zeros(request.position.game.max_moves, dtype=np.int64),
        )
        return Addition(
            whole,
            {
                "take_over": dealing.take_over,
                "come_back": dealing.come_back,
                "restart": dealing.restart,
                "expand_early": dealing.expand_early,
                "share_leaf": dealing.share_leaf,
            },
            units=(dealing.deal,),
        )
