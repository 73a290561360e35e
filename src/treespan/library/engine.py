"""`treespan.Engine`: a player of a game in progress."""

from dataclasses import dataclass
from typing import Any

from treespan import engine
from treespan.core.arguments import checked
from treespan.core.options import check_range
from treespan.games.position import Position, as_move
from treespan.games.registry import make_game
from treespan.games.rules import Game
from treespan.runtimes.plan import asks_for_ranks, make_plan
from treespan.runtimes.together import together
from treespan.schemes.plan import MPI
from treespan.search.result import SearchResult

MOST_RESIGN = 0.99


@dataclass(frozen=True)
class Answer:
    """An engine's choice: a move, or resignation.

    >>> import treespan as ts
    >>> with ts.Engine("tictactoe", playouts=1000) as player:
    ...     answer = player.choose()
    >>> answer.move, answer.resigns, answer.result.playouts
    ('b2', False, 1000)
    """

    move: str | None  # None: it resigns
    value: float  # expected reward for the player to move
    result: SearchResult | None  # None: no search was needed

    @property
    def resigns(self) -> bool:
        """Whether the engine resigns."""
        return self.move is None


class Engine:
    """Plays a game: you tell it the moves of both sides, and ask it for its choice.

    game: a game, or its spec, such as "go:size=9".
    resign: the engine resigns after three choices in a row whose expected reward is less than this; 0: never.
    ponder: whether the engine goes on searching after each move, until its next choice. It can if its tree is in this
        process.
    options: the options of `treespan.search`.

    Raises OptionError for options that do not fit.

    >>> import treespan as ts
    >>> with ts.Engine("tictactoe", playouts=1000) as player:
    ...     player.play("a1")
    ...     answer = player.choose()
    ...     player.play(answer.move)
    >>> answer.move
    'b2'
    """

    @together(asks_for_ranks)
    @checked
    def __init__(self, game: Game | str, *, resign: float = 0.0, ponder: bool = False, **options: Any):
        check_range("resign", resign, 0, MOST_RESIGN)
        rules = make_game(game)
        self._engine = engine.GameEngine(rules, make_plan(rules, **options), resign)
        self._ponders = ponder

    @property
    def position(self) -> Position:
        """The current position."""
        return self._engine.position.copy()

    def play(self, move: str | int) -> None:
        """Make a move for the player whose turn it is. Raises PositionError, and changes nothing, if it is illegal."""
        self._engine.play(as_move(self._engine.game, move))
        if self._ponders:
            self._engine.ponder()

    @together(lambda player: player._engine.plan.runtime == MPI)
    def choose(self) -> Answer:
        """Return the move that the engine would make now. Does not make it.

        Raises PositionError if the game is over, or if nature moves.
        """
        decision = self._engine.choose()
        name = None if decision.move is None else self._engine.game.move_name(decision.move)
        return Answer(name, decision.value, decision.result)

    def undo(self) -> None:
        """Take the last move back. Raises PositionError if there is none."""
        self._engine.undo()

    def close(self) -> None:
        """End pondering, and the ranks if there are any."""
        self._engine.close()

    def __repr__(self) -> str:
        inner = self._engine
        budget = inner.plan.budget
        words = [f"{budget.playouts:,} playouts"] if budget.playouts else []
        words += [f"{budget.seconds:g} s"] if budget.seconds else []
        search = ", ".join([inner.plan.spec(), *words])
        return f"<engine for {inner.game.spec()} after {inner.moves_played} moves: {search}>"

    def __enter__(self) -> "Engine":
        return self

    def __exit__(self, *error: object) -> None:
        self.close()
