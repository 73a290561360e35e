"""How many different keys were seen, in 4 KB: HyperLogLog (Flajolet, Fusy, Gandouet & Meunier 2007).

Sketches of several workers are merged by their maximum, and then count what all of them have seen, each key once. The
standard error is 1.04 / sqrt(REGISTERS) = 1.6 %.
"""

import math

import numpy as np

from treespan.core.jit import njit_inline
from treespan.core.rng import mix64

REGISTERS = 4096
_INDEX_BITS = np.uint64(12)


def new_sketch() -> np.ndarray:
    return np.zeros(REGISTERS, dtype=np.uint8)


@njit_inline
def note_key(sketch, key):
    """Take in a key: its register keeps the longest run of low zero bits that a hash of the key has had."""
    mixed = mix64(key)
    bits = mixed >> _INDEX_BITS
    run = 1
    while bits & np.uint64(1) == np.uint64(0) and run < 52:
        bits >>= np.uint64(1)
        run += 1
    place = mixed & np.uint64(REGISTERS - 1)
    if run > sketch[place]:
        sketch[place] = run


def estimate(sketch: np.ndarray) -> float:
    """About how many different keys the sketch has seen."""
    raw = 0.7213 / (1 + 1.079 / REGISTERS) * REGISTERS**2 / float(np.sum(2.0 ** -sketch.astype(np.float64)))
    empty = int(np.count_nonzero(sketch == 0))
    if raw <= 2.5 * REGISTERS and empty:  # few keys: count the registers that none has met
        return REGISTERS * math.log(REGISTERS / empty)
    return raw
