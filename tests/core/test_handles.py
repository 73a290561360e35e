"""Entries and handles: what is behind an address is the value that Python sees."""

from typing import NamedTuple

import numpy as np

from treespan.core.handles import Handle, call_entry, entry_of, value_of
from treespan.core.jit import njit


class Inner(NamedTuple):
    weights: np.ndarray
    factor: float


class Account(NamedTuple):
    totals: np.ndarray
    inner: Inner
    table: np.ndarray
    flag: bool


@njit
def book(handle, place, amount):
    """An entry as schemes have them."""
    account = value_of(handle)
    account.totals[place] += amount * account.inner.weights[place] * account.inner.factor
    if account.flag:
        account.table[place, 1] += 1
    return np.int64(account.totals[place])


@njit
def book_many(entry, number, count):
    total = 0
    for i in range(count):
        total += call_entry(entry, number, i % 3, i)
    return total


def account(flag: bool = True) -> Account:
    inner = Inner(np.array([1.0, 2.0, 4.0]), 0.5)
    return Account(np.zeros(3), inner, np.zeros((3, 2), dtype=np.int32), flag)


def test_entry_works_on_the_arrays_that_python_sees() -> None:
    mine = account()
    handle = Handle(mine)
    entry = entry_of(book, handle)
    assert book_many(entry, handle.number, 6) == 0 + 1 + 4 + 1 + 5 + 14
    assert mine.totals.tolist() == [1.5, 5.0, 14.0]
    assert mine.table.tolist() == [[0, 2], [0, 2], [0, 2]]


def test_one_entry_serves_all_values_of_a_type() -> None:
    first, second = account(), account(flag=False)
    handles = [Handle(first), Handle(second)]
    assert entry_of(book, handles[0]) == entry_of(book, handles[1])
    for handle in handles:
        book_many(entry_of(book, handle), handle.number, 3)
    assert first.totals.tolist() == second.totals.tolist()
    assert first.table.any() and not second.table.any()


def test_entry_may_be_called_from_python() -> None:
    mine = account()
    assert book(Handle(mine), 1, 3) == 3
    assert mine.totals[1] == 3.0
