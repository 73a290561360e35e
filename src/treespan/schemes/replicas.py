"""Hot nodes copied to every rank, kept equal by one reduction over all ranks after the other.

A node that a large share of all playouts passes is *hot*: its home alone could not serve it. Every rank has a copy and
selects there by itself. What a rank adds to its copies it contributes to the next round: sums flow up a tree of ranks
to rank 0, and the totals flow down. A contribution is made once, so nothing is counted twice. Rounds follow each
other without pause; nobody waits for one.

Between two rounds all ranks know the same, and would all choose the same move. So after each round a rank works out a
*plan*: how the bandit would spread the visits expected until the next round, if means stayed as they are and visits
under way counted as in WU-UCT. Ranks go through the plan from different places.

With the sums travel the number of jobs alive, which ends the search, and proposals of nodes to copy next.
"""

from typing import NamedTuple

import numpy as np

from treespan.core.handles import value_of
from treespan.core.jit import njit, njit_inline
from treespan.games.rules import key as key_of
from treespan.games.rules import play
from treespan.schemes.messages import LEVEL_WORDS
from treespan.search.bandits import log_visits, move_score
from treespan.search.options import PUCT
from treespan.search.tree import NO_NODE, TERMINAL, find_node

FAN_OUT = 8  # ranks below a rank in the tree of ranks: of 1,200 ranks the lowest are 4 steps from rank 0
PLAN = 32  # selections of a plan
PROPOSALS = 16  # nodes that may become hot in one round
MAX_PATH = 64  # deeper nodes do not become hot
COLD_RANKS = 128  # ranks that may send jobs to a node that is not copied, at a time
NOT_HOT = -1
NO_CHOICE = -1

# Indices into a row of `Replicas.state`
(
    HOT,  # hot nodes
    EDGES_USED,  # of all hot nodes
    MISSING,  # contributions of this round that have not come yet, one's own included
    OWN_IS_DUE,  # not zero: this rank has not contributed
    WORKED,  # messages and leaves handled since the round began
    ROUND,  # number of the round
    ALIVE,  # its own jobs under way
    ALIVE_SUM,  # those of the ranks below, and its own, in this round
    QUOTA,  # playouts that it has not granted to jobs yet
    QUIET_ROUNDS,  # rounds in which no job was alive, at rank 0
    PROPOSED,  # proposals of this round
    CANDIDATE,  # visits of the node that this rank will propose, 0 if there is none
    STATE,
) = range(13)
# Words of a proposal: what it begins with, then MAX_PATH moves, then visits and wins of each move
KEY, COUNT, PATH, VISITS, MOVES = range(5)
STATISTICS = MOVES + MAX_PATH
# Words of a message: what it begins with, then two for each edge (under way and visits; wins), then the proposals
ALIVE_WORD, EDGES_WORD, PROPOSED_WORD, BODY = range(4)
HALF, LOW_HALF = np.uint64(32), np.uint64(0xFFFFFFFF)


class Replicas(NamedTuple):
    """The copies, one row for each rank. Edge i of hot node h is at `offset[h]` + i."""

    share: int  # a node is hot if more than 1 / share of all jobs are below it
    pause: int  # messages and leaves that a rank handles before it contributes
    jobs: int  # of each rank
    table: np.ndarray  # int32[rows, power of two], hot nodes by key
    keys: np.ndarray  # uint64[rows, hot]
    nodes: np.ndarray  # uint32[rows, hot], in the rank's tree
    offset: np.ndarray  # int32[rows, hot]
    edges: np.ndarray  # int32[rows, hot], moves of each
    turn: np.ndarray  # int32[rows, hot], place in the plan
    plan: np.ndarray  # int16[rows, hot, PLAN], edges
    depth: np.ndarray  # int32[rows, hot], moves from the root
    paths: np.ndarray  # int32[rows, hot, MAX_PATH], these moves
    visits: np.ndarray  # int32[rows, edges], of all ranks as of the last round
    wins: np.ndarray  # float64[rows, edges]
    under_way: np.ndarray  # int32[rows, edges], playouts granted to jobs that are below, of all ranks
    new_visits: np.ndarray  # int32[rows, edges], of this rank since its last contribution
    new_wins: np.ndarray  # float64[rows, edges]
    own_under_way: np.ndarray  # int32[rows, edges], of this rank, now
    sum_visits: np.ndarray  # int32[rows, edges], contributions to this round
    sum_wins: np.ndarray  # float64[rows, edges]
    sum_under_way: np.ndarray  # int32[rows, edges]
    proposals: np.ndarray  # uint64[rows, PROPOSALS, words]
    proposal_wins: np.ndarray  # float64, the same memory
    own: np.ndarray  # uint64[rows, words], this rank's proposal
    own_wins: np.ndarray  # float64, the same memory
    extra: np.ndarray  # float64[most moves of a node], scratch of the plan
    state: np.ndarray  # int64[rows, STATE]


def new_replicas(rows: int, max_moves: int, edges: int, share: int, pause: int, jobs: int) -> Replicas:
    """Room for copies of nodes with `edges` moves in all; untouched pages take no memory."""
    hot = max(edges // 4, 1)
    words = STATISTICS + 2 * max_moves
    proposals = np.zeros((rows, PROPOSALS, words), dtype=np.uint64)
    own = np.zeros((rows, words), dtype=np.uint64)
    return Replicas(
        share=share,
        pause=pause,
        jobs=jobs,
        table=np.full((rows, 1 << (2 * hot - 1).bit_length()), NOT_HOT, dtype=np.int32),
        keys=np.zeros((rows, hot), dtype=np.uint64),
        nodes=np.zeros((rows, hot), dtype=np.uint32),
        offset=np.zeros((rows, hot), dtype=np.int32),
        edges=np.zeros((rows, hot), dtype=np.int32),
        turn=np.zeros((rows, hot), dtype=np.int32),
        plan=np.zeros((rows, hot, PLAN), dtype=np.int16),
        depth=np.zeros((rows, hot), dtype=np.int32),
        paths=np.zeros((rows, hot, MAX_PATH), dtype=np.int32),
        visits=np.zeros((rows, edges), dtype=np.int32),
        wins=np.zeros((rows, edges), dtype=np.float64),
        under_way=np.zeros((rows, edges), dtype=np.int32),
        new_visits=np.zeros((rows, edges), dtype=np.int32),
        new_wins=np.zeros((rows, edges), dtype=np.float64),
        own_under_way=np.zeros((rows, edges), dtype=np.int32),
        sum_visits=np.zeros((rows, edges), dtype=np.int32),
        sum_wins=np.zeros((rows, edges), dtype=np.float64),
        sum_under_way=np.zeros((rows, edges), dtype=np.int32),
        proposals=proposals,
        proposal_wins=proposals.view(np.float64),
        own=own,
        own_wins=own.view(np.float64),
        extra=np.zeros(max_moves),
        state=np.zeros((rows, STATE), dtype=np.int64),
    )


def message_levels(max_moves: int, edges: int) -> int:
    """Levels of a slot that has room for a message of a round."""
    words = BODY + 2 * edges + PROPOSALS * (STATISTICS + 2 * max_moves)
    return -(-words // LEVEL_WORDS)


@njit_inline
def find_hot(copies, row, key):
    """The number of the hot node with this key, or NOT_HOT."""
    mask = np.uint64(copies.table.shape[1] - 1)
    place = key & mask
    while True:
        hot = copies.table[row, place]
        if hot == NOT_HOT or copies.keys[row, hot] == key:
            return np.int64(hot)
        place = (place + np.uint64(1)) & mask


@njit
def next_planned_edge(handle, row, hot):
    """The next move of the plan that may be taken now, or NO_CHOICE.

    A move to a node that is not copied may be taken by some ranks only, others in each round: else all jobs
    could flood the home of a node that has just become interesting, faster than it can be copied.
    """
    rank = value_of(handle)
    copies, tree = rank.extension, rank.tree
    first, turn = tree.node_first[copies.nodes[row, hot]], copies.turn[row, hot]
    some = max(rank.port.ranks // COLD_RANKS, 1)
    for _ in range(PLAN):
        choice = np.int64(copies.plan[row, hot, turn])
        turn = (turn + 1) % PLAN
        key = tree.edge_key[first + np.uint32(choice)]
        may_go_cold = (rank.port.first + row + choice + copies.state[row, ROUND]) % some == 0
        if may_go_cold or find_hot(copies, row, key) != NOT_HOT:
            copies.turn[row, hot] = turn
            return choice
    return np.int64(NO_CHOICE)


@njit_inline
def add_result(copies, row, hot, edge, visits, wins):
    place = copies.offset[row, hot] + edge
    copies.new_visits[row, place] += visits
    copies.new_wins[row, place] += wins


@njit
def adopt(handle, row, key, node, count):
    """Make a node of the rank's tree hot; its statistics are 0 still. Gives its number."""
    rank = value_of(handle)
    copies = rank.extension
    state = copies.state[row]
    hot = state[HOT]
    copies.keys[row, hot], copies.nodes[row, hot] = key, node
    copies.offset[row, hot], copies.edges[row, hot] = state[EDGES_USED], count
    copies.turn[row, hot] = ((rank.port.first + row) * 7 + hot) % PLAN  # ranks begin at different places
    state[HOT] += 1
    state[EDGES_USED] += count
    mask = np.uint64(copies.table.shape[1] - 1)
    place = key & mask
    while copies.table[row, place] != NOT_HOT:
        place = (place + np.uint64(1)) & mask
    if node != NO_NODE:  # a rank whose tree is full leaves the node to its home
        copies.table[row, place] = hot
    return hot


@njit_inline
def has_room(copies, row, count):
    state = copies.state[row]
    return state[HOT] < copies.keys.shape[1] and state[EDGES_USED] + count <= copies.visits.shape[1]


@njit
def make_plan(handle, row, hot, expected):
    """Spread `expected` visits as the bandit would if means stayed as they are."""
    rank = value_of(handle)
    copies, tree, settings = rank.extension, rank.tree, rank.settings
    offset, count = copies.offset[row, hot], copies.edges[row, hot]
    first = tree.node_first[copies.nodes[row, hot]]
    total, under_way, wins = 0, 0, 0.0
    for i in range(count):
        copies.extra[i] = copies.under_way[row, offset + i]
        total += copies.visits[row, offset + i]
        under_way += copies.under_way[row, offset + i]
        wins += copies.wins[row, offset + i]
    mean = wins / total if total > 0 else 0.5
    fpu = mean if np.isnan(settings.fpu) else settings.fpu
    portion = max(expected, 1) / PLAN
    for turn in range(PLAN):
        until = np.int64(total + under_way + turn * portion)
        log_total = log_visits(until)
        best, best_score = 0, -np.inf
        for i in range(count):
            known, extra = copies.visits[row, offset + i], copies.extra[i]
            value = copies.wins[row, offset + i] / known if known > 0 else mean
            prior = tree.edge_prior[first + i] if settings.bandit == PUCT else np.float32(0.0)
            visits = known + extra
            score = move_score(value * visits, visits, prior, until, log_total, fpu, settings)
            if score > best_score:
                best, best_score = i, score
        copies.plan[row, hot, turn] = best
        copies.extra[best] += portion


@njit_inline
def begin_proposal(copies, row, tree, node, importance):
    """Make a node this rank's candidate; its path is still to be written."""
    own = copies.own[row]
    copies.state[row, CANDIDATE] = importance
    own[KEY], own[COUNT] = tree.node_key[node], np.uint64(tree.node_count[node])
    own[VISITS] = np.uint64(importance)


@njit
def foresee(handle, row, hot):
    """Propose a child of a hot node that the new plan will send many jobs to, before they come.

    Only the home of the child knows its statistics; all ranks make the same plans.
    """
    rank = value_of(handle)
    copies, tree, state = rank.extension, rank.tree, rank.extension.state[row]
    me, depth = rank.port.first + row, copies.depth[row, hot]
    if depth >= MAX_PATH:
        return
    under_way = np.int64(0)
    offset, count = copies.offset[row, hot], copies.edges[row, hot]
    for i in range(count):
        copies.extra[i] = 0.0
        under_way += copies.under_way[row, offset + i]
    if under_way * copies.share <= rank.all_jobs * rank.grant:
        return
    for turn in range(PLAN):
        copies.extra[copies.plan[row, hot, turn]] += 1.0
    first = tree.node_first[copies.nodes[row, hot]]
    for i in range(count):
        jobs = np.int64(under_way * copies.extra[i]) // (PLAN * rank.grant)
        key = tree.edge_key[first + np.uint32(i)]
        if jobs * copies.share <= rank.all_jobs or jobs <= state[CANDIDATE]:
            continue
        if np.int64(key % np.uint64(rank.port.ranks)) != me or find_hot(copies, row, key) != NOT_HOT:
            continue
        child = find_node(tree, key)
        if child >= TERMINAL:
            continue
        begin_proposal(copies, row, tree, child, jobs)
        copies.own[row, PATH] = np.uint64(depth + 1)
        for j in range(depth):
            copies.own[row, MOVES + j] = np.uint64(copies.paths[row, hot, j])
        copies.own[row, MOVES + depth] = np.uint64(tree.edge_move[first + np.uint32(i)])


@njit
def know_keys(handle, row, hot):
    """Find out where the moves of a hot node lead to."""
    rank = value_of(handle)
    copies, tree, states = rank.extension, rank.tree, rank.work.states
    first = tree.node_first[copies.nodes[row, hot]]
    for i in range(copies.edges[row, hot]):
        edge = first + np.uint32(i)
        if tree.edge_key[edge] == 0:
            states[1] = states[0]
            for j in range(copies.depth[row, hot]):
                play(rank.game, states[1], copies.paths[row, hot, j])
            play(rank.game, states[1], tree.edge_move[edge])
            tree.edge_key[edge] = key_of(rank.game, states[1])
