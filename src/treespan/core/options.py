"""Options are the fields of frozen dataclasses. A spec such as `go:size=9,komi=7.5` is a text that fills them in."""

import dataclasses
import math
import re
import typing
from collections.abc import Collection, Mapping
from typing import Any, TypedDict, TypeVar

import numpy as np

from treespan.core.errors import OptionError, unknown_name

T = TypeVar("T")
_WORDS = {"yes": True, "true": True, "on": True, "1": True, "no": False, "false": False, "off": False, "0": False}
_SECONDS = {"ns": 1e-9, "us": 1e-6, "ms": 1e-3, "s": 1.0, "m": 60.0, "": 1.0}


class OptionFacts(TypedDict):
    """An option in a listing."""

    name: str
    default: Any  # a bool, an int, a float or a text
    help: str
    low: float | None
    high: float | None
    choices: tuple[Any, ...] | None


def option(
    default: T,
    help: str,
    low: float | None = None,
    high: float | None = None,
    choices: tuple[str, ...] | None = None,
) -> T:
    """Declare an option of a game of your own: a dataclass field with a default, a line of help, and bounds.

    default: the value where the user gives none. Its type is the option's.
    help: one line for `treespan games`.
    low, high: the smallest and the largest value; None: no bound.
    choices: the only values allowed.

    Returns a field, to be written behind the option's name. A value outside the bounds raises OptionError.

    >>> import treespan as ts
    >>> from dataclasses import dataclass
    >>> @dataclass(frozen=True)
    ... class Kayles(ts.Game):
    ...     name = "kayles"
    ...     pins: int = ts.option(10, "pins in the row", 1, 64)
    >>> Kayles(pins=65)
    Traceback (most recent call last):
        ...
    treespan.core.errors.OptionError: kayles: pins=65 is out of range; give 1..64
    """
    metadata = {"help": help, "low": low, "high": high, "choices": choices}
    return dataclasses.field(default=default, metadata=metadata)


def validate(options: Any, owner: str) -> None:
    """Raise OptionError if a field of the dataclass `options` lies outside its bounds. `owner` begins the message."""
    for field in dataclasses.fields(options):
        value, bounds = getattr(options, field.name), field.metadata
        low, high, choices = bounds.get("low"), bounds.get("high"), bounds.get("choices")
        if choices is not None and value not in choices:
            raise unknown_name(f"{owner} {field.name}", str(value), choices)
        if (low is not None and not value >= low) or (high is not None and not value <= high):  # NaN is neither
            bound = f"{low}..{high}" if low is not None and high is not None else f"at least {low}"
            if low is None:
                bound = f"at most {high}"
            raise OptionError(f"{owner}: {field.name}={value} is out of range; give {bound}")


def split_spec(text: str) -> tuple[str, dict[str, str]]:
    """Split `name:option=value,option=value` into the name and its options. A name may be a path."""
    name, _, tail = text.strip().partition(":")
    values: dict[str, str] = {}
    for part in filter(None, tail.split(",")):
        key, equals, value = part.partition("=")
        if not equals:
            raise OptionError(f"'{part}' in '{text}' is not an option; write {key.strip()}=VALUE")
        values[key.strip()] = value.strip()
    return name.strip(), values


def fill(cls: type[T], values: Mapping[str, Any], owner: str) -> T:
    """Return an object of the options dataclass `cls`, made from texts or values.

    Raises OptionError for an unknown name or a malformed value.
    """
    fields = option_names(cls)
    types = typing.get_type_hints(cls)
    parsed: dict[str, Any] = {}
    for name, value in values.items():
        name = name.replace("-", "_")
        if name not in fields:
            raise unknown_name(f"option of {owner}", name, fields)
        parsed[name] = read_value(types[name], value, f"{owner}: {name}")
    return cls(**parsed)


def option_names(cls: type[Any]) -> list[str]:
    """Return the names of the options of a dataclass."""
    return [field.name for field in dataclasses.fields(cls) if field.init]


def read_value(kind: Any, value: Any, what: str) -> Any:
    """Return a value of type `kind`, from a text or from a value that converts without loss."""
    if isinstance(value, str):
        return parse_value(kind, value, what)
    if isinstance(value, np.generic):
        value = value.item()
    is_number = isinstance(value, int | float) and not isinstance(value, bool)
    is_whole = is_number and math.isfinite(value) and value == int(value)
    if {bool: isinstance(value, bool), int: is_whole, float: is_number}.get(kind, False):
        return kind(value)
    if kind is str and is_number:  # as fpu=1.1
        return str(value)
    raise OptionError(f"{what}={value!r} is not {_NAMES.get(kind, 'a text')}")


def parse_value(kind: Any, text: str, what: str) -> Any:
    """Read `text` as a value of type `kind` (bool, int, float or str)."""
    if kind is bool:
        if text.lower() not in _WORDS:
            raise OptionError(f"{what}={text} is not yes or no")
        return _WORDS[text.lower()]
    try:
        return kind(text)
    except ValueError:
        raise OptionError(f"{what}={text} is not {_NAMES.get(kind, kind.__name__)}") from None


_NAMES = {int: "a whole number", float: "a number", bool: "true or false"}


def parse_seconds(text: str, what: str) -> float:
    """Read a duration such as `2`, `0.5s`, `1ms` or `50us` as seconds."""
    match = re.fullmatch(r"([0-9.eE+-]+?)\s*(ns|us|ms|s|m|)", text.strip())
    try:
        seconds = float(match[1]) * _SECONDS[match[2]] if match else None
    except ValueError:
        seconds = None
    if seconds is None:
        raise OptionError(f"{what}={text} is not a duration; write for example 2s, 1ms or 50us")
    if not 0 <= seconds < float("inf"):
        raise OptionError(f"{what}={text} is out of range; give a duration of at least 0")
    return seconds


def count(text: str) -> int:
    """Read a whole number; 10000, 10_000, 10,000 and 1e4 are the same."""
    try:
        number = float(text.replace("_", "").replace(",", ""))
    except ValueError:
        number = float("nan")
    if number != number or number in (float("inf"), float("-inf")) or number != int(number):
        raise OptionError(f"'{text}' is not a whole number")
    return int(number)


def word_of(value: Any) -> str:
    """Return a value as a spec writes it."""
    return ("yes" if value else "no") if isinstance(value, bool) else str(value)


def changed_options(options: Any, defaults: Mapping[str, Any] = {}, always: Collection[str] = ()) -> str:
    """Return the options that differ from their defaults, written as in a spec.

    defaults: values to compare with instead of a field's own default.
    always: names of options that are written even where they do not differ.
    """
    return ",".join(
        f"{field.name}={word_of(value)}"
        for field in dataclasses.fields(options)
        if (value := getattr(options, field.name)) != defaults.get(field.name, field.default) or field.name in always
    )


def describe(cls: type[Any]) -> list[OptionFacts]:
    """Return name, default, help and bounds of each option of a dataclass, for listings."""
    return [
        {
            "name": field.name,
            "default": field.default,
            "help": field.metadata.get("help", ""),
            "low": field.metadata.get("low"),
            "high": field.metadata.get("high"),
            "choices": field.metadata.get("choices"),
        }
        for field in dataclasses.fields(cls)
        if field.init and "help" in field.metadata
    ]
