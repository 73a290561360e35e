"""Ranks that are killed while they search: by whom, when, and what must hold then."""

import os
import signal
import threading
import time
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from tests.support.ranks import processes_of, ranks_of
from treespan.runtimes.living import gathered
from treespan.runtimes.ranks import RanksOnDemand
from treespan.runtimes.world import world
from treespan.schemes.kept import TreeName, kept_here
from treespan.schemes.plan import Request
from treespan.search.result import SearchResult
from treespan.search.shard import find, nodes_in_use

LATE = 2.0  # seconds that a search may take longer than was asked, on a busy machine


def rank_numbers(folder: Path) -> dict[int, int]:
    """The processes of the ranks that live, by the numbers that they began with."""
    found = {}
    for process in ranks_of(folder):
        try:
            words = Path(f"/proc/{process}/environ").read_bytes().split(b"\0")
        except OSError:  # it is gone
            continue
        numbers = [int(word.partition(b"=")[2]) for word in words if word.startswith(b"OMPI_COMM_WORLD_RANK=")]
        found.update(dict.fromkeys(numbers, process))
    return found


def kill(folder: Path, *numbers: int) -> None:
    """Kill ranks, by the numbers that they began with."""
    processes = rank_numbers(folder)
    for number in numbers:
        os.kill(processes[number], signal.SIGKILL)


def check_after_loss(name: TreeName, key: int) -> list[tuple[int, int]]:
    """At each rank: what it keeps is whole, and at its home. Returns visits of the root and number of nodes by rank."""
    me, mine = world().rank, (0, 0)
    for kept in kept_here(name).values():
        tree = kept.tree
        nodes = nodes_in_use(tree)
        keys = tree.node_key[nodes]
        homes = kept.homes.of(keys)
        if kept.homes.reserved:
            homes[keys == np.uint64(key)] = 0
        assert (homes == me).all() and len(set(keys.tolist())) == len(keys)
        for node in nodes:
            edges = slice(int(tree.node_first[node]), int(tree.node_first[node]) + int(tree.node_count[node]))
            assert tree.node_flight[node] == 0 and not tree.edge_flight[edges].any()
            assert tree.node_visits[node] == tree.edge_visits[edges].sum()
            assert (tree.edge_wins[edges] <= tree.edge_visits[edges] + 1e-6).all()
            assert find(tree, int(tree.node_key[node])) == node
        here = nodes[keys == np.uint64(key)]
        mine = (int(tree.node_visits[here].sum()), len(nodes))
    return gathered(True, [mine])


@dataclass
class Run:
    """A search in which ranks were killed."""

    result: SearchResult
    late: float  # seconds that it took longer than was asked
    found: list[tuple[int, int]]  # by `check_after_loss`


def search_and_kill(
    ranks: RanksOnDemand, wanted: Request, folder: Path, kills: Sequence[tuple[float, int]], before: int = 0
) -> Run:
    """Search while ranks are killed. kills: after how many seconds which rank; before: visits that the root has."""
    assert wanted.tree is not None and wanted.plan.budget.seconds is not None
    killer = threading.Thread(target=_kill_all, args=(folder, kills, time.monotonic()))
    killer.start()
    start = time.monotonic()
    result = ranks.search(wanted)
    late = time.monotonic() - start - wanted.plan.budget.seconds
    killer.join()
    assert sum(move.visits for move in result.moves) == result.root_visits
    assert all(-1e-6 <= move.wins <= move.visits + 1e-6 for move in result.moves)
    assert result.playouts >= 0 and result.lost_playouts >= 0
    if before == 0:
        assert result.playouts == result.root_visits
    found = ranks.call(check_after_loss, wanted.tree, wanted.position.key)
    assert sum(visits for visits, _ in found) == result.root_visits
    return Run(result, late, found)


def _kill_all(folder: Path, kills: Sequence[tuple[float, int]], start: float) -> None:
    for seconds, number in kills:
        time.sleep(max(start + seconds - time.monotonic(), 0.0))
        kill(folder, number)


def with_tree(wanted: Request) -> Request:
    return replace(wanted, tree=TreeName())


def is_clean(folder: Path) -> bool:
    return processes_of(folder) == [] and list(folder.iterdir()) == []
