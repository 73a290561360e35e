"""Commands for user interfaces: a search that is watched (lz-analyze, kata-analyze), and GoGui's analyze commands."""

from collections.abc import Callable, Sequence

from treespan.engine import Engine
from treespan.engine.engine import expected
from treespan.games.go import Go
from treespan.games.go.board import STRIDE
from treespan.gtp.commands import COLORS
from treespan.gtp.protocol import Answer, Command, GtpError, whole_number
from treespan.search.result import MoveStatistics, lower_bound

DEFAULT_CENTISECONDS = 100
MOST_CENTISECONDS = 8_640_000  # a day; the system's timers end somewhere above
SHOWN_MOVES = 20
IGNORED_PAIRS = ("minmoves", "maxmoves", "rootInfo", "ownership", "movesOwnership", "pvVisits")

GOGUI_COMMANDS = """\
dboard/Visits/treespan-visits
dboard/RAVE/treespan-rave
dboard/Territory/treespan-territory"""


class AnalysisCommands:
    """What a user interface may ask about the search."""

    def __init__(self, engine: Engine):
        self.engine = engine

    def commands(self) -> dict[str, Command]:
        return {
            "lz-analyze": lambda words: self.analyse(words, leela_info),
            "kata-analyze": lambda words: self.analyse(words, kata_info),
            "gogui-analyze_commands": lambda words: GOGUI_COMMANDS,
            "treespan-visits": self.visits,
            "treespan-rave": self.rave,
            "treespan-territory": self.territory,
        }

    def analyse(self, words: Sequence[str], info: Callable[[MoveStatistics, int, list[str]], str]) -> Answer:
        """Search until the next line comes, with a line of statistics from time to time.

        Understands a color, an interval in centiseconds with or without the word `interval`, and passes over the
        options that only change what is shown.
        """
        words = list(words)
        player, centiseconds = None, DEFAULT_CENTISECONDS
        while words:
            word = words.pop(0)
            if word.lower() in COLORS:
                player = COLORS[word.lower()]
            elif word.isdecimal():
                centiseconds = whole_number(word)
            elif word == "interval" and words:
                centiseconds = whole_number(words.pop(0))
            elif word in IGNORED_PAIRS and words:
                words.pop(0)
            else:
                raise GtpError(f"syntax error: '{word}' is not understood")
        self.engine.analyse(player)

        def update() -> str:
            moves = [move for move in self.engine.thinker.moves() if move.visits][:SHOWN_MOVES]
            return " ".join(info(move, order, self._line(move)) for order, move in enumerate(moves))

        return Answer(updates=update, interval=min(max(centiseconds, 1), MOST_CENTISECONDS) / 100)

    def _line(self, move: MoveStatistics) -> list[str]:
        return self.engine.thinker.line(move.id) or [move.move]

    # GoGui: a number from -1 to 1 for each point, rows from the top

    def visits(self, words: Sequence[str]) -> str:
        """Each move's visits as a part of the most visited one's."""
        moves = self._searched_moves()
        most = max(move.visits for move in moves)
        return self._board({move.id: move.visits / max(most, 1) for move in moves})

    def rave(self, words: Sequence[str]) -> str:
        """Each move's AMAF value, from -1 (loses) to 1 (wins)."""
        self._searched_moves()
        values = self.engine.thinker.amaf()
        if not values:
            raise GtpError("there are no RAVE values; start treespan gtp with --bandit rave")
        return self._board({move: 2 * value - 1 for move, value in values.items()})

    def territory(self, words: Sequence[str]) -> str:
        """Each point's owner in playouts, from -1 (White) to 1 (Black)."""
        owners = self.engine.status().owners
        return self._board(dict(enumerate(owners.tolist())))

    def _searched_moves(self) -> list[MoveStatistics]:
        moves = self.engine.thinker.moves()
        if not moves:
            raise GtpError("there is no search to show; use genmove, reg_genmove or lz-analyze first")
        return moves

    def _board(self, values: dict[int, float]) -> str:
        assert isinstance(self.engine.game, Go)
        places = range(1, self.engine.game.size + 1)
        rows = (" ".join(f"{values.get(row * STRIDE + column, 0.0):.3f}" for column in places) for row in places)
        return "\n" + "\n".join(reversed(list(rows)))


def leela_info(move: MoveStatistics, order: int, line: list[str]) -> str:
    """Leela Zero's format: rates are hundredths of a percent."""
    rate, bound = round(1e4 * expected(move)), round(1e4 * lower_bound(move.wins, move.visits))
    prior = f" prior {round(1e4 * move.prior)}" if move.prior is not None else ""
    figures = f"visits {move.visits} winrate {rate}{prior} lcb {bound} order {order}"
    return f"info move {move.move} {figures} pv {' '.join(line)}"


def kata_info(move: MoveStatistics, order: int, line: list[str]) -> str:
    """KataGo's format: rates from 0 to 1, of the player to move."""
    rate, bound = expected(move), lower_bound(move.wins, move.visits)
    prior = f" prior {move.prior:.6f}" if move.prior is not None else ""
    figures = f"visits {move.visits} winrate {rate:.6f}{prior} lcb {bound:.6f} order {order}"
    return f"info move {move.move} {figures} pv {' '.join(line)}"
