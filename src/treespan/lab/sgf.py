"""Games of Go as SGF, read and written by sgfmill."""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from sgfmill import sgf

from treespan.core.errors import PositionError
from treespan.games.go import Go
from treespan.games.go.board import BLACK, STRIDE
from treespan.games.go.status import stones
from treespan.games.rules import FIRST, SECOND

LETTERS = "bw"


@dataclass
class SgfGame:
    """The main line of a file."""

    game: Go
    start: Any  # the first position's state
    moves: list[tuple[int, int]]  # player and move
    document: Any  # the sgfmill object
    nodes: list[Any]  # of the moves


def sgf_point(move: int) -> tuple[int, int] | None:
    """A move as sgfmill writes it: row and column from the lower left corner, None for a pass."""
    return None if move == 0 else (move // STRIDE - 1, move % STRIDE - 1)


def go_move(point: tuple[int, int] | None) -> int:
    """The move of `sgf_point`."""
    return 0 if point is None else (point[0] + 1) * STRIDE + point[1] + 1


def new_sgf(game: Go, start: Any) -> Any:
    """An sgfmill game with size, komi, and the stones of the first position."""
    document = sgf.Sgf_game(game.size)
    root = document.get_root()
    root.set("KM", float(start.komi))
    root.set("AP", ("treespan", ""))
    placed = stones(start)
    if placed:
        black = [sgf_point(point) for point in placed if start.color[point] == BLACK]
        root.set_setup_stones(black, [sgf_point(point) for point in placed if start.color[point] != BLACK])
    if game.handicap:
        root.set("HA", game.handicap)
    if int(start.to_play) != FIRST:
        root.set("PL", "w")
    return document


def add_moves(document: Any, moves: Iterable[tuple[int, int]]) -> None:
    """Append players' moves to the main line."""
    for player, move in moves:
        document.extend_main_sequence().set_move(LETTERS[player], sgf_point(move))


def read_sgf(data: bytes) -> SgfGame:
    """The main line of an SGF file; raises PositionError where it is no game of Go that we can play."""
    try:
        document = sgf.Sgf_game.from_bytes(data)
        size, komi = document.get_size(), document.get_komi()
        root, *rest = document.get_main_sequence()
        black, white, _ = root.get_setup_stones()
        first = root.get("PL") if root.has_property("PL") else None
        nodes = [node for node in (root, *rest) if node.get_move()[0] is not None]
        moves = [(LETTERS.index(color), go_move(point)) for color, point in (node.get_move() for node in nodes)]
    except ValueError as error:
        raise PositionError(f"not an SGF file: {error}") from None
    if any(node.has_setup_stones() for node in rest):
        raise PositionError("stones are set up after the first move, which is not supported")
    game = Go(size=size, komi=komi)
    rows = [
        "".join("X" if (row, column) in black else "O" if (row, column) in white else "." for column in range(size))
        for row in reversed(range(size))
    ]
    start = game.read_diagram("\n".join(rows))
    start.to_play = moves[0][0] if moves else (SECOND if first == "w" else FIRST)
    return SgfGame(game, start, moves, document, nodes)
