"""Time control: main time, Canadian and Japanese byo-yomi, and when a search may end early.

A search has a target and a limit, in seconds. It ends before the target if the second-best move cannot catch up any
more. It goes on past the target, up to the limit, while the most visited move is not the move with the best value.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field, replace

from treespan.search.result import MoveStatistics

LAG_SECONDS = 0.2  # kept back for the way from the controller and to it
LAG_SHARE = 0.1  # but never more than this part of a period
MOVE_LAG = 0.02  # seconds of each move that only the controller's clock counts
SCRAP_SHARE = 0.1  # part of the time that is used even if all should be kept back for lag
STRETCH = 3.0  # the limit is at most this many targets
FAIR_VISITS = 0.1  # the value of a move counts from this part of the most visited move's visits on


@dataclass(frozen=True)
class TimeSettings:
    """A time system, in seconds."""

    main: float = 0.0
    period: float = 0.0  # of byo-yomi
    stones: int = 0  # Canadian byo-yomi: moves in each period
    periods: int = 0  # Japanese byo-yomi: periods, each for one move

    @property
    def per_move(self) -> float:
        """The seconds of byo-yomi for each move."""
        if self.periods:
            return self.period
        return self.period / self.stones if self.stones else 0.0


@dataclass(frozen=True)
class Allotment:
    """Seconds for one move."""

    target: float
    limit: float

    def after(self, seconds: float) -> "Allotment":
        """Return what is left after some seconds."""
        return Allotment(max(self.target - seconds, 0.0), max(self.limit - seconds, 0.0))


@dataclass
class Clock:
    """The time left to both players."""

    settings: TimeSettings | None = None  # None: no limit
    _announced: TimeSettings | None = None
    _is_announced: bool = False
    _left: dict[int, tuple[float, int]] = field(default_factory=dict)  # by player: seconds, and stones or periods

    def set(self, settings: TimeSettings | None) -> None:
        """Take the controller's time system; None: no limit, whatever time left it reports later."""
        self._announced, self._is_announced = settings, True
        self.refill()

    def refill(self) -> None:
        """Give both players their full time, for a new game."""
        self.settings = self._announced
        self._left = {}

    def tell(self, player: int, seconds: float, stones: int) -> None:
        """Take the time left that the controller reports. A time system that it has not announced follows from this.

        stones: 0 in main time, else the stones (Canadian) or periods (Japanese) left.
        """
        seconds = max(seconds, 0.0)
        if not (self.settings or self._is_announced) and seconds > 0:
            self.settings = TimeSettings(main=0.0 if stones else seconds)
        if self.settings and stones and not (self.settings.stones or self.settings.periods):
            self.settings = replace(self.settings, period=seconds, stones=stones)
        self._left[player] = (seconds, stones)

    def left(self, player: int) -> tuple[float, int]:
        """Return the seconds left, and the stones or periods that they are for (0: main time)."""
        settings = self.settings or TimeSettings()
        if player in self._left:
            return self._left[player]
        if settings.main > 0:
            return settings.main, 0
        return settings.period, settings.stones or settings.periods

    def spend(self, player: int, seconds: float) -> None:
        """Take a move's seconds from our own account, which holds until the controller reports the time left."""
        if self.settings is None:
            return
        left, stones = self.left(player)
        settings = self.settings
        if stones == 0 and seconds < left:
            self._left[player] = (left - seconds, 0)
        elif stones == 0:  # main time ran out in this move; the rest of the move took from the first period
            over = seconds - left
            periods = settings.stones or settings.periods
            self._left[player] = (settings.period, periods)
            if settings.stones:
                self._left[player] = _canadian(settings, settings.period - over, settings.stones - 1)
        elif settings.stones:
            self._left[player] = _canadian(settings, left - seconds, stones - 1)
        else:
            lost = int(seconds // settings.period) if settings.period > 0 else 0
            self._left[player] = (settings.period, max(stones - lost, 1))

    def allot(self, player: int, moves_to_go: int) -> Allotment | None:
        """Return the time for the next move; None without a limit. `moves_to_go` guesses the player's moves to come."""
        if self.settings is None:
            return None
        seconds, stones = self.left(player)
        per_move = self.settings.per_move
        if stones == 0 and per_move == 0:
            # Sudden death. The reserve is no share of the time left: such a share would shrink below a move's lag.
            seconds = max(seconds - LAG_SECONDS - MOVE_LAG * moves_to_go, SCRAP_SHARE * seconds)
        else:
            seconds -= min(LAG_SECONDS, LAG_SHARE * seconds)
        if stones == 0:
            target = max(seconds / max(moves_to_go, 1), per_move)
            return Allotment(min(target, seconds + per_move), min(STRETCH * target, seconds / 3 + per_move))
        if not self.settings.periods:  # Canadian
            target = seconds / stones
            return Allotment(target, seconds if stones == 1 else min(STRETCH * target, seconds / 2))
        return Allotment(seconds, seconds)


def _canadian(settings: TimeSettings, seconds: float, stones: int) -> tuple[float, int]:
    """Return the time and stones left in a Canadian period; after its last stone, those of a new one."""
    return (settings.period, settings.stones) if stones <= 0 else (max(seconds, 0.0), stones)


def may_stop(moves: Sequence[MoveStatistics], playouts: int, seconds: float, allotment: Allotment) -> bool:
    """Return whether a search with these root moves may end after `seconds`."""
    if seconds >= allotment.limit:
        return True
    if len(moves) < 2:
        return bool(moves)
    best = max(moves, key=lambda move: move.visits)
    if best.proven == "win":
        return True
    fair = [move for move in moves if move.visits >= FAIR_VISITS * best.visits]
    is_best_by_value = best.visits > 0 and best.value >= max(move.value for move in fair)
    end = allotment.target if is_best_by_value else allotment.limit
    if seconds >= end:
        return True
    return is_settled(moves, expected_playouts(playouts, seconds, end))


def expected_playouts(playouts: int, seconds: float, end: float) -> float:
    """Return how many more playouts there will be until `end`, at the rate so far."""
    return playouts / seconds * (end - seconds) if seconds > 0 else float("inf")


def is_settled(moves: Sequence[MoveStatistics], to_come: float) -> bool:
    """Return whether no other move can have the most visits after `to_come` more playouts."""
    visits = sorted((move.visits for move in moves if move.proven != "loss"), reverse=True)
    return len(visits) == 1 or (len(visits) > 1 and visits[0] - visits[1] > to_come)
