"""Rings, bridges and forks at Havannah, by their definitions and without any shortcut."""

from tests.naive.hexcells import Cell, grow

NEIGHBOURS = ((-1, 0), (1, 0), (0, -1), (0, 1), (-1, -1), (1, 1))  # column, row


def read(diagram: str) -> dict[Cell, str]:
    """What is on each cell (column, row) of a diagram with row numbers."""
    lines = [line.split() for line in diagram.splitlines() if line.strip()]
    rows = [words[1:] for words in lines if words[0].isdigit()]
    base = (len(rows) + 1) // 2
    cells = {}
    for row, words in enumerate(rows):
        first = max(0, row - base + 1)
        for column in range(first, min(2 * base - 1, row + base)):
            cells[column, row] = words[column - first]
    return cells


def wins(cells: dict[Cell, str], symbol: str) -> set[str]:
    """Which of `ring`, `bridge` and `fork` the stones of `symbol` make."""
    base = max(row for _, row in cells) // 2 + 1
    own = {cell for cell in cells if cells[cell] == symbol}
    found = set()
    if any(is_enclosed(cell, cells, own) for cell in cells):
        found.add("ring")
    while own:
        group = grow({next(iter(own))}, own, NEIGHBOURS)
        own -= group
        touched = [sides_of(cell, base) for cell in group]
        if sum(len(sides) == 2 for sides in touched) >= 2:
            found.add("bridge")
        if len({min(sides) for sides in touched if len(sides) == 1}) >= 3:
            found.add("fork")
    return found


def is_enclosed(cell: Cell, cells: dict[Cell, str], own: set[Cell]) -> bool:
    """Whether no path leaves the board from `cell` over cells that are not `own`; what is on `cell` does not matter."""
    region = grow({cell}, set(cells) - own, NEIGHBOURS)
    return all((a + da, b + db) in cells for a, b in region for da, db in NEIGHBOURS)


def sides_of(cell: Cell, base: int) -> list[int]:
    """The sides of the board that a cell lies on: a corner lies on two."""
    column, row = cell[0] - base + 1, cell[1] - base + 1
    distances = (column, -column, row, -row, column - row, row - column)
    return [side for side, distance in enumerate(distances) if distance == base - 1]


def winner(cells: dict[Cell, str]) -> str:
    """`X` or `O`, or an empty string if nobody has won."""
    return "".join(symbol for symbol in "XO" if wins(cells, symbol))
