"""Hex: connect your two sides of a rhombus. One player always succeeds, so there is no draw.

The first player (X) connects top and bottom, the second (O) left and right. Cells are named by column letter and
row number from the top left corner: `a1`, `b1`, ... A move is the cell's number, row by row.

Rule choice, with `swap=yes` (the pie rule): the second player may answer the first stone with `swap`. The
players keep their sides; instead the stone is mirrored on the diagonal from a1 and becomes the second player's,
which is the same game as changing sides. It is then the first player's turn.
"""

import re
from dataclasses import dataclass
from typing import Any

import numpy as np

from treespan.core.errors import PositionError
from treespan.core.jit import njit
from treespan.core.options import option
from treespan.core.rng import below, hash_words
from treespan.games.hexgrid import (
    EMPTY,
    PLACES,
    SECOND_TO_PLAY,
    STEP,
    STRIDE,
    SYMBOLS,
    WALL,
    ZOBRIST,
    O,
    X,
    cell_name,
    draw,
    join,
    list_empty,
    neighbours,
    parse_cell,
    read_rows,
    shape_weight,
)
from treespan.games.manners import BoardManners
from treespan.games.rules import FIRST, SECOND, Game, noted

SMALLEST, LARGEST = 3, 19
NO_WINNER = 0  # else the winner's stone
NEAR, FAR = 4, 8  # on the border: X | NEAR at the top, X | FAR at the bottom, O | NEAR left, O | FAR right
BOTH_SIDES = np.uint16(3)  # marks of a group that has won; 1 is its near side, 2 its far side
DOWN_DIRECTION = 3


def _tables() -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return, for each size and cell, the place in the grid, the sides touched, and how central it is, from 0 to 1."""
    places = np.zeros((LARGEST - SMALLEST + 1, LARGEST * LARGEST), np.uint16)
    sides = np.zeros((3, *places.shape), np.uint16)
    centrality = np.zeros(places.shape, np.float32)
    for size in range(SMALLEST, LARGEST + 1):
        this, cells = size - SMALLEST, size * size
        row, column = np.divmod(np.arange(cells), size)
        places[this, :cells] = (row + 1) * STRIDE + column + 1
        for stone, line in ((X, row), (O, column)):
            sides[stone, this, :cells] = (line == 0) + 2 * (line == size - 1)
        down, right = row - (size - 1) / 2, column - (size - 1) / 2
        distance = np.maximum(np.maximum(abs(down), abs(right)), abs(down + right))
        centrality[this, :cells] = 1 - distance / distance.max()
    return places, sides, centrality


PLACE, SIDES, CENTRALITY = _tables()  # [size - SMALLEST, cell]; SIDES has the stone before


@njit
def place_of(state, cell):
    return np.uint64(PLACE[state.table, np.uint64(cell)])


@njit
def may_swap(state):
    return state.swap == 1 and state.stones == 1 and state.to_play == SECOND


@njit
def put(state, cell, stone):
    """Put a stone on an empty cell, and set the winner if it connects its sides. Does not pass the turn."""
    place = place_of(state, cell)
    state.board[place] = stone
    state.zobrist ^= ZOBRIST[stone, place]
    state.stones += 1
    sides = SIDES[stone, state.table, np.uint64(cell)]
    sides = join(state.link, place, neighbours(state.board, place, stone), sides)
    if sides & BOTH_SIDES == BOTH_SIDES:
        state.winner = stone


@njit
def first_stone(state):
    """Return the cell of the only stone on the board, an X."""
    cell = 0
    while state.board[place_of(state, cell)] != X:
        cell += 1
    return cell


@njit
def take_over(state):
    """Make the swap move: mirror the only stone on the diagonal and change its owner."""
    size = np.int64(state.width)
    cell = first_stone(state)
    place = place_of(state, cell)
    state.board[place] = EMPTY
    state.zobrist ^= ZOBRIST[X, place]
    state.stones = 0
    put(state, cell % size * size + cell // size, O)


@njit
def winner_of_full_board(board):
    """Return who has connected, by a walk from the top left corner, between X and O, to a far side.

    The X on the left hand of the walk are connected with the top, the O on its right with the left side. The
    player whose far side the walk reaches first has won. A walk looks at about half of the cells.
    """
    at = np.uint64(1)  # an X beside the walk, at first the border above a1
    ahead = DOWN_DIRECTION  # from `at` to the cell that decides where the walk turns
    while True:
        place = at + STEP[ahead]
        stone = board[place]
        if stone & X:
            at = place
            ahead = ahead + 1 if ahead < 5 else 0
        else:
            ahead = ahead - 1 if ahead > 0 else 5
        if stone >= FAR:
            return X if stone & X else O


@dataclass(frozen=True)
class Hex(Game):
    name = "hex"
    summary = "connect two opposite sides; no draws"
    exploration = 0.4  # 0.3 to 0.5 won 60 % against 0.7, sizes 7 and 9, 2,000 to 5,000 playouts a move

    size: int = option(11, "cells along a side", low=SMALLEST, high=LARGEST)
    swap: bool = option(False, "whether the second player may take over the first stone")

    fields = (
        ("zobrist", np.uint64),  # of the stones and the size
        ("link", np.uint16, (PLACES,)),  # union-find of the groups, as hexgrid.py says; marks are sides reached
        ("board", np.uint8, (PLACES,)),  # by place: EMPTY, X, O, or a border with NEAR or FAR
        ("cells", np.int16),  # of the board; as a move, it is the swap
        ("stones", np.int16),  # on the board
        ("width", np.uint8),  # the option `size`, a name that records keep for themselves
        ("table", np.uint8),  # size - SMALLEST: which row of the tables
        ("swap", np.uint8),  # 1: the game has the swap move
        ("winner", np.uint8),  # NO_WINNER, X or O
        ("to_play", np.int8),  # FIRST (X) or SECOND (O)
    )

    @property
    def max_moves(self) -> int:
        return self.size * self.size  # the swap stands in for the cell of the first stone

    @property
    def move_ids(self) -> int:
        return self.size * self.size + self.swap

    @property
    def max_plies(self) -> int:
        return self.size * self.size + self.swap

    def setup(self, state: Any) -> None:
        size, cells = self.size, self.size * self.size
        board = np.full((STRIDE, STRIDE), WALL, dtype=np.uint8)
        board[0, : size + 1] = X | NEAR
        board[1 : size + 1, 0] = O | NEAR
        board[size + 1, : size + 1] = X | FAR
        board[: size + 1, size + 1] = O | FAR
        board[1 : size + 1, 1 : size + 1] = EMPTY
        state.board = board.ravel()
        state.width, state.table, state.cells = size, size - SMALLEST, cells
        state.swap = self.swap
        state.zobrist = hash_words(size)

    @staticmethod
    def legal_moves(state, moves):
        if state.winner != NO_WINNER:
            return 0
        count = list_empty(state.board, PLACE[state.table], state.cells, moves)
        if may_swap(state):
            moves[count] = state.cells
            count += 1
        return count

    @staticmethod
    def play(state, move):
        if move == state.cells:
            take_over(state)
        else:
            put(state, move, state.to_play + 1)
        state.to_play = 1 - state.to_play

    @staticmethod
    def reward(state):
        return 1.0 if state.winner == X else 0.0

    @staticmethod
    def key(state):
        return state.zobrist ^ SECOND_TO_PLAY if state.to_play == SECOND else state.zobrist

    @staticmethod
    def playout(state, random, trace, moves):
        """Fill the board in random order, past any win, and find the winner once: a full board has exactly one."""
        plies = 0
        if state.winner != NO_WINNER:
            return plies
        if may_swap(state) and below(random, state.cells) == 0:
            take_over(state)
            trace[0] = noted(state.cells, SECOND)
            plies = 1
            state.to_play = FIRST
        player = state.to_play
        for left in range(list_empty(state.board, PLACE[state.table], state.cells, moves), 0, -1):
            cell = draw(random, moves, left)
            state.board[place_of(state, cell)] = player + 1
            trace[plies] = noted(cell, player)
            plies += 1
            player = 1 - player
        state.to_play = player
        state.winner = winner_of_full_board(state.board)
        return plies

    @staticmethod
    def priors(state, moves, count, weights):
        """Prefer central cells, contact and bridges; swap a stone that is central."""
        for index in range(count):
            cell = moves[index]
            if cell == state.cells:
                weights[index] = 0.1 + count * CENTRALITY[state.table, np.uint64(first_stone(state))]
            else:
                weight = shape_weight(state.board, place_of(state, cell), state.to_play + 1)
                weights[index] = 1.0 + 3.0 * CENTRALITY[state.table, np.uint64(cell)] + weight

    def move_name(self, move: int) -> str:
        if move == self.size * self.size:
            return "swap"
        return cell_name(move % self.size, move // self.size)

    def parse_move(self, text: str) -> int:
        if self.swap and text.strip().lower() == "swap":
            return self.size * self.size
        cell = parse_cell(text)
        if cell is None or max(cell) >= self.size:
            last = cell_name(self.size - 1, self.size - 1)
            raise PositionError(f"hex: '{text}' is not a move; give a cell from a1 to {last}")
        return cell[0] + cell[1] * self.size

    def diagram(self, state: Any) -> str:
        letters = " ".join(cell_name(column, 0)[0] for column in range(self.size))
        lines = [f"   {letters}"]
        for row in range(self.size):
            start = (row + 1) * STRIDE + 1
            symbols = " ".join(SYMBOLS[stone] for stone in state.board[start : start + self.size])
            lines.append(f"{' ' * row}{row + 1:2} {symbols}")
        return "\n".join([*lines, f"{SYMBOLS[state.to_play + 1]} to move"])

    def cells(self, state: Any) -> list[list[str]]:
        starts = [(row + 1) * STRIDE + 1 for row in range(self.size)]
        return [[SYMBOLS[stone] for stone in state.board[start : start + self.size]] for start in starts]

    def cell_of(self, state: Any, move: int) -> tuple[int, int] | None:
        return divmod(move, self.size) if move < self.size * self.size else None

    def manners(self) -> BoardManners:
        letters = " ".join(cell_name(column, 0)[0] for column in range(self.size))
        numbers = [f"{' ' * row}{row + 1:2}" for row in range(self.size)]
        return BoardManners(self, left=numbers, above=f"   {letters}")

    def read_diagram(self, text: str) -> Any:
        turn = re.search(r"\n\s*([XOxo]) to move\s*$", text)
        rows = text[: turn.start()] if turn else text
        symbols = read_rows("hex", rows, [self.size] * self.size, [""] * self.size)
        crosses, noughts = symbols.count("X"), symbols.count("O")
        state = self.new_state()
        state.to_play = self._side_to_move(crosses, noughts, turn[1].upper() if turn else "")
        for cell, symbol in enumerate(symbols):
            if symbol != SYMBOLS[EMPTY]:
                put(state, cell, SYMBOLS.index(symbol))
        if state.winner == state.to_play + 1:
            raise PositionError(f"hex: {SYMBOLS[state.winner]} has connected already and cannot be to move")
        return state

    def _side_to_move(self, crosses: int, noughts: int, stated: str) -> int:
        """Return who moves, by the number of stones; after a swap, O counts as having put the first one."""
        sides = {0: [FIRST], 1: [SECOND]}.get(crosses - noughts, [])
        if self.swap and noughts > 0:
            sides = sides + {0: [SECOND], -1: [FIRST]}.get(crosses - noughts, [])
        if not sides:
            raise PositionError(f"hex: {crosses} X and {noughts} O cannot arise; X moves first, in turn")
        if stated and SYMBOLS.index(stated) - 1 not in sides:
            raise PositionError(f"hex: with {crosses} X and {noughts} O it cannot be {stated} to move")
        return SYMBOLS.index(stated) - 1 if stated else sides[0]

    def describe_result(self, state: Any, reward: float) -> str:
        results = {X: "first player (X) connects top and bottom", O: "second player (O) connects left and right"}
        return results[int(state.winner)]
