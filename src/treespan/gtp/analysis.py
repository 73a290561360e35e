"""Commands for user interfaces: lz-analyze and kata-analyze, which show a search while it runs, and those of GoGui."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from treespan.engine import GameEngine
from treespan.engine.engine import expected, win_rate
from treespan.games.go import Go
from treespan.games.go.board import PASS, STRIDE
from treespan.games.rules import FIRST
from treespan.gtp.commands import COLORS, player_of, vertex_of
from treespan.gtp.protocol import Command, Content, GtpError, whole_number
from treespan.search.result import MoveStatistics, lower_bound

DEFAULT_CENTISECONDS = 100
MOST_CENTISECONDS = 8_640_000  # a day; the system's timers have their limit somewhere above
SHOWN_MOVES = 20
RESTRICTIONS = ("avoid", "allow")
IGNORED_PAIRS = ("minmoves", "movesOwnership", "pvVisits")

GOGUI_COMMANDS = """\
dboard/Visits/treespan-visits
dboard/RAVE/treespan-rave
dboard/Territory/treespan-territory"""


@dataclass
class AnalysisArguments:
    """The arguments of lz-analyze and kata-analyze."""

    player: int | None = None  # None: the player whose turn it is
    centiseconds: int = DEFAULT_CENTISECONDS
    most_moves: int = SHOWN_MOVES
    shows_ownership: bool = False
    shows_root: bool = False
    avoided: dict[int, set[int]] = field(default_factory=dict)  # by player
    allowed: dict[int, set[int]] = field(default_factory=dict)  # by player; a player without an entry may play all

    def banned(self, player: int, game: Go) -> set[int]:
        """Return the moves that `player` may not begin with."""
        all_moves = {int(PASS)}.union(*rows_of_points(game.size))
        return self.avoided.get(player, set()) | (all_moves - self.allowed.get(player, all_moves))


def read_arguments(words: Sequence[str], game: Go) -> AnalysisArguments:
    """Read a color, an interval in centiseconds with or without the word `interval`, and KataGo's options."""
    arguments, rest = AnalysisArguments(), list(words)
    while rest:
        word = rest.pop(0)
        if word.lower() in COLORS:
            arguments.player = player_of(word)
        elif word.isdecimal():
            arguments.centiseconds = whole_number(word)
        elif word in RESTRICTIONS:
            if len(rest) < 3:
                raise GtpError(f"syntax error: {word} needs a color, vertices and a depth")
            player, vertices, depth = player_of(rest.pop(0)), rest.pop(0).split(","), whole_number(rest.pop(0))
            if depth < 1:
                raise GtpError(f"syntax error: {word} needs a depth of at least 1")
            restricted = arguments.avoided if word == "avoid" else arguments.allowed
            restricted.setdefault(player, set()).update(vertex_of(game, vertex) for vertex in vertices)
        elif not rest:
            raise GtpError(f"syntax error: '{word}' is not understood")
        elif word == "interval":
            arguments.centiseconds = whole_number(rest.pop(0))
        elif word == "maxmoves":
            arguments.most_moves = whole_number(rest.pop(0))
        elif word == "ownership":
            arguments.shows_ownership = truth(rest.pop(0))
        elif word == "rootInfo":
            arguments.shows_root = truth(rest.pop(0))
        elif word in IGNORED_PAIRS:
            rest.pop(0)
        else:
            raise GtpError(f"syntax error: '{word}' is not understood")
    return arguments


def truth(text: str) -> bool:
    if text.lower() not in ("true", "false"):
        raise GtpError(f"syntax error: '{text}' is neither true nor false")
    return text.lower() == "true"


def rows_of_points(size: int) -> list[list[int]]:
    """Return all points: rows from the top, each from the left."""
    return [[row * STRIDE + column for column in range(1, size + 1)] for row in range(size, 0, -1)]


class AnalysisCommands:
    """The commands of user interfaces about the search."""

    def __init__(self, engine: GameEngine):
        self.engine = engine

    @property
    def game(self) -> Go:
        assert isinstance(self.engine.game, Go)
        return self.engine.game

    def commands(self) -> dict[str, Command]:
        return {
            "lz-analyze": lambda words: self.analyse(words, leela_info),
            "kata-analyze": lambda words: self.analyse(words, kata_info),
            "gogui-analyze_commands": lambda words: GOGUI_COMMANDS,
            "treespan-visits": self.visits,
            "treespan-rave": self.rave,
            "treespan-territory": self.territory,
        }

    def analyse(self, words: Sequence[str], info: Callable[[MoveStatistics, int, list[str]], str]) -> Content:
        """Search until the next line comes, and report a line of statistics from time to time."""
        arguments = read_arguments(words, self.game)
        player = int(self.engine.position.state.to_play) if arguments.player is None else arguments.player
        self.engine.analyse(arguments.player, arguments.banned(player, self.game))
        is_kata = info is kata_info
        # Once for all updates: these playouts start from the position, which does not change.
        ownership = [self._ownership(player)] if is_kata and arguments.shows_ownership else []

        def update() -> str:
            moves = self.engine.thinker.moves()
            shown = [move for move in moves if move.visits][: arguments.most_moves]
            if not shown:
                return ""
            texts = [info(move, order, self._line(move)) for order, move in enumerate(shown)]
            root = [kata_root_info(moves)] if is_kata and arguments.shows_root else []
            return " ".join(texts + root + ownership)

        return Content(updates=update, interval=min(max(arguments.centiseconds, 1), MOST_CENTISECONDS) / 100)

    def _ownership(self, player: int) -> str:
        """Return KataGo's format: a number for each point, from -1 (the opponent's) to 1 (the player's)."""
        owners = self.engine.status().owners
        mine = owners if player == FIRST else 0.0 - owners
        rows = rows_of_points(self.game.size)
        return " ".join(["ownership", *(f"{mine[point]:.3f}" for row in rows for point in row)])

    def _line(self, move: MoveStatistics) -> list[str]:
        return self.engine.thinker.line(move.id) or [move.move]

    # GoGui: a number from -1 to 1 for each point, rows from the top

    def visits(self, words: Sequence[str]) -> str:
        """Show each move's visits as a share of those of the most visited move."""
        moves = self._searched_moves()
        most = max(move.visits for move in moves)
        return self._board({move.id: move.visits / max(most, 1) for move in moves})

    def rave(self, words: Sequence[str]) -> str:
        """Show each move's AMAF value, from -1 (loses) to 1 (wins)."""
        self._searched_moves()
        values = self.engine.thinker.amaf()
        if not values:
            raise GtpError("there are no RAVE values; search with bandit=rave-mse, Go's default, or rave")
        return self._board({move: 2 * value - 1 for move, value in values.items()})

    def territory(self, words: Sequence[str]) -> str:
        """Show each point's owner in playouts, from -1 (White) to 1 (Black)."""
        owners = self.engine.status().owners
        return self._board(dict(enumerate(owners.tolist())))

    def _searched_moves(self) -> list[MoveStatistics]:
        moves = self.engine.thinker.moves()
        if not moves:
            raise GtpError("there is no search to show; use genmove, reg_genmove or lz-analyze first")
        return moves

    def _board(self, values: dict[int, float]) -> str:
        rows = (" ".join(f"{values.get(point, 0.0):.3f}" for point in row) for row in rows_of_points(self.game.size))
        return "\n" + "\n".join(rows)


def leela_info(move: MoveStatistics, order: int, line: list[str]) -> str:
    """Return a move in Leela Zero's format: rates are hundredths of a percent."""
    rate, bound = round(1e4 * expected(move)), round(1e4 * lower_bound(move.wins, move.visits))
    prior = f" prior {round(1e4 * move.prior)}" if move.prior is not None else ""
    figures = f"visits {move.visits} winrate {rate}{prior} lcb {bound} order {order}"
    return f"info move {move.move} {figures} pv {' '.join(line)}"


def kata_info(move: MoveStatistics, order: int, line: list[str]) -> str:
    """Return a move in KataGo's format: rates are from 0 to 1, for the player to move."""
    rate, bound = expected(move), lower_bound(move.wins, move.visits)
    prior = f" prior {move.prior:.6f}" if move.prior is not None else ""
    figures = f"visits {move.visits} winrate {rate:.6f}{prior} lcb {bound:.6f} order {order}"
    return f"info move {move.move} {figures} pv {' '.join(line)}"


def kata_root_info(moves: Sequence[MoveStatistics]) -> str:
    """Return the root in KataGo's format, with those of its figures that we have."""
    return f"rootInfo visits {sum(move.visits for move in moves)} winrate {win_rate(moves):.6f}"
