"""What a player keeps for good, whatever the enemy does."""

import numpy as np
import pytest

from treespan.games.go import Go
from treespan.games.go.board import BLACK, WHITE
from treespan.games.go.safety import safe_points
from treespan.games.position import Position
from treespan.games.rules import SECOND

# What is on the board, and the points that Black and White keep for good.
POSITIONS = {
    "an empty board": (
        """
        . . . . .
        . . . . .
        . . . . .
        . . . . .
        . . . . .
        """,
        0,
        0,
    ),
    "two eyes, three eyes": (
        """
        . X O . .
        X X O O O
        . X O . .
        X X O O O
        . X O . .
        """,
        10,
        15,
    ),
    "one eye is not safe": (
        """
        . X O . .
        X X O O O
        X X O . .
        X X O O O
        X X O . .
        """,
        0,
        15,
    ),
    "an eyespace that is not divided is not safe": (
        """
        . X O . .
        . X O O O
        . X O . .
        X X O O O
        X X O . .
        """,
        0,
        15,
    ),
    "chains that share two eyes keep each other": (
        """
        . X X O .
        X . X O O
        X X O O .
        O O O . O
        . O . O .
        """,
        8,
        17,
    ),
    "a region with a dead stone is left out, and is an eye": (
        """
        . X O . .
        X X O O O
        O . X O .
        X X X O .
        . X X O .
        """,
        9 + 2,
        7 + 5,
    ),
    "room for a living group is left out": (
        """
        X . X . . . .
        . X X . . . .
        X X X . . . .
        X X X . . . .
        X X X . . . .
        X X X . . . .
        X X X X X X X
        """,
        23 + 2,
        0,
    ),
}


@pytest.mark.parametrize("name", POSITIONS)
def test_safe_points(name: str) -> None:
    rows, black, white = POSITIONS[name]
    lines = [line.strip() for line in rows.strip().splitlines()]
    game = Go(size=len(lines), komi=0.5)
    state = game.read_diagram("\n".join([*lines, "black to play, komi 0.5"]))
    assert (len(safe_points(state, BLACK)), len(safe_points(state, WHITE))) == (black, white)


def test_safe_points_outlive_random_attacks() -> None:
    """White moves anywhere again and again while Black passes: safe stones stay, and no White ones live among them."""
    random = np.random.default_rng(5)
    attacks = 0
    for _ in range(30):
        position, safe = Position(Go(size=5, komi=0.5)), set[int]()
        while not position.is_over and not (safe and int(position.state.to_play) == SECOND):
            position.play(_random_move(position, random))
            safe = safe_points(position.state, BLACK)
        stones = [point for point in safe if position.state.color[point] == BLACK]
        while not position.is_over:  # until White has nothing but a pass, too
            position.play(_random_move(position, random))
            assert all(position.state.color[point] == BLACK for point in stones)
            assert not safe & safe_points(position.state, WHITE)
            if not position.is_over:
                position.play(0)
        attacks += bool(safe)
    assert attacks >= 10


def _random_move(position: Position, random: np.random.Generator) -> int:
    return int(random.choice([move for move in position.legal_moves if move] or [0]))
