"""Playouts that answer the last move, as MoGo's do (Gelly, Wang, Munos, Teytaud 2006; cazenave2008 uses the same).

The playout asks its rules in this order, each with its probability. It draws one of the moves that a rule finds.

1. *atari*: capture the stone just played, or save own stones beside it, by capturing an attacker or by running;
2. *nakade*: the vital point of a small eye beside the stone just played;
3. *two liberties*: catch the chain just played, or save one beside it, if the next move decides its fate;
4. *pattern*: a 3x3 pattern beside the stone just played, or else beside the own move before;
5. *capture*: any chain that was seen in atari lately;
6. a random move that fills no own eye and is no bad self-atari; a pass if there is none.

The rules are inlined into the playout, which calls each rule at one place: +12 % playouts/s.
"""

import numpy as np

from treespan.core.jit import njit, njit_inline
from treespan.core.rng import below, unit
from treespan.games.go.board import (
    AROUND,
    COLUMN,
    EMPTY,
    NO_KO,
    PASS,
    ROW,
    count_near,
    empty_near,
    is_legal,
    is_own_eye,
    place_stone,
    set_aside,
)
from treespan.games.go.patterns import fits_pattern
from treespan.games.go.scoring import played_out_margin
from treespan.games.go.tactics import MANY, gives_atari, last_liberty, liberties_after, liberties_of, stones_joined
from treespan.games.rules import noted

# The probability that a rule is followed if it finds a move. The costly rules draw it first, and then may not be asked.
ATARI, NAKADE, TWO_LIBERTIES, PATTERN, CAPTURE = 0.9, 0.5, 0.7, 0.95, 0.9

# The scratch array: moves of one rule, then stones that were seen in atari.
MOST_FOUND = 16
MEMORY_SLOTS = 8
FIRST_SLOT = np.uint64(MOST_FOUND)
END_SLOT = np.uint64(MOST_FOUND + MEMORY_SLOTS)

LARGEST_EYE = 6  # points of an eye in which one move may decide
SACRIFICE = 5  # stones that may be put into atari to give atari inside an eye
_MARK = np.uint16(0x8000)  # in `stones` of an empty point; longer than any chain
_ONE, _TWO, _FOUR = np.uint64(1), np.uint64(2), np.uint64(4)


@njit
def pattern_playout(state, random, trace, scratch):
    """Play to the end by these rules, and set `margin` and `is_scored`. Returns the number of plies."""
    plies = 0
    limit = state.plies_left
    passes = state.passes
    player = state.to_play
    last, before = np.uint64(state.last_move), PASS
    scratch[FIRST_SLOT:END_SLOT] = 0
    while passes < 2 and plies < limit:
        point = pattern_move(state, player + 1, last, before, random, scratch)
        if point == PASS:
            passes += 1
            state.ko = NO_KO
        else:
            place_stone(state, point, player + 1, False)
            passes = 0
        trace[plies] = noted(np.int32(point), player)
        last, before = point, last
        plies += 1
        player = 1 - player
    if plies > 0:
        state.margin = played_out_margin(state)
        state.is_scored = 1
    return plies


@njit_inline
def pattern_move(state, color, last, before, random, found):
    """Return a move for `color` after the opponent's move `last` and the own move `before` it."""
    if last != PASS:
        count = atari_moves(state, color, last, found)
        if count > 0 and unit(random) < ATARI:
            return np.uint64(found[below(random, count)])
        if unit(random) < NAKADE:
            point = nakade_move(state, last, found)
            if point != PASS and is_legal(state, point, color):
                return point
        if unit(random) < TWO_LIBERTIES:
            count = two_liberty_moves(state, color, last, found)
            if count > 0:
                return np.uint64(found[below(random, count)])
        count = pattern_moves(state, color, last, found)
        if count == 0 and before != PASS:
            count = pattern_moves(state, color, before, found)
        if count > 0 and unit(random) < PATTERN:
            return np.uint64(found[below(random, count)])
    count = remembered_captures(state, color, found)
    if count > 0 and unit(random) < CAPTURE:
        return np.uint64(found[below(random, count)])
    return careful_move(state, color, random)


# Rule 1: atari


@njit_inline
def atari_moves(state, color, last, found):
    """Find captures of the stone on `last`, and moves that save chains beside it from atari. Returns their number."""
    count = 0
    target = last_liberty(state, last)
    if target != PASS:
        remember_atari(state, last, found)
        if target != state.ko:
            found[count] = target
            count += 1
    for step in AROUND:
        neighbour = last + step
        if state.color[neighbour] == color:
            liberty = last_liberty(state, neighbour)
            if liberty != PASS:
                remember_atari(state, neighbour, found)
                count = _add_escapes(state, neighbour, liberty, color, found, count)
    return count


@njit
def _add_escapes(state, stone, liberty, color, found, count):
    """Add the moves that save a chain with one liberty: running, or capturing one of its attackers."""
    if count < MOST_FOUND and is_playable(state, liberty, color):
        found[count] = liberty
        count += 1
    start = np.uint64(stone)
    place = start
    while count < MOST_FOUND:
        for step in AROUND:
            neighbour = place + step
            if state.color[neighbour] == 3 - color and count < MOST_FOUND:
                target = last_liberty(state, neighbour)
                if target != PASS and target != state.ko and target != liberty:
                    found[count] = target
                    count += 1
        place = np.uint64(state.next_stone[place])
        if place == start:
            break
    return count


@njit_inline
def is_playable(state, point, color):
    """Whether a move is legal and no self-atari."""
    return empty_near(state, point) >= _TWO or (
        is_legal(state, point, color) and liberties_after(state, point, color, 2) >= 2
    )


# Rule 2: nakade


@njit_inline
def nakade_move(state, last, found):
    """Return the vital point of a small eye beside `last`; PASS if there is none."""
    for step in AROUND:
        neighbour = last + step
        if state.color[neighbour] == EMPTY and 0 < empty_near(state, neighbour) <= _TWO:
            size = eye_points(state, neighbour, state.color[last], found)
            if size > 0:
                point = vital_point(state, found, size)
                if point != PASS:
                    return point
    return PASS


@njit
def eye_points(state, start, owner, found):
    """Write the empty region around `start`. Returns its size, 0 if it is large or not surrounded by `owner` alone."""
    if not _is_inside(state, start, owner):
        return 0
    found[0] = start
    state.stones[start] = _MARK
    size, done, is_eye = 1, 0, True
    while is_eye and done < size:
        point = np.uint64(found[np.uint64(done)])
        done += 1
        for step in AROUND:
            neighbour = point + step
            if state.color[neighbour] == EMPTY and state.stones[neighbour] != _MARK and is_eye:
                state.stones[neighbour] = _MARK
                found[np.uint64(size)] = neighbour
                size += 1
                is_eye = size <= LARGEST_EYE and _is_inside(state, neighbour, owner)
    for i in range(np.uint64(size)):
        state.stones[np.uint64(found[i])] = 0
    return size if is_eye else 0


@njit
def _is_inside(state, point, owner):
    """Whether all neighbours of an empty point are empty, of `owner`, or border."""
    return count_near(state, point, owner) + empty_near(state, point) == _FOUR


@njit
def vital_point(state, region, size):
    """Return the point that decides whether a region becomes two eyes; PASS if no single point does.

    Such regions are recognised by the point with most neighbours in the region, and by their number of links: three in
    a row; the pyramid of four; the cross and the bulky five; the rabbity six.
    """
    best, most, ends = PASS, np.uint64(0), np.uint64(0)
    for i in range(np.uint64(size)):
        point = np.uint64(region[i])
        degree = empty_near(state, point)
        ends += degree  # ends of links, two for each link
        if degree > most:
            best, most = point, degree
    is_vital = (
        (size == 3)
        | (size == 4 and most == 3)
        | (size == 5 and (most == 4 or (most == 3 and ends == 10)))
        | (size == 6 and most == 4 and ends == 12)
    )
    return best if is_vital else PASS


# Rule 3: two liberties


@njit_inline
def two_liberty_moves(state, color, last, found):
    """Find moves that decide the fate of chains with two liberties: catch that of `last`, or save one beside it."""
    count = 0
    other = 3 - color
    liberties, a, b = liberties_of(state, last)
    if liberties == 2:
        if liberties_after(state, b, other, MANY) < MANY and is_playable(state, a, color):
            found[count] = a
            count += 1
        if liberties_after(state, a, other, MANY) < MANY and is_playable(state, b, color):
            found[count] = b
            count += 1
    for step in AROUND:
        neighbour = last + step
        if state.color[neighbour] == color:
            liberties, a, b = liberties_of(state, neighbour)
            if liberties == 2:
                by_a = liberties_after(state, a, color, MANY) >= MANY
                by_b = liberties_after(state, b, color, MANY) >= MANY
                # The chain gets away at only one of its liberties. An enemy stone there would leave it the other one.
                only = a if by_a else b
                if by_a != by_b and is_playable(state, only, other) and is_legal(state, only, color):
                    found[count] = only
                    count += 1
    return count


# Rule 4: patterns


@njit_inline
def pattern_moves(state, color, centre, found):
    """Find the moves around `centre` that fit a pattern and are no self-atari. Returns their number."""
    count = 0
    for row in (centre - ROW, centre, centre + ROW):
        for point in (row - COLUMN, row, row + COLUMN):
            if state.color[point] == EMPTY and fits_pattern(state, point) and is_playable(state, point, color):
                found[count] = point
                count += 1
    return count


# Rule 5: captures


@njit
def remember_atari(state, stone, scratch):
    """Note a stone in atari. It may replace a stone of another chain."""
    scratch[FIRST_SLOT + (np.uint64(state.chain[stone]) & np.uint64(MEMORY_SLOTS - 1))] = stone


@njit_inline
def remembered_captures(state, color, scratch):
    """Find the captures of remembered stones. Returns their number. Forgets stones that are not in atari any more."""
    count = 0
    for slot in range(FIRST_SLOT, END_SLOT):
        stone = np.uint64(scratch[slot])
        if stone == 0 or state.color[stone] == color:
            continue
        target = last_liberty(state, stone) if state.color[stone] != EMPTY else PASS
        if target == PASS:
            scratch[slot] = 0
        elif target != state.ko:
            scratch[count] = target
            count += 1
    return count


# Rule 6: random moves


@njit
def careful_move(state, color, random):
    """Return a random move that `is_careful`; PASS if there is none."""
    untried = np.uint64(state.empty_count)
    while untried > 0:
        slot = below(random, untried)
        point = np.uint64(state.empties[slot])
        if is_careful(state, point, color):
            return point
        untried -= _ONE
        set_aside(state, slot, untried)
    return PASS


@njit_inline
def is_careful(state, point, color):
    """Whether a move is legal, fills no own eye, and is no bad self-atari.

    A self-atari is not bad if it loses a single stone, or a few stones that give atari inside an eye.
    """
    empty = empty_near(state, point)
    if empty >= _TWO:
        return True
    if empty == 0 and (is_own_eye(state, point, color) or not is_legal(state, point, color)):
        return False
    if liberties_after(state, point, color, 2) >= 2:
        return True
    stones = stones_joined(state, point, color)
    return stones == 1 or (stones <= SACRIFICE and gives_atari(state, point, color))
