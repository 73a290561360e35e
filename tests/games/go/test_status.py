"""Dead stones and score at the end of a game of Go."""

import numpy as np
import pytest

from treespan.core.jit import JIT_DISABLED
from treespan.games.go import Go
from treespan.games.go.status import assess, score_text, sensible_moves, stones
from treespan.games.position import Position

PLAYOUTS = 60 if JIT_DISABLED else 400

# What is on the board, the dead stones, Black's margin without them, and with every stone alive; no komi.
POSITIONS = {
    "a dead stone in each territory": (
        """
        . X O . .
        X X O O O
        O . X O X
        X X X O .
        . X X O .
        """,
        "A3 E3",
        1,
        2,
    ),
    "nothing is dead": (
        """
        . X O . .
        X X O O O
        . X O . .
        X X O O O
        . X O . .
        """,
        "",
        -5,
        -5,
    ),
    "a chain of two in one territory": (
        """
        . X . O .
        X X X O O
        . . X O .
        O O X O O
        . . X O .
        """,
        "A2 B2",
        4,
        -4,
    ),
}


def state_of(diagram: str, to_play: str = "black") -> tuple[Go, np.record]:
    game = Go(size=5, komi=0.0)
    return game, game.read_diagram(diagram + f"\n{to_play} to play, passes 2")


@pytest.mark.parametrize("name", POSITIONS)
def test_dead_stones_and_score(name: str) -> None:
    diagram, dead, margin, board_margin = POSITIONS[name]
    game, state = state_of(diagram)
    before = state.copy()
    status = assess(game, state, PLAYOUTS)
    assert [game.move_name(point) for point in status.dead] == dead.split()
    assert (status.margin, status.board_margin) == (margin, board_margin)
    assert state == before


def test_owners_are_those_who_will_have_the_points() -> None:
    game, state = state_of(POSITIONS["nothing is dead"][0])
    owners = assess(game, state, PLAYOUTS).owners
    assert owners[game.parse_move("A1")] > 0.9 and owners[game.parse_move("E3")] < -0.9


def test_same_seed_same_status() -> None:
    game, state = state_of(".....\n" * 5)
    assert np.array_equal(assess(game, state, 20).owners, assess(game, state, 20).owners)
    assert not np.array_equal(assess(game, state, 20).owners, assess(game, state, 20, seed=2).owners)


def test_score_as_text() -> None:
    assert [score_text(margin) for margin in (3.5, -0.5, 0)] == ["B+3.5", "W+0.5", "0"]


def test_sensible_moves_fill_no_eyes() -> None:
    game, state = state_of(POSITIONS["nothing is dead"][0])
    state.passes = 0
    names = {game.move_name(move) for move in sensible_moves(game, state)}
    assert names == {"D1", "E1", "D3", "E3", "D5", "E5"}
    assert len(sensible_moves(game, Position(game).state)) == 25


def test_stones() -> None:
    _, state = state_of(POSITIONS["nothing is dead"][0])
    assert len(stones(state)) == sum(cell in "XO" for cell in POSITIONS["nothing is dead"][0])
