"""Captures by trying everything: both sides play anywhere or pass, so many plies deep."""

from tests.naive.go import NaiveGo, Point
from treespan.games.go.board import BLACK, WHITE


def is_caught(naive: NaiveGo, stone: Point, plies: int, ko_master: int) -> bool:
    """Whether the stone is captured within `plies`, whatever its owner does; only `ko_master` may retake kos."""
    return _is_caught(naive, stone, naive.stones[stone], plies, ko_master, {})


def _is_caught(
    naive: NaiveGo, stone: Point, owner: int, plies: int, ko_master: int, known: dict[tuple[object, ...], bool]
) -> bool:
    if naive.stones.get(stone) != owner:
        return True
    if plies == 0:
        return False
    taboo = naive.boards[-2:-1] if naive.to_play != ko_master else []
    key = (frozenset(naive.stones.items()), naive.to_play, plies, frozenset(taboo[0].items()) if taboo else None)
    if key not in known:
        attacks = naive.to_play != owner
        boards = [board for point in naive.points if point not in naive.stones if (board := naive.after(point))]
        # A pass first: most of what the defender has to refute is idle, and most attacks fail anyway.
        boards.insert(0, naive.stones)
        answers = (
            _is_caught(_moved(naive, board), stone, owner, plies - 1, ko_master, known)
            for board in boards
            if board not in taboo
        )
        known[key] = any(answers) if attacks else all(answers)
    return known[key]


def _moved(naive: NaiveGo, board: dict[Point, int]) -> NaiveGo:
    child = NaiveGo(naive.size, board, BLACK + WHITE - naive.to_play)
    child.boards = [naive.stones, board]
    return child
