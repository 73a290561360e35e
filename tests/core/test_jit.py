"""The compiling decorators: when the compiler is needed, what compiled code takes, gives and cannot do."""

from pathlib import Path
from typing import Any, cast

import numpy as np
import pytest

from tests.support.programs import DRAW, DRAWN, SEARCH, entries, output, run
from treespan.core.diagnosis import CompileError
from treespan.core.jit import JIT_DISABLED, Function, njit, njit_inline
from treespan.core.kinds import KindError

pytestmark = pytest.mark.skipif(JIT_DISABLED, reason="nothing is compiled")

# When the compiler is needed

IMPORTS = """
import sys
import treespan.games.tictactoe, treespan.games.go.game, treespan.games.havannah, treespan.games.samegame
import treespan.search.searcher, treespan.schemes.divided_tree.scheme, treespan.engine.engine
print("numba" in sys.modules, "llvmlite" in sys.modules)
"""


def test_importing_games_and_searches_does_not_import_numba(tmp_path: Path) -> None:
    assert output(IMPORTS, tmp_path) == ["False", "False"]


def test_search_whose_code_is_kept_does_not_import_numba_and_gives_the_same(tmp_path: Path) -> None:
    # In the store of this run: compiling the search once more, in a new one, would take long and show no more.
    first, second = output(SEARCH, tmp_path), output(SEARCH, tmp_path)
    assert second[-1] == "False"
    assert second[:-1] == first[:-1] and len(first) > 9


def test_second_process_compiles_nothing(tmp_path: Path) -> None:
    home = tmp_path / "home"
    assert output(DRAW, tmp_path, home=home) == [DRAWN, "True"]
    files = entries(home)
    assert output(DRAW, tmp_path, home=home) == [DRAWN, "False"]
    assert files and entries(home) == files


def test_decorating_compiles_nothing() -> None:
    @njit
    def broken(x):
        return x.no_such_attribute

    assert isinstance(broken, Function) and not broken.variants
    with pytest.raises(CompileError, match="no_such_attribute"):
        broken(1)
    assert not broken.variants


def test_code_is_compiled_once_for_each_kind_of_arguments() -> None:
    @njit
    def twice(x):
        return x + x

    assert [twice(value) for value in (4, 5, 1.5, np.float32(0.25))] == [8, 10, 3.0, 0.5]
    assert set(cast(Any, twice).variants) == {("int64",), ("float64",), ("float32",)}


def test_decorated_function_keeps_its_name_and_its_documentation() -> None:
    def plain(x):
        """What it does."""
        return x

    for decorated in (njit(plain), njit_inline(plain)):
        assert decorated.__name__ == "plain" and decorated.__doc__ == "What it does."
        assert decorated.__wrapped__ is plain  # type: ignore[attr-defined]  # pytest and inspect look there
        assert decorated(3) == 3


def test_code_without_a_file_can_be_compiled() -> None:
    names: dict[str, Any] = {}
    exec("def nowhere(x):\n    return x + 1\n", names)
    assert njit(names["nowhere"])(1) == 2


# Arguments


@njit
def digits(a, b=2, c=3):
    return 100 * a + 10 * b + c


def test_missing_arguments_are_the_defaults() -> None:
    assert (digits(1), digits(1, 5), digits(1, 5, 6)) == (123, 153, 156)


@pytest.mark.parametrize("arguments", [(), (1, 2, 3, 4)])
def test_wrong_number_of_arguments_is_a_type_error(arguments: tuple[int, ...]) -> None:
    with pytest.raises(TypeError, match=rf"digits\(\) takes 3 arguments, not {len(arguments)}"):
        cast(Any, digits)(*arguments)


@njit
def same(x):
    return x


NUMBERS = [
    *(kind(limit) for kind in (np.int8, np.int16, np.int32, np.int64) for limit in (np.iinfo(kind).min, -1)),
    *(kind(np.iinfo(kind).max) for kind in (np.uint8, np.uint16, np.uint32, np.uint64)),
    *(0, -1, 2**63 - 1, -(2**63), True, False, 1.5, -0.25, np.float32(0.1), np.float64(0.1), np.bool_(True)),
]


@pytest.mark.parametrize("number", NUMBERS, ids=lambda number: f"{type(number).__name__} {number}")
def test_number_arrives_and_returns_as_it_is(number: Any) -> None:
    result = same(number)
    assert result == number
    assert type(result) is type(number.item() if isinstance(number, np.generic) else number)


@pytest.mark.parametrize("number", [2**63, -(2**63) - 1, 2**70])
def test_number_that_does_not_fit_is_refused(number: int) -> None:
    with pytest.raises((KindError, OverflowError)):
        same(number)


@pytest.mark.parametrize(
    ("value", "remedy"),
    [
        (np.zeros(6)[::2], "C-contiguous.*np.ascontiguousarray"),
        (np.zeros((2, 3)).T, "C-contiguous.*np.ascontiguousarray"),
        (np.zeros(2, dtype=complex), "complex128; known: .*float64"),
        (np.array(["a"]), "no numbers of type str"),
        ([1, 2], "cannot take a list"),
        ((1, 2), "cannot take a tuple"),
        ("text", "cannot take a str"),
        (None, "cannot take a NoneType"),
        (object(), "cannot take a object"),
    ],
)
def test_value_that_compiled_code_cannot_take_is_refused(value: Any, remedy: str) -> None:
    with pytest.raises(KindError, match=remedy):
        same(value)
    with pytest.raises(KindError, match=remedy):
        digits(1, value)


# Results


@njit
def nothing(x):
    x[0] = 7


@njit
def several(x):
    return x > 1, np.int8(-x), x / 2, x > 5, np.uint64(x), np.float32(0.5), np.uint16(65535), False


@njit
def pair(x):
    return x, x + 1


def test_result_may_be_nothing() -> None:
    cell = np.zeros(1, dtype=np.int64)
    assert nothing(cell) is None and cell[0] == 7


def test_result_may_be_a_tuple_of_any_numbers() -> None:
    result = several(3)
    assert result == (True, -3, 1.5, False, 3, 0.5, 65535, False)
    assert [type(part) for part in result] == [bool, int, float, bool, int, float, int, bool]
    assert pair(4) == (4, 5) and pair(0.5) == (0.5, 1.5)


def test_truth_is_a_bool() -> None:
    @njit
    def is_small(x):
        return x < 3

    assert is_small(2) is True and is_small(4) is False


# What compiled code does otherwise than Python, and what it cannot do


def test_division_by_zero_gives_infinity_as_in_numpy() -> None:
    @njit
    def ratio(a, b):
        return a / b

    assert ratio(1.0, 0.0) == np.inf and np.isnan(ratio(0.0, 0.0))


@njit
def allocate_array(n):
    return np.zeros(n).sum()


@njit
def allocate_list(n):
    return len([n, n])


@njit
def sum_of_view(array):
    return array[1:].sum()


def test_compiled_code_cannot_allocate() -> None:
    """Without Numba's runtime there is nothing to allocate with: an array is refused as a type error, a list
    when code is generated. Both happen at the first call, before anything runs. Views allocate nothing."""
    with pytest.raises(CompileError, match="zeros"):
        allocate_array(3)
    with pytest.raises(CompileError, match="cannot make lists"):
        allocate_list(3)
    assert sum_of_view(np.ones(3)) == 2.0


# Indices out of bounds

BOUNDS = """
from dataclasses import dataclass
import numpy as np
from treespan.core.compiled import CompiledCodeError
from treespan.core.handles import Handle, call_entry, entry_of, value_of
from treespan.core.jit import njit
from treespan.games.position import Position
from treespan.games.rules import Game, play
from treespan.runtimes.rings import Rings
from treespan.search.options import SearchOptions
from treespan.search.searcher import Searcher

@njit
def element(array, index):
    return array[index]

@njit
def caller(array, index):
    return element(array, index)

@njit
def entry(handle, first, second):
    return np.int64(value_of(handle).written[first])

@njit
def by_address(address, handle, index):
    return call_entry(address, handle, index, 0)

@dataclass(frozen=True)
class Edge(Game):
    name = "edge"
    fields = (("board", np.int8, (4,)), ("taken", np.int64), ("to_play", np.int8))
    max_moves = 2
    max_plies = 9

    @staticmethod
    def legal_moves(state, moves):
        moves[0], moves[1] = 0, 1
        return 2 if state.taken < 9 else 0

    @staticmethod
    def play(state, move):
        state.board[state.taken] = 1
        state.taken += 1

    @staticmethod
    def reward(state):
        return 0.5

def attempt(name, function, *arguments):
    try:
        function(*arguments)
        print(name, "passes")
    except CompiledCodeError as error:
        print(name, "stops", isinstance(error, IndexError), str(error).replace(" ", "_"))

ones = np.ones(3, dtype=np.int64)
handle = Handle(Rings(ones, ones, ones))
address = entry_of(entry, handle)
attempt("inside", caller, ones, 2)
attempt("direct", caller, ones, 3)
attempt("address", by_address, address, handle.number, 0)
attempt("address", by_address, address, handle.number, 3)

game = Edge()

@njit
def ask(game, state, move):
    play(game, state, move)

state = game.new_state()
attempt("rule", ask, game, state, np.int32(0))
state.taken = 4
attempt("rule", ask, game, state, np.int32(0))

searcher = Searcher(game, SearchOptions(nodes=100))
searcher.set_position(Position(game))
attempt("search", searcher.run, 10)
"""


def test_index_out_of_bounds_raises_in_python_where_it_is_checked(tmp_path: Path) -> None:
    """In a function, in an entry that is called by its address, in a game's rule, in one that a search asks."""
    done = run(BOUNDS, tmp_path, NUMBA_BOUNDSCHECK="1")
    assert done.returncode == 0, done.stderr
    lines = [line.split() for line in done.stdout.splitlines()]
    assert [line[:2] for line in lines] == [
        ["inside", "passes"],
        ["direct", "stops"],
        ["address", "passes"],
        ["address", "stops"],
        ["rule", "passes"],
        ["rule", "stops"],
        ["search", "stops"],
    ]
    stopped = [line for line in lines if line[1] == "stops"]
    assert all(line[2] == "True" and "out_of_bounds" in line[3] for line in stopped)
    assert "Traceback" not in done.stderr


def test_bounds_checked_code_is_kept_apart(tmp_path: Path) -> None:
    home = tmp_path / "home"
    assert output(DRAW, tmp_path, home=home, NUMBA_BOUNDSCHECK="0")[0] == DRAWN
    unchecked = set(entries(home))
    assert output(DRAW, tmp_path, home=home, NUMBA_BOUNDSCHECK="1") == [DRAWN, "True"]
    assert len(entries(home)) == 2 * len(unchecked) and unchecked < set(entries(home))


def test_without_the_jit_functions_stay_plain(tmp_path: Path) -> None:
    home = tmp_path / "home"
    program = DRAW.replace("print(", "print(type(draw).__name__, ")
    assert output(program, tmp_path, home=home, NUMBA_DISABLE_JIT="1") == ["function", DRAWN, "False"]
    assert not home.exists()
