"""A thread's own arrays beside the tree: the path of its simulation, buffers, random numbers, counters."""

from typing import Any, NamedTuple

import numpy as np

from treespan.core.kinds import OpaqueRecords
from treespan.core.records import new_records, on_own_lines, record_dtype
from treespan.core.rng import generator
from treespan.games.rules import Game

# Indices into `Work.counters`
(
    PLAYOUTS,  # simulations done
    DEPTH_SUM,  # moves down the tree, summed over simulations
    DEPTH_MAX,
    PLIES,  # of all playouts
    DEPTH_CUT,  # descents cut off at max_depth
    TRANSPOSED,  # expansions that found the node in the table
    LEVELS,  # dfuct: levels on the stack between two calls
    REPORTS,  # dfuct: levels returned, summed; a divided tree would send a report job for each
    RETURNS,  # dfuct: playouts after which the search returned to a node above
    THIRD_BEST,  # dfuct: returns that found a move best that was neither best nor second best
    THIRD_BEST_AUDIT,  # dfuct with audit: playouts after which such a move was best somewhere on the stack
    COUNTERS,
) = range(12)

STACK = record_dtype(
    (
        ("best_wins", np.float64),  # of the best move when the level was entered
        ("second_wins", np.float64),
        ("gained_wins", np.float64),  # of the best move since then: not yet in the tree
        ("fpu", np.float64),  # score of an unvisited move when the level was entered
        ("node", np.uint32),
        ("best", np.uint32),  # edge that the descent took
        ("second", np.uint32),  # edge that may flip, or NO_EDGE
        ("best_visits", np.int32),  # when the level was entered
        ("second_visits", np.int32),
        ("total", np.int32),  # visits of the node when the level was entered
        ("gained_visits", np.int32),  # since then
        ("flushed_visits", np.int32),  # how many of these are in the tree
        ("flushed_wins", np.float64),
        ("test_at", np.int32),  # gained visits before which no result can flip the level
        ("player", np.int32),  # who moves; nature's choice is drawn anew for every playout
    )
)


class Work(NamedTuple):
    """A thread's own arrays. Nothing is allocated during a search."""

    states: OpaqueRecords  # records[...]: UCT: root and current position; dfuct: one for each level, and two more
    path_node: np.ndarray  # uint32[depth], nodes from the root
    path_edge: np.ndarray  # uint32[depth], the edge taken in each
    moves: np.ndarray  # int32[max_moves], scratch
    weights: np.ndarray  # float32[max_moves], scratch for priors
    scores: np.ndarray  # float64[max_moves], scratch for bandits
    trace: np.ndarray  # int32[max_plies], moves of the last playout
    first_maker: np.ndarray  # int64[1 + move_ids], stamp and marks of `update_amaf`
    random: np.ndarray  # uint64[1], the generator
    solver_states: OpaqueRecords  # records[...], positions of the game's tactical solver; [1] if it is not asked
    desk: np.ndarray  # uint64[...], words of the tactical solver; [1] if it is not asked
    shuffle: np.ndarray  # uint64[1], generator seeded by a node's key, to order its edges
    salt: np.ndarray  # uint64[1], sets keys in the table apart where several trees share arrays; 0: one tree
    standing: np.ndarray  # int64[1], the job whose leaf's position is in states[1] already, -1 if none
    stack: Any  # records[depth], dfuct's local stack
    counters: np.ndarray  # int64[COUNTERS]
    stop: np.ndarray  # int64[1], not zero: stop as soon as possible; another thread may write it


def new_work(
    game: Game, max_depth: int, seed: int, stream: int = 0, depth_first: bool = False, with_solver: bool = False
) -> Work:
    """Return the arrays for one thread.

    depth_first: with df-UCT's stack.
    with_solver: with room for the game's tactical solver.
    """
    levels = max_depth + 1
    positions, words = game.solver_room if with_solver else (1, 1)
    work = Work(
        states=game.new_states(levels + 2 if depth_first else 2),
        path_node=np.zeros(levels, dtype=np.uint32),
        path_edge=np.zeros(levels, dtype=np.uint32),
        moves=np.zeros(game.max_moves, dtype=np.int32),
        weights=np.zeros(game.max_moves, dtype=np.float32),
        scores=np.zeros(game.max_moves, dtype=np.float64),
        trace=np.zeros(game.max_plies, dtype=np.int32),
        first_maker=np.zeros(1 + game.move_ids, dtype=np.int64),
        random=generator(seed, stream),
        solver_states=game.new_states(positions),
        desk=np.zeros(words, dtype=np.uint64),
        shuffle=np.zeros(1, dtype=np.uint64),
        salt=np.zeros(1, dtype=np.uint64),
        standing=np.full(1, -1, dtype=np.int64),
        stack=new_records(STACK, levels if depth_first else 1),
        counters=np.zeros(COUNTERS, dtype=np.int64),
        stop=np.zeros(1, dtype=np.int64),
    )
    return Work._make(on_own_lines(array) for array in work)
