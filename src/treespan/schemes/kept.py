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
    homes: Homes | None = None  # which rank holds what; None: each rank has a tree of its own


_kept: dict[TreeName, dict[int, Kept]] = {}


def recall(name: TreeName | None, first: int) -> Kept | None:
    """Return what the ranks of this process from `first` on have kept of a tree, once. Drops what was forgotten."""
    if name is None:
        return None
    for other in [other for other in _kept if other.root == name.root and other != name]:
        del _kept[other]
    return _kept.get(name, {}).pop(first, None)


def put_back(name: TreeName | None, first: int, kept: Kept) -> None:
    """Keep this for the next search of a tree."""
    if name is not None:
        _kept.setdefault(name, {})[first] = kept


def kept_here(name: TreeName) -> dict[int, Kept]:
    """Return what ranks of this process keep of a tree, by their first rank."""
    return dict(_kept.get(name, {}))


def drop(name: TreeName) -> None:
    """Give back the memory of a tree."""
    for other in [other for other in _kept if other.root == name.root]:
        del _kept[other]
