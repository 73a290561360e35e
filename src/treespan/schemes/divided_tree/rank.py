"""A rank of the schemes with travelling jobs: what its handlers work on, and which positions it holds."""

from typing import Any, NamedTuple

import numpy as np

from treespan.core.jit import njit_inline
from treespan.schemes.protocol.hooks import Hooks
from treespan.schemes.protocol.port import Port
from treespan.search.tree import TreeArrays
from treespan.search.work import Work


class TdsRank(NamedTuple):
    """One rank; or all ranks of a simulated cluster, whose trees share arrays."""

    game: Any
    port: Port
    tree: TreeArrays  # nodes whose home is here
    work: Work
    settings: Any  # record of SETTINGS
    random: np.ndarray  # uint64[rows], generators
    root_key: np.uint64
    root: np.ndarray  # uint32[1], the root's node, where it is
    visits_before: int  # of the root, when the search began
    grant: int  # playouts that a job gets each time that it starts at the root; 0: half of an even share
    all_jobs: int  # J, jobs that start at the root
    fair_load: int  # leaves that may wait at a rank before chance decides where the next one goes
    rank_share: int  # playouts after which a rank has done its share; 0: the budget is exact
    reserved: int  # the first ranks, which hold no nodes but perhaps the root
    homes: np.ndarray  # uint16[...], the ranks of the buckets of keys (`schemes/homes.py`)
    place_idle: bool  # playouts may go to ranks with less to do
    root_home: int
    whole_grants: bool  # a job under way counts as all playouts that it may do; else as one
    large_from: int  # a scheme takes over jobs with more playouts than this
    hooks: Hooks  # what a scheme adds to these handlers


@njit_inline
def home_of(position_key, rank):
    """The rank that holds a position: key mod N, while no rank is lost."""
    if position_key == rank.root_key:
        return rank.root_home
    return np.int64(rank.homes[position_key % np.uint64(len(rank.homes))])
