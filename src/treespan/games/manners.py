"""Manners: what a game adds to its rules where an engine, a referee or a printed board needs more.

The class `Manners` adds nothing: players move in turn, and the rules say who has won. A game with more has a subclass,
which `Game.manners` returns; Go's adds passing, dead stones, komi and SGF. Manners do not search: the engine asks them
before and after its own search.
"""

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from treespan.core.errors import PositionError
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
class Manners:
    """The manners of a game that adds nothing to its rules."""

    game: Game
    has_status: ClassVar[bool] = False  # whether dead stones decide a finished game, and players may disagree on them
    file_format: ClassVar[str] = ""  # the format that `as_file` writes; empty: none

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

    # Komi, print, files

    def change_komi(self, positions: Iterable[Position], komi: float) -> Game:
        """Return the game with another komi, and move `positions` over to it. Raises PositionError without komi."""
        raise PositionError(f"{self.game.name}: only Go has a komi")

    def marked(self, position: Position) -> str:
        """Return the position as text, with the last move marked if the game can mark it."""
        return str(position)

    def as_file(self, start: Any, moves: Iterable[tuple[int, int]], names: tuple[str, str], result: str = "") -> bytes:
        """Return a game as a file in `file_format`.

        start: the first position's state.
        moves: each move's player, and the move.
        names: of the players.
        result: in words; empty if the game is not over.
        """
        raise PositionError(f"{self.game.name} has no file format")
