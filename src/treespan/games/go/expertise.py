"""Two ways in which reading helps a search: expertise and conditioning (bourki2010, section 2.3).

*Expertise* marks moves. A move is necessary if it catches or saves a chain whose fate depends on who moves first. A
move is wasted if it fills a liberty of enemy stones that are lost anyway. (A liberty of own lost stones may be filled:
that can be a sacrifice.)

*Conditioning* notes verdicts. A chain that is lost whoever moves first gets a verdict, and so does the largest of the
chains whose fate depends on who moves first: the player to move decides it. A playout that ends otherwise contradicts
the reading.
"""

import numpy as np

from treespan.core.jit import njit
from treespan.games.go.board import AROUND, BORDER, EMPTY, PASS, STRIDE
from treespan.games.go.reading import (
    CRITICAL,
    DEAD,
    DESK,
    MOST_LIBERTIES,
    fate,
    known_liberties,
    liberty,
    solving_move,
    solving_moves,
)

NODES = 400  # read for one question
HALF_STAKE = 3  # stones at which a necessary move gets half of the bonus
WASTE = -0.5
FEWEST_STONES = 3  # of a chain that gets a verdict
MOST_VERDICTS = 8

# On the desk, behind the reader's own words: the number of verdicts; for each a point, and the colour that loses it.
_VERDICTS = np.uint64(DESK)
EXPERT_DESK = DESK + 1 + MOST_VERDICTS
_COLOR_SHIFT, _POINT = np.uint64(16), np.uint64(0xFFFF)
_ONE = np.uint64(1)


@njit
def mark_necessary(states, desk, moves, count, marks):
    """Write a mark for each move in states[0], from -1 (wasted) to 1 (necessary, and many stones are at stake)."""
    marks[:count] = 0.0
    state = states[0]
    mover = state.to_play + 1
    for place in range(STRIDE + 1, (state.side + 1) * STRIDE):
        stone = np.uint64(place)
        if not is_doubtful(state, stone, desk):
            continue
        outcome = fate(states, desk, stone, NODES)
        if outcome == CRITICAL:
            found = solving_moves(states, desk, stone, state.color[stone] != mover, NODES)
            stones = np.float64(state.stones[stone])
            for i in range(found):
                mark(moves, count, marks, solving_move(desk, i), stones / (stones + HALF_STAKE))
        elif outcome == DEAD and state.color[stone] != mover and state.stones[stone] > 1:
            for i in range(known_liberties(state, stone, desk)):
                mark(moves, count, marks, liberty(desk, i), WASTE)


@njit
def mark(moves, count, marks, point, value):
    """Mark one of the moves. A move that is both necessary and wasted counts as necessary."""
    for i in range(np.uint64(count)):
        if moves[i] == point and (value > marks[i] or (value < 0.0 and marks[i] == 0.0)):
            marks[i] = value


@njit
def is_doubtful(state, stone, desk):
    """Whether `stone` names a chain that may be caught: one with at most two liberties, or in a race."""
    color = state.color[stone]
    if color in (EMPTY, BORDER) or state.chain[stone] != stone:
        return False
    liberties = known_liberties(state, stone, desk)
    if liberties <= 2:
        return True
    return liberties <= MOST_LIBERTIES and state.stones[stone] > 1 and is_race(state, stone, liberties, desk)


@njit
def is_race(state, stone, liberties, desk):
    """Whether a chain touches an enemy chain of several stones that has at most one liberty more."""
    place = stone
    while True:
        for step in AROUND:
            neighbour = place + step
            if state.color[neighbour] == 3 - state.color[stone] and state.stones[state.chain[neighbour]] > 1:
                if known_liberties(state, neighbour, desk) <= liberties + 1:
                    return True
        place = np.uint64(state.next_stone[place])
        if place == stone:
            return False


@njit
def foresee_ends(states, desk):
    """Note how the fights in states[0] will end. Returns whether there was anything to note."""
    desk[_VERDICTS] = 0
    state = states[0]
    mover = state.to_play + 1
    disputed, most = PASS, 0
    for place in range(STRIDE + 1, (state.side + 1) * STRIDE):
        stone = np.uint64(place)
        if not is_doubtful(state, stone, desk) or state.stones[stone] < FEWEST_STONES:
            continue
        outcome = fate(states, desk, stone, NODES)
        if outcome == DEAD:
            add_verdict(desk, stone, state.color[stone])
        elif outcome == CRITICAL:
            # Of two equal chains in a race, the one that loses: its capture is easy to see at the end of a playout.
            weight = 2 * np.int64(state.stones[stone]) + np.int64(state.color[stone] != mover)
            if weight > most:
                disputed, most = stone, weight
    if disputed != PASS:
        add_verdict(desk, disputed, 3 - mover)
    return desk[_VERDICTS] > 0


@njit
def add_verdict(desk, point, loser):
    count = desk[_VERDICTS]
    if count < MOST_VERDICTS:
        desk[_VERDICTS + _ONE + count] = point | (np.uint64(loser) << _COLOR_SHIFT)
        desk[_VERDICTS] = count + _ONE


@njit
def ends_as_foreseen(state, desk):
    """Whether a finished position agrees with what `foresee_ends` noted."""
    for i in range(desk[_VERDICTS]):
        verdict = desk[_VERDICTS + _ONE + np.uint64(i)]
        if state.color[verdict & _POINT] == verdict >> _COLOR_SHIFT:
            return False
    return True
