"""`treespan doctor`: which of the things that treespan can use are on this machine."""

import importlib.metadata
import importlib.util
import os
import platform
import sys
from dataclasses import dataclass

import llvmlite.binding
import numpy as np

from treespan.core.jit import njit
from treespan.core.machine import usable_cores
from treespan.core.programs import find_program
from treespan.core.store import store
from treespan.runtimes.launch import find_mpiexec
from treespan.runtimes.mpi_binding import MpiError, find_library


@dataclass
class Component:
    """One line of the report. `ok` is None if something optional is missing."""

    what: str
    found: str
    ok: bool | None = True


def examine() -> list[Component]:
    return [
        Component("treespan", _version("treespan") or "not installed (running from source)"),
        Component("Python", platform.python_version(), sys.version_info >= (3, 11)),
        Component("Numba, NumPy", f"{importlib.metadata.version('numba')}, {np.__version__}"),
        Component("CPU", f"{llvmlite.binding.get_host_cpu_name()}, {usable_cores()} cores usable of {os.cpu_count()}"),
        _compiles(),
        _cache(),
        _mpi(),
        _optional_program("GNU Go", "gnugo", "Debian package gnugo; an opponent and a check of the rules of Go"),
        _optional_module("OpenSpiel", "pyspiel", "pip install open_spiel; a check of the rules of games"),
        _optional_module("Matplotlib", "matplotlib", "pip install treespan[plots]; pictures"),
    ]


def _version(package: str) -> str | None:
    try:
        return importlib.metadata.version(package)
    except importlib.metadata.PackageNotFoundError:
        return None


@njit
def _twice(number):
    return 2 * number


def _compiles() -> Component:
    try:
        return Component("compiles", "yes", _twice(21) == 42)
    except Exception as error:  # whatever stops the compiler stands in the report
        return Component("compiles", f"no: {error}", False)


def _cache() -> Component:
    kept = store()
    if kept.folder is None:
        return Component("compile cache", kept.problem, False)
    sizes = [path.stat().st_size for path in kept.folder.glob("*.code")]
    return Component("compile cache", f"{kept.folder}, {len(sizes)} entries, {sum(sizes) / 2**20:.1f} MiB")


def _mpi() -> Component:
    if importlib.util.find_spec("mpi4py") is None:
        return Component("MPI", "missing (pip install treespan[mpich])", None)
    try:
        library = find_library()
        found = f"{library.vendor} {library.version} ({library.path}), mpi4py {_version('mpi4py')}"
        return Component("MPI", f"{found}, {find_mpiexec(library)}")
    except MpiError as error:
        return Component("MPI", str(error), None)


def _optional_program(what: str, name: str, remedy: str) -> Component:
    path = find_program(name)
    return Component(what, path) if path else Component(what, f"missing ({remedy})", None)


def _optional_module(what: str, module: str, remedy: str) -> Component:
    found = importlib.util.find_spec(module) is not None
    return Component(what, "installed") if found else Component(what, f"missing ({remedy})", None)
