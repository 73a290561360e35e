"""A game looked at again: win rates, blunders, annotated SGF."""

from itertools import pairwise

import pytest
from sgfmill import sgf

from treespan.core.errors import OptionError, PositionError
from treespan.core.jit import JIT_DISABLED
from treespan.lab.review import MoveReview, annotate, rate_plot, review_game
from treespan.lab.sgf import go_move, new_sgf, read_sgf, sgf_point
from treespan.runtimes.plan import plan_of, split_options

PLAYOUTS = 60 if JIT_DISABLED else 2000
PLAN = plan_of(split_options(f"--playouts {PLAYOUTS} --scheme sequential:nodes=200000"))

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


def test_a_move_in_the_root_is_a_move() -> None:
    document = read_sgf(b"(;GM[1]SZ[5]B[cc];W[bb])")
    assert [document.game.move_name(move) for _, move in document.moves] == ["C3", "B4"]
    reviews = [
        MoveReview(1, 0, "C3", before=0.9, after=0.1, best="D3", line=["D3"]),
        MoveReview(2, 1, "B4", before=0.1, after=0.1, best="B4"),
    ]
    nodes = sgf.Sgf_game.from_bytes(annotate(document, reviews, blunder=0.15)).get_main_sequence()
    assert len(nodes) == 2 and "better D3" in nodes[0].get("C") and "Black" in nodes[1].get("C")


def test_a_comment_that_is_no_text_is_kept_as_far_as_it_can_be() -> None:
    document = read_sgf(b"(;SZ[5]CA[UTF-8];B[cc]C[so \xff\xfe so])")
    annotated = annotate(document, [MoveReview(1, 0, "C3", before=0.5, after=0.5, best="C3")], blunder=0.15)
    assert b"C[so ?? so\ntreespan: Black 50.0%]" in annotated


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


@pytest.mark.parametrize("charset", [b"foo", b"", b"\xff"])
def test_an_unknown_charset_is_read_as_utf_8(charset: bytes) -> None:
    document = read_sgf(b"(;SZ[5]CA[" + charset + "];B[cc]C[schön])".encode())
    assert document.nodes[0].get("C") == "schön"
    annotated = annotate(document, [MoveReview(1, 0, "C3", before=0.5, after=0.5, best="C3")], blunder=0.15)
    assert "C[schön\ntreespan: Black 50.0%]".encode() in annotated and b"CA[UTF-8]" in annotated


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


def test_a_better_line_stands_after_the_stones_that_were_set_up() -> None:
    document = read_sgf(b"(;SZ[5];AB[bb];W[cc])")
    review = MoveReview(1, 1, "C3", before=0.1, after=0.9, best="D3", line=["D3"])
    root = sgf.Sgf_game.from_bytes(annotate(document, [review], blunder=0.15)).get_root()
    assert len(root) == 1 and [node.get_move() for node in root[0]] == [("w", (2, 2)), ("w", (2, 3))]


def test_a_board_of_unknown_size_is_refused() -> None:
    with pytest.raises(OptionError, match="size=25 is out of range"):
        read_sgf(b"(;SZ[25];B[aa])")


def test_writing_a_start_with_handicap() -> None:
    from treespan.games.go import Go

    game = Go(size=9, handicap=2)
    document = read_sgf(new_sgf(game, game.new_state()).serialise())
    assert (document.start.color == game.new_state().color).all() and int(document.start.to_play) == 1


def test_costs_are_the_movers() -> None:
    black = MoveReview(1, 0, "A1", before=0.6, after=0.4, best="B1")
    white = MoveReview(2, 1, "A2", before=0.4, after=0.6, best="B2")
    assert black.loss == white.loss == pytest.approx(0.2)
    assert MoveReview(3, 0, "A1", before=0.4, after=0.6, best="B1").loss == 0.0
    assert black.is_blunder(0.15) and not black.is_blunder(0.25)
    assert not MoveReview(1, 0, "B1", before=0.6, after=0.4, best="B1").is_blunder(0.1)  # the search agreed


def test_reviews_join_up_and_end_with_the_result() -> None:
    document = read_sgf(b"(;SZ[5]KM[0.5];B[cc];W[];B[])")
    done: list[int] = []
    reviews = review_game(document, PLAN, done.append)
    assert done == [1, 2, 3] and [review.move for review in reviews] == ["C3", "pass", "pass"]
    assert all(first.after == second.before for first, second in pairwise(reviews))
    assert reviews[-1].after == 1.0  # Black has the board
    assert all(0 <= review.before <= 1 and review.best for review in reviews)


def test_an_illegal_move_is_found_before_the_first_search() -> None:
    done: list[int] = []
    with pytest.raises(PositionError, match="go: move 3, 'C3': it is not legal here"):
        review_game(read_sgf(b"(;SZ[5];B[cc];W[bb];B[cc])"), PLAN, done.append)
    assert done == []


def test_annotation_keeps_the_game_and_adds_better_lines() -> None:
    document = read_sgf(GAME)
    reviews = [
        MoveReview(1, 1, "E3", before=0.1, after=0.9, best="pass", line=["pass", "E5", "A1"]),
        MoveReview(2, 0, "pass", before=0.9, after=0.9, best="E5", line=["E5"]),
    ]
    annotated = sgf.Sgf_game.from_bytes(annotate(document, reviews, blunder=0.15))
    nodes = annotated.get_main_sequence()
    assert [node.get_move() for node in nodes[1:]] == [("w", (2, 4)), ("b", None)]
    assert nodes[1].get("C") == "hm\ntreespan: Black 90.0%; E3 cost 80.0%, better pass E5 A1"
    assert nodes[1].has_property("BM") and not nodes[2].has_property("BM")
    variation = annotated.get_root()[1]
    assert variation.get_move() == ("w", None) and variation[0].get_move() == ("b", (4, 4))


def test_plot_of_text() -> None:
    rates = [0.0, 0.5, 1.0, 1.0]
    reviews = [MoveReview(i + 1, i % 2, "A1", 0.5, rate, "B1") for i, rate in enumerate(rates)]
    lines = list(rate_plot(reviews, width=10, height=4))
    assert [line[6:].rstrip() for line in lines[:4]] == ["  ██", "  ██", " ███", " ███"]
    assert lines[0].startswith("100%") and "1 to 4" in lines[-1]
    assert all(len(line[6:]) == 2 for line in list(rate_plot(reviews, width=2, height=4))[:4])
