"""Rounds in which the ranks add up what their trees have in common: the top, down to a depth.

A round has a phase for each depth, as bourki2010 describes it: first the root, then the nodes below that have a large
enough share of all simulations, and so on. In a phase every rank contributes what its own simulations added to the
nodes since it contributed last; sums flow up a tree of ranks to rank 0, totals flow down, and every rank takes them
over. So no simulation is ever counted twice. All ranks choose the next phase's nodes by the same totals: they choose
the same ones, and a message needs no names. Nobody waits for a round; simulations go on meanwhile and are added on top.

A rank that has finished contributes at once. The round in which all had finished has everything: it is the result.
"""

from typing import Any, NamedTuple

import numpy as np

from treespan.core.jit import njit_inline
from treespan.core.records import new_records, record_dtype
from treespan.schemes.protocol.messages import LEVEL, LEVEL_WORDS, as_records
from treespan.schemes.whole_trees.handlers import LocalRank

FAN_OUT = 8  # ranks below a rank in the tree of ranks
DUE = 0  # kind of a note to oneself: it is time to contribute
AGREEMENT = 0.75  # share of ranks that must prefer the chosen move, or the search is unsure
GRAIN = 2.0**20  # averaged rewards are multiples of 1 / GRAIN: sums of rewards 0, 1/2 and 1 stay exact

ROUND_STATE = record_dtype(
    (
        ("phase", np.int64),  # depth that is being added up
        ("missing", np.int64),  # contributions of this phase that have not come yet, one's own included
        ("due_at", np.int64),  # when it contributes to the next round, ns; 0: not known yet
        ("shared", np.int64),  # nodes that were ever shared
        ("places", np.int64),  # moves of these
        ("selected", np.int64),  # nodes of this phase
        ("ended", np.int64),  # contributions of ranks that had finished
        ("extended", np.int64),  # times that an unsure search has got more
        ("rounds_done", np.int64),
        ("own_is_due", np.bool_),  # this rank has not contributed to the phase
        ("has_note", np.bool_),  # the note that it shall is on its way
    )
)
# What is summed up of a move; of moves below the root the first two only. PROVEN is not added, the largest counts
VISITS, WINS, VOTES, KNOWN, MEANS, SQUARES, PROVEN, FIELDS = range(8)
_BEFORE_SUMS = (
    ("ended", np.int64),  # contributions of ranks that had finished
    ("extends", np.bool_),  # the search is extended
    ("length", np.int64),  # numbers that follow: the sums
)
ROUND_MESSAGE = record_dtype(_BEFORE_SUMS, LEVEL.itemsize)  # how a message begins, in the place of its first level
BODY = record_dtype(_BEFORE_SUMS).itemsize // 8  # word of the message's levels at which the sums begin


class Rounds(NamedTuple):
    """What a rank needs beside its tree; one row for each rank. Move i of shared node s is at place `first[s]` + i."""

    rank: LocalRank
    period_ns: int
    depth: int  # of the deepest nodes that are shared
    share: float  # of the root's simulations that a node must have
    min_visits: float  # in the mean of the ranks
    divisor: int  # N: trees take over the average; 1: the sum
    more_ns: int  # of an extension
    more_playouts: np.ndarray  # int64[rows, times], of each extension that there may be
    state: Any  # records[rows] of ROUND_STATE
    messages: Any  # records[slots, levels] of ROUND_MESSAGE, the memory of `port.jobs.levels`
    selected: np.ndarray  # int32[rows, nodes]
    above: np.ndarray  # int32[nodes], scratch: those of the phase before
    nodes: np.ndarray  # uint32[rows, nodes], in the rank's tree
    keys: np.ndarray  # uint64[rows, nodes]
    first: np.ndarray  # int32[rows, nodes]
    sizes: np.ndarray  # int32[rows, nodes], moves of each
    levels: np.ndarray  # int32[rows, nodes], depth of each
    paths: np.ndarray  # int32[rows, nodes, depth + 1], moves from the root
    moves: np.ndarray  # int32[rows, places]
    total_visits: np.ndarray  # float64[rows, places], of all ranks as of the last round
    total_wins: np.ndarray  # float64[rows, places]
    base_visits: np.ndarray  # int64[rows, places]: what the tree has more is this rank's and not contributed yet
    base_wins: np.ndarray  # float64[rows, places]
    own_visits: np.ndarray  # int64[rows, moves of the root], all contributions of this rank
    own_wins: np.ndarray  # float64[rows, moves of the root]
    sums: np.ndarray  # float64[rows, FIELDS * places], of this phase


def new_rounds(
    rank: LocalRank,
    max_moves: int,
    places: int,
    period_ns: int,
    depth: int,
    share: float,
    min_visits: float,
    divisor: int,
    more_ns: int,
    more_playouts: np.ndarray,
) -> Rounds:
    """Arrays for nodes with `places` moves in all, the root among them; untouched pages take no memory."""
    rows, places = len(rank.roots), max(places, max_moves)
    nodes = 1 + (places - max_moves) // 2 if depth else 1
    state = new_records(ROUND_STATE, rows)
    state.shared, state.selected, state.own_is_due = 1, 1, True
    rounds = Rounds(
        rank=rank,
        period_ns=period_ns,
        depth=depth,
        share=share,
        min_visits=min_visits,
        divisor=divisor,
        more_ns=more_ns,
        more_playouts=more_playouts,
        state=state,
        messages=as_records(rank.port.jobs.level_words, ROUND_MESSAGE),
        selected=np.zeros((rows, nodes), dtype=np.int32),
        above=np.zeros(nodes, dtype=np.int32),
        nodes=np.zeros((rows, nodes), dtype=np.uint32),
        keys=np.zeros((rows, nodes), dtype=np.uint64),
        first=np.zeros((rows, nodes), dtype=np.int32),
        sizes=np.zeros((rows, nodes), dtype=np.int32),
        levels=np.zeros((rows, nodes), dtype=np.int32),
        paths=np.zeros((rows, nodes, depth + 1), dtype=np.int32),
        moves=np.zeros((rows, places), dtype=np.int32),
        total_visits=np.zeros((rows, places)),
        total_wins=np.zeros((rows, places)),
        base_visits=np.zeros((rows, places), dtype=np.int64),
        base_wins=np.zeros((rows, places)),
        own_visits=np.zeros((rows, max_moves), dtype=np.int64),
        own_wins=np.zeros((rows, max_moves)),
        sums=np.zeros((rows, FIELDS * places)),
    )
    for row, root in enumerate(rank.roots):
        first, count = int(rank.tree.node_first[root]), int(rank.tree.node_count[root])
        rounds.nodes[row, 0], rounds.sizes[row, 0] = root, count
        rounds.keys[row, 0] = rank.tree.node_key[root] ^ rank.salts[row]
        rounds.moves[row, :count] = rank.tree.edge_move[first : first + count]
        state[row].places = count
        state[row].missing = ranks_below(rank.port.first + row, rank.port.ranks) + 1
    return rounds


def message_levels(places: int, max_moves: int) -> int:
    """Levels of a slot that has room for a message of a round."""
    return -(-(BODY + max(FIELDS * max_moves, 2 * places)) // LEVEL_WORDS)


@njit_inline
def ranks_below(me, ranks):
    """How many ranks are right below a rank in the tree of ranks."""
    return min(max(ranks - (FAN_OUT * me + 1), 0), FAN_OUT)
