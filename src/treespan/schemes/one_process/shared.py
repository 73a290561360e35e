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

In a simulated cluster (`--simulate N`) N threads share the tree of rank 0's arrays by the handlers of `whole_trees/handlers.py`:
one descent, one playout and one backup are units of work, each in the time of its thread. Atomic additions are priced
(`ATOMICS`), the traffic between many caches over the root's counters is not: real speed-ups at many cores are lower.

One thread equals `sequential` bit for bit: it has nobody to hide its simulations from, so it counts as with `none`.
Several threads do not give the same result twice: it depends on how they interleave.
"""

from dataclasses import dataclass
from typing import ClassVar

from treespan.core.errors import OptionError
from treespan.core.handles import Handle, value_of
from treespan.core.jit import njit
from treespan.core.options import option
from treespan.schemes.base import Request, drive, summarise
from treespan.schemes.distributed import Place
from treespan.schemes.protocol.port import JOBS_ALIVE, end_search
from treespan.schemes.whole_trees.handlers import FINISHED, LocalRank
from treespan.schemes.whole_trees.scheme import Addition, LocalTree
from treespan.search.options import ALGORITHMS
from treespan.search.result import SearchResult
from treespan.search.shared_searcher import VIRTUAL_LOSSES, SharedSearcher

# Of each level, in units of HANDLED. A simulation of the P-game by two threads takes 1.167 times the CPU of a
# sequential one (docs/schemes/shared.md): of 500 ns at a depth of 6 that is 14 ns a level; a handled job took 217.
ATOMICS = 1


@njit
def leave(handle, row, slot):
    """A simulated thread has finished; the last one ends the search."""
    port = value_of(handle).port
    port.shared[JOBS_ALIVE] -= 1
    if port.shared[JOBS_ALIVE] == 0:
        end_search(port, row)
    return 0


@dataclass(frozen=True)
class Shared(LocalTree):
    name = "shared"
    summary = "threads on one tree, without locks"
    paper = "gelly2008 Algorithm 4"
    shares_tree: ClassVar[bool] = True
    may_ask_solver: ClassVar[bool] = True  # in real threads

    algorithm: str = option("uct", "always uct: df-UCT holds results back", choices=ALGORITHMS)
    virtual_loss: str = option("loss", "how simulations under way count for other threads", choices=VIRTUAL_LOSSES)
    update: str = option("atomic", "atomic adds, or mutex: one lock for the tree", choices=("atomic", "mutex"))

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.algorithm != "uct":
            raise OptionError(
                f"shared: algorithm={self.algorithm} is not possible: df-UCT holds results back on its stack; "
                "use algorithm=uct, or --scheme tds-dfuct"
            )

    def new_searcher(self, request: Request) -> SharedSearcher:
        """A searcher at the request's position, with its threads; its tree can be kept from move to move."""
        virtual_loss = "none" if request.threads == 1 else self.virtual_loss
        searcher = SharedSearcher(
            request.position.game, self, request.seed, request.threads, virtual_loss, self.update == "mutex"
        )
        searcher.set_position(request.position)
        return searcher

    def level_work(self) -> int:
        return ATOMICS

    def check(self, request: Request) -> None:
        """Of simulated threads."""
        super().check(request)
        if self.update == "mutex" or request.workers:
            option = "--workers" if request.workers else "update=mutex"
            raise OptionError(f"shared: {option} is not simulated; leave it out")
        if self.asks_solver():
            raise OptionError("shared: expertise and conditioning are not simulated; leave them out")

    def add_to(self, rank: LocalRank, down: Handle, request: Request, place: Place) -> Addition:
        rank.port.shared[JOBS_ALIVE] = request.ranks
        return Addition(rank, {FINISHED: leave})

    def search(self, request: Request) -> SearchResult:
        searcher = self.new_searcher(request)
        run = drive([searcher], request.budget, request.progress)
        run.load = searcher.load
        return summarise(self, request, [searcher], run)
