"""Compiled code on disk: a file for each entry, named by the hash of all that the code depends on.

The folder is `$TREESPAN_CACHE_DIR`, or `treespan` in the user's cache folder. It is used only if nobody else can have
written there: the folder and its entries belong to this user, nobody else may write them, and none is a link.
An entry is JSON and machine code with a checksum. Reading one runs nothing, and a damaged one is compiled anew.
Entries are written under another name and then renamed. Where the folder cannot be used or written, code is compiled
for this process alone, and one line says so.

Processes that need the same entries at the same time, such as the ranks of a job, share the work: each compiles entries
that no other process has locked (`claim`).
"""

import contextlib
import errno
import fcntl
import hashlib
import json
import os
import platform
import stat
import sys
import time
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any

from treespan.core.announce import may_speak

NOT_KEPT = "compiled code is not kept"  # begins what users are told
FORMAT = b"treespan-object-1\n"
UNUSED_SECONDS = 7 * 24 * 3600  # an entry is removed when nobody has used it for this time
TOUCH_SECONDS = 24 * 3600  # the last use is noted once in this time: not every start need write to the disk
_HASH_BYTES = 32


def user_folder() -> Path:
    """Return the folder for compiled code, whether or not it exists and can be used."""
    own = os.environ.get("TREESPAN_CACHE_DIR")
    if own:
        return Path(own)
    try:
        return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "treespan"
    except RuntimeError:  # a user without a home, as in a container
        return Path(os.devnull) / "treespan"


class Store:
    """Entries in a folder.

    `folder` is None if the folder cannot be used, and `problem` says why. A folder that cannot be written, such as a
    home on a compute node, is still read.
    """

    def __init__(self, folder: Path):
        self.folder: Path | None = None
        self.problem = ""
        self.was_told = False
        try:
            _make_private(folder)
            self.folder = folder
            if not os.access(folder, os.W_OK | os.X_OK):
                raise OSError(0, "it cannot be written; set TREESPAN_CACHE_DIR to a folder that can")
        except OSError as error:
            self.problem = f"{NOT_KEPT}: {folder}: {error.strerror or error}{_remedy(error)}"

    @property
    def may_write(self) -> bool:
        return self.folder is not None and not self.problem

    def _path(self, key: str) -> Path:
        assert self.folder is not None
        return self.folder / f"{key}.code"

    def has(self, key: str) -> bool:
        return self.folder is not None and self._path(key).exists()

    def read(self, key: str) -> tuple[dict[str, Any], bytes] | None:
        """Return an entry's facts and machine code; None if there is no entry, or if it is damaged."""
        if self.folder is None:
            return None
        path = self._path(key)
        try:
            with open(os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK), "rb") as file:
                facts = os.fstat(file.fileno())
                if not stat.S_ISREG(facts.st_mode) or facts.st_uid != os.getuid() or facts.st_mode & 0o022:
                    return None  # somebody else's
                content = file.read()
        except OSError:
            return None
        if time.time() - facts.st_mtime > TOUCH_SECONDS:
            with contextlib.suppress(OSError):
                os.utime(path)  # used: it stays for another week
        return unpack(content)

    def write(self, key: str, facts: dict[str, Any], code: bytes) -> bool:
        """Write an entry, if the folder can be written. Returns whether it is there."""
        if not self.may_write:
            return False
        path = self._path(key)
        aside = path.with_suffix(f".{platform.node()}.{os.getpid()}.part")
        try:
            with open(os.open(aside, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW, 0o600), "wb") as file:
                file.write(pack(facts, code))
            os.replace(aside, path)
        except OSError as error:  # a full disk
            with contextlib.suppress(OSError):
                aside.unlink()
            self.problem = f"{NOT_KEPT}: {self.folder}: {error.strerror}{_remedy(error)}"
            return False
        return True

    @contextlib.contextmanager
    def claim(self, key: str, wait: bool) -> Iterator[bool]:
        """Yield whether this process may compile an entry, because no other does. With `wait`, wait for its turn."""
        lock = None
        if self.may_write and self.folder is not None:
            with contextlib.suppress(OSError):
                lock = os.open(self.folder / f"{key[:24]}.lock", os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        if lock is None:
            yield True
            return
        try:
            try:
                fcntl.flock(lock, fcntl.LOCK_EX | (0 if wait else fcntl.LOCK_NB))
                is_mine = True
            except OSError:  # another process has it; or the file system knows no locks: then all may compile
                is_mine = wait
            try:
                yield is_mine
            finally:
                if is_mine:
                    with contextlib.suppress(OSError):
                        os.unlink(self.folder / f"{key[:24]}.lock")  # type: ignore[operator]  # there is a folder
        finally:
            os.close(lock)  # also when this process is killed: a lock never outlives it

    def prune(self) -> list[Path]:
        """Remove entries that nobody has used for a week, and return their paths. Touches no other files."""
        removed: list[Path] = []
        if self.folder is None:
            return removed
        oldest = time.time() - UNUSED_SECONDS
        for pattern in ("*.code", "*.part", "*.lock"):
            for path in self.folder.glob("[0-9a-f]" * 24 + pattern):
                with contextlib.suppress(OSError):
                    if path.stat().st_mtime < oldest:
                        path.unlink()
                        removed.append(path)
        return removed


def _remedy(error: OSError) -> str:
    """Return what to do about an error of the system; "" for those of this module, which say it themselves."""
    if not error.errno:
        return ""
    if error.errno in (errno.ENOSPC, errno.EDQUOT, errno.EFBIG):
        return "; make room there, or set TREESPAN_CACHE_DIR to a folder with room"
    return "; set TREESPAN_CACHE_DIR to a folder that can be written"


def _make_private(folder: Path) -> None:
    """Make the folder, or make sure that it is ours alone. Raises OSError if others could have written there."""
    folder.parent.mkdir(parents=True, exist_ok=True)
    with contextlib.suppress(FileExistsError):
        os.mkdir(folder, 0o700)
    facts = os.lstat(folder)
    if not stat.S_ISDIR(facts.st_mode):
        raise OSError(0, "it is a link or a file; remove it, or set TREESPAN_CACHE_DIR to a folder of your own")
    if facts.st_uid != os.getuid():
        raise OSError(0, "it belongs to another user; set TREESPAN_CACHE_DIR to a folder of your own")
    if facts.st_mode & 0o022:
        raise OSError(0, f"others may have written there; remove it: rm -r {folder}")


def pack(facts: dict[str, Any], code: bytes) -> bytes:
    """Return the content of an entry's file."""
    head = json.dumps(facts).encode()
    body = len(head).to_bytes(8, "little") + head + code
    return FORMAT + hashlib.sha256(body).digest() + body


def unpack(content: bytes) -> tuple[dict[str, Any], bytes] | None:
    """Return the entry in a file's content; None if it is damaged."""
    start = len(FORMAT) + _HASH_BYTES
    body = content[start:]
    if content[: len(FORMAT)] != FORMAT or hashlib.sha256(body).digest() != content[len(FORMAT) : start]:
        return None
    end = 8 + int.from_bytes(body[:8], "little")
    facts: dict[str, Any] = json.loads(body[8:end])
    return facts, body[end:]


@cache
def store() -> Store:
    """Return the store of this process."""
    return Store(user_folder())


def tell_problem() -> None:
    """Print once why compiled code is not kept, if it is not."""
    kept = store()
    if kept.problem and not kept.was_told and may_speak():
        kept.was_told = True
        print(f"treespan: {kept.problem}", file=sys.stderr)
