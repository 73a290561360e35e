"""Rings of slots between threads."""

import threading
from typing import Any

import numpy as np
import pytest

from treespan.core.atomics import atomic_load
from treespan.core.jit import JIT_DISABLED, njit
from treespan.runtimes.rings import new_rings, put, take, waiting
from treespan.schemes.protocol.messages import NO_SLOT

MANY = 200_000


@njit
def put_one(rings, ring, slot):
    put(rings, ring, slot)


@njit
def take_one(rings, ring):
    return take(rings, ring)


@njit
def count_waiting(rings, ring):
    return waiting(rings, ring)


def test_slots_come_out_in_the_order_in_which_they_went_in() -> None:
    rings = new_rings(2, 5)
    assert take_one(rings, 0) == NO_SLOT
    for turn in range(10):  # the ring has room for eight: it is passed several times
        for slot in range(5):
            put_one(rings, 1, 10 * turn + slot)
        assert count_waiting(rings, 1) == 5 and count_waiting(rings, 0) == 0
        assert [take_one(rings, 1) for _ in range(6)] == [*range(10 * turn, 10 * turn + 5), NO_SLOT]


def test_a_ring_has_room_for_more_than_it_is_asked_for() -> None:
    for room in (1, 2, 3, 4, 7, 8, 100):
        assert new_rings(3, room).slots.shape[1] > room


@njit
def write_all(rings, payload, count, stop):
    """Write payload before the slot that owns it; never more than the ring has room for."""
    for i in range(count):
        while waiting(rings, 0) >= rings.slots.shape[1] - 1:
            if atomic_load(stop, 0) != 0:
                return
        payload[i] = i + 1
        put(rings, 0, i)


@njit
def read_all(rings, payload, count):
    """Return the first slot that came out of order or without its payload; `count` if none did."""
    for i in range(count):
        slot = take(rings, 0)
        while slot == NO_SLOT:
            slot = take(rings, 0)
        if slot != i or payload[slot] != i + 1:
            return i
    return count


@pytest.mark.skipif(JIT_DISABLED, reason="plain Python has one thread at a time")
def test_who_takes_a_slot_sees_all_that_was_written_before() -> None:
    rings, payload, stop = new_rings(1, 60), np.zeros(MANY, dtype=np.int64), np.zeros(1, dtype=np.int64)
    arguments: tuple[Any, ...] = (rings, payload, MANY, stop)
    write_all(new_rings(1, 1), payload, 0, stop)  # compiles
    writer = threading.Thread(target=write_all, args=arguments)
    writer.start()
    try:
        assert read_all(rings, payload, MANY) == MANY
    finally:
        stop[0] = 1
        writer.join()
