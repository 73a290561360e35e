"""Go tactics by definition: liberties from flood fills, moves tried on a copy, patterns compared letter by letter."""

from tests.naive.go import Board, NaiveGo, Point
from treespan.games.go.board import BLACK, WHITE

ALLOWED = {"X": "X", "O": "O", ".": ".", "#": "#", "x": ".O#", "o": ".X#", "?": ".XO#"}


def liberties(naive: NaiveGo, point: Point, stones: Board | None = None) -> set[Point]:
    """The empty points beside a stone's chain."""
    board = naive.stones if stones is None else stones
    return {beside for beside in naive.chain(point, board)[1] if beside not in board}


def liberties_after(naive: NaiveGo, point: Point) -> int:
    """How many liberties the chain of the player's new stone has; 0 if it is suicide."""
    stones = naive.after(point)
    return 0 if stones is None else len(liberties(naive, point, stones))


def captures(naive: NaiveGo, point: Point) -> int:
    """How many stones the player's move takes."""
    stones = naive.after(point)
    return 0 if stones is None else len(naive.stones) + 1 - len(stones)


def surroundings(naive: NaiveGo, point: Point) -> list[str]:
    """The 3x3 square around a point as three rows of text."""
    row, column = point
    letters = {BLACK: "X", WHITE: "O"}

    def letter(place: Point) -> str:
        return letters.get(naive.stones.get(place, 0), ".") if place in naive.points else "#"

    return ["".join(letter((row + down, column + right)) for right in (-1, 0, 1)) for down in (-1, 0, 1)]


def turned(square: list[str]) -> list[str]:
    return ["".join(row[i] for row in reversed(square)) for i in range(3)]


def all_views(square: list[str]) -> list[list[str]]:
    """The square from all sides, mirrored, and with colours exchanged."""
    views = []
    for colors in (square, [row.translate(str.maketrans("XO", "OX")) for row in square]):
        for side in (colors, [row[::-1] for row in colors]):
            for _ in range(4):
                views.append(side)
                side = turned(side)
    return views


def fits(square: list[str], pattern: str) -> bool:
    """Whether a pattern, three words of letters, fits the square in some view."""
    wanted = "".join(pattern.split())
    return any(
        all(have in ALLOWED[want] for have, want in zip("".join(view), wanted, strict=True))
        for view in all_views(square)
    )
