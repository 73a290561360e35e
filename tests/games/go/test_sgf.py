"""Games of Go as SGF: what is read of a file, what is refused, what is written."""

import pytest

from treespan.core.errors import OptionError, PositionError
from treespan.games.go import Go
from treespan.games.go.sgf import go_move, new_sgf, read_sgf, sgf_point

# Stones set up, a comment, a pass
GAME = b"""(;SZ[5]KM[0.5]AB[aa][ba][bb][bc][ac][bd][be][ae]
AW[ca][cb][cc][cd][ce][da][db][dc][dd][de][eb][ed]PL[W];W[ec]C[hm];B[])"""


def test_points_of_sgf_and_ours_are_inverse() -> None:
    document = read_sgf(GAME)
    for text in ("A1", "E5", "C2", "pass"):
        move = document.game.parse_move(text)
        assert go_move(sgf_point(move)) == move


def test_reading() -> None:
    document = read_sgf(GAME)
    assert document.game.size == 5 and [player for player, _ in document.moves] == [1, 0]
    assert [document.game.move_name(move) for _, move in document.moves] == ["E3", "pass"]
    assert document.start.to_play == 1


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (b"", "not an SGF file"),
        (b"hello", "not an SGF file"),
        (b"(;SZ[5];B[zz])", "not an SGF file"),
        (b"(;SZ[5];B[aa];AB[bb])", "after the first move"),
        (b"(;SZ[5]AB[aa]AW[ab][ba])", "without liberties"),
        (b"(;SZ[5]KM[half];B[aa])", r"komi KM\[half\] is not a number"),
        (b"(;SZ[5]KM[nan];B[aa])", r"komi KM\[nan\] is not a number"),
        (b"(;GM[2]SZ[8];B[aa])", r"GM\[2\] is not Go"),
        (b"(;GM[11]SZ[11:11]HA[0];B[aa])", r"GM\[11\] is not Go"),
    ],
)
def test_files_that_are_no_games(text: bytes, message: str) -> None:
    with pytest.raises(PositionError, match=message):
        read_sgf(text)


@pytest.mark.parametrize(
    ("komi", "read"), [(b"KM[6,5]", 6.5), (b"KM[ 0 ]", 0.0), (b"KM[-2.5]", -2.5), (b"KM[]", 7.5), (b"", 7.5)]
)
def test_komi(komi: bytes, read: float) -> None:
    document = read_sgf(b"(;SZ[5]" + komi + b";B[aa])")
    assert document.game.komi == read and float(document.start.komi) == read


def test_a_file_without_komi_has_the_readers() -> None:
    assert read_sgf(b"(;SZ[5];B[aa])", komi=3.5).game.komi == 3.5
    assert read_sgf(b"(;SZ[5]KM[0];B[aa])", komi=3.5).game.komi == 0.0


def test_stones_may_be_set_up_in_several_nodes_before_the_first_move() -> None:
    document = read_sgf(b"(;SZ[5]AB[aa][bb];AW[cc]AE[aa];C[here we go];AB[dd];W[ee];B[aa])")
    diagram = document.game.diagram(document.start)
    assert diagram.count("X") == 2 and diagram.count("O") == 1 and len(document.moves) == 2
    assert document.start.to_play == 1


@pytest.mark.parametrize(
    ("text", "player"),
    [
        (b"HA[2]AB[bb][dd]", 1),
        (b"HA[2];AB[bb][dd]", 1),
        (b"HA[2]AB[bb][dd]PL[B]", 0),
        (b"AB[bb][dd]", 0),
        (b"HA[0]AB[bb][dd]", 0),
        (b"HA[2]", 0),  # Black is still to place them
        (b"PL[B];AB[bb]PL[W]", 1),
        (b"HA[2]AB[bb][dd];B[cc]", 0),
    ],
)
def test_who_is_to_play(text: bytes, player: int) -> None:
    assert read_sgf(b"(;SZ[5]" + text + b")").start.to_play == player


def test_a_board_of_unknown_size_is_refused() -> None:
    with pytest.raises(OptionError, match="size=25 is out of range"):
        read_sgf(b"(;SZ[25];B[aa])")


def test_writing_a_start_with_handicap() -> None:
    game = Go(size=9, handicap=2)
    document = read_sgf(new_sgf(game, game.new_state()).serialise())
    assert (document.start.color == game.new_state().color).all() and int(document.start.to_play) == 1
