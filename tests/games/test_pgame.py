"""P-game against its definition: whole trees written out, and the statistics of values and playouts."""

import math

import numpy as np
import pytest

from tests.naive.pgame import StoredNode, all_nodes, minimax, store_tree
from tests.naive.statistics import Playouts, assert_mean, assert_uniform
from treespan.core.jit import JIT_DISABLED
from treespan.games.check import check_game
from treespan.games.perft import perft
from treespan.games.pgame import PGame
from treespan.games.position import Position
from treespan.games.rules import NATURES_MOVE

SAMPLES = 2_000 if JIT_DISABLED else 20_000


@pytest.mark.parametrize("options", [{}, {"branching": 2, "depth": 7, "seed": 5}, {"branching": 100, "depth": 20}])
def test_keeps_the_protocol(options: dict[str, int]) -> None:
    check_game(PGame(**options), games=2 if not options else 20)


@pytest.fixture(scope="module", params=[(2, 6, 1), (3, 5, 2), (8, 3, 3), (40, 2, 4)], ids=str)
def tree(request: pytest.FixtureRequest) -> StoredNode:
    branching, depth, seed = request.param
    return store_tree(PGame(branching=branching, depth=depth, seed=seed))


def test_one_branch_of_every_node_has_the_value_0(tree: StoredNode) -> None:
    for node in all_nodes(tree):
        assert node.optimal is None or node.values[node.optimal] == 0


def test_values_are_negative_for_the_first_player_and_positive_for_the_second(tree: StoredNode) -> None:
    for node in all_nodes(tree):
        low, high = (-255, 0) if node.plies % 2 == 0 else (0, 255)
        assert all(low <= value <= high for value in node.values)


def test_minimax_value_is_0(tree: StoredNode) -> None:
    assert minimax(tree) == 0


def test_every_node_has_its_own_key(tree: StoredNode) -> None:
    nodes = all_nodes(tree)
    assert len({node.key for node in nodes}) == len(nodes)


def test_same_seed_same_tree() -> None:
    options = {"branching": 4, "depth": 3}
    one, same, other = (store_tree(PGame(**options, seed=seed)) for seed in (7, 7, 8))
    assert one == same
    assert one != other
    assert [node.values for node in all_nodes(one)] != [node.values for node in all_nodes(other)]


@pytest.mark.parametrize("depth", [1, 2, 9])
def test_optimal_moves_end_in_a_draw_at_the_depth_limit(depth: int) -> None:
    game = PGame(depth=depth)
    position = Position(game)
    while not position.is_over:
        position.play(game.optimal_move(position.state))
    assert len(position.moves_made) == depth
    assert int(position.state.score) == 0 and position.reward == 0.5


def test_sign_of_the_score_decides() -> None:
    game = PGame(branching=16, depth=2)
    for first in range(16):
        for second in range(16):
            position = Position(game)
            position.play(first)
            position.play(second)
            score = int(position.state.score)
            assert position.is_over and position.reward == {1: 1.0, 0: 0.5, -1: 0.0}[int(np.sign(score))]


def test_perft_is_a_power() -> None:
    assert perft(Position(PGame(branching=5)), 4) == 5**4
    assert perft(Position(PGame(branching=5, depth=3)), 4) == 0


def root_branches(branching: int, seed: int) -> tuple[list[int], int]:
    """The values of the root's branches, and which of them is the zero branch."""
    game = PGame(branching=branching, seed=seed)
    states = game.new_states(1)
    values = []
    for move in range(branching):
        states[0] = game.new_state()
        game.rules["play"](states[0], np.int32(move))
        values.append(-int(states[0].score))
    return values, game.optimal_move(game.new_state())


def test_values_of_branches_are_uniform() -> None:
    values, zero_branch = root_branches(branching=SAMPLES, seed=1)
    del values[zero_branch]
    assert min(values) >= 0 and max(values) <= 255
    assert_uniform(np.bincount(np.array(values) // 4, minlength=64).tolist())
    assert_mean(values, 127.5)


def test_place_of_the_zero_branch_is_uniform() -> None:
    branching = 8
    places = [PGame(seed=seed).optimal_move(PGame(seed=seed).new_state()) for seed in range(SAMPLES // 10)]
    assert_uniform([places.count(branch) for branch in range(branching)])


def test_values_of_neighbouring_branches_do_not_correlate() -> None:
    values, _ = root_branches(branching=SAMPLES, seed=2)
    correlation = float(np.corrcoef(values[:-1], values[1:])[0, 1])
    assert abs(correlation) < 5 / math.sqrt(SAMPLES)


def test_value_of_a_branch_tells_nothing_about_the_best_reply() -> None:
    game = PGame(branching=4)
    pairs = []
    for first in range(4):
        for seed in range(SAMPLES // 40):
            game = PGame(branching=4, seed=seed)
            position = Position(game)
            if first != game.optimal_move(position.state):
                position.play(first)
                pairs.append((-int(position.state.score) // 64, game.optimal_move(position.state)))
    assert_uniform([pairs.count((value, reply)) for value in range(4) for reply in range(4)])


@pytest.mark.parametrize("wanted", [-128, 0, 200])
def test_virtual_playouts_win_as_the_sigmoid_says(wanted: int) -> None:
    position = Position(PGame())
    position.state.score = wanted
    playouts = Playouts(position.game)
    results = [playouts.run(position)[2] for _ in range(SAMPLES)]
    assert set(results) == {0.0, 1.0}
    assert_mean(results, 1 / (1 + math.exp(-wanted / 128)))


def test_virtual_playout_takes_one_ply_of_nobody_and_ends_in_its_result() -> None:
    trace, state, reward = Playouts(PGame()).run()
    assert trace == [NATURES_MOVE] and reward == float(state.result)


def test_playout_of_a_finished_game_changes_nothing() -> None:
    position = Position(PGame(depth=1))
    position.play(0)
    before = position.state.tobytes()
    trace, state, reward = Playouts(position.game).run(position)
    assert trace == [] and reward == position.reward and state.tobytes() == before


def test_position_can_be_written_and_read() -> None:
    game = PGame(branching=3)
    position = Position(game)
    position.play_text("1 2")
    again = Position(game, game.read_diagram(str(position)))
    assert again.key == position.key and again.legal_moves == position.legal_moves
