"""Atomic operations on array elements, for threads that share a tree or a ring.

Compiled code has LLVM's atomic instructions here. An add takes 2 ns. Two threads that each add 5 M times lose no
update, where a plain `+=` loses millions.
Loads acquire, stores release, read-modify-writes do both: a thread that reads a published element also sees everything
that the publisher wrote before it.
LLVM hoists plain loads out of loops, so a flag that another thread sets must be read with `atomic_load`.
With the JIT disabled the plain twins below run, under one lock for all arrays.
"""

import threading
from typing import Any

from treespan.core.jit import lowered

_LOCK = threading.Lock()
_in_llvm = lowered("treespan.core.lowering")


@_in_llvm
def atomic_load(array: Any, index: int) -> Any:
    """Return the element's value, with acquire ordering."""
    return array[index]


@_in_llvm
def atomic_store(array: Any, index: int, value: Any) -> None:
    """Write the element, with release ordering."""
    with _LOCK:
        array[index] = value


@_in_llvm
def atomic_add(array: Any, index: int, value: Any) -> Any:
    """Add to the element (integer or float), with the rounding of `+=`. Returns its former value."""
    with _LOCK:
        old = array[index]
        array[index] = old + value
    return old


@_in_llvm
def atomic_cas(array: Any, index: int, expected: Any, value: Any) -> bool:
    """Write `value` if the element equals `expected`. Returns whether it did."""
    with _LOCK:
        if array[index] != expected:
            return False
        array[index] = value
        return True


@_in_llvm
def fence() -> None:
    """Order all writes before the fence against all reads after it. No load, store or add does that.

    If two threads each write, fence, and read the other's variable, at least one of them sees both writes.
    """
    with _LOCK:
        pass
