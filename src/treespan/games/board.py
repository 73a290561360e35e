"""A board as people see it: cells between labels, the last move in brackets, colours where a terminal has them.

A game describes its board by a `Board` (`Manners.board`). Here it becomes lines of pieces, each a text and its style.
A style is written as Rich reads it, as "bold #e69f00 on black"; whoever prints plain text leaves the styles away.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

Cell = tuple[int, int]  # row and column, counted from 0 at the top left
Piece = tuple[str, str]  # a text and its style

LABEL = "bright_black"
MARK = "bold #d55e00"  # of the brackets around the last move
# Colours that stay apart for most kinds of colour blindness (Okabe & Ito).
CROSSES = {"X": ("X", "bold #56b4e9"), "O": ("O", "bold #e69f00"), ".": (".", LABEL)}


@dataclass(frozen=True)
class Board:
    """Cells of one sign each, and what stands around them."""

    cells: Sequence[Sequence[str]]  # rows from the top, of any length
    left: Sequence[str] = ()  # before each row: its label, which also says how far it is indented
    right: Sequence[str] = ()  # after each row
    above: str = ""  # a line of labels
    below: str = ""
    last: Cell | None = None  # where the last move was made
    painted: Mapping[str, tuple[str, str]] = field(default_factory=lambda: CROSSES)  # sign and style for a sign
    ground: str = ""  # the style behind all cells, as "on #dcb35c"
    legend: str = ""  # what the signs mean, where no colour says it

    def lines(self, is_painted: bool = False) -> list[list[Piece]]:
        """Return the board from the top. Without paint the signs are those of the cells."""
        rows = [self._row(number, is_painted) for number in range(len(self.cells))]
        labels = [[(line, LABEL)] for line in (self.above, self.below)]
        return [line for line in (labels[0], *rows, labels[1]) if line != [("", LABEL)]]

    def __str__(self) -> str:
        return "\n".join("".join(text for text, _ in line).rstrip() for line in self.lines())

    def _row(self, number: int, is_painted: bool) -> list[Piece]:
        """Return a row: a gap, and after each cell another one; brackets stand in the gaps."""
        ground, pieces = self.ground, [(self.left[number], LABEL)] if self.left else []
        place = self.last[1] if self.last and self.last[0] == number else None
        for column, sign in enumerate(self.cells[number]):
            gap = "(" if place == column else ")" if place is not None and place == column - 1 else " "
            shown, style = self.painted.get(sign, (sign, "")) if is_painted else (sign, "")
            pieces += [(gap, f"{MARK} {ground}".strip()), (shown, f"{style} {ground}".strip())]
        pieces.append((")" if place == len(self.cells[number]) - 1 else " ", f"{MARK} {ground}".strip()))
        return [*pieces, (self.right[number], LABEL)] if self.right else pieces


def width_of(line: Sequence[Piece]) -> int:
    """Return the number of columns that a line takes."""
    return sum(len(text) for text, _ in line)
