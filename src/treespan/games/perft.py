"""Perft: the number of move sequences of a given length, the classic check of a move generator."""

import numpy as np

from treespan.core.jit import njit
from treespan.games.position import Position
from treespan.games.rules import legal_moves, play


@njit
def count_sequences(game, states, moves, counts, tried, depth):
    """Count depth first. Level i uses states[i], moves[i], counts[i] and tried[i]."""
    total = 0
    level = 0
    counts[0] = legal_moves(game, states[0], moves[0])
    tried[0] = 0
    while level >= 0:
        if level == depth - 1:  # bulk counting: every legal move here ends one sequence
            total += counts[level]
            level -= 1
        elif tried[level] == counts[level]:
            level -= 1
        else:
            move = moves[level, tried[level]]
            tried[level] += 1
            states[level + 1] = states[level]
            level += 1
            play(game, states[level], move)
            counts[level] = legal_moves(game, states[level], moves[level])
            tried[level] = 0
    return total


def perft(position: Position, depth: int) -> int:
    """Return the number of legal move sequences of exactly `depth` plies, nature's moves included."""
    if depth == 0:
        return 1
    game = position.game
    states = game.new_states(depth)
    states[0] = position.state
    moves = np.zeros((depth, game.max_moves), dtype=np.int32)
    counts, tried = (np.zeros(depth, dtype=np.int64) for _ in range(2))
    return int(count_sequences(game, states, moves, counts, tried, depth))
