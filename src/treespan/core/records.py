"""Records as plain memory. A position is one record, so compiled code can hash and copy it word by word."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from treespan.core.jit import lowered, njit
from treespan.core.rng import GOLDEN, mix64

WORD = 8  # bytes
LINE = 128  # bytes: cache lines are 64, but processors fetch them in pairs


def record_dtype(fields: Sequence[Any], itemsize: int = 0) -> np.dtype:
    """Return a C-aligned record type that is padded to whole 64-bit words, and to `itemsize` bytes."""
    packed = np.dtype(list(fields), align=True)
    names = list(packed.names or ())
    places = [packed.fields[name] for name in names]  # type: ignore[index]  # it has names, so it has fields
    return np.dtype(
        {
            "names": names,
            "formats": [place[0] for place in places],
            "offsets": [place[1] for place in places],
            "itemsize": max(-(-packed.itemsize // WORD) * WORD, itemsize),
        },
        align=True,
    )


def new_records(dtype: np.dtype, count: int) -> np.recarray:
    """Return `count` zeroed records. Their fields are attributes, in compiled code as in plain Python."""
    return np.zeros(count, dtype=dtype).view(np.recarray)


def on_own_lines(array: Any) -> Any:
    """Return a copy of an array that shares no cache line with other data.

    Small arrays that are made one after the other lie side by side in memory. If one thread writes such an array all
    the time, and another thread reads its neighbour, both threads slow down.
    """
    memory = np.zeros((2 + array.nbytes // LINE) * LINE, dtype=np.uint8)
    start = -memory.ctypes.data % LINE
    copy = memory[start : start + array.nbytes].view(array.dtype).view(type(array)).reshape(array.shape)
    copy[...] = array
    return copy


@lowered("treespan.core.lowering")
def word_count(record: Any) -> int:
    """Return how many 64-bit words a record has."""
    return int(record.dtype.itemsize) // WORD


@lowered("treespan.core.lowering")
def word(record: Any, index: int) -> np.uint64:
    """Return a record's 64-bit word at `index`. Does not check bounds."""
    start = int(index) * WORD
    return np.uint64(int.from_bytes(record.tobytes()[start : start + WORD], "little"))


@njit
def hash_record(record):
    """Return a 64-bit hash of all bytes of a record."""
    value = GOLDEN
    for i in range(word_count(record)):
        value = mix64(value ^ word(record, i)) + GOLDEN
    return value
