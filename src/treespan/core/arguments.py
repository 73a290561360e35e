"""Arguments of the library's functions, checked in one place: by the annotations of the function's parameters.

`checked` reads what a caller gives, before anything is done with it. Numbers of NumPy become Python's, and rows of them
become tuples. Whatever does not suit its parameter is an OptionError that names it. Bounds are not the annotations'
affair: `core/options.py`.
"""

import collections.abc
import inspect
import os
import types
import typing
from collections.abc import Callable
from functools import cache, partial, wraps
from pathlib import Path
from typing import Any, TypeVar

import numpy as np

from treespan.core.errors import OptionError, named, unknown_name
from treespan.core.options import read_value

F = TypeVar("F", bound=Callable[..., Any])
MOST_ITEMS = 100_000  # of a row
_NUMBERS = (bool, int, float)
_ROWS = (collections.abc.Sequence, list, tuple)


def checked(function: F) -> F:
    """Let a public function check its arguments by their annotations, and refuse unknown ones by an OptionError."""

    @wraps(function)
    def call(*arguments: Any, **options: Any) -> Any:
        signature, kinds = _described(function)
        try:
            bound = signature.bind(*arguments, **options)
        except TypeError as error:
            raise _misuse(function.__name__, signature, options, str(error)) from None
        for name, value in bound.arguments.items():
            many = signature.parameters[name].kind
            if name in kinds and many is inspect.Parameter.VAR_POSITIONAL:
                bound.arguments[name] = tuple(read_argument(kinds[name], one, name) for one in value)
            elif name in kinds and many is not inspect.Parameter.VAR_KEYWORD:
                bound.arguments[name] = read_argument(kinds[name], value, name)
        return function(*bound.args, **bound.kwargs)

    return call  # type: ignore[return-value]  # it can be called alike


@cache
def _described(function: Callable[..., Any]) -> tuple[inspect.Signature, dict[str, Any]]:
    signature = inspect.signature(function)
    given = {name: one.annotation for name, one in signature.parameters.items() if one.annotation is not one.empty}
    annotated = types.SimpleNamespace(__annotations__=given)  # not what it returns, which may need what is not here
    return signature, typing.get_type_hints(annotated, function.__globals__)


def _misuse(function: str, signature: inspect.Signature, options: dict[str, Any], reason: str) -> OptionError:
    """Return the error of a call that does not fit the function's signature."""
    known = [name for name in signature.parameters if name != "self"]
    for name in options:
        if name not in known:
            return unknown_name(f"option of {function}", name, known)
    return OptionError(f"{function}: {reason}; its parameters are {', '.join(known)}")


def read_argument(kind: Any, value: Any, name: str) -> Any:
    """Return the value of the parameter `name`, whose annotation is `kind`. Raises OptionError if it does not suit."""
    kinds = [one for one in _alternatives(kind) if one is not type(None)]
    if Any in kinds or (value is None and len(kinds) < len(_alternatives(kind))):
        return value
    for one in kinds:
        if _is_of(one, value):
            return os.fspath(value) if one is str else value
    rows = [one for one in kinds if typing.get_origin(one) in _ROWS]
    if rows and not isinstance(value, str | bytes):
        return _read_row(rows[0], value, name)
    numbers = [one for one in kinds if one in _NUMBERS]
    say = partial(named, name)
    if numbers:
        return read_value(numbers[0], value, say)
    raise OptionError(f"{say(_text(value))} is not {_name_of(kinds)}; give one")


def _alternatives(kind: Any) -> tuple[Any, ...]:
    is_union = typing.get_origin(kind) in (typing.Union, types.UnionType)
    return typing.get_args(kind) if is_union else (kind,)


def _is_of(kind: Any, value: Any) -> bool:
    """Return whether the value is of a kind that is neither a number nor a row of things."""
    origin = typing.get_origin(kind)
    if origin is collections.abc.Callable:
        return callable(value)
    if kind is Path:
        return isinstance(value, Path) and "\0" not in str(value)
    if kind is str:
        return isinstance(value, str) and "\0" not in value
    return origin is None and isinstance(kind, type) and kind not in _NUMBERS and isinstance(value, kind)


def _read_row(kind: Any, value: Any, name: str) -> tuple[Any, ...]:
    """Return a row of things as a tuple: of a list, a tuple, a range or an array of NumPy."""
    items = value.tolist() if isinstance(value, np.ndarray) and value.ndim == 1 else value
    if not isinstance(items, collections.abc.Sequence):
        raise OptionError(f"{named(name, _text(value))} is not a row of values; give them in brackets, as [1, 4]")
    if len(items) > MOST_ITEMS:
        raise OptionError(f"{named(name)} has {len(items):,} values; give at most {MOST_ITEMS:,}")
    wanted = typing.get_args(kind)
    if typing.get_origin(kind) is tuple and wanted[-1] is not Ellipsis:
        if len(items) != len(wanted):
            raise OptionError(f"{named(name, _text(value))} has {len(items)} values; give {len(wanted)}")
        return tuple(read_argument(one, item, name) for one, item in zip(wanted, items, strict=True))
    return tuple(read_argument(wanted[0], item, name) for item in items)


def _name_of(kinds: list[Any]) -> str:
    names = {str: "a text", Path: "a path"}
    words = [
        names.get(one) or ("a function" if typing.get_origin(one) else f"a {getattr(one, '__name__', one)}")
        for one in kinds
    ]
    return " or ".join(dict.fromkeys(words))


def _text(value: Any) -> str:
    return repr(value) if isinstance(value, str) else value
