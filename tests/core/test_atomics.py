"""Atomics: what each operation gives and leaves, and that two threads lose and reorder nothing."""

import threading
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from treespan.core.atomics import atomic_add, atomic_cas, atomic_load, atomic_store, fence
from treespan.core.jit import JIT_DISABLED, njit

ADDS = 20_000 if JIT_DISABLED else 1_000_000
ROUNDS = 200_000
DTYPES = [np.int64, np.int32, np.uint64, np.float64]
NUMBER, FLAG = 0, 16  # places of the message passed: on cache lines of their own

# Plain Python changes threads every 5 ms only, which a thread that spins has to wait for.
no_spinning = pytest.mark.skipif(JIT_DISABLED, reason="without the JIT each hand-over would take 5 ms")

# Intrinsics can be called from compiled code only.


@njit
def load(array, index):
    return atomic_load(array, index)


@njit
def store(array, index, value):
    atomic_store(array, index, value)


@njit
def add(array, index, value):
    return atomic_add(array, index, value)


@njit
def add_plainly(array, index, value):
    array[index] += value


@njit
def compare_and_set(array, index, expected, value):
    return atomic_cas(array, index, expected, value)


@njit
def add_often(array, index, value, times):
    for _ in range(times):
        atomic_add(array, index, value)


@njit
def count_under_lock(lock, counter, times):
    """A lock made of compare-and-set around a plain increment."""
    for _ in range(times):
        while not atomic_cas(lock, 0, 0, 1):
            pass
        counter[0] += 1
        atomic_store(lock, 0, 0)


@njit
def send(cell, rounds):
    """Write a number without any care, then publish that it is there; wait until it is taken."""
    for i in range(1, rounds + 1):
        cell[NUMBER] = i
        cell[NUMBER + 1] = -i
        atomic_store(cell, FLAG, i)
        while atomic_load(cell, FLAG) != 0:
            pass


@njit
def receive(cell, rounds):
    """How many of the published numbers were not there when they should be."""
    wrong = 0
    for i in range(1, rounds + 1):
        while atomic_load(cell, FLAG) != i:
            pass
        if cell[NUMBER] != i or cell[NUMBER + 1] != -i:
            wrong += 1
        atomic_store(cell, FLAG, 0)
    return wrong


@njit
def write_and_look(cells, mine, other, seen, rounds):
    """Write in each round and note what the other has written by then."""
    for i in range(1, rounds + 1):
        cells[mine] = i
        fence()
        seen[i] = atomic_load(cells, other)
        while atomic_load(cells, other) < i:
            pass


@njit
def wait_for(flags, index):
    while atomic_load(flags, index) == 0:
        pass


def together(*jobs: Callable[[], Any]) -> list[Any]:
    """Run the jobs at the same time, each in a thread; give their results."""
    results: list[Any] = [None] * len(jobs)
    barrier = threading.Barrier(len(jobs))

    def run(i: int) -> None:
        barrier.wait()
        results[i] = jobs[i]()

    threads = [threading.Thread(target=run, args=(i,)) for i in range(len(jobs))]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return results


@pytest.mark.parametrize("dtype", DTYPES)
def test_load_store_and_add_touch_one_element(dtype: Any) -> None:
    array = np.arange(8).astype(dtype)
    assert load(array, 3) == 3
    store(array, 3, dtype(40))
    assert add(array, 3, dtype(2)) == 40  # the value before
    assert add(array, np.uint32(7), dtype(1)) == 7
    assert array.tolist() == [0, 1, 2, 42, 4, 5, 6, 8]


def test_values_are_cast_to_the_elements_type() -> None:
    floats, integers = np.zeros(1), np.zeros(1, dtype=np.int32)
    store(floats, 0, 2)
    assert add(floats, 0, 1) == 2.0 and floats[0] == 3.0
    store(integers, 0, np.int64(5))
    assert add(integers, 0, np.int64(-7)) == 5 and integers[0] == -2


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_float_sums_are_plain_sums(dtype: Any) -> None:
    array, plain = np.zeros(2, dtype=dtype), np.zeros(2, dtype=dtype)
    for i in range(1000):
        assert add(array, 1, 0.1 * i) == plain[1]
        add_plainly(plain, 1, 0.1 * i)
    assert array.tolist() == plain.tolist()


@pytest.mark.parametrize("dtype", [np.int64, np.int32, np.uint32, np.uint64])
def test_compare_and_set_writes_only_where_the_expected_value_stands(dtype: Any) -> None:
    array = np.array([5, 6], dtype=dtype)
    assert not compare_and_set(array, 1, dtype(5), dtype(9)) and array.tolist() == [5, 6]
    assert compare_and_set(array, 1, dtype(6), dtype(9)) and array.tolist() == [5, 9]
    assert not compare_and_set(array, 1, dtype(6), dtype(7)) and array.tolist() == [5, 9]


@njit
def add_in_column(table, column, row, value):
    atomic_add(table[:, column], row, value)


def test_elements_of_strided_arrays_are_found() -> None:
    table = np.zeros((4, 4), dtype=np.int64)
    add_in_column(table, 2, 3, 5)
    assert table[3, 2] == 5 and table.sum() == 5


# A plain `+=` has no twin here: whether the compiler folds its loop into one addition decides what it loses.
@pytest.mark.parametrize("dtype", [np.int64, np.float64, np.float32])
def test_no_add_of_two_threads_is_lost(dtype: Any) -> None:
    array = np.zeros(2, dtype=dtype)
    one = 1.0 if dtype is np.float32 else dtype(1)  # a double, as rewards are
    add_often(array, 0, one, 0)
    together(*(lambda: add_often(array, 0, one, ADDS) for _ in range(2)))
    assert array.tolist() == [2 * ADDS, 0]


def test_adds_to_neighbours_do_not_disturb_each_other() -> None:
    array = np.zeros(2, dtype=np.int32)
    add_often(array, 0, 1, 0)
    together(lambda: add_often(array, 0, 1, ADDS), lambda: add_often(array, 1, -1, ADDS))
    assert array.tolist() == [ADDS, -ADDS]


@no_spinning
def test_lock_of_compare_and_set_excludes() -> None:
    lock, counter = np.zeros(1, dtype=np.int64), np.zeros(1, dtype=np.int64)
    count_under_lock(lock, counter, 0)
    together(*(lambda: count_under_lock(lock, counter, ROUNDS // 10) for _ in range(2)))
    assert counter[0] == 2 * (ROUNDS // 10) and lock[0] == 0


@no_spinning
def test_what_was_written_before_publishing_is_seen_after_reading() -> None:
    cell = np.zeros(32, dtype=np.int64)
    send(cell, 0)
    receive(cell, 0)
    # Small rounds: where both threads share one core, each hand-over waits for the scheduler.
    _, wrong = together(lambda: send(cell, ROUNDS // 100), lambda: receive(cell, ROUNDS // 100))
    assert wrong == 0


@no_spinning
def test_of_two_writes_one_thread_sees_both() -> None:
    """Without the fence both reads may pass both writes."""
    cells, rounds = np.zeros(32, dtype=np.int64), ROUNDS // 100
    seen = np.zeros((2, rounds + 1), dtype=np.int64)
    write_and_look(cells, NUMBER, FLAG, seen[0], 0)
    together(
        lambda: write_and_look(cells, NUMBER, FLAG, seen[0], rounds),
        lambda: write_and_look(cells, FLAG, NUMBER, seen[1], rounds),
    )
    numbers = np.arange(rounds + 1)
    assert ((seen[0] >= numbers) | (seen[1] >= numbers)).all()


@no_spinning
def test_flag_of_another_thread_ends_a_loop() -> None:
    flags = np.zeros(1, dtype=np.int64)
    flags[0] = 1
    wait_for(flags, 0)
    flags[0] = 0
    waiting = threading.Thread(target=wait_for, args=(flags, 0), daemon=True)
    waiting.start()
    store(flags, 0, 1)
    waiting.join(60)
    assert not waiting.is_alive()
