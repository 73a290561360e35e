"""Tic-tac-toe: the shortest game of the package, and the example of `docs/add-a-game.md`."""

from dataclasses import dataclass
from typing import Any

import numpy as np

from treespan.core.errors import PositionError
from treespan.core.jit import njit
from treespan.games.rules import Game

SYMBOLS = ".XO"
NO_WINNER = 0  # else the winner's stone: 1 for X, 2 for O
LINES = np.array(
    [[0, 1, 2], [3, 4, 5], [6, 7, 8], [0, 3, 6], [1, 4, 7], [2, 5, 8], [0, 4, 8], [2, 4, 6]], dtype=np.uint8
)


@njit
def has_line(board, stone):
    """Whether `stone` fills one of the eight lines."""
    for line in range(8):
        if board[LINES[line, 0]] == stone and board[LINES[line, 1]] == stone and board[LINES[line, 2]] == stone:
            return True
    return False


@dataclass(frozen=True)
class TicTacToe(Game):
    name = "tictactoe"
    summary = "three in a row on 3x3"
    exploration = 1.0

    fields = (
        ("board", np.uint8, (9,)),  # 0 empty, 1 X, 2 O; row by row from the top
        ("stones", np.int8),
        ("winner", np.int8),
        ("to_play", np.int8),
    )
    max_moves = 9
    max_plies = 9

    @staticmethod
    def legal_moves(state, moves):
        count = 0
        if state.winner == NO_WINNER:
            for cell in range(9):
                if state.board[cell] == 0:
                    moves[count] = cell
                    count += 1
        return count

    @staticmethod
    def play(state, move):
        stone = state.to_play + 1
        state.board[move] = stone
        state.stones += 1
        if has_line(state.board, stone):
            state.winner = stone
        state.to_play = 1 - state.to_play

    @staticmethod
    def reward(state):
        return 0.5 if state.winner == NO_WINNER else (1.0 if state.winner == 1 else 0.0)

    def move_name(self, move: int) -> str:
        return "abc"[move % 3] + str(3 - move // 3)

    def parse_move(self, text: str) -> int:
        if len(text) != 2 or text[0].lower() not in "abc" or text[1] not in "123":
            raise PositionError(f"tictactoe: '{text}' is not a move; give a column a-c and a row 1-3, as b2")
        return "abc".index(text[0].lower()) + 3 * (3 - int(text[1]))

    def diagram(self, state: Any) -> str:
        rows = ("".join(SYMBOLS[stone] for stone in state.board[row : row + 3]) for row in (0, 3, 6))
        return "\n".join(rows)

    def read_diagram(self, text: str) -> Any:
        rows = text.upper().split()
        if [len(row) for row in rows] != [3, 3, 3] or set("".join(rows)) - set(SYMBOLS):
            raise PositionError("tictactoe: a diagram is three rows of three of '.', 'X' and 'O'")
        state = self.new_state()
        state.board[:] = [SYMBOLS.index(symbol) for symbol in "".join(rows)]
        crosses, noughts = (int((state.board == stone).sum()) for stone in (1, 2))
        if crosses - noughts not in (0, 1):
            raise PositionError(f"tictactoe: {crosses} X and {noughts} O cannot arise; X moves first, in turn")
        state.stones = crosses + noughts
        state.to_play = crosses - noughts
        winners = [stone for stone in (1, 2) if has_line(state.board, stone)]
        if len(winners) == 2:
            raise PositionError("tictactoe: both sides have three in a row, which cannot arise")
        state.winner = winners[0] if winners else NO_WINNER
        return state
