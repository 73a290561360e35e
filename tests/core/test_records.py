"""Records as words: padding, attributes, and the hash against its plain twin."""

from typing import Any

import numba
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.naive.splitmix import MASK, STRIDE, scramble
from treespan.core.jit import njit
from treespan.core.records import LINE, WORD, hash_record, new_records, on_own_lines, record_dtype, word, word_count

FIELDS = (("name", np.uint64), ("board", np.uint8, (11,)), ("score", np.float64), ("to_play", np.int8))
ODD = record_dtype((("board", np.uint8, (3,)), ("left", np.int16), ("to_play", np.int8)))
scalar_types = st.sampled_from([np.int8, np.uint8, np.int16, np.uint32, np.int64, np.float32, np.float64])
shapes = st.one_of(st.just(()), st.tuples(st.integers(1, 9)), st.tuples(st.integers(1, 3), st.integers(1, 3)))


@njit
def count_words(record):
    return word_count(record)


@njit
def nth_word(record, index):
    return word(record, index)


@njit
def change_and_sum(record):
    record.to_play = 1
    record.board[2] = 7
    return record.board[2] + record.left


def plain_hash(content: bytes) -> int:
    value = STRIDE
    for start in range(0, len(content), 8):
        value = (scramble(value ^ int.from_bytes(content[start : start + 8], "little")) + STRIDE) & MASK
    return value


@given(st.lists(st.tuples(scalar_types, shapes), min_size=1, max_size=8))
def test_records_are_whole_words_with_aligned_fields(kinds: list[Any]) -> None:
    fields = [(f"field{i}", kind, shape) for i, (kind, shape) in enumerate(kinds)]
    dtype = record_dtype(fields)
    assert dtype.itemsize % WORD == 0
    assert dtype.names == tuple(name for name, _, _ in fields)
    end = 0
    for name, kind, shape in fields:
        place, offset = dtype.fields[name][:2]  # type: ignore[index]
        assert place.base == np.dtype(kind) and place.shape == shape
        assert offset % np.dtype(kind).itemsize == 0 and offset >= end
        end = offset + place.itemsize
    assert end <= dtype.itemsize < end + 2 * WORD


def test_new_records_are_zero_and_have_attributes() -> None:
    records = new_records(record_dtype(FIELDS), 3)
    assert len(records) == 3 and not records.tobytes().strip(b"\0")
    records[1].score = 2.5
    records[1].board[4] = 9
    assert records[1].score == 2.5 and records[1].board.tolist() == [0, 0, 0, 0, 9, 0, 0, 0, 0, 0, 0]
    assert records[0].score == 0 and records[2].score == 0


def test_compiled_code_sees_the_same_fields() -> None:
    record = new_records(ODD, 1)[0]
    record.left = -3
    assert change_and_sum(record) == 4
    assert record.to_play == 1 and record.board.tolist() == [0, 0, 7]


def test_words_are_the_bytes_of_the_record() -> None:
    record = new_records(record_dtype(FIELDS), 1)[0]
    record.name, record.score, record.to_play = 2**63 + 5, -1.25, -1
    record.board[:] = range(11)
    content = record.tobytes()
    assert count_words(record) * WORD == len(content)
    words = [int(nth_word(record, i)) for i in range(count_words(record))]
    assert b"".join(value.to_bytes(8, "little") for value in words) == content


@given(st.binary(min_size=8, max_size=8), st.binary(min_size=8, max_size=8))
def test_hash_equals_its_plain_twin(one: bytes, other: bytes) -> None:
    dtype = record_dtype((("first", np.uint8, (8,)), ("second", np.uint8, (8,))))
    record = new_records(dtype, 1)[0]
    record.first[:], record.second[:] = list(one), list(other)
    assert int(hash_record(record)) == plain_hash(one + other)


def test_hash_covers_every_byte() -> None:
    record = new_records(ODD, 1)[0]
    seen = {int(hash_record(record))}
    for name, values in (("left", range(1, 9)), ("to_play", range(1, 9))):
        for value in values:
            record[name] = value
            seen.add(int(hash_record(record)))
        record[name] = 0
    for cell in range(3):
        for bit in range(8):
            record.board[cell] = 1 << bit
            seen.add(int(hash_record(record)))
            record.board[cell] = 0
    assert len(seen) == 1 + 8 + 8 + 24


def test_copies_have_the_same_hash() -> None:
    records = new_records(ODD, 2)
    records[0].left, records[0].to_play = 77, 1
    records[1] = records[0]
    assert hash_record(records[0]) == hash_record(records[1]) == plain_hash(records[0].tobytes())


@pytest.mark.parametrize("count", [0, 1, 5])
def test_number_of_records(count: int) -> None:
    assert len(new_records(ODD, count)) == count


@pytest.mark.parametrize("dtype", [np.uint64, np.int8, np.float32, ODD])
@pytest.mark.parametrize("count", [1, 16, 1000])
def test_copy_on_own_lines_is_equal_and_alone(dtype: Any, count: int) -> None:
    original = new_records(ODD, count) if dtype is ODD else np.arange(count).astype(dtype)
    copy = on_own_lines(original)
    assert copy.tobytes() == original.tobytes() and type(copy) is type(original)
    assert (copy.dtype, copy.shape, copy.flags.aligned) == (original.dtype, original.shape, True)
    assert copy.ctypes.data % LINE == 0
    memory = copy
    while memory.base is not None:
        memory = memory.base
    assert memory.ctypes.data + memory.nbytes >= copy.ctypes.data + -(-copy.nbytes // LINE) * LINE


def test_compiled_code_takes_copies_for_the_same_type() -> None:
    for array in (np.zeros(3), new_records(ODD, 2)):
        assert numba.typeof(on_own_lines(array)) == numba.typeof(array)
