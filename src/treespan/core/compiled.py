"""Compiled code in this process: found, or compiled, and called.

A variant is a function compiled for the kinds of its arguments. Its machine code is loaded by llvmlite alone: a start
that finds all its code on disk does not import Numba.
"""

import contextlib
import ctypes
import gc
import hashlib
import os
import signal
import sys
import threading
import time
import warnings
from collections.abc import Sequence
from functools import cache
from typing import Any

import numpy as np

from treespan.core.announce import announce
from treespan.core.errors import TreespanError
from treespan.core.fingerprint import Fingerprint
from treespan.core.jit import BOUNDS_CHECKED, Function
from treespan.core.kinds import NUMBERS, Handle, Kind, argument_types, games_in, kind_of, word_of
from treespan.core.machine import usable_cores
from treespan.core.store import store, tell_problem

OK, OK_NONE = 0, -2  # statuses of Numba's calling convention; any other is an error
_NO_MATTER = ("NUMBA_CACHE_DIR", "NUMBA_NUM_THREADS")  # settings of Numba's that leave the code as it is
_lock = threading.RLock()


class CompiledCodeError(TreespanError, IndexError):
    """Compiled code has stopped with an error: an index out of bounds, or an assertion. The message is one line."""


class Variant:
    """Machine code of a function for arguments of some kinds."""

    def __init__(self, function: Function, kinds: tuple[Kind, ...], address: int, result: Kind):
        self.function, self.kinds, self.address, self.result = function, kinds, address, result
        types: list[Any] = [ctypes.c_void_p, ctypes.c_void_p]
        for kind in kinds:
            types += argument_types(kind)
        self.code = ctypes.CFUNCTYPE(ctypes.c_int32, *types)(address)
        self._result_type = _result_type(result)

    def __call__(self, arguments: Sequence[Any]) -> Any:
        """Call it from Python, without the interpreter lock."""
        values: list[Any] = []
        kept = []  # blocks, until the call is over
        for kind, value in zip(self.kinds, arguments, strict=True):
            if isinstance(kind, str) and kind in NUMBERS:
                values.append(bool(value) if kind == "bool" else value)
            elif isinstance(kind, tuple) and kind[0] == "array":
                values += _array_words(value)
            elif kind == "states":
                values += [value.ctypes.data, len(value), value.itemsize]
            elif isinstance(kind, tuple) and kind[0] == "struct":
                handle = value if isinstance(value, Handle) else Handle(value)
                kept.append(handle)
                values.append(handle.address)
            else:
                values.append(word_of(kind, value))
        result = self._result_type()
        error = ctypes.c_void_p()
        status = self.code(ctypes.addressof(result), ctypes.addressof(error), *values)
        if status not in (OK, OK_NONE):
            raise CompiledCodeError(
                f"{self.function.__qualname__}: compiled code stopped: an index is out of bounds, or an assertion fails"
                "; check the game (check_game says in which rule and line), or look with NUMBA_DISABLE_JIT=1"
            )
        return _python_value(self.result, result)


def _array_words(array: np.ndarray) -> list[int]:
    return [0, 0, array.size, array.itemsize, array.ctypes.data, *array.shape, *array.strides]


def _result_type(kind: Kind) -> Any:
    if kind == "none":
        return ctypes.c_int64
    if isinstance(kind, str):
        return NUMBERS[kind]
    fields = [(f"part{i}", NUMBERS[part]) for i, part in enumerate(kind[1])]
    return type("Result", (ctypes.Structure,), {"_fields_": fields})


def _python_value(kind: Kind, result: Any) -> Any:
    if kind == "none":
        return None
    if isinstance(kind, str):
        return bool(result.value) if kind == "bool" else result.value
    parts = (getattr(result, f"part{i}") for i in range(len(kind[1])))
    return tuple(bool(part) if of == "bool" else part for of, part in zip(kind[1], parts, strict=True))


def call(function: Function, arguments: tuple[Any, ...]) -> Any:
    """Call a function from Python, compiling it if need be."""
    plain = function.py_func
    missing = plain.__code__.co_argcount - len(arguments)
    if missing:
        defaults = plain.__defaults__ or ()
        if not 0 < missing <= len(defaults):
            raise TypeError(f"{function.__name__}() takes {plain.__code__.co_argcount} arguments, not {len(arguments)}")
        arguments += defaults[len(defaults) - missing :]
    games, kinds = _kinds_of(arguments)
    variant = function.variants.get(kinds)
    if variant is None or games:
        variant = prepare([(function, kinds)], games)[0]
    return variant(arguments)


def _kinds_of(arguments: tuple[Any, ...]) -> tuple[list[Any], tuple[Kind, ...]]:
    """The games among the arguments of a call, and the kinds of all of them."""
    games = [game for value in arguments for game in games_in(value)]
    states_of = games[0].dtype if games else None
    return games, tuple([kind_of(value, states_of) for value in arguments])


def prepare_calls(calls: Sequence[tuple[Function, tuple[Any, ...]]]) -> None:
    """Compile together what some calls from Python need."""
    games: dict[int, Any] = {}
    demands = []
    for function, arguments in calls:
        found, kinds = _kinds_of(arguments)
        games |= {id(game): game for game in found}
        demands.append((function, kinds))
    prepare(demands, list(games.values()))


def prepare(demands: Sequence["Demand"], games: Sequence[Any]) -> list[Variant]:
    """Functions, and of some games the rules that they ask for: all that must be compiled is compiled together."""
    with _lock:  # two threads may search the same game
        asked = [(game.table, demand[0]) for game in games for demand in demands]
        rules = [(table, function, table.demands(function)) for table, function in asked]
        wanted = [*demands, *(demand for _, _, found in rules for _, demand in found)]
        variants = variants_of(wanted)
        at = len(demands)
        for table, function, found in rules:
            table.serve(function, [place for place, _ in found], variants[at : at + len(found)])
            at += len(found)
        return variants[: len(demands)]


Demand = tuple[Function, tuple[Kind, ...]]  # a function, and the kinds of arguments that it must be compiled for


def variants_of(demands: Sequence[Demand]) -> list[Variant]:
    """The machine code of several functions: loaded or, together and in parallel, compiled."""
    with _lock:
        missing = [d for d in dict.fromkeys(demands) if d[1] not in d[0].variants and not _load(d)]
        if missing:
            _compile(missing)
            tell_problem()
        return [function.variants[kinds] for function, kinds in demands]


@cache
def _environment() -> str:
    """What all machine code depends on: CPU, versions, the compiler's own sources."""
    import llvmlite
    import llvmlite.binding as llvm

    from treespan.core.sources import compiler_digest, numba_version

    settings = sorted(f"{k}={v}" for k, v in os.environ.items() if k.startswith("NUMBA_") and k not in _NO_MATTER)
    cpu = f"{llvm.get_host_cpu_name()} {llvm.get_host_cpu_features().flatten()}"
    return "\n".join(
        [
            cpu,
            *settings,
            numba_version(),
            llvmlite.__version__,
            sys.version,
            np.__version__,
            str(BOUNDS_CHECKED),
            compiler_digest(),
        ]
    )


def get_ready() -> None:
    """Load what every search needs of the loader of machine code."""
    _environment()
    _engine()
    store()


def key_of(demand: Demand) -> str:
    """The name of an entry in the store."""
    function, kinds = demand
    return hashlib.sha256(repr((_environment(), function.fingerprint.hash, kinds)).encode()).hexdigest()


def _load(demand: Demand) -> bool:
    """Take a variant from the store; says whether it was there, with all units that it calls."""
    key = key_of(demand)
    if not _link(key):
        return False
    function, kinds = demand
    function.variants[kinds] = Variant(function, kinds, *_linked[key])
    return True


_linked: dict[str, tuple[int, Kind]] = {}  # addresses and results of the entries in this process, by key
_unkept: dict[str, tuple[dict[str, Any], bytes]] = {}  # entries that could not be written to the store


def _read(key: str) -> tuple[dict[str, Any], bytes] | None:
    return _unkept.get(key) or store().read(key)


def _link(key: str) -> bool:
    """Load an entry's machine code into this process, the units that it calls before it.

    Returns whether it is there, with all symbols that it needs.
    """
    import llvmlite.binding as llvm

    if key in _linked:
        return True
    found = _read(key)
    if found is None:
        return False
    facts, code = found
    for name in facts["externals"]:
        is_there = _link_unit(name[len(PREFIX) :]) if name.startswith(PREFIX) else _has_symbol(name)
        if not is_there:
            return False
    engine = _engine()
    engine.add_object_file(llvm.ObjectFileRef.from_data(code))
    engine.finalize_object()
    result = facts["result"]
    kind = result if isinstance(result, str) else ("tuple", tuple(result[1]))
    _linked[key] = engine.get_function_address(symbol_of(key)), kind
    return True


def _link_unit(key: str) -> bool:
    """Load a unit, when no other process is compiling it any more. Returns whether it is there."""
    if _link(key):
        return True
    with store().claim(key, True):
        return _link(key)


def _has_symbol(name: str) -> bool:
    import llvmlite.binding as llvm

    if llvm.address_of_symbol(name):
        return True
    import treespan.core.compiler  # noqa: F401  # Numba brings functions of its own

    return bool(llvm.address_of_symbol(name))


PREFIX = "treespan_entry_"  # of the symbols of machine code


def symbol_of(key: str) -> str:
    """The name of an entry's machine code: its own, so that all entries can share one address space."""
    return PREFIX + key


@cache
def _engine() -> Any:
    """llvmlite's loader of object files."""
    import llvmlite.binding as llvm

    llvm.initialize_native_target()
    llvm.initialize_native_asmprinter()
    machine = llvm.Target.from_default_triple().create_target_machine()
    return llvm.create_mcjit_compiler(llvm.parse_assembly(""), machine)


def _compile(demands: list[Demand]) -> None:
    """Compile what is missing, in as many processes as there are cores, and with whoever else waits for the same."""
    begun = time.monotonic()
    with announce(lambda: 0, len(demands), store().may_write, begun):  # over before helpers: no thread may run then
        from treespan.core.compiler import get_ready, load_lowered

        for function, _ in demands:
            load_lowered(function)
        get_ready()
    helpers: list[int] = []
    collects = gc.isenabled()
    gc.disable()  # Numba makes many objects and few cycles: 8 % of the time
    try:
        _start_helpers(demands, helpers)
        with announce(lambda: sum(map(_is_ready, demands)), len(demands), store().may_write, begun):
            _compile_unclaimed(demands, True)
    finally:
        if collects:
            gc.enable()
        for helper in helpers:
            with contextlib.suppress(ChildProcessError):  # a launcher may have us ignore the end of children
                os.waitpid(helper, 0)
    for demand in demands:
        if not _load(demand):  # whoever compiled it, or a unit that it calls, was killed
            _make(demand, anew=True)
            if not _load(demand):
                raise RuntimeError(f"{demand[0].title}: its code cannot be loaded; {_missing(demand)}")
    store().prune()


def _missing(demand: Demand) -> str:
    """What is wrong with an entry that was compiled and cannot be loaded."""
    found = _read(key_of(demand))
    if found is None:
        return "it is damaged"
    names = [name for name in found[0]["externals"] if not name.startswith(PREFIX) and not _has_symbol(name)]
    return f"nobody has the functions {', '.join(names)}" if names else "a unit that it calls is missing"


def _is_ready(demand: Demand) -> bool:
    return demand[1] in demand[0].variants or store().has(key_of(demand))


def _start_helpers(demands: list[Demand], helpers: list[int]) -> None:
    """Processes that compile, too. None where this process has threads, or is a rank whose neighbours help anyway."""
    if not store().may_write or threading.active_count() > 1 or "mpi4py.MPI" in sys.modules:
        return
    parent = os.getpid()
    for _ in range(min(len(demands), usable_cores()) - 1):
        mask = signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGINT])  # Ctrl-C must find the child in `_help`
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")  # of threads that NumPy's libraries have: the child does not use them
                helper = os.fork()
            if helper == 0:
                _help(demands, mask, parent)
            helpers.append(helper)
        except OSError:  # no more processes for this user: compile alone
            return
        finally:
            signal.pthread_sigmask(signal.SIG_SETMASK, mask)


_parents: list[int] = []  # of a helper: the process that it helps


def _help(demands: list[Demand], mask: Any, parent: int) -> None:
    """The life of a helper: it compiles into the store what nobody else does, as long as its parent lives."""
    _parents[:] = [parent]
    try:
        signal.pthread_sigmask(signal.SIG_SETMASK, mask)
        _compile_unclaimed(demands, False)
    except BaseException:  # the parent meets the same error and tells of it
        os._exit(1)
    os._exit(0)


def _compile_unclaimed(demands: list[Demand], and_wait: bool) -> None:
    """Compile what no other process is compiling; then, if wanted, wait for what others compile."""
    left = list(demands)
    for wait in (False, True)[: 1 + and_wait]:
        for demand in list(left):
            if _parents and os.getppid() not in _parents:
                raise RuntimeError("nobody is there any more who needs this helper")
            key = key_of(demand)
            with store().claim(key, wait) as is_mine:
                if is_mine:
                    if _read(key) is None:
                        _make(demand)
                    left.remove(demand)


_in_work: list[str] = []  # keys of entries whose units are being compiled


def _make(demand: Demand, anew: bool = False) -> None:
    """Compile one variant, and the units that it calls, and keep it.

    When it can be found, so can its units, or another process is compiling them (`_link`).
    anew: what was kept could not be loaded, so that any unit below it may be missing or damaged.
    """
    from treespan.core.compiler import compile_variant, units

    function, kinds = demand
    key = key_of(demand)
    facts, code = compile_variant(function, kinds, symbol_of(key))
    called = [units[name] for name in facts["externals"] if name in units]
    _in_work.append(key)
    try:
        if any(key_of(unit) in _in_work for unit in called):
            raise RecursionError(f"{function.__qualname__}: units that call each other in a circle cannot be compiled")
        if not anew:
            _compile_unclaimed(called, False)
        for unit in called:
            if anew and not _link(key_of(unit)):
                _make(unit, anew=True)
    finally:
        _in_work.remove(key)
    is_same = Fingerprint(function).hash == function.fingerprint.hash  # else a constant was changed meanwhile
    if not (is_same and store().write(key, facts, code)):
        _unkept[key] = facts, code
