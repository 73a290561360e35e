"""Go side by side with other implementations of its rules: the naive twin, OpenSpiel and GNU Go."""

from typing import Any

import numpy as np
import pyspiel
import pytest

from tests.naive.go import NaiveGo, check_fields, numbers, to_point, twin
from tests.support.go_games import SLOWNESS, GnuGo, pick, read
from treespan.core.errors import PositionError
from treespan.core.jit import JIT_DISABLED
from treespan.core.rng import generator
from treespan.games.check import one_playout
from treespan.games.go import Go
from treespan.games.go.board import BLACK, EMPTY, STRIDE, WHITE, random_move
from treespan.games.go.scoring import area_margin, filled_margin
from treespan.games.perft import perft
from treespan.games.position import Position
from treespan.games.registry import make_game

PASSING = 0.0, 0.02, 0.2  # how often a game's players pass: some games go to the ply limit, some end early


# The naive twin


@pytest.mark.parametrize(
    ("depth", "diagram"),
    [
        (3, "...../...../...../...../....."),
        (2, "....../....../....../....../....../......"),
        # Crowded boards have captures, kos and suicides within a few plies.
        (4, ".XO.X/XOOX./.OXXO/OX.OO/OXXO."),
        (3, ".XO.XO/XOOX.O/.OXXOO/OX.O.X/OOX.OX/.XXOX."),
    ],
)
def test_perft(depth: int, diagram: str) -> None:
    rows = diagram.split("/")
    depth -= JIT_DISABLED
    position = read(Go(size=len(rows)), rows)
    assert perft(position, depth) == twin(position.state).perft(depth)


def compare(position: Position, naive: NaiveGo) -> None:
    game, state = position.game, position.state
    assert sorted(position.legal_moves) == numbers(naive.legal_moves(game.superko)), f"{position}"  # type: ignore[attr-defined]
    moves = np.zeros(game.max_moves, dtype=np.int32)
    count = Go.rules["candidates"](state, moves)
    assert sorted(moves[:count].tolist()) == numbers(naive.candidates()), f"{position}"
    check_fields(state, naive)
    assert int(state.to_play) + 1 == naive.to_play and int(state.passes) == naive.passes
    assert Position(game, game.read_diagram(game.diagram(state))).key == position.key


def against_twin(game: Go, positions: int, every: int = 1, seed: int = 1) -> dict[str, int]:
    """Compare in `positions` positions, `every` so many plies of random games; count what happened in them."""
    rng = np.random.default_rng(seed)
    seen = {"positions": 0, "captures": 0, "kos": 0, "superkos": 0, "ends": 0}
    while seen["positions"] < positions:
        position, naive, passing = Position(game), NaiveGo(game.size), float(rng.choice(PASSING))
        while not position.is_over and seen["positions"] < positions:
            if len(position.moves_made) % every == 0:
                compare(position, naive)
                seen["positions"] += 1
            move = pick(rng, position.legal_moves, passing)
            before = len(naive.stones)
            position.play(move)
            naive.play(to_point(move))
            seen["captures"] += len(naive.stones) < before
            seen["kos"] += bool(position.state.ko)
            seen["superkos"] += len(position.forbidden_moves)
        if position.is_over:  # the result was asked for: the board must have survived the counting
            check_fields(position.state, naive)
            margin = naive.area_margin() - game.komi
            assert position.reward == (1.0 if margin > 0 else 0.5 if margin == 0 else 0.0)
            seen["ends"] += 1
    return seen


@pytest.mark.parametrize(("size", "positions", "every"), [(5, 500, 1), (7, 300, 1), (9, 400, 1), (19, 20, 49)])
def test_random_games_equal_the_twin(size: int, positions: int, every: int) -> None:
    seen = against_twin(Go(size=size, komi=0), positions // SLOWNESS, every)
    assert size != 5 or JIT_DISABLED or min(seen["captures"], seen["kos"], seen["ends"]) > 0, f"{seen}"


def test_random_games_with_superko_equal_the_twin() -> None:
    against_twin(Go(size=5, komi=3, superko=True), 1000 // SLOWNESS)


@pytest.mark.full
@pytest.mark.parametrize(("size", "superko", "positions"), [(5, True, 4000), (6, False, 3000), (9, True, 3000)])
def test_many_random_games_equal_the_twin(size: int, superko: bool, positions: int) -> None:
    seen = against_twin(Go(size=size, komi=1, superko=superko), positions, seed=2)
    assert min(seen["captures"], seen["kos"], seen["ends"]) > 0, f"{seen}"
    assert seen["superkos"] > 0 or (size, superko) != (5, True), f"{seen}"


def test_random_boards_equal_the_twin() -> None:
    """Shapes that games do not reach; boards with dead stones are refused."""
    rng = np.random.default_rng(5)
    game, boards, refused = Go(size=6), 160 // SLOWNESS, 0
    for _ in range(boards):
        cells = rng.choice([".", "X", "O"], size=(6, 6), p=(0.45, 0.275, 0.275))
        stones = {
            (6 - row, column + 1): ".XO".index(cell) for (row, column), cell in np.ndenumerate(cells) if cell != "."
        }
        naive = NaiveGo(6, stones, BLACK)
        if all(naive.has_liberty(point, stones) for point in stones):
            position = read(game, cells)
            compare(position, naive)
            assert area_margin(position.state) == naive.area_margin()
        else:
            refused += 1
            with pytest.raises(PositionError, match="without liberties"):
                read(game, cells)
    assert 0 < refused < boards


# Playouts, replayed by the twin


def run_playout(game: Go, state: Any, seed: int) -> tuple[Any, list[int]]:
    """The record after a playout from `state`, and the moves of its trace."""
    after, trace = game.new_states(1), np.zeros(game.max_plies, dtype=np.int32)
    after[0] = state
    plies, reward = one_playout(game, after[0], generator(seed), trace, np.zeros(game.max_moves, dtype=np.int32))
    margin = float(after[0].margin) - float(after[0].komi)
    assert reward == (1.0 if margin > 0 else 0.5 if margin == 0 else 0.0)
    players = [(int(state.to_play) + ply) % 2 for ply in range(plies)]
    assert [int(entry < 0) for entry in trace[:plies]] == players
    return after[0], [int(~entry if entry < 0 else entry) for entry in trace[:plies]]


STARTS = [("go:size=5", ""), ("go:size=7,komi=3", "D4 pass"), ("go:size=9,handicap=3", "E5 E6 D5"), ("go:size=9", "")]


@pytest.mark.parametrize(("spec", "opening"), STARTS)
def test_playouts_make_sound_moves_to_the_end(spec: str, opening: str) -> None:
    game = make_game(spec)
    assert isinstance(game, Go)
    for seed in range(1 if JIT_DISABLED else 3):
        position = Position(game)
        position.play_text(opening)
        state, moves = run_playout(game, position.state, seed)
        naive = twin(position.state)
        for move in moves:
            candidates = numbers(naive.candidates())  # without own eyes
            assert move in candidates
            assert move != 0 or candidates == [0]  # passes only where nothing else is left
            position.play(move)  # refuses what is illegal
            naive.play(to_point(move))
        assert position.is_over and moves[-2:] == [0, 0]
        assert state.color.tolist() == position.state.color.tolist()
        state.board_key = position.state.board_key  # playouts do not keep it up
        check_fields(state, naive)
        # After two passes no two empty points touch, so counting points one by one is exact.
        assert int(state.margin) == filled_margin(state) == area_margin(state) == naive.area_margin()


def test_a_pass_in_a_playout_lifts_the_ko() -> None:
    rows = [".XXO.", "XXO.O", ".XOOO", "XXOO.", "X.XOO", "white to play, ko B1"]
    position = read(Go(size=5), rows)  # White can only pass, then Black only connect
    _, moves = run_playout(Go(size=5), position.state, seed=1)
    assert moves[:2] == [0, position.game.parse_move("B1")]


def test_a_playout_cut_short_leaves_out_territory_of_two_points_or_more() -> None:
    game, sign = Go(size=5), {BLACK: 1, WHITE: -1, EMPTY: 0}
    differences = 0
    for limit in range(2, 50, 12 if JIT_DISABLED else 2):
        state = game.new_state()
        state.plies_left = limit
        state, moves = run_playout(game, state, seed=limit)
        naive = twin(state)
        left_out = sum(sign[owner] * len(region) for region, owner in naive.regions() if len(region) > 1)
        assert len(moves) <= limit
        assert int(state.margin) == naive.area_margin() - left_out
        differences += left_out != 0
    assert differences > 0


def test_random_move_is_uniform_over_candidates() -> None:
    position = read(Go(size=5), ["X.XO.", ".XXO.", "XXOOO", "OOO..", ".OX.."])
    expected = numbers(twin(position.state).candidates())[1:]  # the pass comes first
    assert 3 <= len(expected) < position.state.empty_count
    random, draws = generator(4), 600 if JIT_DISABLED else 3000
    drawn = [int(random_move(position.state, BLACK, random)) for _ in range(draws)]
    assert sorted(set(drawn)) == expected
    mean = draws / len(expected)
    assert all(abs(drawn.count(move) - mean) < 5 * mean**0.5 for move in expected)
    check_fields(position.state, twin(position.state))  # refused points were moved in the list


# OpenSpiel


def against_openspiel(size: int, positions: int, seed: int = 1) -> int:
    """Compare moves, player, end and winner in at least `positions` positions; give how many superko forbade.

    OpenSpiel has simple ko, and ends a game as a draw when a whole board is repeated. So its legal moves are
    those of simple ko, and the ones that end the game that way are those that superko forbids. They are
    tried, and not played, so that every game comes to its proper end.
    """

    def action_of(move: int) -> int:
        row, column = divmod(move, STRIDE)
        return (row - 1) * size + column - 1 if move else size * size

    rng = np.random.default_rng(seed)
    compared, forbade = 0, 0
    while compared < positions:
        passing = float(rng.choice(PASSING))
        komi = int(rng.integers(-4, 5))  # whole numbers allow draws
        game = Go(size=size, komi=komi, superko=True)
        options = {"board_size": size, "komi": float(komi), "max_game_length": game.max_plies}
        ours, state = Position(game), pyspiel.load_game("go", options).new_initial_state()
        while True:
            compared += 1
            assert ours.is_over == state.is_terminal(), f"{ours}\n{state}"
            if ours.is_over:
                assert ours.reward == (state.returns()[0] + 1) / 2, f"{ours}\n{state}"
                break
            assert int(ours.state.to_play) == state.current_player()
            legal, forbidden = ours.legal_moves, ours.forbidden_moves
            assert sorted(map(action_of, {*legal, *forbidden})) == sorted(state.legal_actions()), f"{ours}\n{state}"
            forbade += len(forbidden)
            for move in forbidden:
                assert state.child(action_of(move)).is_terminal(), f"{game.move_name(move)}\n{ours}\n{state}"
            move = pick(rng, legal, passing)
            ours.play(move)
            state.apply_action(action_of(move))
    return forbade


@pytest.mark.parametrize(("size", "positions"), [(5, 4000), (9, 1500)])
def test_openspiel_agrees(size: int, positions: int) -> None:
    forbade = against_openspiel(size, positions // SLOWNESS)
    assert size != 5 or JIT_DISABLED or forbade > 0


@pytest.mark.full
@pytest.mark.parametrize(("size", "positions"), [(5, 3000), (9, 4000), (13, 3000), (19, 2000)])
def test_openspiel_agrees_at_length(size: int, positions: int) -> None:
    forbade = against_openspiel(size, positions, seed=2)
    assert size != 5 or forbade > 0


# GNU Go


def against_gnugo(gnugo: GnuGo, size: int, positions: int, seed: int = 1) -> None:
    """Compare legal moves, stones and prisoners in at least `positions` positions of random games."""
    rng = np.random.default_rng(seed)
    game = Go(size=size)
    compared = 0
    while compared < positions:
        ours, taken, passing = Position(game), [0, 0], float(rng.choice(PASSING))
        gnugo.ask(f"boardsize {size}", "clear_board")
        while not ours.is_over:
            player = int(ours.state.to_play)
            questions = f"all_legal {'bw'[player]}", "list_stones b", "list_stones w", "captures b", "captures w"
            legal, black, white, *captures = gnugo.ask(*questions)
            compared += 1
            assert sorted(map(game.move_name, ours.legal_moves)) == sorted([*legal, "pass"]), f"{ours}"
            stones = [[game.move_name(int(p)) for p in np.flatnonzero(ours.state.color == color)] for color in (1, 2)]
            assert [sorted(side) for side in stones] == [sorted(black), sorted(white)], f"{ours}"
            assert captures == [[str(count)] for count in taken], f"{ours}"
            move, empty = pick(rng, ours.legal_moves, passing), int(ours.state.empty_count)
            ours.play(move)
            taken[player] += int(ours.state.empty_count) - empty + (move != 0)
            gnugo.ask(f"play {'bw'[player]} {game.move_name(move)}")


@pytest.mark.programs("gnugo")
def test_gnugo_agrees(gnugo: GnuGo) -> None:
    for size, positions in ((5, 150), (9, 300), (19, 50)):
        against_gnugo(gnugo, size, positions // SLOWNESS)


@pytest.mark.full
@pytest.mark.programs("gnugo")
@pytest.mark.parametrize(("size", "positions"), [(5, 2000), (9, 4000), (13, 2500), (19, 2000)])
def test_gnugo_agrees_at_length(gnugo: GnuGo, size: int, positions: int) -> None:
    against_gnugo(gnugo, size, positions, seed=2)


@pytest.mark.programs("gnugo")
@pytest.mark.parametrize("size", [7, 8, 9, 10, 11, 13, 16, 19])  # on 12x12 GNU Go uses the fourth line
def test_gnugo_places_the_same_handicap(gnugo: GnuGo, size: int) -> None:
    for handicap in range(2, len(Go(size=size).handicap_points()) + 1):
        game = Go(size=size, handicap=handicap)
        stones = np.flatnonzero(game.new_state().color == BLACK)
        *_, theirs = gnugo.ask(f"boardsize {size}", "clear_board", f"fixed_handicap {handicap}")
        assert sorted(game.move_name(int(point)) for point in stones) == sorted(theirs)
