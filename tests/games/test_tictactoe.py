"""Tic-tac-toe against OpenSpiel, known counts and its known value."""

from collections.abc import Iterator

import pytest

from tests.naive.statistics import Playouts
from tests.support.openspiel import crosscheck
from treespan.core.errors import PositionError
from treespan.core.jit import JIT_DISABLED
from treespan.games.check import check_game
from treespan.games.perft import perft
from treespan.games.position import Position
from treespan.games.tictactoe import TicTacToe

LINES = [[0, 1, 2], [3, 4, 5], [6, 7, 8], [0, 3, 6], [1, 4, 7], [2, 5, 8], [0, 4, 8], [2, 4, 6]]
PERFT = [1, 9, 72, 504, 3024, 15120, 54720, 148176, 200448, 127872]
REACHABLE_POSITIONS = 5478
GAME = TicTacToe()


def test_keeps_the_protocol() -> None:
    report = check_game(GAME, games=100)
    assert report.max_branching == 9


@pytest.mark.parametrize("depth", range(6 if JIT_DISABLED else 10))
def test_perft(depth: int) -> None:
    assert perft(Position(GAME), depth) == PERFT[depth]


def test_agrees_with_openspiel() -> None:
    assert crosscheck("tictactoe", "tic_tac_toe", positions=1500) >= 1500


@pytest.mark.full
def test_agrees_with_openspiel_at_length() -> None:
    assert crosscheck("tictactoe", "tic_tac_toe", positions=20_000, seed=2) >= 20_000


def solve(position: Position, values: dict[int, float]) -> float:
    if position.key not in values:
        if position.is_over:
            values[position.key] = position.reward
        else:
            children = []
            for move in position.legal_moves:
                child = position.copy()
                child.play(move)
                children.append(solve(child, values))
            values[position.key] = max(children) if int(position.state.to_play) == 0 else min(children)
    return values[position.key]


def test_perfect_play_is_a_draw_and_every_position_has_its_own_key() -> None:
    values: dict[int, float] = {}
    assert solve(Position(GAME), values) == 0.5
    assert len(values) == REACHABLE_POSITIONS


@pytest.mark.parametrize("line", LINES)
@pytest.mark.parametrize("symbol", ["X", "O"])
def test_every_line_wins(line: list[int], symbol: str) -> None:
    other = "O" if symbol == "X" else "X"
    free = [cell for cell in range(9) if cell not in line]
    cells = [symbol if cell in line else "." for cell in range(9)]
    # The other side gets as many stones as the order of moves asks for, not in a line itself.
    for cell in next(_stones_without_a_line(free, 2 if symbol == "X" else 3)):
        cells[cell] = other
    diagram = "\n".join("".join(cells[row : row + 3]) for row in (0, 3, 6))
    position = Position(GAME, GAME.read_diagram(diagram))
    assert position.is_over and position.reward == (1.0 if symbol == "X" else 0.0)
    assert str(position) == diagram


def _stones_without_a_line(free: list[int], count: int) -> Iterator[list[int]]:
    for first in range(len(free)):
        for second in range(first + 1, len(free)):
            if count == 2:
                yield [free[first], free[second]]
            for third in range(second + 1, len(free) if count == 3 else 0):
                chosen = [free[first], free[second], free[third]]
                if chosen not in LINES:
                    yield chosen


def test_moves_are_named_by_column_and_row() -> None:
    position = Position(GAME)
    position.play_text("a3, c1 b2")
    assert str(position) == "X..\n.X.\n..O"
    assert [GAME.move_name(move) for move in position.moves_made] == ["a3", "c1", "b2"]


@pytest.mark.parametrize("text", ["", "b", "b4", "d1", "bb", "b22"])
def test_bad_moves_are_refused(text: str) -> None:
    with pytest.raises(PositionError, match="is not a move"):
        GAME.parse_move(text)


@pytest.mark.parametrize(
    ("diagram", "problem"),
    [
        ("...\n...", "three rows of three"),
        ("...\n.Z.\n...", "three rows of three"),
        ("XX.\n...\n...", "2 X and 0 O cannot arise"),
        ("O..\n...\n...", "0 X and 1 O cannot arise"),
    ],
)
def test_bad_diagrams_are_refused(diagram: str, problem: str) -> None:
    with pytest.raises(PositionError, match=problem):
        GAME.read_diagram(diagram)


def test_playouts_are_legal_games() -> None:
    playouts = Playouts(GAME)
    for _ in range(50):
        playouts.check_against_replay()
