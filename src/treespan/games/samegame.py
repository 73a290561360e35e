"""SameGame: clear a board of coloured blocks, alone (rules and scores of Schadd et al. 2008).

A move removes a group: two or more blocks of one colour that touch along their sides. Blocks above fall down,
and an empty column is closed from the right. A group of n blocks scores (n - 2)^2; a cleared board scores 1000
more. The game is over when no group is left.

Rule choices: at the end a colour with n > 0 blocks left costs (n - 2)^2 points, so a single block costs 1.
The reward is (score - low) / (high - low). The bounds follow from the first board, where colour c has n_c blocks:
low = -sum (n_c - 2)^2, as if nothing were ever removed, and high = 1000 + sum (n_c - 2)^2 over the n_c >= 2, as if
every colour went in one move. A split group scores less, for (a - 2)^2 + (b - 2)^2 <= (a + b - 2)^2, so no game leaves
the bounds. They are far apart, so `exploration` is small: 100 points on the standard board are 0.5 % of reward.

A move is the group's leftmost block, and the lowest of these if several are leftmost. How the board is stored, and how
groups are found and removed, is in `samegame_groups.py`.
"""

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from treespan.core.errors import PositionError
from treespan.core.jit import njit
from treespan.core.options import option
from treespan.core.rng import below, hash_table
from treespan.games.rules import FIRST, Game, noted
from treespan.games.samegame_groups import (
    EMPTY,
    NONE,
    close_columns,
    drop_blocks,
    list_groups,
    mark_removed,
    may_be_first,
    outlined_blocks,
)

if TYPE_CHECKING:
    from treespan.games.samegame_manners import SameGameManners

CLEAR_BONUS = 1000
MAX_POINTS = 10**9  # largest score that a diagram may state
RANDOM_TRIES = 64  # cells tried at random before all groups are listed, which costs as much
COLUMN_NAMES = "abcdefghijklmnopqrst"
CELL_SYMBOLS = ".123456789"


@njit
def remove_group(state, first):
    """Remove the group of `first` and score it."""
    board, color, stride = state.board, state.board[first], np.uint64(state.stride)
    size, last = mark_removed(board, np.uint64(first), stride)
    first_column, last_column = np.int64(np.uint64(first) // stride), np.int64(last // stride)
    emptied = False
    for column in range(first_column, last_column + 1):
        if not drop_blocks(board, column, stride):
            emptied = True
    if emptied:
        state.columns = close_columns(board, first_column, np.int64(state.columns), np.int64(stride))
    state.left[color] -= size
    state.score += (size - 2) * (size - 2)


@njit
def penalty(left):
    """Return the points that the blocks left of each colour cost at the end."""
    points = 0
    for color in range(1, len(left)):
        blocks = np.int64(left[color])
        if blocks > 0:
            points += (blocks - 2) * (blocks - 2)
    return points


@njit
def final_score(state):
    """Return the score of a finished game."""
    bonus = CLEAR_BONUS if state.columns == 0 else 0
    return np.int64(state.score) + bonus - penalty(state.left)


@dataclass(frozen=True)
class SameGame(Game):
    name = "samegame"
    summary = "clear coloured blocks, one player (Schadd et al. 2008)"
    players = 1
    exploration = 0.05  # results of playouts lie within a few hundredths of each other

    width: int = option(15, "columns", low=2, high=20)
    height: int = option(15, "rows", low=2, high=20)
    colors: int = option(5, "colours", low=2, high=9)
    seed: int = option(1, "which random board")
    tabu: bool = option(False, "playouts spare the most frequent colour while they can (TabuColorRandom)")

    @property
    def fields(self) -> Any:
        return (
            ("board", np.uint8, ((self.width + 2) * self.stride,)),  # EMPTY or a colour 1..9
            ("left", np.uint16, (self.colors + 1,)),  # blocks left, by colour
            ("score", np.int32),  # points so far, without bonus and penalty
            ("low", np.int32),  # score whose reward is 0
            ("high", np.int32),  # score whose reward is 1
            ("columns", np.uint8),  # not empty
            ("stride", np.uint8),  # cells from a block to its right neighbour
            ("tabu", np.uint8),  # 1 if playouts spare a colour
            ("to_play", np.int8),
        )

    @property
    def stride(self) -> int:
        return self.height + 1

    @property
    def max_moves(self) -> int:
        return self.width * self.height // 2

    @property
    def move_ids(self) -> int:
        return (self.width + 1) * self.stride

    @property
    def max_plies(self) -> int:
        return self.width * self.height // 2

    def setup(self, state: Any) -> None:
        upper_halves = hash_table(self.seed, (self.width, self.height)) >> np.uint64(32)
        self._fill(state, 1 + ((upper_halves * np.uint64(self.colors)) >> np.uint64(32)))

    def _fill(self, state: Any, colors: np.ndarray) -> None:
        """Put `colors`, by column and row, on the board of a zeroed record."""
        cells = np.zeros((self.width + 2, self.stride), dtype=np.uint8)
        cells[1:-1, :-1] = colors
        state.board[:] = cells.ravel()
        state.left[:] = np.bincount(cells.ravel(), minlength=self.colors + 1)
        state.left[EMPTY] = 0
        state.columns = int((cells[:, 0] != EMPTY).sum())
        state.stride = self.stride
        state.tabu = self.tabu
        state.low = -penalty(state.left)
        state.high = CLEAR_BONUS + sum((int(blocks) - 2) ** 2 for blocks in state.left if blocks >= 2)

    def score(self, state: Any) -> int:
        """Return the points so far, with bonus and penalty if the game is over."""
        moves = np.zeros(self.max_moves, dtype=np.int32)
        if list_groups(state.board, int(state.columns), np.uint64(state.stride), EMPTY, moves) > 0:
            return int(state.score)
        return int(final_score(state))

    @staticmethod
    def legal_moves(state, moves):
        return list_groups(state.board, np.int64(state.columns), np.uint64(state.stride), EMPTY, moves)

    @staticmethod
    def play(state, move):
        remove_group(state, move)

    @staticmethod
    def reward(state):
        return (final_score(state) - state.low) / (np.float64(state.high) - state.low)

    # The key is the default, a hash of the whole record. A key that moves keep up to date would have to follow all
    # falling blocks, also in playouts, which need no key. A hash at each node of the tree costs less.

    @staticmethod
    def playout(state, random, trace, moves):
        """Remove uniformly random groups; with `tabu`, not of the most frequent colour while there are others."""
        board, stride = state.board, np.uint64(state.stride)
        avoided = EMPTY
        if state.tabu:
            for color in range(1, len(state.left)):
                if state.left[color] > state.left[avoided]:
                    avoided = color
        plies = 0
        while plies < len(trace):
            cells = np.uint64(state.columns) * stride
            move = NONE
            for _ in range(RANDOM_TRIES):  # every group has exactly one first cell, so the choice is uniform
                cell = stride + below(random, cells)
                if board[cell] != avoided and may_be_first(board, cell, stride):
                    if outlined_blocks(board, cell, stride) != NONE:
                        move = cell
                        break
            if move == NONE:
                count = list_groups(board, np.int64(state.columns), stride, avoided, moves)
                if count == 0 and avoided != EMPTY:
                    count = list_groups(board, np.int64(state.columns), stride, EMPTY, moves)
                if count == 0:
                    break
                move = np.uint64(moves[below(random, count)])
            remove_group(state, move)
            trace[plies] = noted(np.int64(move), FIRST)
            plies += 1
        return plies

    @staticmethod
    def priors(state, moves, count, weights):
        """Weigh groups by size. Blocks that a group surrounds count, too."""
        for i in range(count):
            weights[i] = outlined_blocks(state.board, np.uint64(moves[i]), np.uint64(state.stride))

    def describe_result(self, state: Any, reward: float) -> str:
        return f"score {self.score(state)}"

    def move_name(self, move: int) -> str:
        column, row = divmod(move, self.stride)
        return f"{COLUMN_NAMES[column - 1]}{row + 1}"

    def parse_move(self, text: str) -> int:
        column, row = COLUMN_NAMES[: self.width].find(text[:1].lower()), text[1:]
        if not text or column < 0 or not row.isdecimal() or not 1 <= int(row) <= self.height:
            corner = f"{COLUMN_NAMES[self.width - 1]}{self.height}"
            raise PositionError(f"samegame: '{text}' is not a move; name the group's leftmost lowest cell, a1-{corner}")
        return (column + 1) * self.stride + int(row) - 1

    def diagram(self, state: Any) -> str:
        rows = ["".join(row) for row in self.cells(state)]
        return "\n".join([*rows, f"score {state.score}", f"range {state.low} {state.high}"])

    def cells(self, state: Any) -> list[list[str]]:
        board = state.board.reshape(self.width + 2, self.stride)[1:-1, :-1]
        return [[CELL_SYMBOLS[color] for color in row] for row in board.T[::-1]]

    def cell_of(self, state: Any, move: int) -> tuple[int, int]:
        column, row = divmod(move, self.stride)
        return self.height - 1 - row, column - 1

    def manners(self) -> "SameGameManners":
        from treespan.games.samegame_manners import SameGameManners

        numbers = [f"{number:2}" for number in range(self.height, 0, -1)]
        letters = "   " + " ".join(COLUMN_NAMES[: self.width])
        return SameGameManners(self, numbers, below=letters)

    def read_diagram(self, text: str) -> Any:
        """Return the position of a diagram. The lines `score` and `range` may be left out.

        `range` holds the scores of reward 0 and 1. Without it they are those of a game that begins with this board.
        """
        lines = [line.split() for line in text.splitlines() if line.strip()]
        rows, rest = [line[0] for line in lines[: self.height]], lines[self.height :]
        symbols = CELL_SYMBOLS[: self.colors + 1]
        if [len(row) for row in rows] != [self.width] * self.height or set("".join(rows)) - set(symbols):
            raise PositionError(
                f"samegame: a diagram begins with {self.height} rows of {self.width} of '.' and 1-{self.colors}"
            )
        colors = np.array([[symbols.index(symbol) for symbol in row] for row in reversed(rows)], dtype=np.uint8).T
        for column, stack in zip(COLUMN_NAMES, colors, strict=False):
            if stack[np.count_nonzero(stack) :].any():
                raise PositionError(f"samegame: a block in column {column} floats above an empty cell")
        if (np.diff((colors[:, 0] != EMPTY).astype(np.int8)) > 0).any():
            raise PositionError("samegame: an empty column lies left of a column with blocks")
        state = self.new_states(1)[0]
        self._fill(state, colors)
        points, bounds = _read_points(rest)
        worst, best = points + int(state.low), points + int(state.high)
        low, high = bounds or (worst, best)
        if not -MAX_POINTS < low <= worst < best <= high < MAX_POINTS:
            raise PositionError(
                f"samegame: range {low} {high} is too narrow for this board and score, or too wide; "
                f"give {worst} {best} or leave it out"
            )
        state.score, state.low, state.high = points, low, high
        return state


def _read_points(lines: list[list[str]]) -> tuple[int, tuple[int, int] | None]:
    """Return the score and, if given, the range, from the lines below a board."""
    points, bounds = 0, None
    for words in lines:
        try:
            numbers = [int(word) for word in words[1:]]
        except ValueError:
            numbers = []
        if words[0] == "score" and len(numbers) == 1:
            points = numbers[0]
        elif words[0] == "range" and len(numbers) == 2 and numbers[0] < numbers[1]:
            bounds = numbers[0], numbers[1]
        else:
            raise PositionError(
                f"samegame: cannot read '{' '.join(words)}'; below the board stand 'score POINTS' and 'range LOW HIGH'"
            )
    return points, bounds
