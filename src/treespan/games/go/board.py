"""The Go board: stones, chains, captures, ko, eyes. All compiled, nothing allocates.

Points are indices into padded arrays with a fixed row stride. So one compiled variant serves all sizes, and the four
neighbours are constant offsets. Chains are circular lists with *pseudo-liberties*: an empty point counts once for each
stone of the chain that touches it. The count is 0 exactly if the chain has no liberty, and a new stone changes it by
one addition for each neighbour.

`near[p]` packs the numbers of black, white and empty neighbours of p (4 bits each). The border counts as both black
and white, so that "all four neighbours are mine" is one comparison.
"""

import numpy as np

from treespan.core.jit import njit
from treespan.core.rng import below, hash_table

MAX_SIZE = 19
STRIDE = MAX_SIZE + 1  # one border column: the right border of a row is the left border of the next
POINTS = STRIDE * (MAX_SIZE + 2) + 1
EMPTY, BLACK, WHITE, BORDER = 0, 1, 2, 3

# Unsigned 64-bit points: Numba then skips the test for negative indices.
ROW, COLUMN = np.uint64(STRIDE), np.uint64(1)
# The four neighbours as steps for loops: Numba would turn a loop over a tuple of points into a jump table.
AROUND = np.array([-STRIDE, -1, 1, STRIDE], dtype=np.int64).view(np.uint64)
PASS = np.uint64(0)  # point 0 is a border point, so no stone can go there
NO_KO = np.uint16(0)

_ONE, _FOUR, _FIFTEEN = np.uint64(1), np.uint64(4), np.uint64(15)
EMPTY_SHIFT = np.uint64(8)
NEAR_DELTA = np.array([0, (1 << 0) - (1 << 8), (1 << 4) - (1 << 8), 0], dtype=np.int16)  # added when colour c arrives
ZOBRIST = hash_table(0x60, (3, POINTS))  # [colour, point]; row 0 (EMPTY) marks the ko point

BOARD_FIELDS = (
    ("board_key", np.uint64),  # Zobrist hash of the stones alone
    ("color", np.uint8, (POINTS,)),  # EMPTY, BLACK, WHITE or BORDER
    ("near", np.int16, (POINTS,)),  # neighbours by colour, packed: black, white << 4, empty << 8
    ("chain", np.uint16, (POINTS,)),  # a point that names the stone's chain; the point itself if no stone
    ("next_stone", np.uint16, (POINTS,)),  # circular list of the chain's stones
    ("stones", np.uint16, (POINTS,)),  # number of stones, by chain
    ("liberties", np.int16, (POINTS,)),  # pseudo-liberties, by chain
    ("empties", np.uint16, (MAX_SIZE * MAX_SIZE,)),  # the empty points, in any order
    ("slot", np.uint16, (POINTS,)),  # where an empty point stands in `empties`
    ("empty_count", np.uint16),
    ("ko", np.uint16),  # point that may not be retaken at once, or NO_KO
    ("side", np.uint8),  # points per side; not `size`, which is NumPy's own attribute in uncompiled runs
)


@njit
def clear_board(state, size):
    """Make a zeroed record an empty board."""
    state.side = size
    state.color[:] = BORDER
    # A point without a stone is its own chain, whose counts are written but never read.
    for point in range(POINTS):
        state.chain[point] = point
    count = 0
    for row in range(1, size + 1):
        for column in range(1, size + 1):
            point = row * STRIDE + column
            state.color[point] = EMPTY
            state.empties[count] = point
            state.slot[point] = count
            count += 1
    state.empty_count = count
    for i in range(count):
        point = np.uint64(state.empties[i])
        for neighbour in (point - ROW, point - COLUMN, point + COLUMN, point + ROW):
            state.near[point] += 1 << 8 if state.color[neighbour] == EMPTY else (1 << 0) + (1 << 4)


@njit
def count_near(state, point, color):
    """Return how many of the point's four neighbours have `color`, borders included."""
    shift = _FOUR * np.uint64(color - 1)
    return (np.uint64(state.near[point]) >> shift) & _FIFTEEN


@njit
def empty_near(state, point):
    return np.uint64(state.near[point]) >> EMPTY_SHIFT


@njit
def is_own_eye(state, point, color):
    """Whether `point` is a one-point eye of `color`, and no false one. Playouts never fill such eyes."""
    if count_near(state, point, color) != _FOUR:
        return False
    other = 3 - color
    a, b = state.color[point - ROW - COLUMN], state.color[point - ROW + COLUMN]
    c, d = state.color[point + ROW - COLUMN], state.color[point + ROW + COLUMN]
    enemies = np.int64(a == other) + np.int64(b == other) + np.int64(c == other) + np.int64(d == other)
    at_edge = a == BORDER or b == BORDER or c == BORDER or d == BORDER
    return enemies + np.int64(at_edge) < 2


@njit
def _gives_breath(state, neighbour, color):
    """Whether a neighbouring chain makes a move legal: an own chain that keeps a liberty, or an enemy one with none."""
    breath = state.liberties[state.chain[neighbour]] != 0
    owner = state.color[neighbour]
    return (owner != BORDER) & (breath == (owner == color))


@njit
def is_legal(state, point, color):
    """Whether `color` may play on an empty `point`: no suicide, no simple ko."""
    if empty_near(state, point) != 0:
        return True
    if point == state.ko:
        return False
    # Take the liberty away from all neighbours first: a chain may touch the point more than once.
    up, left, right, down = point - ROW, point - COLUMN, point + COLUMN, point + ROW
    liberties, chain = state.liberties, state.chain
    liberties[chain[up]] -= 1
    liberties[chain[left]] -= 1
    liberties[chain[right]] -= 1
    liberties[chain[down]] -= 1
    breathes = (
        _gives_breath(state, up, color)
        | _gives_breath(state, left, color)
        | _gives_breath(state, right, color)
        | _gives_breath(state, down, color)
    )
    liberties[chain[up]] += 1
    liberties[chain[left]] += 1
    liberties[chain[right]] += 1
    liberties[chain[down]] += 1
    return breathes


@njit
def merge(state, kept, absorbed):
    """Join two chains of one colour. `absorbed` should be the shorter one, because its stones are renamed."""
    state.liberties[kept] += state.liberties[absorbed]
    state.stones[kept] += state.stones[absorbed]
    stone = absorbed
    while True:
        state.chain[stone] = kept
        stone = state.next_stone[stone]
        if stone == absorbed:
            break
    after_kept = state.next_stone[kept]
    state.next_stone[kept] = state.next_stone[absorbed]
    state.next_stone[absorbed] = after_kept


@njit
def remove_chain(state, chain, color, hashing):
    """Take a chain off the board."""
    delta = NEAR_DELTA[color]
    stone = np.uint64(chain)
    while True:
        state.color[stone] = EMPTY
        state.chain[stone] = stone
        state.empties[state.empty_count] = stone
        state.slot[stone] = state.empty_count
        state.empty_count += np.uint16(1)
        if hashing:
            state.board_key ^= ZOBRIST[color, stone]
        _stone_left(state, stone - ROW, delta)
        _stone_left(state, stone - COLUMN, delta)
        _stone_left(state, stone + COLUMN, delta)
        _stone_left(state, stone + ROW, delta)
        stone = np.uint64(state.next_stone[stone])
        if stone == chain:
            break


@njit
def _stone_left(state, neighbour, delta):
    """Update `neighbour` after a stone beside it was taken away."""
    state.near[neighbour] -= delta
    state.liberties[state.chain[neighbour]] += 1


@njit
def _stone_came(state, neighbour, delta, other):
    """Update `neighbour` after a stone was put beside it. Returns whether an enemy chain lost its last liberty."""
    state.near[neighbour] += delta
    chain = state.chain[neighbour]
    liberties = state.liberties[chain] - 1
    state.liberties[chain] = liberties
    return (liberties == 0) & (state.color[neighbour] == other)


@njit
def _join(state, point, neighbour, color):
    """Join the new stone on `point` with a neighbouring chain of its colour."""
    if state.color[neighbour] == color:
        mine, theirs = state.chain[point], state.chain[neighbour]
        if mine != theirs:
            if state.stones[mine] >= state.stones[theirs]:
                merge(state, mine, theirs)
            else:
                merge(state, theirs, mine)


@njit
def _capture_if_dead(state, neighbour, color, hashing):
    chain = state.chain[neighbour]
    if state.color[neighbour] == color and state.liberties[chain] == 0:
        remove_chain(state, chain, color, hashing)


@njit
def place_stone(state, point, color, hashing):
    """Put a stone on an empty point, capture, and set the ko. Does not check legality.

    Without `hashing` the board's key is not updated. Playouts do not need the key (+4 % playouts/s).
    """
    other = 3 - color
    in_enemy_eye = count_near(state, point, other) == _FOUR
    state.ko = NO_KO
    if hashing:
        state.board_key ^= ZOBRIST[color, point]
    state.color[point] = color
    # Leave the list of empty points: the last one takes the slot.
    state.empty_count -= np.uint16(1)
    last = state.empties[state.empty_count]
    slot = state.slot[point]
    state.empties[slot] = last
    state.slot[last] = slot
    # A chain of one stone.
    state.chain[point] = point
    state.next_stone[point] = point
    state.stones[point] = 1
    state.liberties[point] = empty_near(state, point)
    delta = NEAR_DELTA[color]
    up, left, right, down = point - ROW, point - COLUMN, point + COLUMN, point + ROW
    # `|` and not `or`: one rarely taken branch instead of four unpredictable ones, +12 % playouts/s.
    captures = (
        _stone_came(state, up, delta, other)
        | _stone_came(state, left, delta, other)
        | _stone_came(state, right, delta, other)
        | _stone_came(state, down, delta, other)
    )
    _join(state, point, up, color)
    _join(state, point, left, color)
    _join(state, point, right, color)
    _join(state, point, down, color)
    if captures:
        before = state.empty_count
        _capture_if_dead(state, up, other, hashing)
        _capture_if_dead(state, left, other, hashing)
        _capture_if_dead(state, right, other, hashing)
        _capture_if_dead(state, down, other, hashing)
        if in_enemy_eye and state.empty_count - before == 1:
            state.ko = state.empties[before]


@njit
def random_move(state, color, random):
    """Return a uniformly random legal move that fills no own eye; PASS if there is none."""
    untried = np.uint64(state.empty_count)
    while untried > 0:
        slot = below(random, untried)
        point = np.uint64(state.empties[slot])
        # A point with an empty neighbour is no eye and legal: most points need one load only.
        if empty_near(state, point) != 0 or (not is_own_eye(state, point, color) and is_legal(state, point, color)):
            return point
        untried -= _ONE
        set_aside(state, slot, untried)
    return PASS


@njit
def set_aside(state, slot, place):
    """Swap a refused point of `empties` behind the untried ones, so that the rest stays uniform."""
    refused, last = state.empties[slot], state.empties[place]
    state.empties[place], state.empties[slot] = refused, last
    state.slot[refused], state.slot[last] = place, slot
