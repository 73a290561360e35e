"""Connect Four: 7 columns of 6 cells; four stones in a row, column or diagonal win.

A position is two bitboards. Bit 7 * column + row is a cell, row 0 at the bottom; the seventh bit of each column
stays empty, so that a line cannot run from one column's top into the next column's bottom. Adding 1 at the
bottom of a column of stones carries into the first free cell: that is how a stone falls.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np

from treespan.core.errors import PositionError
from treespan.core.jit import njit
from treespan.core.rng import mix64, next64
from treespan.games.manners import BoardManners
from treespan.games.position import Position
from treespan.games.rules import Game, noted

COLUMNS, ROWS = 7, 6
SYMBOLS = ".XO"
COLUMN_NAMES = "1234567"
NO_WINNER = 0  # else the winner's stone: 1 for X, 2 for O
BOTTOM = np.uint64(sum(1 << 7 * column for column in range(COLUMNS)))
COLUMN = np.uint64((1 << ROWS) - 1)  # the cells of the first column
BOARD = np.uint64(int(BOTTOM) * int(COLUMN))
EMPTY = np.uint64(0)
WIN_WEIGHT, BLOCK_WEIGHT = 100.0, 50.0  # priors of moves that win at once, and of moves that prevent that
LINES_THROUGH = np.array(  # how many of the 69 possible fours contain a cell, by column and row
    [
        [3, 4, 5, 5, 4, 3],
        [4, 6, 8, 8, 6, 4],
        [5, 8, 11, 11, 8, 5],
        [7, 10, 13, 13, 10, 7],
        [5, 8, 11, 11, 8, 5],
        [4, 6, 8, 8, 6, 4],
        [3, 4, 5, 5, 4, 3],
    ],
    dtype=np.float32,
)
COLUMN_BITS = np.uint64(3)  # random bits that pick a column
COLUMN_PICK = np.uint64(7)  # their mask; 7 itself lies outside the board and picks nothing
PICKS = 21  # in 64 random bits
_S1, _S2, _S6, _S7, _S8, _S12, _S14, _S16 = (np.uint64(n) for n in (1, 2, 6, 7, 8, 12, 14, 16))


@njit
def has_four(stones):  # uint64 -> bool
    """Whether the stones hold a line of four."""
    vertical = stones & (stones >> _S1)
    horizontal = stones & (stones >> _S7)
    rising = stones & (stones >> _S8)
    falling = stones & (stones >> _S6)
    fours = (
        (vertical & (vertical >> _S2))
        | (horizontal & (horizontal >> _S14))
        | (rising & (rising >> _S16))
        | (falling & (falling >> _S12))
    )
    return fours != EMPTY


@njit
def landing_cell(mask, column):  # uint64, uint64 -> uint64
    """Return the cell, as a bit, where a stone dropped into `column` comes to rest; EMPTY if the column is full."""
    return (mask + BOTTOM) & (COLUMN << (_S7 * column)) & BOARD


@dataclass(frozen=True)
class ConnectFour(Game):
    name = "connect4"
    summary = "four in a row on 7x6, stones fall"
    exploration = 1.0

    fields = (
        ("mover", np.uint64),  # stones of the player to move
        ("mask", np.uint64),  # stones of both
        ("winner", np.int8),  # NO_WINNER or the winner's stone
        ("to_play", np.int8),
    )
    max_moves = COLUMNS
    max_plies = COLUMNS * ROWS

    @staticmethod
    def legal_moves(state, moves):
        count = 0
        if state.winner == NO_WINNER:
            for column in range(COLUMNS):
                if landing_cell(state.mask, np.uint64(column)) != EMPTY:
                    moves[count] = column
                    count += 1
        return count

    @staticmethod
    def play(state, move):
        cell = landing_cell(state.mask, np.uint64(move))
        stones = state.mover | cell
        state.mover ^= state.mask  # the opponent's stones: it is their turn now
        state.mask |= cell
        if has_four(stones):
            state.winner = state.to_play + 1
        state.to_play = 1 - state.to_play

    @staticmethod
    def reward(state):
        return 0.5 if state.winner == NO_WINNER else (1.0 if state.winner == 1 else 0.0)

    @staticmethod
    def key(state):
        # The sum is unique: in every column the mover's stones are added to a run of ones that they lie within.
        return mix64(state.mover + state.mask)

    @staticmethod
    def playout(state, random, trace, moves):
        """Uniformly random moves."""
        if state.winner != NO_WINNER:
            return 0
        mover, mask, player = state.mover, state.mask, np.int64(state.to_play)
        bits, picks, plies = EMPTY, 0, 0
        while mask != BOARD:
            cell = EMPTY
            column = EMPTY
            while cell == EMPTY:  # a full column, or no column, was picked: picking again keeps the choice uniform
                if picks == 0:
                    bits = next64(random)
                    picks = PICKS
                column = bits & COLUMN_PICK
                bits >>= COLUMN_BITS
                picks -= 1
                cell = landing_cell(mask, column)
            trace[plies] = noted(np.int64(column), player)
            plies += 1
            stones = mover | cell
            mover ^= mask
            mask |= cell
            if has_four(stones):
                state.winner = player + 1
                player = 1 - player
                break
            player = 1 - player
        state.mover = mover
        state.mask = mask
        state.to_play = player
        return plies

    @staticmethod
    def priors(state, moves, count, weights):
        """Weigh moves by the lines through the landing cell; moves that win or prevent a win come first."""
        opponent = state.mover ^ state.mask
        for i in range(count):
            column = moves[i]
            cell = landing_cell(state.mask, np.uint64(column))
            if has_four(state.mover | cell):
                weights[i] = WIN_WEIGHT
            elif has_four(opponent | cell):
                weights[i] = BLOCK_WEIGHT
            else:
                row = 0
                bottom_cell = _S1 << (_S7 * np.uint64(column))
                while (bottom_cell << np.uint64(row)) != cell:
                    row += 1
                weights[i] = LINES_THROUGH[column, row]

    def move_name(self, move: int) -> str:
        return str(move + 1)

    def parse_move(self, text: str) -> int:
        if len(text) != 1 or text not in COLUMN_NAMES:
            raise PositionError(f"connect4: '{text}' is not a move; give a column 1-7, counted from the left")
        return int(text) - 1

    def diagram(self, state: Any) -> str:
        mover, mask = int(state.mover), int(state.mask)
        stones = {True: SYMBOLS[1 + int(state.to_play)], False: SYMBOLS[2 - int(state.to_play)]}

        def symbol(column: int, row: int) -> str:
            cell = 1 << (7 * column + row)
            return stones[bool(mover & cell)] if mask & cell else SYMBOLS[0]

        rows = ("".join(symbol(column, row) for column in range(COLUMNS)) for row in reversed(range(ROWS)))
        return "\n".join([*rows, COLUMN_NAMES])

    def cells(self, state: Any) -> list[list[str]]:
        return [list(row) for row in self.diagram(state).splitlines()[:ROWS]]

    def cell_of(self, state: Any, move: int) -> tuple[int, int]:
        height = sum(row[move] != SYMBOLS[0] for row in self.cells(state))
        return ROWS - 1 - height, move

    def manners(self) -> "ConnectFourManners":
        return ConnectFourManners(self, below=" " + " ".join(COLUMN_NAMES))

    def read_diagram(self, text: str) -> Any:
        rows = text.upper().split()
        if rows[-1:] == [COLUMN_NAMES]:
            rows.pop()
        if [len(row) for row in rows] != [COLUMNS] * ROWS or set("".join(rows)) - set(SYMBOLS):
            raise PositionError("connect4: a diagram is six rows of seven of '.', 'X' and 'O'")
        boards = {"X": 0, "O": 0}
        for column in range(COLUMNS):
            stack = "".join(row[column] for row in reversed(rows))
            if "." in stack.rstrip("."):
                raise PositionError(f"connect4: a stone in column {column + 1} floats above an empty cell")
            for row, symbol in enumerate(stack.rstrip(".")):
                boards[symbol] |= 1 << (7 * column + row)
        crosses, noughts = (board.bit_count() for board in boards.values())
        if crosses - noughts not in (0, 1):
            raise PositionError(f"connect4: {crosses} X and {noughts} O cannot arise; X moves first, in turn")
        state = self.new_state()
        state.to_play = crosses - noughts
        state.mover = np.uint64(boards["XO"[int(state.to_play)]])
        state.mask = np.uint64(boards["X"] | boards["O"])
        for stone, symbol in ((1, "X"), (2, "O")):
            if has_four(np.uint64(boards[symbol])):
                if stone == 1 + int(state.to_play):
                    raise PositionError(f"connect4: {symbol} has four in a row but the other side moved last")
                state.winner = stone
        return state


class ConnectFourManners(BoardManners):
    def why_illegal(self, position: Position, move: int) -> str:
        return "that column is full"
