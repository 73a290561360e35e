"""`import treespan`: it is light, every name is there, and functions are not hidden by packages of the same name."""

import doctest
import importlib
import subprocess
import sys

import pytest

import treespan as ts
from treespan.core.jit import JIT_DISABLED

HOMES = sorted({getattr(ts, name).__module__ for name in ts.__all__ if hasattr(getattr(ts, name), "__module__")})

LIGHT = """
import sys, time
start = time.perf_counter()
import treespan as ts
names = ("numpy", "numba", "llvmlite", "rich", "typer", "mpi4py", "matplotlib", "cloudpickle")
heavy = [name for name in names if name in sys.modules]
print(heavy, len(dir(ts)) > 30)
"""
PACKAGES = """
import treespan.search.tree
import treespan.games.rules
import treespan.schemes.registry
import treespan as ts
from treespan import search
from treespan.search.tree import new_tree
assert search is ts.search and callable(ts.search) and callable(ts.games) and callable(ts.schemes)
print(ts.games()[0]["name"], ts.schemes()[0]["name"])
"""


def run(code: str) -> str:
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stderr
    return done.stdout.strip()


def test_importing_loads_nothing() -> None:
    assert run(LIGHT) == "[] True"


def test_functions_are_not_hidden_by_packages() -> None:
    assert run(PACKAGES) == "connect4 sequential"


def test_every_name_is_there_and_says_what_it_is() -> None:
    assert sorted(dir(ts)) == sorted(ts.__all__)
    for name in ts.__all__:
        value = getattr(ts, name)
        if callable(value):
            assert value.__doc__, name


@pytest.mark.parametrize("name", [name for name in ts.__all__ if callable(getattr(ts, name))])
def test_every_function_and_class_has_an_example(name: str) -> None:
    """`test_examples_of_docstrings` runs them."""
    value = getattr(ts, name)
    assert doctest.DocTestParser().get_examples(value.__doc__ or "")


def test_an_unknown_name_is_an_attribute_error() -> None:
    with pytest.raises(AttributeError, match="treespan has no 'serach'"):
        ts.serach  # noqa: B018


def test_the_version_is_that_of_the_package() -> None:
    installed = run("import importlib.metadata; print(importlib.metadata.version('treespan'))")
    assert installed == ts.__version__


@pytest.mark.parametrize("home", [home for home in HOMES if home.startswith("treespan.")])
@pytest.mark.skipif(JIT_DISABLED, reason="examples take too long as plain Python")
def test_examples_of_docstrings(home: str) -> None:
    result = doctest.testmod(importlib.import_module(home))
    assert result.failed == 0
