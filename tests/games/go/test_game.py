"""Go by diagrams: captures, ko, eyes, scoring, superko, text. `test_crosscheck.py` has random games and playouts."""

from typing import Any

import numpy as np
import pytest

from tests.naive.go import check_fields, number, twin
from treespan.core.errors import OptionError, PositionError
from treespan.core.jit import JIT_DISABLED
from treespan.games.check import check_game
from treespan.games.go import Go
from treespan.games.go.board import BLACK, STRIDE, WHITE, is_own_eye
from treespan.games.go.scoring import area_margin
from treespan.games.position import Position
from treespan.games.registry import make_game


def at(diagram: str, status: str = "black to play", **options: Any) -> Position:
    """A position from rows that are separated by line ends or `/`; their number is the size of the board."""
    rows = diagram.replace("/", "\n").strip()
    game = Go(size=len(rows.splitlines()), **options)
    return Position(game, game.read_diagram(f"{rows}\n{status}"))


def board(position: Position) -> str:
    rows, side = position.state.color[:-1].reshape(-1, STRIDE), int(position.state.side)
    return "\n".join(" ".join(".XO"[color] for color in rows[row, 1 : side + 1]) for row in range(side, 0, -1))


def names(position: Position) -> set[str]:
    return {position.game.move_name(move) for move in position.legal_moves}


@pytest.mark.parametrize("spec", ["go:size=5", "go:size=6,superko=yes", "go:size=9,handicap=5", "go:size=19,komi=0"])
def test_keeps_the_protocol(spec: str) -> None:
    games = 1 if "19" in spec or JIT_DISABLED else 10
    game = make_game(spec)
    report = check_game(game, games=games)
    assert report.games == games and report.playouts == games * len(game.policies)


# Captures and ko. Each case: who plays, the moves, and the board before and after them side by side.

CAPTURES = {
    "one stone": ("black", "C2", """
        . . . . .   . . . . .
        . . X . .   . . X . .
        . X O X .   . X . X .
        . . . . .   . . X . .
        . . . . .   . . . . ."""),
    "a chain at the edge": ("white", "D1", """
        . . . . .   . . . . .
        . . . . .   . . . . .
        O O O . .   O O O . .
        X X X O .   . . . O .
        X X X . .   . . . O ."""),
    "four chains at once, by a stone without a liberty": ("black", "C3", """
        . . X . .   . . X . .
        . X O X .   . X . X .
        X O . O X   X . X . X
        . X O X .   . X . X .
        . . X . .   . . X . ."""),
    "a chain that touches the point twice": ("black", "A1", """
        . . . . .   . . . . .
        . . . . .   . . . . .
        X X . . .   X X . . .
        O O X . .   . . X . .
        . O X . .   X . X . ."""),
    "only the chain without liberties": ("white", "B1", """
        . . . . .   . . . . .
        . . . . .   . . . . .
        O X . . .   O X . . .
        X O . . .   . O . . .
        X . X . .   . O X . ."""),
    "snapback": ("black", "B1 A1 B1", """
        . . . . .   . . . . .
        . . . . .   . . . . .
        X X X . .   X X X . .
        O O O X .   . . . X .
        . . O X .   . X . X ."""),
    "ko retaken after a move elsewhere": ("black", "C3 E5 E1 B3", """
        . . . . .   . . . . O
        . X O . .   . X O . .
        X O . O .   X O . O .
        . X O . .   . X O . .
        . . . . .   . . . . X"""),
}  # fmt: skip


BEFORE_AFTER = slice(0, 9), slice(12, 21)


@pytest.mark.parametrize("case", CAPTURES)
def test_captures(case: str) -> None:
    player, moves, boards = CAPTURES[case]
    before, after = ("\n".join(line.strip()[side] for line in boards.split("\n")[1:]) for side in BEFORE_AFTER)
    position = at(before, f"{player} to play")
    position.play_text(moves)
    assert board(position) == after
    check_fields(position.state, twin(position.state))


KO = "...../.XO../XO.O./.XO../....."


def test_ko_forbids_one_point_for_one_ply() -> None:
    position = at(KO)
    position.play_text("C3")
    assert position.game.move_name(int(position.state.ko)) == "B3"
    assert "B3" not in names(position)
    with pytest.raises(PositionError, match=r"'B3'.*not legal"):
        position.play_text("B3")
    for meanwhile in ("E5 E1", "E5 pass", "pass E1"):  # a pass lifts a ko too
        later = position.copy()
        later.play_text(meanwhile)
        assert int(later.state.ko) == 0
        later.play_text("B3")
        assert "C3" not in names(later)


@pytest.mark.parametrize(
    ("case", "player", "move", "legal", "diagram"),
    [
        ("suicide of one stone", "white", "C3", False, "...../..X../.X.X./..X../....."),
        ("filling an own eye", "black", "C3", True, "...../..X../.X.X./..X../....."),
        ("suicide in the corner", "black", "E1", False, "...../...../...../....O/...O."),
        ("suicide of two stones", "white", "B1", False, "...../...../...../XX.../O.X.."),
        ("suicide that joins two chains", "white", "B1", False, "...../...../X..../OXX../O.OX."),
        ("joining a chain with a liberty", "white", "B1", True, "...../...../X..../OXX../O.O.X"),
        ("capture from within", "white", "A1", True, "...../...../OO.../XXO../.XO.."),
        ("capture by a stone that joins", "white", "C1", True, "...../...../O..../XOXX./XX.OX"),
    ],
)
def test_suicide_and_what_looks_like_it(case: str, player: str, move: str, legal: bool, diagram: str) -> None:
    assert (move in names(at(diagram, f"{player} to play"))) == legal


@pytest.mark.parametrize(
    ("name", "expected", "diagram"),
    [
        ("C3", True, "...../..X../.X.X./..X../....."),
        ("C3", True, "...../.OXX./.X.X./..XX./....."),
        ("C3", False, "...../.OX../.X.X./..XO./....."),
        ("C3", False, "...../.XXX./.X.O./.XXX./....."),
        ("C3", False, "...../.XXX./.X.../.XXX./....."),
        ("E3", True, "...../....X/...X./....X/....."),
        ("E3", False, "...../...OX/...X./....X/....."),
        ("E3", False, "...../...XX/...X./...X./....."),
        ("E1", True, "...../...../...../....X/...X."),
        ("E1", False, "...../...../...../...OX/...X."),
    ],
)
def test_eyes_in_all_directions_and_colours(name: str, expected: bool, diagram: str) -> None:
    cells = np.array([list(row) for row in diagram.split("/")])
    mark = np.zeros((5, 5), dtype=bool)
    mark[5 - int(name[1]), "ABCDE".index(name[0])] = True
    for turns in range(4):
        turned = "/".join("".join(row) for row in np.rot90(cells, turns))
        from_top, from_left = np.argwhere(np.rot90(mark, turns))[0]
        point = (5 - int(from_top), int(from_left) + 1)
        swapped = turned.translate(str.maketrans("XO", "OX"))
        for color, other, text in ((BLACK, WHITE, turned), (WHITE, BLACK, swapped)):
            state = at(text).state
            assert is_own_eye(state, np.uint64(number(point)), color) == expected
            assert twin(state).is_own_eye(point, color) == expected
            assert not is_own_eye(state, np.uint64(number(point)), other)


# Scoring and the end of the game


@pytest.mark.parametrize(
    ("case", "margin", "diagram"),
    [
        ("nobody's board", 0, "...../...../...../...../....."),
        ("one stone owns all", 25, "...../...../..X../...../....."),
        ("a neutral column", -2, ".X.O./.X.O./XX.O./.XOO./.XOO."),
        ("no stone is dead: one in enemy territory spoils it", -6, ".X.O./.X.O./.X.O./OX.O./.X.O."),
        ("seki: shared liberties are nobody's", -1, "OO.XX/OOXXX/OO.XX/OOOXX/OOOXX"),
        ("two eyes each", 3, ".X.XO/XXXXO/XXXOO/XXOO./XOO.O"),
    ],
)
def test_area(case: str, margin: int, diagram: str) -> None:
    state = at(diagram).state
    assert twin(state).area_margin() == margin
    assert area_margin(state) == margin
    check_fields(state, twin(state))  # counting leaves the board as it was


@pytest.mark.parametrize(
    ("komi", "reward", "words"), [(24.5, 1.0, "B+0.5"), (25, 0.5, "draw"), (25.5, 0.0, "W+0.5"), (-3, 1.0, "B+28")]
)
def test_komi_decides(komi: float, reward: float, words: str) -> None:
    position = Position(Go(size=5, komi=komi))
    position.play_text("C3 pass")
    assert not position.is_over
    with pytest.raises(PositionError, match="not over"):
        _ = position.reward
    position.play_text("pass")
    assert position.is_over and position.legal_moves == []
    assert position.reward == reward
    assert position.game.describe_result(position.state, position.reward) == words
    with pytest.raises(PositionError, match="the game is over"):
        position.play_text("A1")


def test_passes_count_only_in_a_row() -> None:
    position = Position(Go(size=5))
    position.play_text("pass C3 pass C4 pass")
    assert not position.is_over
    position.play_text("pass")
    assert position.is_over


def test_the_ply_limit_ends_and_scores_a_game() -> None:
    rng = np.random.default_rng(3)
    position = Position(Go(size=5, komi=0.5))
    while not position.is_over:
        stones = [move for move in position.legal_moves if move]
        position.play(int(rng.choice(stones)) if stones else 0)
        assert position.state.passes < 2
    assert len(position.moves_made) == position.game.max_plies == 75
    assert position.reward == (1.0 if twin(position.state).area_margin() > 0 else 0.0)


@pytest.mark.parametrize(
    ("size", "points"),
    [
        (9, "C3 G7"),
        (9, "C3 C7 E5 G3 G7"),
        (13, "D10 D4 K10"),
        (8, "C3 C6 F3 F6"),
        (19, "D10 D16 D4 Q10 Q16 Q4"),
        (19, "D10 D16 D4 K10 Q10 Q16 Q4"),
        (19, "D10 D16 D4 K16 K4 Q10 Q16 Q4"),
        (19, "D10 D16 D4 K10 K16 K4 Q10 Q16 Q4"),
    ],
)
def test_handicap(size: int, points: str) -> None:
    position = Position(Go(size=size, handicap=len(points.split())))
    naive = twin(position.state)
    assert sorted(position.game.move_name(number(point)) for point in naive.stones) == points.split()
    assert set(naive.stones.values()) == {BLACK} and naive.to_play == WHITE
    check_fields(position.state, naive)


# Keys and superko


def test_key_depends_on_board_player_ko_and_passes() -> None:
    there, back = Position(Go(size=5)), Position(Go(size=5))
    there.play_text("B2 C3 D4 B4")
    back.play_text("D4 B4 B2 C3")
    assert there.key == back.key
    captured = at(KO)
    captured.play_text("C3")
    statuses = "black to play", "white to play, ko B3", "white to play", "white to play, passes 1"
    keys = [at(board(captured), status).key for status in statuses]
    assert len(set(keys)) == len(keys)
    assert captured.key == keys[1]


# Black sends two stones, White takes them with one, Black takes that one: the first board again.
SEND_TWO = """
. . . . .
. . . . .
. . . . .
O O X . .
. X . X ."""


def test_superko_forbids_what_simple_ko_allows() -> None:
    simple, superko = at(SEND_TWO), at(SEND_TWO, superko=True)
    for position in (simple, superko):
        position.play_text("A1 C1")
        assert int(position.state.ko) == 0  # two stones were taken
    b1 = simple.game.parse_move("B1")
    assert simple.forbidden_moves == set() and superko.forbidden_moves == {b1}
    assert set(simple.legal_moves) - set(superko.legal_moves) == {b1}
    with pytest.raises(PositionError, match=r"'B1'.*not legal"):
        superko.play_text("B1")
    superko.play_text("E5 A5 B1")  # the whole board differs by now
    simple.play_text("B1")
    assert board(simple) == SEND_TWO.strip()


# Text and errors


def test_notation_leaves_out_i() -> None:
    game = Go(size=19)
    assert [game.parse_move(text) for text in ("A1", "h1", "J1", " T19 ", "PASS")] == [21, 28, 29, 399, 0]
    assert [game.move_name(move) for move in (21, 28, 29, 399, 0)] == ["A1", "H1", "J1", "T19", "pass"]


@pytest.mark.parametrize("text", ["", "I5", "A0", "A10", "K1", "A", "5", "A-1", "A1.5", "A²", "A" + 5000 * "1"])
def test_bad_moves_are_refused(text: str) -> None:
    with pytest.raises(PositionError, match=r"is not a point of 9x9; give A1\.\.J9 or pass"):
        Go(size=9).parse_move(text)


@pytest.mark.parametrize(
    ("spec", "message"),
    [
        ("go:size=4", r"size=4 is out of range; give 5\.\.19"),
        ("go:size=20", r"size=20 is out of range; give 5\.\.19"),
        ("go:handicap=1", r"handicap=1 does not fit size=9; give 0 or 2\.\.9"),
        ("go:size=8,handicap=5", r"handicap=5 does not fit size=8; give 0 or 2\.\.4"),
        ("go:size=5,handicap=2", "handicap=2 does not fit size=5; give 0"),
        ("go:handicap=10", "handicap=10 is out of range"),
        ("go:komi=400", "komi=400.0 is out of range"),
    ],
)
def test_bad_options_are_refused(spec: str, message: str) -> None:
    with pytest.raises(OptionError, match=message):
        make_game(spec)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("...../...../..Z../...../.....", "5 rows of 5"),
        ("...../...../..X../.....", "5 rows of 5"),
        ("...../...../..X./...../.....", "5 rows of 5"),
        ("...../...../...../....X/...XO", "without liberties"),  # the stone that is placed last
        ("OX.../X..../...../...../.....", "without liberties"),
        (KO + "/red to play", "cannot read 'red to play'"),
        *((f"{KO}/black to play, {part}", f"cannot read '{part}'") for part in ("komi nan", "passes 300", "ko", "x 1")),
        (KO + "/black to play, passes 3", "cannot read 'passes 3'"),
        (KO + "/black to play, ko F9", "'f9' is not a point"),
        (KO + "/black to play, ko A1", "A1 cannot be a ko"),  # it has empty neighbours
        (KO + "/black to play, ko C4", "C4 cannot be a ko"),  # a stone stands there
    ],
)
def test_bad_diagrams_are_refused(text: str, message: str) -> None:
    with pytest.raises(PositionError, match=message):
        Go(size=5).read_diagram(text.replace("/", "\n"))


def test_diagram_is_written_as_it_is_read() -> None:
    text = """
   A B C D E
 5 . . . . . 5
 4 . X O . . 4
 3 X . X O . 3
 2 . X O . . 2
 1 . . . . . 1
   A B C D E
white to play, komi 6.5, ko B3"""
    game = Go(size=5)
    assert game.diagram(game.read_diagram(text)) == text.strip("\n")
    assert game.diagram(game.read_diagram(text + ", passes 1")) == text.strip("\n") + ", passes 1"
