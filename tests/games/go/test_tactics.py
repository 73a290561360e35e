"""Liberties, ataris, captures and patterns of Go against their slow twins, in positions of random games."""

from collections.abc import Iterator

import numpy as np
import pytest

from tests.naive.go import NaiveGo, Point, number, to_point, twin
from tests.naive.go_tactics import captures, fits, liberties, liberties_after, surroundings
from tests.support.go_games import SLOWNESS, pick, read
from treespan.games.go import Go, tactics
from treespan.games.go.board import EMPTY
from treespan.games.go.patterns import PATTERNS, fits_pattern
from treespan.games.position import Position


def random_positions(size: int, count: int, seed: int) -> Iterator[tuple[Position, NaiveGo]]:
    """Positions of random games, every third ply, without passes."""
    rng = np.random.default_rng(seed)
    game = Go(size=size)
    while count > 0:
        position, naive = Position(game), NaiveGo(size)
        while not position.is_over and count > 0:
            if len(position.moves_made) % 3 == 2:
                yield position, naive
                count -= 1
            move = pick(rng, position.legal_moves, passing=0.02)
            position.play(move)
            naive.play(to_point(move))


def code(point: Point) -> np.uint64:
    return np.uint64(number(point))


@pytest.mark.parametrize(("size", "positions"), [(5, 300), (9, 300)])
def test_liberties_equal_the_twin(size: int, positions: int) -> None:
    seen = {"atari": 0, "capture": 0, "self-atari": 0}
    for position, naive in random_positions(size, positions // SLOWNESS, seed=3):
        state, before = position.state, position.state.tobytes()
        for stone in naive.stones:
            expected = {number(point) for point in liberties(naive, stone)}
            count, *some = tactics.liberties_of(state, code(stone))
            assert count == min(len(expected), tactics.MANY)
            if count < tactics.MANY:
                assert {int(point) for point in some if point} == expected
            last = int(tactics.last_liberty(state, code(stone)))
            assert {last} == expected if len(expected) == 1 else last == 0
            seen["atari"] += len(expected) == 1
        for move in filter(None, naive.legal_moves()):
            after, taken = liberties_after(naive, move), captures(naive, move)
            for enough in (2, tactics.MANY):
                assert tactics.liberties_after(state, code(move), naive.to_play, enough) == min(after, enough), (
                    f"{position}\n{move}"
                )
            assert bool(tactics.is_capture(state, code(move), naive.to_play)) == (taken > 0)
            seen["capture"] += taken > 0
            seen["self-atari"] += after == 1
        assert state.tobytes() == before
    assert min(seen.values()) > 0, f"{seen}"


@pytest.mark.parametrize(("size", "positions"), [(5, 60), (9, 200)])
def test_patterns_equal_the_twin(size: int, positions: int) -> None:
    matched: set[str] = set()
    for position, naive in random_positions(size, positions // SLOWNESS, seed=4):
        for point in naive.points:
            if position.state.color[number(point)] == EMPTY:
                square = surroundings(naive, point)
                fitting = {pattern for pattern in PATTERNS if fits(square, pattern)}
                assert bool(fits_pattern(position.state, code(point))) == bool(fitting), f"{position}\n{point}"
                matched |= fitting
    assert matched == set(PATTERNS) or size == 5 or SLOWNESS > 1, f"never seen: {set(PATTERNS) - matched}"


@pytest.mark.parametrize(
    ("rows", "point", "expected"),
    [
        ((".....", ".XO..", ".....", ".....", "....."), "B3", True),  # hane below the own stone
        ((".....", ".XO..", ".....", ".....", "....."), "D2", False),  # far away
        ((".....", ".....", "..O..", ".OX..", "....."), "B3", True),  # the cut
        ((".....", ".....", ".....", "XO...", "....."), "A1", True),  # along the edge
        ((".....", ".....", ".....", ".....", "....."), "C3", False),
    ],
)
def test_patterns_on_examples(rows: tuple[str, ...], point: str, expected: bool) -> None:
    position = read(Go(size=5), rows)
    assert bool(fits_pattern(position.state, np.uint64(position.game.parse_move(point)))) == expected


def test_a_square_is_seen_from_all_sides() -> None:
    position = read(Go(size=5), (".....", ".XO..", ".....", ".....", "....."))
    assert surroundings(twin(position.state), (3, 3)) == ["...", "...", "XO."]
