"""Options are the fields of frozen dataclasses. A spec such as `go:size=9,komi=7.5` is a text that fills them in."""

import dataclasses
import re
import typing
from collections.abc import Callable, Collection, Mapping
from functools import cache
from typing import Any, TypedDict, TypeVar

import numpy as np

from treespan.core.errors import OptionError, about, in_spec, named, shown, unknown_name

T = TypeVar("T")
Say = Callable[[Any], str]  # returns an option with a value, as `named` or `in_spec` write it
_WORDS = {"yes": True, "true": True, "on": True, "1": True, "no": False, "false": False, "off": False, "0": False}
# What a value of each type is called, and what is offered where it is none
_NAMES: dict[Any, tuple[str, str]] = {
    int: ("a whole number", "one such as 4"),
    float: ("a number", "one such as 0.5"),
    bool: ("true or false", "yes or no"),
    str: ("a text", "one in quotes"),
}
LARGEST = 2**63 - 1  # whole number of compiled code
MOST_DIGITS = 10**300  # a whole number that still has a float
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

    default: the value if the user gives none. The option has the type of this value.
    help: one line for `treespan games`.
    low, high: the smallest and the largest value; None: no bound.
    choices: the only values that are allowed.

    Returns the field; write it after the option's name, as below. A value out of bounds raises OptionError.

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
    """Raise OptionError if a field of the dataclass `options` has a value of another type, or outside its bounds.

    `owner` begins the message. A value that converts without loss, as a number of NumPy or a text, is converted.
    """
    cls: Any = type(options)
    kinds = _kinds(cls)
    for field in dataclasses.fields(options):
        given, bounds = getattr(options, field.name), field.metadata
        low, high, choices = bounds.get("low"), bounds.get("high"), bounds.get("choices")
        kind, value = kinds.get(field.name), given
        say = _say_field(owner, field.name)
        if kind in _NAMES and given is not field.default:
            value = read_value(kind, given, say, bounds_text(low, high) or choices_text(choices))
            if value is not given:
                object.__setattr__(options, field.name, value)
        if choices is not None and value not in choices:
            raise unknown_name(f"{owner} {field.name}", value, choices, field.name)
        if kind is int and high is None and value > LARGEST:
            raise OptionError(f"{say(value)} is out of range; give at most {LARGEST}")
        if not is_within(value, low, high):
            raise OptionError(f"{say(value)} is out of range; give {bounds_text(low, high)}")


@cache
def _kinds(cls: Any) -> dict[str, Any]:
    """Return the types of the fields of a dataclass by name; none where Python cannot find what an annotation names."""
    try:
        return typing.get_type_hints(cls)
    except (NameError, TypeError, AttributeError):
        return {}


def _say_field(owner: str, name: str) -> Say:
    return lambda value: f"{owner}: {in_spec(name, value)}"


def is_within(value: Any, low: float | None, high: float | None) -> bool:
    """Return whether a value lies within bounds. A number that is none (NaN) never does."""
    if isinstance(value, float) and value != value:
        return False
    try:
        return bool((low is None or value >= low) and (high is None or value <= high))
    except TypeError:  # no number at all
        return False


def bounds_text(low: float | None, high: float | None) -> str:
    """Return bounds in words, as "2..40", "at least 1" or "at most 9"; an empty text where there are none."""
    if low is not None and high is not None:
        return f"{low}..{high}"
    return f"at least {low}" if low is not None else f"at most {high}" if high is not None else ""


def choices_text(choices: Collection[str] | None) -> str:
    return f"one of {', '.join(choices)}" if choices else ""


def check_range(name: str, value: Any, low: float | None = None, high: float | None = None) -> None:
    """Raise OptionError if the argument `name` lies outside its bounds."""
    if not is_within(value, low, high):
        raise OptionError(f"{named(name, value)} is out of range; give {bounds_text(low, high) or 'a number'}")


def split_spec(text: str) -> tuple[str, dict[str, str]]:
    """Split `name:option=value,option=value` into the name and its options. A name may be a path."""
    name, _, tail = text.strip().partition(":")
    values: dict[str, str] = {}
    for part in filter(None, tail.split(",")):
        key, equals, value = part.partition("=")
        if not equals:
            key = shown(key.strip())
            raise OptionError(f"'{key}' in '{shown(text)}' is not an option{about(key)}; write {key}=VALUE")
        values[key.strip()] = value.strip()
    return name.strip(), values


def fill(cls: type[T], values: Mapping[str, Any], owner: str) -> T:
    """Return an object of the options dataclass `cls`, made from texts or values.

    Raises OptionError for an unknown name or a malformed value.
    """
    return cls(**read_fields(cls, values, owner))


def read_fields(cls: type[Any], values: Mapping[str, Any], owner: str) -> dict[str, Any]:
    """Return values of fields of a dataclass, from texts or values. Raises OptionError as `fill` does."""
    of: Any = cls
    kinds, fields = _kinds(of), {field.name: field for field in dataclasses.fields(cls) if field.init}
    parsed: dict[str, Any] = {}
    for name, value in values.items():
        name = name.replace("-", "_")
        if name not in fields:
            raise unknown_name(f"option of {owner}", name, fields)
        bounds = fields[name].metadata
        remedy = bounds_text(bounds.get("low"), bounds.get("high")) or choices_text(bounds.get("choices"))
        parsed[name] = read_value(kinds.get(name, str), value, _say_field(owner, name), remedy)
    return parsed


def option_names(cls: type[Any]) -> list[str]:
    """Return the names of the options of a dataclass."""
    return [field.name for field in dataclasses.fields(cls) if field.init]


def read_value(kind: Any, value: Any, say: Say, remedy: str = "") -> Any:
    """Return a value of type `kind`, from a text or from a value that converts without loss.

    say: returns the option with a value, for the message of an error.
    remedy: what to give instead, in words; by default an example.
    """
    if isinstance(value, str):
        return parse_value(kind, value, say, remedy)
    if isinstance(value, np.generic) or (isinstance(value, np.ndarray) and value.ndim == 0):
        value = value.item()
    is_int = isinstance(value, int) and not isinstance(value, bool)
    is_whole = is_int or (isinstance(value, float) and value.is_integer())
    is_number = isinstance(value, float) or (is_int and abs(value) <= MOST_DIGITS)  # what a float can be made of
    if {bool: isinstance(value, bool), int: is_whole, float: is_number}.get(kind, False):
        return kind(value)
    if kind is str and is_number:  # as fpu=1.1
        return str(value)
    raise _unreadable(kind, value, say, remedy)


def parse_value(kind: Any, text: str, say: Say, remedy: str = "") -> Any:
    """Return `text` read as a value of type `kind` (bool, int, float or str). The rest is as with `read_value`."""
    if kind is bool and text.lower() in _WORDS:
        return _WORDS[text.lower()]
    try:
        if kind is not bool:
            return kind(text)
    except ValueError:
        pass
    raise _unreadable(kind, text, say, remedy)


def _unreadable(kind: Any, value: Any, say: Say, remedy: str) -> OptionError:
    name, example = _NAMES.get(kind, _NAMES[str])
    return OptionError(f"{say(value)} is not {name}; give {remedy or example}")


def parse_seconds(text: str, say: Say) -> float:
    """Read a duration such as `2`, `0.5s`, `1ms` or `50us` as seconds."""
    match = re.fullmatch(r"([0-9.eE+-]+?)\s*(ns|us|ms|s|m|)", text.strip())
    try:
        seconds = float(match[1]) * _SECONDS[match[2]] if match else None
    except ValueError:
        seconds = None
    if seconds is None:
        raise OptionError(f"{say(text)} is not a duration; write for example 2s, 1ms or 50us")
    if not 0 <= seconds < float("inf"):
        raise OptionError(f"{say(text)} is out of range; give a duration of at least 0")
    return seconds


def count(text: str, say: Say = shown) -> int:
    """Read a whole number; 10000, 10_000, 10,000 and 1e4 are the same."""
    try:
        number = float(text.replace("_", "").replace(",", ""))
    except ValueError:
        number = float("nan")
    if number != number or number in (float("inf"), float("-inf")) or number != int(number):
        raise _unreadable(int, text, say, "")
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
