"""Liberties one by one: who is in atari, what a move captures, which move is self-atari.

The board keeps only pseudo-liberties. They answer one question at once: an empty point is the last liberty of a chain
exactly if the chain touches it as often as it has pseudo-liberties. All other questions walk the chain's stones.
"""

import numpy as np

from treespan.core.jit import njit
from treespan.games.go.board import AROUND, COLUMN, EMPTY, PASS, ROW, count_near, empty_near

MANY = 3  # liberties are counted up to here
_MOST_TOUCHES = 4  # a chain with more pseudo-liberties has two liberties at least


@njit
def touches(state, point, chain):
    """Return how many of the point's neighbours belong to a chain."""
    return (
        np.int64(state.chain[point - ROW] == chain)
        + np.int64(state.chain[point - COLUMN] == chain)
        + np.int64(state.chain[point + COLUMN] == chain)
        + np.int64(state.chain[point + ROW] == chain)
    )


@njit
def is_last_liberty(state, point, chain):
    """Whether an empty point beside a chain is its only liberty."""
    return touches(state, point, chain) == state.liberties[chain]


@njit
def last_liberty(state, stone):
    """Return the only liberty of a stone's chain; PASS if it has several."""
    chain = state.chain[stone]
    if state.liberties[chain] > _MOST_TOUCHES:
        return PASS
    place = np.uint64(stone)
    while empty_near(state, place) == 0:
        place = np.uint64(state.next_stone[place])
    liberty = PASS
    for step in AROUND:
        neighbour = place + step
        if state.color[neighbour] == EMPTY:
            liberty = neighbour
    return liberty if is_last_liberty(state, liberty, chain) else PASS


@njit
def is_capture(state, point, color):
    """Whether a stone of `color` on an empty point captures something."""
    other = 3 - color
    if count_near(state, point, other) == 0:
        return False
    for step in AROUND:
        neighbour = point + step
        if state.color[neighbour] == other and is_last_liberty(state, point, state.chain[neighbour]):
            return True
    return False


@njit
def _with_liberty(point, count, a, b, c):
    """Return a set of at most MANY points with one more member. A set is its number of members, and these."""
    if (point == a) | (point == b) | (point == c):
        return count, a, b, c
    if count == 0:
        return 1, point, b, c
    if count == 1:
        return 2, a, point, c
    return 3, a, b, point


@njit
def _with_chain(state, stone, excluded, enough, count, a, b, c):
    """Return the set with the liberties of a stone's chain added, until it has `enough`; leave out `excluded`."""
    start = np.uint64(stone)
    place = start
    while count < enough:
        if empty_near(state, place) != 0:
            for step in AROUND:
                neighbour = place + step
                if state.color[neighbour] == EMPTY and neighbour != excluded and count < enough:
                    count, a, b, c = _with_liberty(neighbour, count, a, b, c)
        place = np.uint64(state.next_stone[place])
        if place == start:
            break
    return count, a, b, c


@njit
def liberties_of(state, stone):
    """Return the liberties of a stone's chain: their number, at most MANY, and if they are fewer, the points."""
    # Most chains need no walk: they have more pseudo-liberties than two points can give, or this stone alone has three.
    if state.liberties[state.chain[stone]] > _MOST_TOUCHES * (MANY - 1) or empty_near(state, stone) >= MANY:
        return MANY, PASS, PASS
    count, a, b, _ = _with_chain(state, stone, PASS, MANY, 0, PASS, PASS, PASS)
    return count, a, b


@njit
def liberties_after(state, point, color, enough):
    """Return how many liberties, up to `enough` (2 or MANY), the chain of a new stone of `color` will have."""
    if empty_near(state, point) >= np.uint64(enough):
        return enough
    other = 3 - color
    count, a, b, c = 0, PASS, PASS, PASS
    for step in AROUND:
        neighbour = point + step
        owner = state.color[neighbour]
        if count == enough:
            break
        if owner == EMPTY:
            count, a, b, c = _with_liberty(neighbour, count, a, b, c)
        elif owner == color:
            chain = state.chain[neighbour]
            rest = state.liberties[chain] - touches(state, point, chain)
            if rest > _MOST_TOUCHES * (enough - 1):
                return enough
            if rest > 0:
                count, a, b, c = _with_chain(state, neighbour, point, enough, count, a, b, c)
        elif owner == other and is_last_liberty(state, point, state.chain[neighbour]):
            count, a, b, c = _with_captured(state, neighbour, point, color, enough, count, a, b, c)
    return count


@njit
def _with_captured(state, stone, point, color, enough, count, a, b, c):
    """Return the set with the points added that a stone on `point` wins by capturing an enemy chain it touches."""
    start = np.uint64(stone)
    place = start
    while count < enough:
        for step in AROUND:
            neighbour = place + step
            joins = neighbour == point or (
                state.color[neighbour] == color and touches(state, point, state.chain[neighbour]) > 0
            )
            if joins and count < enough:
                count, a, b, c = _with_liberty(place, count, a, b, c)
        place = np.uint64(state.next_stone[place])
        if place == start:
            break
    return count, a, b, c


@njit
def stones_joined(state, point, color):
    """Return how many stones a stone of `color` on `point` joins, itself included. A chain counts at each touch."""
    stones = 1
    for step in AROUND:
        neighbour = point + step
        if state.color[neighbour] == color:
            stones += np.int64(state.stones[state.chain[neighbour]])
    return stones


@njit
def gives_atari(state, point, color):
    """Whether a stone of `color` on an empty point leaves an enemy chain beside it one liberty."""
    for step in AROUND:
        neighbour = point + step
        if state.color[neighbour] == 3 - color and liberties_of(state, neighbour)[0] == 2:
            return True
    return False
