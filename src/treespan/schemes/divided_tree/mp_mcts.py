"""`mp-mcts`: MP-MCTS (Yang, Aasawat, Yoshizoe: Practical Massively Parallel MCTS Applied to Molecular Design, 2021).

TDS-df-UCT in which the history of a node's ancestors lives in the node. In `tds-dfuct` a job knows only what it has
seen itself: the statistics of its ancestors as they were when it left them, and its own results since. Here a node
remembers its ancestors, too. Every job that comes by, down or up, leaves there what it knows of them and takes along
what is known better: the fresher snapshot of an ancestor replaces the older one. And the node adds the results of all
jobs that come up through it. So jobs profit from each other's statistics without going up to the root for them.

After a playout the job reports to its leaf's parent. There and at every node on its way up it decides by the history
of that node: if some ancestor's best move has flipped it goes up one step more, otherwise down again from here.

Deviations, beside those of `divided_tree/handlers.py`:
- A leaf has no node, and so no history: the first to decide is its parent.
- The test looks at ancestors only. The node itself needs none: its own table is at hand, and a job that goes down
  again selects there anew. Ties are broken as in the selection; levels below the node are dropped from the job.
- Fresher means: of more visits of the ancestor. A job's own results since it left an ancestor stay its own when it
  takes over a fresher snapshot, and are reported there once: nothing is lost or counted twice, at the end either.
- The budget is exact, by grants as in `tds-dfuct`; `grant=0`, the default, is nearest to the paper.
- Histories have room for HISTORY_LEVELS ancestors for each node of the tree's capacity. When it is used up, further
  nodes have none, and jobs decide there by what they know themselves.
"""

from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from treespan.core.handles import value_of
from treespan.core.jit import njit, njit_inline
from treespan.core.options import option
from treespan.core.records import new_records
from treespan.games.rules import SECOND
from treespan.schemes.divided_tree.rank import TdsRank
from treespan.schemes.divided_tree.scheme import Tds
from treespan.schemes.divided_tree.stack import has_flipped
from treespan.schemes.plan import Request
from treespan.schemes.protocol.hooks import Addition, rank_of
from treespan.schemes.protocol.messages import LEVEL, LEVEL_WORDS
from treespan.schemes.scheme import Place
from treespan.search.options import SearchOptions
from treespan.search.tree import MAX_VISITS

HISTORY_LEVELS = 4


class MpMctsRank(NamedTuple):
    """A rank, or all ranks of a simulated cluster, and what their nodes know of their ancestors."""

    rank: TdsRank
    history: Any  # records[levels] of LEVEL: those of a node side by side, the root's first
    history_words: np.ndarray  # uint64[levels, LEVEL_WORDS], the same memory
    first: np.ndarray  # int64[nodes], where the history of a node begins
    depth: np.ndarray  # int32[nodes], its levels; 0: none yet
    used: np.ndarray  # int64[1], levels in use


@dataclass(frozen=True)
class MpMcts(Tds):
    """One tree over all ranks, as `TdsDfuct`. What a job has seen is kept in the nodes, where other jobs find it.

    >>> import treespan as ts
    >>> result = ts.search("tictactoe", scheme=ts.MpMcts(jobs=4), simulate=8, playouts=2000)
    >>> result.move, result.ranks
    ('b2', 8)
    """

    name = "mp-mcts"
    summary = "TDS-df-UCT whose history lives in the nodes: jobs profit from each other's fresher statistics"
    paper = "Yang, Aasawat, Yoshizoe 2021"

    search_choices = Tds.search_choices | {
        "algorithm": ("dfuct",),
        "bandit": ("ucb1", "tuned1", "tuned2", "puct"),
        "kept_moves": ("2",),
    }

    jobs: int = option(3, "jobs under way for each rank", low=1, high=100_000)
    grant: int = option(
        0, "playouts that a job does before it returns to the root; 0: halves of what is left", low=0, high=MAX_VISITS
    )

    def portion(self) -> int:
        return self.grant

    def keeps_all_moves(self, options: SearchOptions) -> bool:
        return True  # a job asks the nodes after every playout, and they decide

    def add_to(self, rank: TdsRank, request: Request, place: Place) -> Addition:
        nodes = len(rank.tree.node_key)
        history = new_records(LEVEL, HISTORY_LEVELS * nodes)
        whole = MpMctsRank(
            rank=rank,
            history=history,
            history_words=np.asarray(history).view(np.uint64).reshape(-1, LEVEL_WORDS),
            first=np.zeros(nodes, dtype=np.int64),
            depth=np.zeros(nodes, dtype=np.int32),
            used=np.zeros(1, dtype=np.int64),
        )
        return Addition(whole, {"select": meet, "count_result": decide})


@njit
def meet(handle, row, slot):
    """A job goes down from a node: job and node learn from each other."""
    mp = value_of(handle)
    jobs = rank_of(handle).port.jobs
    levels = np.int64(jobs.headers[slot].levels)
    node = jobs.levels[slot, levels].node
    if mp.depth[node] == 0 and mp.used[0] + levels <= len(mp.history):
        mp.first[node], mp.depth[node] = mp.used[0], levels
        mp.used[0] += levels
        for i in range(levels):
            remember(handle, slot, i, mp.first[node] + i)
    exchange(handle, slot, node)
    return 0


@njit
def decide(handle, row, slot):
    """A job reports to a node: the node's history gains its results; has an ancestor flipped, it goes up further."""
    mp = value_of(handle)
    jobs, settings = rank_of(handle).port.jobs, rank_of(handle).settings
    job, levels = jobs.headers[slot], np.int64(jobs.headers[slot].levels)
    level = jobs.levels[slot, levels]  # that of the node
    if mp.depth[level.node] == levels:
        value = wins_of(level.player, level.gained_wins, level.gained_visits)
        for i in range(levels):
            known = mp.history[mp.first[level.node] + i]
            if is_same_move(known, jobs.levels[slot, i]):
                known.gained_visits += level.gained_visits
                known.gained_wins += wins_of(known.player, value, level.gained_visits)
    exchange(handle, slot, level.node)
    if job.allowance <= 0:  # called home
        return 0
    job.target = levels
    for i in range(levels):
        if has_flipped(jobs.levels[slot, i], jobs.amaf_levels[0, 0], settings):  # no RAVE here
            job.target = 0
    return 0


@njit_inline
def wins_of(player, value, visits):
    """The reward of `player` where the first player's is `value`, of `visits` results; and the other way round."""
    return visits - value if player == SECOND else value


@njit_inline
def is_same_move(known, mine):
    """Whether two levels are of one node and move: by another path a node has other ancestors."""
    return known.home == mine.home and known.node == mine.node and known.edge == mine.edge


@njit_inline
def visits_of(level):
    """How fresh a level is: the visits of the ancestor that it knows of."""
    return level.total + level.gained_visits


@njit
def exchange(handle, slot, node):
    """Of each ancestor the fresher snapshot replaces the older one, in the job or in the node."""
    mp = value_of(handle)
    jobs = rank_of(handle).port.jobs
    levels = np.int64(jobs.headers[slot].levels)
    if mp.depth[node] != levels:
        return
    for i in range(levels):
        mine, known = jobs.levels[slot, i], mp.history[mp.first[node] + i]
        if not is_same_move(known, mine) or visits_of(mine) >= visits_of(known):
            remember(handle, slot, i, mp.first[node] + i)
        else:
            learn(mine, known)


@njit
def remember(handle, slot, level, place):
    """Copy a level of a job into a history."""
    mp = value_of(handle)
    for word in range(LEVEL_WORDS):
        mp.history_words[place, word] = rank_of(handle).port.jobs.level_words[slot, level * LEVEL_WORDS + word]


@njit_inline
def learn(mine, known):
    """Take over what a node knows of an ancestor. The job's own results stay apart: it has yet to report them."""
    mine.best_wins = known.best_wins + known.gained_wins - mine.gained_wins
    mine.best_visits = known.best_visits + known.gained_visits - mine.gained_visits
    mine.total = known.total + known.gained_visits - mine.gained_visits
    mine.total_flight, mine.fpu = known.total_flight, known.fpu
    mine.second_wins, mine.second_visits, mine.second_prior = known.second_wins, known.second_visits, known.second_prior
    mine.second_is_first = known.second_is_first
    mine.test_at = 0
