"""Time inside compiled code: a monotonic clock (24 ns a call) and waits that end when they should.

`nanosleep` alone overshoots: 1.08 ms for 1 ms, 0.175 ms for 0.1 ms. So the kernel is asked for the
smallest timer slack, a wait sleeps until shortly before its end, and spins the rest.
libc is reached by symbol name, which the on-disk cache can store; a ctypes pointer it cannot.
"""

import time

from treespan.core.jit import lowered, njit

SPIN_NS = 50_000  # nanosleep with the smallest timer slack overshoots by some 20 us
_in_llvm = lowered("treespan.core.lowering")


@_in_llvm
def now_ns() -> int:
    """Nanoseconds of the monotonic clock."""
    return time.monotonic_ns()


@_in_llvm
def sleep_ns(ns: int) -> int:
    """Sleep for about `ns` nanoseconds; wakes late by the timer slack of the thread."""
    time.sleep(ns * 1e-9)
    return 0


@_in_llvm
def sharpen_timers() -> int:
    """Ask the kernel for the smallest timer slack in this thread (Linux; elsewhere nothing)."""
    return 0


@njit
def wait_ns(ns):
    """Wait exactly `ns` nanoseconds, without the interpreter lock: sleep, then spin the last part."""
    end = now_ns() + ns
    if ns > 2 * SPIN_NS:
        sharpen_timers()
        sleep_ns(ns - SPIN_NS)
    while now_ns() < end:
        pass
