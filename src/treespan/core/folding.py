"""Lines that fit a terminal. Whatever prints text for people folds it here."""

import re
from collections.abc import Iterable

WIDTH = 80  # columns where there is no terminal
_WORD = re.compile(r"(\s*)(\S+)")
_OPTION_AHEAD = re.compile(r"(?<=,)(?=\w+=)")  # between two options of a spec
_ARGUMENT = re.compile(r"(?:'[^']*'|\"[^\"]*\"|[^\s'\"])+")


def fold(line: str, width: int = WIDTH, indent: str = "  ") -> list[str]:
    """Return a line as several lines of at most `width` columns. All but the first begin with `indent`.

    A line is broken at blanks, and a spec that is longer than a line after commas. Any other long word stays whole on a
    line of its own, for a path that is broken cannot be copied.
    """
    if len(line) <= width:
        return [line]
    folded, current = [], ""
    for blanks, word in _WORD.findall(line):
        for number, piece in enumerate(_pieces(word, width - len(indent))):
            longer = current + (blanks if number == 0 else "") + piece
            if len(longer) > width and current.strip():
                folded.append(current)
                longer = indent + piece
            current = longer
    return [*folded, current]


def fold_all(lines: Iterable[str], width: int = WIDTH, indent: str = "  ") -> list[str]:
    """Return lines of at most `width` columns: `fold` of each."""
    return [folded for line in lines for folded in fold(line, width, indent)]


def fold_command(command: str, width: int = WIDTH, indent: str = "") -> list[str]:
    """Return a command line as lines that a shell reads as one: all but the last end with a backslash.

    An option and its value stay on one line.
    """
    parts = _with_values(_ARGUMENT.findall(command))
    folded, current = [], indent + parts[0]
    for number, part in enumerate(parts[1:], start=2):
        longer = f"{current} {part}"
        if len(longer) + (0 if number == len(parts) else 2) > width:
            folded.append(current + " \\")
            longer = f"{indent}    {part}"
        current = longer
    return [*folded, current]


def _with_values(arguments: list[str]) -> list[str]:
    """Return the arguments of a command, each option joined with the value that follows it."""
    parts: list[str] = []
    for argument in arguments:
        if parts and parts[-1].startswith("-") and " " not in parts[-1] and not argument.startswith("-"):
            parts[-1] += f" {argument}"
        else:
            parts.append(argument)
    return parts


def _pieces(word: str, room: int) -> list[str]:
    """Return a spec that does not fit a line in pieces, one for each option; any other word whole."""
    return [word] if len(word) <= room or "/" in word else _OPTION_AHEAD.split(word)
