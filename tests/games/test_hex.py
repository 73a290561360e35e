"""Hex against its definition, against OpenSpiel, and as text."""

import numpy as np
import pytest

from tests.naive import hex as naive
from tests.support.openspiel import crosscheck
from treespan.core.errors import OptionError, PositionError
from treespan.core.jit import JIT_DISABLED
from treespan.core.rng import generator
from treespan.games.check import ask_priors, check_game, one_playout
from treespan.games.perft import perft
from treespan.games.position import Position
from treespan.games.registry import make_game

SAMPLE = 500 if JIT_DISABLED else 1500  # positions of a cross-check
GAMES = 2 if JIT_DISABLED else 20  # random games or playouts

# rows, winner
BOARDS = [
    (". . . / . . . / . . .", ""),
    (". X . / . X O / . X O", "X"),
    (". . X / . X O / X O .", "X"),  # down to the left is a neighbour
    ("X . . / O X . / . O X", ""),  # down to the right is not
    (". . O / . O X / O X X", "O"),
    ("O X X / X O O / . . .", ""),
    ("X O O / O X . / X . .", "O"),
    (". X . . / O X O O / . X X O / . . O X", ""),  # c3-d4 is not a link
    ("O . . X / O X X X / O X O . / O X . .", "X"),  # first up, then down
    ("X X X . / O O O . / X X O X / . . O O", "O"),
    ("X X O O / X O O X / O O X X / . . X O", "O"),
]


def rows_of(text: str) -> str:
    return text.replace(" / ", "\n")


@pytest.mark.parametrize("spec", ["hex:size=3", "hex:size=3,swap=yes", "hex:size=6", "hex:size=11,swap=yes"])
def test_keeps_the_protocol(spec):
    check_game(make_game(spec), games=GAMES)


@pytest.mark.skipif(JIT_DISABLED, reason="too slow uncompiled")
def test_keeps_the_protocol_at_full_size():
    check_game(make_game("hex:size=19"), games=3)


@pytest.mark.parametrize(
    "spec, counts",
    [  # counted by OpenSpiel
        ("hex:size=3", [9, 72, 504, 3024, 15120, 54720, 146880, 207360]),
        ("hex:size=3,swap=yes", [9, 81, 576, 3528, 18144, 69840, 201600]),
    ],
)
def test_perft(spec, counts):
    start = Position(make_game(spec))
    depths = 4 if JIT_DISABLED else len(counts)
    assert [perft(start, depth) for depth in range(1, depths + 1)] == counts[:depths]


@pytest.mark.parametrize("text, winner", BOARDS)
def test_winner(text, winner):
    rows = rows_of(text).split("\n")
    game = make_game(f"hex:size={len(rows)}")
    assert naive.winner([row.replace(" ", "") for row in rows]) == winner
    position = Position(game, game.read_diagram(rows_of(text)))
    assert position.is_over == bool(winner)
    assert ".XO"[position.state.winner] == (winner or ".")
    if winner:
        assert position.reward == (winner == "X")
        assert f"({winner}) connects" in game.describe_result(position.state, position.reward)


@pytest.mark.parametrize("size", [3, 4, 7, 11])
def test_agrees_with_openspiel(size):
    crosscheck(f"hex:size={size}", f"hex(board_size={size})", SAMPLE)


@pytest.mark.parametrize("size", [3, 5])
def test_swap_agrees_with_openspiel(size):
    crosscheck(f"hex:size={size},swap=yes", f"hex(board_size={size},swap=True)", SAMPLE)


@pytest.mark.full
@pytest.mark.parametrize("swap", [False, True])
@pytest.mark.parametrize("size", [3, 4, 5, 8, 11, 15, 19])
def test_agrees_with_openspiel_in_many_positions(size, swap):
    crosscheck(f"hex:size={size},swap={swap}", f"hex(board_size={size},swap={swap})", 10_000, seed=size)


@pytest.mark.parametrize("spec", ["hex:size=3,swap=yes", "hex:size=5", "hex:size=11", "hex:size=19"])
def test_playout_gives_the_winner_of_the_board_that_it_fills(spec):
    game = make_game(spec)
    random, moves = generator(7), np.zeros(game.max_moves, np.int32)
    trace = np.zeros(game.max_plies, np.int32)
    for plies_before in range(GAMES):
        played = Position(game)
        for _ in range(plies_before % 5):
            played.play(played.legal_moves[(plies_before * 7) % len(played.legal_moves)])
        state = played.copy().state
        plies, reward = one_playout(game, state, random, trace, moves)
        rows = naive.read(game.diagram(state))
        assert "." not in "".join(rows)
        assert naive.winner(rows) == ("X" if reward == 1.0 else "O")
        # The trace is the game: legal, in turn, and decided in the same way before the board is full.
        for entry in trace[:plies].tolist():
            assert played.state.to_play == (entry < 0)
            played.play(~entry if entry < 0 else entry)
            if played.is_over:
                break
        assert played.is_over and played.reward == reward


def test_playout_of_a_finished_game_is_empty():
    game = make_game("hex:size=3")
    state = game.read_diagram(rows_of(BOARDS[1][0]))
    trace, moves = np.zeros(9, np.int32), np.zeros(9, np.int32)
    assert one_playout(game, state, generator(1), trace, moves) == (0, 1.0)


@pytest.mark.parametrize("first, taken_over", [("b1", "a2"), ("a4", "d1"), ("c3", "c3")])
def test_swap_mirrors_the_stone_and_gives_the_turn_back(first, taken_over):
    game = make_game("hex:size=4,swap=yes")
    position = Position(game)
    position.play_text(f"{first} swap")
    assert position.state.board.tolist().count(2) == 1
    assert position.state.to_play == 0
    assert game.parse_move(taken_over) not in position.legal_moves
    assert len(position.legal_moves) == 15


def test_swap_is_only_for_the_second_players_first_turn():
    position = Position(make_game("hex:size=4,swap=yes"))
    for moves, legal in (("", False), ("b1", True), ("c2", False), ("d4", False)):
        position.play_text(moves)
        assert (16 in position.legal_moves) == legal
    after_swap = Position(make_game("hex:size=4,swap=yes"))
    after_swap.play_text("b1 swap")
    assert 16 not in after_swap.legal_moves
    with pytest.raises(PositionError, match="not a move"):
        Position(make_game("hex:size=4")).play_text("b1 swap")


def test_key_is_of_the_position_not_of_its_history():
    game = make_game("hex:size=6,swap=yes")
    keys = set()
    for order in ("a1 b2 c3 d4", "c3 b2 a1 d4", "a1 d4 c3 b2", "c3 d4 a1 b2"):
        position = Position(game)
        position.play_text(order)
        keys.add(position.key)
        assert Position(game, game.read_diagram(str(position))).key == position.key
    assert len(keys) == 1
    swapped = Position(game)
    swapped.play_text("b1 swap")
    assert Position(game, game.read_diagram(str(swapped))).key == swapped.key


def test_key_tells_the_side_to_move():
    game = make_game("hex:size=3,swap=yes")
    rows = "X . . / . O . / . . .".replace(" / ", "\n")
    keys = {Position(game, game.read_diagram(f"{rows}\n{side} to move")).key for side in "XO"}
    assert len(keys) == 2


def test_diagram():
    game = make_game("hex:size=3")
    position = Position(game)
    position.play_text("b1 C2 a3")
    assert str(position) == "   a b c\n 1 . X .\n  2 . . O\n   3 X . .\nO to move"


def test_priors_prefer_the_saved_bridge_and_swap_a_central_stone():
    game = make_game("hex:size=5")
    position = Position(game)
    position.play_text("c3 e5 b5 b4")  # O intrudes into the bridge c3-b5; c4 saves it
    assert favourite(position) == "c4"
    central = Position(make_game("hex:size=5,swap=yes"))
    central.play_text("c3")
    assert favourite(central) == "swap"


def favourite(position: Position) -> str:
    count = len(position.legal_moves)
    weights = np.zeros(count, np.float32)
    ask_priors(position.game, position.state, np.array(position.legal_moves, np.int32), count, weights)
    return position.game.move_name(position.legal_moves[int(weights.argmax())])


@pytest.mark.parametrize("size", [2, 20])
def test_refuses_a_size(size):
    with pytest.raises(OptionError, match=f"size={size} is out of range; give 3..19"):
        make_game(f"hex:size={size}")


@pytest.mark.parametrize("text", ["", "a", "1a", "a0", "a12", "l1", "aa1", "swap", "a1b"])
def test_refuses_a_move(text):
    with pytest.raises(PositionError, match="is not a move; give a cell from a1 to k11"):
        make_game("hex").parse_move(text)


@pytest.mark.parametrize(
    "text, message",
    [
        ("", "0 rows; give 3"),
        (". . . / . . .", "2 rows; give 3"),
        (". . . / . . / . . .", "row 2 is '. .'"),
        (". . . / . . . . / . . .", r"row 2 is '. . . .'"),
        (". . . / . . . o / . . .", "row 2"),
        (". . . / 3 . . . / . . .", "row 2"),
        (". . . / . ? . / . . .", "row 2"),
        ("X . X / . . . / . . .", "2 X and 0 O cannot arise"),
        ("O . . / . . . / . . .", "0 X and 1 O cannot arise"),
        ("X . . / . . . / . . . / X to move", "cannot be X to move"),
        (". X O / . X O / . X O", "X has connected already"),
    ],
)
def test_refuses_a_diagram(text, message):
    with pytest.raises(PositionError, match=message):
        make_game("hex:size=3").read_diagram(rows_of(text))
