"""Manners: what a game adds to its rules where an engine, a referee or a printed board needs more.

The class `Manners` adds nothing: players move in turn, and the rules say who has won. A game with more has a subclass,
which `Game.manners` returns; Go's adds passing, dead stones, komi and SGF. Manners do not search: the engine asks them
before and after its own search.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, ClassVar

import numpy as np

from treespan.core.errors import PositionError
from treespan.games.board import CROSSES, Board, Cell
from treespan.games.position import Position
from treespan.games.rules import FIRST, Game


@dataclass(frozen=True)
class Status:
    """What playouts say about a position as it stands."""

    owners: np.ndarray  # float64 for each point, from -1 (certainly the second player's) to 1 (the first player's)
    dead: tuple[int, ...]  # points of dead stones
    margin: float  # the first player's lead, dead stones removed
    board_margin: float  # the first player's lead if every stone counts as alive
    score: str  # the margin in words, as B+3.5


GetStatus = Callable[[], Status]  # finds the status of the current position; slow, so called only where it matters


@dataclass(frozen=True)
class Note:
    """What is written at a move of a file."""

    comment: str
    is_blunder: bool = False
    better: Sequence[int] = ()  # moves from the position before the blunder


@dataclass
class GameFile:
    """A game that was read from a file."""

    game: Game
    start: Any  # the first position's state
    moves: list[tuple[int, int]]  # player and move

    def annotated(self, notes: Sequence[Note]) -> bytes:
        """Return the file with a note at each move. Blunders are marked, and better moves stand as variations."""
        raise NotImplementedError


@dataclass(frozen=True)
class Manners:
    """The manners of a game that adds nothing to its rules."""

    game: Game
    has_status: ClassVar[bool] = False  # whether dead stones decide a finished game, and players may disagree on them
    file_format: ClassVar[str] = ""  # the format that `as_file` writes; empty: none
    has_gtp: ClassVar[bool] = False  # whether programs that speak GTP, the Go Text Protocol, can play it
    names: ClassVar[tuple[str, str]] = ("the first player", "the second player")

    # Whose turn it is

    def turned(self, position: Position, player: int) -> Position:
        """Return the position with `player` to move, if the game lets either player move.

        Returns the same object if it is that player's turn already, or if the turn cannot be chosen.
        """
        return position

    # The choice of a move, in this order

    def obvious_move(self, position: Position, may_pass: bool, get_status: GetStatus) -> int | None:
        """Return a move that wins for certain without a search, or None."""
        return None

    def banned_moves(self, position: Position, may_pass: bool) -> set[int]:
        """Return moves that a search must not choose; never all that it considers."""
        return set()

    def is_mistake(self, position: Position, move: int, get_status: GetStatus) -> bool:
        """Return whether `move`, the search's first choice, is worse than its second choice."""
        return False

    def considered_moves(self, position: Position) -> set[int]:
        """Return the moves that a search considers at its root."""
        return set(position.legal_moves)

    # The end of a game

    def status(self, state: Any, playouts: int, seed: int) -> Status:
        """Return owners, dead stones and score of a position. Raises PositionError in a game without them."""
        raise PositionError(f"{self.game.name}: only Go has territory and dead stones")

    def outcome(self, position: Position, get_status: GetStatus) -> tuple[float, str]:
        """Return the first player's lead in a finished game, below 0 for a loss, and the result in words."""
        return position.reward - 0.5, self.game.describe_result(position.state, position.reward)

    def lost_result(self, state: Any, loser: int, reason: str) -> str:
        """Return the result, in words, of a game that `loser` lost by resignation, time or a fault."""
        return self.game.describe_result(state, float(loser != FIRST))

    # What people see and say. `positions` are all of the game so far, the present one last.

    def board(self, positions: Sequence[Position]) -> Board | None:
        """Return the board with its last move marked, or None where the diagram of the rules serves."""
        return None

    def last_cell(self, positions: Sequence[Position]) -> Cell | None:
        """Return where the last move was made, if there was one and it has a cell."""
        if len(positions) < 2:
            return None
        return self.cell_of(positions[-2], positions[-1].moves_made[-1])

    def cell_of(self, position: Position, move: int) -> Cell | None:
        """Return the cell of the board that a move is made at, if there is one."""
        return self.game.cell_of(position.state, move)

    def facts(self, positions: Sequence[Position], get_status: GetStatus) -> list[str]:
        """Return what stands beside the board: captures, score, each in a few words."""
        return []

    def prospects(self, position: Position, player: int, value: float) -> str:
        """Return, in words, what a search expects for `player`, whose expected reward is `value`."""
        if self.game.players == 1:
            return f"expected reward {value:.3f}"
        name = self.names[player]
        return f"{name[0].upper()}{name[1:]}'s chance to win {value:.0%}"

    def read_move(self, position: Position, text: str) -> int:
        """Return the move that a person means. Does not check that it is legal."""
        return self.game.parse_move(text)

    def why_illegal(self, position: Position, move: int) -> str:
        """Return why `move`, which must be an illegal one, is illegal."""
        board, cell = self.board([position]), self.cell_of(position, move)
        is_taken = board is not None and cell is not None and cell[0] >= 0 and board.cells[cell[0]][cell[1]] != "."
        return "that cell is taken" if is_taken else "it is not legal here"

    # Komi, files

    def change_komi(self, positions: Iterable[Position], komi: float) -> Game:
        """Return the game with another komi, and move `positions` over to it. Raises PositionError without komi."""
        raise PositionError(f"{self.game.name}: only Go has a komi")

    def as_file(
        self,
        start: Any,
        moves: Iterable[tuple[int, int]],
        names: tuple[str, str],
        result: str = "",
        title: str = "",
        notes: Sequence[str] = (),
    ) -> bytes:
        """Return a game as a file in `file_format`.

        start: the first position's state.
        moves: each move's player, and the move.
        names: of the players.
        result: in words; empty if the game is not over.
        title: of the game.
        notes: lines about the whole game.
        """
        raise PositionError(f"{self.game.name} has no file format")

    # Programs that speak GTP. They know moves by the names of the rules, and the first player as Black.

    def gtp_setup(self, state: Any) -> list[str]:
        """Return the commands that set up the first position of a game."""
        raise PositionError(f"{self.game.name}: GTP is for Go alone")

    def read_score(self, text: str) -> str | None:
        """Return a program's result of a finished game as `outcome` writes it; None if the text is no result."""
        return None


@dataclass(frozen=True)
class BoardManners(Manners):
    """Manners of a game whose `cells` are a board: they add labels and colours."""

    left: Sequence[str] = ()  # as in `Board`
    above: str = ""
    below: str = ""
    painted: Mapping[str, tuple[str, str]] = field(default_factory=lambda: CROSSES)
    names = ("X", "O")

    def board(self, positions: Sequence[Position]) -> Board | None:
        cells = self.game.cells(positions[-1].state)
        if cells is None:
            return None
        last = self.last_cell(positions)
        return Board(cells, self.left, above=self.above, below=self.below, last=last, painted=self.painted)
