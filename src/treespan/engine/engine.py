"""A game in progress: position, undo, choice of move, clock, pondering, resignation, passing, dead stones."""

import threading
import time
from collections.abc import Collection, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import Any

from treespan.core.errors import PositionError
from treespan.engine.thinker import Thinker, make_thinker
from treespan.engine.timing import MOVE_LAG, Clock, expected_playouts, is_settled, may_stop
from treespan.games.go import Go
from treespan.games.go.board import NO_KO, PASS
from treespan.games.go.safety import safe_points
from treespan.games.go.status import Status, assess, sensible_moves
from treespan.games.position import Position
from treespan.games.rules import FIRST, Game
from treespan.runtimes.crew import Crew
from treespan.runtimes.plan import Plan
from treespan.schemes.base import Budget
from treespan.search.result import MoveStatistics, SearchResult
from treespan.search.tree import MAX_VISITS

STATUS_PLAYOUTS = 400  # that say who owns what
FEWEST_MOVES_TO_GO = 10  # a game is never thought to end sooner, so that some time is always kept
RESIGN_MOVES = 3  # bad moves in a row, as one may be bad luck of a short search
LONGEST_SECONDS = 86_400.0  # of one search: controllers that mean "no limit" give years
PLAYED_SHARE = 0.8  # of the first position's moves are played in a game, at a guess (Go: 65 of 81 points)


@dataclass(frozen=True)
class Decision:
    """What the engine wants to do."""

    move: int | None  # None: resign
    value: float  # expected reward for the player to move
    result: SearchResult | None = None  # None: no search was needed

    @property
    def resigns(self) -> bool:
        return self.move is None


class Engine:
    """One game at a time. Methods are called from one thread; pondering and analysis run in another behind them."""

    def __init__(
        self,
        game: Game,
        plan: Plan,
        resign: float = 0.0,
        reuse: bool = True,
        crew: Crew | None = None,
        early_stop: bool = False,  # do not spend the plan's budget on a choice that cannot change any more
        resign_moves: int = RESIGN_MOVES,  # so many choices of a player in a row have to be below `resign`
    ):
        self.plan, self.reuse, self.crew, self.early_stop = plan, reuse, crew, early_stop
        self.resign, self.resign_moves = resign, resign_moves
        self.clock = Clock()
        self._background: threading.Thread | None = None
        self._before_analysis: Position | None = None  # if another player's view is analysed
        self.start(game)

    def start(self, game: Game, state: Any = None) -> None:
        """A new game, from the first position or another one."""
        self.halt()
        self.game = game
        self.position = Position(game, state)
        self.thinker: Thinker = make_thinker(game, self.plan, self.reuse, self.crew)
        self._past: list[Position] = []
        self._hopes: dict[int, dict[int, float]] = {}  # by player and ply: what was expected

    def lead(self, crew: Crew) -> None:
        """Search on MPI ranks from now on."""
        self.crew = crew
        self.thinker = make_thinker(self.game, self.plan, self.reuse, crew)

    def play(self, move: int, player: int | None = None) -> None:
        """Make a move, in Go of either player; an illegal one raises PositionError and changes nothing."""
        self.halt()
        before = self.position
        if player is not None:
            self.set_player(player)
        self.position = self.position.copy()
        try:
            self.position.play(move)
        except PositionError:
            self.position = before
            raise
        self._past.append(before)

    def undo(self) -> None:
        """Take the last move back."""
        self.halt()
        if not self._past:
            raise PositionError("there is no move to undo")
        self.position = self._past.pop()
        self.thinker.forget()

    @property
    def moves_played(self) -> int:
        return len(self._past)

    @property
    def past(self) -> list[Position]:
        """The positions before each move."""
        return self._past

    def set_player(self, player: int) -> None:
        """Let `player` move next (Go): also after his own move, and when both have passed."""
        state = self.position.state
        is_over = state.passes >= 2 or state.plies_left <= 0
        if not isinstance(self.game, Go) or (int(state.to_play) == player and not is_over):
            return
        self.halt()
        start = Position(self.game, state).state
        start.to_play, start.passes, start.ko, start.plies_left = player, 0, NO_KO, self.game.max_plies
        history = self.position.history
        self.position = Position(self.game, start)
        self.position.history = list(history)
        self.thinker.forget()

    @contextmanager
    def as_player(self, player: int) -> Iterator[None]:
        """Ask as if it were `player`'s turn; afterwards the game is as it was, its ko and its turn too."""
        before = self.position
        self.set_player(player)
        try:
            yield
        finally:
            self._go_back(before)

    def _go_back(self, before: Position) -> None:
        if self.position is not before:
            self.position = before
            self.thinker.forget()

    def set_komi(self, komi: float) -> None:
        """Change the komi of a game of Go, also while it is played."""
        self.halt()
        assert isinstance(self.game, Go)
        self.game = replace(self.game, komi=komi)
        for position in [*self._past, self.position]:
            position.game, position.state.komi = self.game, komi
        self.thinker.forget()

    # Choice of move

    def choose(self, may_pass: bool = True, use_clock: bool = True) -> Decision:
        """The move that the engine would make now. Does not make it."""
        start = time.monotonic()  # the controller's watch runs already
        self.halt()
        self.position.require_choice()
        player = int(self.position.state.to_play)
        decision = self._decide(player, may_pass, start if use_clock else None)
        if use_clock:
            self.clock.spend(player, time.monotonic() - start + MOVE_LAG)
        return decision

    def _decide(self, player: int, may_pass: bool, clock_start: float | None) -> Decision:
        banned: Collection[int] = ()
        if isinstance(self.game, Go):
            # Behind by either count of dead stones, the last word is not a pass while there is a useful move.
            ends_game = int(self.position.state.passes) == 1
            if may_pass and (ends_game or self._is_won_for_good()) and self._wins_as_it_stands():
                return Decision(int(PASS), 1.0)
            if (ends_game or not may_pass) and self._has_sensible_move():
                banned = (int(PASS),)
        result = self._think(banned, clock_start)
        best = result.moves[0]
        if isinstance(self.game, Go) and best.id == PASS and len(result.moves) > 1:
            if not self._wins_as_it_stands() and self._has_sensible_move():
                best = result.moves[1]
        value = expected(best)
        return Decision(None if self._is_hopeless(player, value) else best.id, value, result)

    def _is_hopeless(self, player: int, value: float) -> bool:
        """Whether this choice and the player's last ones before it all expect less than `resign`."""
        now = self.moves_played
        hopes = {ply: hope for ply, hope in self._hopes.get(player, {}).items() if ply < now} | {now: value}
        self._hopes[player] = hopes
        return len(hopes) >= self.resign_moves and max(list(hopes.values())[-self.resign_moves :]) < self.resign

    def _think(self, banned: Collection[int], clock_start: float | None) -> SearchResult:
        """A search as long as the clock allows, of which time has gone since `clock_start`; None: by the plan."""
        plies = self.moves_played
        moves_to_go = max(FEWEST_MOVES_TO_GO, int(PLAYED_SHARE * self.game.max_moves - plies) // 2)
        if self.plan.runtime == "simulated":
            clock_start = None  # of a controller: a simulated second takes many of its seconds, or few
        allotment = self.clock.allot(int(self.position.state.to_play), moves_to_go)
        self.thinker.ready()
        if allotment is None or clock_start is None:
            return self._think_by_budget(banned)
        rest = allotment.after(time.monotonic() - clock_start)
        thinker = self.thinker
        limit = min(max(rest.limit if thinker.keeps_tree else rest.target, 0.001), LONGEST_SECONDS)

        def watch(playouts: int, seconds: float) -> None:
            if may_stop(thinker.moves(), playouts, seconds, rest):
                thinker.stop()

        return thinker.think(self.position, Budget(seconds=limit), banned, watch if thinker.keeps_tree else None)

    def _think_by_budget(self, banned: Collection[int]) -> SearchResult:
        thinker, budget = self.thinker, self.plan.budget
        if not (self.early_stop and thinker.keeps_tree and self.plan.scheme.choice == "visits"):
            return thinker.think(self.position, budget, banned)
        if budget.playouts is not None:
            return thinker.think(
                self.position, budget, banned, is_settled=lambda to_come: is_settled(thinker.moves(), to_come)
            )

        def watch(playouts: int, seconds: float) -> None:
            if is_settled(thinker.moves(), expected_playouts(playouts, seconds, budget.seconds or 0.0)):
                thinker.stop()

        return thinker.think(self.position, budget, banned, watch)

    def _wins_as_it_stands(self) -> bool:
        """Whether the player to move wins if the game ends here, whether dead stones are taken off or count as alive:
        rules differ in that, and the opponent may see other stones as dead."""
        status = self.status()
        sign = 1 if int(self.position.state.to_play) == FIRST else -1
        return min(sign * status.margin, sign * status.board_margin) > 0

    def _is_won_for_good(self) -> bool:
        """Whether the player to move wins by the points alone that nobody can take from him though he passes."""
        state = self.position.state
        komi = float(state.komi) if int(state.to_play) == FIRST else -float(state.komi)
        safe = len(safe_points(state, int(state.to_play) + 1))
        # With a komi beyond the board's size an empty board is won, too, but there is a game to play.
        return safe > 0 and 2 * safe - int(state.side) ** 2 > komi

    def _has_sensible_move(self) -> bool:
        assert isinstance(self.game, Go)
        return bool(set(sensible_moves(self.game, self.position.state)) - self.position.forbidden_moves)

    def _considered_moves(self) -> set[int]:
        """The moves of this position that a search has at its root."""
        if not isinstance(self.game, Go):
            return set(self.position.legal_moves)
        return {int(PASS), *sensible_moves(self.game, self.position.state)} - self.position.forbidden_moves

    def status(self) -> Status:
        """Territory, dead stones and score (Go)."""
        if not isinstance(self.game, Go):
            raise PositionError(f"{self.game.name}: only Go has territory and dead stones")
        return assess(self.game, self.position.state, STATUS_PLAYOUTS, self.plan.seed)

    def warm_up(self) -> None:
        """Compile, or load from the cache, what must not count as thinking time. Changes nothing."""
        short = Engine(self.game, replace(self.plan, budget=replace(self.plan.budget, playouts=1)), crew=self.crew)
        for _ in range(2):  # the second search keeps the tree of the first, which is code of its own
            if not short.position.is_chance and not short.position.is_over:
                move = short.choose().move
                short.play(short.position.legal_moves[0] if move is None else move)
        if isinstance(self.game, Go):
            short.status()

    # Thinking without moving

    def analyse(self, player: int | None = None, banned: Collection[int] = ()) -> None:
        """Search on in the background, perhaps as if `player` were to move, until `halt` or the next call that needs
        the position. Moves in `banned` are not considered."""
        self.halt()
        if not self.thinker.keeps_tree:
            raise PositionError(f"scheme {self.plan.scheme.name} cannot be watched; give sequential, root or shared")
        before = self.position
        if player is not None:
            self.set_player(player)
        self._before_analysis = before
        try:
            self.position.require_choice()
            if banned and not self._considered_moves() - set(banned):
                raise PositionError(f"{self.game.name}: no move is left to search; avoid fewer or allow others")
        except PositionError:
            self.halt()
            raise
        self.thinker.ready()
        arguments = (self.position, Budget(playouts=MAX_VISITS), banned)
        self._background = threading.Thread(target=self.thinker.think, args=arguments, daemon=True)
        self._background.start()

    def ponder(self) -> None:
        """Think while the opponent does, where the search can keep what it finds."""
        if self.thinker.keeps_tree and self.reuse and not self.position.is_over and not self.position.is_chance:
            self.analyse()

    def halt(self) -> None:
        """End what `analyse` or `ponder` began."""
        if self._background is not None:
            self.thinker.stop()
            self._background.join()
            self._background = None
        if self._before_analysis is not None:
            self._go_back(self._before_analysis)
            self._before_analysis = None

    def close(self) -> None:
        self.halt()


def expected(move: MoveStatistics) -> float:
    """A move's reward for the player who makes it: proven, or the mean."""
    return {"win": 1.0, "draw": 0.5, "loss": 0.0}.get(move.proven or "", move.value)


def win_rate(moves: Sequence[MoveStatistics]) -> float:
    """A position's reward for the player to move: proven, or the mean over all simulations. `moves` are best first.

    The best move's own mean is too high in short searches, where the luckiest of many moves is taken for the best.
    """
    best = moves[0]
    if best.proven == "win" or all(move.proven for move in moves):
        return expected(best)
    visits = sum(move.visits for move in moves)
    return sum(move.wins for move in moves) / visits if visits else 0.5
