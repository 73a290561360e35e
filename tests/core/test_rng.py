"""The random generator against published values, its plain twin, and tests of randomness."""

import os
import subprocess
import sys

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.naive.splitmix import SplitMix64, scramble
from tests.naive.statistics import assert_mean, assert_uniform
from treespan.core.jit import JIT_DISABLED
from treespan.core.rng import below, generator, hash_table, hash_words, mix64, next64, unit

SAMPLES = 5_000 if JIT_DISABLED else 50_000
words = st.integers(0, 2**64 - 1)

# Prints what must be the same in every process, compiled or not.
PROGRAM = """
from treespan.core.rng import *
random = generator(7, 3)
print([int(next64(random)) for _ in range(5)], [int(below(random, 361)) for _ in range(20)])
print([float(unit(random)) for _ in range(5)], int(mix64(np.uint64(12345))), int(random[0]))
print(hash_table(99, (3, 4)).tolist(), int(hash_words(1, -2, 2**70)))
"""


def at(state: int) -> np.ndarray:
    return np.array([state], dtype=np.uint64)


def test_first_outputs_from_state_0_are_the_published_ones() -> None:
    random = at(0)
    assert [int(next64(random)) for _ in range(3)] == [0xE220A8397B1DCDAF, 0x6E789E6AA1B965F4, 0x06C45D188009454F]


@given(words)
def test_scrambling_equals_its_plain_twin(word: int) -> None:
    assert int(mix64(np.uint64(word))) == scramble(word)


@given(words, st.integers(1, 2**32 - 1))
def test_numbers_equal_those_of_the_plain_twin(state: int, n: int) -> None:
    random, twin = at(state), SplitMix64(state)
    assert int(next64(random)) == twin.next64()
    assert int(below(random, n)) == twin.below(n)
    assert float(unit(random)) == twin.unit()
    assert int(random[0]) == twin.state


@given(words, st.integers(1, 2**32 - 1))
def test_below_stays_below(state: int, n: int) -> None:
    assert 0 <= int(below(at(state), n)) < n


@pytest.mark.parametrize("n", [2, 7, 81, 361])
def test_below_is_uniform(n: int) -> None:
    random = generator(n)
    counts = np.bincount([int(below(random, n)) for _ in range(SAMPLES)], minlength=n)
    assert_uniform(counts.tolist())


def test_unit_lies_in_the_unit_interval_and_is_uniform() -> None:
    random = generator(5)
    numbers = [float(unit(random)) for _ in range(SAMPLES)]
    assert min(numbers) >= 0.0 and max(numbers) < 1.0
    assert_mean(numbers, 0.5)
    assert_uniform(np.bincount((np.array(numbers) * 64).astype(int), minlength=64).tolist())


def test_largest_unit_is_below_1() -> None:
    top = 2.0**-53 * (2**53 - 1)
    assert float(np.float64(np.uint64(2**64 - 1) >> np.uint64(11)) * 2.0**-53) == top < 1.0


def test_same_seed_and_stream_give_the_same_numbers() -> None:
    assert generator(4, 2) == generator(4, 2)
    assert generator(4) == generator(4, 0)


def test_every_seed_and_stream_starts_elsewhere() -> None:
    starts = {int(generator(seed, stream)[0]) for seed in range(-50, 50) for stream in range(50)}
    assert len(starts) == 100 * 50


@pytest.mark.parametrize("one, other", [((1, 0), (1, 1)), ((1, 0), (2, 0)), ((1, 2), (2, 1))])
def test_streams_do_not_correlate(one: tuple[int, int], other: tuple[int, int]) -> None:
    first, second = generator(*one), generator(*other)
    numbers = np.array([[float(unit(random)) for _ in range(SAMPLES)] for random in (first, second)])
    assert abs(float(np.corrcoef(numbers)[0, 1])) < 5 / SAMPLES**0.5


def test_streams_do_not_overlap_where_they_are_used() -> None:
    # The distance of two streams, in steps of the generator's cycle, is their difference over the stride.
    inverse = pow(0x9E3779B97F4A7C15, -1, 2**64)
    starts = [int(generator(1, stream)[0]) for stream in range(64)]
    gaps = [(a - b) * inverse % 2**64 for a in starts for b in starts if a != b]
    assert min(gaps) > 2**40


@given(st.lists(st.integers(-(2**70), 2**70), min_size=1, max_size=4))
def test_hash_of_words_depends_on_each_word_and_its_place(numbers: list[int]) -> None:
    value = int(hash_words(*numbers))
    for i in range(len(numbers)):
        changed = [*numbers[:i], numbers[i] + 1, *numbers[i + 1 :]]
        assert int(hash_words(*changed)) != value
    assert int(hash_words(*numbers, 0)) != value
    if numbers[::-1] != numbers:
        assert int(hash_words(*numbers[::-1])) != value


def test_hash_tables_have_distinct_balanced_words() -> None:
    table = hash_table(1, (4, 5, 500))
    assert table.shape == (4, 5, 500) and table.dtype == np.uint64
    flat = table.ravel()
    assert len(set(flat.tolist())) == len(flat)
    bits = (flat[:, None] >> np.arange(64, dtype=np.uint64)) & np.uint64(1)
    deviations = np.abs(bits.sum(axis=0) - len(flat) / 2) / (len(flat) ** 0.5 / 2)
    assert deviations.max() < 6
    assert not np.isin(hash_table(2, (4, 5, 500)), flat).any()


def test_other_processes_with_and_without_the_jit_give_the_same_numbers() -> None:
    def output(**environment: str) -> str:
        done = subprocess.run(
            [sys.executable, "-c", PROGRAM], env={**os.environ, **environment}, capture_output=True, text=True
        )
        assert done.returncode == 0, done.stderr
        return done.stdout

    assert output(NUMBA_DISABLE_JIT="0") == output(NUMBA_DISABLE_JIT="1")
