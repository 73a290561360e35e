"""Tic-tac-toe: the shortest game of the package, and the example of `docs/add-a-game.md`."""

from dataclasses import dataclass
from typing import Any

import numpy as np

from treespan.core.errors import PositionError
from treespan.games.manners import BoardManners
from treespan.games.rules import Game

SYMBOLS = ".XO"
NO_WINNER = 0  # else 1 for X, 2 for O
FULL = 511  # all nine cells
LINES = (0o700, 0o070, 0o007, 0o444, 0o222, 0o111, 0o421, 0o124)  # as sets of cells: bit i is cell i
HAS_LINE = np.array([any(cells & line == line for line in LINES) for cells in range(FULL + 1)])


@dataclass(frozen=True)
class TicTacToe(Game):
    name = "tictactoe"
    summary = "three in a row on 3x3"

    fields = (
        ("cells", np.uint16, (2,)),  # set of the cells that X and O have; row by row from the top
        ("winner", np.int8),  # NO_WINNER, 1 or 2
        ("to_play", np.int8),
    )
    max_moves = 9
    max_plies = 9

    @staticmethod
    def legal_moves(state, moves):
        count = 0
        if state.winner == NO_WINNER:
            taken = state.cells[0] | state.cells[1]
            for cell in range(9):
                # Always written, but counted only if free: this avoids a branch that no processor can predict.
                moves[count] = cell
                count += 1 - ((taken >> cell) & 1)
        return count

    @staticmethod
    def play(state, move):
        cells = state.cells[state.to_play] | (1 << move)
        state.cells[state.to_play] = cells
        if HAS_LINE[cells]:
            state.winner = state.to_play + 1
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
        crosses, noughts = (int(cells) for cells in state.cells)
        stones = "".join(SYMBOLS[(crosses >> cell & 1) + 2 * (noughts >> cell & 1)] for cell in range(9))
        return "\n".join(stones[row : row + 3] for row in (0, 3, 6))

    def cells(self, state: Any) -> list[list[str]]:
        return [list(row) for row in self.diagram(state).splitlines()]

    def cell_of(self, state: Any, move: int) -> tuple[int, int]:
        return divmod(move, 3)

    def manners(self) -> BoardManners:
        return BoardManners(self, left=["3", "2", "1"], below="  a b c")

    def read_diagram(self, text: str) -> Any:
        rows = text.upper().split()
        if [len(row) for row in rows] != [3, 3, 3] or set("".join(rows)) - set(SYMBOLS):
            raise PositionError("tictactoe: a diagram is three rows of three of '.', 'X' and 'O'")
        stones = "".join(rows)
        state = self.new_state()
        crosses, noughts = stones.count("X"), stones.count("O")
        if crosses - noughts not in (0, 1):
            raise PositionError(f"tictactoe: {crosses} X and {noughts} O cannot arise; X moves first, in turn")
        for player, symbol in enumerate("XO"):
            state.cells[player] = sum(1 << cell for cell in range(9) if stones[cell] == symbol)
        state.to_play = crosses - noughts
        winners = [player + 1 for player in (0, 1) if HAS_LINE[state.cells[player]]]
        if len(winners) == 2:
            raise PositionError("tictactoe: both sides have three in a row, which cannot arise")
        state.winner = winners[0] if winners else NO_WINNER
        return state
