"""Copies of hot nodes for `treesplit`: how a rank gets them, and how what is new in them gets home.

The home of a node has counted each result once. A copy shows the totals that its home sent last, and what is new in it
since; what is new is sent home once, so nothing is counted twice. How such a search begins and ends: `starters.py`.
"""

from typing import Any, NamedTuple

import numpy as np

from treespan.core.errors import OptionError, named
from treespan.core.handles import first_of, value_of
from treespan.core.jit import njit, njit_inline
from treespan.core.records import new_records, record_dtype
from treespan.core.rng import GOLDEN, mix64
from treespan.games.rules import FIRST
from treespan.schemes.divided_tree.handlers import report_to_last_level
from treespan.schemes.divided_tree.mending import CopyNews, edges_of
from treespan.schemes.divided_tree.proofs import prove_move
from treespan.schemes.divided_tree.rank import TdsRank, home_of
from treespan.schemes.divided_tree.trail import credit, entries_of
from treespan.schemes.plan import Request
from treespan.schemes.protocol.hooks import rank_of
from treespan.schemes.protocol.messages import DETOUR, NO_SLOT, SYNC_UP
from treespan.schemes.protocol.port import new_slot, release, send
from treespan.schemes.scheme import Place
from treespan.search.solver import node_proof, seen_by
from treespan.search.tree import EDGES_PER_NODE, NO_NODE, NODES, TERMINAL, UNPROVEN, add_node, find_node, note_use

# What a note says. The first four have a record for each move of a node
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

COPIES_STATE = record_dtype(
    (
        ("quota", np.int64),  # simulations that this rank has still to start
        ("alive", np.int64),  # its simulations under way
        ("unanswered", np.int64),  # its messages to homes
        ("quiet_ranks", np.int64),  # that have told rank 0 so
        ("flushed_ranks", np.int64),
        ("last_copy", np.uint32),  # the copy that it made last; `next_copy` leads to the others
        ("flush_at", np.uint32),  # the next copy to be looked at when they are flushed
        ("flushing", np.bool_),  # what is new in copies goes home
    )
)


class CopiesRank(NamedTuple):
    """A rank, or all ranks of a simulated cluster, and their copies: nodes under a key that only the rank knows."""

    rank: TdsRank
    jobs: int  # of each rank
    n_dup: int  # visits of a node before it is copied
    n_sync: int  # new visits before a copy is synchronised
    role: np.ndarray  # int8[nodes], NO_COPY, HELD or SYNCING
    next_copy: np.ndarray  # uint32[nodes], the copy that the same rank made before
    new_visits: np.ndarray  # int32[edges], results in a copy that its home has not been sent
    new_wins: np.ndarray  # float64[edges]
    new_amaf_visits: np.ndarray  # int32[edges] or [0], with RAVE
    new_amaf_wins: np.ndarray  # float32[edges] or [0]
    ask_at: np.ndarray  # int32[edges], visits at which a copy of the child may be asked for again
    state: Any  # records[rows] of COPIES_STATE


def unsent_news(copies: CopiesRank) -> list[CopyNews]:
    """What is new in the copies of a rank, and was not sent home."""
    tree, me = copies.rank.tree, copies.rank.port.first
    plain = getattr(copy_key, "py_func", copy_key)
    found = []
    for node in np.flatnonzero(copies.role[: int(tree.used[NODES])] != NO_COPY):
        edges = edges_of(tree, np.uint32(node))
        if copies.new_visits[edges].any():
            with np.errstate(over="ignore"):  # the arithmetic is modulo 2^64
                key = int(plain(tree.node_key[node], me))
            moves, visits, wins = tree.edge_move[edges], copies.new_visits[edges], copies.new_wins[edges]
            amaf = [array[edges].copy() for array in (copies.new_amaf_visits, copies.new_amaf_wins)]
            found.append(CopyNews(key, moves.copy(), visits.copy(), wins.copy(), *amaf))
    return found


@njit_inline
def copy_key(position_key, me):
    """The key of a rank's copy of a node, and back: simulated ranks share one table."""
    return position_key ^ mix64(np.uint64(me + 1) * GOLDEN)


@njit
def new_message(handle, row, what, position_key):
    """An empty message to the home of a state; NO_SLOT if too many are unanswered."""
    copies = value_of(handle)
    port, state = rank_of(handle).port, copies.state[row]
    if state.unanswered >= WINDOW:
        return np.int64(NO_SLOT)
    state.unanswered += 1
    slot = new_slot(port, row)
    note = port.jobs.notes[slot]
    note.kind, note.what, note.key, note.levels = SYNC_UP, what, position_key, 0
    return slot


@njit
def send_news(handle, row, node):
    """Send what is new in a copy to its home, once."""
    copies = value_of(handle)
    rank = rank_of(handle)
    position_key = copy_key(rank.tree.node_key[node], rank.port.first + row)
    slot = new_message(handle, row, SYNC, position_key)
    if slot == NO_SLOT:
        return
    copies.role[node] = SYNCING
    first, jobs = rank.tree.node_first[node], rank.port.jobs
    count = np.int64(rank.tree.node_count[node])
    for i in range(count):
        edge, news = first + np.uint32(i), jobs.moves[slot, i]
        news.visits, news.wins = copies.new_visits[edge], copies.new_wins[edge]
        copies.new_visits[edge], copies.new_wins[edge] = 0, 0.0
        if len(copies.new_amaf_visits) > 0:
            news.amaf_visits, news.amaf_wins = copies.new_amaf_visits[edge], copies.new_amaf_wins[edge]
            copies.new_amaf_visits[edge], copies.new_amaf_wins[edge] = 0, 0.0
    jobs.notes[slot].levels = count
    send(rank.port, row, slot, home_of(position_key, rank))


@njit
def answer(handle, row, slot):
    """At the home of a state: add what is new elsewhere, and answer with the statistics."""
    rank = rank_of(handle)
    tree, jobs = rank.tree, rank.port.jobs
    note = jobs.notes[slot]
    node = find_node(tree, note.key)
    count = np.int64(0)
    if node < TERMINAL:
        count = np.int64(tree.node_count[node])
        note_use(tree, node)
    for i in range(count):
        edge, move = tree.node_first[node] + np.uint32(i), jobs.moves[slot, i]
        if note.what == SYNC:
            tree.edge_visits[edge] += move.visits
            tree.node_visits[node] += move.visits
            tree.edge_wins[edge] += move.wins
        if len(tree.edge_amaf_visits) > 0:
            if note.what == SYNC:
                tree.edge_amaf_visits[edge] += move.amaf_visits
                tree.edge_amaf_wins[edge] += move.amaf_wins
            move.amaf_visits, move.amaf_wins = tree.edge_amaf_visits[edge], tree.edge_amaf_wins[edge]
        move.visits, move.wins, move.move = tree.edge_visits[edge], tree.edge_wins[edge], tree.edge_move[edge]
        move.proven = tree.edge_proven[edge]
        if len(tree.edge_prior) > 0:
            move.prior = tree.edge_prior[edge]
    note.levels = count
    note.player = tree.node_player[node] if count > 0 else 0
    note.what = TOTALS if note.what == SYNC else COPY
    send(rank.port, row, slot, np.int64(note.sender))


@njit
def take_answer(handle, row, slot):
    """The statistics of a state have come from its home: make a copy, or bring it up to date. Returns the copy."""
    copies = value_of(handle)
    rank = rank_of(handle)
    tree, jobs, me = rank.tree, rank.port.jobs, rank.port.first + row
    note = jobs.notes[slot]
    node = find_node(tree, copy_key(note.key, me))
    if note.what == COPY and node == NO_NODE and note.levels > 0:
        node = add_copy(handle, row, note.key, note.player, np.int64(note.levels))
        if node != NO_NODE:
            for i in range(note.levels):
                move = jobs.moves[slot, i]
                set_move(tree, tree.node_first[node] + np.uint32(i), move.move, np.float32(move.prior))
            show_totals(handle, slot, node)
    elif note.what == TOTALS:
        copies.role[node] = HELD
        show_totals(handle, slot, node)
    copies.state[row].unanswered -= 1
    release(rank.port, row, slot)
    return node


@njit
def show_totals(handle, slot, node):
    """A copy's statistics and proofs: what its home has, and what is new here."""
    copies = value_of(handle)
    tree, jobs = rank_of(handle).tree, rank_of(handle).port.jobs
    for i in range(tree.node_count[node]):
        edge, move = tree.node_first[node] + np.uint32(i), jobs.moves[slot, i]
        visits = move.visits + copies.new_visits[edge]
        tree.node_visits[node] += visits - tree.edge_visits[edge]
        tree.edge_visits[edge] = visits
        tree.edge_wins[edge] = move.wins + copies.new_wins[edge]
        if tree.edge_proven[edge] == UNPROVEN:  # the home may not have heard of one yet
            tree.edge_proven[edge] = move.proven
        if len(tree.edge_amaf_visits) > 0:
            tree.edge_amaf_visits[edge] = move.amaf_visits + copies.new_amaf_visits[edge]
            tree.edge_amaf_wins[edge] = move.amaf_wins + copies.new_amaf_wins[edge]
    if rank_of(handle).settings.solver:
        tree.node_proven[node] = node_proof(tree, node)


@njit
def add_copy(handle, row, position_key, player, count):
    """A node for a copy, whose edges are still to be filled; NO_NODE if the tree is full."""
    copies = value_of(handle)
    rank = rank_of(handle)
    node = add_node(rank.tree, copy_key(position_key, rank.port.first + row), player, count)
    if node != NO_NODE:
        copies.role[node] = HELD
        copies.next_copy[node] = copies.state[row].last_copy
        copies.state[row].last_copy = node
    return node


@njit_inline
def set_move(tree, edge, move, prior):
    """Fill an edge of a copy, without statistics."""
    tree.edge_move[edge], tree.edge_child[edge], tree.edge_proven[edge] = move, NO_NODE, UNPROVEN
    tree.edge_visits[edge], tree.edge_wins[edge], tree.edge_flight[edge] = 0, 0.0, 0
    tree.edge_key[edge] = 0
    if len(tree.edge_prior) > 0:
        tree.edge_prior[edge] = prior
    if len(tree.edge_amaf_visits) > 0:
        tree.edge_amaf_visits[edge], tree.edge_amaf_wins[edge] = 0, 0.0


@njit
def note_amaf(handle, slot):
    """RAVE: what a report credits to the moves of a copy, its home shall hear of, too."""
    copies = value_of(handle)
    rank = rank_of(handle)
    jobs = rank.port.jobs
    if jobs.plane_words > 0:
        depth = np.int64(jobs.headers[slot].levels)
        entries = entries_of(jobs, slot, depth, rank.settings.depth_first)
        level = jobs.levels[slot, depth]
        credit(jobs, slot, level, entries, rank.tree, copies.new_amaf_visits, copies.new_amaf_wins)


@njit
def go_by_home(handle, row, slot):
    """Hook `prove`: a job has proven a move of a node; if that is a copy, the job makes a detour by its home."""
    rank, jobs = rank_of(handle), rank_of(handle).port.jobs
    tree, job = rank.tree, jobs.headers[slot]
    level = jobs.levels[slot, job.levels]
    if value_of(handle).role[level.node] == NO_COPY:
        return 0
    job.kind, job.levels = DETOUR, job.levels + 1
    job.key = copy_key(tree.node_key[level.node], rank.port.first + row)
    job.proof = seen_by(FIRST, tree.node_player[level.node], tree.edge_proven[level.edge])
    level.edge -= tree.node_first[level.node]  # nodes and their copies have their moves in the same order
    send(rank.port, row, slot, home_of(job.key, rank))
    return 1


@njit
def prove_at_home(handle, row, slot):
    """A job is on its detour: it takes the proof of a node, with the move's, further up, or back to where it began."""
    rank, jobs = rank_of(handle), rank_of(handle).port.jobs
    tree, job = rank.tree, jobs.headers[slot]
    if home_of(job.key, rank) != rank.port.first + row:  # it is back
        job.levels = 0
        report_to_last_level(first_of(handle), row, slot)
        return
    level = jobs.levels[slot, job.levels - 1]
    job.levels -= 1
    node = find_node(tree, job.key)
    prove_move(rank, row, slot, node, tree.node_first[node] + level.edge)
    if job.levels == 0:
        job.levels = 1
        send(rank.port, row, slot, np.int64(level.home))
    else:
        report_to_last_level(first_of(handle), row, slot)


@njit
def copy_root(handle, row):
    """Every rank knows the root, as it is when the search begins, and makes its copy itself."""
    rank, tree = rank_of(handle), rank_of(handle).tree
    root = rank.root[0]
    count = np.int64(tree.node_count[root])
    node = add_copy(handle, row, rank.root_key, tree.node_player[root], count)
    for i in range(np.uint32(count)):
        source, edge = np.uint32(tree.node_first[root] + i), np.uint32(tree.node_first[node] + i)
        prior = tree.edge_prior[source] if len(tree.edge_prior) > 0 else np.float32(0.0)
        set_move(tree, edge, tree.edge_move[source], prior)
        tree.edge_visits[edge], tree.edge_wins[edge] = tree.edge_visits[source], tree.edge_wins[source]
        tree.edge_proven[edge] = tree.edge_proven[source]
        if len(tree.edge_amaf_visits) > 0:
            tree.edge_amaf_visits[edge] = tree.edge_amaf_visits[source]
            tree.edge_amaf_wins[edge] = tree.edge_amaf_wins[source]
    tree.node_visits[node], tree.node_proven[node] = tree.node_visits[root], tree.node_proven[root]


@njit
def find_copy(handle, row, slot):
    """Hook `find`: the copy that a search job goes down from, if the home of its state is elsewhere."""
    rank, me = rank_of(handle), rank_of(handle).port.first + row
    position_key = rank.port.jobs.headers[slot].key
    if home_of(position_key, rank) == me:
        return 0
    return np.int64(find_node(rank.tree, copy_key(position_key, me))) + 1


@njit
def stay_or_ask(handle, row, slot, is_hot):
    """Whether the next state's statistics are already shared with this rank; if it is hot, ask for them."""
    copies = value_of(handle)
    rank, me = rank_of(handle), rank_of(handle).port.first + row
    job = rank.port.jobs.headers[slot]
    if home_of(job.key, rank) == me:
        return 0
    if find_node(rank.tree, copy_key(job.key, me)) != NO_NODE:
        return 1
    edge = rank.port.jobs.levels[slot, job.levels - 1].edge
    if is_hot and job.edge_visits >= copies.ask_at[edge]:
        message = new_message(handle, row, ASK, job.key)
        if message != NO_SLOT:
            copies.ask_at[edge] = 2 * job.edge_visits  # where there is no node, ask seldom
            send(rank.port, row, message, home_of(job.key, rank))
    return 0


def new_copies(rank: TdsRank, request: Request, place: Place, jobs: int, n_dup: int, n_sync: int) -> CopiesRank:
    """No copies yet; the budget is dealt out to the ranks."""
    nodes, edges, amaf_edges = len(rank.tree.node_key), len(rank.tree.edge_move), len(rank.tree.edge_amaf_visits)
    playouts, moves = request.plan.playouts, max(len(request.position.game_moves), EDGES_PER_NODE)  # of the root
    needed = (place.rows + 1) * moves
    if edges < needed:
        raise OptionError(f"{named('nodes', edges)} is too small for the root and its copies; give at least {needed}")
    state = new_records(COPIES_STATE, place.rows)
    state.last_copy = NO_NODE
    for row, me in enumerate(place.ranks):
        state[row].quota = playouts // rank.port.ranks + (me < playouts % rank.port.ranks)
    return CopiesRank(
        rank=rank,
        jobs=jobs,
        n_dup=n_dup,
        n_sync=n_sync,
        role=np.zeros(nodes, dtype=np.int8),
        next_copy=np.zeros(nodes, dtype=np.uint32),
        new_visits=np.zeros(edges, dtype=np.int32),
        new_wins=np.zeros(edges, dtype=np.float64),
        new_amaf_visits=np.zeros(amaf_edges, dtype=np.int32),
        new_amaf_wins=np.zeros(amaf_edges, dtype=np.float32),
        ask_at=np.zeros(edges, dtype=np.int32),
        state=state,
    )
