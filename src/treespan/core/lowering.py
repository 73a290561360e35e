"""Functions that compiled code has as LLVM instructions; Python has their plain twins, where they are declared."""

import operator
import sys
import time
from typing import Any

from llvmlite import ir
from numba import types
from numba.core import cgutils
from numba.core.typing.templates import AbstractTemplate, infer_global, signature
from numba.extending import intrinsic, lower_builtin

from treespan.core.compiler import GAME, STATE, STATES, StatesType, load_word, type_of
from treespan.core.jit import BOUNDS_CHECKED
from treespan.core.kinds import LATE_RULES, TABLE

_I8, _I32, _I64 = ir.IntType(8), ir.IntType(32), ir.IntType(64)
WORD = 8  # bytes


# Structs and entries (`handles.py`)


@intrinsic
def value_of(typing_context, handle):
    return handle(handle), lambda context, builder, signature, arguments: arguments[0]


@intrinsic
def first_of(typing_context, handle):
    inner = type_of(handle.kind[2][0][1])
    return inner(handle), lambda context, builder, signature, arguments: arguments[0]


@intrinsic
def call_entry(typing_context, entry, handle, first, second):
    def codegen(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        return call_address(context, builder, arguments[0], types.int64, signature.args[1:], arguments[1:])

    return types.int64(types.int64, types.int64, types.int64, types.int64), codegen


def call_address(context: Any, builder: Any, address: Any, result: Any, kinds: Any, arguments: Any) -> Any:
    """Call machine code by Numba's convention. If it fails, by an assertion or a checked index, so does the caller."""
    function_type = context.call_conv.get_function_type(result, kinds)
    function = builder.inttoptr(address, function_type.as_pointer())
    status, value = context.call_conv.call_function(builder, function, result, kinds, arguments)
    with cgutils.if_unlikely(builder, status.is_error):
        context.call_conv.return_status_propagate(builder, status)
    return value


# Positions of any game: `states[i]`, `states[i] = state`


def _state_address(context: Any, builder: Any, states: Any, index: Any) -> Any:
    if BOUNDS_CHECKED:
        with cgutils.if_unlikely(builder, builder.icmp_unsigned(">=", index, states.count)):
            context.call_conv.return_user_exc(builder, IndexError, ("there is no such position",))
    return builder.add(states.data, builder.mul(index, states.size))


@infer_global(operator.getitem)
class _TypeGetState(AbstractTemplate):
    def generic(self, args: Any, kws: Any) -> Any:
        if isinstance(args[0], StatesType) and isinstance(args[1], types.Integer):
            return signature(STATE, args[0], types.int64)


@lower_builtin(operator.getitem, StatesType, types.Integer)
def _get_state(context: Any, builder: Any, sig: Any, args: Any) -> Any:
    states = context.make_helper(builder, STATES, args[0])
    return _state_address(context, builder, states, args[1])


@infer_global(operator.setitem)
class _TypeSetState(AbstractTemplate):
    def generic(self, args: Any, kws: Any) -> Any:
        if isinstance(args[0], StatesType) and args[2] == STATE:
            return signature(types.none, args[0], types.int64, STATE)


@lower_builtin(operator.setitem, StatesType, types.Integer, type(STATE))
def _set_state(context: Any, builder: Any, sig: Any, args: Any) -> Any:
    states = context.make_helper(builder, STATES, args[0])
    target = builder.inttoptr(_state_address(context, builder, states, args[1]), _I8.as_pointer())
    source = builder.inttoptr(args[2], _I8.as_pointer())
    cgutils.raw_memcpy(builder, target, source, states.size, 1, align=8)
    return context.get_dummy_value()


# Questions to a game (`games/rules.py`): the rule's address is in the game's table

_MOVES, _NUMBERS, _WEIGHTS = types.int32[::1], types.uint64[::1], types.float32[::1]
_MARKS = types.float64[::1]


def _ask(rule: str, result: Any, parameters: tuple[Any, ...]) -> Any:
    """Signature and code of a question: (game, ...) to the rule of that name."""

    def codegen(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        if rule == "playout":
            place = builder.add(arguments[-1], ir.Constant(_I64, TABLE.index("playout")))
            base = builder.add(arguments[0], builder.mul(place, ir.Constant(_I64, WORD)))
            address = load_word(builder, base, 0, may_change=True)
            arguments, kinds = arguments[:-1], parameters[:-1]
        else:
            late = rule in LATE_RULES
            address = load_word(builder, arguments[0], TABLE.index(rule), may_change=late)
            kinds = parameters
        values, plain = [], []
        for kind, value in zip(kinds, arguments[1:], strict=True):
            if kind == STATES:  # an array of records, as rules know them
                states = context.make_helper(builder, STATES, value)
                zero = ir.Constant(_I64, 0)
                values += [zero, zero, states.count, states.size, states.data, states.count, states.size]
                plain += [types.int64] * 7
            else:
                values.append(value)
                plain.append(types.int64 if kind == STATE else kind)
        return call_address(context, builder, address, result, plain, values)

    return result(GAME, *parameters), codegen


@intrinsic
def to_play(typing_context, game, state):
    def codegen(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        at = load_word(builder, arguments[0], TABLE.index("to_play_at"))
        return builder.load(builder.inttoptr(builder.add(arguments[1], at), _I8.as_pointer()))

    return types.int8(GAME, STATE), codegen


@intrinsic
def legal_moves(typing_context, game, state, moves):
    return _ask("legal_moves", types.int64, (STATE, _MOVES))


@intrinsic
def candidates(typing_context, game, state, moves):
    return _ask("candidates", types.int64, (STATE, _MOVES))


@intrinsic
def play(typing_context, game, state, move):
    return _ask("play", types.none, (STATE, types.int32))


@intrinsic
def reward(typing_context, game, state):
    return _ask("reward", types.float64, (STATE,))


@intrinsic
def key(typing_context, game, state):
    return _ask("key", types.uint64, (STATE,))


@intrinsic
def chance(typing_context, game, state, random):
    return _ask("chance", types.int64, (STATE, _NUMBERS))


@intrinsic
def priors(typing_context, game, state, moves, count, weights):
    return _ask("priors", types.none, (STATE, _MOVES, types.int64, _WEIGHTS))


@intrinsic
def playout(typing_context, game, state, random, trace, moves, policy):
    return _ask("playout", types.int64, (STATE, _NUMBERS, _MOVES, _MOVES, types.int64))


@intrinsic
def expertise(typing_context, game, states, desk, moves, count, marks):
    return _ask("expertise", types.none, (STATES, _NUMBERS, _MOVES, types.int64, _MARKS))


@intrinsic
def foresee(typing_context, game, states, desk):
    return _ask("foresee", types.boolean, (STATES, _NUMBERS))


@intrinsic
def agrees(typing_context, game, state, desk):
    return _ask("agrees", types.boolean, (STATE, _NUMBERS))


# Words of a record (`records.py`)


@intrinsic
def word_count(typing_context, record):
    def codegen(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        return ir.Constant(_I64, signature.args[0].size // WORD)

    return types.int64(record), codegen


@intrinsic
def word(typing_context, record, index):
    def codegen(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        place = context.cast(builder, arguments[1], signature.args[1], types.int64)
        base = builder.bitcast(arguments[0], _I64.as_pointer())
        return builder.load(builder.gep(base, [place]), align=1)

    return types.uint64(record, index), codegen


# Atomic operations (`atomics.py`)


def _pointer(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
    """The address of element `arguments[1]` of array `arguments[0]`; does not check bounds."""
    array_type, index_type = signature.args[:2]
    array = context.make_array(array_type)(context, builder, arguments[0])
    index = context.cast(builder, arguments[1], index_type, types.intp)
    return cgutils.get_item_pointer(context, builder, array_type, array, [index], wraparound=False)


def _align(array_type: Any) -> int:
    return int(array_type.dtype.bitwidth) // 8


def _add_double_to_single(builder: Any, pointer: Any, addend: Any) -> Any:
    """As `+=`, add in double precision and round once; LLVM's own addition would round `addend` first."""
    word = builder.bitcast(pointer, ir.IntType(32).as_pointer())
    first = builder.load_atomic(word, "monotonic", 4, typ=ir.IntType(32))
    before, again, after = builder.block, builder.append_basic_block("again"), builder.append_basic_block("after")
    builder.branch(again)
    builder.position_at_end(again)
    bits = builder.phi(ir.IntType(32))
    bits.add_incoming(first, before)
    old = builder.bitcast(bits, ir.FloatType())
    total = builder.fptrunc(builder.fadd(builder.fpext(old, ir.DoubleType()), addend), ir.FloatType())
    outcome = builder.cmpxchg(word, bits, builder.bitcast(total, ir.IntType(32)), "acq_rel", "monotonic")
    bits.add_incoming(builder.extract_value(outcome, 0), again)
    builder.cbranch(builder.extract_value(outcome, 1), after, again)
    builder.position_at_end(after)
    return old


@intrinsic
def atomic_load(typing_context, array, index):
    """The element's value, with acquire ordering."""

    def codegen(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        pointer = _pointer(context, builder, signature, arguments)
        return builder.load_atomic(pointer, "acquire", _align(array), typ=context.get_value_type(array.dtype))

    return array.dtype(array, index), codegen


@intrinsic
def atomic_store(typing_context, array, index, value):
    """Write the element, with release ordering."""

    def codegen(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        pointer = _pointer(context, builder, signature, arguments)
        stored = context.cast(builder, arguments[2], signature.args[2], array.dtype)
        builder.store_atomic(stored, pointer, "release", _align(array))
        return context.get_dummy_value()

    return types.none(array, index, value), codegen


@intrinsic
def atomic_add(typing_context, array, index, value):
    """Add to the element (integer or float), with the rounding of `+=`. Returns its value before."""

    def codegen(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        pointer = _pointer(context, builder, signature, arguments)
        if (array.dtype, value) == (types.float32, types.float64):
            return _add_double_to_single(builder, pointer, arguments[2])
        addend = context.cast(builder, arguments[2], signature.args[2], array.dtype)
        operation = "fadd" if isinstance(array.dtype, types.Float) else "add"
        return builder.atomic_rmw(operation, pointer, addend, "acq_rel")

    return array.dtype(array, index, value), codegen


@intrinsic
def atomic_cas(typing_context, array, index, expected, value):
    """Write `value` if the element equals `expected`; says whether it did."""

    def codegen(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        pointer = _pointer(context, builder, signature, arguments)
        old = context.cast(builder, arguments[2], signature.args[2], array.dtype)
        new = context.cast(builder, arguments[3], signature.args[3], array.dtype)
        outcome = builder.cmpxchg(pointer, old, new, "acq_rel", "acquire")
        return builder.extract_value(outcome, 1)

    return types.boolean(array, index, expected, value), codegen


@intrinsic
def fence(typing_context):
    """Order all writes before it against all reads after it, as no load, store or add does.

    Two threads that each write, fence and read what the other wrote: at least one sees both writes.
    """

    def codegen(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        builder.fence("seq_cst")
        return context.get_dummy_value()

    return types.none(), codegen


# Time (`clock.py`): libc is reached by the names of its functions

_PR_SET_TIMERSLACK = 29
_TIMESPEC = ir.LiteralStructType([_I64, _I64])


def _libc(builder: Any, name: str, result: Any, arguments: list[Any]) -> Any:
    return builder.module.globals.get(name) or ir.Function(
        builder.module, ir.FunctionType(result, arguments), name=name
    )


def _codegen_now(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
    clock_gettime = _libc(builder, "clock_gettime", _I32, [_I32, _TIMESPEC.as_pointer()])
    with builder.goto_entry_block():
        spec = builder.alloca(_TIMESPEC)
    builder.call(clock_gettime, [ir.Constant(_I32, time.CLOCK_MONOTONIC), spec])
    seconds = builder.extract_value(builder.load(spec), 0)
    nanoseconds = builder.extract_value(builder.load(spec), 1)
    return builder.add(builder.mul(seconds, ir.Constant(_I64, 10**9)), nanoseconds)


def _codegen_sleep(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
    pointer = _TIMESPEC.as_pointer()
    nanosleep = _libc(builder, "nanosleep", _I32, [pointer, pointer])
    with builder.goto_entry_block():
        spec = builder.alloca(_TIMESPEC)
    billion = ir.Constant(_I64, 10**9)
    value = ir.Constant(_TIMESPEC, ir.Undefined)
    value = builder.insert_value(value, builder.sdiv(arguments[0], billion), 0)
    value = builder.insert_value(value, builder.srem(arguments[0], billion), 1)
    builder.store(value, spec)
    return builder.call(nanosleep, [spec, ir.Constant(pointer, None)])


def _codegen_timer_slack(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
    if sys.platform != "linux":
        return ir.Constant(_I32, 0)
    prctl = _libc(builder, "prctl", _I32, [_I32, _I64, _I64, _I64, _I64])
    zero = ir.Constant(_I64, 0)
    slack = [ir.Constant(_I32, _PR_SET_TIMERSLACK), ir.Constant(_I64, 1), zero, zero, zero]
    return builder.call(prctl, slack)


@intrinsic
def now_ns(typing_context):
    """Nanoseconds of the monotonic clock."""
    return types.int64(), _codegen_now


@intrinsic
def sleep_ns(typing_context, ns):
    """Sleep for about `ns` nanoseconds; wakes late by the timer slack of the thread."""
    return types.int32(types.int64), _codegen_sleep


@intrinsic
def sharpen_timers(typing_context):
    """Ask the kernel for the smallest timer slack in this thread (Linux; elsewhere nothing)."""
    return types.int32(), _codegen_timer_slack
