"""Havannah: a hexagonal board, and three ways to win it with connected stones of one colour.

    ring     a loop around one or more cells, whatever is on them
    bridge   two of the six corners connected
    fork     three of the six sides connected; a corner belongs to no side

A full board without any of them is a draw. There is no swap move.

Cells are named by letter and number: the number is the row from the top, the letter the diagonal that runs down to
the left; a1 is the top left corner. A move is the cell's number, row by row.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any

import numpy as np

from treespan.core.errors import PositionError
from treespan.core.jit import njit, njit_inline
from treespan.core.options import option
from treespan.core.rng import below, hash_words
from treespan.games.board import Board, Cell
from treespan.games.hexgrid import (
    ALL_SIX,
    EMPTY,
    MIDDLES,
    PLACES,
    RING,
    SECOND_TO_PLAY,
    STEP,
    STRIDE,
    SYMBOLS,
    TURNED_ONE,
    TURNED_TWO,
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
from treespan.games.position import Position
from treespan.games.rules import SECOND, Game, noted

SMALLEST, LARGEST = 4, 10
NO_WINNER = 0  # else the winner's stone
WON_BY_RING, WON_BY_BRIDGE, WON_BY_FORK = 1, 2, 4
# A group's marks: bits 0 to 5 are the sides that it touches, 6 to 11 the corners.
SIDES, FIRST_CORNER, EDGE_MARKS = 0o77, 0o100, np.uint16(0o7777)


@cache
def cells_of(base: int) -> tuple[tuple[int, int], ...]:
    """Return column and row of each cell, row by row. Columns are letters: rows below the middle start after `a`."""
    width = 2 * base - 1
    return tuple((column, row) for row in range(width) for column in range(width) if abs(column - row) < base)


def _tables() -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return, for each base and cell, the place in the grid, the side or corner, and how central it is, from 0 to 1."""
    places = np.zeros((LARGEST - SMALLEST + 1, len(cells_of(LARGEST))), np.uint16)
    marks = np.zeros(places.shape, np.uint16)
    centrality = np.zeros(places.shape, np.float32)
    for base in range(SMALLEST, LARGEST + 1):
        corners = 0
        for cell, (column, row) in enumerate(cells_of(base)):
            # Rows upside down: the grid's diagonal neighbours are then those of this board.
            places[base - SMALLEST, cell] = (2 * base - 1 - row) * STRIDE + column + 1
            right, down, rim = column - base + 1, row - base + 1, base - 1  # from the centre
            axes = (right, down, right - down)
            touched = [sign * axis == rim for axis in axes for sign in (1, -1)]
            if sum(touched) == 2:
                marks[base - SMALLEST, cell] = FIRST_CORNER << corners
                corners += 1
            elif sum(touched) == 1:
                marks[base - SMALLEST, cell] = 1 << touched.index(True)
            centrality[base - SMALLEST, cell] = 1 - max(map(abs, axes)) / rim
    return places, marks, centrality


def _wins() -> np.ndarray:
    """Return what a group has won by, for each set of marks. Rings are not known by marks."""
    marks = np.arange(EDGE_MARKS + 1)
    bridge = np.bitwise_count(marks // FIRST_CORNER) >= 2
    fork = np.bitwise_count(marks & SIDES) >= 3
    wins: np.ndarray = (bridge * WON_BY_BRIDGE + fork * WON_BY_FORK).astype(np.uint8)
    return wins


def _cells() -> np.ndarray:
    """Return, for each base, the cell at each place of the grid. Places outside the board are never asked for."""
    cells = np.zeros((len(PLACE), PLACES), np.int32)
    for base in range(SMALLEST, LARGEST + 1):
        count = len(cells_of(base))
        cells[base - SMALLEST, PLACE[base - SMALLEST, :count]] = np.arange(count)
    return cells


PLACE, MARKS, CENTRALITY = _tables()  # [base - SMALLEST, cell]
CELL = _cells()  # int32[base - SMALLEST, place]
WON_BY = _wins()  # uint8[4096], by marks


@njit
def place_of(state, cell):
    return np.uint64(PLACE[state.table, np.uint64(cell)])


@njit
def fills_ring(board, place, stone, own):
    """Whether a neighbour of `place` is now a stone with six of its colour around it: a ring without a hole."""
    middles = MIDDLES[own]
    if middles:
        for direction in range(6):
            if middles >> direction & 1:
                if neighbours(board, place + STEP[direction], stone) == ALL_SIX:
                    return True
    return False


@njit
def put(state, cell, stone):
    """Put a stone on an empty cell, and set the winner if it wins. Does not pass the turn."""
    place = place_of(state, cell)
    board = state.board
    board[place] = stone
    state.zobrist ^= ZOBRIST[stone, place]
    own = neighbours(board, place, stone)
    marks = join(state.link, place, own, MARKS[state.table, np.uint64(cell)])
    won_by = WON_BY[marks & EDGE_MARKS]
    if marks & RING or fills_ring(board, place, stone, own):
        won_by |= WON_BY_RING
    if won_by:
        state.won_by |= won_by
        state.winner = stone


@njit
def bridge_reply(state, cell, stone, random):
    """Return a cell that saves a bridge of `stone` after the enemy's intrusion at `cell`; -1 if there is none."""
    place = place_of(state, cell)
    own = neighbours(state.board, place, stone)
    saving = np.int64(own & TURNED_ONE[neighbours(state.board, place, EMPTY)] & TURNED_TWO[own])
    if not saving:
        return np.int32(-1)
    direction = np.int64(below(random, 6))  # where to begin, if there are several
    while not saving >> direction & 1:
        direction = (direction + 1) % 6
    return CELL[state.table, place + STEP[(direction + 1) % 6]]


@njit_inline
def play_out(state, random, trace, moves, with_bridges):
    """Random moves until somebody has won or the board is full."""
    if state.winner != NO_WINNER:
        return 0
    plies = 0
    player, reply = state.to_play, np.int32(-1)
    left = list_empty(state.board, PLACE[state.table], state.cells, moves)
    while left > 0 and state.winner == NO_WINNER:
        if reply >= 0:
            cell = reply  # it stays among the moves, to be passed over when it is drawn
        else:
            cell = draw(random, moves, left)
            left -= 1
            if state.board[place_of(state, cell)] != EMPTY:
                continue
        trace[plies] = noted(cell, player)
        plies += 1
        put(state, cell, player + 1)
        player = 1 - player
        if with_bridges:
            reply = bridge_reply(state, cell, player + 1, random)
    state.to_play = player
    return plies


@dataclass(frozen=True)
class Havannah(Game):
    name = "havannah"
    summary = "ring, bridge or fork on a hexagonal board"
    policies = ("light", "bridges")  # `bridges`: a player answers an intrusion into a bridge
    exploration = 0.3  # won 65 to 70 % against 0.7, bases 5 and 6, 2,000 to 4,000 playouts a move

    base: int = option(8, "cells along each of the six sides", low=SMALLEST, high=LARGEST)

    fields = (
        ("zobrist", np.uint64),  # of the stones and the base
        ("link", np.uint16, (PLACES,)),  # union-find of the groups, as hexgrid.py says
        ("board", np.uint8, (PLACES,)),  # by place: EMPTY, X, O, or WALL outside
        ("cells", np.int16),  # of the board
        ("table", np.uint8),  # base - SMALLEST: which row of the tables
        ("winner", np.uint8),  # NO_WINNER, X or O
        ("won_by", np.uint8),  # sum of WON_BY_RING, WON_BY_BRIDGE and WON_BY_FORK
        ("to_play", np.int8),  # FIRST (X) or SECOND (O)
    )

    @property
    def max_moves(self) -> int:
        return 3 * self.base * (self.base - 1) + 1

    @property
    def max_plies(self) -> int:
        return self.max_moves

    def setup(self, state: Any) -> None:
        state.table, state.cells = self.base - SMALLEST, self.max_moves
        state.board[:] = WALL
        state.board[PLACE[state.table, : state.cells]] = EMPTY
        state.zobrist = hash_words(self.base)

    @staticmethod
    def legal_moves(state, moves):
        if state.winner != NO_WINNER:
            return 0
        return list_empty(state.board, PLACE[state.table], state.cells, moves)

    @staticmethod
    def play(state, move):
        put(state, move, state.to_play + 1)
        state.to_play = 1 - state.to_play

    @staticmethod
    def reward(state):
        return 0.5 if state.winner == NO_WINNER else (1.0 if state.winner == X else 0.0)

    @staticmethod
    def key(state):
        return state.zobrist ^ SECOND_TO_PLAY if state.to_play == SECOND else state.zobrist

    @staticmethod
    def playout_light(state, random, trace, moves):
        return play_out(state, random, trace, moves, False)

    @staticmethod
    def playout_bridges(state, random, trace, moves):
        return play_out(state, random, trace, moves, True)

    @staticmethod
    def priors(state, moves, count, weights):
        """Prefer central cells, contact and bridges."""
        for index in range(count):
            cell = moves[index]
            weight = shape_weight(state.board, place_of(state, cell), state.to_play + 1)
            weights[index] = 1.0 + 3.0 * CENTRALITY[state.table, np.uint64(cell)] + weight

    def move_name(self, move: int) -> str:
        return cell_name(*cells_of(self.base)[move]) if 0 <= move < self.max_moves else str(move)

    def parse_move(self, text: str) -> int:
        cell, cells = parse_cell(text), cells_of(self.base)
        if cell is None or cell not in cells:
            raise PositionError(f"havannah: '{text}' is not a move; give a cell from a1 to {cell_name(*cells[-1])}")
        return cells.index(cell)

    def diagram(self, state: Any) -> str:
        lines = [" " * (self.base + 3) + " ".join(cell_name(column, 0)[0] for column in range(self.base))]
        first = 0
        for row, (length, label) in enumerate(zip(*self._rows(), strict=True)):
            places = PLACE[self.base - SMALLEST, first : first + length]
            symbols = " ".join(SYMBOLS[stone] for stone in state.board[places])
            lines.append(f"{' ' * (2 * self.base - 1 - length)}{row + 1:2} {symbols} {label}".rstrip())
            first += length
        return "\n".join(lines)

    def read_diagram(self, text: str) -> Any:
        symbols = read_rows("havannah", text, *self._rows())
        crosses, noughts = symbols.count("X"), symbols.count("O")
        if crosses - noughts not in (0, 1):
            raise PositionError(f"havannah: {crosses} X and {noughts} O cannot arise; X moves first, in turn")
        state = self.new_state()
        state.to_play = crosses - noughts
        winners = set()
        for cell, symbol in enumerate(symbols):
            if symbol != SYMBOLS[EMPTY]:
                put(state, cell, SYMBOLS.index(symbol))
                winners.add(int(state.winner))
        if {X, O} <= winners:
            raise PositionError("havannah: both players have won; the first win ends the game")
        if state.winner == state.to_play + 1:
            raise PositionError(f"havannah: {SYMBOLS[state.winner]} has won already and cannot be to move")
        return state

    def manners(self) -> "HavannahManners":
        return HavannahManners(self)

    def describe_result(self, state: Any, reward: float) -> str:
        if state.winner == NO_WINNER:
            return "draw: the board is full"
        shapes = {"ring": WON_BY_RING, "bridge": WON_BY_BRIDGE, "fork": WON_BY_FORK}
        made = " and ".join(shape for shape, bit in shapes.items() if state.won_by & bit)
        return f"{'first player (X)' if state.winner == X else 'second player (O)'} wins by {made}"

    def _rows(self) -> tuple[list[int], list[str]]:
        """Return how many cells each row of a diagram has, and which letter stands at its end."""
        base = self.base
        lengths = [2 * base - 1 - abs(base - 1 - row) for row in range(2 * base - 1)]
        labels = [cell_name(base + row, 0)[0] if row < base - 1 else "" for row in range(2 * base - 1)]
        return lengths, labels


@dataclass(frozen=True)
class HavannahManners(BoardManners):
    """A board whose rows have different lengths; each begins further left or right."""

    game: Havannah

    def board(self, positions: Sequence[Position]) -> Board:
        header, *lines = self.game.diagram(positions[-1].state).splitlines()
        lengths, labels = self.game._rows()
        begins = [2 * self.game.base + 1 - length for length in lengths]  # where the row's number ends
        cells = [
            line[begin + 1 : begin + 2 * length : 2] for line, begin, length in zip(lines, begins, lengths, strict=True)
        ]
        left = [line[:begin] for line, begin in zip(lines, begins, strict=True)]
        return Board(cells, left, labels, above=header, last=self.last_cell(positions))

    def cell_of(self, position: Position, move: int) -> Cell:
        column, row = cells_of(self.game.base)[move]
        return row, column - max(0, row + 1 - self.game.base)
