"""Positions, games by name and from files, and `check_game` on games that are broken in one way each."""

import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tests.support.programs import run
from treespan.core.compiled import CompiledCodeError
from treespan.core.errors import GameError, OptionError, PositionError, TreespanError
from treespan.core.jit import JIT_DISABLED
from treespan.games.check import check_game
from treespan.games.position import Position
from treespan.games.registry import PACKAGE_GAMES, game_class, make_game
from treespan.games.rules import CHANCE, FIRST, NATURES_MOVE, SECOND, Game, noted

NIM = """
from dataclasses import dataclass

import numpy as np

from treespan.core.options import option
from treespan.games.rules import CHANCE, Game, noted


@dataclass(frozen=True)
class Nim(Game):
    name = "nim"
    pile: int = option(7, "stones at the start", low=1, high=99)

    fields = (("heap", np.int32), ("asked", np.int32), ("to_play", np.int8))
    max_moves = 3

    @property
    def max_plies(self):
        return self.pile

    def setup(self, state):
        state.heap = self.pile

    @staticmethod
    def legal_moves(state, moves):
        count = 0
        for taken in range(1, 3):
            if taken <= state.heap:
                moves[count] = taken
                count += 1
        return count

    @staticmethod
    def play(state, move):
        state.heap -= move
        state.to_play = 1 - state.to_play

    @staticmethod
    def reward(state):
        return 1.0 * state.to_play  # who took the last stone wins
"""


@pytest.fixture
def nim_file(tmp_path: Path) -> Path:
    path = tmp_path / "nim.py"
    path.write_text(NIM)
    return path


# Positions


def test_position_of_a_users_game(nim_file: Path) -> None:
    position = Position(make_game(f"{nim_file}:pile=3"))
    assert position.legal_moves == [1, 2] and not position.is_over and not position.is_chance
    with pytest.raises(PositionError, match="the game is not over"):
        _ = position.reward
    position.play_text("2, 1")
    assert position.is_over and position.reward == 0.0 and position.legal_moves == []
    assert position.moves_made == [2, 1]
    with pytest.raises(PositionError, match="move 3, '1': the game is over"):
        position.play(1)


def test_refused_move_changes_nothing(nim_file: Path) -> None:
    position = Position(make_game(str(nim_file)))
    position.play(2)
    before = position.state.tobytes(), position.key, position.legal_moves, list(position.moves_made)
    for move in (0, 3, -1):
        with pytest.raises(PositionError, match=f"move 2, '{move}': it is not legal here"):
            position.play(move)
    with pytest.raises(PositionError, match="'x' is not a move; moves are whole numbers"):
        position.play_text("x")
    assert (position.state.tobytes(), position.key, position.legal_moves, position.moves_made) == before


def test_copy_is_independent(nim_file: Path) -> None:
    position = Position(make_game(str(nim_file)))
    position.play(1)
    twin = position.copy()
    assert twin.key == position.key and twin.moves_made == position.moves_made
    twin.play(2)
    assert int(position.state.heap) == 6 and int(twin.state.heap) == 4
    assert position.moves_made == [1] and twin.moves_made == [1, 2]
    assert twin.key != position.key


def test_position_from_a_state_is_a_copy(nim_file: Path) -> None:
    game = make_game(str(nim_file))
    state = game.new_state()
    position = Position(game, state)
    position.play(1)
    assert int(state.heap) == 7


def test_default_diagram_lists_the_fields(nim_file: Path) -> None:
    game = make_game(str(nim_file))
    position = Position(game)
    position.play(2)
    assert str(position) == "heap 5\nasked 0\nto_play 1"
    assert game.read_diagram(str(position)).tobytes() == position.state.tobytes()
    with pytest.raises(PositionError, match="'stones' is not a field of a position"):
        game.read_diagram("stones 5")
    for text in ("heap five", "heap 1 2", "heap", "heap 1.5"):
        with pytest.raises(PositionError, match=f"cannot read '{text}'"):
            game.read_diagram(text)


@pytest.mark.parametrize("text", ["heap 99999999999", "to_play 300"])
def test_default_diagram_refuses_numbers_that_do_not_fit(nim_file: Path, text: str) -> None:
    with pytest.raises(PositionError, match=r"cannot read|does not fit"):
        make_game(str(nim_file)).read_diagram(text)


def test_results_in_words(nim_file: Path) -> None:
    game = make_game(str(nim_file))
    state = game.new_state()
    words = [game.describe_result(state, reward) for reward in (1.0, 0.5, 0.0)]
    assert words == ["first player wins", "draw", "second player wins"]


def test_trace_entries_tell_who_moved() -> None:
    assert int(noted(5, FIRST)) == 5
    assert int(noted(5, SECOND)) == ~5
    assert int(noted(0, SECOND)) == -1
    assert int(noted(5, CHANCE)) == NATURES_MOVE


# Games by name


@pytest.mark.parametrize(
    "spec",
    ["connect4", "tictactoe", "pgame:branching=3,depth=5", "samegame:seed=8,tabu=yes", "sailing:size=4,wind=SE"],
)
def test_spec_names_the_game(spec: str) -> None:
    game = make_game(spec)
    assert game.spec() == spec and make_game(game.spec()) == game
    assert game.summary


@pytest.mark.parametrize(
    ("spec", "message"),
    [
        ("conect4", "unknown game 'conect4'; did you mean 'connect4'?"),
        ("", "unknown game ''; known: connect4, go"),
        ("pgame:branchign=3", "unknown option of pgame 'branchign'; did you mean 'branching'?"),
        ("pgame:zzz=3", "unknown option of pgame 'zzz'; known: branching, depth, seed"),
        ("pgame:branching=many", "pgame: branching=many is not a whole number"),
        ("pgame:branching=1", "pgame: branching=1 is out of range; give 2..65535"),
        ("pgame:branching", "'branching' in 'pgame:branching' is not an option; write branching=VALUE"),
        ("samegame:tabu=maybe", "samegame: tabu=maybe is not true or false; give yes or no"),
        ("sailing:wind=SSE", "unknown sailing wind 'SSE'; did you mean 'SE'?"),
    ],
)
def test_bad_specs_are_refused(spec: str, message: str) -> None:
    with pytest.raises(OptionError) as caught:
        make_game(spec)
    assert message in str(caught.value) and "\n" not in str(caught.value)


@pytest.mark.parametrize("name", ["connect4", "pgame", "sailing", "samegame", "tictactoe"])
def test_package_games_are_found_under_their_names(name: str) -> None:
    assert name in PACKAGE_GAMES and game_class(name).name == name


# Games from files


def test_game_file_with_options(nim_file: Path) -> None:
    game = make_game(f"{nim_file}:pile=9")
    assert int(game.new_state().heap) == 9
    with pytest.raises(OptionError, match="nim: pile=100 is out of range"):
        make_game(f"{nim_file}:pile=100")


def test_edited_file_is_another_compiled_game(nim_file: Path) -> None:
    old, same = game_class(str(nim_file)), game_class(str(nim_file))
    hashes = [game.rules["legal_moves"].fingerprint.hash for game in (old, same)] if not JIT_DISABLED else [0, 0]
    assert hashes[0] == hashes[1]
    nim_file.write_text(NIM.replace("range(1, 3)", "range(1, 2)"))
    new = game_class(str(nim_file))
    assert JIT_DISABLED or new.rules["legal_moves"].fingerprint.hash != hashes[0]
    assert Position(old()).legal_moves == [1, 2] and Position(new()).legal_moves == [1]


WITH_HELPER = "import colorsys\nimport most_taken\n" + NIM.replace("range(1, 3)", "range(1, most_taken.LIMIT)")


def test_game_file_imports_what_lies_beside_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "path", list(sys.path))
    for folder, limit in (("first", 3), ("second", 4)):
        (tmp_path / folder).mkdir()
        (tmp_path / folder / "nim.py").write_text(WITH_HELPER)
        (tmp_path / folder / "most_taken.py").write_text(f"LIMIT = {limit}\n")
        (tmp_path / folder / "colorsys.py").write_text("raise RuntimeError('not this one')\n")

    def moves(folder: str) -> list[int]:
        return Position(make_game(str(tmp_path / folder / "nim.py"))).legal_moves

    assert (moves("first"), moves("second"), moves("first")) == ([1, 2], [1, 2, 3], [1, 2])
    for limit in (2, 3, 2):  # at equal size, within a second
        (tmp_path / "first" / "most_taken.py").write_text(f"LIMIT = {limit}\n")
        assert moves("first") == list(range(1, limit))
    assert not list(tmp_path.rglob("__pycache__"))


def test_program_imports_what_lies_beside_a_game_file(tmp_path: Path) -> None:
    (tmp_path / "nim.py").write_text(WITH_HELPER)
    (tmp_path / "most_taken.py").write_text("LIMIT = 3\n")
    (tmp_path / "elsewhere").mkdir()
    program = "from treespan.cli import main; main()"
    done = run(program, tmp_path / "elsewhere", "search", str(tmp_path / "nim.py"), "--playouts", "100")
    assert done.returncode == 0 and "best move" in done.stdout, done.stderr


@pytest.mark.parametrize(
    ("source", "message"),
    [
        ("class Broken(:\n", "cannot be imported: SyntaxError"),
        ("import no_such_module\n", "cannot be imported: ModuleNotFoundError: No module named 'no_such_module'"),
        ("x = 1\n", "defines 0 games; a game file defines exactly one subclass of Game"),
        (NIM + NIM.replace("class Nim", "class Other"), "defines 2 games"),
        ("from treespan.games.tictactoe import TicTacToe\n", "defines 0 games"),
    ],
)
def test_bad_game_files_are_refused(tmp_path: Path, source: str, message: str) -> None:
    path = tmp_path / "broken.py"
    path.write_text(source)
    with pytest.raises(GameError) as caught:
        make_game(str(path))
    assert message in str(caught.value) and str(path) in str(caught.value)


def test_missing_game_file_is_refused(tmp_path: Path) -> None:
    with pytest.raises(OptionError, match=r"cannot read '.*none\.py': No such file"):
        make_game(str(tmp_path / "none.py"))
    with pytest.raises(OptionError, match="cannot read"):
        make_game(str(tmp_path))


def test_game_file_needs_its_ending(tmp_path: Path) -> None:
    path = tmp_path / "nim.txt"
    path.write_text(NIM)
    with pytest.raises(OptionError, match="is not a Python file"):
        make_game(str(path))


# check_game on games that are broken in one way each: text to replace, replacement, complaint


def check_variant(folder: Path, old: str, new: str, games: int = 20) -> None:
    assert NIM.count(old) == 1
    path = folder / "nim.py"
    path.write_text(NIM.replace(old, new))
    check_game(make_game(str(path)), games=games)


def test_sound_game_passes(nim_file: Path) -> None:
    steps: list[str] = []
    report = check_game(make_game(str(nim_file)), games=30, on_step=steps.append)
    assert report.games == 30 and report.playouts == 30 and report.max_branching == 2
    assert report.steps == steps and len(steps) == 4
    assert 3.5 <= report.mean_plies <= 7 and report.positions == 30 + report.mean_plies * 30


PLAY = "        state.heap -= move\n"
END = "        return 1.0 * state.to_play  # who took the last stone wins\n"


def rule(signature: str, *body: str) -> tuple[str, str]:
    """Add one more rule below the last."""
    return END, END + f"\n    @staticmethod\n    def {signature}:\n" + "".join(f"        {line}\n" for line in body)


DECLARATIONS = {
    "no reward": ("def reward", "def result", "the rule `reward` is missing"),
    "no moves": ("def legal_moves", "def moves", "the rule `legal_moves` is missing"),
    "no to_play": (', ("to_play", np.int8)', "", "a position needs a field `to_play`"),
    "three players": ("    max_moves = 3", "    players = 3\n    max_moves = 3", "players=3; give 1 or 2"),
    "no bound of moves": ("    max_moves = 3\n", "", "the game must define max_moves"),
    "no move allowed": ("max_moves = 3", "max_moves = 0", "max_moves=0; give at least 1"),
    "no bound of plies": ("def max_plies", "def most_plies", "the game must define max_plies"),
    "endless": ("return self.pile", "return 10**8", "max_plies=100000000; give 1..10000000"),
    "field twice": ('("asked", np.int32)', '("heap", np.int8)', "the field `heap` is listed twice"),
    "rule with self": (
        "    @staticmethod\n    def play(state",
        "    def play(self, state",
        "`play` takes (state, move); it has 3 parameters; write @staticmethod above it, and leave out `self`",
    ),
    "rule with too few parameters": (
        "def play(state, move):\n        state.heap -= move",
        "def play(state):\n        state.heap -= 1",
        "`play` takes (state, move); it has 1 parameter; write `def play(state, move)`",
    ),
    "chance without its rule": ("max_moves = 3", "max_moves, has_chance = 3, True", "the rule `chance` is missing"),
}
RULES = {
    "move too low": ("= taken", "= taken - 2", "a move is not in 0..move_ids-1=2"),
    "too many moves": ("max_moves = 3", "max_moves = 1", "2 legal moves exceed max_moves=1"),
    "field that NumPy has": ('"asked"', '"size"', "a field may not be called `size`"),
    "playout that makes an illegal move": (
        *rule("playout(state, random, trace, moves)", "trace[0] = 3", "state.heap = 0", "return 1"),
        "a playout noted the illegal move 3",
    ),
    "playout out of turn": (
        *rule("playout(state, random, trace, moves)", "trace[0] = noted(1, 1)", "state.heap = 0", "return 1"),
        "a playout noted a move of player 1 out of turn",
    ),
    "playout that notes too little": (
        *rule("playout(state, random, trace, moves)", "trace[0] = 1", "state.heap = 0", "return 1"),
        "a playout noted fewer moves than the game has",
    ),
    "move twice": ("= taken", "= 1", "legal_moves lists a move twice: [1, 1]"),
    "reward of 2": ("1.0 * state", "2.0 * state", "reward=2.0; scale rewards to 0..1"),
    "too many plies": ("return self.pile", "return 3", "a game of 4 plies is longer than max_plies=3"),
    "unknown player": ("1 - state.to_play", "7", "to_play=7; give 0, 1 or 2"),
    "unexpected chance": ("1 - state.to_play", "CHANCE", "to_play is CHANCE but has_chance is not set"),
    "key changes the position": (
        *rule("key(state)", "state.asked += 1", "return np.uint64(state.heap)"),
        "asking for moves, key or reward changes the position",
    ),
    "weight of 0": (
        *rule("priors(state, moves, count, weights)", "weights[:count] = 0.0"),
        "priors gives weights that are not positive",
    ),
    "playout of no plies": (
        *rule("playout(state, random, trace, moves)", "return 0"),
        "a playout of 0 plies must mean",
    ),
    "playout by other random numbers": (
        *rule(
            "playout(state, random, trace, moves)",
            "state.heap = 0",
            "trace[0] = noted(1, CHANCE)",
            "state.to_play = np.random.randint(0, 2)",
            "return 1",
        ),
        "the same random numbers give different playouts",
    ),
}
TEXTS = {
    "name of another move": ("move_name(self, move)", "return str(move + 1)", "move 1 is written '2' but read 2"),
    "diagram that is not read": ("diagram(self, state)", "return 'a heap'", "read_diagram refuses what diagram wrote"),
    "diagram that says too much": (
        "diagram(self, state)",
        "self.__dict__['times'] = self.__dict__.get('times', 0) + 1; return f'asked {self.times}'",
        "diagram and read_diagram disagree on",
    ),
}


@pytest.mark.parametrize("name", DECLARATIONS)
def test_broken_declarations_are_found(tmp_path: Path, name: str) -> None:
    old, new, complaint = DECLARATIONS[name]
    with pytest.raises(GameError) as caught:
        check_variant(tmp_path, old, new)
    assert complaint in str(caught.value) and str(caught.value).startswith("nim: ")


@pytest.mark.parametrize("name", RULES)
def test_broken_rules_are_found(tmp_path: Path, name: str) -> None:
    old, new, complaint = RULES[name]
    with pytest.raises(GameError) as caught:
        check_variant(tmp_path, old, new)
    assert complaint in str(caught.value) and str(caught.value).startswith("nim: ")


@pytest.mark.parametrize("name", TEXTS)
def test_broken_texts_are_found(tmp_path: Path, name: str) -> None:
    signature, body, complaint = TEXTS[name]
    with pytest.raises(GameError) as caught:
        check_variant(tmp_path, "    max_moves = 3\n", f"    max_moves = 3\n\n    def {signature}:\n        {body}\n")
    assert complaint in str(caught.value)


def test_one_key_for_all_positions_is_found(tmp_path: Path) -> None:
    with pytest.raises(GameError, match="positions have only 1 keys"):
        check_variant(tmp_path, *rule("key(state)", "return np.uint64(1)"), games=500)


def test_chance_outside_its_moves_is_found(tmp_path: Path) -> None:
    old, new = rule("chance(state, random)", "return 2")
    path = tmp_path / "nim.py"
    source = NIM.replace(old, new).replace("max_moves = 3", "max_moves, has_chance = 3, True")
    path.write_text(source.replace("1 - state.to_play", "CHANCE"))
    with pytest.raises(GameError, match=r"nim: chance gave index 2 of [12] moves"):
        check_game(make_game(str(path)), games=5)


@pytest.mark.skipif(JIT_DISABLED, reason="nothing is compiled")
@pytest.mark.parametrize(
    ("old", "new", "rule_name", "cause"),
    [
        (END, "        return 'first' if state.to_play else 1.0\n", "reward", "a value has two types"),
        (PLAY, "        state.heap -= move.stones\n", "play", "Unknown attribute 'stones'"),
        (PLAY, "        state.pile -= move\n", "play", "a position has no field 'pile'"),
        (PLAY, "        state.heap -= np.zeros(3).sum()\n", "play", "cannot make arrays (np.zeros)"),
        (PLAY, "        state.heap -= len([move, move])\n", "play", "cannot make lists"),
        (PLAY, "        state.heap -= taken\n", "play", "the name 'taken' is not known"),
        (
            PLAY,
            "        state.heap -= dataclass(move)\n",
            "play",
            "`dataclass` is a plain function; decorate `dataclass`",
        ),
        (PLAY, "        state.heap -= Game(move)\n", "play", "cannot use `Game`, which is a class"),
        (PLAY, "        import math\n", "play", "a rule cannot import; import at the top of the file"),
        (PLAY, "        global heap; heap = 5\n", "play", "a rule cannot set a global variable"),
        (PLAY, "        print(state.heap)\n", "play", "cannot print values or call Python"),
        ("= taken\n", "= moves.copy()[0]\n", "legal_moves", "cannot make lists, sets, strings or arrays"),
        ("= taken\n", "= (moves + 1)[0]\n", "legal_moves", "cannot make lists, sets, strings or arrays"),
        (
            "        count = 0\n",
            "        moves[:9].sort(); count = 0\n",
            "legal_moves",
            "cannot sort arrays; write a loop",
        ),
        ("= taken\n", "= moves[0.5]\n", "legal_moves", "has no getitem for arguments of the types (array(int32, 1d,"),
        (END, "        return 'first'\n", "reward", "it returns a text; it must return a number, as 0.5"),
    ],
    ids=[
        *(
            "two types",
            "no such attribute",
            "no such field",
            "array",
            "list",
            "no such name",
            "plain function",
            "class",
        ),
        *(
            "import",
            "global variable",
            "print",
            "copy of an array",
            "sum of an array",
            "sort",
            "index",
            "text as reward",
        ),
    ],
)
def test_rule_that_does_not_compile_is_named_with_its_line(
    tmp_path: Path, old: str, new: str, rule_name: str, cause: str
) -> None:
    with pytest.raises(GameError) as caught:
        check_variant(tmp_path, old, new)
    message = str(caught.value)
    number = NIM[: NIM.index(old)].count("\n") + 1
    assert f"nim: the rule `{rule_name}` does not compile" in message
    assert cause in message and new.strip() in message
    assert f"line {number}" in message
    assert len(message.splitlines()) == 1


@pytest.mark.skipif(JIT_DISABLED, reason="nothing is compiled")
@pytest.mark.parametrize(
    ("top", "old", "new", "cause"),
    [
        ("TABLE = np.array([1, 2])", PLAY, PLAY + "        TABLE[0] = move\n", "cannot write to a global array"),
        ("TABLE = [1, 2]", PLAY, "        TABLE.append(move)\n", "cannot use the list `TABLE`"),
        ("TABLE = {1: 2}", PLAY, "        state.heap -= TABLE[move]\n", "cannot use `TABLE`, which is of type dict"),
        ("", END, "        pass\n", "the rule `reward` does not compile: it returns nothing; it must return a number"),
    ],
    ids=["array", "list", "dictionary", "no reward"],
)
def test_what_a_rule_cannot_do_is_told_in_one_line(tmp_path: Path, top: str, old: str, new: str, cause: str) -> None:
    path = tmp_path / "nim.py"
    path.write_text(NIM.replace("import numpy as np\n", f"import numpy as np\n{top}\n").replace(old, new))
    with pytest.raises(TreespanError) as caught:
        check_game(make_game(str(path)))
    assert cause in str(caught.value) and "\n" not in str(caught.value) and "table.py" not in str(caught.value)


@pytest.mark.skipif(JIT_DISABLED, reason="nothing is compiled")
def test_search_of_a_rule_that_does_not_compile_says_the_same_line(tmp_path: Path, treespan: Any) -> None:
    path = tmp_path / "nim.py"
    path.write_text(NIM.replace(PLAY, "        state.heap -= taken\n"))
    status, _, complaint = treespan("search", str(path), "--playouts", "10")
    assert status == 2 and complaint.count("\n") == 1
    assert "nim: the rule `play` does not compile: the name 'taken' is not known" in complaint


@pytest.mark.skipif(JIT_DISABLED, reason="Python raises the assertion itself")
def test_assertion_that_fails_in_a_rule_is_an_error(tmp_path: Path) -> None:
    path = tmp_path / "nim.py"
    line = "assert state.heap > 4, 'too few'"
    path.write_text(NIM.replace("        count = 0\n", f"        count = 0\n        {line}\n"))
    game = make_game(str(path))
    with pytest.raises(CompiledCodeError, match="an assertion fails; check the game") as caught:
        Position(game).play_text("2 1")
    assert isinstance(caught.value, TreespanError) and "\n" not in str(caught.value)
    with pytest.raises(GameError) as told:
        check_game(game)
    assert str(told.value) == f"nim: the rule `legal_moves` fails: AssertionError: too few; nim.py, line 28: {line}"


@pytest.mark.parametrize(
    ("old", "new", "complaint"),
    [
        ("@dataclass(frozen=True)\n", "", "class Nim is no dataclass; write @dataclass(frozen=True) above it"),
        ('("heap", np.int32)', '("heap", np.float16)', "the field `heap` has type float16; give one of int8"),
        ('("heap", np.int32)', '("heap", "integer")', "the field `heap` has type 'integer'; give one of int8"),
        ('("heap", np.int32)', '("heap", np.int32, 0.5)', "is not (name, type) or (name, type, shape)"),
        (
            "state.heap = self.pile",
            "state.to_play = 300 + self.pile",
            "nim.py, line 23: state.to_play = 300 + self.pile; give the field a wider type",
        ),
        (
            "state.heap = self.pile",
            "state.haep = self.pile",
            "`setup` fails: a position has no field 'haep'; nim.py, line 23: state.haep = self.pile; it has heap, ",
        ),
    ],
    ids=["no dataclass", "unknown number", "no type", "no shape", "too large", "no field"],
)
def test_declarations_that_python_would_trip_over_are_told_in_one_line(
    tmp_path: Path, old: str, new: str, complaint: str
) -> None:
    with pytest.raises(GameError) as caught:
        check_variant(tmp_path, old, new)
    assert complaint in str(caught.value) and "\n" not in str(caught.value)


def test_a_game_for_two_in_which_one_never_moves_is_warned_of(tmp_path: Path) -> None:
    path = tmp_path / "nim.py"
    path.write_text(NIM.replace("state.to_play = 1 - state.to_play", "state.to_play = 0"))
    report = check_game(make_game(str(path)), games=5)
    assert ["only the first player ever moved" in warning for warning in report.warnings] == [True]
    path.write_text(NIM)
    assert check_game(make_game(str(path)), games=5).warnings == []


def test_rules_of_a_subclass_replace_those_of_its_base(nim_file: Path) -> None:
    base = game_class(str(nim_file))

    class Misere(base):  # type: ignore[valid-type, misc]
        name = "misere-nim"

        @staticmethod
        def reward(state):
            return 1.0 - state.to_play

    game = Misere(pile=2)
    position = Position(game)
    position.play(2)
    assert position.reward == 0.0
    assert game.rules["play"] is base.rules["play"] and game.rules["reward"] is not base.rules["reward"]
    assert isinstance(game, Game) and game.dtype == np.dtype(base().dtype)
