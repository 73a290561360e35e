"""Homes: which rank holds which positions of a divided tree.

A position's key names a bucket, and a table names the rank of each bucket. While no rank is lost that is key mod N.
When one is lost its buckets go to the others, and no other node moves.
"""

from dataclasses import dataclass

import numpy as np

BUCKETS = 1024  # about so many, so that those of a lost rank can be dealt out evenly
LEAST, MOST = 4, 256  # buckets of a rank
NOBODY = 2**16 - 1


@dataclass(frozen=True)
class Homes:
    """The table, which ranks keep with their tree."""

    buckets: np.ndarray  # uint16[...], the rank that holds the positions with key mod length = index
    reserved: int  # the first ranks, which hold no nodes but perhaps the root
    is_whole: bool = True  # whether no rank was lost since the tree began
    lost: np.ndarray | None = None  # bool[...], buckets whose nodes were lost since the last search

    def of(self, keys: np.ndarray) -> np.ndarray:
        """The ranks that hold the positions with these keys."""
        return np.asarray(self.buckets[self.bucket_of(keys)], dtype=np.int64)

    def bucket_of(self, keys: np.ndarray) -> np.ndarray:
        return np.asarray(keys % np.uint64(len(self.buckets)))

    def after_loss(self, there: list[int]) -> "Homes":
        """The table when ranks were lost. `there`: the former numbers of those that are left, in their new order."""
        reserved = sum(rank < self.reserved for rank in there)
        if reserved == len(there):  # somebody must hold nodes
            reserved = 0
        number = np.full(NOBODY + 1, NOBODY, dtype=np.uint16)
        number[there] = np.arange(len(there))
        buckets = number[self.buckets]
        lost = buckets == NOBODY
        held = np.bincount(buckets[~lost], minlength=len(there))[: len(there)]
        for bucket in np.flatnonzero(lost):
            holder = reserved + int(np.argmin(held[reserved:]))
            buckets[bucket] = holder
            held[holder] += 1
        return Homes(buckets, reserved, False, lost if self.lost is None else self.lost | lost)


def usual_homes(ranks: int, reserved: int) -> Homes:
    """The table of so many ranks, none of which is lost: a key's home is key mod N."""
    holders = ranks - reserved
    each = min(max(BUCKETS // holders, LEAST), MOST)
    return Homes(np.tile(np.arange(reserved, ranks, dtype=np.uint16), each), reserved)
