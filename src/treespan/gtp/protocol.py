"""Lines in, replies out: the grammar of GTP version 2, without any stream and without any command of Go.

https://www.lysator.liu.se/~gunnar/gtp/gtp2-spec-draft2/gtp2-spec.html, sections 2 and 3.
"""

import math
import re
import sys
import traceback
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

from treespan.core.errors import TreespanError


class GtpError(TreespanError):
    """A mistake of the controller. The reply is `? message`."""


@dataclass
class Content:
    """What a command replies, where that is more than a text."""

    text: str = ""
    updates: Callable[[], str] | None = None  # returns a line on the search that goes on
    interval: float = 1.0  # seconds between two such lines
    ends_session: bool = False


@dataclass
class Reply:
    """Content with its sign and id."""

    content: Content
    id: str = ""
    is_ok: bool = True

    def __str__(self) -> str:
        """Return the reply as it is sent, with the blank line that ends it. Its text has no blank lines."""
        text = re.sub(r"\n\s*\n", "\n", self.content.text).rstrip()
        return f"{self.head}{' ' if text and not text.startswith(chr(10)) else ''}{text}\n\n"

    @property
    def head(self) -> str:
        return f"{'=' if self.is_ok else '?'}{self.id}"


Command = Callable[[Sequence[str]], "str | Content"]


def clean(line: str) -> str:
    """Return a line without control characters and comments, and with blanks for tabs (specification, section 3.1)."""
    kept = "".join(" " if sign == "\t" else sign for sign in line if sign == "\t" or (sign >= " " and sign != "\x7f"))
    return kept.partition("#")[0].strip()


class Protocol:
    """The commands by name. `handle_line` never raises; it calls `before_command` for known and unknown commands."""

    def __init__(self, before_command: Callable[[], None] = lambda: None) -> None:
        self._before_command = before_command
        self._commands: dict[str, Command] = {
            "protocol_version": lambda words: "2",
            "list_commands": lambda words: "\n".join(sorted(self._commands)),
            "known_command": lambda words: "true" if only(words) in self._commands else "false",
            "quit": lambda words: Content(ends_session=True),
        }

    def add(self, commands: dict[str, Command]) -> None:
        self._commands.update(commands)

    def handle_line(self, line: str) -> Reply | None:
        """Return the reply to a line; None if the line is blank."""
        words = clean(line).split()
        if not words:
            return None
        number = words.pop(0) if words[0].isdecimal() else ""
        if not words:
            return Reply(Content("missing command"), number, is_ok=False)
        name, *arguments = words
        try:
            self._before_command()
            if name not in self._commands:
                raise GtpError("unknown command")
            content = self._commands[name](arguments)
        except TreespanError as error:
            return Reply(Content(str(error)), number, is_ok=False)
        except Exception as error:  # a fault of ours must not end a game
            traceback.print_exc(file=sys.stderr)
            return Reply(Content(f"internal error: {type(error).__name__}: {error}"), number, is_ok=False)
        return Reply(content if isinstance(content, Content) else Content(content), number)

    def handle_lines(self, text: str) -> Iterator[str]:
        """Yield the replies to some lines, as text."""
        for line in text.splitlines():
            reply = self.handle_line(line)
            if reply is not None:
                yield str(reply)


def only(words: Sequence[str]) -> str:
    """Return the only argument of a command. Raises GtpError if there are more, or none."""
    if len(words) != 1:
        raise GtpError("syntax error: one argument is needed")
    return words[0]


def whole_number(text: str) -> int:
    """Read digits without a sign: GTP has no negative whole numbers."""
    if not re.fullmatch(r"[0-9]{1,18}", text):  # Python would also read 1_3 and digits of other scripts
        raise GtpError(f"syntax error: '{text}' is not a whole number")
    return int(text)


def number(text: str) -> float:
    """Read a decimal number, perhaps with a sign and an exponent."""
    is_number = re.fullmatch(r"[+-]?([0-9]+\.?[0-9]*|\.[0-9]+)(e[+-]?[0-9]+)?", text, re.IGNORECASE)
    value = float(text) if is_number else math.nan
    if not math.isfinite(value):
        raise GtpError(f"syntax error: '{text}' is not a number")
    return value
