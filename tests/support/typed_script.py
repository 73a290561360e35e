"""A user's script with types. It is never run: `tests/test_types.py` lets mypy read it as a user's mypy does."""

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import assert_type

import numpy as np
from matplotlib.figure import Figure

import treespan as ts

assert_type(ts.__version__, str)

# Games and positions


@dataclass(frozen=True)
class Kayles(ts.Game):
    name = "kayles"
    summary = "take one pin or two neighbours"
    search_defaults = {"choice": "lcb"}  # noqa: RUF012  # as users write it

    pins: int = ts.option(10, "pins in the row", low=1, high=64)

    @property
    def fields(self) -> list[tuple[str, type] | tuple[str, type, tuple[int, ...]]]:
        return [("standing", np.uint8, (self.pins,)), ("to_play", np.int8)]

    @property
    def max_moves(self) -> int:
        return 2 * self.pins

    @property
    def max_plies(self) -> int:
        return self.pins

    def setup(self, state: np.record) -> None:
        state.standing[:] = 1

    @staticmethod
    def legal_moves(state: np.record, moves: np.ndarray) -> int:
        return 0

    @staticmethod
    def play(state: np.record, move: int) -> None:
        state.to_play = 1 - state.to_play

    @staticmethod
    def reward(state: np.record) -> float:
        return float(state.to_play == ts.SECOND)


@dataclass(frozen=True)
class Nim(ts.Game):
    name = "nim"
    fields = (("heap", np.int32), ("to_play", np.int8))
    max_moves = 3
    max_plies = 100


game = ts.make_game("go:size=9", komi=6.5)
assert_type(game, ts.Game)
assert_type(ts.make_game(Kayles(pins=12)), ts.Game)
assert_type(Kayles().pins, int)
assert_type(game.spec(), str)
assert_type(game.max_moves, int)
assert_type(game.new_state(), np.record)
assert_type(game.read_diagram(""), np.record)

position = game.position("E5 C3")
assert_type(position, ts.Position)
assert_type(game.read(str(position)), ts.Position)
assert_type(position.game, ts.Game)
assert_type(position.state, np.record)
assert_type(position.legal_moves, list[int])
assert_type(position.moves_made, list[int])
assert_type(position.is_over, bool)
assert_type(position.is_chance, bool)
assert_type(position.reward, float)
assert_type(position.key, int)
assert_type(position.copy(), ts.Position)
position.play(position.legal_moves[0])
position.play_text("G7")

assert_type(ts.games()[0]["options"][0]["help"], str)
assert_type(ts.games()[0]["players"], int)
assert_type(ts.schemes()[0]["paper"], str)

report = ts.check_game(Kayles(), games=10)
assert_type(report, ts.CheckReport)
assert_type(report.warnings, list[str])

# Searches


def values(states: np.recarray) -> np.ndarray:
    return np.full(len(states), 0.5)


def listed_values(states: np.recarray) -> list[float]:
    return [0.5] * len(states)


def progress(playouts: int, seconds: float) -> None: ...


result = ts.search(position, seconds=5, progress=progress)
assert_type(result, ts.SearchResult)
assert_type(ts.search("go:size=9", playouts=10, evaluate=values), ts.SearchResult)
assert_type(ts.search(Kayles(), scheme=ts.Span(grant=3), simulate=4, evaluate=listed_values), ts.SearchResult)
assert_type(result.move, str)
assert_type(result.value, float)
assert_type(result.line, list[str])
assert_type(result.playouts, int)
assert_type(result.moves, list[ts.MoveStatistics])
assert_type(result.moves[0].visits, int)
assert_type(result.moves[0].share, float)
assert_type(result.moves[0].prior, float | None)
assert_type(result.moves[0].proven, str | None)
assert_type(result.position, ts.Position)
assert_type(result.interrupted, bool)
assert_type(result.playouts_per_second, float)
assert_type(result.by_rank(), list[tuple[int, float, int, int]])

with ts.Tree(position, scheme="span", ranks=4) as tree:
    assert_type(tree, ts.Tree)
    assert_type(tree.search(seconds=2), ts.SearchResult)
    assert_type(tree.watch(seconds=60, every=0.5), Iterator[ts.SearchResult])
    assert_type(tree.position, ts.Position)
    assert_type(tree.look(), ts.SearchResult | None)
    tree.advance("G7", 3)
    tree.save("opening")
assert_type(ts.Tree.load("opening", ranks=8), ts.Tree)

with ts.Engine(game, seconds=1, ponder=True) as engine:
    assert_type(engine, ts.Engine)
    answer = engine.choose()
    assert_type(answer, ts.Answer)
    assert_type(answer.move, str | None)
    assert_type(answer.value, float)
    assert_type(answer.result, ts.SearchResult | None)
    assert_type(engine.position, ts.Position)
    engine.play(answer.move or "pass")
    engine.undo()

# Schemes

assert_type(ts.Span().grant, int)
assert_type(ts.Span().name, str)

# Measurements

match = ts.match("playouts=2000", "playouts=1000", game, games=100, jobs=2, sprt=(0, 10), out=Path("games"))
assert_type(match, ts.MatchReport)
assert_type(match.score.wins, int)
assert_type(match.elo, tuple[float, float, float])
assert_type(match.interval, tuple[float, float])
assert_type(match.decision, str | None)

scaling = ts.speedup(game, "span", simulate=[1, 12, 144])
assert_type(scaling, ts.ScalingTable)
assert_type(scaling.rows[0].speedup, float)
assert_type(scaling.plot("speedup.png"), Figure)

comparison = ts.compare(game, simulate=16, playouts=10_000)
assert_type(comparison, ts.ComparisonTable)
assert_type(comparison.rows[0].playouts_per_second, float)
assert_type(comparison.plot(), Figure)

advice = ts.advise(game, machines=32, network="qdr", on_step=lambda step: print(step.share))
assert_type(advice, ts.AdviceTable)
assert_type(advice.command, str)
assert_type(advice.scheme, str)

# Errors

try:
    ts.search(position, playouts=0)
except ts.OptionError as error:
    assert_type(error.option, str | None)
    assert_type(error.remedy, str | None)
    failure: ts.TreespanError = error
