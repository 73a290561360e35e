"""A tree in a folder, to come back to.

    PATH/manifest.json          what the tree is of, and of each shard its file, nodes, edges and SHA-256
    PATH/save-7/shard-0.npz     nodes and moves as arrays (`search/shard.py`), one file a rank; `numpy.load` reads it
    PATH/save-7/shard-0.json    the shard's line for the manifest

A save is written beside the one before. The manifest is renamed into place when all of it is on the disk, and then the
save before goes. So whatever happens at whatever moment, the last whole save is there. Files are read as numbers and
text: nothing runs by being read.
"""

import contextlib
import fcntl
import hashlib
import json
import os
import re
import shutil
import zipfile
from collections.abc import Iterator
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np

import treespan
from treespan.core.errors import TreespanError, about, named, shown
from treespan.games.position import Position, restored
from treespan.games.rules import Game
from treespan.schemes.plan import Plan
from treespan.search.shard import Shard, fits
from treespan.search.tree import TreeArrays

FORMAT = 1
MANIFEST = "manifest.json"
MOST_MANIFEST = 100_000_000  # bytes
_SAVE = re.compile(r"save-(\d+)")
_SHARD = re.compile(r"shard-\d+\.npz")
_OWN = re.compile(r"manifest\.json(\.part)?|save-\d+")


class SaveError(TreespanError):
    """A saved tree that cannot be written, read or continued."""


@dataclass(frozen=True)
class Entry:
    """A shard's line in the manifest."""

    file: str
    nodes: int
    edges: int
    sha256: str


@dataclass(frozen=True)
class Manifest:
    """What a saved tree is of."""

    game: str  # its spec
    state: str  # the position's record, in hexadecimal digits
    moves: list[int]  # that have led there
    history: list[int]  # keys of the positions before, as the game's rules need them
    key: str  # of the position, in hexadecimal digits
    scheme: str  # its spec, without the options of a search
    options: dict[str, Any]  # of a search
    seed: int
    searches: int  # that the tree has grown in
    root_visits: int
    cut: list[int]  # moves that only the game's history forbids, removed from the root
    folder: str = ""  # of its shards
    shards: list[Entry] = field(default_factory=list)
    format: int = FORMAT
    treespan: str = treespan.__version__

    def position_in(self, game: Game, path: Path) -> Position:
        """The position that was searched."""
        different = f"the tree in '{shown(path)}' is of another game than {game.spec()} is now"
        if len(self.state) != 2 * game.dtype.itemsize:
            raise SaveError(f"{different}: its positions have {len(self.state) // 2} bytes, not {game.dtype.itemsize}")
        position = restored(game, bytes.fromhex(self.state), self.moves, self.history)
        if position.key != int(self.key, 16):
            raise SaveError(f"{different}: the key of its position is {self.key}, not {position.key:x}")
        return position


def facts_of(position: Position, plan: Plan, searches: int, root_visits: int) -> Manifest:
    """The manifest of a tree, without its shards."""
    return Manifest(
        game=position.game.spec(),
        state=position.state.tobytes().hex(),
        moves=[int(move) for move in position.moves_made],
        history=[int(key) for key in position.history],
        key=f"{position.key:x}",
        scheme=plan.scheme.spec(),
        options=asdict(plan.options),
        seed=plan.seed,
        searches=searches,
        root_visits=root_visits,
        cut=sorted(int(move) for move in position.forbidden_moves),
    )


def too_small(plan: Plan, manifest: Manifest) -> str:
    """The message of a tree without room for a saved one."""
    moves = sum(entry.edges for entry in manifest.shards)
    return f"{named('nodes', plan.options.nodes)} is too small for the saved tree, which has {moves} moves; give more"


class SaveFolder:
    """The folder of a saved tree, while it is written. One process at a time may write there."""

    def __init__(self, path: str | os.PathLike[str]):
        """Open or create it. Raises SaveError, and touches nothing, if something else is there."""
        self.path = Path(path)
        which = f"'{shown(self.path)}'{about('save', self.path)}"
        try:
            if self.path.exists() and not self.path.is_dir():
                raise SaveError(f"{which} is a file; give a folder for the saved tree")
            names = sorted(os.listdir(self.path)) if self.path.exists() else []
            foreign = [name for name in names if not _OWN.fullmatch(name)]
            if foreign:
                raise SaveError(f"{which} has other files, as '{shown(foreign[0])}'; give a new or empty folder")
            if names and MANIFEST not in names and not all(_SAVE.fullmatch(name) for name in names):
                raise SaveError(f"{which} is no saved tree; give a new or empty folder")
            self.path.mkdir(parents=True, exist_ok=True)
            self._lock = os.open(self.path, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
        except OSError as error:
            raise SaveError(f"cannot save to {which}: {error.strerror}; give another folder") from None
        try:
            fcntl.flock(self._lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            os.close(self._lock)
            raise SaveError(f"another process saves to {which}; give another folder") from None
        except OSError:  # a file system without locks
            pass
        if not os.access(self.path, os.W_OK | os.X_OK):
            self.close()
            raise SaveError(f"cannot save to {which}: it may not be written; give another folder")
        self._number = max((int(match[1]) for match in map(_SAVE.fullmatch, names) if match), default=0)

    def begin(self) -> Path:
        """Make the folder of the next save."""
        self._number += 1
        folder = self.path / f"save-{self._number}"
        with telling(self.path):
            folder.mkdir()
        return folder

    def commit(self, folder: Path, facts: Manifest, shards: list[Entry]) -> None:
        """All shards of a save are there: it takes the place of the one before."""
        document = asdict(replace(facts, folder=folder.name, shards=shards))
        with telling(self.path):
            write_aside(self.path / MANIFEST, json.dumps(document, indent=1).encode())
        for other in self.path.glob("save-*"):
            if other != folder:
                shutil.rmtree(other, ignore_errors=True)

    def discard(self, folder: Path) -> None:
        """A save has failed: give its room back."""
        shutil.rmtree(folder, ignore_errors=True)

    def close(self) -> None:
        """Let others write here."""
        with contextlib.suppress(OSError):
            os.close(self._lock)


@contextlib.contextmanager
def telling(path: Path) -> Iterator[None]:
    """Raise what the system cannot do as one line."""
    try:
        yield
    except OSError as error:
        which = f"'{shown(path)}'{about('save', path)}"
        raise SaveError(
            f"cannot save to {which}: {error.strerror or error}; make room, or give another folder"
        ) from None


def write_aside(path: Path, content: bytes) -> None:
    """Write a file so that it is there as a whole or not at all."""
    aside = path.with_name(path.name + ".part")
    with open(aside, "wb") as file:
        file.write(content)
        file.flush()
        os.fsync(file.fileno())
    os.replace(aside, path)
    folder = os.open(path.parent, os.O_RDONLY)
    try:
        os.fsync(folder)
    finally:
        os.close(folder)


def write_shard(folder: Path, number: int, shard: Shard) -> None:
    """Write a shard and its line for the manifest; when the line is there, so is the shard."""
    path = folder / f"shard-{number}.npz"
    with telling(folder.parent):
        with open(path, "w+b") as file:
            np.savez(file, **shard._asdict())
            file.flush()
            os.fsync(file.fileno())
            file.seek(0)
            digest = hashlib.file_digest(file, "sha256").hexdigest()
        entry = Entry(path.name, len(shard.node_key), len(shard.edge_move), digest)
        write_aside(path.with_suffix(".json"), json.dumps(asdict(entry)).encode())


def entries_in(folder: Path, count: int) -> list[Entry] | None:
    """The lines of so many shards; None if some are not there yet."""
    found = []
    for number in range(count):
        path = folder / f"shard-{number}.json"
        if not path.exists():
            return None
        found.append(Entry(**json.loads(path.read_bytes())))
    return found


def all_entries(folder: Path, count: int) -> list[Entry]:
    """The lines of so many shards, when all are written. Raises SaveError if some are not to be seen here."""
    found = entries_in(folder, count)
    if found is None:
        which = f"'{shown(folder.parent)}'{about('save', folder.parent)}"
        raise SaveError(f"rank 0 does not see what all ranks have written to {which}; give a folder that they share")
    return found


def read_manifest(path: str | os.PathLike[str]) -> Manifest:
    """Read what a saved tree is of."""
    where = Path(path)
    which = f"'{shown(where)}'{about('resume', where)}"
    try:
        if (where / MANIFEST).stat().st_size > MOST_MANIFEST:
            raise SaveError(f"{which} is no saved tree: its manifest is too large; give the folder of one")
        document = json.loads((where / MANIFEST).read_bytes())
    except OSError as error:
        raise SaveError(f"cannot read a saved tree from {which}: {error.strerror}; give the folder of one") from None
    except (ValueError, RecursionError):
        raise SaveError(f"the manifest in {which} is damaged; give another save") from None
    version = document.get("treespan") if isinstance(document, dict) else None
    if not isinstance(document, dict) or not isinstance(version, str):
        raise SaveError(f"the manifest in {which} is none of a saved tree; give the folder of one")
    if (document.get("format"), version) != (FORMAT, treespan.__version__):
        saved = f"treespan {shown(version)}, in format {shown(document.get('format'))}"
        raise SaveError(f"{which} was saved by {saved}; this is {treespan.__version__}, which reads {FORMAT}")
    try:
        return _read_document(document)
    except (TypeError, ValueError, KeyError):
        raise SaveError(f"the manifest in {which} is damaged; give another save") from None


def _read_document(document: dict[str, Any]) -> Manifest:
    """Check that each field has the type that it is declared with."""
    kinds: dict[str, type] = {
        **dict.fromkeys(("game", "state", "key", "scheme", "folder", "treespan"), str),
        **dict.fromkeys(("seed", "searches", "root_visits", "format"), int),
        **dict.fromkeys(("moves", "history", "cut", "shards"), list),
        "options": dict,
    }
    if set(document) != set(kinds) or any(type(document[name]) is not kind for name, kind in kinds.items()):
        raise ValueError
    if not all(type(move) is int for move in document["moves"] + document["history"] + document["cut"]):
        raise ValueError
    bytes.fromhex(document["state"])
    int(document["key"], 16)
    shards = [Entry(**entry) for entry in document["shards"]]
    counts = [number for entry in shards for number in (entry.nodes, entry.edges)]
    is_named = all(_SHARD.fullmatch(str(entry.file)) for entry in shards) and _SAVE.fullmatch(document["folder"])
    if not is_named or not all(type(number) is int and number >= 0 for number in counts):
        raise ValueError
    return Manifest(**{**document, "shards": shards})


def read_shard(folder: Path, entry: Entry, tree: TreeArrays, move_ids: int) -> Shard:
    """Read a shard. Raises SaveError unless it is what was written, and fits such a tree."""
    path = folder / entry.file
    which = f"'{shown(path)}'{about('resume', folder.parent)}"
    try:
        with open(path, "rb") as file:
            if hashlib.file_digest(file, "sha256").hexdigest() != entry.sha256:
                raise SaveError(f"{which} is damaged; give another save")
            file.seek(0)
            with np.load(file, allow_pickle=False) as arrays:
                shard = Shard(**{name: arrays[name] for name in Shard._fields})
    except OSError as error:
        raise SaveError(f"cannot read {which}: {error.strerror or error}; give another save") from None
    except (ValueError, KeyError, EOFError, zipfile.BadZipFile):
        raise SaveError(f"{which} is no shard of a tree; give another save") from None
    if (len(shard.node_key), len(shard.edge_move)) != (entry.nodes, entry.edges) or not fits(shard, tree, move_ids):
        raise SaveError(f"{which} has arrays that do not fit together; give another save")
    return shard
