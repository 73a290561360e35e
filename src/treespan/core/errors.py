"""Errors that a user can cause and mend. Each message names the value, the bound and the remedy.

A message names options by `named`, because the library and the command line write them differently: `ranks=4` and
`--ranks 4`. `str(error)` is for the library, `for_command_line(error.message)` for people at a terminal.
"""

import difflib
import re
from collections.abc import Iterable
from typing import Any

INTERRUPTED_STATUS = 130  # exit status, as a shell gives it after Ctrl-C
_BEGIN, _BETWEEN, _END = "\ue000", "\ue001", "\ue002"  # around an option in a message: characters for private use
_NAMED = re.compile(f"{_BEGIN}([^{_BETWEEN}]*){_BETWEEN}([^{_END}]*){_END}")


def named(option: str, value: Any = None) -> str:
    """An option in a message, with its value if there is one."""
    if isinstance(value, float):
        value = f"{value:g}"
    return f"{_BEGIN}{option}{_BETWEEN}{'' if value is None else value}{_END}"


class TreespanError(Exception):
    """Base of every error that treespan raises on purpose; the message is one line."""

    exit_status = 2  # of the command line

    def __str__(self) -> str:
        """The message with options as the library writes them: `ranks=4`."""
        return for_library(self.message)

    def __repr__(self) -> str:
        return f"{type(self).__name__}({str(self)!r})"

    @property
    def message(self) -> str:
        """The message as `named` made it, to be quoted in the message of another error."""
        return super().__str__()

    @property
    def option(self) -> str | None:
        """The name of the option that is wrong, if one is named."""
        found = _NAMED.search(self.message)
        return found[1] if found else None

    @property
    def value(self) -> str | None:
        """The value of that option, as text."""
        found = _NAMED.search(self.message)
        return found[2] or None if found else None

    @property
    def remedy(self) -> str | None:
        """What to do: the part of the message after the last semicolon."""
        _, semicolon, remedy = str(self).rpartition("; ")
        return remedy if semicolon else None


class OptionError(TreespanError):
    """An unknown name, or an option whose value is missing, malformed or out of range."""


class PositionError(TreespanError):
    """An illegal move, an unreadable diagram, or a question about a position that has no answer."""


class GameError(TreespanError):
    """A game that breaks the protocol of `treespan.games.rules`."""


def for_library(text: str) -> str:
    """A message with options as the library writes them: `ranks=4`."""
    return _NAMED.sub(lambda found: found[1] + (f"={found[2]}" if found[2] else ""), text)


def for_command_line(text: str) -> str:
    """A message with options as the command line writes them: `--ranks 4`."""
    return _NAMED.sub(lambda found: "--" + found[1].replace("_", "-") + (f" {found[2]}" if found[2] else ""), text)


def unknown_name(kind: str, name: str, known: Iterable[str]) -> OptionError:
    """An error for a misspelt name that offers the nearest known one."""
    names = sorted(known)
    near = difflib.get_close_matches(name, names, n=1, cutoff=0.5)
    remedy = f"did you mean '{near[0]}'?" if near else f"known: {', '.join(names) or 'none'}"
    return OptionError(f"unknown {kind} '{name}'; {remedy}")
