"""`treespan.Engine`: a player of a game in progress."""

from dataclasses import dataclass
from typing import Any

from treespan import engine
from treespan.games.position import Position
from treespan.games.registry import make_game
from treespan.games.rules import Game
from treespan.runtimes.plan import make_plan
from treespan.search.result import SearchResult


@dataclass(frozen=True)
class Answer:
    """What the engine wants to do."""

    move: str | None  # None: it resigns
    value: float  # expected reward for the player to move
    result: SearchResult | None  # None: no search was needed

    @property
    def resigns(self) -> bool:
        return self.move is None


class Engine:
    """Plays a game: takes moves of both sides, and chooses one when it is asked.

    resign: it resigns if it expects less; 0: never.
    ponder: it thinks on after each move, where its tree is kept.
    options: those of `treespan.search`.

    >>> import treespan as ts
    >>> with ts.Engine("tictactoe", playouts=1000) as player:
    ...     player.play("a1")
    ...     answer = player.choose()
    ...     player.play(answer.move)
    >>> answer.move
    'b2'
    """

    def __init__(self, game: Game | str, *, resign: float = 0.0, ponder: bool = False, **options: Any):
        rules = make_game(game)
        self._engine = engine.Engine(rules, make_plan(rules, **options), resign)
        self._ponders = ponder

    @property
    def position(self) -> Position:
        return self._engine.position.copy()

    def play(self, move: str | int) -> None:
        """Make a move, of whoever is to move. An illegal one raises PositionError and changes nothing."""
        self._engine.play(self._engine.game.parse_move(move) if isinstance(move, str) else move)
        if self._ponders:
            self._engine.ponder()

    def choose(self) -> Answer:
        """The move that the engine would make now. Does not make it."""
        decision = self._engine.choose()
        name = None if decision.move is None else self._engine.game.move_name(decision.move)
        return Answer(name, decision.value, decision.result)

    def undo(self) -> None:
        """Take the last move back."""
        self._engine.undo()

    def close(self) -> None:
        """End pondering, and ranks."""
        self._engine.close()

    def __enter__(self) -> "Engine":
        return self

    def __exit__(self, *error: object) -> None:
        self.close()
