"""`shared`: threads on one tree (gelly2008, Algorithm 4).

For each thread simultaneously: simulate in the tree, choose a successor, play out, add it, update the statistics. The
paper protects the updates by mutexes and notes that up to N - 1 simulations are under way, unseen, when one starts.

Deviations and additions:
- No mutexes: statistics change by atomic adds, nodes are published after they are built (`search/shared.py`).
  `update=mutex` has a lock around descent and backup instead, as the paper, to compare with.
- Simulations under way are seen by the others (Coulom's virtual loss, as yoshizoe2011 and Chaslot et al. 2008 tell it):
  `loss`        the visit is counted on the way down, its reward on the way up. The score is formula (1) of
                yoshizoe2011, w/(s+d) + c sqrt(ln(t+d_T)/(s+d)), and the threshold of expansion and the node's mean
                see d too. It costs nothing: a simulation adds to the same counters as without.
  `visits`      the same formula with d counted apart: threshold and mean see finished simulations only.
  `unobserved`  WU-UCT (Liu et al. 2020): s + d and t + d_T in the exploration term, the mean w/s as observed.
  `none`        as the paper: nothing is seen.
- A leaf is expanded after `threshold` playouts, as in all our schemes; the paper adds a node with every simulation.
- Proofs (`solver`) are shared too.

In a simulated cluster (`--simulate N`) N threads share the tree of rank 0's arrays by the handlers of `whole_trees`:
one descent, one playout and one backup are units of work, each in the time of its thread. Atomic additions are priced
(`ATOMICS`), the traffic between many caches over the root's counters is not: real speed-ups at many cores are lower.

One thread equals `sequential` bit for bit: it has nobody to hide its simulations from, so it counts as with `none`.
Several threads do not give the same result twice: it depends on how they interleave.
"""

from dataclasses import dataclass
from typing import ClassVar

from treespan.core.errors import OptionError, in_spec, named
from treespan.core.handles import value_of
from treespan.core.jit import njit
from treespan.core.options import option
from treespan.games.rules import Game
from treespan.schemes.one_process.driver import drive
from treespan.schemes.plan import Looks, Plan, Progress, Request, WantsStop
from treespan.schemes.protocol.hooks import Addition
from treespan.schemes.protocol.port import end_search
from treespan.schemes.scheme import Place, Scheme
from treespan.schemes.summary import summarise_here, with_looks
from treespan.schemes.whole_trees.averaging.root import Root
from treespan.schemes.whole_trees.handlers import LocalRank
from treespan.schemes.whole_trees.scheme import LocalTree
from treespan.search.result import SearchResult
from treespan.search.searcher import Searcher
from treespan.search.shared_searcher import VIRTUAL_LOSSES, SharedSearcher

# Of each level, in units of HANDLED. A simulation of the P-game by two threads takes 1.167 times the CPU of a
# sequential one (docs/schemes/shared.md): of 500 ns at a depth of 6 that is 14 ns a level; a handled job took 217.
ATOMICS = 1


@njit
def leave(handle, row, slot):
    """A simulated thread has finished; the last one ends the search."""
    port = value_of(handle).port
    port.budget[0].jobs_alive -= 1
    if port.budget[0].jobs_alive == 0:
        end_search(port, row)
    return 0


@dataclass(frozen=True)
class Shared(LocalTree):
    """Threads on one tree. With real threads the result depends on how they interleave, with simulated ones not.

    >>> import treespan as ts
    >>> result = ts.search("tictactoe", scheme=ts.Shared(virtual_loss="unobserved"), simulate=4, playouts=2000)
    >>> result.move, result.ranks
    ('b2', 4)
    """

    name = "shared"
    summary = "threads on one tree, without locks"
    paper = "gelly2008 Algorithm 4"
    shares_tree: ClassVar[bool] = True
    may_ask_solver: ClassVar[bool] = True  # in real threads

    in_one_process = True
    needs_one_memory = True

    virtual_loss: str = option("loss", "how simulations under way count for other threads", choices=VIRTUAL_LOSSES)
    update: str = option("atomic", "atomic adds, or mutex: one lock for the tree", choices=("atomic", "mutex"))

    def counts_as(self) -> str:
        return self.virtual_loss

    def new_searchers(self, game: Game, plan: Plan) -> list[Searcher]:
        virtual_loss = "none" if plan.ranks == 1 else self.virtual_loss
        return [SharedSearcher(game, plan.options, plan.seed, plan.ranks, virtual_loss, self.update == "mutex")]

    def level_work(self) -> int:
        return ATOMICS

    def check(self, request: Request) -> None:
        """Of simulated threads."""
        super().check(request)
        if self.update == "mutex" or request.plan.workers:
            what = named("workers") if request.plan.workers else in_spec("update", "mutex")
            raise OptionError(f"shared: {what} is not simulated; leave it out")
        if request.plan.options.asks_solver():
            raise OptionError(f"shared: {request.plan.options.solver_option()} is not simulated; leave it out")

    def add_to(self, rank: LocalRank, request: Request, place: Place) -> Addition:
        rank.port.budget[0].jobs_alive = request.plan.ranks
        return Addition(rank, {"finished": leave})

    def search_here(
        self,
        request: Request,
        progress: Progress | None = None,
        wants_stop: WantsStop | None = None,
        looks: Looks | None = None,
    ) -> SearchResult:
        (searcher,) = self.new_searchers(request.position.game, request.plan)
        searcher.set_position(request.position)
        report = with_looks(request, [searcher], progress, looks)
        run = drive([searcher], request.plan.budget, report, wants_stop=wants_stop)
        return summarise_here(request, [searcher], run)

    def with_workers(self, plan: Plan) -> Scheme:
        if plan.workers:
            raise OptionError(f"shared: {named('workers', plan.workers)} is for ranks; give {named('threads')}")
        counts_as = "visits" if self.virtual_loss == "loss" else self.virtual_loss
        return Root(jobs=plan.ranks, virtual_loss=counts_as)
