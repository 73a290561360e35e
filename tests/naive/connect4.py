"""Connect Four on lists of letters: the slow twin of `treespan.games.connect4`."""

COLUMNS, ROWS = 7, 6


class NaiveConnectFour:
    def __init__(self) -> None:
        self.columns: list[str] = [""] * COLUMNS  # stones from the bottom
        self.plies = 0

    def legal_moves(self) -> list[int]:
        if self.winner():
            return []
        return [column for column in range(COLUMNS) if len(self.columns[column]) < ROWS]

    def play(self, column: int) -> None:
        self.columns[column] += "XO"[self.plies % 2]
        self.plies += 1

    def cell(self, column: int, row: int) -> str:
        inside = 0 <= column < COLUMNS and 0 <= row < len(self.columns[column])
        return self.columns[column][row] if inside else "."

    def winner(self) -> str:
        """The letter of the side with four in a row, or nothing."""
        for column in range(COLUMNS):
            for row in range(ROWS):
                for dx, dy in ((1, 0), (0, 1), (1, 1), (1, -1)):
                    line = {self.cell(column + i * dx, row + i * dy) for i in range(4)}
                    if line in ({"X"}, {"O"}):
                        return line.pop()
        return ""

    def reward(self) -> float:
        return {"X": 1.0, "O": 0.0, "": 0.5}[self.winner()]

    def diagram(self) -> str:
        rows = ("".join(self.cell(column, row) for column in range(COLUMNS)) for row in reversed(range(ROWS)))
        return "\n".join(rows)


def naive_perft(moves: tuple[int, ...], depth: int) -> int:
    """The number of sequences of `depth` moves after `moves`, by replaying every one from the start."""
    game = NaiveConnectFour()
    for move in moves:
        game.play(move)
    legal = game.legal_moves()
    if depth == 1:
        return len(legal)
    return sum(naive_perft((*moves, move), depth - 1) for move in legal)
