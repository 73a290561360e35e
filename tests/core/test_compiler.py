"""What rests on Numba's internals: when an upgrade breaks something, these tests say what."""

import ctypes
from pathlib import Path
from typing import Any, NamedTuple, cast

import llvmlite.binding as llvm
import numba
import numpy as np
import pytest

from tests.support.programs import output
from treespan.core import compiled
from treespan.core.clock import now_ns
from treespan.core.compiled import CompiledCodeError
from treespan.core.diagnosis import CompileError
from treespan.core.handles import Handle, call_entry, entry_of, value_of
from treespan.core.jit import JIT_DISABLED, Function, njit, njit_inline, njit_unit
from treespan.core.kinds import OpaqueRecords, kind_of, places_of, words_of
from treespan.core.records import new_records, record_dtype

pytestmark = pytest.mark.skipif(JIT_DISABLED, reason="nothing is compiled")

if not JIT_DISABLED:
    from treespan.core import compiler


# Lean compiling


@njit
def inner(array, place):
    total = 0.0
    for i in range(len(array)):
        total += array[i] * place
    return total


@njit
def outer(array, place):
    return inner(array, place) + inner(array, place + 1)


KINDS = (("array", "float64", 1), "int64")


def linked(function: Any, kinds: tuple[Any, ...] = KINDS) -> tuple[Any, list[str]]:
    compiled = compiler.translate(function, kinds)
    return compiler._linked(compiled.library, compiled.fndesc.llvm_func_name, "treespan_test")


def test_only_the_entry_is_optimised_as_a_module_and_nothing_is_loaded(monkeypatch: pytest.MonkeyPatch) -> None:
    @njit
    def below(x):
        return x * 3

    @njit
    def above(x):
        return below(x) + below(x + 1)

    optimised = []
    real = compiler.LeanLibrary._optimize_final_module

    def optimise(library: Any) -> None:
        optimised.append(library.name)
        real(library)

    monkeypatch.setattr(compiler.LeanLibrary, "_optimize_final_module", optimise)
    linked(above, ("int64",))
    assert optimised == ["treespan_test"]
    for function in (above, below):
        (result,) = cast(Any, function).dispatcher.overloads.values()
        assert isinstance(result.library, compiler.LeanLibrary)
        engine = result.library._codegen._engine
        assert not engine.is_symbol_defined(result.fndesc.llvm_func_name)
        assert result.library._final_module not in engine._ee._modules


def test_entry_is_optimised_as_a_whole() -> None:
    module, _ = linked(outer)
    text = str(module)
    assert "phi" in text and text.count("alloca") == 0
    assert "inner" not in [function.name for function in module.functions if not function.is_declaration]


def test_entry_has_one_symbol_that_others_see() -> None:
    module, _ = linked(outer)
    defined = [value for value in (*module.functions, *module.global_variables) if not value.is_declaration]
    seen = [value.name for value in defined if value.linkage not in (llvm.Linkage.internal, llvm.Linkage.private)]
    assert seen == ["treespan_test"]


def test_no_variable_of_an_entry_is_left_to_numbas_loader() -> None:
    """Numba has pointers filled in when it loads code: of functions that call each other, of its environments."""
    module, _ = linked(outer, KINDS)
    assert not [value.name for value in module.global_variables if value.is_declaration]
    with pytest.raises(CompileError, match="is_even does not compile: functions that call each other in a circle"):
        is_even(10)


@njit
def is_even(n):
    return True if n == 0 else is_odd(n - 1)


@njit
def is_odd(n):
    return False if n == 0 else is_even(n - 1)


def test_functions_that_an_entry_expects_elsewhere_are_listed() -> None:
    @njit
    def timed(x):
        return x + now_ns()

    _, externals = linked(timed, ("float64",))
    assert set(externals) == {"clock_gettime"}
    assert linked(outer)[1] == []
    assert timed(0.5) > 0


def test_facts_of_an_entry_are_its_result_and_what_it_expects() -> None:
    facts, code = compiler.compile_variant(cast(Any, outer), KINDS, "treespan_test")
    assert facts == {"result": "float64", "externals": []} and code[:4] == b"\x7fELF"
    assert b"treespan_test" in code


def test_inline_function_is_marked_for_llvm() -> None:
    @njit_inline
    def small(x):
        return x + 1

    @njit
    def plain(x):
        return x + 1

    texts = [str(compiler.translate(cast(Any, one), ("int64",)).library._final_module) for one in (small, plain)]
    assert ["alwaysinline" in text for text in texts] == [True, False]


def test_entry_vectorises_for_this_cpu() -> None:
    @njit
    def add(a, b):
        for i in range(len(a)):
            a[i] += b[i]

    module, _ = linked(add, (("array", "float64", 1),) * 2)
    assert "x double>" in str(module)


# Numba beside us


def test_numbas_own_functions_work_before_and_after_ours(tmp_path: Path) -> None:
    program = """
import numba
import numpy as np
from treespan.core.jit import njit

def allocate(n):
    return np.arange(n).astype(np.float64) * 2

def listed(n):
    return [i for i in range(n)]

def ours(a):
    return a.sum()

before, before_list = numba.njit(allocate), numba.njit(listed)
print(before(3).sum(), len(before_list(3)))
print(njit(ours)(np.ones(4)))
print(numba.njit(lambda n: np.zeros(n) + 1)(5).sum(), before(4).sum(), before_list(2), before(np.int8(3)).sum())

@numba.njit(parallel=False)
def failing(n):
    if n > 2:
        raise ValueError("of the user")
    return n

try:
    failing(3)
except ValueError as error:
    print(error)
print(numba.njit(failing.py_func)(1))
"""
    ours_first = program.replace("before, before_list =", "print(njit(ours)(np.ones(4)))\nbefore, before_list =")
    expected = ["6.0", "3", "4.0", "5.0", "12.0", "[0,", "1]", "6.0", "of", "the", "user", "1"]
    # Compiled, then found: Numba's runtime starts late or not at all by us.
    for text, answer in ((program, expected), (ours_first, ["4.0", *expected]), (program, expected)):
        assert output(text, tmp_path, home=tmp_path / "home") == answer


@numba.njit
def theirs(x):
    return 3 * x + 1


def test_function_of_numbas_own_can_be_called_from_ours() -> None:
    @njit
    def ours(x):
        return theirs(x) + 1

    assert (ours(2), theirs(2), ours(0.5)) == (8, 7, 3.5)


# Fields of structs


class Inner(NamedTuple):
    flag: bool
    cells: np.ndarray
    ratio: float


class Outer(NamedTuple):
    first: Inner
    small: Any
    line: np.ndarray
    grid: np.ndarray
    cube: np.ndarray
    flags: np.ndarray
    record: Any
    records: np.ndarray
    second: Inner
    states: OpaqueRecords
    last: Any


ITEM = record_dtype([("a", np.int8), ("pair", np.float32, (2,)), ("b", np.uint64)])


def new_outer(small: Any = 7, last: Any = 9) -> Outer:
    items = new_records(ITEM, 3)
    items.a, items.b, items.pair = [1, 2, 3], [10, 2**64 - 1, 30], [[0.5, 1.5], [2.5, 3.5], [4.5, 5.5]]
    states = new_records(ITEM, 4)
    states.a = [5, 6, 7, 8]
    return Outer(
        first=Inner(True, np.arange(3), 0.25),
        small=small,
        line=np.arange(4, dtype=np.float32) / 2,
        grid=np.arange(6, dtype=np.int16).reshape(2, 3),
        cube=np.arange(24, dtype=np.uint8).reshape(2, 3, 4),
        flags=np.array([True, False, True]),
        record=items[1],
        records=items,
        second=Inner(False, np.arange(3) + 100, -0.5),
        states=states,
        last=last,
    )


SMALL = [np.int8(-3), np.uint8(200), np.int16(-300), np.uint16(65535), np.int32(-(2**31)), np.uint32(2**32 - 1)]
SMALL += [-(2**63), np.uint64(2**64 - 1), True, False, np.bool_(True), np.float32(0.1), -0.25, np.float64(0.1)]


@njit
def small_of(all):
    return all.small


@njit
def last_of(all):
    return all.last


@pytest.mark.parametrize("value", SMALL, ids=lambda value: f"{type(value).__name__} {value}")
def test_number_in_a_struct_is_loaded_as_it_is(value: Any) -> None:
    assert small_of(new_outer(small=value)) == value
    assert last_of(new_outer(small=True, last=value)) == value


@njit
def shapes_of(all):
    return (
        len(all.line),
        all.grid.shape[0],
        all.grid.shape[1],
        all.cube.shape[0],
        all.cube.shape[1],
        all.cube.shape[2],
        all.cube.strides[0],
        all.cube.strides[1],
        all.cube.strides[2],
        all.grid.strides[0],
        all.cube.size,
        all.grid.itemsize,
        all.records.strides[0],
    )


def test_arrays_in_a_struct_have_their_shapes_and_strides() -> None:
    value = new_outer()
    cube, grid = value.cube, value.grid
    expected = (4, 2, 3, 2, 3, 4, *cube.strides, grid.strides[0], 24, 2, ITEM.itemsize)
    assert shapes_of(value) == expected


@njit
def elements_of(all):
    return (
        all.first.flag,
        all.second.flag,
        all.first.cells[2],
        all.second.cells[2],
        all.first.ratio,
        all.second.ratio,
        all.line[3],
        all.grid[1, 2],
        all.cube[1, 2, 3],
        all.cube[0, 1, 2],
        all.flags[0],
        all.flags[1],
    )


@njit
def items_of(all):
    return all.record.a, all.record.b, all.record.pair[1], all.records[2].a, all.records[0].b, all.records[2].pair[0]


def test_elements_are_found_in_nested_structs_arrays_and_records() -> None:
    value = new_outer()
    assert elements_of(value) == (True, False, 2, 102, 0.25, -0.5, 1.5, 5, 23, 6, True, False)
    assert items_of(value) == (2, 2**64 - 1, 3.5, 3, 10, 4.5)
    assert elements_of(Handle(value)) == elements_of(value)


@njit
def write_all(all):
    all.first.cells[0] = -1
    all.second.cells[1] = -2
    all.cube[1, 0, 3] = 99
    all.flags[1] = True
    all.record.a = 77
    all.records[0].pair[1] = 8.5


def test_what_compiled_code_writes_python_sees() -> None:
    value = new_outer()
    write_all(value)
    assert (value.first.cells[0], value.second.cells[1], value.cube[1, 0, 3]) == (-1, -2, 99)
    assert value.flags.all() and value.records[1].a == 77 and value.records[0].pair[1] == 8.5
    assert value.cube.sum() == np.arange(24).sum() - 15 + 99


@njit
def sum_of_part(part, times):
    return times * (part.cells.sum() + part.ratio)


@njit
def sum_of_parts(all):
    return sum_of_part(all.first, 1) + sum_of_part(all.second, 2)


def test_nested_struct_can_be_given_to_another_function() -> None:
    assert sum_of_parts(new_outer()) == 3.25 + 2 * (303 - 0.5)


@njit
def copy_state(all, source, target):
    all.states[target] = all.states[source]


def test_positions_are_copied_whole() -> None:
    value = new_outer()
    value.states.b = [1, 2**64 - 1, 3, 4]
    value.states.pair[1] = [0.5, 0.25]
    before = value.states.copy()
    copy_state(value, 1, 2)
    assert value.states[2] == before[1]
    assert [value.states[i] == before[i] for i in (0, 1, 3)] == [True] * 3


def test_empty_arrays_have_no_elements() -> None:
    value = new_outer()._replace(line=np.zeros(0, dtype=np.float32), cube=np.zeros((0, 3, 4), dtype=np.uint8))
    assert shapes_of(value)[:1] == (0,) and shapes_of(value)[3:6] == (0, 3, 4)


def test_block_has_a_place_for_every_field() -> None:
    kind = kind_of(new_outer())
    places = {name: at for name, (at, _) in places_of(kind).items()}
    assert places["first"] == 0 and places["small"] == 4 and places["grid"] == 7 and places["cube"] == 10
    assert words_of(kind) == places["last"] + 1


def test_unknown_field_is_refused() -> None:
    @njit
    def unknown(all):
        return all.no_such_field

    with pytest.raises(CompileError, match="no_such_field"):
        unknown(new_outer())


# The calling convention


@njit
def describe(one, two, three, number):
    return (
        *one.shape,
        *two.shape,
        *three.shape,
        *one.strides,
        *two.strides,
        *three.strides,
        one.size,
        two.size,
        three.itemsize,
        number,
    )


def test_arrays_arrive_with_their_shapes_and_strides() -> None:
    arrays = np.zeros(5, np.int8), np.zeros((2, 3), np.float32), np.zeros((4, 1, 2), np.int64)
    shapes = [length for array in arrays for length in array.shape]
    strides = [step for array in arrays for step in array.strides]
    assert describe(*arrays, 42) == (*shapes, *strides, 5, 6, 8, 42)


@njit
def cell(three, i, j, k):
    return three[i, j, k]


def test_every_element_is_where_it_should_be() -> None:
    cube = np.arange(24.0).reshape(2, 3, 4)
    assert all(cell(cube, *place) == cube[place] for place in np.ndindex(2, 3, 4))
    assert cell(cube, -1, -1, -1) == 23.0


def test_many_arguments_of_mixed_kinds_arrive() -> None:
    @njit
    def mixed(a, b, c, d, e, f, g, h, i, j, k, l):  # noqa: E741
        return a + b + c + d + e + f + g + h[0] + i + j[1, 0] + k + l

    grid = np.array([[0.0], [512.0]])
    numbers: list[Any] = [np.int8(1), 2.0, np.float32(4), 8, True, np.uint16(16), np.float64(32)]
    assert cast(Any, mixed)(*numbers, np.array([64], dtype=np.uint32), 128, grid, 256.5, np.int32(-7)) == 1017.5


@njit
def fail_below(handle, first, second):
    if first > 2:
        raise ValueError
    return np.int64(value_of(handle).first.cells[0] + first)


@njit
def call_below(entry, number, first):
    return call_entry(entry, number, first, 0)


@njit
def call_inner(handle, first):
    return fail_below(handle, first, 0) + 1


def test_failure_of_an_inner_function_reaches_python() -> None:
    handle = Handle(new_outer())
    assert call_inner(handle, 2) == 3
    with pytest.raises(CompiledCodeError, match="call_inner"):
        call_inner(handle, 3)
    assert call_below(entry_of(fail_below, handle), handle.number, 2) == 2


def test_compiled_function_runs_without_the_interpreter_lock() -> None:
    import threading
    import time

    @njit
    def wait_for(flag):
        start = now_ns()
        while flag[0] == 0 and now_ns() - start < 20 * 10**9:
            pass
        return flag[0]

    flag, answers = np.zeros(1, dtype=np.int64), list[int]()
    flag[0] = 1
    assert wait_for(flag) == 1
    flag[0] = 0
    waiting = threading.Thread(target=lambda: answers.append(wait_for(flag)))
    waiting.start()
    time.sleep(0.05)
    flag[0] = 5
    waiting.join(30)
    assert isinstance(wait_for, Function) and len(answers) == 1


LARGE = """
import numpy as np
from treespan.core.jit import njit

TABLE = np.arange(300_000)

@njit
def look_up(index):
    return TABLE[index]

print(look_up(299_999))
"""


def test_large_tables_are_part_of_the_code_that_is_kept(tmp_path: Path) -> None:
    home = tmp_path / "home"
    assert [output(LARGE, tmp_path, home=home) for _ in range(2)] == [["299999"], ["299999"]]


absolute = ctypes.CDLL(None).abs
absolute.argtypes, absolute.restype = [ctypes.c_int], ctypes.c_int


@njit
def call_by_address(number):
    return absolute(number)


def test_function_that_is_known_by_its_address_only_is_refused() -> None:
    with pytest.raises(CompileError, match="call_by_address does not compile"):
        call_by_address(-1)


@njit
def claim_positive(number):
    if number <= 0:  # an `assert` is rewritten by pytest
        raise ValueError("not positive")
    return number


def test_exception_in_compiled_code_is_an_error_in_python() -> None:
    assert claim_positive(1) == 1
    with pytest.raises(CompiledCodeError, match="claim_positive"):
        claim_positive(-1)


@njit
def print_value(number):
    if number > 2:
        print("large")
    else:
        print(number)
    return number


def test_values_cannot_be_printed() -> None:
    """Python makes what is printed, by Numba's environment of the function. Our code has none: it would hang."""
    with pytest.raises(CompileError, match=r"cannot print values or call Python; remove it, or .*: print\(") as caught:
        print_value(1)
    assert "\n" not in str(caught.value)


def test_texts_can_be_printed(tmp_path: Path) -> None:
    program = """
from treespan.core.jit import njit

@njit
def say(number):
    print("the", "number")
    return number

print(say(3), flush=True)
"""
    assert sorted(output(program, tmp_path)) == ["3", "number", "the"]


# Units


@njit_unit("float64")
def shared_sum(array, place):
    return inner(array, place)


@njit
def first_user(array):
    return shared_sum(array, 1) + 1.0


@njit
def second_user(array):
    return shared_sum(array, len(array)) - 1.0


def test_callers_are_linked_with_one_unit() -> None:
    array = np.arange(4.0)
    assert (first_user(array), second_user(array), shared_sum(array, 2)) == (7.0, 23.0, 12.0)
    (unit,) = {compiled.symbol_of(compiled.key_of((cast(Any, shared_sum), KINDS)))}
    for user in (first_user, second_user):
        module, externals = linked(user, KINDS[:1])
        assert externals == [unit]
        assert "inner" not in str(module)


def test_an_edit_of_a_unit_is_an_edit_of_its_callers() -> None:
    def user_of(factor: float) -> Any:
        @njit_unit("float64")
        def scaled(x):
            return factor * x

        @njit
        def user(x):
            return scaled(x) + 1.0

        return user

    assert user_of(2.0)(3.0) == 7.0
    assert user_of(5.0)(3.0) == 16.0


def test_a_unit_must_return_what_it_declares() -> None:
    @njit_unit("int64")
    def half(x):
        return x * 0.5

    @njit
    def user(x):
        return half(x) + 1

    with pytest.raises(CompileError, match="half returns float64, but it is declared to return int64"):
        user(3)


def test_units_that_call_each_other_are_refused() -> None:
    with pytest.raises(RecursionError, match="units that call each other in a circle"):
        odd_unit(3)


@njit_unit("bool")
def odd_unit(n):
    return False if n == 0 else even_unit(n - 1)


@njit_unit("bool")
def even_unit(n):
    return True if n == 0 else odd_unit(n - 1)


AHEAD = """
import sys
import treespan as ts
from treespan.core import compiled, compiler
asked = {}
prepare = compiled.prepare_calls
def note(calls):
    for function, arguments in calls:
        if function.unit_result:
            demand = function, compiled._kinds_of(arguments)[1]
            asked[compiled.symbol_of(compiled.key_of(demand))] = function.__qualname__
    prepare(calls)
compiled.prepare_calls = note
compiled._start_helpers = lambda *arguments: None
ts.search("tictactoe", playouts=10, **eval(sys.argv[1]))
found = {symbol: function.__qualname__ for symbol, (function, _) in compiler.units.items()}
print(sorted(name for symbol, name in asked.items() if symbol not in found))
print(sorted(name for symbol, name in found.items() if symbol not in asked))
"""


@pytest.mark.parametrize("options", ["{}", "{'scheme': 'span', 'threads': 2}"])
def test_units_that_are_compiled_ahead_are_those_of_a_search(tmp_path: Path, options: str) -> None:
    """A unit for other kinds of arguments than a search has would be compiled for nothing."""
    assert output(AHEAD, tmp_path, options, home=tmp_path / "home") == ["[]", "[]"]
