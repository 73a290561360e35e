"""Time inside compiled code: a monotonic clock (24 ns per call) and precise waits.

`nanosleep` alone overshoots: 1.08 ms for 1 ms, 0.175 ms for 0.1 ms. So `wait_ns` asks the kernel for the smallest
timer slack, sleeps until shortly before the end, and spins for the rest.
Compiled code names libc's functions by symbol: the cache on disk can store a symbol, but not a ctypes pointer.
"""

import time

from treespan.core.jit import lowered, njit

SPIN_NS = 50_000  # nanosleep with the smallest timer slack overshoots by some 20 us
_in_llvm = lowered("treespan.core.lowering")


@_in_llvm
def now_ns() -> int:
    """Return the nanoseconds of the monotonic clock."""
    return time.monotonic_ns()


@_in_llvm
def sleep_ns(ns: int) -> int:
    """Sleep for about `ns` nanoseconds. Wakes late by the timer slack of the thread."""
    time.sleep(ns * 1e-9)
    return 0


@_in_llvm
def sharpen_timers() -> int:
    """Ask Linux for the smallest timer slack in this thread. Does nothing on other systems."""
    return 0


@njit
def wait_ns(ns):
    """Wait exactly `ns` nanoseconds, without the interpreter lock: sleep first, spin at the end."""
    end = now_ns() + ns
    if ns > 2 * SPIN_NS:
        sharpen_timers()
        sleep_ns(ns - SPIN_NS)
    while now_ns() < end:
        pass
