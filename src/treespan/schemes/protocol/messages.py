"""Messages: what travels between ranks. A message is a header and so many *levels*.

Messages lie in slots of preallocated arrays, and the same memory is read by the names that fit the kind of message:

    a job of a divided tree     `headers[slot]` and its stack, `levels[slot, i]`, one level for each move from the root;
                                with `span` it is one of `parts[slot]`, which have more fields
    a simulation of whole trees `walks[slot]` and its path, `levels[slot, i]`
    a note of a scheme's own    `notes[slot]`, and `moves[slot, i]`, the statistics of a node's moves; or plain words
                                behind some fields that the scheme names itself (`as_records` of `level_words`)

All headers begin with the fields of ENVELOPE. On the wire goes only what is used: the header and `levels` levels;
UCT's levels travel without the figures that only df-UCT's stack test needs. With RAVE a job has a trail, too
(`trail.py`).
"""

from typing import Any, NamedTuple

import numpy as np

from treespan.core.records import new_records, record_dtype

# Kinds of jobs
SEARCH = 1  # going down: addressed to the home of position `key`
REPORT = 2  # going up: addressed to the home of level `levels` - 1
PLAYOUT = 3  # a leaf that is played out away from its home
DETOUR = 4  # going where a scheme sends it, before it goes on
# Kinds of notes of a scheme's own
SYNC_UP = 5
SYNC_DOWN = 6
LINE = 7  # expected moves: goes from home to home, and then to rank 0
# Kinds of messages that carry nothing else
END = 8  # the search is over
STOP = 9  # the search shall end: call all jobs home
SHARE_DONE = 10  # the sender has done its share of the playouts

# What runtimes and queues look at, in every header
ENVELOPE = (
    ("key", np.uint64),  # of the position that the message is about
    ("kind", np.int32),
    ("levels", np.int32),  # that follow the header
    ("sender", np.int32),  # rank that sent the message
    ("load", np.int32),  # playouts that waited there; or NO_NEWS
    ("search", np.int32),  # number of the search: messages of an earlier one are dropped
    ("receiver", np.int32),  # rank that the message goes to
    ("next_slot", np.int32),  # behind this one in a rank's queue
)
# A job of a divided tree: it stands at the position `levels` moves below the root
_JOB = (
    *ENVELOPE,
    ("edge_visits", np.int32),  # of the move that leads to the position, those under way included
    ("value", np.float64),  # of the playout, for the first player; NO_VALUE if there was none
    ("target", np.int32),  # level that the job returns to
    ("allowance", np.int32),  # playouts left before the job must return to the root
    ("trail", np.int32),  # RAVE: playouts on the job's trail
    ("top", np.int32),  # level that the job returns to at last: the root's, unless it is part of another job
    ("proof", np.int8),  # what is proven of the position, for the first player
    ("is_free", np.bool_),  # the value was known: there was no playout
)
PART = record_dtype(  # of a job of `span`, which may deal out its playouts to parts of it (`span/dealing.py`)
    (
        *_JOB,
        ("whole", np.int32),  # slot of the job that it is a part of, at the home of level `top`; or NO_SLOT
        ("dealt", np.int32),  # its playouts that parts have
        ("report_from", np.int32),  # results that it gathers at least before it tells the job that it is a part of
    )
)
HEADER = record_dtype(_JOB, PART.itemsize)
WALK = record_dtype(  # of a simulation that goes down a whole tree in one go
    (
        *ENVELOPE,
        ("count", np.int32),  # simulations that are counted at its leaf
        ("value", np.float64),  # where a job has it
        ("plies", np.int32),  # of its playout; OVER_AT_LEAF: the game was over; NOT_PLAYED: there was none
        ("player", np.int32),  # rank that plays out
    ),
    HEADER.itemsize,
)
NOTE = record_dtype(  # of a note
    (
        *ENVELOPE,
        ("what", np.int32),  # what it says, as the scheme numbers it
        ("player", np.int32),  # who moves in the node that it is about
        ("store", np.int32),  # slot in which the sender keeps what it tells; NO_SLOT: it is in the note
    ),
    HEADER.itemsize,
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
MOVE = record_dtype(  # in a note about a node: one of its moves
    (
        ("visits", np.int32),
        ("move", np.int32),
        ("wins", np.float64),
        ("prior", np.float64),
        ("amaf_wins", np.float64),
        ("amaf_visits", np.int32),
        ("proven", np.int32),  # for the player who moves
    ),
    LEVEL.itemsize,
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
OVER_AT_LEAF, NOT_PLAYED = 0, -1  # instead of plies of a playout


class Jobs(NamedTuple):
    """Room for messages; a slot is an index. Headers, parts, walks, notes and words are the same memory; so are levels,
    moves and their words."""

    headers: Any  # records[capacity] of HEADER
    parts: Any  # records[capacity] of PART
    walks: Any  # records[capacity] of WALK
    notes: Any  # records[capacity] of NOTE
    header_words: np.ndarray  # uint64[capacity, HEADER_WORDS]
    levels: Any  # records[capacity, max_levels] of LEVEL
    moves: Any  # records[capacity, max_levels] of MOVE
    level_words: np.ndarray  # uint64[capacity, max_levels * LEVEL_WORDS]
    level_floats: np.ndarray  # float64, as level_words
    amaf_levels: Any  # records[capacity, max_levels] with RAVE
    amaf_level_words: np.ndarray  # uint64, the same memory
    trails: np.ndarray  # uint64[capacity, ...] with RAVE: see `trail.py`
    trail_floats: np.ndarray  # float64, the same memory
    plane_words: int  # words of a set of moves; 0: no RAVE


def new_jobs(capacity: int, max_levels: int, move_ids: int = 0) -> Jobs:
    """Return slots for `capacity` messages of at most `max_levels` levels; untouched pages take no memory.

    `move_ids`: moves that a trail tells apart; 0: there are no trails.
    """
    plane_words, trailing = -(-move_ids // 64), capacity if move_ids else 1
    amaf_levels = new_records(AMAF_LEVEL, trailing * max_levels)
    trails = np.zeros((trailing, (LONGEST_TRAIL + 1) * (1 + 2 * plane_words)), dtype=np.uint64)
    header_words = np.zeros((capacity, HEADER_WORDS), dtype=np.uint64)
    level_words = np.zeros((capacity, max_levels * LEVEL_WORDS), dtype=np.uint64)
    return Jobs(
        headers=as_records(header_words, HEADER).reshape(capacity),
        parts=as_records(header_words, PART).reshape(capacity),
        walks=as_records(header_words, WALK).reshape(capacity),
        notes=as_records(header_words, NOTE).reshape(capacity),
        header_words=header_words,
        levels=as_records(level_words, LEVEL),
        moves=as_records(level_words, MOVE),
        level_words=level_words,
        level_floats=level_words.view(np.float64),
        amaf_levels=amaf_levels.reshape(trailing, max_levels),
        amaf_level_words=np.asarray(amaf_levels).view(np.uint64).reshape(trailing, max_levels * AMAF_LEVEL_WORDS),
        trails=trails,
        trail_floats=trails.view(np.float64),
        plane_words=plane_words,
    )


def as_records(words: np.ndarray, dtype: np.dtype) -> np.recarray:
    """Return the same memory as records."""
    return words.view(dtype).view(np.recarray)
