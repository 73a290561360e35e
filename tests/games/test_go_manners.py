"""What Go adds to an engine: when to pass, dead stones, komi, either player's turn, SGF."""

import numpy as np
import pytest

from tests.support.go_games import at
from treespan.games.go import Go
from treespan.games.go.manners import GoManners
from treespan.games.go.sgf import read_sgf
from treespan.games.manners import Status
from treespan.games.position import Position

PASS = 0

# The end of a game: Black has 10 points, White 15; both have useful moves in the other's territory.
SETTLED = ". X O . . / X X O O O / . X O . . / X X O O O / . X O . ."
# Every empty point is an eye.
FULL = ". X O . O / X X O O O / . X O . O / X X O O O / . X O O ."
# Black keeps 17 points for good, whatever he does.
DIVIDED = ". X . X O / X X X X O / . X X O O / X X O O . / . X O . O"


def manners_of(position: Position) -> GoManners:
    manners = position.game.manners()
    assert isinstance(manners, GoManners)
    return manners


def status(margin: float, board_margin: float) -> Status:
    """Only the margins matter to a choice."""
    return Status(np.zeros(0), (), margin, board_margin, "")


def never() -> Status:
    raise AssertionError("nobody needs the status here")


# Whose turn it is


def test_either_player_may_move_and_the_ko_is_gone() -> None:
    position = at(". X O . ./X O . O ./. X O . ./. . . . ./. . . . .", "black to play, ko C4, komi 0.5, passes 1")
    manners, before = manners_of(position), str(position)
    assert manners.turned(position, 0) is position
    turned = manners.turned(position, 1)
    assert (int(turned.state.to_play), int(turned.state.passes), int(turned.state.ko)) == (1, 0, 0)
    assert str(position) == before and manners.turned(turned, 1) is turned


def test_a_game_that_both_passed_in_goes_on() -> None:
    position = at(SETTLED, "black to play, passes 2")
    turned = manners_of(position).turned(position, 0)
    assert position.is_over and not turned.is_over and turned.history == position.history


# Passing. Margins are Black's; White is to move.

AHEAD, BEHIND = (-3.5, -1.5), (-3.5, 1.5)


@pytest.mark.parametrize(
    ("may_pass", "margins", "move"),
    [
        (True, AHEAD, PASS),
        (True, BEHIND, None),  # if dead stones are taken off, White wins; else Black does
        (False, None, None),
    ],
)
def test_a_pass_without_a_search(may_pass: bool, margins: tuple[float, float] | None, move: int | None) -> None:
    position = at(SETTLED, "white to play, passes 1, komi 0.5")
    ask = (lambda: status(*margins)) if margins else never
    assert manners_of(position).obvious_move(position, may_pass, ask) == move


@pytest.mark.parametrize(("komi", "move"), [(2.5, PASS), (9.5, None)])
def test_a_first_pass_by_points_that_nobody_can_take(komi: float, move: int | None) -> None:
    position = at(DIVIDED, f"black to play, komi {komi}")
    ask = (lambda: status(1.0, 1.0)) if move is not None else never
    assert manners_of(position).obvious_move(position, True, ask) == move


@pytest.mark.parametrize(
    ("board", "passes", "may_pass", "banned"),
    [
        (SETTLED, 0, True, set()),
        (SETTLED, 1, True, {PASS}),  # it would end the game
        (SETTLED, 0, False, {PASS}),
        (FULL, 1, True, set()),  # there is nothing else to do
        (FULL, 0, False, set()),
    ],
)
def test_when_a_search_must_not_pass(board: str, passes: int, may_pass: bool, banned: set[int]) -> None:
    position = at(board, f"black to play, passes {passes}")
    assert manners_of(position).banned_moves(position, may_pass) == banned


def test_a_pass_that_loses_is_a_mistake() -> None:
    position = at(SETTLED, "white to play")
    manners = manners_of(position)
    assert manners.is_mistake(position, PASS, lambda: status(*BEHIND))
    assert not manners.is_mistake(position, PASS, lambda: status(*AHEAD))
    assert not manners.is_mistake(position, position.game.parse_move("D1"), never)
    full = at(FULL, "white to play")
    assert not manners.is_mistake(full, PASS, lambda: status(*BEHIND))


def test_a_root_considers_a_pass_and_all_that_fills_no_eye() -> None:
    position = at(FULL, "white to play")
    assert manners_of(position).considered_moves(position) == {PASS}
    empty = Position(Go(size=5))
    assert manners_of(empty).considered_moves(empty) == set(empty.legal_moves)


# The end of a game, print, files


def test_the_margin_without_dead_stones_decides() -> None:
    position = at(SETTLED, "black to play, passes 2, komi 0.5")
    manners = manners_of(position)
    found = manners.status(position.state, 60, 1)
    assert manners.outcome(position, lambda: found) == (-5.5, "W+5.5")


@pytest.mark.parametrize(
    ("loser", "reason", "result"),
    [(0, "resignation", "W+R"), (1, "resignation", "B+R"), (0, "time", "W+T"), (1, "illegal move", "B+F")],
)
def test_a_lost_game_has_a_result_as_in_sgf(loser: int, reason: str, result: str) -> None:
    position = Position(Go(size=5))
    assert manners_of(position).lost_result(position.state, loser, reason) == result


def test_a_changed_komi_counts_in_all_positions() -> None:
    positions = [Position(Go(size=5, komi=0.5)) for _ in range(2)]
    game = manners_of(positions[0]).change_komi(positions, 6.5)
    assert game == Go(size=5, komi=6.5)
    assert all(position.game == game and float(position.state.komi) == 6.5 for position in positions)


def test_the_last_move_stands_in_brackets() -> None:
    position = Position(Go(size=5))
    assert manners_of(position).marked(position) == str(position)
    position.play_text("C3")
    assert manners_of(position).marked(position).splitlines()[3] == " 3 . .(X). . 3"
    position.play_text("pass")
    assert manners_of(position).marked(position) == str(position)


def test_a_game_becomes_a_file() -> None:
    game = Go(size=5, komi=1.5)
    moves = [(0, game.parse_move("C3")), (1, PASS)]
    document = read_sgf(game.manners().as_file(game.new_state(), moves, ("you", "treespan"), "B+R"))
    assert document.game == game and document.moves == moves
    root = document.document.get_root()
    assert [root.get(name) for name in ("PB", "PW", "RE")] == ["you", "treespan", "B+R"]
    unfinished = read_sgf(game.manners().as_file(game.new_state(), moves, ("you", "treespan")))
    assert not unfinished.document.get_root().has_property("RE")
