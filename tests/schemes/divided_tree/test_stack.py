"""The stack test of df-UCT beside its formula written out."""

import math
import random
from typing import Any

import numpy as np
import pytest

from treespan.core.jit import njit
from treespan.core.records import new_records
from treespan.games.registry import make_game
from treespan.games.rules import CHANCE, FIRST
from treespan.schemes.divided_tree.stack import has_flipped
from treespan.schemes.protocol.messages import AMAF_LEVEL, LEVEL
from treespan.search.options import SearchOptions, compiled_settings

C = 0.7
SETTINGS = compiled_settings(SearchOptions(algorithm="dfuct", c=C), make_game("pgame:branching=3"))
AMAF = new_records(AMAF_LEVEL, 1)[0]


@njit
def test_of(level, amaf, settings):
    return has_flipped(level, amaf, settings)


test_of.__test__ = False  # type: ignore[attr-defined]  # pytest takes it for one of its own


def level_of(**fields: Any) -> Any:
    level = new_records(LEVEL, 1)[0]
    for name, value in fields.items():
        level[name] = value
    return level


def flipped(level: Any) -> bool:
    return bool(test_of(level, AMAF, SETTINGS))


def score(wins: float, visits: int, total: int) -> float:
    return wins / visits + C * math.sqrt(math.log(total) / visits)


def random_level(draw: random.Random) -> Any:
    best, second, others = draw.randint(1, 200), draw.randint(1, 200), draw.randint(0, 50)
    return level_of(
        player=FIRST,
        best_visits=best,
        best_wins=round(draw.random() * best),
        second_visits=second,
        second_wins=round(draw.random() * second),
        total=best + second + others,
        total_flight=draw.randint(0, 20),
        second_is_first=draw.random() < 0.5,
        fpu=np.inf,
    )


def test_a_level_has_flipped_when_the_second_move_scores_more() -> None:
    """The best move counts without what is under way, the second with it."""
    draw, seen = random.Random(3), set()
    for _ in range(2000):
        level = random_level(draw)
        gained = draw.randint(0, 40)
        level.gained_visits, level.gained_wins = gained, round(draw.random() * gained)
        best = score(level.best_wins + level.gained_wins, int(level.best_visits) + gained, int(level.total) + gained)
        second = score(level.second_wins, int(level.second_visits), int(level.total) + gained + level.total_flight)
        if abs(best - second) > 1e-9:
            assert flipped(level) == (second > best)
            seen.add(second > best)
    assert seen == {False, True}


def test_of_equal_scores_the_first_move_wins() -> None:
    for second_is_first in (False, True):
        level = level_of(
            player=FIRST,
            best_visits=10,
            best_wins=5.0,
            second_visits=10,
            second_wins=5.0,
            total=20,
            second_is_first=second_is_first,
        )
        assert flipped(level) == second_is_first


def test_nature_is_asked_at_every_playout_and_a_single_move_never_flips() -> None:
    assert flipped(level_of(player=CHANCE, second_visits=-1))
    assert not flipped(level_of(player=FIRST, best_visits=3, best_wins=0.0, second_visits=-1, total=3))


@pytest.mark.parametrize("reward", [0.0, 1.0])
def test_nothing_flips_before_the_test_is_due_again(reward: float) -> None:
    """`test_at` is a promise: until then no result of the playouts can flip the level."""
    draw, waits = random.Random(4), 0
    for _ in range(300):
        level = random_level(draw)
        if flipped(level):
            continue
        due = int(level.test_at)
        assert due > int(level.gained_visits)
        for _ in range(int(level.gained_visits) + 1, due):
            level.gained_visits += 1
            level.gained_wins += reward
            assert not flipped(level)
            waits += 1
    assert waits > 100
