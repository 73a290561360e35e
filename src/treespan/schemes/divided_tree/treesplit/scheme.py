"""`treesplit`: UCT-Treesplit (graf2011: Graf, Lorenz, Platzner, Schaefers, Parallel MCTS for HPC Systems).

One transposition table, split over the ranks by i(s) = hash(s) mod N. A simulation moves from rank to rank; frequently
visited states are duplicated, so that most of its steps need no message. `WorkerMainLoop` of the paper is `advance` of
`handlers.py`: its MOVE messages are our search jobs, its UPDATE messages our report jobs, its state stack with the rank
of each selection the job's levels. The IO core and its workers are a rank with `--workers W`.

Every rank starts S_par / N = `overload` x W simulations (W = 1 if the rank plays out itself) at its own copy of the
root, and starts the next one when an update has come back to it.

Deviations:
- An update goes back rank by rank along the path, instead of to all its ranks at once, and ends where the simulation
  began: that rank is the paper's (simID mod N), so jobs need no simID.
- A leaf is expanded at its `threshold`-th visit, and is played out at its home. Simulations under way count by formula
  (1) of yoshizoe2011; the paper counts the visit when it selects, which is the same but for the sibling's total.
- A state is duplicated at the ranks that send simulations to it, once more than `n_dup` have gone there by way of one
  move, instead of at all ranks at once: a rank asks the home for a copy. Only the root is everywhere from the start.
- How copies are synchronised the paper leaves open. A copy notes what is new in it; when one of its actions has
  `n_sync` new visits, the rank sends what is new to the home, which adds it and answers with its totals. The home has
  counted each result once, and the copy shows the totals and what is new since.
- The paper has no proofs. A job that proves a move of a copy goes by the home, where all proofs of a node meet.
- Copies are never given up. If the tree is full, no further state is duplicated.
- A search ends when the jobs of all ranks are home: then all that is new in copies goes to the homes.
"""

from dataclasses import dataclass

import numpy as np

from treespan.core.handles import value_of
from treespan.core.jit import njit
from treespan.core.options import option
from treespan.schemes.divided_tree.handlers import start_job
from treespan.schemes.divided_tree.rank import TdsRank
from treespan.schemes.divided_tree.scheme import Tds
from treespan.schemes.divided_tree.treesplit.copies import (
    HELD,
    NO_COPY,
    SIGNALS,
    WINDOW,
    find_copy,
    go_by_home,
    new_copies,
    note_amaf,
    send_news,
    stay_or_ask,
    unsent_news,
)
from treespan.schemes.divided_tree.treesplit.starters import end_job, handle_own, start_jobs
from treespan.schemes.kept import Kept
from treespan.schemes.plan import Plan, Request
from treespan.schemes.protocol.hooks import Addition, rank_of
from treespan.schemes.protocol.messages import NO_VALUE
from treespan.schemes.protocol.port import SPARE_SLOTS, Seat
from treespan.schemes.scheme import News, Place
from treespan.search.tree import MAX_VISITS, NODES, remove_node
from treespan.search.uct import gain_of


@dataclass(frozen=True)
class Treesplit(Tds):
    """One tree over all ranks. Each rank has copies of the nodes that it visits most.

    >>> import treespan as ts
    >>> result = ts.search("tictactoe", scheme=ts.Treesplit(n_dup=32), simulate=8, playouts=2000)
    >>> result.move, result.ranks
    ('b2', 8)
    """

    name = "treesplit"
    summary = "UCT-Treesplit: one tree over all ranks, hot nodes duplicated and synchronised"
    paper = "graf2011"

    search_choices = Tds.search_choices | {"algorithm": ("uct",)}

    jobs: int = option(0, "simulations under way for each rank; 0: overload for each worker", low=0, high=100_000)
    overload: int = option(3, "simulations under way for each worker (O)", low=1, high=1000)
    n_dup: int = option(16, "visits of a state before it is duplicated (N_dup)", low=0, high=MAX_VISITS)
    n_sync: int = option(100, "visits of an action between two synchronisations (N_sync)", low=1, high=MAX_VISITS)

    def all_jobs(self, plan: Plan) -> int:
        return plan.ranks * self.jobs_of_each(plan)

    def jobs_of_each(self, plan: Plan) -> int:
        """Simulations under way that start at a rank."""
        return self.jobs or self.overload * max(1, plan.worker_threads)

    def message_levels(self, request: Request) -> int:
        return request.position.game.max_moves

    def slots(self, plan: Plan, all_jobs: int) -> tuple[int, int]:
        return 0, SPARE_SLOTS + SIGNALS + WINDOW - (-all_jobs // plan.ranks)

    def starts_everywhere(self) -> bool:
        return True

    def add_to(self, rank: TdsRank, request: Request, place: Place) -> Addition:
        whole = new_copies(
            rank,
            request,
            place,
            jobs=self.jobs_of_each(request.plan),
            n_dup=max(self.n_dup, request.plan.options.threshold),  # before that a state has no node
            n_sync=self.n_sync,
        )
        return Addition(
            whole,
            {
                "synchronise": handle_own,
                "begin": begin,
                "restart": restart,
                "find": find_copy,
                "stay": stay,
                "count_result": note_news,
                "prove": go_by_home,
            },
        )

    def salvage(self, request: Request, seat: Seat) -> tuple[Kept | None, News]:
        news = unsent_news(seat.handle.whole.value)
        return super().salvage(request, seat)[0], news

    def keep(self, request: Request, seat: Seat) -> Kept:
        """The tree without copies: what was new in them is at their homes."""
        whole = seat.handle.whole.value
        for node in np.flatnonzero(whole.role[: int(seat.tree.used[NODES])] != NO_COPY):
            remove_node(seat.tree, np.uint32(node))
        return super().keep(request, seat)


@njit
def begin(handle, row, slot):
    """The search process begins by sharing the root; then every rank starts its simulations."""
    start_jobs(handle, row)
    return 1


@njit
def restart(handle, row, slot):
    """A simulation is back where it began: start a new one, or none if the budget is spent."""
    port, state = rank_of(handle).port, value_of(handle).state[row]
    if state.quota == 0 or port.state[row].draining or port.budget[0].to_grant == 0:  # the last: the root is proven
        end_job(handle, row, slot)
    else:
        state.quota -= 1
        start_job(rank_of(handle), row, slot, 0)
    return 1


@njit
def stay(handle, row, slot):
    """Whether the next state's statistics are already shared with this rank; if it is time, ask for them."""
    is_hot = rank_of(handle).port.jobs.headers[slot].edge_visits > value_of(handle).n_dup
    return stay_or_ask(handle, row, slot, is_hot)


@njit
def note_news(handle, row, slot):
    """An update has come for an action that was selected in a copy: after `n_sync` of them the home hears of it."""
    copies = value_of(handle)
    job = rank_of(handle).port.jobs.headers[slot]
    level = rank_of(handle).port.jobs.levels[slot, job.levels]
    if copies.role[level.node] != NO_COPY and job.value != NO_VALUE:
        copies.new_visits[level.edge] += 1
        player = rank_of(handle).tree.node_player[level.node]  # UCT's levels travel without it
        copies.new_wins[level.edge] += gain_of(player, job.value)
        note_amaf(handle, slot)
        if copies.new_visits[level.edge] >= copies.n_sync and copies.role[level.node] == HELD:
            send_news(handle, row, level.node)
    return 0
