"""Havannah against its definition, against OpenSpiel, and as text."""

import numpy as np
import pyspiel
import pytest

from tests.naive import havannah as naive
from tests.support.openspiel import crosscheck
from treespan.core.errors import OptionError, PositionError
from treespan.core.jit import JIT_DISABLED
from treespan.core.rng import generator
from treespan.games.check import ask_priors, check_game, one_playout
from treespan.games.havannah import (
    NO_WINNER,
    WON_BY_BRIDGE,
    WON_BY_FORK,
    WON_BY_RING,
    Havannah,
    cells_of,
    put,
)
from treespan.games.perft import perft
from treespan.games.position import Position
from treespan.games.registry import make_game

SAMPLE = 500 if JIT_DISABLED else 1500  # positions of a cross-check
PLAYOUTS = 16 if JIT_DISABLED else 200  # on base 2; fewer on larger boards
CORNERS_CLOCKWISE = ["a1", "d1", "g4", "g7", "d7", "a4"]  # of base 4
LATE_GAME = """
       a b c d
    1 X O O X e
   2 O X . . X f
  3 O X X X O O g
 4 O X X O . . X
  5 X O X . . O
   6 . O O X .
    7 . O O X
"""

# what it shows, what the winner has made, the board
BOARDS = {
    "ring around an empty cell": (
        "X ring",
        """
     1 . O O .
    2 . . . . .
   3 . . X X . .
  4 O . X . X . .
   5 . . X X . .
    6 . . . . .
     7 . O O .
""",
    ),
    "ring around an enemy stone": (
        "X ring",
        """
     1 . O O .
    2 . . . . .
   3 . . X X . .
  4 O . X O X . .
   5 . . X X . .
    6 . . . . .
     7 . O . .
""",
    ),
    "ring without a hole": (
        "X ring",
        """
     1 . O O .
    2 . . . . .
   3 O . X X . .
  4 O . X X X . .
   5 . . X X . .
    6 . . . . .
     7 . O O .
""",
    ),
    "ring without a hole, at the edge": (
        "O ring",
        """
     1 . O O .
    2 . O O O X
   3 X . O O . X
  4 . X . . . . X
   5 . . X . X .
    6 . . . . .
     7 . . . .
""",
    ),
    "long ring around an empty cell, an own and an enemy stone": (
        "X ring",
        """
     1 . O O .
    2 O . . . O
   3 . X X X X .
  4 O X . X O X .
   5 . X X X X .
    6 O . . . O
     7 . O O .
""",
    ),
    "a loop with one cell missing": (
        "",
        """
     1 . O O .
    2 . . . . .
   3 . . X X . .
  4 O . X . X . .
   5 . . X . . .
    6 . . . . .
     7 . O O .
""",
    ),
    "seven stones, but no loop": (
        "",
        """
     1 . O O .
    2 . . X . O
   3 . . X X . .
  4 O . X X . . .
   5 . . X X . .
    6 . O . . .
     7 . O O .
""",
    ),
    "the edge does not close a loop": (
        "",
        """
     1 X . X .
    2 . X X . .
   3 . . . . . .
  4 . . . . . . .
   5 . . . . . .
    6 . . . . .
     7 . O O O
""",
    ),
    "bridge": (
        "O bridge",
        """
     1 O . X X
    2 . O . X X
   3 . . O . X .
  4 O O O . . . .
   5 . . . X . .
    6 . . . . .
     7 . . . .
""",
    ),
    "two corners, not connected": (
        "",
        """
     1 O . X X
    2 . O . X X
   3 . . . . X .
  4 O O O . . . .
   5 . . . X . .
    6 . . . . .
     7 . . O .
""",
    ),
    "fork": (
        "X fork",
        """
     1 . X . O
    2 O . X . O
   3 . . . X . O
  4 . X X X . . .
   5 X . . X X X
    6 O O . . .
     7 . O O O
""",
    ),
    "two sides and a corner": (
        "",
        """
     1 . X . O
    2 O . X . O
   3 . . . X . O
  4 . X X X X X X
   5 X . . . . .
    6 O O . . O
     7 . O . O
""",
    ),
    "two sides twice": (
        "",
        """
     1 . X . .
    2 X X . . .
   3 . . . . . .
  4 . . . O O O O
   5 . . . . . O
    6 . . O X X
     7 . . X .
""",
    ),
    "fork and bridge": (
        "X bridge and fork",
        """
     1 X . O O
    2 X . . . O
   3 X . . O . .
  4 X . . O . . .
   5 X X X X X X
    6 O O . . .
     7 . O O .
""",
    ),
    "draw": (
        "",
        """
     1 O X X X
    2 O X O O O
   3 X X O X X X
  4 O X O X O X X
   5 O O X O O O
    6 X X O X X
     7 O O O X
""",
    ),
}


def read(text: str) -> Position:
    game = make_game("havannah:base=4")
    return Position(game, game.read_diagram(text))


def crosscheck_base(base: int, positions: int) -> None:
    name = f"havannah(board_size={base})"
    # OpenSpiel numbers the cells of the square around the board, in the same order.
    actions = pyspiel.load_game(name).new_initial_state().legal_actions()
    crosscheck(f"havannah:base={base}", name, positions, actions.__getitem__, seed=base)


@pytest.mark.parametrize("base", [4, 5, 8])
def test_keeps_the_protocol(base):
    check_game(make_game(f"havannah:base={base}"), games=1 if JIT_DISABLED else 10)


@pytest.mark.skipif(JIT_DISABLED, reason="too slow uncompiled")
def test_keeps_the_protocol_at_full_size():
    check_game(make_game("havannah:base=10"), games=3)


def test_perft():
    start = Position(make_game("havannah:base=4"))
    assert [perft(start, depth) for depth in (1, 2)] == [37, 37 * 36]
    counts = [9, 56, 392, 1428, 6880, 11664, 25704]  # by OpenSpiel
    depths = 4 if JIT_DISABLED else len(counts)
    assert [perft(read(LATE_GAME), depth) for depth in range(1, depths + 1)] == counts[:depths]


@pytest.mark.parametrize("what", BOARDS)
def test_winner(what):
    expected, text = BOARDS[what]
    winner, made = expected.split(" ", 1) if expected else ("", "")
    cells = naive.read(text)
    assert naive.winner(cells) == winner
    position = read(text)
    assert ".XO"[position.state.winner] == (winner or ".")
    assert position.is_over == (bool(winner) or what == "draw")
    if position.is_over:
        assert position.reward == {"X": 1.0, "O": 0.0, "": 0.5}[winner]
        words = position.game.describe_result(position.state, position.reward)
        assert words.endswith(f"({winner}) wins by {made}" if winner else "draw: the board is full")


@pytest.mark.parametrize("side", range(6))
def test_each_side_connects_two_corners_and_only_whole(side):
    """The four cells of one side are a bridge; without its first corner they are nothing."""
    game = make_game("havannah:base=4")
    ends = [naive_cell(CORNERS_CLOCKWISE[(side + turn) % 6]) for turn in (0, 1)]
    line = [tuple((a * (3 - i) + b * i) // 3 for a, b in zip(*ends, strict=True)) for i in range(4)]
    moves = [game.parse_move(f"{chr(ord('a') + column)}{row + 1}") for column, row in line]
    elsewhere = [game.parse_move(cell) for cell in ("c3", "d5", "e4")]
    position = Position(game)
    for move, answer in zip(moves[1:], elsewhere, strict=True):
        position.play(move)
        position.play(answer)
    assert not position.is_over
    position.play(moves[0])
    assert position.is_over and position.reward == 1.0
    assert game.describe_result(position.state, 1.0).endswith("bridge")


def naive_cell(name: str) -> tuple[int, int]:
    return ord(name[0]) - ord("a"), int(name[1:]) - 1


@pytest.mark.parametrize("base", [4, 5, 8, 10])
def test_agrees_with_openspiel(base):
    crosscheck_base(base, SAMPLE)


@pytest.mark.full
@pytest.mark.parametrize("base", [4, 5, 6, 7, 8, 9, 10])
def test_agrees_with_openspiel_in_many_positions(base):
    crosscheck_base(base, 20_000)


@pytest.mark.parametrize("policy", range(len(Havannah.policies)), ids=Havannah.policies)
@pytest.mark.parametrize("base", [4, 6, 8])
def test_playout_stops_at_the_first_win(base, policy):
    game = make_game(f"havannah:base={base}")
    random, moves = generator(11), np.zeros(game.max_moves, np.int32)
    trace = np.zeros(game.max_plies, np.int32)
    for _ in range(PLAYOUTS * 4 // base**2):
        state = game.new_state()
        plies, reward = one_playout(game, state, random, trace, moves, policy)
        cells = naive.read(game.diagram(state))
        assert naive.winner(cells) == {1.0: "X", 0.0: "O", 0.5: ""}[reward]
        if reward != 0.5:
            shapes = naive.wins(cells, "X" if reward == 1.0 else "O")
            assert shapes == set(game.describe_result(state, reward).split(" by ")[1].split(" and "))
        last = int(trace[plies - 1])
        assert (last < 0) == (plies % 2 == 0)
        column, row = naive_cell(game.move_name(~last if last < 0 else last))
        assert naive.winner(cells | {(column, row): "."}) == ""
        replayed = Position(game)
        for entry in trace[:plies].tolist():
            replayed.play(~entry if entry < 0 else entry)
        assert replayed.is_over and replayed.reward == reward
        assert str(replayed) == game.diagram(state)


@pytest.mark.parametrize("density", [0.35, 0.5, 0.65])
def test_rings_in_boards_that_no_game_would_reach(density):
    """Random boards with several wins at once: every shape is found in any order of the stones."""
    game, rng = make_game("havannah:base=5"), np.random.default_rng(3)
    names = {"ring": WON_BY_RING, "bridge": WON_BY_BRIDGE, "fork": WON_BY_FORK}
    for _ in range(10 if JIT_DISABLED else 60):
        own = rng.permutation(61)[: int(61 * density)]
        state = game.new_state()
        for cell in own:
            put(state, int(cell), 1)
        cells = {cell: "X" if number in own else "." for number, cell in enumerate(cells_of(5))}
        assert int(state.won_by) == sum(names[shape] for shape in naive.wins(cells, "X"))


def saving_cells(cells, column, row, own):
    """Empty cells beside the enemy's last stone that lie between two stones of `own`: all around it, in order."""
    ring = [(column + dc, row + dr) for dc, dr in ((0, -1), (1, 0), (1, 1), (0, 1), (-1, 0), (-1, -1))]
    around = [cells.get(cell) for cell in ring]
    return {ring[d] for d in range(6) if (around[d - 1], around[d], around[(d + 1) % 6]) == (own, ".", own)}


def test_bridges_are_saved_in_playouts():
    """Wherever the enemy's last stone cuts into bridges one of them is saved at once."""
    game = make_game("havannah:base=6")
    random, moves, trace = generator(5), np.zeros(game.max_moves, np.int32), np.zeros(game.max_plies, np.int32)
    saved = 0
    for _ in range(2 if JIT_DISABLED else 50):
        plies, _ = one_playout(game, game.new_state(), random, trace, moves, Havannah.policies.index("bridges"))
        cells = dict.fromkeys(cells_of(6), ".")
        last = None
        for ply, entry in enumerate(trace[:plies].tolist()):
            own, cell = "XO"[ply % 2], cells_of(6)[~entry if entry < 0 else entry]
            saving = saving_cells(cells, *last, own) if last else set()
            assert not saving or cell in saving
            saved += bool(saving)
            cells[cell], last = own, cell
    assert saved > 10


def test_playout_of_a_finished_game_is_empty():
    game = make_game("havannah:base=4")
    trace, moves = np.zeros(37, np.int32), np.zeros(37, np.int32)
    for what, reward in (("ring without a hole", 1.0), ("bridge", 0.0), ("draw", 0.5)):
        state = read(BOARDS[what][1]).state
        assert one_playout(game, state, generator(1), trace, moves) == (0, reward)


def test_key_is_of_the_position_not_of_its_history():
    game = make_game("havannah:base=4")
    keys = set()
    for order in ("a1 b2 c3 d4", "c3 b2 a1 d4", "a1 d4 c3 b2", "c3 d4 a1 b2"):
        position = Position(game)
        position.play_text(order)
        keys.add(position.key)
        assert Position(game, game.read_diagram(str(position))).key == position.key
    assert len(keys) == 1
    others = {read(text).key for _, text in BOARDS.values()}
    assert len(others | keys) == len(BOARDS) + 1


def test_diagram():
    position = read(LATE_GAME)
    assert str(position) == LATE_GAME.strip("\n")
    assert position.state.winner == NO_WINNER
    game = make_game("havannah:base=8")  # the letter at the end of row 7 is an o, but no stone
    last_row = Position(game)
    last_row.play_text("a7 n7")
    assert str(last_row).splitlines()[7].split() == ["7", "X", *["."] * 12, "O", "o"]
    assert Position(game, game.read_diagram(str(last_row))).key == last_row.key


def test_names_as_openspiel():
    game = make_game("havannah:base=5")
    start = pyspiel.load_game("havannah(board_size=5)").new_initial_state()
    assert [game.move_name(move) for move in range(61)] == [start.action_to_string(a) for a in start.legal_actions()]


def test_priors_prefer_the_saved_bridge():
    position = Position(make_game("havannah:base=4"))
    position.play_text("c3 g7 d5 c4")  # O intrudes into the bridge c3-d5; d4 saves it
    weights = np.zeros(37, np.float32)
    moves = np.array(position.legal_moves, np.int32)
    ask_priors(position.game, position.state, moves, len(moves), weights)
    assert position.game.move_name(int(moves[weights.argmax()])) == "d4"


@pytest.mark.parametrize("base", [3, 11])
def test_refuses_a_base(base):
    with pytest.raises(OptionError, match=f"base={base} is out of range; give 4..10"):
        make_game(f"havannah:base={base}")


@pytest.mark.parametrize("text", ["", "a", "1a", "a0", "a5", "e1", "h4", "d8", "swap"])
def test_refuses_a_move(text):
    with pytest.raises(PositionError, match="is not a move; give a cell from a1 to g7"):
        make_game("havannah:base=4").parse_move(text)


@pytest.mark.parametrize(
    "old, new, message",
    [
        (" 4 O X X O . . X\n", "", "6 rows; give 7"),
        ("O X X O . . X", "O X X O . .", "row 4 is '4 O X X O . .'"),
        ("O X X O . . X", "O X X O . . ?", "row 4"),
        ("1 X O O X e", "1 X O O X f", "row 1"),
        ("2 O X . . X f", "2 O X X X X f", "16 X and 14 O cannot arise"),
        ("1 X O O X e", "1 X . . X e", "14 X and 12 O cannot arise"),
    ],
)
def test_refuses_a_diagram(old, new, message):
    assert old in LATE_GAME
    with pytest.raises(PositionError, match=message):
        read(LATE_GAME.replace(old, new))


def test_refuses_wins_out_of_turn():
    won = BOARDS["ring around an empty cell"][1]
    with pytest.raises(PositionError, match="X has won already and cannot be to move"):
        read(won.replace("2 . . . . .", "2 . . . . O"))
    both = won.replace("1 . O O .", "1 O O O O").replace("7 . O O .", "7 . . . .")
    with pytest.raises(PositionError, match="both players have won"):
        read(both)
