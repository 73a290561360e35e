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
    """A mistake of the controller: answered by `? message`."""


@dataclass
class Answer:
    """What a command returns when a text is not enough."""

    text: str = ""
    updates: Callable[[], str] | None = None  # a search goes on: a new line for every look at it
    interval: float = 1.0  # seconds between two looks
    ends_session: bool = False


@dataclass
class Reply:
    """An answer with its sign and id."""

    answer: Answer
    id: str = ""
    is_ok: bool = True

    def __str__(self) -> str:
        """As it is sent, with the blank line that ends it. Text has no blank lines of its own."""
        text = re.sub(r"\n\s*\n", "\n", self.answer.text).rstrip()
        return f"{self.head}{' ' if text and not text.startswith(chr(10)) else ''}{text}\n\n"

    @property
    def head(self) -> str:
        return f"{'=' if self.is_ok else '?'}{self.id}"


Command = Callable[[Sequence[str]], "str | Answer"]


def clean(line: str) -> str:
    """A line without control characters and comments, its tabs as blanks (specification, section 3.1)."""
    kept = "".join(" " if sign == "\t" else sign for sign in line if sign == "\t" or (sign >= " " and sign != "\x7f"))
    return kept.partition("#")[0].strip()


class Protocol:
    """Knows commands by name; `handle_line` never raises. `before_command` is called for known and unknown ones."""

    def __init__(self, before_command: Callable[[], None] = lambda: None) -> None:
        self._before_command = before_command
        self._commands: dict[str, Command] = {
            "protocol_version": lambda words: "2",
            "list_commands": lambda words: "\n".join(sorted(self._commands)),
            "known_command": lambda words: "true" if only(words) in self._commands else "false",
            "quit": lambda words: Answer(ends_session=True),
        }

    def add(self, commands: dict[str, Command]) -> None:
        self._commands.update(commands)

    def handle_line(self, line: str) -> Reply | None:
        """The reply to a line; None where the line is blank."""
        words = clean(line).split()
        if not words:
            return None
        number = words.pop(0) if words[0].isdecimal() else ""
        if not words:
            return Reply(Answer("missing command"), number, is_ok=False)
        name, *arguments = words
        try:
            self._before_command()
            if name not in self._commands:
                raise GtpError("unknown command")
            answer = self._commands[name](arguments)
        except TreespanError as error:
            return Reply(Answer(str(error)), number, is_ok=False)
        except Exception as error:  # a fault of ours must not end a game
            traceback.print_exc(file=sys.stderr)
            return Reply(Answer(f"internal error: {type(error).__name__}: {error}"), number, is_ok=False)
        return Reply(answer if isinstance(answer, Answer) else Answer(answer), number)

    def handle_lines(self, text: str) -> Iterator[str]:
        """The replies to some lines, as text."""
        for line in text.splitlines():
            reply = self.handle_line(line)
            if reply is not None:
                yield str(reply)


def only(words: Sequence[str]) -> str:
    """The one argument of a command."""
    if len(words) != 1:
        raise GtpError("syntax error: one argument is needed")
    return words[0]


def whole_number(text: str) -> int:
    """Digits without a sign, as everywhere in GTP."""
    if not re.fullmatch(r"[0-9]{1,18}", text):  # Python would also read 1_3 and digits of other scripts
        raise GtpError(f"syntax error: '{text}' is not a whole number")
    return int(text)


def number(text: str) -> float:
    """A decimal number, perhaps with a sign and an exponent."""
    is_number = re.fullmatch(r"[+-]?([0-9]+\.?[0-9]*|\.[0-9]+)(e[+-]?[0-9]+)?", text, re.IGNORECASE)
    value = float(text) if is_number else math.nan
    if not math.isfinite(value):
        raise GtpError(f"syntax error: '{text}' is not a number")
    return value
