"""The commands of GTP version 2, and some that servers send. A `GameEngine` carries them out."""

import importlib.metadata
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from treespan.core.errors import OptionError, PositionError, TreespanError
from treespan.engine import Decision, GameEngine
from treespan.engine.timing import TimeSettings
from treespan.games.go import Go
from treespan.games.go.board import BLACK, EMPTY, STRIDE, place_stone
from treespan.games.go.sgf import read_sgf
from treespan.games.go.status import stones
from treespan.games.rules import FIRST, SECOND
from treespan.gtp.protocol import Command, GtpError, number, only, whole_number

COLORS = {"b": FIRST, "black": FIRST, "w": SECOND, "white": SECOND}
OWNED = 0.5  # a point is territory if one side owns it in playouts by at least this lead


class GoCommands:
    """One game of Go behind GTP."""

    def __init__(self, engine: GameEngine, ponders: bool = False):
        assert isinstance(engine.game, Go)
        self.engine, self.ponders = engine, ponders

    @property
    def game(self) -> Go:
        assert isinstance(self.engine.game, Go)
        return self.engine.game

    def commands(self) -> dict[str, Command]:
        return {
            "name": lambda words: "treespan",
            "version": lambda words: version(),
            "boardsize": self.boardsize,
            "clear_board": self.clear_board,
            "komi": self.komi,
            "play": self.play,
            "genmove": self.genmove,
            "reg_genmove": self.reg_genmove,
            "kgs-genmove_cleanup": self.genmove_cleanup,
            "undo": self.undo,
            "showboard": lambda words: f"\n{self.engine.position}",
            "fixed_handicap": self.fixed_handicap,
            "place_free_handicap": self.place_free_handicap,
            "set_free_handicap": self.set_free_handicap,
            "loadsgf": self.loadsgf,
            "final_score": lambda words: self.engine.status().score,
            "final_status_list": self.final_status_list,
            "time_settings": self.time_settings,
            "kgs-time_settings": self.kgs_time_settings,
            "time_left": self.time_left,
        }

    # The board

    def boardsize(self, words: Sequence[str]) -> str:
        size = whole_number(only(words))
        try:
            game = replace(self.game, size=size, handicap=0)
        except OptionError:
            raise GtpError("unacceptable size") from None
        self.engine.start(game)
        return ""

    def clear_board(self, words: Sequence[str]) -> str:
        self.engine.start(replace(self.game, handicap=0))
        self.engine.clock.refill()
        return ""

    def komi(self, words: Sequence[str]) -> str:
        self.engine.set_komi(number(only(words)))
        return ""

    def play(self, words: Sequence[str]) -> str:
        player, move = self._move(words)
        try:
            self.engine.play(move, player)
        except PositionError:
            raise GtpError("illegal move") from None
        return ""

    def undo(self, words: Sequence[str]) -> str:
        try:
            self.engine.undo()
        except PositionError:
            raise GtpError("cannot undo") from None
        return ""

    def _move(self, words: Sequence[str]) -> tuple[int, int]:
        if len(words) != 2:
            raise GtpError("syntax error: a color and a vertex are needed")
        return player_of(words[0]), vertex_of(self.game, words[1])

    # Moves of ours

    def genmove(self, words: Sequence[str]) -> str:
        return self._generate(words, may_pass=True)

    def genmove_cleanup(self, words: Sequence[str]) -> str:
        """Make a move that does not leave dead stones of the opponent on the board (KGS)."""
        self.engine.set_player(player_of(only(words)))
        mine = int(self.engine.position.state.to_play) + 1
        dead = self.engine.status().dead
        enemies_stand = any(int(self.engine.position.state.color[point]) != mine for point in dead)
        return self._generate(words, may_pass=not enemies_stand)

    def _generate(self, words: Sequence[str], may_pass: bool) -> str:
        self.engine.set_player(player_of(only(words)))
        decision = self.engine.choose(may_pass)
        if decision.move is not None:
            self.engine.play(decision.move)
            if self.ponders:
                self.engine.ponder()
        return self._name(decision)

    def reg_genmove(self, words: Sequence[str]) -> str:
        with self.engine.as_player(player_of(only(words))):
            return self._name(self.engine.choose(use_clock=False))

    def _name(self, decision: Decision) -> str:
        return "resign" if decision.move is None else self.game.move_name(decision.move)

    # Handicap, files

    def fixed_handicap(self, words: Sequence[str]) -> str:
        self._require_empty_board()
        count = whole_number(only(words))
        try:
            if count < 2:
                raise GtpError("invalid number of stones")
            game = replace(self.game, handicap=count)
        except OptionError:
            raise GtpError("invalid number of stones") from None
        self.engine.start(game)
        return self._names(stones(self.engine.position.state))

    def place_free_handicap(self, words: Sequence[str]) -> str:
        """Place stones on GTP's fixed points first; beyond these, on points near the centre."""
        self._require_empty_board()
        count, size = whole_number(only(words)), self.game.size
        if not 2 <= count < size * size:
            raise GtpError("invalid number of stones")
        centre = (size + 1) / 2
        everywhere = [row * STRIDE + column for row in range(1, size + 1) for column in range(1, size + 1)]
        near = sorted(everywhere, key=lambda p: (p // STRIDE - centre) ** 2 + (p % STRIDE - centre) ** 2)
        points = list(dict.fromkeys([*self.game.handicap_points(), *near]))[:count]
        self._place(points)
        return self._names(points)

    def set_free_handicap(self, words: Sequence[str]) -> str:
        self._require_empty_board()
        points = [vertex_of(self.game, word) for word in words]
        if len(points) < 2 or len(set(points)) < len(points) or 0 in points or len(points) >= self.game.size**2:
            raise GtpError("bad vertex list")
        self._place(points)
        return ""

    def _require_empty_board(self) -> None:
        if self.engine.moves_played or stones(self.engine.position.state):
            raise GtpError("board not empty")

    def _place(self, points: Sequence[int]) -> None:
        game = replace(self.game, handicap=0)
        state = game.new_state()
        for point in points:
            place_stone(state, np.uint64(point), BLACK, True)
        state.to_play = SECOND
        self.engine.start(game, state)

    def loadsgf(self, words: Sequence[str]) -> str:
        """Set up a file's position: before move N, or at its end. A file without komi keeps the current komi."""
        if not 1 <= len(words) <= 2:
            raise GtpError("syntax error: a file and perhaps a move number are needed")
        last = whole_number(words[1]) - 1 if len(words) == 2 else None
        try:
            document = read_sgf(Path(words[0]).read_bytes(), self.game.komi)
        except (OSError, TreespanError) as error:
            raise GtpError(f"cannot load file: {getattr(error, 'strerror', None) or error}") from None
        game = replace(document.game, superko=self.game.superko)
        trial = GameEngine(game, self.engine.plan)  # a file with an illegal move must not change our game
        trial.start(game, document.start)
        moves = document.moves if last is None else document.moves[: max(last, 0)]
        try:
            for player, move in moves:
                trial.play(move, player)
        except PositionError as error:
            raise GtpError(f"cannot load file: {error}") from None
        self.engine.start(game, document.start)
        for player, move in moves:
            self.engine.play(move, player)
        return ""

    # The end of the game

    def final_status_list(self, words: Sequence[str]) -> str:
        status, state = self.engine.status(), self.engine.position.state
        dead, standing = set(status.dead), stones(state)
        kind = only(words).lower()
        if kind in ("alive", "dead", "seki"):
            wanted = [p for p in standing if (p in dead) == (kind == "dead")] if kind != "seki" else []
            return "\n".join(self._names(chain) for chain in chains(state, wanted))
        size = self.game.size
        free = [row * STRIDE + column for row in range(1, size + 1) for column in range(1, size + 1)]
        free = [point for point in free if state.color[point] == EMPTY or point in dead]
        territory = {
            "black_territory": [point for point in free if status.owners[point] >= OWNED],
            "white_territory": [point for point in free if status.owners[point] <= -OWNED],
            "dame": [point for point in free if abs(status.owners[point]) < OWNED],
        }
        if kind not in territory:
            raise GtpError("invalid status")
        return self._names(territory[kind])

    def _names(self, points: Sequence[int]) -> str:
        return " ".join(self.game.move_name(point) for point in points)

    # Time

    def time_settings(self, words: Sequence[str]) -> str:
        """Read main time, byo-yomi time and byo-yomi stones: Canadian, or sudden death without byo-yomi."""
        if len(words) != 3:
            raise GtpError("syntax error: main time, byo-yomi time and stones are needed")
        main, period, amount = number(words[0]), number(words[1]), whole_number(words[2])
        unlimited = period > 0 and amount == 0
        self._set_time(None if unlimited else TimeSettings(main, period, stones=amount))
        return ""

    def kgs_time_settings(self, words: Sequence[str]) -> str:
        """Read `none`, `absolute M`, `byoyomi M TIME PERIODS` or `canadian M TIME STONES`."""
        system, *figures = [word.lower() for word in words] or [""]
        if len(figures) != {"none": 0, "absolute": 1, "byoyomi": 3, "canadian": 3}.get(system, -1):
            raise GtpError("syntax error: none, absolute M, byoyomi M TIME PERIODS or canadian M TIME STONES is needed")
        if system == "none":
            self._set_time(None)
            return ""
        main, period, amount = (number(figures[0]), 0.0, 0) if len(figures) == 1 else _three(figures)
        stones_or_periods = {"stones": amount} if system == "canadian" else {"periods": amount}
        self._set_time(TimeSettings(main, period, **stones_or_periods))
        return ""

    def _set_time(self, settings: TimeSettings | None) -> None:
        if settings and min(settings.main, settings.period, settings.stones, settings.periods) < 0:
            raise GtpError("syntax error: times are not negative")
        self.engine.clock.set(settings)

    def time_left(self, words: Sequence[str]) -> str:
        if len(words) != 3:
            raise GtpError("syntax error: color, time and stones are needed")
        player, seconds, amount = player_of(words[0]), number(words[1]), whole_number(words[2])
        self.engine.clock.tell(player, seconds, amount)
        return ""


def player_of(text: str) -> int:
    if text.lower() not in COLORS:
        raise GtpError("invalid color or coordinate")
    return COLORS[text.lower()]


def vertex_of(game: Go, text: str) -> int:
    try:
        return game.parse_move(text)
    except PositionError:
        raise GtpError("invalid color or coordinate") from None


def _three(figures: Sequence[str]) -> tuple[float, float, int]:
    return number(figures[0]), number(figures[1]), whole_number(figures[2])


def chains(state: Any, points: Sequence[int]) -> list[list[int]]:
    """Return stones grouped by chain."""
    found: dict[int, list[int]] = {}
    for point in points:
        found.setdefault(int(state.chain[point]), []).append(point)
    return list(found.values())


def version() -> str:
    try:
        return importlib.metadata.version("treespan")
    except importlib.metadata.PackageNotFoundError:
        return "unknown"
