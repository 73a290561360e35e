"""Trees that live from search to search: what the ranks of this process keep of them meanwhile.

A request may name a tree. Who runs a search takes what its ranks have kept of that tree, and puts it back when the
search is over. If the search fails, nothing is put back, and the next one begins anew.
"""

import os
from dataclasses import dataclass, field, replace
from typing import NamedTuple

import numpy as np

from treespan.schemes.homes import Homes
from treespan.search.tree import TreeArrays
from treespan.search.work import Work


@dataclass(frozen=True)
class TreeName:
    """The name of a tree that lives from search to search, in all processes where it has ranks."""

    root: str = field(default_factory=lambda: os.urandom(8).hex())
    age: int = 0  # how often the tree was forgotten: what ranks have kept of a younger one is not its

    def forgotten(self) -> "TreeName":
        """The name of the tree that grows in the place of this one."""
        return replace(self, age=self.age + 1)


class Kept(NamedTuple):
    """What one rank keeps, or, simulated, all ranks."""

    tree: TreeArrays
    work: Work
    random: np.ndarray  # generators of the ranks
    root_key: np.uint64
    cut: frozenset[int]  # moves that were removed from the root (`Request.cut`)
    homes: Homes  # which rank holds what, in a divided tree


_kept: dict[TreeName, dict[int, Kept]] = {}
_on_job: set[TreeName] = set()  # trees of which this process has one rank, as part of an MPI job


def recall(name: TreeName | None, first: int) -> Kept | None:
    """Return what the ranks of this process from `first` on have kept of a tree, once. Drops what was forgotten."""
    if name is None:
        return None
    for other in [other for other in _kept if other.root == name.root and other != name]:
        del _kept[other]
        _on_job.discard(other)
    return _kept.get(name, {}).pop(first, None)


def put_back(name: TreeName | None, first: int, kept: Kept | None, on_job: bool = False) -> None:
    """Keep this for the next search of a tree. `on_job`: of the rank that this process is in an MPI job."""
    if name is not None and kept is not None:
        _kept.setdefault(name, {})[first] = kept
        if on_job:
            _on_job.add(name)


def lose_ranks(there: list[int], me: int) -> None:
    """Ranks of this MPI job are lost. `there`: the former numbers of those that are left; this process is `me` now."""
    for name in _on_job & set(_kept):
        (kept,) = _kept[name].values() or (None,)
        if kept is not None:
            _kept[name] = {me: kept._replace(homes=kept.homes.after_loss(there))}


def kept_here(name: TreeName) -> dict[int, Kept]:
    """Return what ranks of this process keep of a tree, by their first rank."""
    return dict(_kept.get(name, {}))


def drop(name: TreeName) -> None:
    """Give back the memory of a tree."""
    for other in [other for other in _kept if other.root == name.root]:
        del _kept[other]
        _on_job.discard(other)
