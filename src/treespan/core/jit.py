"""The compiling decorators. Nothing is compiled, and Numba is not imported, before a function is first called.

`njit` makes a plain function a `Function`. A call from Python looks for code compiled for the arguments' kinds
(`compiled.py`): first in this process, then on disk (`store.py`). If there is none, it compiles (`compiler.py`).
Functions that compiled functions call are compiled into them.
A `Lowered` function is a few LLVM instructions in compiled code (`lowering.py`); Python runs its plain twin.

With NUMBA_DISABLE_JIT=1 all functions stay plain Python. With NUMBA_BOUNDSCHECK=1 compiled code checks its indices.
"""

import importlib
import os
import sys
import warnings
from collections.abc import Callable, Sequence
from functools import cached_property
from typing import Any, TypeVar

F = TypeVar("F", bound=Callable[..., Any])
Call = tuple[Any, tuple[Any, ...]]  # a compiled function, and arguments of the kinds that it will be called with


def _is_set(variable: str) -> bool:
    return os.environ.get(variable, "0").strip() not in ("", "0")


JIT_DISABLED = _is_set("NUMBA_DISABLE_JIT")
BOUNDS_CHECKED = _is_set("NUMBA_BOUNDSCHECK")

if JIT_DISABLED:
    # Plain NumPy scalars warn where compiled 64-bit hashing wraps around as intended, in every thread.
    warnings.filterwarnings("ignore", message=".*(overflow|divide by zero|invalid value) encountered")


class Function:
    """A function that is compiled on its first call, once for each combination of argument kinds."""

    def __init__(self, plain: Callable[..., Any], is_inline: bool = False, unit_result: str | None = None):
        self.py_func, self.is_inline = plain, is_inline
        self.unit_result = unit_result  # of a unit: the kind of what it returns
        self.__name__, self.__qualname__, self.__doc__ = plain.__name__, plain.__qualname__, plain.__doc__
        self.__module__ = plain.__module__
        self.__wrapped__ = plain
        self.title = plain.__qualname__  # in complaints
        self.variants: dict[Any, Any] = {}  # kinds of arguments: compiled.Variant

    def __call__(self, *arguments: Any) -> Any:
        from treespan.core.compiled import call

        return call(self, arguments)

    @cached_property
    def fingerprint(self) -> Any:
        """The hash of all that compiled code of this function depends on, and how it was found."""
        from treespan.core.fingerprint import Fingerprint

        return Fingerprint(self)

    @cached_property
    def dispatcher(self) -> Any:
        """Numba's object for this function. Imports Numba."""
        from treespan.core.compiler import new_dispatcher

        return new_dispatcher(self)

    def __reduce__(self) -> tuple[Any, ...]:
        """Pickle the function by name, or as plain code: compiled code means nothing in another process."""
        if _is_importable(self):
            return _imported, (self.__module__, self.__qualname__)
        return Function, (self.py_func, self.is_inline, self.unit_result)

    def __repr__(self) -> str:
        return f"<compiled function {self.__qualname__}>"


def _is_importable(function: Function) -> bool:
    """Return whether another process finds the function by its name."""
    module = sys.modules.get(function.__module__)
    return function.__module__ != "__main__" and getattr(module, function.__qualname__, None) is function


def _imported(module: str, name: str) -> Any:
    return getattr(importlib.import_module(module), name)


class Lowered:
    """A function that is a few LLVM instructions in compiled code. Python runs the plain twin."""

    def __init__(self, plain: Callable[..., Any], home: str):
        self.py_func, self.home = plain, home
        self.__name__, self.__qualname__, self.__doc__ = plain.__name__, plain.__qualname__, plain.__doc__
        self.__module__ = plain.__module__

    def __call__(self, *arguments: Any) -> Any:
        return self.py_func(*arguments)


def njit(function: F) -> F:
    """Compile `function` on its first call, and keep the code on disk.

    Compiled code holds no interpreter lock, divides by zero as NumPy does, and cannot allocate memory.
    With NUMBA_DISABLE_JIT=1 the function stays plain Python.
    """
    return function if JIT_DISABLED else Function(function)  # type: ignore[return-value]  # it can be called alike


def njit_inline(function: F) -> F:
    """`njit` for small functions of hot loops: LLVM always inlines them."""
    return function if JIT_DISABLED else Function(function, is_inline=True)  # type: ignore[return-value]


def njit_unit(result: str) -> Callable[[F], F]:
    """Return a decorator like `njit` for a *unit*: a function that is compiled by itself, once for all that call it.

    Other functions are compiled into each entry that calls them. Callers of a unit are linked with it when they are
    loaded. So many entries share one compilation, and processes compile units in parallel. A call of a unit is a plain
    call, which LLVM cannot take in.
    `result` is the kind of what the function returns (`kinds.py`): callers are typed without looking into it.
    """

    def decorate(function: F) -> F:
        return function if JIT_DISABLED else Function(function, unit_result=result)  # type: ignore[return-value]

    return decorate


def compile_together(calls: Sequence[Call]) -> None:
    """Compile several functions in parallel, each for the kinds of its arguments. Calls none, passes over plain ones.

    Processes take them from the first on, so that the longest should come first.
    """
    if not JIT_DISABLED:
        from treespan.core.compiled import prepare_calls

        prepare_calls([call for call in calls if isinstance(call[0], Function)])


def lowered(home: str) -> Callable[[F], F]:
    """Return a decorator: compiled code uses the function of the same name in module `home` instead."""

    def decorate(function: F) -> F:
        return function if JIT_DISABLED else Lowered(function, home)  # type: ignore[return-value]

    return decorate
