"""Flood fill over cells given by two coordinates."""

Cell = tuple[int, int]


def grow(start: set[Cell], allowed: set[Cell], steps: tuple[Cell, ...]) -> set[Cell]:
    """All cells that can be reached from `start` by steps within `allowed`."""
    reached, frontier = set(start), list(start)
    while frontier:
        a, b = frontier.pop()
        for da, db in steps:
            cell = (a + da, b + db)
            if cell in allowed and cell not in reached:
                reached.add(cell)
                frontier.append(cell)
    return reached
