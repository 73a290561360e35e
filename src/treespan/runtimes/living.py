"""What all ranks of a tree do together between its searches: tell the root, save, load.

The ranks are parts of this process, or the processes of an MPI job. Each process that has some calls these functions.
"""

import contextlib
import threading
from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from treespan.core.errors import OptionError, TreespanError
from treespan.runtimes.run import on_ranks
from treespan.runtimes.world import world
from treespan.schemes.kept import Kept, TreeName, kept_here, put_back
from treespan.schemes.plan import MPI, SIMULATED, Request
from treespan.schemes.saved import Manifest, SaveError, read_manifest, read_shard, too_small, write_shard
from treespan.schemes.scheme import Place
from treespan.search.shard import Shard, add_nodes, choose, copy_nodes, find, nodes_in_use
from treespan.search.tree import NO_NODE, SEARCH


def gathered(is_mpi: bool, found: list[Any]) -> list[Any]:
    """Return what all ranks have found, in their order."""
    if not is_mpi:
        return found
    return [one for of_rank in world().allgather(found) for one in of_rank]


@dataclass(frozen=True)
class Root:
    """The root of a living tree between searches."""

    shard: Shard
    searches: int


def tell_root(name: TreeName, key: int, is_mpi: bool) -> Root | None:
    """The root's node, from the rank that has it; None if none has."""
    mine = []
    for kept in kept_here(name).values():
        node = find(kept.tree, key)
        if node != NO_NODE:
            mine.append(Root(copy_nodes(kept.tree, np.array([node])), int(kept.tree.used[SEARCH])))
    return next(iter(gathered(is_mpi, mine)), None)


# Saving. The nodes are copied at once, and written while the next search runs


class Writing:
    """A shard on its way to the disk."""

    def __init__(self, folder: Path, number: int, shard: Shard):
        self.error: TreespanError | None = None
        self._thread = threading.Thread(target=self._write, args=(folder, number, shard), daemon=True)
        self._thread.start()

    def _write(self, folder: Path, number: int, shard: Shard) -> None:
        try:
            write_shard(folder, number, shard)
        except TreespanError as error:
            self.error = error
        except Exception as error:  # told by who waits
            self.error = SaveError(f"cannot save: {type(error).__name__}: {error}")

    def wait(self) -> str | None:
        """Wait for the end. Returns what went wrong."""
        self._thread.join()
        return self.error.message if self.error else None


_writing: dict[TreeName, list[Writing]] = {}


def begin_save(name: TreeName, folder: Path) -> None:
    """Copy what the ranks of this process keep, and begin to write it."""
    _writing[name] = [
        Writing(folder, first, copy_nodes(kept.tree, nodes_in_use(kept.tree)))
        for first, kept in sorted(kept_here(name).items())
    ]


def end_save(name: TreeName, is_mpi: bool) -> list[str]:
    """Wait until all shards are written. Returns what went wrong."""
    return [word for word in gathered(is_mpi, [one.wait() for one in _writing.pop(name, [])]) if word]


# Loading


def load_ranks(request: Request, manifest: Manifest, folder: Path) -> str | None:
    """Let the ranks of this process have their part of a saved tree. Returns what went wrong at one of all ranks.

    Then none of them has anything.
    """
    is_mpi = request.plan.runtime == MPI
    request = on_ranks(request)
    if is_mpi:  # who waits for it may not know yet that one is lost
        request = replace(request, plan=replace(request.plan, ranks=world().size))
    ranks, error, loaded = request.plan.ranks, None, {}
    if is_mpi:
        firsts: Sequence[int] = [world().rank]
    else:
        firsts = [0] if request.plan.runtime == SIMULATED else range(ranks)
    rows = ranks if request.plan.runtime == SIMULATED else 1
    try:
        loaded = _read_ranks(request, manifest, folder, [Place(first, rows) for first in firsts])
    except TreespanError as caught:
        error = caught.message
    except Exception as caught:  # the others wait for this rank
        error = f"cannot load a saved tree: {type(caught).__name__}: {caught}"
    errors = [word for word in gathered(is_mpi, [error]) if word]
    if errors:
        return str(errors[0])
    for first, kept in loaded.items():
        put_back(request.tree, first, kept, on_job=is_mpi)
    return None


def _read_ranks(request: Request, manifest: Manifest, folder: Path, places: Sequence[Place]) -> dict[int, Kept]:
    scheme, position, plan = request.plan.scheme, request.position, request.plan
    found = {place.first: scheme.nothing_kept(request, place) for place in places}
    lost = 0
    for entry in manifest.shards:
        shard = read_shard(folder, entry, found[places[0].first].tree, position.game.move_ids)
        homes = scheme.homes(shard.node_key, position, plan.ranks)
        for place in places:
            mine = np.isin(homes, place.ranks)
            lost += add_nodes(found[place.first].tree, choose(shard, mine))
    if lost:
        raise OptionError(too_small(plan, manifest))
    for first, kept in found.items():
        kept.tree.used[SEARCH] = manifest.searches
        found[first] = kept._replace(root_key=np.uint64(position.key), cut=frozenset(manifest.cut))
    return found


def bring_back(request: Request, kept: Kept, me: int) -> None:
    """After a loss: what the lost rank had in the last save comes to the ranks that hold those positions now.

    What cannot be read is not there: the search goes on without it.
    """
    lost = kept.homes.lost
    if request.save is None or lost is None or not lost.any():
        return
    with contextlib.suppress(TreespanError):
        manifest = read_manifest(request.save)
        if (manifest.game, manifest.options) != (request.position.game.spec(), asdict(request.plan.options)):
            return  # none of this tree was made yet
        for entry in manifest.shards:
            shard = read_shard(request.save / manifest.folder, entry, kept.tree, request.position.game.move_ids)
            is_mine = kept.homes.of(shard.node_key) == me
            wanted = is_mine & lost[kept.homes.bucket_of(shard.node_key)]
            wanted &= [find(kept.tree, key) == NO_NODE for key in shard.node_key]
            add_nodes(kept.tree, choose(shard, wanted))
