"""Games of Go as SGF."""

from collections.abc import Sequence
from typing import Any

from sgfmill import sgf

from treespan.games.go import Go
from treespan.games.go.board import BLACK, STRIDE
from treespan.games.go.status import stones
from treespan.lab.referee import SIDES, GameRecord, MatchSetup

LETTERS = "bw"


def sgf_point(move: int) -> tuple[int, int] | None:
    """A move as sgfmill writes it: row and column from the lower left corner, None for a pass."""
    return None if move == 0 else (move // STRIDE - 1, move % STRIDE - 1)


def go_point(point: tuple[int, int] | None) -> int:
    """The move of `sgf_point`."""
    return 0 if point is None else (point[0] + 1) * STRIDE + point[1] + 1


def new_sgf(game: Go, start: Any) -> Any:
    """An SGF game with size, komi, and the stones of the first position."""
    document = sgf.Sgf_game(game.size)
    root = document.get_root()
    root.set("KM", float(start.komi))
    root.set("AP", ("treespan", ""))
    black = [sgf_point(point) for point in stones(start) if start.color[point] == BLACK]
    white = [sgf_point(point) for point in stones(start) if start.color[point] != BLACK]
    if black or white:
        root.set_setup_stones(black, white)
    if game.handicap:
        root.set("HA", game.handicap)
    if start.to_play:
        root.set("PL", "w")
    return document


def add_moves(document: Any, moves: Sequence[int], to_play: int) -> None:
    """Append moves of alternating players."""
    for index, move in enumerate(moves):
        document.extend_main_sequence().set_move(LETTERS[(to_play + index) % 2], sgf_point(move))


def match_sgf(game: Go, setup: MatchSetup, record: GameRecord) -> bytes:
    """A game of a match."""
    start = game.new_state()
    document = new_sgf(game, start)
    root = document.get_root()
    second = SIDES[1 - SIDES.index(record.first)]
    root.set("PB", f"{record.first}: {setup.player_text(record.first)}")
    root.set("PW", f"{second}: {setup.player_text(second)}")
    root.set("RE", record.result)
    root.set("GN", f"game {record.game}")
    if record.detail or record.claims:
        claims = "".join(f"\n{side} claims {claim}" for side, claim in record.claims.items())
        root.set("C", f"{record.reason}: {record.detail}{claims}" if record.detail else claims.strip())
    add_moves(document, [game.parse_move(move) for move in record.moves], int(start.to_play))
    data: bytes = document.serialise()
    return data
