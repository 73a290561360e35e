"""Errors that a user can cause and mend. Each message names the value, the bound and the remedy.

A message names options with `named`, because the library and the command line write them differently: `ranks=4` and
`--ranks 4`. `str(error)` returns the library's form, `for_command_line(error.message)` that of the command line.
Options within a spec, as `span:grant=3`, are written alike by both (`in_spec`). Where a message has an option in
words, `about` says which one is meant, unseen.
"""

import difflib
import os
import re
import reprlib
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from typing import Any

INTERRUPTED_STATUS = 130  # exit status after Ctrl-C, as shells have it
LONGEST_VALUE = 80  # characters of a value in a message
LONGEST_NAME = 255  # bytes of a file's name, in nearly all file systems
# Around an option in a message: characters for private use. The first says how the option is written.
_CALL, _SPEC, _UNSEEN, _BETWEEN, _END = "\ue000", "\ue003", "\ue004", "\ue001", "\ue002"
_NAMED = re.compile(f"([{_CALL}{_SPEC}{_UNSEEN}])([^{_BETWEEN}]*){_BETWEEN}([^{_END}]*){_END}")


def named(option: str, value: Any = None) -> str:
    """Return an option, with its value if there is one, in a form that both writers of messages understand."""
    if isinstance(value, float):
        value = f"{value:g}"
    return f"{_CALL}{option}{_BETWEEN}{'' if value is None else shown(value)}{_END}"


def in_spec(option: str, value: Any) -> str:
    """Return an option with its value as they stand in a spec, for all readers: `grant=x`."""
    return f"{_SPEC}{option}{_BETWEEN}{shown(value)}{_END}"


def about(option: str, value: Any = None) -> str:
    """Return what tells programs which option a message is about; readers do not see it."""
    return f"{_UNSEEN}{option}{_BETWEEN}{'' if value is None else shown(value)}{_END}"


def shown(value: Any) -> str:
    """Return a value as it stands in a message: one line, at most LONGEST_VALUE characters.

    A path is whole, whatever its length, because people have to find what it leads to. It is cut where a name in it is
    longer than any that a file can have.
    """
    if isinstance(value, os.PathLike):
        path: str = os.fsdecode(value)
        if path.isprintable() and max(map(len, path.split(os.sep))) <= LONGEST_NAME:
            return path
        value = path
    if isinstance(value, str):
        text = value if value.isprintable() else repr(value)
    else:
        try:
            text = " ".join(reprlib.repr(value).split())
        except ValueError:  # Python does not print numbers of thousands of digits
            text = f"a number of {value.bit_length():,} bits"
    return text if len(text) <= LONGEST_VALUE else text[: LONGEST_VALUE - 3] + "..."


class TreespanError(Exception):
    """The base class of every error that treespan raises on purpose. The message is one line.

    >>> import treespan as ts
    >>> try:
    ...     ts.search("tictactoe", playouts=0)
    ... except ts.TreespanError as error:
    ...     print(error)
    ...     print(error.option, error.value, error.remedy, sep=" | ")
    playouts=0 is out of range; give 1..2147483647
    playouts | 0 | give 1..2147483647
    """

    exit_status = 2  # of the command line

    def __str__(self) -> str:
        """Return the message with options as the library writes them: `ranks=4`."""
        return for_library(self.message)

    def __repr__(self) -> str:
        return f"{type(self).__name__}({str(self)!r})"

    @property
    def message(self) -> str:
        """The message as `named` made it. Another error may quote it in its own message."""
        return super().__str__()

    @property
    def option(self) -> str | None:
        """The name of the wrong option; None if the message names no option."""
        found = _NAMED.search(self.message)
        return found[2] if found else None

    @property
    def value(self) -> str | None:
        """The value of that option as text; None if the message has no value."""
        found = _NAMED.search(self.message)
        return found[3] or None if found else None

    @property
    def remedy(self) -> str | None:
        """What to do: the part of the message after the last semicolon; None if there is none."""
        _, semicolon, remedy = str(self).rpartition("; ")
        return remedy if semicolon else None


class OptionError(TreespanError):
    """An unknown name, or an option whose value is missing, malformed or out of range.

    >>> import treespan as ts
    >>> ts.make_game("go:size=99")
    Traceback (most recent call last):
        ...
    treespan.core.errors.OptionError: go: size=99 is out of range; give 5..19
    """


class PositionError(TreespanError):
    """An illegal move, an unreadable diagram, or a question that has no answer in this position.

    >>> import treespan as ts
    >>> ts.make_game("tictactoe").position("a1 a1")
    Traceback (most recent call last):
        ...
    treespan.core.errors.PositionError: tictactoe: move 2, 'a1': it is not legal here; give a legal move, as a3
    """


class GameError(TreespanError):
    """A game that breaks the protocol of `treespan.games.rules`.

    >>> import treespan as ts
    >>> from dataclasses import dataclass
    >>> @dataclass(frozen=True)
    ... class Pile(ts.Game):
    ...     name = "pile"
    >>> ts.check_game(Pile())
    Traceback (most recent call last):
        ...
    treespan.core.errors.GameError: pile: the rule `legal_moves` is missing
    """


def for_library(text: str) -> str:
    """Return a message with its options as the library writes them: `ranks=4`."""
    return _NAMED.sub(_as_in_library, text)


def for_command_line(text: str) -> str:
    """Return a message with its options as the command line writes them: `--ranks 4`."""
    return _NAMED.sub(_as_at_terminal, text)


def _as_in_library(found: re.Match[str]) -> str:
    kind, option, value = found.groups()
    if kind == _UNSEEN:
        return ""
    return f"{option}={value}" if value or kind == _SPEC else option


def _as_at_terminal(found: re.Match[str]) -> str:
    kind, option, value = found.groups()
    if kind != _CALL:
        return _as_in_library(found)
    return "--" + option.replace("_", "-") + (f" {value}" if value else "")


@contextmanager
def concerning(option: str, value: Any = None, remedy: str = "") -> Iterator[None]:
    """Let a PositionError of the body say which option it is about; and give a remedy, if it has none."""
    try:
        yield
    except PositionError as error:
        words = f"; {remedy}" if remedy and not error.remedy else ""
        raise type(error)(f"{about(option, value)}{error.message}{words}") from None


def unknown_name(kind: str, name: Any, known: Iterable[str], option: str | None = None) -> OptionError:
    """Return an error for an unknown name. Its message offers the nearest known name, or lists all.

    option: the option whose value the name is; None: the name itself is that of an option.
    """
    names, text = sorted(known), shown(name)
    near = difflib.get_close_matches(text, names, n=1, cutoff=0.5)
    remedy = f"did you mean '{near[0]}'?" if near else f"known: {', '.join(names) or 'none'}"
    which = about(option, name) if option else about(text)
    return OptionError(f"unknown {kind} '{text}'{which}; {remedy}")
