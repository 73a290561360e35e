"""How a game is played between players: what it adds to an engine, a referee or a printed board beyond its rules.

`Manners` are those of a game that adds nothing: players move in turn, and the rules say who has won. A game with more
has a subclass, which `Game.manners` returns; Go's has passing, dead stones, komi and SGF. No search is known here: an
engine asks before and after its own.
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
    """What playouts say about a position, as of now, with all stones where they stand."""

    owners: np.ndarray  # float64, by point, from -1: the second player's for certain, to 1: the first's
    dead: tuple[int, ...]  # points of dead stones
    margin: float  # the first player's lead, dead stones removed
    board_margin: float  # the same with every stone alive
    score: str  # the margin in words, as B+3.5


GetStatus = Callable[[], Status]  # of the position in question; takes time, so it is called where it matters


@dataclass(frozen=True)
class Manners:
    """Those of a game that adds nothing to its rules."""

    game: Game
    has_status: ClassVar[bool] = False  # whether dead stones decide a finished game, and players may disagree on them
    file_format: ClassVar[str] = ""  # that `as_file` writes; empty: none

    # Whose turn it is

    def turned(self, position: Position, player: int) -> Position:
        """The position with `player` to move, where that may be chosen; else, or if it is his turn, the same object."""
        return position

    # The choice of a move, in this order

    def obvious_move(self, position: Position, may_pass: bool, get_status: GetStatus) -> int | None:
        """A move that wins for certain without a search, or None."""
        return None

    def banned_moves(self, position: Position, may_pass: bool) -> set[int]:
        """Moves that a search must not choose; never all that it considers."""
        return set()

    def is_mistake(self, position: Position, move: int, get_status: GetStatus) -> bool:
        """Whether the search's second choice is better than `move`, its first."""
        return False

    def considered_moves(self, position: Position) -> set[int]:
        """The moves that a search has at its root."""
        return set(position.legal_moves)

    # The end of a game

    def status(self, state: Any, playouts: int, seed: int) -> Status:
        """Owners, dead stones and score of a position. Raises PositionError in a game without them."""
        raise PositionError(f"{self.game.name}: only Go has territory and dead stones")

    def outcome(self, position: Position, get_status: GetStatus) -> tuple[float, str]:
        """Of a finished game: the first player's lead, below 0 if he has lost, and the result in words."""
        return position.reward - 0.5, self.game.describe_result(position.state, position.reward)

    def lost_result(self, state: Any, loser: int, reason: str) -> str:
        """The result in words of a game that `loser` did not play to its end: "resignation", "time" or a fault."""
        return self.game.describe_result(state, float(loser != FIRST))

    # Komi, print, files

    def change_komi(self, positions: Iterable[Position], komi: float) -> Game:
        """The game with another komi; `positions` become its own. Raises PositionError in a game without komi."""
        raise PositionError(f"{self.game.name}: only Go has a komi")

    def marked(self, position: Position) -> str:
        """The position as text, its last move marked where there is a way."""
        return str(position)

    def as_file(self, start: Any, moves: Iterable[tuple[int, int]], names: tuple[str, str], result: str = "") -> bytes:
        """A game in `file_format`, from its first position's state and its players and moves. `names` are the
        players', `result` is empty if there is none yet."""
        raise PositionError(f"{self.game.name} has no file format")
