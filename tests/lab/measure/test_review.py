"""A game looked at again: win rates, blunders, annotated SGF."""

from itertools import pairwise

import pytest
from sgfmill import sgf

from treespan.core.errors import PositionError
from treespan.core.jit import JIT_DISABLED
from treespan.games.go.sgf import read_sgf
from treespan.lab.measure.review import MoveReview, annotate, rate_plot, review_game
from treespan.runtimes.plan import plan_of, split_options

PLAYOUTS = 60 if JIT_DISABLED else 2000
PLAN = plan_of(split_options(f"--playouts {PLAYOUTS} --scheme sequential:nodes=200000"))

# Stones set up, a comment, a pass
GAME = b"""(;SZ[5]KM[0.5]AB[aa][ba][bb][bc][ac][bd][be][ae]
AW[ca][cb][cc][cd][ce][da][db][dc][dd][de][eb][ed]PL[W];W[ec]C[hm];B[])"""


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


@pytest.mark.parametrize("charset", [b"foo", b"", b"\xff"])
def test_an_unknown_charset_is_read_as_utf_8(charset: bytes) -> None:
    document = read_sgf(b"(;SZ[5]CA[" + charset + "];B[cc]C[schön])".encode())
    assert document.nodes[0].get("C") == "schön"
    annotated = annotate(document, [MoveReview(1, 0, "C3", before=0.5, after=0.5, best="C3")], blunder=0.15)
    assert "C[schön\ntreespan: Black 50.0%]".encode() in annotated and b"CA[UTF-8]" in annotated


def test_a_better_line_stands_after_the_stones_that_were_set_up() -> None:
    document = read_sgf(b"(;SZ[5];AB[bb];W[cc])")
    review = MoveReview(1, 1, "C3", before=0.1, after=0.9, best="D3", line=["D3"])
    root = sgf.Sgf_game.from_bytes(annotate(document, [review], blunder=0.15)).get_root()
    assert len(root) == 1 and [node.get_move() for node in root[0]] == [("w", (2, 2)), ("w", (2, 3))]


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
