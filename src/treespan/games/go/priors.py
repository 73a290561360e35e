"""Priors: a weight for each move, the odds that it is good, before any search; 1 is neutral.

A move's weights for several reasons are multiplied. Progressive widening orders moves by their weights, PUCT takes
weights as probabilities, and RAVE-MSE takes them as the value of some virtual visits (`prior_visits`).
"""

import numpy as np

from treespan.core.jit import njit
from treespan.games.go.board import AROUND, BORDER, COLUMN, EMPTY, ROW, STRIDE
from treespan.games.go.patterns import fits_pattern
from treespan.games.go.tactics import MANY, is_capture, is_last_liberty, liberties_after, liberties_of

PASS_WEIGHT = 0.05
CAPTURE, ESCAPE, ATARI = 3.0, 4.0, 1.5
SELF_ATARI = 0.1
PATTERN = 2.0
NEAR_LAST = np.array([1.0, 2.0, 2.0, 1.5, 1.2])  # by distance, dx + dy + max(dx, dy), halved
FREE_LINE = np.array([0.1, 0.5, 1.2, 1.1])  # line of the board, from 0, where no stone is near


@njit
def move_weight(state, point, color):
    """Return the weight of one legal move that is not a pass."""
    weight = shape_weight(state, point)
    liberties = liberties_after(state, point, color, MANY)
    if is_capture(state, point, color):
        weight *= CAPTURE
    if liberties < 2:
        return weight * SELF_ATARI
    other = 3 - color
    for step in AROUND:
        neighbour = point + step
        owner = state.color[neighbour]
        if owner == color and is_last_liberty(state, point, state.chain[neighbour]):
            weight *= ESCAPE
        elif owner == other and liberties_of(state, neighbour)[0] == 2:
            weight *= ATARI
    return weight


@njit
def shape_weight(state, point):
    """Return the weight by place, distance to the last move and pattern."""
    row, column = np.int64(point) // STRIDE - 1, np.int64(point) % STRIDE - 1
    line = min(min(row, state.side - 1 - row), min(column, state.side - 1 - column))
    weight = 1.0
    if fits_pattern(state, point):
        weight *= PATTERN
    last = np.int64(state.last_move)
    if last != 0:
        down, right = abs(row - (last // STRIDE - 1)), abs(column - (last % STRIDE - 1))
        distance = (down + right + max(down, right)) // 2
        if distance < len(NEAR_LAST):
            weight *= NEAR_LAST[distance]
    if line < len(FREE_LINE) and is_free(state, point):
        weight *= FREE_LINE[line]
    return weight


@njit
def is_free(state, point):
    """Whether no stone stands on the eight points around."""
    for row in (point - ROW, point, point + ROW):
        for place in (row - COLUMN, row, row + COLUMN):
            color = state.color[place]
            if EMPTY < color < BORDER:
                return False
    return True
