"""Sailing against a naive twin, sums by hand, and its exact solution."""

import math
from functools import cache
from typing import Any

import numpy as np
import pytest

from tests.naive.sailing import (
    COMPASS,
    NEXT_WINDS,
    TACKS,
    LakeSolution,
    NaiveBoat,
    degrees_to_wind,
    heading_values,
    solve_lake,
    tack_of,
)
from tests.naive.statistics import Playouts, assert_frequencies, assert_mean
from treespan.core.errors import OptionError, PositionError
from treespan.core.jit import JIT_DISABLED
from treespan.core.rng import generator
from treespan.games.check import ask_priors, check_game
from treespan.games.perft import perft
from treespan.games.position import Position
from treespan.games.rules import CHANCE, NATURES_MOVE
from treespan.games.sailing import GIVE_UP, LEG_COST, TACK, WIND_MOVE, Sailing, is_over

GAME = Sailing(size=6)


@pytest.mark.parametrize("options", [{"size": 2}, {"size": 3, "wind": "NE"}, {"size": 10, "wind": "SW"}, {"size": 40}])
def test_keeps_the_protocol(options: dict[str, Any]) -> None:
    check_game(Sailing(**options), games=20 if options["size"] < 40 else 2)


def play_nature(position: Position, random: np.ndarray) -> str:
    """Let the game's own rule choose the wind; give its name."""
    index = int(position.game.rules["chance"](position.state, random))
    move = position.legal_moves[index]
    position.play(move)
    return COMPASS[move - WIND_MOVE]


def compare_random_games(size: int, positions: int, seed: int) -> None:
    """Random races side by side with the twin: headings, winds, tack, cost, end and reward."""
    rng, random = np.random.default_rng(seed), generator(seed)
    compared = 0
    while compared < positions:
        wind = COMPASS[rng.integers(8)]
        game = Sailing(size=size, wind=wind)
        position, twin = Position(game), NaiveBoat(size, wind)
        limit = GIVE_UP * size
        while True:
            compared += 1
            assert (int(position.state.x), int(position.state.y)) == (twin.x, twin.y)
            assert TACKS[int(position.state.tack)] == twin.tack
            assert game.cost(position.state) == pytest.approx(twin.cost)
            assert position.is_over == (twin.has_arrived or twin.cost >= limit)
            if position.is_over:
                assert position.reward == pytest.approx(max(0.0, 1 - twin.cost / limit))
                break
            assert [game.move_name(move) for move in position.legal_moves] == twin.headings()
            heading = str(rng.choice(twin.headings()))
            position.play(game.parse_move(heading))
            twin = twin.sail(heading)
            if not position.is_over:
                assert position.is_chance
                assert [game.move_name(move)[5:] for move in position.legal_moves] == [
                    wind for wind in COMPASS if wind in NEXT_WINDS[twin.wind]
                ]
                twin = NaiveBoat(size, play_nature(position, random), twin.x, twin.y, twin.tack, twin.cost)


@pytest.mark.parametrize("size", [2, 3, 10])
def test_agrees_with_the_naive_twin(size: int) -> None:
    compare_random_games(size, positions=100 if JIT_DISABLED else 350, seed=size)


@pytest.mark.full
@pytest.mark.parametrize("size", [2, 4, 9, 40])
def test_agrees_with_the_naive_twin_at_length(size: int) -> None:
    compare_random_games(size, positions=1000 if JIT_DISABLED else 5000, seed=100 + size)


def test_tables_follow_the_angle_to_the_wind() -> None:
    costs = {45: 4, 90: 3, 135: 2, 180: 1}
    for h, heading in enumerate(COMPASS):
        for w, wind in enumerate(COMPASS):
            angle = degrees_to_wind(heading, wind)
            assert LEG_COST[(w - h) & 7] == (0 if angle == 0 else costs[abs(angle)])
            assert TACKS[TACK[(w - h) & 7]] == tack_of(heading, wind)


def test_north_wind_by_hand() -> None:
    """Wind from the north: N is forbidden, NE is up with the wind from the left, S runs away from it."""
    assert (tack_of("NE", "N"), tack_of("NW", "N"), tack_of("S", "N")) == ("port", "starboard", "none")
    position = Position(Sailing(size=3, wind="N"))
    assert [GAME.move_name(move) for move in position.legal_moves] == ["NE", "E"]
    position.play_text("NE")
    assert GAME.cost(position.state) == pytest.approx(4 * math.sqrt(2))
    position.play_text("wind=N NW")  # over to starboard
    assert GAME.cost(position.state) == pytest.approx(8 * math.sqrt(2) + 3)
    position.play_text("wind=NW E")  # down wind from the left: over to port
    assert GAME.cost(position.state) == pytest.approx(8 * math.sqrt(2) + 3 + 2 + 3)


def test_leg_before_the_wind_costs_no_delay_and_none_is_due_after_it() -> None:
    position = Position(Sailing(size=5, wind="W"))
    position.play_text("NE wind=SW NE wind=S")
    assert int(position.state.straight_cost) == 0 and int(position.state.diagonal_cost) == 2 + 1
    position.play_text("E")
    assert int(position.state.straight_cost) == 3  # cross wind; was port, then none, now starboard: no delay


def test_cost_of_a_leg_lies_in_the_range_of_the_paper() -> None:
    costs = [
        NaiveBoat(3, wind, 1, 1, tack).leg_cost(heading)
        for wind in COMPASS
        for heading in COMPASS
        for tack in TACKS
        if heading != wind
    ]
    assert min(costs) == 1 and max(costs) == pytest.approx(4 * math.sqrt(2) + 3)


def test_arrival_ends_the_race() -> None:
    position = Position(Sailing(size=2, wind="SW"))
    position.play_text("NE")
    assert position.is_over and position.reward == pytest.approx(1 - math.sqrt(2) / (GIVE_UP * 2))
    assert GAME.describe_result(position.state, position.reward) == "arrived at cost 1.41"


def test_costly_race_is_given_up() -> None:
    position = Position(Sailing(size=2, wind="N"))
    while not position.is_over:
        to_and_fro = "E" if int(position.state.x) == 0 else "W"
        position.play_text("wind=N" if position.is_chance else to_and_fro)
    assert position.reward == 0.0 and len(position.moves_made) < position.game.max_plies
    assert "gave up at cost" in GAME.describe_result(position.state, position.reward)


@pytest.mark.parametrize("wind", COMPASS)
def test_wind_turns_as_the_matrix_says(wind: str) -> None:
    position = Position(Sailing(size=4, wind=wind))
    position.play(position.legal_moves[0])
    random = generator(5)
    draws = [int(GAME.rules["chance"](position.state, random)) for _ in range(1000 if JIT_DISABLED else 10_000)]
    winds = [COMPASS[move - WIND_MOVE] for move in position.legal_moves]
    counts = [draws.count(index) for index in range(len(winds))]
    assert_frequencies(counts, [NEXT_WINDS[wind][name] for name in winds])


def test_rows_of_the_matrix_are_distributions() -> None:
    assert all(sum(row.values()) == pytest.approx(1.0) for row in NEXT_WINDS.values())


def test_perft_counts_winds_too() -> None:
    position = Position(Sailing(size=3, wind="N"))
    assert perft(position, 1) == 2  # NE, E
    assert perft(position, 2) == 2 * 3
    # The winds N, NE and NW each forbid one of 8 headings from the centre, and one of 5 from the southern shore.
    assert perft(position, 3) == (7 + 7 + 7) + (4 + 4 + 4)


def test_position_can_be_written_and_read() -> None:
    position = Position(Sailing(size=4, wind="SE"))
    position.play_text("NE wind=E N")
    assert str(position) == "...G\n.B..\n....\n....\nwind E\ntack starboard\ncost 3 + 3 sqrt2\nnext wind"
    again = position.game.read_diagram(str(position))
    assert again.tobytes() == position.state.tobytes()
    bare = Sailing(size=4, wind="SE").read_diagram("...G\n....\n....\nB...")
    assert bare.tobytes() == Position(Sailing(size=4, wind="SE")).state.tobytes()


def test_race_read_at_its_end_is_over() -> None:
    game = Sailing(size=2)
    assert Position(game, game.read_diagram(".B\n..\nnext wind")).is_over
    assert Position(game, game.read_diagram(".G\nB.\ncost 30 + 0 sqrt2")).is_over
    assert not Position(game, game.read_diagram(".G\nB.\ncost 29 + 0 sqrt2")).is_over


@pytest.mark.parametrize(
    ("diagram", "problem"),
    [
        ("..G\n...", "3 rows of 3"),
        ("..G\n.x.\nB..", "3 rows of 3"),
        ("..G\n...\n...", "the boat, 'B', once"),
        ("..G\n.B.\nB..", "the boat, 'B', once"),
        ("...\n..G\nB..", "the goal, 'G', is the north-east corner"),
        ("..B\n..G\n...", "the goal, 'G', is the north-east corner"),
        ("..G\n...\nB..\nwind NNE", "cannot read 'wind NNE'"),
        ("..G\n...\nB..\ntack left", "cannot read 'tack left'"),
        ("..G\n...\nB..\ncost 5.5", "cannot read 'cost 5.5'"),
        ("..G\n...\nB..\ncost -5 + 1 sqrt2", "cannot read 'cost -5"),
        ("..G\n...\nB..\nspeed 5", "cannot read 'speed 5'"),
    ],
)
def test_bad_diagrams_are_refused(diagram: str, problem: str) -> None:
    with pytest.raises(PositionError, match=problem):
        Sailing(size=3).read_diagram(diagram)


@pytest.mark.parametrize("text", ["", "north", "wind", "wind=", "wind=X", "NEE"])
def test_bad_moves_are_refused(text: str) -> None:
    with pytest.raises(PositionError, match="is not a move; give a heading"):
        GAME.parse_move(text)


def test_bad_options_are_refused() -> None:
    with pytest.raises(OptionError, match="size=41 is out of range"):
        Sailing(size=41)
    with pytest.raises(OptionError, match="did you mean 'NW'"):
        Sailing(wind="NNW")


def test_key_knows_cost_and_whose_turn_it_is() -> None:
    texts = (
        ".G\nB.\nwind N",
        ".G\nB.\nwind N\ncost 1 + 0 sqrt2",
        ".G\nB.\nwind N\ncost 0 + 1 sqrt2",
        ".G\nB.\nwind N\nnext wind",
        ".G\nB.\nwind S",
        ".G\nB.\nwind N\ntack port",
    )
    game = Sailing(size=2)
    assert len({Position(game, game.read_diagram(text)).key for text in texts}) == len(texts)


def test_priors_are_probabilities_for_nature_and_prefer_cheap_gains() -> None:
    position = Position(Sailing(size=3, wind="SW"))
    weights = np.zeros(8, dtype=np.float32)
    moves = np.array(position.legal_moves, dtype=np.int32)
    ask_priors(position.game, position.state, moves, len(moves), weights)
    assert GAME.move_name(int(moves[weights[: len(moves)].argmax()])) == "NE"
    position.play_text("NE")
    moves = np.array(position.legal_moves, dtype=np.int32)
    ask_priors(position.game, position.state, moves, 3, weights)
    assert weights[:3].tolist() == pytest.approx([0.3, 0.3, 0.4])


@pytest.mark.parametrize("size", [2, 10, 40])
def test_playouts_end_and_most_arrive(size: int) -> None:
    game = Sailing(size=size, wind="N")
    playouts = Playouts(game)
    arrived = 0
    count = 20 if JIT_DISABLED else 300
    for _ in range(count):
        trace, state, reward = playouts.run()
        assert is_over(state)
        # Legs and winds alternate, and the last ply is a leg.
        assert all((entry == NATURES_MOVE) == (ply % 2 == 1) for ply, entry in enumerate(trace))
        assert len(trace) % 2 == 1 and all(0 <= heading < 8 for heading in trace[::2])
        assert reward == pytest.approx(max(0.0, 1 - game.cost(state) / (GIVE_UP * size)))
        arrived += reward > 0
    assert arrived > 0.9 * count


def test_playout_may_start_with_the_wind() -> None:
    position = Position(GAME)
    position.play_text("NE")
    assert int(position.state.to_play) == CHANCE
    assert Playouts(GAME).run(position)[0][0] == NATURES_MOVE


# The exact solution, which later tests of searches rely on


@cache
def solution(size: int) -> LakeSolution:
    return solve_lake(size)


def test_two_waypoints_by_hand() -> None:
    lake = solution(2)
    for wind, factor in {"SW": 1, "S": 2, "W": 2, "SE": 3, "NW": 3, "N": 4, "E": 4}.items():
        assert lake.expected_cost(wind=wind) == pytest.approx(factor * math.sqrt(2))
        assert lake.best_heading(wind=wind) == "NE"
    # Wind NE forbids the straight leg: two legs, the first up wind.
    assert 4 + 1 < lake.expected_cost(wind="NE") < 4 + 4 + 3 + 4


def test_values_satisfy_the_optimality_equation() -> None:
    lake = solution(5)
    by_heading = heading_values(lake.value)
    by_heading[:, 4, 4] = 0.0
    assert np.allclose(by_heading.min(axis=0), lake.value)
    assert np.isfinite(lake.value).all() and (lake.value[4, 4] == 0).all()


def test_values_are_plausible() -> None:
    sizes = (2, 3, 5, 8)
    means = [float(solution(size).value[0, 0, 0].mean()) for size in sizes]
    assert means == sorted(means)
    for size, mean in zip(sizes, means, strict=True):
        diagonal_legs = (size - 1) * math.sqrt(2)
        assert diagonal_legs < mean < 5 * diagonal_legs
        assert solution(size).value[0, 0].max() < 0.6 * GIVE_UP * size  # far from where races are given up
    value = solution(8).value
    assert (np.diff(value.mean(axis=(2, 3)).diagonal()) < 0).all()  # the nearer, the cheaper
    # A tack to keep is worth at most one delay, and having none is never worse.
    assert (value[:, :, 0] <= value[:, :, 1:].min(axis=2) + 1e-9).all()
    assert (value[:, :, 1:].max(axis=2) <= value[:, :, 0] + 3 + 1e-9).all()


def test_optimal_policy_costs_what_the_solution_says() -> None:
    lake, random = solution(6), generator(3)
    costs = []
    for _ in range(60 if JIT_DISABLED else 600):
        position = Position(GAME)
        while not position.is_over:
            state = position.state
            if position.is_chance:
                play_nature(position, random)
            else:
                best = lake.heading[int(state.x), int(state.y), int(state.tack), int(state.wind)]
                position.play(int(best))
        costs.append(GAME.cost(position.state))
    assert_mean(costs, lake.expected_cost(wind=GAME.wind))


def test_playouts_cost_more_than_the_optimum() -> None:
    playouts = Playouts(GAME)
    costs = [GAME.cost(playouts.run()[1]) for _ in range(20 if JIT_DISABLED else 200)]
    assert np.mean(costs) > 1.1 * solution(6).expected_cost(wind=GAME.wind)
