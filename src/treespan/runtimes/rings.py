"""Lock-free rings of slot numbers between threads, each with one writer and one reader.

Whoever takes a slot out of a ring owns the job in it: the counters are stored with release and loaded with acquire
ordering, so the new owner sees everything that the old one wrote.
"""

from typing import NamedTuple

import numpy as np

from treespan.core.atomics import atomic_load, atomic_store
from treespan.core.jit import njit_inline
from treespan.schemes.protocol.messages import NO_SLOT

PAD = 8  # int64s between two counters: each has a cache line of its own


class Rings(NamedTuple):
    slots: np.ndarray  # int32[rings, size], size a power of two
    written: np.ndarray  # int64[rings * PAD], slots ever put into a ring
    read: np.ndarray  # int64[rings * PAD], slots ever taken out of it


def new_rings(count: int, room: int) -> Rings:
    """Rings with room for more than `room` slots each: the users see to it that no more are under way."""
    written, read = (np.zeros(count * PAD, dtype=np.int64) for _ in range(2))
    return Rings(np.zeros((count, 1 << room.bit_length()), dtype=np.int32), written, read)


@njit_inline
def put(rings, ring, slot):
    count = rings.written[ring * PAD]  # only this thread writes it
    rings.slots[ring, count & (rings.slots.shape[1] - 1)] = slot
    atomic_store(rings.written, ring * PAD, count + 1)


@njit_inline
def take(rings, ring):
    """The oldest slot of a ring, NO_SLOT if it is empty."""
    count = rings.read[ring * PAD]
    if count == atomic_load(rings.written, ring * PAD):
        return np.int64(NO_SLOT)
    slot = np.int64(rings.slots[ring, count & (rings.slots.shape[1] - 1)])
    atomic_store(rings.read, ring * PAD, count + 1)
    return slot


@njit_inline
def waiting(rings, ring):
    """Slots in a ring, as its writer sees it."""
    return rings.written[ring * PAD] - atomic_load(rings.read, ring * PAD)
