"""The one compiling decorator, and the cache folder that makes it safe.

Numba's on-disk cache notices a change in a function's own file only, not in the file of a function
that it calls: it would silently run old code. So the cache folder is named by a hash of all sources of
the package, the versions of Numba and Python, the CPU and the compile mode. Folders of other versions that
nobody used for a week are removed.
"""

import hashlib
import os
import shutil
import sys
import tempfile
import time
import warnings
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any, TypeVar

import llvmlite.binding
import numba
from numba.core import config as numba_config

config: Any = numba_config  # a module whose settings are made at import, unseen by type checkers
F = TypeVar("F", bound=Callable[..., Any])

JIT_DISABLED = bool(config.DISABLE_JIT)
UNUSED_SECONDS = 7 * 24 * 3600  # a cache folder untouched for so long is pruned
# Without Numba's runtime compiled code cannot allocate, by construction, and it counts no references: each
# touch of an array in a tuple would be an atomic increment and decrement (P-game UCT: 0.39 against 1.9 M/s).
COMPILE_OPTIONS: dict[str, Any] = {"nogil": True, "error_model": "numpy", "_nrt": False, "no_cfunc_wrapper": True}

if JIT_DISABLED:
    # Plain NumPy scalars warn where compiled 64-bit hashing wraps around as intended, in every thread.
    warnings.filterwarnings("ignore", message=".*(overflow|divide by zero|invalid value) encountered")


def source_digest(folder: Path) -> str:
    """A hash of every Python source below `folder`, by relative path and content."""
    digest = hashlib.sha256()
    for path in sorted(folder.rglob("*.py")):
        digest.update(str(path.relative_to(folder)).encode() + b"\0")
        digest.update(path.read_bytes() + b"\0")
    return digest.hexdigest()


@cache
def cache_folder() -> Path:
    """The folder for this version's compiled code; created, and old ones pruned, on first use."""
    package = Path(__file__).resolve().parents[1]
    mode = f"bounds={int(bool(config.BOUNDSCHECK))}"
    cpu = f"{llvmlite.binding.get_host_cpu_name()}-{llvmlite.binding.get_host_cpu_features().flatten()}"
    identity = "\n".join([source_digest(package), numba.__version__, sys.version, cpu, mode])
    home = Path(os.environ.get("TREESPAN_CACHE_DIR") or _user_cache() / "treespan")
    folder = home / hashlib.sha256(identity.encode()).hexdigest()[:16]
    try:
        folder.mkdir(parents=True, exist_ok=True)
        os.utime(folder)  # marks it as used, for pruning
        prune(home, keep=folder)
    except OSError:  # read-only or full home: compile into a folder that lasts as long as the machine is up
        folder = Path(tempfile.gettempdir()) / f"treespan-{os.getuid()}" / folder.name
        folder.mkdir(parents=True, exist_ok=True)
    return folder


def _user_cache() -> Path:
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache")


def prune(home: Path, keep: Path) -> list[Path]:
    """Remove cache folders in `home`, other than `keep`, that no process used for a week."""
    oldest = time.time() - UNUSED_SECONDS
    ours = [f for f in home.glob("[0-9a-f]" * 16) if f.is_dir() and f != keep]  # `home` may hold other things
    stale = [f for f in ours if f.stat().st_mtime < oldest]
    for folder in stale:
        shutil.rmtree(folder, ignore_errors=True)
    return stale


def njit(function: F) -> F:
    """Compile `function` on first call: no interpreter lock, cached on disk, divisions as in NumPy.

    With NUMBA_DISABLE_JIT=1 the function stays plain Python.
    """
    return _compiled(function, forceinline=False)


def njit_inline(function: F) -> F:
    """`njit` for small functions of hot loops that take a whole tree: its arrays are some hundred words,
    which a real call would copy to the stack (P-game UCT at b = 8: 0.58 M simulations/s with calls, 1.80 inlined)."""
    return _compiled(function, forceinline=True)


def _compiled(function: F, forceinline: bool) -> F:
    if JIT_DISABLED:
        return function
    elsewhere = config.CACHE_DIR
    # Numba reads the setting while decorating; other users of Numba in this process keep theirs.
    config.CACHE_DIR = str(cache_folder())
    try:
        compiled: F = numba.njit(cache=True, forceinline=forceinline, **COMPILE_OPTIONS)(function)
    finally:
        config.CACHE_DIR = elsewhere
    return compiled
