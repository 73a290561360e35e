"""Boards of hexagonal cells: neighbours, groups of stones, and text. Shared by Hex and Havannah.

Every board lies in one grid of 21 x 21 places, enough for Hex 19 and Havannah 10 with a border around them. So a
neighbour is a fixed step away and needs no check. A move is the number of a *cell* of the actual board, row by row; a
table of each game turns it into a *place* of the grid. The directions to the six neighbours:

      0 1          up, up-right
     5 . 2      left,     right
      4 3     down-left,  down

Groups are a union-find forest in one array `link` with a word for each place: the place above it in its tree, or, at a
root, ROOT and the game's marks of the group (which edges it touches).
Places and steps are uint64, because an unsigned index needs no wrap-around check: +10 % playouts/s in both games. A
step back is a large number that overflows as intended.
"""

import re

import numpy as np

from treespan.core.errors import PositionError
from treespan.core.jit import njit
from treespan.core.rng import below, hash_table

STRIDE = 21  # places in a row of the grid
PLACES = STRIDE * STRIDE
EMPTY, X, O, WALL = 0, 1, 2, 3  # noqa: E741  on a board; X is the first player's stone
STONE_BITS = 3  # the rest of the byte is a game's, for its border
SYMBOLS = ".XO"

STEP = np.array([-STRIDE, 1 - STRIDE, 1, STRIDE, STRIDE - 1, -1]).astype(np.uint64)  # by direction
BRIDGE_STEP = STEP + np.roll(STEP, -1)  # over the neighbours in this and in the next direction
UP, UP_RIGHT, RIGHT, DOWN, DOWN_LEFT, LEFT = STEP
_BIT0, _BIT1, _BIT2, _BIT3, _BIT4, _BIT5 = (np.uint64(1 << direction) for direction in range(6))
_NO_BITS = np.uint64(0)
ALL_SIX = 63

ROOT = np.uint16(0x8000)  # marks the root of a group in `link`; the bits below describe the group
RING = np.uint16(0x4000)  # in the answer of `join`: the stone closed a loop around a cell without such a stone

ZOBRIST = hash_table(0x4E58, (3, PLACES))  # [stone, place]
SECOND_TO_PLAY = hash_table(0x4E59, (1,))[0]


def _rotated(pattern: int, directions: int) -> int:
    """Return the six neighbour bits, turned so that bit d moves to d + directions."""
    return (pattern << directions | pattern >> (6 - directions)) & ALL_SIX


def _run_tables() -> tuple[np.ndarray, np.ndarray]:
    """Return, for each of the 64 sets of neighbours, its number of separate runs, and a step to one stone of each."""
    counts, steps = np.zeros(64, np.uint8), np.zeros((64, 3), np.uint64)
    for pattern in range(64):
        starts = pattern & ~_rotated(pattern, 1)
        if pattern == ALL_SIX:
            starts = 1  # a full circle has no start; any of its stones will do
        directions = [d for d in range(6) if starts >> d & 1]
        counts[pattern] = len(directions)
        steps[pattern, : len(directions)] = STEP[directions]
    return counts, steps


RUN_COUNT, RUN_STEP = _run_tables()  # uint8[64]; uint64[64, 3]
# uint8[64]: neighbours d such that d - 1, d and d + 1 are all in the set: centres of a ring that may be full.
MIDDLES = np.array([p & _rotated(p, 1) & _rotated(p, 5) for p in range(64)], dtype=np.uint8)
# uint8[64]: the same set seen from a direction one or two earlier, to match neighbours d, d + 1 and d + 2 at once.
TURNED_ONE = np.array([_rotated(p, 5) for p in range(64)], dtype=np.uint8)
TURNED_TWO = np.array([_rotated(p, 4) for p in range(64)], dtype=np.uint8)


@njit
def neighbours(board, place, stone):  # uint8[:], uint64, int -> uint64
    """Return the set of directions in which a `stone` is next to `place`, as six bits."""
    found = _BIT0 if board[place + UP] == stone else _NO_BITS
    found |= _BIT1 if board[place + UP_RIGHT] == stone else _NO_BITS
    found |= _BIT2 if board[place + RIGHT] == stone else _NO_BITS
    found |= _BIT3 if board[place + DOWN] == stone else _NO_BITS
    found |= _BIT4 if board[place + DOWN_LEFT] == stone else _NO_BITS
    found |= _BIT5 if board[place + LEFT] == stone else _NO_BITS
    return found


@njit
def find(link, place):  # uint16[:], uint64 -> uint64
    """Return the root of the group at `place`; halve the path on the way."""
    while True:
        above = link[place]
        if above >= ROOT:
            return place
        higher = link[above]
        if higher >= ROOT:
            return np.uint64(above)
        link[place] = higher
        place = np.uint64(higher)


@njit
def join(link, place, own, marks):  # uint16[:], uint64, uint64, uint16 -> uint16
    """Put a stone with `marks` on `place`, whose own neighbours are `own`. Returns the marks of its group.

    Stones of one run touch each other, so one stone of each run is looked up. If two runs were one group already, the
    stone closes a loop. Between the two runs lies, on either side, a cell without an own stone; one of these two cells
    is inside the loop.
    """
    runs = RUN_COUNT[own]
    if runs == 0:
        link[place] = ROOT | marks
        return marks
    root = find(link, place + RUN_STEP[own, 0])
    link[place] = root
    marks |= link[root]
    ring = np.uint16(0)
    for run in range(1, runs):
        other = find(link, place + RUN_STEP[own, run])
        if other == root:
            ring = RING
        else:
            marks |= link[other]
            link[other] = root
    link[root] = marks
    return marks | ring


@njit
def shape_weight(board, place, stone):
    """Return how well a stone on `place` works with stones of its colour: contact, bridges, and bridges saved.

    A bridge links two stones over two common empty neighbours: when the opponent takes one, the other saves it.
    """
    own = neighbours(board, place, stone)
    enemy = neighbours(board, place, X + O - stone)
    weight = 1.0 if own or enemy else 0.0
    if own & TURNED_ONE[enemy] & TURNED_TWO[own]:
        weight += 8.0
    for direction in range(6):
        turned = direction + 1 if direction < 5 else 0
        if board[place + STEP[direction]] == EMPTY and board[place + STEP[turned]] == EMPTY:
            if board[place + BRIDGE_STEP[direction]] & STONE_BITS == stone:  # or an own border
                weight += 2.0
    return weight


@njit
def list_empty(board, places, cells, moves):
    """Write the empty cells of a board into `moves`; `places` holds the place of each cell. Returns their number."""
    count = 0
    for cell in range(cells):
        if board[places[cell]] == EMPTY:
            moves[count] = cell
            count += 1
    return count


@njit
def draw(random, moves, left):
    """Take a random one of the first `left` moves, and put the last of them in its place."""
    index = below(random, left)
    move = moves[index]
    moves[index] = moves[np.uint64(left - 1)]
    return move


# Text


def cell_name(column: int, row: int) -> str:
    """Return a cell's name, letter and number. Column and row count from 0."""
    return f"{chr(ord('a') + column)}{row + 1}"


def parse_cell(text: str) -> tuple[int, int] | None:
    """Return column and row, counted from 0, of the cell that a text names; None if it names none."""
    match = re.fullmatch(r"([a-z])([1-9][0-9]?)", text.strip().lower())
    return (ord(match[1]) - ord("a"), int(match[2]) - 1) if match else None


def read_rows(game: str, text: str, lengths: list[int], labels: list[str]) -> str:
    """Return the symbols of all rows of a diagram as one string; `labels` are the letters that may end the rows."""
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    if lines and re.fullmatch(r"a\s+b\s+c(\s+[d-z])*", lines[0]):
        lines = lines[1:]  # the letters above the board
    if len(lines) != len(lengths):
        raise PositionError(f"{game}: the diagram has {len(lines)} rows; give {len(lengths)}")
    symbols = ""
    for number, (line, length, label) in enumerate(zip(lines, lengths, labels, strict=True), start=1):
        row = re.fullmatch(rf"(?:{number}\s+)?((?:[.XOxo]\s*){{{length}}})(?:{label})?", line)
        if row is None:
            raise PositionError(f"{game}: row {number} is '{line}'; give {length} of '.', 'X' and 'O'")
        symbols += "".join(row[1].split()).upper()
    return symbols
