"""Connect Four against OpenSpiel, a naive twin, known counts and drawn positions."""

import numpy as np
import pytest

from tests.naive.connect4 import NaiveConnectFour, naive_perft
from tests.naive.statistics import Playouts, assert_uniform
from tests.support.openspiel import crosscheck
from treespan.core.errors import PositionError
from treespan.core.jit import JIT_DISABLED
from treespan.games.check import ask_priors, check_game
from treespan.games.connect4 import COLUMNS, LINES_THROUGH, ROWS, ConnectFour
from treespan.games.perft import perft
from treespan.games.position import Position

PERFT = [1, 7, 49, 343, 2401, 16807, 117649, 823536, 5673234]
GAME = ConnectFour()

EMPTY_ROW = ".......\n"
FOURS = {
    "row": (EMPTY_ROW * 4 + "OOO....\nXXXX...", 1.0),
    "column": (EMPTY_ROW * 2 + "..O....\n..O.X..\n..O.X..\nX.O.X..", 0.0),
    "rising": (EMPTY_ROW * 2 + "......X\n.....XO\n....XOO\nO..XOXX", 1.0),
    "falling": (EMPTY_ROW * 2 + "O......\nXO.....\nOXO....\nXOXO.XX", 0.0),
    "at the top right": ("...XXXX\n...OXOO\n...OOXO\n...XXOX\n...OXOX\nX..XOOO", 1.0),
}
DRAW = "XOXXOOX\nOXXOXXO\nOOOXXOX\nOXOOXXO\nXOOXOOX\nXOXOXXO"


def test_keeps_the_protocol() -> None:
    report = check_game(GAME, games=40)
    assert report.max_branching == COLUMNS


@pytest.mark.parametrize("depth", range(5 if JIT_DISABLED else 8))
def test_perft(depth: int) -> None:
    assert perft(Position(GAME), depth) == PERFT[depth]


@pytest.mark.full
def test_perft_of_eight_plies() -> None:
    assert perft(Position(GAME), 8) == PERFT[8]


@pytest.mark.parametrize("moves", ["4", "44444", "1 2 1 2 1 2", "1234567654321"])
def test_perft_equals_the_naive_count(moves: str) -> None:
    position = Position(GAME)
    position.play_text(" ".join(moves.replace(" ", "")))
    assert perft(position, 3) == naive_perft(tuple(position.moves_made), 3)


def test_agrees_with_openspiel() -> None:
    assert crosscheck("connect4", "connect_four", positions=1500) >= 1500


@pytest.mark.full
def test_agrees_with_openspiel_at_length() -> None:
    assert crosscheck("connect4", "connect_four", positions=20_000, seed=2) >= 20_000


def test_agrees_with_the_naive_twin() -> None:
    rng = np.random.default_rng(1)
    diagrams: dict[int, str] = {}
    for _ in range(10 if JIT_DISABLED else 50):
        position, twin = Position(GAME), NaiveConnectFour()
        while True:
            assert position.legal_moves == twin.legal_moves()
            assert str(position) == f"{twin.diagram()}\n1234567"
            assert diagrams.setdefault(position.key, str(position)) == str(position)
            if position.is_over:
                assert position.reward == twin.reward()
                break
            move = int(rng.choice(position.legal_moves))
            position.play(move)
            twin.play(move)


def test_key_does_not_depend_on_the_order_of_moves() -> None:
    one, other = Position(GAME), Position(GAME)
    one.play_text("1 2 3 4")
    other.play_text("3 4 1 2")
    assert one.key == other.key and one.state.tobytes() == other.state.tobytes()


@pytest.mark.parametrize("name", FOURS)
def test_four_in_a_row_ends_the_game(name: str) -> None:
    diagram, reward = FOURS[name]
    position = Position(GAME, GAME.read_diagram(diagram))
    assert position.is_over and position.reward == reward
    assert str(position) == f"{diagram}\n1234567"
    assert GAME.read_diagram(str(position)).tobytes() == position.state.tobytes()


def test_line_does_not_run_from_one_column_into_the_next() -> None:
    tower = "X......\nX......\nX......\nO......\nO......\nOX....."
    assert not Position(GAME, GAME.read_diagram(tower)).is_over


def test_last_move_completes_the_row() -> None:
    position = Position(GAME)
    position.play_text("1 1 2 2 3 3")
    assert not position.is_over
    position.play_text("4")
    assert position.is_over and position.reward == 1.0
    assert GAME.describe_result(position.state, position.reward) == "first player wins"
    with pytest.raises(PositionError, match="the game is over"):
        position.play_text("5")


def test_full_board_without_a_line_is_a_draw() -> None:
    position = Position(GAME, GAME.read_diagram(DRAW))
    assert position.is_over and position.reward == 0.5
    assert GAME.describe_result(position.state, position.reward) == "draw"


def test_full_column_is_not_playable() -> None:
    position = Position(GAME)
    position.play_text("1 1 1 1 1 1")
    assert position.legal_moves == [1, 2, 3, 4, 5, 6]
    with pytest.raises(PositionError, match="move 7, '1': it is not legal"):
        position.play_text("1")


@pytest.mark.parametrize(
    ("diagram", "problem"),
    [
        (EMPTY_ROW * 5, "six rows of seven"),
        (EMPTY_ROW * 5 + "1234567", "six rows of seven"),
        (EMPTY_ROW * 5 + "...Z...", "six rows of seven"),
        (EMPTY_ROW * 4 + "...X...\n.......", "column 4 floats"),
        (EMPTY_ROW * 5 + "...XX..", "2 X and 0 O cannot arise"),
        (EMPTY_ROW * 5 + "...O...", "0 X and 1 O cannot arise"),
        (EMPTY_ROW * 4 + "OOOO...\nXXXX...", "X has four in a row but the other side moved last"),
    ],
)
def test_bad_diagrams_are_refused(diagram: str, problem: str) -> None:
    with pytest.raises(PositionError, match=problem):
        GAME.read_diagram(diagram)


@pytest.mark.parametrize("text", ["0", "8", "44", "a", ""])
def test_bad_moves_are_refused(text: str) -> None:
    with pytest.raises(PositionError, match="give a column 1-7"):
        GAME.parse_move(text)


def test_playouts_are_legal_games() -> None:
    playouts = Playouts(GAME)
    for _ in range(30):
        playouts.check_against_replay()
    middle = Position(GAME)
    middle.play_text("4 4 4 5 1 1 1 1")  # the second player to move next but one
    for _ in range(10):
        playouts.check_against_replay(middle)
    finished = Position(GAME, GAME.read_diagram(FOURS["row"][0]))
    assert playouts.run(finished)[0] == []


def test_playouts_choose_among_open_columns_uniformly() -> None:
    start = Position(GAME)
    start.play_text("1 1 1 1 1 1 4 4 4 4 4 4")
    playouts = Playouts(GAME)
    first_moves = [playouts.run(start)[0][0] for _ in range(500 if JIT_DISABLED else 5000)]
    assert_uniform([first_moves.count(column) for column in (1, 2, 4, 5, 6)])
    assert len(first_moves) == sum(first_moves.count(column) for column in (1, 2, 4, 5, 6))


def weights_of(position: Position) -> list[float]:
    moves = np.array(position.legal_moves, dtype=np.int32)
    weights = np.zeros(len(moves), dtype=np.float32)
    ask_priors(GAME, position.state, moves, len(moves), weights)
    return weights.tolist()


def test_priors_prefer_the_centre() -> None:
    assert weights_of(Position(GAME)) == [3, 4, 5, 7, 5, 4, 3]


def test_priors_see_wins_and_threats() -> None:
    position = Position(GAME)
    position.play_text("1 7 1 7 1 7")  # three each: the first player wins in column 1, must else block column 7
    weights = weights_of(position)
    assert weights.index(max(weights)) == 0 and sorted(weights)[-2] == weights[6]


def test_table_of_lines_is_right() -> None:
    lines = [
        [(column + i * dx, row + i * dy) for i in range(4)]
        for column in range(COLUMNS)
        for row in range(ROWS)
        for dx, dy in ((1, 0), (0, 1), (1, 1), (1, -1))
        if column + 3 * dx < COLUMNS and 0 <= row + 3 * dy < ROWS
    ]
    assert len(lines) == 69
    for column in range(COLUMNS):
        for row in range(ROWS):
            assert LINES_THROUGH[column, row] == sum((column, row) in line for line in lines)
