"""The speed of games and searches on this machine."""

import time
from dataclasses import dataclass
from typing import Any

import numpy as np

from treespan.core.jit import njit
from treespan.core.rng import generator
from treespan.games.position import Position
from treespan.games.registry import make_game
from treespan.games.rules import Game, playout, reward
from treespan.schemes.plan import Budget, Plan, Request
from treespan.schemes.registry import read_scheme
from treespan.search.result import SearchResult

STANDARD_GAMES = (
    "go:size=9",
    "go:size=19",
    "hex:size=11",
    "havannah:base=8",
    "connect4",
    "tictactoe",
    "samegame",
    "sailing",
    "pgame:branching=8",
    "pgame:branching=40",
    "pgame:branching=150",
)
PLAIN = "bandit=ucb1,policy=light"  # so that figures of different games and versions can be compared


@dataclass
class Rate:
    """Units per second: the best of several rounds, because other work on the machine disturbs it least."""

    per_second: float
    rounds: int


@njit
def many_playouts(game, states, random, trace, moves, policy, count):
    """Play out from states[0]. Returns sums of plies and rewards, so that the compiler cannot drop the work."""
    plies, total = 0, 0.0
    for _ in range(count):
        states[1] = states[0]
        plies += playout(game, states[1], random, trace, moves, policy)
        total += reward(game, states[1])
    return plies, total


def playout_arguments(game: Game, policy: str = "light") -> tuple[Any, Any, Any, Any, int]:
    """Return states, random numbers, buffers and policy for `many_playouts` from the first position."""
    states = game.new_states(2)
    states[0] = game.new_state()
    trace, moves = np.zeros(game.max_plies, np.int32), np.zeros(game.max_moves, np.int32)
    game.want(game.policies.index(policy))
    return states, generator(1), trace, moves, game.policies.index(policy)


def mean_playout_plies(game: Game, policy: str = "light", playouts: int = 200) -> float:
    """Return the mean length of playouts from the first position; always the same playouts."""
    plies, _ = many_playouts(game, *playout_arguments(game, policy), playouts)
    return float(plies) / playouts


def playout_rate(game: Game, seconds: float = 1.0, rounds: int = 5, policy: str = "light") -> Rate:
    """Measure playouts per second from the first position, in one thread."""
    arguments = playout_arguments(game, policy)

    def time_of(count: int) -> float:
        start = time.perf_counter()
        many_playouts(game, *arguments, count)
        return time.perf_counter() - start

    time_of(1)  # compiles
    count = 1
    while (elapsed := time_of(count)) < seconds / rounds / 4:
        count *= 2
    count = max(1, int(count * seconds / rounds / elapsed))
    return Rate(count / min(time_of(count) for _ in range(rounds)), rounds)


def search_rate(game: Game, scheme: str, playouts: int, rounds: int = 3) -> tuple[Rate, SearchResult]:
    """Measure simulations per second of a search of the first position. Also returns the last result."""
    results = []
    for _ in range(rounds):
        plan = Plan(*read_scheme(scheme), Budget(playouts=playouts))
        results.append(plan.scheme.search_here(Request(Position(game), plan)))
    return Rate(max(result.playouts_per_second for result in results), rounds), results[-1]


def rounded_playouts(rate: float, seconds: float) -> int:
    """Return a round number of playouts that takes about `seconds`. Fixed counts make runs comparable."""
    return max(100, int(float(f"{rate * seconds:.0e}")))


@dataclass
class SpeedRow:
    """One line of `treespan bench`."""

    game: str
    playouts_per_second: float
    uct_per_second: float
    dfuct_per_second: float


def measure(spec: str, seconds: float) -> SpeedRow:
    """Measure playouts, UCT and df-UCT simulations per second for one game. Takes about three times `seconds`."""
    game = make_game(spec)
    playouts = playout_rate(game, seconds)
    count = rounded_playouts(min(playouts.per_second, 1e6), seconds / 3)
    uct, _ = search_rate(game, f"sequential:{PLAIN}", count)
    dfuct, _ = search_rate(game, f"sequential:{PLAIN},algorithm=dfuct", count)
    return SpeedRow(spec, playouts.per_second, uct.per_second, dfuct.per_second)
