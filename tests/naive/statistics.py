"""Tests of randomness whose false alarms are rarer than one in a million, and playouts to apply them to."""

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from treespan.core.rng import generator
from treespan.games.check import one_playout
from treespan.games.position import Position
from treespan.games.rules import Game

SIGMAS = 5.0


def assert_uniform(counts: Sequence[int]) -> None:
    """Chi-square test that all outcomes are equally likely."""
    assert_frequencies(counts, [1 / len(counts)] * len(counts))


def assert_frequencies(counts: Sequence[int], probabilities: Sequence[float]) -> None:
    """Chi-square test against known probabilities; its statistic is close to normal for many outcomes."""
    expected = np.array(probabilities) * sum(counts)
    statistic = float(((np.array(counts) - expected) ** 2 / expected).sum())
    freedom = len(counts) - 1
    # The cube root of chi-square over its degrees of freedom is nearly normal (Wilson & Hilferty).
    deviation = ((statistic / freedom) ** (1 / 3) - (1 - 2 / (9 * freedom))) / math.sqrt(2 / (9 * freedom))
    assert deviation < SIGMAS, f"counts {list(counts)}, expected {expected.round(1).tolist()}"


def assert_mean(samples: Sequence[float], expected: float) -> None:
    error = float(np.std(samples, ddof=1)) / math.sqrt(len(samples))
    assert abs(float(np.mean(samples)) - expected) < SIGMAS * error, f"mean {np.mean(samples)}, expected {expected}"


class Playouts:
    """The game's playouts, one after the other, from any position."""

    def __init__(self, game: Game, seed: int = 1):
        self.game = game
        self.random = generator(seed)
        self.trace = np.zeros(game.max_plies, dtype=np.int32)
        self.moves = np.zeros(game.max_moves, dtype=np.int32)

    def run(self, start: Position | None = None) -> tuple[list[int], Any, float]:
        """Trace, final state and reward of one playout."""
        state = (start or Position(self.game)).copy().state
        plies, reward = one_playout(self.game, state, self.random, self.trace, self.moves)
        return self.trace[:plies].tolist(), state, float(reward)

    def check_against_replay(self, start: Position | None = None) -> None:
        """Play the moves of one playout again, with all checks; not for games with chance."""
        trace, state, reward = self.run(start)
        position = (start or Position(self.game)).copy()
        for entry in trace:
            player, move = (0, entry) if entry >= 0 else (1, ~entry)
            assert player == int(position.state.to_play)
            position.play(move)
        assert position.is_over and position.reward == reward
        assert position.state.tobytes() == state.tobytes()
