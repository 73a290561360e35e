"""The players of a match: a search of ours, or a program that speaks GTP.

A player that does anything wrong in a game forfeits it: the player loses that game, and the match goes on.
"""

import time
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

from treespan.core.errors import OptionError, PositionError, about, named
from treespan.core.options import check_range, parse_value
from treespan.engine import RESIGN_MOVES, GameEngine
from treespan.games.position import Position
from treespan.games.rules import Game
from treespan.lab.match.gtp_process import GtpProcess, ProgramError, find_command
from treespan.runtimes.plan import plan_of, split_options
from treespan.schemes.plan import Plan

GTP_PREFIX = "gtp:"
SETUP_SECONDS = 60.0  # a program's time to start, and for each command that is not a move
COLORS = ("black", "white")  # of GTP, by player


class ForfeitError(Exception):
    """A player has lost the game by its own fault.

    `kind` is time, illegal move, crash, error (GTP's `? message`) or unreadable answer.
    """

    def __init__(self, kind: str, detail: str):
        super().__init__(f"{kind}: {detail}")
        self.kind, self.detail = kind, detail


@dataclass(frozen=True)
class Choice:
    """A player's answer: a move, or None to resign."""

    move: int | None
    seconds: float


class Player:
    """One side of a match; plays one game after another."""

    def new_game(self, game: Game, opening: Sequence[int], seed: int) -> None:
        """Begin a game from the first position after the opening's moves."""
        raise NotImplementedError

    def play(self, move: int) -> None:
        """Take in a move of either side."""
        raise NotImplementedError

    def choose(self, timeout: float) -> Choice:
        """Return a move for the side whose turn it is. Does not play it. Raises ForfeitError."""
        raise NotImplementedError

    def claim(self) -> str | None:
        """Return the result that the player sees in a finished game with dead stones, as B+3.5; None if it has none."""
        return None

    def close(self) -> None:
        """End everything that the player started."""


def make_player(text: str, game: Game, timeout: float) -> Player:
    """Return a player from search options or `gtp: COMMAND`. Raises OptionError if it cannot play this game."""
    if game.players != 2:
        raise OptionError(f"{game.name}{about('game', game.spec())} has one player; a match needs a game for two")
    if text.strip().startswith(GTP_PREFIX):
        if not game.manners().has_gtp:
            raise OptionError(f"'{text}': GTP is for Go alone; give search options for {game.name}")
        return GtpPlayer(find_command(text.strip()[len(GTP_PREFIX) :]))
    return SearchPlayer(text, game, timeout)


class SearchPlayer(Player):
    """Our own engine. Its options are those of `treespan search`, and resign, resign_moves, reuse and early_stop."""

    def __init__(self, text: str, game: Game, timeout: float):
        values = split_options(text)

        def read(kind: Any, name: str, default: str) -> Any:
            return parse_value(kind, values.pop(name, default), partial(named, name))

        self.resign = read(float, "resign", "0")
        self.resign_moves = read(int, "resign_moves", str(RESIGN_MOVES))
        self.reuse = read(bool, "reuse", "yes")
        self.early_stop = read(bool, "early_stop", "no")
        if not 0 <= self.resign < 1:
            raise OptionError(
                f"{named('resign', self.resign)} is out of range; give a win rate from 0 (never) to below 1"
            )
        check_range("resign_moves", self.resign_moves, 1)
        plan = plan_of(values, game)
        if plan.runtime == "mpi":
            here = f"{named('threads')} or {named('simulate')}"
            raise OptionError(f"'{text}': a player of a match has no {named('ranks')}; give {here}")
        self.plan: Plan = plan
        if not self.is_simulated:
            if plan.budget.seconds is not None and plan.budget.seconds >= timeout:
                seconds = named("seconds", plan.budget.seconds)
                raise OptionError(f"'{text}': {seconds} is not below the match's {named('timeout', timeout)}; raise it")
            # The timeout also bounds a search by playouts. A player whose search reaches it has lost the game.
            self.plan = replace(plan, budget=replace(plan.budget, seconds=plan.budget.seconds or timeout))
        self._engine: GameEngine | None = None
        self._is_warm = False

    @property
    def is_simulated(self) -> bool:
        """Whether its seconds are those of a simulated cluster, to which the timeout does not apply."""
        return self.plan.runtime == "simulated"

    def new_game(self, game: Game, opening: Sequence[int], seed: int) -> None:
        plan = self.plan.with_seed(seed)
        more = {"early_stop": self.early_stop, "resign_moves": self.resign_moves}
        self._engine = GameEngine(game, plan, self.resign, self.reuse, **more)
        if not self._is_warm:
            self._engine.warm_up()
            self._is_warm = True
        for move in opening:
            self._engine.play(move)

    def play(self, move: int) -> None:
        assert self._engine is not None
        self._engine.play(move)

    def choose(self, timeout: float) -> Choice:
        assert self._engine is not None
        start = time.monotonic()
        try:
            decision = self._engine.choose()
        except Exception as error:  # a fault of a user's game, or of ours: the match reports it and goes on
            raise ForfeitError("crash", f"{type(error).__name__}: {error}") from error
        seconds = time.monotonic() - start
        if decision.result is not None and decision.result.interrupted:
            raise KeyboardInterrupt
        if seconds >= timeout:
            raise ForfeitError("time", f"{seconds:.2f} s of {timeout:g} s")
        if self.is_simulated:
            seconds = decision.result.seconds if decision.result else 0.0
        return Choice(decision.move, seconds)

    def claim(self) -> str | None:
        assert self._engine is not None
        return self._engine.status().score


class GtpPlayer(Player):
    """A Go program. Its process stays from game to game. After a failure the next game starts a new one."""

    def __init__(self, command: Sequence[str]):
        self.command = command
        self._process: GtpProcess | None = None
        self._chosen: int | None = None  # the move that the program has already made itself, by `genmove`

    def _ask(self, command: str, timeout: float = SETUP_SECONDS) -> str:
        if self._process is None:
            raise ForfeitError("crash", "the program has ended")
        try:
            return self._process.ask(command, timeout)
        except ProgramError as failure:
            if failure.kind != "error":
                self.close()
            raise ForfeitError(failure.kind, str(failure)) from None

    def new_game(self, game: Game, opening: Sequence[int], seed: int) -> None:
        if self._process is None:
            try:
                self._process = GtpProcess(self.command)
            except ProgramError as failure:
                raise ForfeitError(failure.kind, str(failure)) from None
        self._position = Position(game)
        for command in game.manners().gtp_setup(self._position.state):
            self._ask(command)
        self._chosen = None
        for move in opening:
            self.play(move)

    def play(self, move: int) -> None:
        color = COLORS[int(self._position.state.to_play)]
        if move != self._chosen:
            self._ask(f"play {color} {self._position.game.move_name(move)}")
        self._chosen = None
        self._position.play(move)

    def choose(self, timeout: float) -> Choice:
        start = time.monotonic()
        text = self._ask(f"genmove {COLORS[int(self._position.state.to_play)]}", timeout)
        seconds = time.monotonic() - start
        if text.lower() == "resign":
            return Choice(None, seconds)
        try:
            self._chosen = self._position.game.parse_move(text)
        except PositionError:
            self.close()
            raise ForfeitError("unreadable answer", f"'{text[:60]}' is no move") from None
        return Choice(self._chosen, seconds)

    def claim(self) -> str | None:
        try:
            answer = self._ask("final_score").split()[0]
        except (ForfeitError, IndexError):
            return None
        # None for programs that answer in words that they do not know
        return self._position.game.manners().read_score(answer)

    def close(self) -> None:
        if self._process is not None:
            self._process.close()
            self._process = None
