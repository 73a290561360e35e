"""Jobs: what travels between ranks. A job is a header and a stack of levels, one for each move from the root.

Jobs live in slots of preallocated arrays. On the wire goes only what is used: the header and `levels` levels; UCT's
levels travel without the figures that only df-UCT's stack test needs. With RAVE a job has a trail, too (`trail.py`).
"""

from typing import Any, NamedTuple

import numpy as np

from treespan.core.records import new_records, record_dtype

# Kinds of jobs
SEARCH = 1  # going down: addressed to the home of position `key`
REPORT = 2  # going up: addressed to the home of level `levels` - 1
PLAYOUT = 3  # a leaf that is played out away from its home
# Kinds of messages of a scheme's own, whose levels hold what it likes
SYNC_UP = 4
SYNC_DOWN = 5
# Kinds of messages that carry nothing else
END = 6  # the search is over
STOP = 7  # the search shall end: call all jobs home
SHARE_DONE = 8  # the sender has done its share of the playouts

HEADER = record_dtype(
    (
        ("key", np.uint64),  # of the position to search
        ("value", np.float64),  # of the playout, for the first player; NO_VALUE if there was none
        ("kind", np.int32),
        ("levels", np.int32),  # moves from the root to the position
        ("target", np.int32),  # dfuct: level to return to; of a job that was just played out: plies of the playout
        ("edge_visits", np.int32),  # of the move that leads to the position, those under way included
        (
            "allowance",
            np.int32,
        ),  # dfuct: playouts left before the job must return to the root; whole trees: who plays out
        ("report_from", np.int32),  # results that it gathers at least before it tells the job that it is a part of
        ("sender", np.int32),  # rank that sent the message
        ("load", np.int32),  # playouts that waited there; or NO_NEWS
        ("search", np.int32),  # number of the search: messages of an earlier one are dropped
        ("receiver", np.int32),  # rank that the message goes to
        ("next_slot", np.int32),  # behind this one in a rank's queue
        ("trail", np.int32),  # RAVE: playouts on the job's trail
        # `span`: jobs that deal out their playouts (`span/dealing.py`)
        ("top", np.int32),  # level that the job returns to at last
        ("whole", np.int32),  # slot of the job that it is a part of, at the home of that level; or NO_SLOT
        ("flights", np.int32),  # playouts that it counts as under way there
        ("dealt", np.int32),  # its playouts that parts have
    )
)
LEVEL = record_dtype(
    (
        ("node", np.uint32),  # at its home
        ("edge", np.uint32),  # that the job took there
        ("home", np.int32),  # rank of the node
        ("move", np.int32),
        # From here on for df-UCT only; as in `search/work.py`
        ("best_wins", np.float64),
        ("second_wins", np.float64),
        ("gained_wins", np.float64),
        ("fpu", np.float64),
        ("best_visits", np.int32),  # without those under way
        ("second_visits", np.int32),  # those under way included; -1 if there is no second move
        ("total", np.int32),
        ("total_flight", np.int32),  # simulations under way in the node when it was entered
        ("gained_visits", np.int32),
        ("test_at", np.int32),
        ("best_prior", np.float32),
        ("second_prior", np.float32),
        ("player", np.int8),
        ("second_is_first", np.int8),  # the second move stands before the best: it wins ties
        ("under_way", np.int32),  # playouts that the job counts as under way here, where it counts all it may do
    )
)
AMAF_LEVEL = record_dtype(  # of a level for RAVE with df-UCT
    (
        ("best_wins", np.float64),  # AMAF values when the node was entered; the best move's gains are its own
        ("second_wins", np.float64),  # with those gained since then
        ("best_visits", np.int32),
        ("second_visits", np.int32),
        ("second_move", np.int32),
        ("trail_from", np.int32),  # where the playouts below this level begin on the job's trail
    )
)
HEADER_WORDS = HEADER.itemsize // 8
LEVEL_WORDS = LEVEL.itemsize // 8
UCT_LEVEL_WORDS = 2
AMAF_LEVEL_WORDS = AMAF_LEVEL.itemsize // 8
LONGEST_TRAIL = 32  # playouts; then a job must return to the root
NO_SLOT = -1
NO_VALUE = -1.0  # of a job that is called home before its playout


class Jobs(NamedTuple):
    """Room for jobs; a slot is an index. Words and records are the same memory."""

    headers: Any  # records[capacity]
    levels: Any  # records[capacity, max_levels]
    header_words: np.ndarray  # uint64[capacity, HEADER_WORDS]
    level_words: np.ndarray  # uint64[capacity, max_levels * LEVEL_WORDS]
    level_floats: np.ndarray  # float64, as level_words
    amaf_levels: Any  # records[capacity, max_levels] with RAVE
    amaf_level_words: np.ndarray  # uint64, the same memory
    trails: np.ndarray  # uint64[capacity, ...] with RAVE: see `trail.py`
    trail_floats: np.ndarray  # float64, the same memory
    plane_words: int  # words of a set of moves; 0: no RAVE


def new_jobs(capacity: int, max_levels: int, move_ids: int = 0) -> Jobs:
    """Slots for `capacity` jobs of at most `max_levels` levels; untouched pages take no memory.

    `move_ids`: moves that a trail tells apart; 0: there are no trails.
    """
    plane_words, trailing = -(-move_ids // 64), capacity if move_ids else 1
    amaf_levels = new_records(AMAF_LEVEL, trailing * max_levels)
    trails = np.zeros((trailing, (LONGEST_TRAIL + 1) * (1 + 2 * plane_words)), dtype=np.uint64)
    headers, levels = new_records(HEADER, capacity), new_records(LEVEL, capacity * max_levels)
    words = np.asarray(levels).view(np.uint64).reshape(capacity, max_levels * LEVEL_WORDS)
    return Jobs(
        headers=headers,
        levels=levels.reshape(capacity, max_levels),
        header_words=np.asarray(headers).view(np.uint64).reshape(capacity, HEADER_WORDS),
        level_words=words,
        level_floats=words.view(np.float64),
        amaf_levels=amaf_levels.reshape(trailing, max_levels),
        amaf_level_words=np.asarray(amaf_levels).view(np.uint64).reshape(trailing, max_levels * AMAF_LEVEL_WORDS),
        trails=trails,
        trail_floats=trails.view(np.float64),
        plane_words=plane_words,
    )
