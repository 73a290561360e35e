"""Area scoring: stones plus empty regions that touch one colour only (Tromp-Taylor)."""

import numpy as np

from treespan.core.jit import njit
from treespan.games.go.board import AROUND, BLACK, BORDER, EMPTY, ROW, STRIDE, WHITE, count_near, empty_near

_FOUR = np.uint64(4)


@njit
def area_margin(state):
    """Return Black's area minus White's, without komi. Uses `next_stone` of empty points as its work list."""
    margin = 0
    size = np.uint64(state.side)
    for row in range(np.uint64(1), size + np.uint64(1)):
        for column in range(np.uint64(1), size + np.uint64(1)):
            color = state.color[row * ROW + column]
            margin += (color == BLACK) - np.int64(color == WHITE)
    for i in range(np.uint64(state.empty_count)):
        state.stones[state.empties[i]] = 0  # by point: 1 once its region is counted
    for i in range(np.uint64(state.empty_count)):
        if state.stones[state.empties[i]] == 0:
            margin += _region_margin(state, np.uint64(state.empties[i]))
    return margin


@njit
def _region_margin(state, start):
    """Return the size of an empty region: positive if it touches only Black, negative if only White, else 0."""
    seen, waiting = 0, 1
    touches_black, touches_white = False, False
    state.stones[start] = 1
    state.next_stone[start] = start  # a stack linked through the points; its last one links to itself
    top = start
    while waiting > 0:
        point = top
        top = np.uint64(state.next_stone[point])
        waiting -= 1
        seen += 1
        for step in AROUND:
            neighbour = point + step
            color = state.color[neighbour]
            if color == EMPTY:
                if state.stones[neighbour] == 0:
                    state.stones[neighbour] = 1
                    state.next_stone[neighbour] = top if waiting > 0 else neighbour
                    top = neighbour
                    waiting += 1
            elif color != BORDER:
                touches_black |= color == BLACK
                touches_white |= color == WHITE
    if touches_black == touches_white:
        return 0
    return seen if touches_black else -seen


@njit
def filled_margin(state):
    """Return `area_margin` of a board on which every empty point is an eye or neutral: there are no regions to walk."""
    margin = 0
    size = np.uint64(state.side)
    for row in range(np.uint64(1), size + np.uint64(1)):
        first = row * np.uint64(STRIDE) + np.uint64(1)
        for point in range(first, first + size):
            color = state.color[point]
            margin += (color == BLACK) - np.int64(color == WHITE)
    for i in range(np.uint64(state.empty_count)):
        point = np.uint64(state.empties[i])
        margin += count_near(state, point, BLACK) == _FOUR
        margin -= count_near(state, point, WHITE) == _FOUR
    return margin


@njit
def played_out_margin(state):
    """Return `area_margin` after a playout. Few playouts leave a region of several points: walk regions only then."""
    for i in range(np.uint64(state.empty_count)):
        if empty_near(state, np.uint64(state.empties[i])) != 0:
            return area_margin(state)
    return filled_margin(state)
