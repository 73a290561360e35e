"""Hashes of source files."""

import hashlib
import importlib.util
from pathlib import Path

COMPILER = (
    "compiled.py",
    "compiler.py",
    "units.py",
    "lowering.py",
    "mpi_lowering.py",
    "kinds.py",
)  # what they do to a function is not in the function


def compiler_digest() -> str:
    """Return a hash of the files that decide how functions become machine code."""
    digest = hashlib.sha256()
    for name in COMPILER:
        digest.update((Path(__file__).parent / name).read_bytes())
    return digest.hexdigest()


def source_digest(folder: Path) -> str:
    """Return a hash of every Python source below `folder`, by relative path and content."""
    digest = hashlib.sha256()
    for path in sorted(folder.rglob("*.py")):
        digest.update(str(path.relative_to(folder)).encode() + b"\0")
        digest.update(path.read_bytes() + b"\0")
    return digest.hexdigest()


def numba_version() -> str:
    """Return the text of the file in which Numba keeps its version. Does not import Numba."""
    found = importlib.util.find_spec("numba")
    assert found is not None and found.origin is not None, "Numba is installed with treespan"
    return (Path(found.origin).parent / "_version.py").read_text()
