"""A review of a game that was read from a file: what each move cost, and what would have been better.

Only games of Go can be read so far, so the players are called Black and White.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any

from treespan.engine import GameEngine
from treespan.engine.engine import win_rate
from treespan.games.manners import GameFile, Note
from treespan.games.rules import FIRST, Game
from treespan.schemes.plan import Plan

SHOWN_LINE = 6  # moves of a better line in a comment


@dataclass
class MoveReview:
    """One move of the game. Rates are Black's expected reward."""

    number: int  # from 1
    player: int
    move: str
    before: float  # Black's win rate before the move
    after: float
    best: str  # the move that the search prefers
    line: list[str] = field(default_factory=list)  # the moves that it expects then

    @property
    def loss(self) -> float:
        """The winning chances that the move cost its player; never negative."""
        change = self.after - self.before
        return max(0.0, -change if self.player == FIRST else change)

    @property
    def color(self) -> str:
        return "BW"[self.player]

    def is_blunder(self, threshold: float) -> bool:
        return self.loss >= threshold and self.move != self.best

    def as_json(self) -> dict[str, Any]:
        return {
            "number": self.number,
            "color": self.color,
            "move": self.move,
            "before": self.before,
            "after": self.after,
            "loss": self.loss,
            "best": self.best,
            "line": self.line,
        }


def review_game(document: GameFile, plan: Plan, on_move: Callable[[int], None] | None = None) -> list[MoveReview]:
    """Search every position of the main line. `on_move` is called with the number of positions done."""
    engine = GameEngine(document.game, plan)
    engine.start(document.game, document.start)
    for player, move in document.moves:  # find an illegal move before the first search, not after hours
        engine.play(move, player)
    engine.start(document.game, document.start)
    reviews: list[MoveReview] = []
    for number, (player, move) in enumerate(document.moves, start=1):
        engine.set_player(player)
        rate, best, line = _look(engine)
        if reviews:
            reviews[-1].after = rate
        name = document.game.move_name(move)
        reviews.append(MoveReview(number, player, name, rate, rate, best, line))
        engine.play(move, player)
        if on_move:
            on_move(number)
    if reviews:
        reviews[-1].after = _look(engine)[0]
    return reviews


def _look(engine: GameEngine) -> tuple[float, str, list[str]]:
    """Return Black's win rate, the best move and its line; for a finished game, the result."""
    if engine.position.is_over:
        lead, _ = engine.manners.outcome(engine.position, engine.status)
        return (1.0 if lead > 0 else 0.5 if lead == 0 else 0.0), "", []
    engine.thinker.ready()
    result = engine.thinker.think(engine.position, engine.plan.budget)
    if result.interrupted:
        raise KeyboardInterrupt
    value = win_rate(result.moves)
    black = value if int(engine.position.state.to_play) == FIRST else 1 - value
    return black, result.move, result.line


def annotate(document: GameFile, reviews: list[MoveReview], blunder: float) -> bytes:
    """Return the file with a comment at each move. Blunders are marked, with the better line as a variation."""
    return document.annotated([note_of(review, document.game, blunder) for review in reviews])


def note_of(review: MoveReview, game: Game, blunder: float) -> Note:
    """Return what the file says about a move."""
    comment = f"treespan: Black {review.after:.1%}"
    if not review.is_blunder(blunder):
        return Note(comment)
    line = review.line[:SHOWN_LINE]
    comment += f"; {review.move} cost {review.loss:.1%}, better {' '.join(line) or review.best}"
    return Note(comment, True, [game.parse_move(name) for name in line])


def rate_plot(reviews: list[MoveReview], width: int, height: int = 10) -> Iterator[str]:
    """Draw Black's win rate over the game as lines of text, from the top."""
    rates = [review.after for review in reviews]
    step = max(1, -(-len(rates) // width))
    columns = [rates[i : i + step] for i in range(0, len(rates), step)]
    means = [sum(column) / len(column) for column in columns]
    for row in range(height, 0, -1):
        label = {height: "100%", height // 2: " 50%", 1: "  0%"}.get(row, "    ")
        yield f"{label} │" + "".join("█" if round(mean * height) >= row else " " for mean in means)
    yield "     └" + "─" * len(means)
    yield f"      Black's win rate after moves 1 to {len(rates)}"
