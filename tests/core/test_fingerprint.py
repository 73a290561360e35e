"""What compiled code depends on: all that changes it changes its name in the store, and nothing else does."""

import os
import shutil
from pathlib import Path
from types import FunctionType, ModuleType
from typing import Any

import numpy as np
import pytest

from tests.support.programs import DRAW, DRAWN, PACKAGE, entries, output
from treespan.core.fingerprint import Fingerprint
from treespan.core.jit import JIT_DISABLED, Function, njit, njit_inline
from treespan.core.sources import compiler_digest, source_digest

pytestmark = pytest.mark.skipif(JIT_DISABLED, reason="nothing is compiled, so nothing is kept")

TEXT = """
import math
import numpy as np
from treespan.core.jit import njit, njit_inline

LIMIT = 7
TABLE = np.arange(4)
PAIR = (1, (2, 3))
LIST = [1, 2]

@njit
def callee(x):
    return x * LIMIT

@njit
def caller(x, more=5):
    \"\"\"What it does.\"\"\"
    # A comment
    return callee(x) + more + TABLE[0] + PAIR[1][1] + LIST[0] + math.floor(1.5)
"""


def module_of(text: str, name: str = "made") -> dict[str, Any]:
    module = ModuleType(name)
    exec(compile(text, f"{name}.py", "exec"), module.__dict__)
    return module.__dict__


def hash_of(function: Any) -> str:
    return str(Fingerprint(function).hash)


def caller_hash(old: str = "", new: str = "") -> str:
    """The hash of `caller` in TEXT with one passage replaced."""
    assert TEXT.count(old) == 1 or not old
    return hash_of(module_of(TEXT.replace(old, new) if old else TEXT)["caller"])


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("# A comment", "# Another comment"),
        ("    # A comment\n", ""),
        ("What it does.", "What else it does."),
        ("import math\n", "import math\n\n\n\n"),
        ("callee(x) + more", "callee(x)  +  more"),
        ("LIMIT = 7", "LIMIT = 7\nOTHER = 8"),
        ("LIMIT = 7", "LIMIT = 3 + 4"),
        ("@njit\ndef callee", "@njit\ndef unused(x):\n    return x\n\n@njit\ndef callee"),
    ],
)
def test_what_compiled_code_does_not_see_does_not_count(old: str, new: str) -> None:
    assert caller_hash(old, new) == caller_hash()


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("x * LIMIT", "x + LIMIT"),
        ("x * LIMIT", "x * 7"),
        ("LIMIT = 7", "LIMIT = 8"),
        ("LIMIT = 7", "LIMIT = 7.0"),
        ("LIMIT = 7", "LIMIT = True"),
        ("LIMIT = 7", "LIMIT = np.int8(7)"),
        ("np.arange(4)", "np.arange(1, 5)"),
        ("np.arange(4)", "np.arange(4, dtype=np.int32)"),
        ("np.arange(4)", "np.arange(4).reshape(2, 2)"),
        ("(1, (2, 3))", "(1, (2, 4))"),
        ("(1, (2, 3))", "((1, 2), 3)"),
        ("LIST = [1, 2]", "LIST = [1, 2, 3]"),
        ("more=5", "more=6"),
        ("more=5", "more=5.0"),
        ("TABLE[0]", "TABLE[1]"),
        ("math.floor(1.5)", "math.ceil(1.5)"),
        ("@njit\ndef callee", "@njit_inline\ndef callee"),
        ("@njit\ndef caller", "@njit_inline\ndef caller"),
    ],
)
def test_what_compiled_code_sees_counts(old: str, new: str) -> None:
    assert caller_hash(old, new) != caller_hash()


def test_small_differences_of_numbers_count() -> None:
    values = ["0.0", "-0.0", "0", "False", "float('nan')", "np.float32(0)", "np.float64(0)", "np.uint8(0)", "None"]
    assert len({caller_hash("LIMIT = 7", f"LIMIT = {value}") for value in values}) == len(values)


def test_all_of_a_long_array_counts() -> None:
    hashes = {caller_hash("np.arange(4)", f"np.arange(100000) == {i}") for i in (0, 50000, 99999)}
    assert len(hashes) == 3


def test_view_of_an_array_counts_as_its_elements() -> None:
    assert caller_hash("np.arange(4)", "np.arange(8)[::2] // 2") == caller_hash()


# Closures


def scaled(factor: Any) -> Any:
    @njit
    def scale(x):
        return factor * x

    return scale


def around(inner: Any) -> Any:
    @njit
    def outer(x):
        return inner(x) + 1

    return outer


def test_closure_variables_count() -> None:
    hashes = {hash_of(scaled(factor)) for factor in (1, 2, 2.0, np.float32(2))}
    assert len(hashes) == 4 and hash_of(scaled(2)) in hashes


def test_closure_variables_of_callees_count() -> None:
    assert hash_of(around(scaled(1))) != hash_of(around(scaled(2)))
    assert hash_of(around(scaled(1))) == hash_of(around(scaled(1)))
    assert (around(scaled(3))(2), around(scaled(4))(2)) == (7, 9)


def test_lambdas_within_a_function_count() -> None:
    texts = [f"def f(x):\n    return (lambda y: y + {n})(x)" for n in (1, 2)]
    assert len({hash_of(Function(module_of(text)["f"])) for text in texts}) == 2


# Modules and classes that a function names


def hash_with(expression: str, **names: Any) -> str:
    """The hash of a function that has an expression of some globals."""
    plain: FunctionType = module_of(f"def f(x):\n    return x + {expression}")["f"]
    plain.__globals__.update(names)
    return hash_of(Function(plain))


def helper(text: str, name: str = "helper") -> ModuleType:
    module = ModuleType(name)
    exec(text, module.__dict__)
    return module


def test_attributes_of_modules_count_if_they_are_named() -> None:
    before = hash_with("helper.A", helper=helper("A = 1; B = 1"))
    assert hash_with("helper.A", helper=helper("A = 1; B = 2; C = 3")) == before
    assert hash_with("helper.A", helper=helper("A = 2; B = 1")) != before


def test_functions_of_modules_count() -> None:
    text = "def double(x):\n    return {} * x"
    hashes = [hash_with("helper.double(x)", helper=helper(text.format(n))) for n in (2, 2, 3)]
    assert hashes[0] == hashes[1] != hashes[2]


def test_attributes_of_modules_within_modules_count() -> None:
    def hash_of_package(value: int) -> str:
        package = helper("", "package")
        package.inner = helper(f"A = {value}", "package.inner")  # type: ignore[attr-defined]
        return hash_with("package.inner.A", package=package)

    assert hash_of_package(1) == hash_of_package(1) != hash_of_package(2)


def test_modules_that_name_each_other_come_to_an_end() -> None:
    one, two = helper("A = 1", "one"), helper("A = 2", "two")
    one.two, two.one = two, one  # type: ignore[attr-defined]
    assert hash_with("one.two.one.two.A", one=one)


def test_members_of_an_enumeration_count() -> None:
    text = "import enum\nclass Colour(enum.{}):\n    RED = {}"
    for kind in ("IntEnum", "Enum"):
        hashes = [hash_with("Colour.RED.value", Colour=module_of(text.format(kind, n))["Colour"]) for n in (1, 1, 2)]
        assert hashes[0] == hashes[1] != hashes[2], kind


def test_fields_of_a_named_tuple_count() -> None:
    text = "from collections import namedtuple\nsizes = namedtuple('Sizes', '{}')(1, 2)"
    fields = ("width height", "width height", "height width")
    hashes = [hash_with("sizes.width", sizes=module_of(text.format(names))["sizes"]) for names in fields]
    assert hashes[0] == hashes[1] != hashes[2]


def test_record_types_count() -> None:
    types = [np.dtype([("a", np.int32), ("b", np.int32)]), np.dtype([("b", np.int32), ("a", np.int32)])]
    hashes = [hash_with("TYPE", TYPE=dtype) for dtype in (*types, np.dtype(np.int8))]
    assert len(set(hashes)) == 3


def test_functions_compiled_by_numba_itself_count() -> None:
    import numba

    def hash_calling(text: str, **options: Any) -> str:
        return hash_with("theirs(x)", theirs=numba.njit(**options)(module_of(text)["theirs"]))

    before = hash_calling("def theirs(x):\n    return x + 1.5")
    assert hash_calling("def theirs(x):\n    return x + 1.5") == before
    assert hash_calling("def theirs(x):\n    return x + 2.5") != before
    assert hash_calling("def theirs(x):\n    return x + 1.5", fastmath=True) != before


# Cycles


@njit
def is_even(n):
    return True if n == 0 else is_odd(n - 1)


@njit
def is_odd(n):
    return False if n == 0 else is_even(n - 1)


@njit
def factorial(n):
    return 1 if n < 2 else n * factorial(n - 1)


def test_functions_that_call_themselves_have_a_hash_and_compile() -> None:
    assert len({hash_of(function) for function in (is_even, is_odd, factorial)}) == 3
    assert factorial(5) == 120


def test_change_in_a_cycle_is_noticed() -> None:
    text = "def a(n):\n    return b(n)\n\ndef b(n):\n    return {} if n < 0 else a(n - 1)\n"
    hashes = [hash_of(Function(module_of(text.format(n))["a"])) for n in (1, 1, 2)]
    assert hashes[0] == hashes[1] != hashes[2]


def test_asked_functions_in_llvm_are_listed() -> None:
    from treespan.core.atomics import atomic_add
    from treespan.core.clock import now_ns

    @njit_inline
    def inner(array):
        return atomic_add(array, 0, 1)

    @njit
    def outer(array):
        return inner(array) + now_ns()

    asked: Any = Fingerprint(outer).lowered  # type: ignore[arg-type]  # what the decorator makes
    assert asked == {atomic_add, now_ns}


# Processes

HASHES = """
from treespan.games.tictactoe import TicTacToe
from treespan.games.go.game import Go
from treespan.search.uct import run_uct
functions = [run_uct, *TicTacToe.rules.values(), *Go.rules.values()]
print(*[function.fingerprint.hash for function in functions])
"""


def test_hash_is_the_same_in_every_process(tmp_path: Path) -> None:
    first, second = (output(HASHES, tmp_path, PYTHONHASHSEED=seed) for seed in ("1", "2"))
    assert first == second and len(set(first)) > 6


def edit(path: Path, old: str, new: str) -> None:
    text = path.read_text()
    assert text.count(old) == 1
    path.write_text(text.replace(old, new))


def test_edited_callee_in_another_file_is_noticed_and_nothing_else_is(tmp_path: Path) -> None:
    copy, home = tmp_path / "src", tmp_path / "home"
    shutil.copytree(PACKAGE, copy / "treespan", ignore=shutil.ignore_patterns("__pycache__"))
    rng = copy / "treespan" / "core" / "rng.py"
    assert output(DRAW, tmp_path, source=copy, home=home) == [DRAWN, "True"]
    rng.write_text("# A comment.\n\n" + rng.read_text() + "\n\ndef unused():\n    pass\n")
    (copy / "treespan" / "core" / "sketch.py").write_text("")
    assert output(DRAW, tmp_path, source=copy, home=home) == [DRAWN, "False"]
    edit(rng, "    return mix64(z)\n", "    return z\n")
    assert output(DRAW, tmp_path, source=copy, home=home) == ["0x9e3779b97f4a7c15", "True"]
    edit(rng, "    return z\n", "    return mix64(z)\n")
    assert output(DRAW, tmp_path, source=copy, home=home) == [DRAWN, "False"]
    assert len(entries(home)) == 2


def test_edited_compiler_is_noticed(tmp_path: Path) -> None:
    copy, home = tmp_path / "src", tmp_path / "home"
    shutil.copytree(PACKAGE, copy / "treespan", ignore=shutil.ignore_patterns("__pycache__"))
    assert output(DRAW, tmp_path, source=copy, home=home) == [DRAWN, "True"]
    with (copy / "treespan" / "core" / "lowering.py").open("a") as file:
        file.write("\n# edited\n")
    assert output(DRAW, tmp_path, source=copy, home=home) == [DRAWN, "True"]


GAME = """
from dataclasses import dataclass
import numpy as np
import prizes
from prizes import taken_by, BONUS
from treespan.games.rules import Game

@dataclass(frozen=True)
class Prize(Game):
    name = "prize"
    fields = (("taken", np.int8), ("to_play", np.int8))
    max_moves = 2
    max_plies = 1

    @staticmethod
    def legal_moves(state, moves):
        moves[0], moves[1] = 0, 1
        return 2 - 2 * (state.taken > 0)

    @staticmethod
    def play(state, move):
        state.taken = taken_by(move)

    @staticmethod
    def reward(state):
        return prizes.VALUES[state.taken - 1] + BONUS
"""
PRIZES = """
import numpy as np
VALUES = np.array([0.25, 0.5])
BONUS = 0.0

def taken_by(move):
    return move + 1
"""
SEARCH_GAME = """
import sys
from treespan.games.position import Position
from treespan.games.registry import make_game
from treespan.search.options import SearchOptions
from treespan.search.searcher import Searcher

game = make_game(sys.argv[1])
searcher = Searcher(game, SearchOptions(nodes=100))
searcher.set_position(Position(game))
searcher.run(50)
values = {move.move: round(move.value, 4) for move in searcher.root().moves}
print(values["0"], values["1"], "numba" in sys.modules)
"""


def test_edited_module_that_a_users_game_imports_changes_its_search(tmp_path: Path) -> None:
    game, prizes = tmp_path / "prize.py", tmp_path / "prizes.py"
    # The helper is plain Python or compiled: rules may call either.
    decorated = PRIZES.replace("def taken_by", "from treespan.core.jit import njit\n\n@njit\ndef taken_by")
    game.write_text(GAME)

    def search(text: str) -> list[str]:
        prizes.write_text(text)
        return output(SEARCH_GAME, tmp_path, str(game))

    assert search(decorated)[:2] == ["0.25", "0.5"]
    assert search(decorated) == ["0.25", "0.5", "False"]
    assert search(decorated.replace("0.25, 0.5", "0.75, 0.5"))[:2] == ["0.75", "0.5"]
    assert search(decorated.replace("BONUS = 0.0", "BONUS = 0.25"))[:2] == ["0.5", "0.75"]
    assert search(decorated.replace("move + 1", "2 - move"))[:2] == ["0.5", "0.25"]
    assert search(decorated + "\n# a comment\nUNUSED = 1\n") == ["0.25", "0.5", "False"]


def test_edited_game_of_a_user_is_noticed(tmp_path: Path) -> None:
    game = tmp_path / "prize.py"
    (tmp_path / "prizes.py").write_text(
        PRIZES.replace("def taken_by", "from treespan.core.jit import njit\n@njit\ndef taken_by")
    )
    answers = []
    for bonus in ("0.125", "0.375", "0.125"):
        game.write_text(GAME.replace("+ BONUS", f"+ {bonus}"))
        answers.append(output(SEARCH_GAME, tmp_path, str(game)))
    assert [answer[0] for answer in answers] == ["0.375", "0.625", "0.375"]
    assert answers[2][2] == "False"


# Hashes of files


def test_digest_depends_on_content_and_place_of_sources_only(tmp_path: Path) -> None:
    (tmp_path / "a").mkdir()
    (tmp_path / "a" / "one.py").write_text("x = 1\n")
    digests = [source_digest(tmp_path)]
    (tmp_path / "a" / "one.py").write_text("x = 2\n")
    digests.append(source_digest(tmp_path))
    (tmp_path / "a" / "one.py").rename(tmp_path / "a" / "two.py")
    digests.append(source_digest(tmp_path))
    (tmp_path / "three.py").write_text("")
    digests.append(source_digest(tmp_path))
    assert len(set(digests)) == 4
    (tmp_path / "notes.txt").write_text("nothing compiled")
    os.utime(tmp_path / "three.py", (0, 0))
    assert source_digest(tmp_path) == digests[-1]


def test_digest_of_the_compiler_is_that_of_all_its_files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from treespan.core import sources

    shutil.copytree(PACKAGE / "core", tmp_path / "core")
    monkeypatch.setattr(sources, "__file__", str(tmp_path / "core" / "sources.py"))
    digests = {compiler_digest()}
    for count, name in enumerate(sources.COMPILER, start=2):
        with (tmp_path / "core" / name).open("a") as file:
            file.write("#")
        digests.add(compiler_digest())
        assert len(digests) == count, name
    with (tmp_path / "core" / "rng.py").open("a") as file:
        file.write("#")
    assert compiler_digest() in digests
