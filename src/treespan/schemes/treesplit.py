"""`treesplit`: UCT-Treesplit (graf2011: Graf, Lorenz, Platzner, Schaefers, Parallel MCTS for HPC Systems).

One transposition table, split over the ranks by i(s) = hash(s) mod N. A simulation moves from rank to rank; frequently
visited states are duplicated, so that most of its steps need no message. `WorkerMainLoop` of the paper is `advance` of
`tds.py`: its MOVE messages are our search jobs, its UPDATE messages our report jobs, its state stack with the rank of
each selection the job's levels. The IO core and its workers are a rank with `--workers W`.

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
- Copies are never given up. If the tree is full, no further state is duplicated.
- A search ends when the jobs of all ranks are home: then all that is new in copies goes to the homes.
"""

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from treespan.core.errors import OptionError
from treespan.core.handles import Handle, value_of
from treespan.core.jit import njit
from treespan.core.options import option
from treespan.schemes.base import Request
from treespan.schemes.copies import (
    ALIVE,
    ASK,
    HELD,
    LAST_COPY,
    NO_COPY,
    PRIOR_LEVEL_WORDS,
    QUIET,
    QUOTA,
    SIGNALS,
    STATE,
    WINDOW,
    TreesplitRank,
    copy_key,
    copy_root,
    handle_own,
    new_message,
    send_news,
    tell,
)
from treespan.schemes.distributed import Place
from treespan.schemes.hooks import rank_of, with_hooks
from treespan.schemes.messages import NO_SLOT, NO_VALUE, SEARCH, UCT_LEVEL_WORDS
from treespan.schemes.rank import DRAINING, FREE, SPARE_SLOTS, TREE, dequeue, enqueue, release, send
from treespan.schemes.tds import ROOT_VISITS, TdsRank, home_of
from treespan.schemes.tds_scheme import Tds
from treespan.search.tree import EDGES_PER_NODE, MAX_VISITS, NO_NODE, ROOT, find_node
from treespan.search.uct import gain_of


@dataclass(frozen=True)
class Treesplit(Tds):
    name = "treesplit"
    summary = "UCT-Treesplit: one tree over all ranks, hot nodes duplicated and synchronised"
    paper = "graf2011"
    copies_root: ClassVar[bool] = True
    spare_slots: ClassVar[int] = SPARE_SLOTS + SIGNALS + WINDOW

    algorithm: str = option("uct", "always uct", choices=("uct",))
    jobs: int = option(0, "simulations under way for each rank; 0: overload for each worker", low=0, high=100_000)
    overload: int = option(3, "simulations under way for each worker (O)", low=1, high=1000)
    n_dup: int = option(16, "visits of a state before it is duplicated (N_dup)", low=0, high=MAX_VISITS)
    n_sync: int = option(100, "visits of an action between two synchronisations (N_sync)", low=1, high=MAX_VISITS)

    def all_jobs(self, ranks: int, workers: int = 0) -> int:
        return ranks * (self.jobs or self.overload * max(1, workers))

    def level_words(self) -> int:
        return PRIOR_LEVEL_WORDS if self.uses_priors() else UCT_LEVEL_WORDS

    def message_levels(self, request: Request) -> int:
        return request.position.game.max_moves

    def new_handle(self, request: Request, place: Place, rank: TdsRank) -> Handle:
        nodes, edges = len(rank.tree.node_key), len(rank.tree.edge_move)
        needed = (place.rows + 1) * max(int(rank.tree.node_count[ROOT]), EDGES_PER_NODE)
        if edges < needed:
            raise OptionError(f"--nodes {edges} is too small for a root at each rank; give at least {needed}")
        playouts, ranks = request.budget.playouts or MAX_VISITS, request.ranks
        state = np.zeros((place.rows, STATE), dtype=np.int64)
        state[:, LAST_COPY] = NO_NODE
        for row in range(place.rows):
            state[row, QUOTA] = playouts // ranks + (place.first + row < playouts % ranks)
        whole = TreesplitRank(
            rank=rank,
            n_dup=max(self.n_dup, self.threshold),  # before that a state has no node
            n_sync=self.n_sync,
            jobs=self.all_jobs(1, request.workers),
            role=np.zeros(nodes, dtype=np.int8),
            next_copy=np.zeros(nodes, dtype=np.uint32),
            new_visits=np.zeros(edges, dtype=np.int32),
            new_wins=np.zeros(edges, dtype=np.float64),
            ask_at=np.zeros(edges, dtype=np.int32),
            state=state,
        )
        return with_hooks(
            whole, begin=begin, restart=restart, find=find, stay=stay, count_result=note_news, synchronise=handle_own
        )


@njit
def begin(handle, row, slot):
    """The search process begins by sharing the root; then every rank starts its simulations."""
    split = value_of(handle)
    rank, state = rank_of(handle), split.state[row]
    if home_of(rank.root_key, rank) != rank.port.first + row:
        copy_root(handle, row)
    state[ALIVE] = min(split.jobs, state[QUOTA])
    for _ in range(state[ALIVE]):
        restart(handle, row, dequeue(rank.port, row, FREE))
    if state[ALIVE] == 0:
        tell(handle, row, QUIET, 0)
    return 1


@njit
def restart(handle, row, slot):
    """A simulation is back where it began: start a new one, or none if the budget is spent."""
    split = value_of(handle)
    port, state = rank_of(handle).port, split.state[row]
    if state[QUOTA] == 0 or port.numbers[row, DRAINING] != 0:
        release(port, row, slot)
        state[ALIVE] -= 1
        if state[ALIVE] == 0:
            tell(handle, row, QUIET, 0)
        return 1
    state[QUOTA] -= 1
    job = port.jobs.headers[slot]
    job.kind, job.levels, job.target, job.value = SEARCH, 0, 0, NO_VALUE
    job.key, job.edge_visits, job.allowance = rank_of(handle).root_key, ROOT_VISITS, 0
    enqueue(port, row, TREE, slot)
    return 1


@njit
def find(handle, row, slot):
    """The copy that a search job goes down from, if the home of its state is elsewhere."""
    rank, me = rank_of(handle), rank_of(handle).port.first + row
    position_key = rank.port.jobs.headers[slot].key
    if home_of(position_key, rank) == me:
        return 0
    return np.int64(find_node(rank.tree, copy_key(position_key, me))) + 1


@njit
def stay(handle, row, slot):
    """Whether the next state's statistics are already shared with this rank; if it is time, ask for them."""
    split = value_of(handle)
    rank, me = rank_of(handle), rank_of(handle).port.first + row
    job = rank.port.jobs.headers[slot]
    if home_of(job.key, rank) == me:
        return 0
    if find_node(rank.tree, copy_key(job.key, me)) != NO_NODE:
        return 1
    edge = rank.port.jobs.levels[slot, job.levels - 1].edge
    if job.edge_visits > split.n_dup and job.edge_visits >= split.ask_at[edge]:
        message = new_message(handle, row, ASK, job.key)
        if message != NO_SLOT:
            split.ask_at[edge] = 2 * job.edge_visits  # where there is no node, ask seldom
            send(rank.port, row, message, home_of(job.key, rank))
    return 0


@njit
def note_news(handle, row, slot):
    """An update has come for an action that was selected in a copy: after `n_sync` of them the home hears of it."""
    split = value_of(handle)
    job = rank_of(handle).port.jobs.headers[slot]
    level = rank_of(handle).port.jobs.levels[slot, job.levels]
    if split.role[level.node] != NO_COPY and job.value != NO_VALUE:
        split.new_visits[level.edge] += 1
        player = rank_of(handle).tree.node_player[level.node]  # UCT's levels travel without it
        split.new_wins[level.edge] += gain_of(player, job.value)
        if split.new_visits[level.edge] >= split.n_sync and split.role[level.node] == HELD:
            send_news(handle, row, level.node)
    return 0
