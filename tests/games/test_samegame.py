"""SameGame against a naive twin, drawn boards and sums by hand."""

from dataclasses import replace
from random import Random

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.naive.samegame import Cell, NaiveSameGame, score_bounds
from tests.naive.statistics import Playouts, assert_mean, assert_uniform
from treespan.core.errors import OptionError, PositionError
from treespan.core.jit import JIT_DISABLED
from treespan.core.rng import generator
from treespan.games.check import ask_priors, check_game
from treespan.games.position import Position
from treespan.games.registry import make_game
from treespan.games.rules import random_playout
from treespan.games.samegame import SameGame

STANDARD = SameGame()
SMALL = SameGame(width=6, height=7, colors=3)  # one size for most tests: each size is compiled apart
DENSE = SameGame(width=6, height=7, colors=3, seed=9, tabu=True)


def board(*rows: str) -> str:
    """The rows at the bottom left of a small board."""
    return "\n".join(row.ljust(6, ".") for row in ("",) * (7 - len(rows)) + rows)


def position_of(*rows: str) -> Position:
    return Position(SMALL, SMALL.read_diagram(board(*rows)))


def rows_of(position: Position) -> str:
    return "\n".join(str(position).splitlines()[:-2])


@pytest.mark.parametrize("game", [SMALL, DENSE, STANDARD], ids=SameGame.spec)
def test_keeps_the_protocol(game: SameGame) -> None:
    report = check_game(game, games=10)
    assert report.distinct_keys > report.positions / 2


def compare_random_games(game: SameGame, positions: int, seed: int) -> None:
    """Random games side by side with the twin: groups, boards, scores, bounds and rewards."""
    rng = np.random.default_rng(seed)
    compared = 0
    while compared < positions:
        start = replace(game, seed=int(rng.integers(2**31)))
        position = Position(start)
        twin = NaiveSameGame(rows_of(position))
        low, high = score_bounds(rows_of(position))
        assert (int(position.state.low), int(position.state.high)) == (low, high)
        while True:
            compared += 1
            groups = {cell_number(start, cell): cell for cell in twin.groups()}
            assert position.legal_moves == sorted(groups)
            assert rows_of(position) == twin.diagram()
            if position.is_over:
                assert start.score(position.state) == twin.score()
                assert position.reward == pytest.approx((twin.score() - low) / (high - low))
                break
            assert start.score(position.state) == twin.points
            move = int(rng.choice(position.legal_moves))
            position.play(move)
            twin.play(groups[move])


def cell_number(game: SameGame, cell: Cell) -> int:
    column, row = cell
    return game.parse_move("abcdefghijklmnopqrst"[column] + str(row + 1))


def test_agrees_with_the_naive_twin() -> None:
    compare_random_games(SMALL, positions=200 if JIT_DISABLED else 800, seed=1)
    compare_random_games(STANDARD, positions=60 if JIT_DISABLED else 200, seed=2)


@pytest.mark.full
@pytest.mark.parametrize("size", [(2, 20, 3), (20, 2, 3), (7, 6, 2), (15, 15, 5), (20, 20, 9)], ids=str)
def test_agrees_with_the_naive_twin_at_length(size: tuple[int, int, int]) -> None:
    width, height, colors = size
    game = SameGame(width=width, height=height, colors=colors)
    compare_random_games(game, positions=200 if JIT_DISABLED else 2500, seed=3)


@settings(max_examples=20 if JIT_DISABLED else 150)
@given(st.lists(st.text("12", min_size=6, max_size=6), min_size=7, max_size=7), st.randoms(use_true_random=False))
def test_boards_of_two_colours_agree_with_the_naive_twin(rows: list[str], chooser: Random) -> None:
    """Two colours make large groups with bays and holes, which the fast outline must follow."""
    position, twin = position_of(*rows), NaiveSameGame("\n".join(rows))
    while twin.groups():
        groups = {cell_number(SMALL, cell): cell for cell in twin.groups()}
        assert position.legal_moves == sorted(groups)
        move = chooser.choice(sorted(groups))
        position.play(move)
        twin.play(groups[move])
        assert rows_of(position) == twin.diagram()
    assert position.is_over and SMALL.score(position.state) == twin.score()


def test_blocks_fall_and_columns_close() -> None:
    position = position_of(
        "13",
        "222",
        "2132",
        "2133",
    )
    assert [SMALL.move_name(move) for move in position.legal_moves] == ["a1", "b1", "c1"]
    position.play_text("a1")  # five blocks of 2
    assert rows_of(position) == board(".3", ".132", "1133") and int(position.state.score) == 9
    position.play_text("a1")  # three blocks of 1: column a is empty now
    assert rows_of(position) == board(".32", "333") and int(position.state.score) == 10
    position.play_text("a1")  # four blocks of 3: a single 2 is left
    assert rows_of(position) == board("2") and int(position.state.score) == 14
    assert position.is_over and SMALL.score(position.state) == 13


def test_column_in_the_middle_closes_from_the_right() -> None:
    position = position_of("3", "1212", "1211")
    position.play_text("b1")
    assert rows_of(position) == board("3", "112", "111")


@pytest.mark.parametrize(
    ("rows", "moves"),
    [
        (["121", "121", "111"], ["a1", "b2"]),  # a bay: one group, though it has two low ends
        (["111", "121", "121"], ["a1", "b1"]),
        (["2111", "1131", "3111"], ["a2"]),  # a hole, and an end that is lower but further right
        (["111", "221", "111"], ["a1", "a2"]),  # open to the left: the lower arm comes first
        (["12", "21"], []),
        (["1", "1"], ["a1"]),
        (["11"], ["a1"]),
        (["1"], []),
    ],
)
def test_group_is_named_by_its_leftmost_lowest_block(rows: list[str], moves: list[str]) -> None:
    position = position_of(*rows)
    assert [SMALL.move_name(move) for move in position.legal_moves] == moves


def test_score_of_a_cleared_board() -> None:
    position = position_of("22", "1112", "1112")
    position.play_text("a1")
    assert int(position.state.score) == 16 and SMALL.score(position.state) == 16
    position.play_text("a1")
    assert position.is_over and rows_of(position) == board()
    assert SMALL.score(position.state) == 16 + 4 + 1000
    assert position.reward == 1.0  # every colour went in one move
    assert SMALL.describe_result(position.state, position.reward) == "score 1020"


def test_penalty_for_blocks_that_are_left() -> None:
    position = position_of("1213", "2121")
    assert position.is_over
    # 4 ones cost 4, 3 twos and the single three 1 each
    assert SMALL.score(position.state) == -6
    assert position.reward == 0.0  # nothing was removed


def test_key_knows_the_score() -> None:
    rows = ["3", "1", "1", "2", "2", "2"]
    one, other = position_of(*rows), position_of(*rows)
    one.play_text("a1 a1")
    other.play_text("a4 a1")
    assert one.key == other.key and one.state.tobytes() == other.state.tobytes()
    poorer = Position(SMALL, SMALL.read_diagram(str(one).replace("score 1", "score 0")))
    assert poorer.key != one.key and poorer.reward < one.reward


def test_seed_names_the_board() -> None:
    first, same, other = (SameGame(seed=seed).new_state() for seed in (4, 4, 5))
    assert (first.board == same.board).all() and (first.board != other.board).any()
    assert first.left.sum() == 225


def test_colours_are_equally_frequent() -> None:
    cells = np.concatenate([SameGame(width=20, height=20, colors=7, seed=seed).new_state().board for seed in range(30)])
    assert_uniform([int((cells == color).sum()) for color in range(1, 8)])


@pytest.mark.parametrize("option", ["width=1", "height=21", "colors=1", "colors=10"])
def test_bad_options_are_refused(option: str) -> None:
    with pytest.raises(OptionError, match=f"{option} is out of range"):
        make_game(f"samegame:{option}")


@pytest.mark.parametrize("text", ["", "a", "g1", "a0", "a8", "1a", "aa", "a-1"])
def test_bad_moves_are_refused(text: str) -> None:
    with pytest.raises(PositionError, match="is not a move; name the group's leftmost lowest cell, a1-f7"):
        SMALL.parse_move(text)


def test_other_blocks_of_a_group_are_no_moves() -> None:
    with pytest.raises(PositionError, match="'b1': it is not legal"):
        position_of("11").play_text("b1")


@pytest.mark.parametrize(
    ("diagram", "problem"),
    [
        ("111111", "begins with 7 rows of 6"),
        (board("4"), "of '.' and 1-3"),
        (board("1", "."), "column a floats"),
        (board(".1"), "an empty column lies left"),
        (board("11") + "\nscore many", "cannot read 'score many'"),
        (board("11") + "\npoints 3", "cannot read 'points 3'"),
        (board("11") + "\nrange 5 5", "cannot read 'range 5 5'"),
        (board("11") + "\nscore 4\nrange 0 1000", "range 0 1000 is too narrow .*give 4 1004"),
        (board("11") + "\nscore 99999999999", "too wide"),
    ],
)
def test_bad_diagrams_are_refused(diagram: str, problem: str) -> None:
    with pytest.raises(PositionError, match=problem):
        SMALL.read_diagram(diagram)


def test_diagram_keeps_score_and_range() -> None:
    position = Position(SMALL)
    for _ in range(3):
        position.play(position.legal_moves[0])
    again = SMALL.read_diagram(str(position))
    assert again.tobytes() == position.state.tobytes()


def weights_of(position: Position) -> list[float]:
    moves = np.array(position.legal_moves, dtype=np.int32)
    weights = np.zeros(len(moves), dtype=np.float32)
    ask_priors(position.game, position.state, moves, len(moves), weights)
    return weights.tolist()


def test_priors_are_sizes_with_what_is_enclosed() -> None:
    assert weights_of(position_of("21", "2112", "3112")) == [2, 5, 2]
    assert weights_of(position_of("111", "121", "111")) == [9]


@pytest.mark.parametrize("game", [SMALL, DENSE, STANDARD], ids=SameGame.spec)
def test_playouts_are_legal_games(game: SameGame) -> None:
    playouts = Playouts(game)
    for _ in range(5 if JIT_DISABLED else 20):
        playouts.check_against_replay()


def test_playouts_choose_groups_uniformly() -> None:
    playouts, start = Playouts(SMALL), Position(SMALL)
    runs = [playouts.run() for _ in range(300 if JIT_DISABLED else 4000)]
    first_moves = [trace[0] for trace, _, _ in runs]
    assert_uniform([first_moves.count(move) for move in start.legal_moves])
    # What comes later has the same mean as under the generic random playout.
    trace, moves = playouts.trace, playouts.moves
    random, rewards = generator(2), []
    for _ in range(len(runs)):
        state = start.copy().state
        random_playout(SMALL)(state, random, trace, moves)
        rewards.append(float(SMALL.rules["reward"](state)))
    differences = np.array([reward for _, _, reward in runs]) - np.array(rewards)
    assert_mean(differences.tolist(), 0.0)


def test_few_groups_among_many_blocks_are_found() -> None:
    start = position_of("121212", "212121", "121212", "212121", "121212", "212121", "333312")
    playouts = Playouts(SMALL)
    assert all(playouts.run(start)[0][0] == start.legal_moves[0] for _ in range(50))


def test_tabu_playouts_spare_the_most_frequent_colour() -> None:
    playouts = Playouts(DENSE)
    start = Position(DENSE)
    spared = int(np.argmax(start.state.left))
    for _ in range(10):
        position = start.copy()
        for move in playouts.run()[0]:
            colors = {int(position.state.board[legal]) for legal in position.legal_moves}
            assert int(position.state.board[move]) != spared or colors == {spared}
            position.play(move)
