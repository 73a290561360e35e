"""SameGame on lists of columns: the slow twin of `treespan.games.samegame`."""

Cell = tuple[int, int]  # column and row, from 0 at the left and the bottom


class NaiveSameGame:
    def __init__(self, diagram: str):
        """From the rows of a diagram, top row first."""
        rows = diagram.split()
        self.size = len(rows[0]), len(rows)
        stacks = ([row[column] for row in reversed(rows) if row[column] != "."] for column in range(len(rows[0])))
        self.columns = [stack for stack in stacks if stack]
        self.points = 0

    def color(self, cell: Cell) -> str | None:
        column, row = cell
        inside = 0 <= column < len(self.columns) and 0 <= row < len(self.columns[column])
        return self.columns[column][row] if inside else None

    def group(self, cell: Cell) -> set[Cell]:
        """All blocks that hang together with `cell`."""
        found, waiting = {cell}, [cell]
        while waiting:
            column, row = waiting.pop()
            for near in ((column + 1, row), (column - 1, row), (column, row + 1), (column, row - 1)):
                if near not in found and self.color(near) == self.color(cell):
                    found.add(near)
                    waiting.append(near)
        return found

    def groups(self) -> dict[Cell, set[Cell]]:
        """The groups of at least two, by their leftmost, then lowest, block."""
        cells = [(column, row) for column, stack in enumerate(self.columns) for row in range(len(stack))]
        every = [self.group(cell) for cell in cells]
        return {min(group): group for group in every if len(group) >= 2}

    def play(self, first: Cell) -> None:
        removed = self.group(first)
        stacks = (
            [color for row, color in enumerate(stack) if (column, row) not in removed]
            for column, stack in enumerate(self.columns)
        )
        self.columns = [stack for stack in stacks if stack]
        self.points += (len(removed) - 2) ** 2

    def score(self) -> int:
        """The final score; of a finished game only."""
        blocks = "".join("".join(stack) for stack in self.columns)
        left = sum((blocks.count(color) - 2) ** 2 for color in set(blocks))
        return self.points + (1000 if not blocks else 0) - left

    def diagram(self) -> str:
        width, height = self.size
        cells = ((self.color((column, row)) or "." for column in range(width)) for row in reversed(range(height)))
        return "\n".join("".join(row) for row in cells)


def score_bounds(diagram: str) -> tuple[int, int]:
    """The scores of reward 0 and 1 of a game that starts from the rows of `diagram`."""
    counts = [diagram.count(color) for color in set(diagram) if color.isdecimal()]
    return -sum((n - 2) ** 2 for n in counts), 1000 + sum((n - 2) ** 2 for n in counts if n >= 2)
