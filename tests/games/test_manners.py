"""What a game adds to an engine, a referee and a printed board: nothing, if it does not say so."""

import subprocess
import sys

import pytest
from rich.style import Style

from treespan.core.errors import PositionError
from treespan.games.board import width_of
from treespan.games.manners import Manners, Status
from treespan.games.position import Position
from treespan.games.registry import make_game


def never() -> Status:
    raise AssertionError("nobody needs the status here")


def test_by_default_players_move_in_turn_and_the_rules_decide() -> None:
    game = make_game("tictactoe")
    manners, position = Manners(game), game.position("a1 b1 a2 b2")
    assert not manners.has_status and not manners.file_format
    assert manners.turned(position, 1) is position
    assert manners.obvious_move(position, True, never) is None and manners.banned_moves(position, False) == set()
    assert not manners.is_mistake(position, position.legal_moves[0], never)
    assert manners.considered_moves(position) == set(position.legal_moves)
    assert manners.board([position]) is None and manners.facts([position], never) == []
    assert manners.prospects(position, 1, 0.254) == "The second player's chance to win 25%"
    assert manners.read_move(position, "c3") == game.parse_move("c3")
    assert manners.why_illegal(position, game.parse_move("a1")) == "it is not legal here"
    position.play_text("a3")
    assert manners.outcome(position, never) == (0.5, "first player wins")
    assert manners.lost_result(position.state, 0, "time") == "second player wins"


def test_by_default_there_are_no_dead_stones_no_komi_no_files_and_no_programs() -> None:
    position = Position(make_game("tictactoe"))
    manners = position.game.manners()
    with pytest.raises(PositionError, match="tictactoe: only Go has territory"):
        manners.status(position.state, 10, 1)
    with pytest.raises(PositionError, match="tictactoe: only Go has a komi"):
        manners.change_komi([position], 1.5)
    with pytest.raises(PositionError, match="tictactoe has no file format"):
        manners.as_file(position.state, [], ("a", "b"))
    assert not manners.has_gtp and manners.read_score("B+1") is None
    with pytest.raises(PositionError, match="tictactoe: GTP is for Go alone"):
        manners.gtp_setup(position.state)


def test_engines_do_not_import_go_nor_searches_the_library_for_files() -> None:
    code = (
        "import sys, treespan.engine, treespan.play; assert 'treespan.games.go' not in sys.modules\n"
        "import treespan.gtp.session, treespan.games.go.manners; assert 'sgfmill' not in sys.modules"
    )
    subprocess.run([sys.executable, "-c", code], check=True)


def as_played(spec: str, moves: str = "") -> list[Position]:
    """The positions of a game, the last one last."""
    positions = [make_game(spec).position()]
    for move in moves.split():
        positions.append(positions[-1].copy())
        positions[-1].play_text(move)
    return positions


BOARDS = {
    ("tictactoe", "b2 a1"): """
3 . . .
2 . X .
1(O). .
  a b c""",
    ("connect4", "4 4 7"): """
 . . . . . . .
 . . . . . . .
 . . . . . . .
 . . . . . . .
 . . . O . . .
 . . . X . .(X)
 1 2 3 4 5 6 7""",
    ("hex:size=4", "c3 b2"): """
   a b c d
 1 . . . .
  2 .(O). .
   3 . . X .
    4 . . . .""",
    ("havannah:base=4", "d4 a1 g7 a4"): """
       a b c d
    1 O . . . e
   2 . . . . . f
  3 . . . . . . g
 4(O). . X . . .
  5 . . . . . .
   6 . . . . .
    7 . . . X""",
    ("havannah:base=4", "g5"): """
       a b c d
    1 . . . . e
   2 . . . . . f
  3 . . . . . . g
 4 . . . . . . .
  5 . . . . .(X)
   6 . . . . .
    7 . . . .""",
    ("go:size=9", "E5 C3 J1"): """
   A B C D E F G H J
 9 . . . . . . . . . 9
 8 . . . . . . . . . 8
 7 . . + . . . + . . 7
 6 . . . . . . . . . 6
 5 . . . . X . . . . 5
 4 . . . . . . . . . 4
 3 . . O . . . + . . 3
 2 . . . . . . . . . 2
 1 . . . . . . . .(X)1
   A B C D E F G H J""",
    ("samegame:width=4,height=3,colors=2", ""): """
 3 1 2 1 1
 2 2 1 1 1
 1 2 2 2 1
   a b c d""",
}


@pytest.mark.parametrize(("spec", "moves"), BOARDS)
def test_a_board_has_labels_and_its_last_move_in_brackets(spec: str, moves: str) -> None:
    positions = as_played(spec, moves)
    board = positions[-1].game.manners().board(positions)
    assert board is not None and str(board) == BOARDS[spec, moves].strip("\n")


@pytest.mark.parametrize("spec", ["tictactoe", "connect4", "hex", "havannah", "go:size=19", "samegame"])
def test_with_colours_a_board_has_the_same_places(spec: str) -> None:
    positions = as_played(spec)
    board = positions[0].game.manners().board(positions)
    assert board is not None
    plain, painted = board.lines(), board.lines(is_painted=True)
    assert [width_of(line) for line in plain] == [width_of(line) for line in painted]
    for style in {style for line in painted for _, style in line}:
        Style.parse(style)  # raises for one that Rich cannot read
    assert max(map(width_of, plain)) <= 80


def test_any_block_names_its_group() -> None:
    game = make_game("samegame:width=4,height=3,colors=2")
    position = game.read("2111\n2222\n1221\n")
    manners = game.manners()
    names = [game.move_name(move) for move in position.legal_moves]
    assert [game.move_name(manners.read_move(position, text)) for text in ("d2", "a3", "a2", "d3")] == [
        *["a2"] * 3,
        "b3",
    ]
    assert {"a2", "b3"} <= set(names)
    assert manners.why_illegal(position, manners.read_move(position, "a1")) == "no block of its colour touches that one"
    assert manners.prospects(position, 0, 0.0) == f"expected score {int(position.state.low):,}"
    assert manners.facts([position], never) == ["score 0", f"groups left {len(names)}"]


@pytest.mark.parametrize(
    ("spec", "moves", "move", "reason"),
    [
        ("tictactoe", "b2", "b2", "that cell is taken"),
        ("hex:size=4", "b2", "b2", "that cell is taken"),
        ("hex:size=4,swap=yes", "b2 c3", "swap", "it is not legal here"),
        ("havannah:base=4", "g5", "g5", "that cell is taken"),
        ("connect4", "1 1 1 1 1 1", "1", "that column is full"),
    ],
)
def test_an_illegal_move_has_a_reason(spec: str, moves: str, move: str, reason: str) -> None:
    position = as_played(spec, moves)[-1]
    manners, number = position.game.manners(), position.game.parse_move(move)
    assert number not in position.legal_moves and manners.why_illegal(position, number) == reason
