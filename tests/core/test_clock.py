"""The compiled clock agrees with Python's. Nothing here bounds a time from above: the machine is shared."""

import threading
import time

import numpy as np
import pytest

from treespan.core.clock import SPIN_NS, now_ns, sharpen_timers, sleep_ns, wait_ns
from treespan.core.jit import njit

# Intrinsics can be called from compiled code only.


@njit
def read_clock():
    return now_ns()


@njit
def read_often(times):
    for i in range(len(times)):
        times[i] = now_ns()


@njit
def sharpen_and_sleep(ns):
    return sharpen_timers(), sleep_ns(ns)


def test_clock_never_goes_back() -> None:
    times = np.zeros(100_000, dtype=np.int64)
    read_often(times)
    assert (np.diff(times) >= 0).all()
    assert times[-1] > times[0]


def test_clock_is_the_monotonic_clock_of_python() -> None:
    read_clock()  # compiled now
    for _ in range(100):
        before, now, after = time.monotonic_ns(), read_clock(), time.monotonic_ns()
        assert before <= now <= after


@pytest.mark.parametrize("ns", [0, 1, 1000, SPIN_NS, 2 * SPIN_NS, 2 * SPIN_NS + 1, 1_000_000, 5_000_000])
def test_waits_never_end_early(ns: int) -> None:
    wait_ns(ns)
    for _ in range(5):
        start = time.monotonic_ns()
        wait_ns(ns)
        assert time.monotonic_ns() - start >= ns


def test_sleep_across_whole_seconds_is_not_cut() -> None:
    start = time.monotonic_ns()
    sharpen_and_sleep(1_100_000_000)
    assert time.monotonic_ns() - start >= 1_100_000_000


def test_a_negative_wait_is_over_at_once() -> None:
    wait_ns(-1_000_000_000)


def test_libc_calls_succeed() -> None:
    assert sharpen_and_sleep(1000) == (0, 0)


def test_a_wait_leaves_the_interpreter_to_other_threads() -> None:
    wait_ns(1)
    turns = [0]
    waiting = threading.Thread(target=wait_ns, args=(100_000_000,))
    waiting.start()
    while waiting.is_alive():
        turns[0] += 1  # would stay near 0 if the lock were held
    assert turns[0] > 100
