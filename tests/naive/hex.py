"""The winner at Hex, by the definition: flood from one side and see whether the other is reached."""

from tests.naive.hexcells import grow

NEIGHBOURS = ((-1, 0), (-1, 1), (0, 1), (1, 0), (1, -1), (0, -1))  # row, column


def read(diagram: str) -> list[str]:
    """The rows of a diagram as strings, without coordinates."""
    lines = [line.split() for line in diagram.splitlines() if line.strip()]
    return ["".join(words[1:]) for words in lines if words[0].isdigit()]


def winner(rows: list[str]) -> str:
    """`X` if it connects top and bottom, `O` if it connects left and right, else an empty string."""
    size = len(rows)
    cells = {(row, column): rows[row][column] for row in range(size) for column in range(size)}
    for symbol, axis in (("X", 0), ("O", 1)):
        own = {cell for cell in cells if cells[cell] == symbol}
        reached = grow({cell for cell in own if cell[axis] == 0}, own, NEIGHBOURS)
        if any(cell[axis] == size - 1 for cell in reached):
            return symbol
    return ""
