"""One random generator for everything: SplitMix64 (Steele, Lea, Flood 2014).

A generator is a `uint64[1]` array, so that compiled code advances it in place. A step is an addition and
two multiplications, and the finaliser `mix64` doubles as the hash behind P-game trees and Zobrist keys.
All arithmetic is in explicit 64-bit unsigned types: in Numba `uint64 + 1` is an int64.
"""

import numpy as np

from treespan.core.jit import njit

GOLDEN = np.uint64(0x9E3779B97F4A7C15)  # odd, 2^64 over the golden ratio: the generator's stride
_MIX1 = np.uint64(0xBF58476D1CE4E5B9)
_MIX2 = np.uint64(0x94D049BB133111EB)
_S30, _S27, _S31, _S32, _S11 = (np.uint64(n) for n in (30, 27, 31, 32, 11))
_TO_UNIT = 2.0**-53


@njit
def mix64(z):  # uint64 -> uint64
    """Scramble 64 bits: a bijection in which every input bit affects every output bit."""
    z = (z ^ (z >> _S30)) * _MIX1
    z = (z ^ (z >> _S27)) * _MIX2
    return z ^ (z >> _S31)


@njit
def next64(random):
    """Return the next 64 random bits of `random`, a uint64[1]."""
    z = random[0] + GOLDEN
    random[0] = z
    return mix64(z)


@njit
def below(random, n):
    """Return a random uint64 in [0, n), n < 2^32.

    Multiplies instead of dividing (Lemire); the bias is below n / 2^32 and is not corrected.
    """
    return ((next64(random) >> _S32) * np.uint64(n)) >> _S32


@njit
def unit(random):
    """Return a random float64 in [0, 1)."""
    return np.float64(next64(random) >> _S11) * _TO_UNIT


_mix_plain = getattr(mix64, "py_func", mix64)  # also takes NumPy arrays, and compiles nothing at import


def generator(seed: int, stream: int = 0) -> np.ndarray:
    """Return a generator for worker `stream` of a run with `seed`.

    Streams start at hashed, so practically independent, points of the 2^64 cycle.
    """
    return np.array([hash_words(seed, stream)], dtype=np.uint64)


def hash_words(*words: int) -> np.uint64:
    """Return a 64-bit hash of some integers, for seeds and tables that Python makes once."""
    value = np.uint64(0)
    with np.errstate(over="ignore"):
        for word in words:
            low_bits = np.uint64(word & (2**64 - 1))
            value = np.uint64(_mix_plain(value + GOLDEN + _mix_plain(low_bits + GOLDEN)))
    return value


def hash_table(seed: int, shape: tuple[int, ...]) -> np.ndarray:
    """Return an array of independent 64-bit words, as Zobrist keys need them. Every process gets the same."""
    steps = np.arange(1, int(np.prod(shape)) + 1, dtype=np.uint64)
    with np.errstate(over="ignore"):
        table: np.ndarray = _mix_plain(hash_words(seed) + steps * GOLDEN)
    return table.reshape(shape)
