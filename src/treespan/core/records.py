"""Numba records as plain memory: a position is one record, so it can be hashed and copied as words."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from treespan.core.jit import lowered, njit
from treespan.core.rng import GOLDEN, mix64

WORD = 8  # bytes
LINE = 128  # bytes: cache lines are 64, but processors fetch them in pairs


def record_dtype(fields: Sequence[Any]) -> np.dtype:
    """A C-aligned record type padded to whole 64-bit words."""
    packed = np.dtype(list(fields), align=True)
    names = list(packed.names or ())
    places = [packed.fields[name] for name in names]  # type: ignore[index]  # it has names, so it has fields
    return np.dtype(
        {
            "names": names,
            "formats": [place[0] for place in places],
            "offsets": [place[1] for place in places],
            "itemsize": -(-packed.itemsize // WORD) * WORD,
        },
        align=True,
    )


def new_records(dtype: np.dtype, count: int) -> Any:
    """`count` zeroed records whose fields are attributes, compiled or not."""
    return np.zeros(count, dtype=dtype).view(np.recarray)


def on_own_lines(array: Any) -> Any:
    """A copy that shares no cache line with other data.

    What one thread writes all the time must not lie beside what another reads: small arrays that are made one
    after the other stand side by side in memory.
    """
    memory = np.zeros((2 + array.nbytes // LINE) * LINE, dtype=np.uint8)
    start = -memory.ctypes.data % LINE
    copy = memory[start : start + array.nbytes].view(array.dtype).view(type(array)).reshape(array.shape)
    copy[...] = array
    return copy


@lowered("treespan.core.lowering")
def word_count(record: Any) -> int:
    """How many 64-bit words the record has."""
    return int(record.dtype.itemsize) // WORD


@lowered("treespan.core.lowering")
def word(record: Any, index: int) -> np.uint64:
    """The record's 64-bit word at `index`; does not check bounds."""
    start = int(index) * WORD
    return np.uint64(int.from_bytes(record.tobytes()[start : start + WORD], "little"))


@njit
def hash_record(record):
    """A 64-bit hash of all bytes of a record."""
    value = GOLDEN
    for i in range(word_count(record)):
        value = mix64(value ^ word(record, i)) + GOLDEN
    return value
