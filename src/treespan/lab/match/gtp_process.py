"""A Go program that speaks GTP, as a process: send a command and read the answer, always with a timeout."""

import contextlib
import os
import select
import shlex
import signal
import subprocess
import tempfile
import time
from collections.abc import Sequence

from treespan.core.errors import OptionError
from treespan.core.programs import find_program
from treespan.runtimes.launch import environment_alone

LONGEST_ANSWER = 1 << 20  # bytes; a longer answer is a fault
GRACE_SECONDS = 1.0  # for the program to end by itself after `quit`
DEBIAN_PACKAGES = {"gnugo": "gnugo", "pachi": "pachi", "fuego": "fuego", "michi": "michi"}


class ProgramError(Exception):
    """A Go program broke GTP, or refused a command. After a refusal (kind `error`) it can still be used."""

    def __init__(self, kind: str, detail: str):
        super().__init__(detail)
        self.kind = kind  # crash, time, error or unreadable answer


def find_command(line: str) -> list[str]:
    """Split a command line into words and find its program. Raises OptionError if there is none."""
    try:
        words = shlex.split(line)
    except ValueError as error:
        raise OptionError(f"cannot read 'gtp: {line}': {error}") from None
    if not words:
        raise OptionError("'gtp:' names no program; write for example 'gtp: gnugo --mode gtp'")
    path = find_program(words[0])
    if path is None:
        package = DEBIAN_PACKAGES.get(os.path.basename(words[0]))
        remedy = f"install the Debian package {package}" if package else "give its full path"
        raise OptionError(f"there is no program '{words[0]}'; {remedy}")
    return [path, *words[1:]]


class GtpProcess:
    """One running program. After a failure other than a refusal it cannot be used any more: close it."""

    def __init__(self, command: Sequence[str]):
        self._errors = tempfile.TemporaryFile()  # noqa: SIM115 - closed with the process
        self._buffer = b""
        try:
            # A session of its own: a terminal's Ctrl-C does not reach it, and we can end all that it starts.
            self._process = subprocess.Popen(
                command,
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=self._errors,
                bufsize=0,
                start_new_session=True,
                env=environment_alone(),
            )
        except OSError as error:
            self._errors.close()
            raise ProgramError("crash", f"cannot start {command[0]}: {error.strerror}") from None

    def ask(self, command: str, timeout: float) -> str:
        """Send a command. Returns the text of the answer."""
        assert self._process.stdin is not None
        try:
            self._process.stdin.write(command.encode() + b"\n")
        except OSError:
            raise self._crash(command) from None
        lines = self._read_answer(command, time.monotonic() + timeout)
        first, text = lines[0], "\n".join(lines)
        if first[:1] not in "=?" or not first:
            raise ProgramError("unreadable answer", f"'{first[:60]}' to '{command}'")
        answer = text[1:].lstrip("0123456789").strip()
        if first[0] == "?":
            raise ProgramError("error", f"answered '? {answer[:100]}' to '{command}'")
        return answer

    def _read_answer(self, command: str, deadline: float) -> list[str]:
        """Read lines up to the first blank one. Skips blank lines before the answer."""
        lines: list[str] = []
        size = 0
        while True:
            line = self._read_line(command, deadline).rstrip("\r\n\t ")
            if line:
                lines.append(line)
                size += len(line)
                if lines[0][0] not in "=?":
                    return lines
                if size > LONGEST_ANSWER:
                    raise ProgramError("unreadable answer", f"endless answer to '{command}'")
            elif lines:
                return lines

    def _read_line(self, command: str, deadline: float) -> str:
        assert self._process.stdout is not None
        while b"\n" not in self._buffer:
            left = deadline - time.monotonic()
            if left <= 0 or not select.select([self._process.stdout], [], [], left)[0]:
                raise ProgramError("time", f"no answer to '{command}' in time")
            data = os.read(self._process.stdout.fileno(), 65536)
            if not data:
                raise self._crash(command)
            self._buffer += data
            if len(self._buffer) > LONGEST_ANSWER and b"\n" not in self._buffer:
                raise ProgramError("unreadable answer", f"endless answer to '{command}'")
        line, _, self._buffer = self._buffer.partition(b"\n")
        return line.decode(errors="replace")

    def _crash(self, command: str) -> ProgramError:
        with contextlib.suppress(subprocess.TimeoutExpired):
            self._process.wait(GRACE_SECONDS)
        status = self._process.returncode
        self._errors.seek(0)
        said = self._errors.read().decode(errors="replace").strip().splitlines()
        last = f": {said[-1][:100]}" if said else ""
        return ProgramError("crash", f"ended at '{command}' (exit status {status}){last}")

    def close(self) -> None:
        """End the program with everything that it started: by `quit`, then by force."""
        if self._process.poll() is None:
            with contextlib.suppress(OSError, subprocess.TimeoutExpired):
                assert self._process.stdin is not None
                self._process.stdin.write(b"quit\n")
                self._process.stdin.close()
                self._process.wait(GRACE_SECONDS)
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.killpg(self._process.pid, signal.SIGKILL)
        self._process.wait()
        for stream in (self._process.stdin, self._process.stdout, self._errors):
            if stream is not None:
                with contextlib.suppress(OSError):
                    stream.close()
