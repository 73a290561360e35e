"""A game in progress: position, undo, choice of move, clock, pondering, resignation.

All that only some games have, such as passing and dead stones, is the game's manners.
"""

import contextlib
import threading
import time
from collections.abc import Collection, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import Any

from treespan.core.errors import PositionError, TreespanError
from treespan.engine.thinker import Thinker, Watch, make_crew, make_thinker
from treespan.engine.timing import MOVE_LAG, Clock, expected_playouts, is_settled, may_stop
from treespan.games.manners import Manners, Status
from treespan.games.position import Position
from treespan.games.rules import Game
from treespan.runtimes.run import Crew
from treespan.schemes.plan import SIMULATED, Budget, Plan
from treespan.search.result import MoveStatistics, SearchResult
from treespan.search.tree import MAX_VISITS

STATUS_PLAYOUTS = 400  # by which a status is found
FEWEST_MOVES_TO_GO = 10  # the engine never expects fewer, so that it always keeps some time
RESIGN_MOVES = 3  # hopeless choices in a row before it resigns; a single one may be bad luck of a short search
LONGEST_SECONDS = 86_400.0  # of one search; controllers that mean "no limit" announce years
ANALYSIS_SECONDS = 0.1  # between two results of an analysis
PLAYED_SHARE = 0.8  # guess: the share of the first position's moves that a game has (Go: 65 of 81 points)


@dataclass(frozen=True)
class Decision:
    """The engine's choice: a move, or to resign."""

    move: int | None  # None: resign
    value: float  # expected reward for the player to move
    result: SearchResult | None = None  # None: no search was needed

    @property
    def resigns(self) -> bool:
        return self.move is None


class GameEngine:
    """Plays one game at a time.

    Call its methods from one thread only. Pondering and analysis run in a thread of their own.
    """

    def __init__(
        self,
        game: Game,
        plan: Plan,
        resign: float = 0.0,
        reuse: bool = True,
        crew: Crew | None = None,
        early_stop: bool = False,  # end a search as soon as its choice is settled
        resign_moves: int = RESIGN_MOVES,  # choices of a player in a row that expect less than `resign`
    ):
        self.plan, self.reuse, self.early_stop = plan, reuse, early_stop
        self._ranks = None if crew else make_crew(plan)
        self.crew = crew or self._ranks
        self.resign, self.resign_moves = resign, resign_moves
        self.clock = Clock()
        self.watcher: Watch | None = None  # called a few times a second while a move is chosen
        self.thinker = Thinker()  # until the game starts
        self._background: threading.Thread | None = None
        self._before_analysis: Position | None = None  # the position to return to after an analysis
        self.start(game)

    def start(self, game: Game, state: Any = None) -> None:
        """Start a new game, from the first position or from another one."""
        self.halt()
        self.thinker.close()
        self.game = game
        self.position = Position(game, state)
        self.thinker = make_thinker(game, self.plan, self.reuse, self.crew)
        self._past: list[Position] = []
        self._hopes: dict[int, dict[int, float]] = {}  # by player and ply: the expected reward

    def lead(self, crew: Crew) -> None:
        """Search on MPI ranks from now on."""
        self.thinker.close()
        self.crew = crew
        self.thinker = make_thinker(self.game, self.plan, self.reuse, crew)

    @property
    def manners(self) -> Manners:
        """The game's manners: what it adds to its rules."""
        return self.game.manners()

    def play(self, move: int, player: int | None = None) -> None:
        """Make a move; if the game lets either player move, that of `player`.

        Raises PositionError, and changes nothing, if the move is illegal.
        """
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
        self.thinker.jump()

    @property
    def moves_played(self) -> int:
        return len(self._past)

    @property
    def past(self) -> list[Position]:
        """The position before each move."""
        return self._past

    def set_player(self, player: int) -> None:
        """Let `player` move next. Changes nothing unless the game lets either player move."""
        self.halt()
        self._go_to(self.manners.turned(self.position, player))

    @contextmanager
    def as_player(self, player: int) -> Iterator[None]:
        """Make it `player`'s turn in the body. Afterwards the game is as before, ko and turn included."""
        self.halt()
        before = self.position
        self.set_player(player)
        try:
            yield
        finally:
            self._go_to(before)

    def _go_to(self, position: Position) -> None:
        """Change to a position that does not follow from the present one by a move."""
        if self.position is not position:
            self.position = position
            self.thinker.jump()

    def set_komi(self, komi: float) -> None:
        """Change the komi, also while the game is played."""
        self.halt()
        self.game = self.manners.change_komi([*self._past, self.position], komi)
        self.thinker.forget()

    # Choice of move

    def choose(self, may_pass: bool = True, use_clock: bool = True) -> Decision:
        """Return the move that the engine would make now. Does not make it."""
        start = time.monotonic()  # the controller's clock is running already
        self.halt()
        self.position.require_choice()
        player = int(self.position.state.to_play)
        decision = self._decide(player, may_pass, start if use_clock else None)
        if use_clock:
            self.clock.spend(player, time.monotonic() - start + MOVE_LAG)
        return decision

    def _decide(self, player: int, may_pass: bool, clock_start: float | None) -> Decision:
        manners, position = self.manners, self.position
        obvious = manners.obvious_move(position, may_pass, self.status)
        if obvious is not None:
            return Decision(obvious, 1.0)
        result = self._think(manners.banned_moves(position, may_pass), clock_start)
        best = result.moves[0]
        if len(result.moves) > 1 and manners.is_mistake(position, best.id, self.status):
            best = result.moves[1]
        value = expected(best)
        return Decision(None if self._is_hopeless(player, value) else best.id, value, result)

    def _is_hopeless(self, player: int, value: float) -> bool:
        """Return whether this choice and the player's last choices before it all expect less than `resign`."""
        now = self.moves_played
        hopes = {ply: hope for ply, hope in self._hopes.get(player, {}).items() if ply < now} | {now: value}
        self._hopes[player] = hopes
        return len(hopes) >= self.resign_moves and max(list(hopes.values())[-self.resign_moves :]) < self.resign

    def _think(self, banned: Collection[int], clock_start: float | None) -> SearchResult:
        """Search as long as the clock allows. It has been running since `clock_start`; None: search by the plan."""
        plies = self.moves_played
        moves_to_go = max(FEWEST_MOVES_TO_GO, int(PLAYED_SHARE * self.game.max_moves - plies) // 2)
        if self.plan.runtime == SIMULATED:
            clock_start = None  # simulated seconds are not those of the controller's clock
        allotment = self.clock.allot(int(self.position.state.to_play), moves_to_go)
        self.thinker.ready()
        if allotment is None or clock_start is None:
            return self._think_by_budget(banned)
        rest = allotment.after(time.monotonic() - clock_start)
        thinker = self.thinker
        limit = min(max(rest.limit if self._may_stop_early else rest.target, 0.001), LONGEST_SECONDS)

        def watch(playouts: int, seconds: float) -> None:
            if may_stop(thinker.moves(), playouts, seconds, rest):
                thinker.stop()

        stops = watch if self._may_stop_early else None
        return thinker.think(self.position, Budget(seconds=limit), banned, self._watched(stops))

    @property
    def _may_stop_early(self) -> bool:
        """Whether a search may end by what it has found: what it leaves undone is not lost, and its time is real."""
        return self.thinker.keeps_tree and self.plan.runtime != SIMULATED

    def _watched(self, stops: Watch | None) -> Watch | None:
        """What is called while a search runs: what may stop it, and who watches."""
        watcher = self.watcher
        if watcher is None or stops is None:
            return stops or watcher

        def watch(playouts: int, seconds: float) -> None:
            stops(playouts, seconds)
            watcher(playouts, seconds)

        return watch

    def _think_by_budget(self, banned: Collection[int]) -> SearchResult:
        thinker, budget = self.thinker, self.plan.budget
        if not (self.early_stop and self._may_stop_early and self.plan.options.choice == "visits"):
            return thinker.think(self.position, budget, banned, self.watcher)
        if budget.playouts is not None:
            return thinker.think(
                self.position, budget, banned, self.watcher, lambda to_come: is_settled(thinker.moves(), to_come)
            )

        def watch(playouts: int, seconds: float) -> None:
            if is_settled(thinker.moves(), expected_playouts(playouts, seconds, budget.seconds or 0.0)):
                thinker.stop()

        return thinker.think(self.position, budget, banned, self._watched(watch))

    def status(self) -> Status:
        """Return owners, dead stones and score of the position. Raises PositionError in a game without them."""
        return self.manners.status(self.position.state, STATUS_PLAYOUTS, self.plan.seed)

    def warm_up(self) -> None:
        """Compile, or load from the cache, what must not count as thinking time. Does not change the game."""
        short = GameEngine(self.game, replace(self.plan, budget=replace(self.plan.budget, playouts=1)), crew=self.crew)
        for _ in range(2):  # the second search keeps the first one's tree: that needs other code
            if not short.position.is_chance and not short.position.is_over:
                move = short.choose().move
                short.play(short.position.legal_moves[0] if move is None else move)
        short.close()
        if self.manners.has_status:
            short.status()

    # Thinking without moving

    def analyse(self, player: int | None = None, banned: Collection[int] = ()) -> None:
        """Search in the background until `halt`, or until the next call that needs the position.

        player: search as if this player were to move.
        banned: moves that are not considered.
        """
        self.halt()
        before = self.position
        if player is not None:
            self.set_player(player)
        self._before_analysis = before
        try:
            self.position.require_choice()
            if banned and not self.manners.considered_moves(self.position) - set(banned):
                raise PositionError(f"{self.game.name}: no move is left to search; avoid fewer or allow others")
        except PositionError:
            self.halt()
            raise
        self.thinker.ready()
        what: dict[str, Any] = {"position": self.position, "budget": Budget(playouts=MAX_VISITS), "banned": banned}

        def think() -> None:
            with contextlib.suppress(TreespanError):  # lost ranks, say: the next search tells if it cannot be done
                self.thinker.think(**what, every=ANALYSIS_SECONDS)

        self._background = threading.Thread(target=think, daemon=True)
        self._background.start()

    def ponder(self) -> None:
        """Think on the opponent's time. Does nothing if the next search would not go on with the tree."""
        if self.reuse and not self.position.is_over and not self.position.is_chance:
            self.analyse()

    def halt(self) -> None:
        """End the search that `analyse` or `ponder` began."""
        if self._background is not None:
            self.thinker.stop()
            self._background.join()
            self._background = None
        if self._before_analysis is not None:
            self._go_to(self._before_analysis)
            self._before_analysis = None

    def close(self) -> None:
        self.halt()
        if self._ranks is not None:
            self._ranks.close()
        self.thinker.close()


def expected(move: MoveStatistics) -> float:
    """Return a move's reward for the player who makes it: the proven one, or the mean."""
    return {"win": 1.0, "draw": 0.5, "loss": 0.0}.get(move.proven or "", move.value)


def win_rate(moves: Sequence[MoveStatistics]) -> float:
    """Return a position's reward for the player to move: the proven one, or the mean over all simulations.

    `moves` are best first. The best move's own mean would be too high in short searches: there the luckiest of many
    moves looks best.
    """
    best = moves[0]
    if best.proven == "win" or all(move.proven for move in moves):
        return expected(best)
    visits = sum(move.visits for move in moves)
    return sum(move.wins for move in moves) / visits if visits else 0.5
