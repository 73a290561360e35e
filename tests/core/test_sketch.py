"""HyperLogLog: estimates, repetition, merging."""

import numpy as np
import pytest

from treespan.core.jit import JIT_DISABLED, njit
from treespan.core.rng import generator, next64
from treespan.core.sketch import estimate, new_sketch, note_key


@njit
def note_many(sketch, random, count):
    for _ in range(count):
        note_key(sketch, next64(random))


@pytest.mark.parametrize("count", [1, 100, 5_000] if JIT_DISABLED else [1, 100, 5_000, 200_000, 3_000_000])
def test_estimate_is_near_the_number_of_different_keys_however_often_they_come(count: int) -> None:
    sketch = new_sketch()
    for _ in range(2):
        note_many(sketch, generator(7, 1), count)
    assert estimate(sketch) == pytest.approx(count, rel=0.06)


def test_an_empty_sketch_has_seen_nothing() -> None:
    assert estimate(new_sketch()) == 0.0


def test_merged_sketches_count_common_keys_once() -> None:
    first, second = new_sketch(), new_sketch()
    for stream, sketch in ((1, first), (2, first), (2, second), (3, second)):
        note_many(sketch, generator(7, stream), 2_000)
    assert estimate(np.maximum(first, second)) == pytest.approx(6_000, rel=0.06)
