"""Games of Go as SGF files. The package sgfmill reads and writes them; it is imported on first use."""

import codecs
import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from treespan.core.errors import PositionError
from treespan.games.go import Go
from treespan.games.go.board import BLACK, STRIDE
from treespan.games.go.status import stones
from treespan.games.manners import GameFile, Note
from treespan.games.rules import FIRST, SECOND

LETTERS = "bw"
DEFAULT_KOMI = Go().komi


@dataclass
class SgfGame(GameFile):
    """The main line of an SGF file."""

    game: Go
    document: Any  # the sgfmill object
    nodes: list[Any]  # the moves' sgfmill nodes

    def annotated(self, notes: Sequence[Note]) -> bytes:
        for (player, _), node, note in zip(self.moves, self.nodes, notes, strict=True):
            node.set("C", _comment(node) + note.comment)
            if note.is_blunder:
                node.set("BM", 1)
                if node.parent is not None:  # a move in the root node can have no variation
                    _add_line(node.parent, player, note.better)
        data: bytes = self.document.serialise()
        return data


def sgf_point(move: int) -> tuple[int, int] | None:
    """Return a move as sgfmill has it: row and column from the lower left corner, None for a pass."""
    return None if move == 0 else (move // STRIDE - 1, move % STRIDE - 1)


def go_move(point: tuple[int, int] | None) -> int:
    """Return the move of a point as sgfmill has it."""
    return 0 if point is None else (point[0] + 1) * STRIDE + point[1] + 1


def new_sgf(game: Go, start: Any) -> Any:
    """Return an sgfmill game with size, komi, and the stones of the first position."""
    from sgfmill import sgf

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


def read_sgf(data: bytes, komi: float = DEFAULT_KOMI) -> SgfGame:
    """Return the main line of an SGF file. Raises PositionError if the file is not a game of Go that we can play.

    `komi` is for files that do not state theirs. Stones may be set up only before the first move.
    """
    from sgfmill import sgf, sgf_grammar

    try:
        tree = sgf_grammar.parse_sgf_game(data)
        header = tree.sequence[0]
        if _number(header, "GM") not in (None, 1):
            raise PositionError(f"GM[{_text(header, 'GM')}] is not Go; give a game of Go, GM[1]")
        document = sgf.Sgf_game.from_coarse_game_tree(tree, None if _has_known_charset(header) else "UTF-8")
        main_line = document.get_main_sequence()
        nodes = [node for node in main_line if node.get_move()[0] is not None]
        moves = [(LETTERS.index(color), go_move(point)) for color, point in (node.get_move() for node in nodes)]
        before = main_line[: main_line.index(nodes[0]) + 1] if nodes else main_line
        placed = _set_up(before)
        turns = [node.get("PL") for node in before if node.has_property("PL")]
    except ValueError as error:
        raise PositionError(f"not an SGF file: {error}") from None
    if any(node.has_setup_stones() for node in main_line[len(before) :]):
        raise PositionError("stones are set up after the first move, which is not supported")
    size = document.get_size()
    game = Go(size=size, komi=_komi(header, komi))
    rows = ["".join(placed.get((row, column), ".") for column in range(size)) for row in reversed(range(size))]
    start = game.read_diagram("\n".join(rows))
    if moves:
        start.to_play = moves[0][0]
    elif turns:
        start.to_play = LETTERS.index(turns[-1])
    else:
        has_handicap = (_number(header, "HA") or 0) >= 2 and "X" in placed.values()
        start.to_play = SECOND if has_handicap else FIRST
    return SgfGame(game, start, moves, document, nodes)


def _set_up(nodes: Iterable[Any]) -> dict[tuple[int, int], str]:
    """Return the stones of a diagram by point, after all that the nodes add and take away."""
    placed: dict[tuple[int, int], str] = {}
    for node in nodes:
        for points, symbol in zip(node.get_setup_stones(), "XO.", strict=True):
            placed |= dict.fromkeys(points, symbol)
    return placed


def _comment(node: Any) -> str:
    """Return the file's comment on a move as a line. Bytes that are no text, as in many old files, become `?`."""
    if not node.has_property("C"):
        return ""
    try:
        return f"{node.get('C')}\n"
    except ValueError:
        raw: bytes = node.get_raw("C")
        return raw.decode("ascii", "replace").replace("\ufffd", "?") + "\n"


def _add_line(node: Any, player: int, moves: Iterable[int]) -> None:
    """Add a variation below a node. The first child stays the main line of sgfmill."""
    for move in moves:
        node = node.new_child()
        node.set_move(LETTERS[player], sgf_point(move))
        player = 1 - player


Header = Mapping[str, Sequence[bytes]]  # the raw properties of a file's first node


def _text(header: Header, name: str) -> str:
    """Return a property's value; empty if it is missing."""
    return header.get(name, [b""])[0].decode("ascii", "replace").strip()


def _number(header: Header, name: str) -> float | None:
    """Return a property's value; None if it is missing or no number. Many programs write a decimal comma."""
    try:
        value = float(_text(header, name).replace(",", "."))
    except ValueError:
        return None
    return value if math.isfinite(value) else None


def _komi(header: Header, default: float) -> float:
    text = _text(header, "KM")
    if not text:
        return default
    komi = _number(header, "KM")
    if komi is None:
        raise PositionError(f"komi KM[{text}] is not a number; give one as in KM[6.5]")
    return komi


def _has_known_charset(header: Header) -> bool:
    """Return whether Python knows the charset that the file names. A file that names none has SGF's default."""
    try:
        return "CA" not in header or bool(codecs.lookup(_text(header, "CA")))
    except LookupError:
        return False
