"""What Go adds to an engine: when to pass, dead stones, komi, either player's turn, SGF, GTP."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Any

import numpy as np

from treespan.games.board import Board, Cell
from treespan.games.go.board import BLACK, EMPTY, NO_KO, PASS
from treespan.games.go.game import COLUMNS, Go
from treespan.games.go.safety import safe_points
from treespan.games.go.sgf import add_moves, new_sgf
from treespan.games.go.status import assess, read_score, score_text, sensible_moves, stones
from treespan.games.manners import GetStatus, Manners, Status
from treespan.games.position import Position
from treespan.games.rules import FIRST

# Signs and styles of a board with colours. The cross of a star point stays, a point is a small dot.
STONES = {"X": ("●", "#000000"), "O": ("●", "#ffffff"), ".": ("·", "#7d6331"), "+": ("+", "#5f4a20")}
WOOD = "on #dcb35c"
LETTERS = {"resignation": "R", "time": "T"}  # in SGF's results; any other fault is a forfeit, F


@dataclass(frozen=True)
class GoManners(Manners):
    game: Go
    has_status = True
    names = ("Black", "White")
    file_format = "SGF"
    has_gtp = True

    def turned(self, position: Position, player: int) -> Position:
        """Return the position with `player` to move, also after both have passed. A changed position has no ko."""
        state = position.state
        is_over = state.passes >= 2 or state.plies_left <= 0
        if int(state.to_play) == player and not is_over:
            return position
        start = Position(self.game, state).state
        start.to_play, start.passes, start.ko, start.plies_left = player, 0, NO_KO, self.game.max_plies
        turned = Position(self.game, start)
        turned.history = list(position.history)
        return turned

    # Passing: no pass ends the game while a useful move is left, unless the player wins with dead stones removed as
    # well as with dead stones alive.

    def obvious_move(self, position: Position, may_pass: bool, get_status: GetStatus) -> int | None:
        """Return a pass that wins: it ends the game, or the opponent can take nothing any more."""
        if may_pass and (_ends_by_pass(position) or is_won_for_good(position.state)):
            return int(PASS) if wins_as_it_stands(position.state, get_status()) else None
        return None

    def banned_moves(self, position: Position, may_pass: bool) -> set[int]:
        """Ban a pass that would end the game, or that is not allowed, if a sensible move is left."""
        is_banned = (_ends_by_pass(position) or not may_pass) and self._has_sensible_move(position)
        return {int(PASS)} if is_banned else set()

    def is_mistake(self, position: Position, move: int, get_status: GetStatus) -> bool:
        """Return whether the move is a pass that loses as the board stands, and a sensible move is left."""
        return (
            move == PASS and not wins_as_it_stands(position.state, get_status()) and self._has_sensible_move(position)
        )

    def considered_moves(self, position: Position) -> set[int]:
        """Return a pass, and the moves that fill no own eye."""
        return {int(PASS), *sensible_moves(self.game, position.state)} - position.forbidden_moves

    def _has_sensible_move(self, position: Position) -> bool:
        return bool(set(sensible_moves(self.game, position.state)) - position.forbidden_moves)

    # The end of a game

    def status(self, state: Any, playouts: int, seed: int) -> Status:
        """See `go/status.py`."""
        return assess(self.game, state, playouts, seed)

    def outcome(self, position: Position, get_status: GetStatus) -> tuple[float, str]:
        """Score by area without the dead stones. The rules' reward, in contrast, counts every stone as alive."""
        status = get_status()
        return status.margin, status.score

    def lost_result(self, state: Any, loser: int, reason: str) -> str:
        """Return the result as SGF writes it."""
        return f"{'WB'[loser]}+{LETTERS.get(reason, 'F')}"

    # What people see and say

    def board(self, positions: Sequence[Position]) -> Board:
        """Return the board; star points are crosses, and with colours stones lie on wood."""
        size, cells = self.game.size, self.game.cells(positions[-1].state)
        for row, column in star_points(size):
            if cells[row][column] == ".":
                cells[row][column] = "+"
        numbers = range(size, 0, -1)
        return Board(
            cells,
            left=[f"{number:2}" for number in numbers],
            right=[str(number) for number in numbers],
            above=(letters := "   " + " ".join(COLUMNS[:size])),
            below=letters,
            last=self.last_cell(positions),
            painted=STONES,
            ground=WOOD,
            legend="X is Black, O is White",
        )

    def facts(self, positions: Sequence[Position], get_status: GetStatus) -> list[str]:
        """Return captures, komi, a ko, and the score that playouts find."""
        captured = [0, 0]  # by player
        for before, after in pairwise(positions):
            for player in (0, 1):
                other = 2 - player  # the opponent's stones
                captured[player] += max(0, _count(before, other) - _count(after, other))
        state = positions[-1].state
        facts = [f"captures: Black {captured[0]}, White {captured[1]}", f"komi {float(state.komi):g}"]
        if state.ko:
            facts.append(f"ko at {self.game.move_name(int(state.ko))}")
        if not positions[-1].is_over:
            lead = round(float(get_status().owners.sum()) - float(state.komi))
            facts.append(f"score by playouts: {f'about {score_text(lead)}' if lead else 'even'}")
        return facts

    def why_illegal(self, position: Position, move: int) -> str:
        state = position.state
        if position.is_over:
            return "both have passed"
        if state.color[move] != EMPTY:
            return "a stone stands there"
        if move == int(state.ko):
            return "ko: that stone may be retaken after another move"
        if move in position.forbidden_moves:
            return "superko: the whole board would be as it was before"
        return "the stone would have no liberty"

    # Komi, files

    def change_komi(self, positions: Iterable[Position], komi: float) -> Go:
        game = replace(self.game, komi=komi)
        for position in positions:
            position.game, position.state.komi = game, komi
        return game

    def as_file(
        self,
        start: Any,
        moves: Iterable[tuple[int, int]],
        names: tuple[str, str],
        result: str = "",
        title: str = "",
        notes: Sequence[str] = (),
    ) -> bytes:
        document = new_sgf(self.game, start)
        add_moves(document, moves)
        root = document.get_root()
        for key, text in zip(("PB", "PW", "RE", "GN", "C"), (*names, result, title, "\n".join(notes)), strict=True):
            if text:
                root.set(key, text)
        data: bytes = document.serialise()
        return data

    # Programs that speak GTP

    def gtp_setup(self, state: Any) -> list[str]:
        """Set size, komi, and the stones of a handicap."""
        placed = [
            f"play {'black' if state.color[point] == BLACK else 'white'} {self.game.move_name(point)}"
            for point in stones(state)
        ]
        return [f"boardsize {self.game.size}", "clear_board", f"komi {self.game.komi:g}", *placed]

    def read_score(self, text: str) -> str | None:
        """See `go/status.py`."""
        return read_score(text)


def star_points(size: int) -> list[Cell]:
    """Return the points that boards have dots on: corners, the centre, on large boards the middles of the sides."""
    if size < 7:
        return []
    edge = 3 if size >= 13 else 2
    low, mid, high = edge, size // 2, size - 1 - edge
    points = [(row, column) for row in (low, high) for column in (low, high)]
    if size % 2:
        points.append((mid, mid))
        if size >= 15:
            points += [(mid, low), (mid, high), (low, mid), (high, mid)]
    return points


def _count(position: Position, color: int) -> int:
    """Return the number of stones of a colour on the board."""
    return int(np.count_nonzero(position.state.color == color))


def _ends_by_pass(position: Position) -> bool:
    """Return whether a pass now is the second in a row."""
    return int(position.state.passes) == 1


def wins_as_it_stands(state: Any, status: Status) -> bool:
    """Return whether the player to move wins if the game ends here, both with dead stones removed and with all alive.

    Rules differ in that, and the opponent may see other stones as dead.
    """
    sign = 1 if int(state.to_play) == FIRST else -1
    return min(sign * status.margin, sign * status.board_margin) > 0


def is_won_for_good(state: Any) -> bool:
    """Return whether the player to move has won even if he always passes from now on."""
    komi = float(state.komi) if int(state.to_play) == FIRST else -float(state.komi)
    safe = len(safe_points(state, int(state.to_play) + 1))
    # `safe > 0`: with a komi beyond the board's size even an empty board is won, but there is a game to play.
    return safe > 0 and 2 * safe - int(state.side) ** 2 > komi
