"""The 3x3 patterns of MoGo (Gelly, Wang, Munos, Teytaud 2006): shapes in which a move in the middle answers a contact.

A neighbourhood is a 16-bit code: two bits for each of the eight points around. A table, made at import, has one bit for
each code: whether one of the patterns fits.
"""

import numpy as np

from treespan.core.jit import njit
from treespan.games.go.board import BLACK, BORDER, COLUMN, EMPTY, ROW, WHITE

# X and O are the two colours, either way round; . is empty, # the border, x and o anything but X or O, ? anything.
PATTERNS = (
    "XOX ... ???",  # hane around both sides
    "XO. ... ?.?",  # hane
    "XO? X.. x.?",  # bend
    ".O. X.. ...",  # diagonal attachment
    "XO? O.o ?o?",  # cut that is not protected
    "XO? O.X ???",  # cut where X is there already
    "?X? O.O ooo",  # push through
    "OX? o.O ???",  # cut by a diagonal move
    "X.? O.? ###",  # chase along the edge
    "OX? X.O ###",  # cut at the edge
    "?X? x.O ###",  # stop a connection at the edge
    "?XO x.x ###",  # go down to the edge
    "?OX X.O ###",  # cut below at the edge
)
_WHERE_MIDDLE = 4
_MEANINGS = {
    "X": (BLACK,),
    "O": (WHITE,),
    ".": (EMPTY,),
    "#": (BORDER,),
    "x": (EMPTY, WHITE, BORDER),
    "o": (EMPTY, BLACK, BORDER),
    "?": (EMPTY, BLACK, WHITE, BORDER),
}
_SHIFTS = tuple(np.uint64(2 * i) for i in range(8))
_ONE, _WORD_BITS, _LOW_BITS = np.uint64(1), np.uint64(6), np.uint64(63)


def _symmetries(cells: np.ndarray) -> list[np.ndarray]:
    turned = [np.rot90(cells, quarter) for quarter in range(4)]
    return turned + [np.flipud(square) for square in turned]


def _pattern_table() -> np.ndarray:
    """Return a bit for each code, 64 bits in a word: whether one of the patterns fits."""
    codes = np.arange(1 << 16)
    is_color = [[(codes >> 2 * i) & 3 == color for color in range(4)] for i in range(8)]
    fits = np.zeros(len(codes), dtype=bool)
    squares = [np.array(list(pattern.replace(" ", ""))).reshape(3, 3) for pattern in PATTERNS]
    for square in squares:
        for swapped in (False, True):
            names = {"X": "O", "O": "X", "x": "o", "o": "x"} if swapped else {}
            for turned in _symmetries(square):
                around = np.delete(turned.ravel(), _WHERE_MIDDLE)
                this = np.ones(len(codes), dtype=bool)
                for i, letter in enumerate(around):
                    if letter != "?":
                        this &= np.logical_or.reduce([is_color[i][c] for c in _MEANINGS[names.get(letter, letter)]])
                fits |= this
    words = np.packbits(fits.reshape(-1, 64), axis=1, bitorder="little")
    table: np.ndarray = words.view(np.uint64).ravel()
    return table


PATTERN_TABLE = _pattern_table()


@njit
def neighbourhood(state, point):
    """Return the eight points around `point`, row by row, as a 16-bit code."""
    color = state.color
    north, south = point - ROW, point + ROW
    return (
        np.uint64(color[north - COLUMN])
        | (np.uint64(color[north]) << _SHIFTS[1])
        | (np.uint64(color[north + COLUMN]) << _SHIFTS[2])
        | (np.uint64(color[point - COLUMN]) << _SHIFTS[3])
        | (np.uint64(color[point + COLUMN]) << _SHIFTS[4])
        | (np.uint64(color[south - COLUMN]) << _SHIFTS[5])
        | (np.uint64(color[south]) << _SHIFTS[6])
        | (np.uint64(color[south + COLUMN]) << _SHIFTS[7])
    )


@njit
def fits_pattern(state, point):
    """Whether one of the patterns fits around an empty point."""
    code = neighbourhood(state, point)
    return (PATTERN_TABLE[code >> _WORD_BITS] >> (code & _LOW_BITS)) & _ONE != 0
