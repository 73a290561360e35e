"""Copies of hot nodes for `treesplit`: how a rank gets them, how they are synchronised, how what is new gets home.

The home of a node has counted each result once. A copy shows the totals that its home sent last, and what is new in it
since; what is new is sent home once, so nothing is counted twice.
"""

from typing import NamedTuple

import numpy as np

from treespan.core.handles import value_of
from treespan.core.jit import njit, njit_inline
from treespan.core.rng import GOLDEN, mix64
from treespan.schemes.hooks import rank_of
from treespan.schemes.messages import LEVEL_WORDS, NO_SLOT, SYNC_UP, UCT_LEVEL_WORDS
from treespan.schemes.rank import FREE, HANDLED, announce_end, dequeue, release, send
from treespan.schemes.tds import TdsRank, home_of
from treespan.search.tree import NO_NODE, ROOT, TERMINAL, UNPROVEN, add_node, find_node

# What a message is, its `target`. The first four have a level for each move of a node
ASK = 0  # to the home of a state: send me a copy
COPY = 1  # from there: its moves and their statistics; no levels if there is no such node
SYNC = 2  # to the home: what is new in a copy
TOTALS = 3  # from there: the statistics with all that the home has heard of
QUIET = 4  # to rank 0: all simulations that started here are back
FLUSH = 5  # from rank 0, along the tree of ranks: so are all others; send home what is new in copies
FLUSHED = 6  # to rank 0: done

WINDOW = 16  # messages to homes that a rank may have unanswered
SIGNALS = 4  # of each rank: QUIET, FLUSHED, and FLUSH to two ranks
NO_COPY, HELD, SYNCING = 0, 1, 2  # roles of nodes; the last: a copy whose SYNC is not answered yet
PRIOR_LEVEL_WORDS = UCT_LEVEL_WORDS + 1  # with priors: they stand in `best_wins`

# Indices into a row of `state`
(
    QUOTA,  # simulations that this rank has still to start
    ALIVE,  # its simulations under way
    UNANSWERED,  # its messages to homes
    LAST_COPY,  # the copy that it made last; `next_copy` leads to the others
    FLUSHING,  # not zero: what is new in copies goes home
    FLUSH_AT,  # the next copy to be looked at for that
    QUIET_RANKS,  # that have told rank 0 so
    FLUSHED_RANKS,
    STATE,
) = range(9)


class TreesplitRank(NamedTuple):
    """A rank, or all ranks of a simulated cluster, and their copies: nodes under a key that only the rank knows."""

    rank: TdsRank
    n_dup: int
    n_sync: int
    jobs: int  # of each rank
    role: np.ndarray  # int8[nodes], NO_COPY, HELD or SYNCING
    next_copy: np.ndarray  # uint32[nodes], the copy that the same rank made before
    new_visits: np.ndarray  # int32[edges], results in a copy that its home has not been sent
    new_wins: np.ndarray  # float64[edges]
    ask_at: np.ndarray  # int32[edges], visits at which a copy of the child may be asked for again
    state: np.ndarray  # int64[rows, STATE]


@njit_inline
def copy_key(position_key, me):
    """The key of a rank's copy of a node, and back: simulated ranks share one table."""
    return position_key ^ mix64(np.uint64(me + 1) * GOLDEN)


@njit
def new_message(handle, row, what, position_key):
    """An empty message to the home of a state; NO_SLOT if too many are unanswered."""
    split = value_of(handle)
    port, state = rank_of(handle).port, split.state[row]
    if state[UNANSWERED] >= WINDOW:
        return np.int64(NO_SLOT)
    state[UNANSWERED] += 1
    slot = dequeue(port, row, FREE)
    header = port.jobs.headers[slot]
    header.kind, header.target, header.key, header.levels = SYNC_UP, what, position_key, 0
    return slot


@njit
def send_news(handle, row, node):
    """Send what is new in a copy to its home, once."""
    split = value_of(handle)
    rank = rank_of(handle)
    position_key = copy_key(rank.tree.node_key[node], rank.port.first + row)
    slot = new_message(handle, row, SYNC, position_key)
    if slot == NO_SLOT:
        return
    split.role[node] = SYNCING
    first, jobs = rank.tree.node_first[node], rank.port.jobs
    count = np.int64(rank.tree.node_count[node])
    for i in range(count):
        edge = first + np.uint32(i)
        jobs.levels[slot, i].node = np.uint32(split.new_visits[edge])
        jobs.level_floats[slot, i * LEVEL_WORDS + 1] = split.new_wins[edge]
        split.new_visits[edge], split.new_wins[edge] = 0, 0.0
    jobs.headers[slot].levels = count
    send(rank.port, row, slot, home_of(position_key, rank))


@njit
def handle_own(handle, row, slot):
    """A message that is no simulation; gives the work beyond that of any message."""
    header = rank_of(handle).port.jobs.headers[slot]
    what, moves = header.target, np.int64(header.levels)
    if what in (ASK, SYNC):
        answer(handle, row, slot)
    elif what in (COPY, TOTALS):
        take_answer(handle, row, slot)
    else:
        handle_signal(handle, row, slot)
    return moves * HANDLED // 400  # a move takes some 5 ns, a handled message 2 us


@njit
def answer(handle, row, slot):
    """At the home of a state: add what is new elsewhere, and answer with the statistics."""
    rank = rank_of(handle)
    tree, jobs = rank.tree, rank.port.jobs
    header = jobs.headers[slot]
    node = find_node(tree, header.key)
    count = np.int64(0) if node >= TERMINAL else np.int64(tree.node_count[node])
    for i in range(count):
        edge, level = tree.node_first[node] + np.uint32(i), jobs.levels[slot, i]
        if header.target == SYNC:
            tree.edge_visits[edge] += level.node
            tree.node_visits[node] += level.node
            tree.edge_wins[edge] += jobs.level_floats[slot, i * LEVEL_WORDS + 1]
        level.node, level.edge = np.uint32(tree.edge_visits[edge]), np.uint32(tree.edge_move[edge])
        jobs.level_floats[slot, i * LEVEL_WORDS + 1] = tree.edge_wins[edge]
        if len(tree.edge_prior) > 0:
            level.best_wins = tree.edge_prior[edge]
    header.levels = count
    header.allowance = tree.node_player[node] if count > 0 else 0
    header.target = TOTALS if header.target == SYNC else COPY
    send(rank.port, row, slot, np.int64(header.sender))


@njit
def take_answer(handle, row, slot):
    """The statistics of a state have come from its home: make a copy, or bring it up to date."""
    split = value_of(handle)
    rank, state = rank_of(handle), split.state[row]
    tree, jobs, me = rank.tree, rank.port.jobs, rank.port.first + row
    header = jobs.headers[slot]
    node = find_node(tree, copy_key(header.key, me))
    if header.target == COPY and node == NO_NODE and header.levels > 0:
        node = add_copy(handle, row, header.key, header.allowance, np.int64(header.levels))
        if node != NO_NODE:
            for i in range(header.levels):
                level = jobs.levels[slot, i]
                set_move(tree, tree.node_first[node] + np.uint32(i), np.int32(level.edge), np.float32(level.best_wins))
            show_totals(handle, slot, node)
    elif header.target == TOTALS:
        split.role[node] = HELD
        show_totals(handle, slot, node)
    sync_again = header.target == TOTALS and state[FLUSHING] != 0 and has_news(handle, node)
    state[UNANSWERED] -= 1
    release(rank.port, row, slot)
    if sync_again:
        send_news(handle, row, node)
    if state[FLUSHING] != 0:
        flush_on(handle, row)


@njit
def show_totals(handle, slot, node):
    """A copy's statistics: what its home has, and what is new here."""
    split = value_of(handle)
    tree, jobs = rank_of(handle).tree, rank_of(handle).port.jobs
    total = np.int32(0)
    for i in range(tree.node_count[node]):
        edge = tree.node_first[node] + np.uint32(i)
        tree.edge_visits[edge] = np.int32(jobs.levels[slot, i].node) + split.new_visits[edge]
        tree.edge_wins[edge] = jobs.level_floats[slot, i * LEVEL_WORDS + 1] + split.new_wins[edge]
        total += tree.edge_visits[edge]
    tree.node_visits[node] = total


@njit
def add_copy(handle, row, position_key, player, count):
    """A node for a copy, whose edges are still to be filled; NO_NODE if the tree is full."""
    split = value_of(handle)
    rank = rank_of(handle)
    node = add_node(rank.tree, copy_key(position_key, rank.port.first + row), player, count)
    if node != NO_NODE:
        split.role[node] = HELD
        split.next_copy[node] = np.uint32(split.state[row, LAST_COPY])
        split.state[row, LAST_COPY] = node
    return node


@njit_inline
def set_move(tree, edge, move, prior):
    """Fill an edge of a copy, without statistics."""
    tree.edge_move[edge], tree.edge_child[edge], tree.edge_proven[edge] = move, NO_NODE, UNPROVEN
    tree.edge_visits[edge], tree.edge_wins[edge], tree.edge_flight[edge] = 0, 0.0, 0
    tree.edge_key[edge] = 0
    if len(tree.edge_prior) > 0:
        tree.edge_prior[edge] = prior


@njit
def copy_root(handle, row):
    """Every rank knows the root's moves and makes its copy itself."""
    rank, tree = rank_of(handle), rank_of(handle).tree
    count = np.int64(tree.node_count[ROOT])
    node = add_copy(handle, row, rank.root_key, tree.node_player[ROOT], count)
    for i in range(np.uint32(count)):
        source = tree.node_first[ROOT] + i
        prior = tree.edge_prior[source] if len(tree.edge_prior) > 0 else np.float32(0.0)
        set_move(tree, np.uint32(tree.node_first[node] + i), tree.edge_move[source], prior)


@njit
def tell(handle, row, what, receiver):
    """Send a message without anything else."""
    port = rank_of(handle).port
    slot = dequeue(port, row, FREE)
    header = port.jobs.headers[slot]
    header.kind, header.target, header.key, header.levels = SYNC_UP, what, np.uint64(0), 0
    send(port, row, slot, receiver)


@njit
def handle_signal(handle, row, slot):
    """The end of a search: when all ranks are quiet, copies are flushed; when all have done that, it is over."""
    split = value_of(handle)
    port, state, what = rank_of(handle).port, split.state[row], rank_of(handle).port.jobs.headers[slot].target
    release(port, row, slot)
    if what == FLUSHED:
        state[FLUSHED_RANKS] += 1
        if state[FLUSHED_RANKS] == port.ranks:
            announce_end(port, row)
        return
    if what == QUIET:
        state[QUIET_RANKS] += 1
        if state[QUIET_RANKS] < port.ranks:
            return
    me = port.first + row
    for below in range(2 * me + 1, min(2 * me + 3, port.ranks)):
        tell(handle, row, FLUSH, below)
    state[FLUSHING], state[FLUSH_AT] = 1, state[LAST_COPY]
    flush_on(handle, row)


@njit
def flush_on(handle, row):
    """Send home what is new in copies, as many at a time as may be unanswered; when nothing is left, tell rank 0."""
    split = value_of(handle)
    state = split.state[row]
    while state[FLUSH_AT] != NO_NODE and state[UNANSWERED] < WINDOW:
        node = np.uint32(state[FLUSH_AT])
        state[FLUSH_AT] = split.next_copy[node]
        if split.role[node] == HELD and has_news(handle, node):
            send_news(handle, row, node)
    if state[FLUSH_AT] == NO_NODE and state[UNANSWERED] == 0:
        state[FLUSHING] = 0
        tell(handle, row, FLUSHED, 0)


@njit
def has_news(handle, node):
    split = value_of(handle)
    first = rank_of(handle).tree.node_first[node]
    news = False
    for edge in range(first, first + rank_of(handle).tree.node_count[node]):
        news |= split.new_visits[edge] != 0
    return news
