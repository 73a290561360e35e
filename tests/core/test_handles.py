"""Entries and handles: what is behind an address is the value that Python sees.

The tuples are the package's own: the on-disk cache notes their classes, and other programs must be able to load it.
"""

import gc
import weakref
from typing import Any, cast

import numpy as np

from treespan.core.handles import Handle, call_entry, entry_of, first_of, value_of
from treespan.core.jit import njit
from treespan.runtimes.rings import Rings
from treespan.runtimes.workers import Staff, new_staff


@njit
def book(handle, place, amount):
    """An entry as schemes have them."""
    staff = value_of(handle)
    staff.held[place] += amount * staff.backlog
    if staff.workers > 1:
        staff.rings.slots[place, 1] += 1
    return np.int64(staff.held[place])


@njit
def book_many(entry, number, count):
    total = 0
    for i in range(count):
        total += call_entry(entry, number, i % 3, i)
    return total


def staff(workers: int = 3) -> Staff:
    return new_staff(3, backlog=2)._replace(workers=workers)


def test_entry_works_on_the_arrays_that_python_sees() -> None:
    mine = staff()
    handle = Handle(mine)
    entry = entry_of(book, handle)
    assert book_many(entry, handle.number, 6) == 0 + 2 + 4 + 6 + 10 + 14
    assert mine.held.tolist() == [6, 10, 14]
    assert mine.rings.slots[:3, 1].tolist() == [2, 2, 2]


def test_one_entry_serves_all_values_of_a_type() -> None:
    first, second = staff(), staff(workers=1)
    handles = [Handle(first), Handle(second)]
    assert entry_of(book, handles[0]) == entry_of(book, handles[1])
    for handle in handles:
        book_many(entry_of(book, handle), handle.number, 3)
    assert first.held.tolist() == second.held.tolist()
    assert first.rings.slots.any() and not second.rings.slots.any()


def test_entry_may_be_called_from_python() -> None:
    mine = staff()
    assert book(Handle(mine), 1, 3) == 6
    assert mine.held[1] == 6


@njit
def book_in_first(handle, place, amount):
    """An entry that takes a tuple and calls one that takes its first member."""
    pair = value_of(handle)
    pair.busy[0] += 1
    return book(first_of(handle), place, amount)


def test_first_member_of_a_tuple_has_the_tuples_address() -> None:
    inner = staff()
    whole: Any = inner._replace(rings=cast(Any, inner))  # any tuple whose first member is a tuple
    handle = Handle(whole)
    assert book_in_first(handle, 1, 3) == 6 == inner.held[1]
    assert handle.first().number == handle.number or handle.first().value is inner
    assert book(handle.first(), 1, 1) == 8 and handle.first().whole is handle


def test_what_is_behind_a_handle_may_be_replaced() -> None:
    first, second = staff(), staff()
    handle = Handle(first)
    entry = entry_of(book, handle)
    handle.write(second)
    book_many(entry, handle.number, 3)
    assert not first.held.any() and second.held.any() and handle.value is second


def test_what_a_handle_keeps_is_freed_with_it() -> None:
    kept = np.zeros(3)
    handle, watched = Handle(Rings(kept, kept, kept)), weakref.ref(kept)
    del kept
    gc.disable()  # a tree in a cycle would be kept until the collector happens to run
    try:
        del handle
        assert watched() is None
    finally:
        gc.enable()
