"""Errors that a user can cause and mend. Each message names the value, the bound and the remedy."""

import difflib
from collections.abc import Iterable

INTERRUPTED_STATUS = 130  # exit status, as a shell gives it after Ctrl-C


class TreespanError(Exception):
    """Base of every error that treespan raises on purpose; the command line prints it as one line."""


class OptionError(TreespanError):
    """An unknown name, or an option whose value is missing, malformed or out of range."""


class PositionError(TreespanError):
    """An illegal move, an unreadable diagram, or a question about a position that has no answer."""


class GameError(TreespanError):
    """A game that breaks the protocol of `treespan.games.rules`."""


def unknown_name(kind: str, name: str, known: Iterable[str]) -> OptionError:
    """An error for a misspelt name that offers the nearest known one."""
    names = sorted(known)
    near = difflib.get_close_matches(name, names, n=1, cutoff=0.5)
    remedy = f"did you mean '{near[0]}'?" if near else f"known: {', '.join(names) or 'none'}"
    return OptionError(f"unknown {kind} '{name}'; {remedy}")
