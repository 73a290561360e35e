"""Reading: can a chain be caught, whatever its owner does? One search for captures, ladders, nets and liberty races.

The search tries moves on copies of the position, both sides in turn, until the chain is captured, or has enough
liberties to be taken for safe. It tries only moves that can matter for the chain:

- the attacker fills a liberty of the chain, prepares to if his stone there would be in atari, or saves his own chains
  around it; with the first move he may also play one point further away (a net);
- the defender captures an attacker, extends, fills a liberty of an attacker that is as short of them (a race), or
  passes, because in a seki every own move may be bad.

An answer is CAUGHT, SAFE or UNKNOWN. It is UNKNOWN if the nodes or levels ran out, or if a ko decides. To see who wins
a race, `fate` asks the same question twice, with either side to move first.

Nothing is allocated. `states` has a position for each level; states[0] is the position to read. `desk` has the number
of nodes left, a row of moves for each level, and a table of answers. Answers hold for whole boards and never expire.
"""

import numpy as np

from treespan.core.jit import njit
from treespan.core.rng import hash_table
from treespan.games.go.board import AROUND, EMPTY, NO_KO, PASS, POINTS, ZOBRIST, empty_near, is_legal, place_stone
from treespan.games.go.tactics import MANY, last_liberty, liberties_after

UNKNOWN, SAFE, CAUGHT = 0, 1, 2
OPEN = 3  # no answer yet: moves are being tried
# The fate of a chain. ALIVE: it lives, whoever moves first. DEAD: it dies. CRITICAL: that depends on who moves first.
UNCLEAR, ALIVE, CRITICAL, DEAD = 0, 1, 2, 3

LEVELS = 56  # positions of a reader: a ladder across 13x13 fits in
MOST_LIBERTIES = 5  # of chains that are worth reading
FREEDOM, SLACK = 4, 2  # a chain is safe with FREEDOM liberties, or with SLACK more than at the start
PATIENCE = 3  # after this many levels one liberty fewer is enough, but at least MANY: an attack must make progress
WIDTH = 40  # moves tried in one position, at most
TABLE = 4096  # answers remembered

# The desk: nodes left; a row for each level, which has the words below and then the moves; a spare row; the table.
_NODES_LEFT = np.uint64(0)
_COUNT, _NEXT, _BEST, _KEY = np.uint64(0), np.uint64(1), np.uint64(2), np.uint64(3)
_MOVES = np.uint64(4)
_ROW = WIDTH + int(_MOVES)
_SPARE = np.uint64(1 + LEVELS * _ROW)
_TABLE_AT = _SPARE + np.uint64(_ROW)
DESK = int(_TABLE_AT) + TABLE

QUESTIONS = hash_table(0x62, (LEVELS, POINTS))  # [level, stone]; the answer depends on both
KINDS = hash_table(0x63, (2, MOST_LIBERTIES + SLACK + 1))  # [who moves, liberties of a safe chain]
_ANSWER, _INDEX = np.uint64(3), np.uint64(TABLE - 1)
_ONE, _TWO = np.uint64(1), np.uint64(2)


@njit
def fate(states, desk, stone, nodes):
    """Return the fate of a stone's chain in states[0]; UNCLEAR if `nodes` for each question do not suffice."""
    attacked = question(states, desk, stone, True, nodes)
    if attacked != CAUGHT:
        return ALIVE if attacked == SAFE else UNCLEAR
    defended = question(states, desk, stone, False, nodes)
    if defended == UNKNOWN:
        return UNCLEAR
    return CRITICAL if defended == SAFE else DEAD


@njit
def question(states, desk, stone, attacks, nodes):
    """Return whether a stone's chain is caught: CAUGHT, SAFE or UNKNOWN. With `attacks` the attacker moves first."""
    escape = escape_liberties(states[0], stone, desk)
    if escape == 0:
        return SAFE
    desk[_NODES_LEFT] = nodes
    return read(states, desk, 0, np.uint64(stone), escape, attacks)


@njit
def known_liberties(state, stone, desk):
    """Return the number of a chain's liberties, counted up to MOST_LIBERTIES + 1. `liberty` then returns each."""
    return add_liberties(state, stone, desk, _SPARE, 0, MOST_LIBERTIES + 1)


@njit
def liberty(desk, index):
    """Return one of the liberties that were counted last."""
    return desk[_SPARE + np.uint64(index)]


@njit
def escape_liberties(state, stone, desk):
    """Return the number of liberties with which a chain is taken for safe; 0 if it has too many already."""
    count = known_liberties(state, stone, desk)
    return 0 if count > MOST_LIBERTIES else max(FREEDOM, count + SLACK)


@njit
def solving_moves(states, desk, stone, attacks, nodes):
    """Find the moves by which the side to move catches or saves a chain. Returns their number."""
    escape = escape_liberties(states[0], stone, desk)
    if escape == 0:
        return 0
    target = np.uint64(stone)
    mover = 3 - states[0].color[target] if attacks else states[0].color[target]
    moves = row_at(0) + _MOVES
    liberties = add_liberties(states[0], target, desk, moves, 0, escape)
    count = add_moves(states[0], desk, moves, target, liberties, attacks, True)
    wanted = CAUGHT if attacks else SAFE
    solving = np.uint64(0)
    for i in range(np.uint64(count)):
        point = desk[moves + i]
        if point != PASS and is_legal(states[0], point, mover):
            states[1] = states[0]
            place_stone(states[1], point, mover, True)
            desk[_NODES_LEFT] = nodes
            if read(states, desk, 1, target, escape, not attacks) == wanted:
                desk[moves + solving] = point
                solving += _ONE
    return np.int64(solving)


@njit
def solving_move(desk, index):
    """Return one of the moves that `solving_moves` found. Valid until the next question."""
    return desk[row_at(0) + _MOVES + np.uint64(index)]


# The search, depth first. It is a loop, because compiled functions cannot be recursive here.


@njit
def read(states, desk, start, stone, escape, attacks):
    """Return whether the chain of `stone` is caught in states[start]. With `attacks` the attacker is to move."""
    level = start
    turn = attacks
    answer = enter(states, desk, level, stone, escape, turn)
    while answer == OPEN or level > start:
        if answer == OPEN and try_next(states, desk, level, stone, turn):
            level += 1
            turn = not turn
            answer = enter(states, desk, level, stone, escape, turn)
        elif answer == OPEN:
            answer = leave(desk, level)
        else:
            level -= 1
            turn = not turn
            answer = weigh(desk, level, answer, turn)
    return answer


@njit
def row_at(level):
    return np.uint64(1 + level * _ROW)


@njit
def enter(states, desk, level, stone, escape, attacks):
    """Return the answer for states[level] if it is known at once. Otherwise write the moves to try, and return OPEN."""
    state = states[level]
    if level > 0 and state.ko != NO_KO:
        return UNKNOWN
    if state.color[stone] == EMPTY:
        return CAUGHT
    if desk[_NODES_LEFT] == 0 or level + 1 >= len(states):
        return UNKNOWN
    desk[_NODES_LEFT] -= _ONE
    row = row_at(level)
    moves = row + _MOVES
    enough = max(MANY, escape - level // PATIENCE)
    liberties = add_liberties(state, stone, desk, moves, 0, enough)
    if liberties >= enough:
        return SAFE
    ko = ZOBRIST[0, state.ko] if state.ko != NO_KO else np.uint64(0)
    key = (state.board_key ^ ko ^ QUESTIONS[level, stone] ^ KINDS[np.int64(attacks), escape]) | _ANSWER
    known = desk[table_slot(key)]
    if known | _ANSWER == key:
        return np.int64(known & _ANSWER)
    desk[row + _KEY] = key
    desk[row + _BEST] = SAFE if attacks else CAUGHT
    desk[row + _NEXT] = 0
    desk[row + _COUNT] = add_moves(state, desk, moves, stone, liberties, attacks, level == 0)
    return OPEN


@njit
def try_next(states, desk, level, stone, attacks):
    """Make the next move of states[level] in states[level + 1]. Returns whether there was one."""
    row, state = row_at(level), states[level]
    mover = 3 - state.color[stone] if attacks else state.color[stone]
    while desk[row + _NEXT] < desk[row + _COUNT]:
        point = desk[row + _MOVES + desk[row + _NEXT]]
        desk[row + _NEXT] += _ONE
        if point == PASS or is_legal(state, point, mover):
            states[level + 1] = state
            if point == PASS:
                states[level + 1].ko = NO_KO
            else:
                place_stone(states[level + 1], point, mover, True)
            return True
        if point == state.ko:
            desk[row + _BEST] = UNKNOWN
    return False


@njit
def weigh(desk, level, answer, attacks):
    """Take in the answer for a move. Returns the position's answer if the move decides it, else OPEN."""
    row = row_at(level)
    if answer == (CAUGHT if attacks else SAFE):
        desk[row + _BEST] = answer
        return leave(desk, level)
    if answer == UNKNOWN:
        desk[row + _BEST] = UNKNOWN
    return OPEN


@njit
def leave(desk, level):
    """Return the answer for a position whose moves have all been tried, and remember it."""
    row = row_at(level)
    best, key = desk[row + _BEST], desk[row + _KEY]
    if best != UNKNOWN:
        desk[table_slot(key)] = (key ^ _ANSWER) | best
    return np.int64(best)


@njit
def table_slot(key):
    return _TABLE_AT + ((key >> _TWO) & _INDEX)


# Which moves are tried


@njit
def add_moves(state, desk, row, stone, liberties, attacks, is_first):
    """Add the moves to try to a row, which begins with the chain's `liberties`. Returns their number."""
    put_roomy_first(state, desk, row, liberties)
    count = add_around(state, stone, desk, row, liberties, liberties, attacks)
    attacker = 3 - state.color[stone]
    for i in range(np.uint64(liberties)):
        point = desk[row + i]
        if (is_first and liberties > 1) or (attacks and liberties_after(state, point, attacker, 2) < 2):
            count = add_empty_beside(state, point, desk, row, count)
    if not attacks and liberties > 1:
        count = add_point(PASS, desk, row, count)
    return count


@njit
def put_roomy_first(state, desk, row, count):
    """Sort liberties by their empty neighbours: both sides want to play where the chain would gain most."""
    for i in range(1, count):
        point = desk[row + np.uint64(i)]
        j = i
        while j > 0 and empty_near(state, desk[row + np.uint64(j - 1)]) < empty_near(state, point):
            desk[row + np.uint64(j)] = desk[row + np.uint64(j - 1)]
            j -= 1
        desk[row + np.uint64(j)] = point


@njit
def add_around(state, stone, desk, row, count, liberties, attacks):
    """Add the liberties of those enemy chains around a chain that may be captured before it.

    The owner fills these liberties; the attacker plays there to save his chains.
    """
    # The owner may win a race against a chain with one liberty more, if that chain cannot fill shared liberties.
    enough = liberties - 1 if attacks else liberties + 1
    start = np.uint64(stone)
    place = start
    other = 3 - state.color[start]
    seen = PASS
    while True:
        for step in AROUND:
            neighbour = place + step
            if state.color[neighbour] == other and state.chain[neighbour] != seen:
                seen = np.uint64(state.chain[neighbour])
                found = add_liberties(state, neighbour, desk, _SPARE, 0, enough + 1)
                if found <= enough:
                    for i in range(np.uint64(found)):
                        count = add_point(desk[_SPARE + i], desk, row, count)
                    if attacks and found == 1:
                        count = add_rescues(state, neighbour, desk, row, count)
        place = np.uint64(state.next_stone[place])
        if place == start:
            break
    return count


@njit
def add_rescues(state, stone, desk, row, count):
    """Add the captures of chains in atari around a chain."""
    start = np.uint64(stone)
    place = start
    other = 3 - state.color[start]
    while True:
        for step in AROUND:
            neighbour = place + step
            if state.color[neighbour] == other:
                liberty = last_liberty(state, neighbour)
                if liberty != PASS:
                    count = add_point(liberty, desk, row, count)
        place = np.uint64(state.next_stone[place])
        if place == start:
            break
    return count


@njit
def add_empty_beside(state, point, desk, row, count):
    for step in AROUND:
        if state.color[point + step] == EMPTY:
            count = add_point(point + step, desk, row, count)
    return count


@njit
def add_liberties(state, stone, desk, row, count, most):
    """Add the liberties of a stone's chain to a row of `count` points. The row grows to at most `most` points."""
    start = np.uint64(stone)
    place = start
    while count < most:
        if empty_near(state, place) != 0:
            for step in AROUND:
                if state.color[place + step] == EMPTY and count < most:
                    count = add_point(place + step, desk, row, count)
        place = np.uint64(state.next_stone[place])
        if place == start:
            break
    return count


@njit
def add_point(point, desk, row, count):
    """Add a point to a row, if it is not there yet and there is room. Returns the number of points."""
    if count == WIDTH:
        return count
    for i in range(np.uint64(count)):
        if desk[row + i] == point:
            return count
    desk[row + np.uint64(count)] = point
    return count + 1
