"""Searches of planning problems against their exact solutions: value iteration on lakes, brute force on boards."""

import random

import numpy as np
import pytest

from tests.naive.sailing import COMPASS, TACKS, heading_values, solve_lake
from tests.naive.samegame import NaiveSameGame
from tests.support.searches import root_statistics, search, sized
from treespan.core.jit import JIT_DISABLED
from treespan.games.position import Position
from treespan.games.sailing import GIVE_UP, Sailing
from treespan.games.samegame import SameGame
from treespan.search.searcher import Searcher

PLAYOUTS = sized(20_000, without_jit=200)
ROOM = 500_000
STATES = sized(30, without_jit=4)
BOARDS = sized(20, without_jit=2)


def most_visited(searcher: Searcher) -> int:
    statistics = root_statistics(searcher)
    return max(statistics, key=lambda move: statistics[move])


# Sailing


def boats(size: int) -> list[tuple[int, int, int, int]]:
    """Some places, tacks and winds at random, not at the goal."""
    everywhere = [
        (x, y, tack, wind)
        for x in range(size)
        for y in range(size)
        for tack in range(len(TACKS))
        for wind in range(len(COMPASS))
        if (x, y) != (size - 1, size - 1)
    ]
    return random.Random(size).sample(everywhere, STATES)


def boat_at(size: int, x: int, y: int, tack: int, wind: int) -> Position:
    game = Sailing(size=size)
    state = game.new_state()
    state.x, state.y, state.tack, state.wind = x, y, tack, wind
    return Position(game, state)


@pytest.mark.parametrize("algorithm", ["uct", "dfuct"])
@pytest.mark.parametrize("size", [3, 4, 5])
def test_headings_are_nearly_optimal(size: int, algorithm: str) -> None:
    """Measured by what a heading costs more than the best, in minutes, if all after it were sailed optimally.

    Single states may stay wrong for very long: a heading that looks bad early is hardly tried again.
    """
    costs = heading_values(solve_lake(size).value)
    losses, blind_losses = [], []
    for seed, (x, y, tack, wind) in enumerate(boats(size)):
        position = boat_at(size, x, y, tack, wind)
        chosen = most_visited(search(position, PLAYOUTS, seed, algorithm=algorithm, nodes=ROOM))
        exact = costs[:, x, y, tack, wind]
        losses.append(float(exact[chosen] - exact.min()))
        blind_losses.append(float(np.mean([exact[move] - exact.min() for move in position.legal_moves])))
    assert np.mean(losses) < np.mean(blind_losses) / (3 if JIT_DISABLED else 8)
    if not JIT_DISABLED:
        assert np.mean(np.array(losses) < 0.1) >= 0.8


@pytest.mark.parametrize("wind", COMPASS if not JIT_DISABLED else ["S"])
def test_value_of_the_start_approaches_the_expected_cost(wind: str) -> None:
    size = 3
    searcher = search(Position(Sailing(size=size, wind=wind)), PLAYOUTS, nodes=ROOM)
    visits, wins = root_statistics(searcher)[most_visited(searcher)]
    cost = (1 - wins / visits) * GIVE_UP * size
    optimum = solve_lake(size).expected_cost(wind=wind)
    # A search that still explores sails worse than the optimum, and never better but by luck.
    assert 0.98 * optimum < cost < (1.15 if not JIT_DISABLED else 2.0) * optimum + 0.5


# SameGame


def best_score(diagram: str, known: dict[str, int]) -> int:
    """The highest score that any order of moves leads to."""
    if diagram not in known:
        start = NaiveSameGame(diagram)
        scores = []
        for first in start.groups():
            board = NaiveSameGame(diagram)
            board.play(first)
            scores.append(board.points + best_score(board.diagram(), known))
        known[diagram] = max(scores, default=start.score())
    return known[diagram]


def play_by_search(game: SameGame) -> int:
    """The score of a game in which every move is searched."""
    position = Position(game)
    while not position.is_over:
        # Far more exploration than on a standard board: a search that has seen one way to clear the board
        # and no other would keep to it, whatever it scores on the way.
        position.play(most_visited(search(position, PLAYOUTS, c=1.0)))
    return game.score(position.state)


def test_best_scores_of_tiny_boards_are_found() -> None:
    games = [SameGame(width=4, height=4, colors=3, seed=seed) for seed in range(1, BOARDS + 1)]
    best = [best_score("\n".join(str(Position(game)).splitlines()[:4]), {}) for game in games]
    found = [play_by_search(game) for game in games]
    assert all(score <= bound for score, bound in zip(found, best, strict=True))
    assert all(bound - score <= 20 for score, bound in zip(found, best, strict=True))  # clears what can be cleared
    if not JIT_DISABLED:
        assert np.mean(np.array(found) == np.array(best)) >= 0.9
