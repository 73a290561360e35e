"""Time inside compiled code: a monotonic clock (24 ns a call) and waits that end when they should.

`nanosleep` alone overshoots: 1.08 ms for 1 ms, 0.175 ms for 0.1 ms. So the kernel is asked for the
smallest timer slack, a wait sleeps until shortly before its end, and spins the rest.
libc is reached by symbol name, which the on-disk cache can store; a ctypes pointer it cannot.
"""

import sys
import time
from typing import Any

from llvmlite import ir
from numba import types
from numba.extending import intrinsic

from treespan.core.jit import JIT_DISABLED, njit

SPIN_NS = 50_000  # nanosleep with the smallest timer slack overshoots by some 20 us
_PR_SET_TIMERSLACK = 29
_I32, _I64 = ir.IntType(32), ir.IntType(64)
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


if JIT_DISABLED:

    def now_ns() -> int:
        return time.monotonic_ns()

    def sleep_ns(ns: int) -> int:
        time.sleep(ns * 1e-9)
        return 0

    def sharpen_timers() -> int:
        return 0

else:

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


@njit
def wait_ns(ns):
    """Wait exactly `ns` nanoseconds, without the interpreter lock: sleep, then spin the last part."""
    end = now_ns() + ns
    if ns > 2 * SPIN_NS:
        sharpen_timers()
        sleep_ns(ns - SPIN_NS)
    while now_ns() < end:
        pass
