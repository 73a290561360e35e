"""The compiling decorators. Nothing is compiled, and Numba is not imported, before a function is first called.

`njit` makes a plain function a `Function`. A call from Python looks for compiled code of the arguments' kinds
(`compiled.py`): in this process, on disk (`store.py`), and only then by compiling (`compiler.py`). Functions that
compiled functions call are compiled into them. A `Lowered` function is one that LLVM's instructions do for compiled
code (`lowering.py`); Python runs its plain twin.

With NUMBA_DISABLE_JIT=1 all functions stay plain Python; with NUMBA_BOUNDSCHECK=1 compiled code checks its indices.
"""

import importlib
import os
import sys
import warnings
from collections.abc import Callable, Sequence
from functools import cached_property
from typing import Any, TypeVar

F = TypeVar("F", bound=Callable[..., Any])


def _is_set(variable: str) -> bool:
    return os.environ.get(variable, "0").strip() not in ("", "0")


JIT_DISABLED = _is_set("NUMBA_DISABLE_JIT")
BOUNDS_CHECKED = _is_set("NUMBA_BOUNDSCHECK")

if JIT_DISABLED:
    # Plain NumPy scalars warn where compiled 64-bit hashing wraps around as intended, in every thread.
    warnings.filterwarnings("ignore", message=".*(overflow|divide by zero|invalid value) encountered")


class Function:
    """A function that is compiled when it is called, once for each kind of arguments."""

    def __init__(self, plain: Callable[..., Any], is_inline: bool = False):
        self.py_func, self.is_inline = plain, is_inline
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
        """What compiled code of this function depends on."""
        from treespan.core.fingerprint import Fingerprint

        return Fingerprint(self)

    @cached_property
    def dispatcher(self) -> Any:
        """Numba's object for this function; imports Numba."""
        from treespan.core.compiler import new_dispatcher

        return new_dispatcher(self)

    def __reduce__(self) -> tuple[Any, ...]:
        """For pickling: compiled code means nothing in another process."""
        if _is_importable(self):
            return _imported, (self.__module__, self.__qualname__)
        return Function, (self.py_func, self.is_inline)

    def __repr__(self) -> str:
        return f"<compiled function {self.__qualname__}>"


def _is_importable(function: Function) -> bool:
    """Whether another process finds the function by its name."""
    module = sys.modules.get(function.__module__)
    return function.__module__ != "__main__" and getattr(module, function.__qualname__, None) is function


def _imported(module: str, name: str) -> Any:
    return getattr(importlib.import_module(module), name)


class Lowered:
    """A function that compiled code has as LLVM instructions, and Python as its plain twin."""

    def __init__(self, plain: Callable[..., Any], home: str):
        self.py_func, self.home = plain, home
        self.__name__, self.__qualname__, self.__doc__ = plain.__name__, plain.__qualname__, plain.__doc__
        self.__module__ = plain.__module__

    def __call__(self, *arguments: Any) -> Any:
        return self.py_func(*arguments)


def njit(function: F) -> F:
    """Compile `function` on first call: no interpreter lock, kept on disk, divisions as in NumPy, no allocation.

    With NUMBA_DISABLE_JIT=1 the function stays plain Python.
    """
    return function if JIT_DISABLED else Function(function)  # type: ignore[return-value]  # it can be called alike


def njit_inline(function: F) -> F:
    """`njit` for small functions of hot loops: LLVM puts them into their callers whatever their size."""
    return function if JIT_DISABLED else Function(function, is_inline=True)  # type: ignore[return-value]


def compile_together(calls: Sequence[tuple[Any, tuple[Any, ...]]]) -> None:
    """Compile several functions for such arguments, in parallel, before the first of them is called."""
    if not JIT_DISABLED:
        from treespan.core.compiled import prepare_calls

        prepare_calls(calls)


def lowered(home: str) -> Callable[[F], F]:
    """Let compiled code use the function of the same name in module `home` instead of the decorated one."""

    def decorate(function: F) -> F:
        return function if JIT_DISABLED else Lowered(function, home)  # type: ignore[return-value]

    return decorate
