"""A position of a game for Python code: it checks and plays moves, knows its result, and prints itself."""

from typing import Any

import numpy as np

from treespan.core.errors import OptionError, PositionError, about, concerning, named, shown
from treespan.core.jit import njit
from treespan.games.rules import CHANCE, Game, key, legal_moves, play, reward

NO_MOVE = -1


@njit
def step(game, state, move, moves, keys, rewards):
    """Play `move` unless it is NO_MOVE; then write down moves, key and reward. Returns the number of legal moves.

    One compiled function answers all these questions, so that a start of the program reads one file, not four.
    """
    if move != NO_MOVE:
        play(game, state, move)
    count = legal_moves(game, state, moves)
    keys[0] = key(game, state)
    rewards[0] = reward(game, state) if count == 0 else np.nan
    return count


class Position:
    """A game's state with its history. Every move is checked; a refused move changes nothing.

    game: the game.
    state: a record to start from; None: the game's first position. It is easier to call `Game.position` or `Game.read`.

    Methods that play raise PositionError for an illegal move.

    >>> import treespan as ts
    >>> position = ts.make_game("tictactoe").position("a1 b2")
    >>> position.play_text("c3")
    >>> position.is_over, len(position.legal_moves)
    (False, 6)
    >>> print(position)
    ..X
    .O.
    X..
    """

    def __init__(self, game: Game, state: np.void | None = None):
        self.game = game
        self.state: np.record = game.new_states(1)[0]
        if state is None:
            game.fill(self.state)
        else:
            _copy(self.state, state)
        self.moves_made: list[int] = []
        self.history: list[int] = []  # history keys of all positions so far, this one last
        # Longer than max_moves: if a game exceeds its own bound, check_game reports that, and nothing crashes.
        self._moves = np.zeros(2 * game.max_moves + 64, dtype=np.int32)
        self._key = np.zeros(1, dtype=np.uint64)
        self._reward = np.zeros(1, dtype=np.float64)
        self._refresh(NO_MOVE)

    def _refresh(self, move: int) -> None:
        self._count: int = step(self.game, self.state, move, self._moves, self._key, self._reward)
        self.history.append(self.game.history_key(self.state))

    @property
    def game_moves(self) -> list[int]:
        """The moves that are legal in the position, whatever was played before."""
        moves: list[int] = self._moves[: self._count].tolist()
        return moves

    @property
    def forbidden_moves(self) -> set[int]:
        """The moves that are forbidden because of what was played before (Go's superko)."""
        return self.game.forbidden_moves(self.state, self.game_moves, self.history)

    @property
    def legal_moves(self) -> list[int]:
        """The legal moves, as numbers."""
        forbidden = self.forbidden_moves
        return [move for move in self.game_moves if move not in forbidden]

    @property
    def is_over(self) -> bool:
        """Whether the game is over."""
        return self._count == 0

    @property
    def is_chance(self) -> bool:
        """Whether nature moves next."""
        return int(self.state.to_play) == CHANCE

    @property
    def reward(self) -> float:
        """The first player's reward, in 0..1. Raises PositionError unless the game is over."""
        if not self.is_over:
            raise PositionError(f"{self.game.name}: the game is not over")
        return float(self._reward[0])

    @property
    def key(self) -> int:
        """A 64-bit number that positions with the same future and the same reward share."""
        return int(self._key[0])

    def require_choice(self) -> None:
        """Raise PositionError unless there is a move for a player to choose."""
        if self.is_over:
            reason = "the game is over, so there is nothing to search; give an earlier position"
            raise PositionError(f"{self.game.name}{about('position')}: {reason}")
        if self.is_chance:
            raise PositionError(f"{self.game.name}{about('position')}: nature moves here; play its move first")

    def play(self, move: str | int) -> None:
        """Make a move, given by its name or its number. Raises PositionError, and changes nothing, if it is illegal."""
        move = as_move(self.game, move)
        if move not in self.legal_moves:
            try:
                name = self.game.move_name(move)
            except LookupError:  # a number that is no move at all
                name = str(move)
            reason = "the game is over; give fewer moves" if self.is_over else self._why_illegal()
            number = len(self.moves_made) + 1
            raise PositionError(f"{self.game.name}: move {number}, '{name}'{about('move', name)}: {reason}")
        self.moves_made.append(move)
        self._refresh(move)

    def _why_illegal(self) -> str:
        return f"it is not legal here; give a legal move, as {self.game.move_name(self.legal_moves[0])}"

    def play_text(self, text: str) -> None:
        """Make moves in the game's notation, separated by blanks or commas. Raises PositionError at an illegal one."""
        if not isinstance(text, str):
            raise PositionError(f'{self.game.name}: {named("moves", text)} is not a text; give moves as "E5 C3"')
        with concerning("moves", text):
            for word in text.replace(",", " ").split():
                self.play(word)

    def __reduce__(self) -> tuple[Any, ...]:
        """Pickle the game, the record and the moves, but not the buffers."""
        return restored, (self.game, self.state.tobytes(), self.moves_made, self.history)

    def __repr__(self) -> str:
        return f"<position of {self.game.spec()} after {len(self.moves_made)} moves>"

    def copy(self) -> "Position":
        """Return an independent copy."""
        twin = Position(self.game, self.state)
        twin.moves_made, twin.history = list(self.moves_made), list(self.history)
        return twin

    def __str__(self) -> str:
        return self.game.diagram(self.state)


def as_move(game: Game, given: Any) -> int:
    """Return the number of a move that is given by its name or its number. Does not check legality."""
    if isinstance(given, str):
        with concerning("move", given, "give a move in the game's notation"):
            return game.parse_move(given)
    if isinstance(given, int | np.integer) and not isinstance(given, bool):
        return int(given)
    raise PositionError(f"{game.name}: {named('move', given)} is not a move; give its name or its number")


def as_position(given: "Position | Game | str") -> Position:
    """Return the position that was given, or the first position of a game or of a game's spec."""
    if isinstance(given, Position):
        return given
    from treespan.games.registry import make_game

    if not isinstance(given, Game | str):
        which = f"{shown(given)}{about('position', given)}"
        raise OptionError(f"{which} is no position; give a position, a game, or a spec as 'go:size=9'")
    return Position(make_game(given))


def restored(game: Game, state: bytes, moves_made: list[int], history: list[int]) -> Position:
    """Return a position from its parts, without a look at whether the moves lead there."""
    position = Position(game, np.frombuffer(state, dtype=game.dtype)[0])
    position.moves_made, position.history = list(moves_made), list(history)
    return position


def _copy(target: np.record, source: np.void) -> None:
    for name in target.dtype.names or ():
        target[name] = source[name]
