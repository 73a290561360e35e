"""A review of a game of Go: what each move cost, and what would have been better."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any

from treespan.engine import Engine
from treespan.engine.engine import win_rate
from treespan.games.go.sgf import SgfGame, sgf_point
from treespan.games.rules import FIRST
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


def review_game(document: SgfGame, plan: Plan, on_move: Callable[[int], None] | None = None) -> list[MoveReview]:
    """Search every position of the main line. `on_move` is called with the number of positions done."""
    engine = Engine(document.game, plan)
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


def _look(engine: Engine) -> tuple[float, str, list[str]]:
    """Return Black's win rate, the best move and its line; for a finished game, the result."""
    if engine.position.is_over:
        margin = engine.status().margin
        return (1.0 if margin > 0 else 0.5 if margin == 0 else 0.0), "", []
    engine.thinker.ready()
    result = engine.thinker.think(engine.position, engine.plan.budget)
    if result.interrupted:
        raise KeyboardInterrupt
    value = win_rate(result.moves)
    black = value if int(engine.position.state.to_play) == FIRST else 1 - value
    return black, result.move, result.line


def annotate(document: SgfGame, reviews: list[MoveReview], blunder: float) -> bytes:
    """Return the file with a comment at each move. Blunders are marked, with the better line as a variation."""
    for review, node in zip(reviews, document.nodes, strict=True):
        comment = f"treespan: Black {review.after:.1%}"
        if review.is_blunder(blunder):
            better = " ".join(review.line[:SHOWN_LINE]) or review.best
            comment += f"; {review.move} cost {review.loss:.1%}, better {better}"
            node.set("BM", 1)
            if node.parent is not None:  # a move in the root node can have no variation
                _add_line(document, node.parent, review)
        node.set("C", _comment(node) + comment)
    data: bytes = document.document.serialise()
    return data


def _comment(node: Any) -> str:
    """Return the file's comment on a move as a line. Bytes that are no text, as in many old files, become `?`."""
    if not node.has_property("C"):
        return ""
    try:
        return f"{node.get('C')}\n"
    except ValueError:
        raw: bytes = node.get_raw("C")
        return raw.decode("ascii", "replace").replace("\ufffd", "?") + "\n"


def _add_line(document: SgfGame, parent: Any, review: MoveReview) -> None:
    """Add a variation. The first child stays the main line of sgfmill."""
    node, player = parent, review.player
    for name in review.line[:SHOWN_LINE]:
        node = node.new_child()
        node.set_move("bw"[player], sgf_point(document.game.parse_move(name)))
        player = 1 - player


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
