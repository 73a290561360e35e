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


def test_a_pass_leaves_no_mark_and_star_points_go_under_stones() -> None:
    positions = [Position(Go(size=7))]
    for move in ("C5", "pass"):
        positions.append(positions[-1].copy())
        positions[-1].play_text(move)
    boards = [str(manners_of(position).board(positions[: i + 1])) for i, position in enumerate(positions)]
    assert [board.splitlines()[3] for board in boards] == [
        " 5 . . + . + . . 5",
        " 5 . .(X). + . . 5",
        " 5 . . X . + . . 5",
    ]


@pytest.mark.parametrize(("size", "points"), [(5, 0), (7, 5), (8, 4), (9, 5), (13, 5), (19, 9)])
def test_star_points(size: int, points: int) -> None:
    board = str(manners_of(position := Position(Go(size=size))).board([position]))
    assert board.count("+") == points
    assert size != 19 or board.splitlines()[4][:11] == "16 . . . + "


def test_captures_are_counted_over_the_game() -> None:
    positions = [at(". X O . ./X . X O ./. X O . ./. . . . ./. . . . .", "white to play, komi 0.5")]
    for move in ("B4", "A1", "E1", "C4"):  # White takes a stone, and Black takes it back
        positions.append(positions[-1].copy())
        positions[-1].play_text(move)
    manners = manners_of(positions[-1])
    own = status(3.0, 3.0)
    assert manners.facts(positions[:1], lambda: own)[0] == "captures: Black 0, White 0"
    facts = [manners.facts(positions[:count], lambda: own) for count in (2, 5)]
    assert facts[0][:3] == ["captures: Black 0, White 1", "komi 0.5", "ko at C4"]
    assert facts[1][:3] == ["captures: Black 1, White 1", "komi 0.5", "ko at B4"]


@pytest.mark.parametrize(
    ("owners", "words"), [([1.0] * 25, "about B+24"), ([0.02] * 25, "even"), ([-1.0] * 25, "about W+26")]
)
def test_the_score_by_playouts(owners: list[float], words: str) -> None:
    position = Position(Go(size=5, komi=0.5))
    found = Status(np.array(owners), (), 0.0, 0.0, "")
    assert manners_of(position).facts([position], lambda: found)[-1] == f"score by playouts: {words}"


def test_an_illegal_move_has_a_reason() -> None:
    ko = at(". X O . ./X O . O ./. X O . ./. . . . ./. . . . .", "black to play, ko C4")
    eye = at(". X . . ./X X . . ./. . . . ./. . . . ./. . . . .", "white to play")
    over = at(SETTLED, "black to play, passes 2")
    for position, move, reason in (
        (ko, "B5", "a stone stands there"),
        (ko, "C4", "ko: that stone may be retaken after another move"),
        (eye, "A5", "the stone would have no liberty"),
        (over, "A1", "both have passed"),
    ):
        number = position.game.parse_move(move)
        assert number not in position.legal_moves
        assert manners_of(position).why_illegal(position, number) == reason


def test_a_board_that_was_there_before_is_named() -> None:
    position = Position(Go(size=5, superko=True))
    later = position.copy()
    later.play_text("C3")
    position.history.append(later.history[-1])
    number = position.game.parse_move("C3")
    assert number not in position.legal_moves
    assert manners_of(position).why_illegal(position, number).startswith("superko: ")


def test_a_game_becomes_a_file() -> None:
    game = Go(size=5, komi=1.5)
    moves = [(0, game.parse_move("C3")), (1, PASS)]
    document = read_sgf(game.manners().as_file(game.new_state(), moves, ("you", "treespan"), "B+R"))
    assert document.game == game and document.moves == moves
    root = document.document.get_root()
    assert [root.get(name) for name in ("PB", "PW", "RE")] == ["you", "treespan", "B+R"]
    unfinished = read_sgf(game.manners().as_file(game.new_state(), moves, ("you", "treespan")))
    assert not unfinished.document.get_root().has_property("RE")


def test_a_file_has_a_title_and_notes() -> None:
    game = Go(size=5)
    data = game.manners().as_file(game.new_state(), [], ("A", "B"), title="game 3", notes=["slow", "A claims B+1"])
    root = read_sgf(data).document.get_root()
    assert root.get("GN") == "game 3" and root.get("C") == "slow\nA claims B+1"


# Programs that speak GTP


def test_a_program_is_told_size_komi_and_handicap() -> None:
    game = Go(size=9, komi=0.5, handicap=2)
    commands = game.manners().gtp_setup(game.new_state())
    assert commands[:3] == ["boardsize 9", "clear_board", "komi 0.5"]
    assert sorted(commands[3:]) == ["play black C3", "play black G7"]


def test_a_programs_score_is_written_as_ours() -> None:
    manners = Go(size=5).manners()
    assert (manners.read_score("b+4.0"), manners.read_score("Jigo"), manners.read_score("what?")) == ("B+4", "0", None)
