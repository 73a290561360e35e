"""A terminal for programs that tests start: it has what they show."""

import contextlib
import fcntl
import os
import pty
import struct
import termios
import threading
import time
from collections.abc import Iterator

PATIENCE_SECONDS = 120.0  # a program may have to compile first


class Screen:
    """What was written to a terminal. It is read at once, or writers would wait."""

    def __init__(self) -> None:
        self._reader, self.terminal = pty.openpty()  # file descriptors; the terminal is for a program's streams
        fcntl.ioctl(self.terminal, termios.TIOCSWINSZ, struct.pack("HHHH", 24, 80, 0, 0))
        self._shown = b""
        threading.Thread(target=self._read, daemon=True).start()

    def _read(self) -> None:
        with contextlib.suppress(OSError):  # all writers are gone
            while some := os.read(self._reader, 4096):
                self._shown += some
        os.close(self._reader)

    @property
    def text(self) -> str:
        return self._shown.decode(errors="replace")

    @property
    def has_echo(self) -> bool:
        """Whether the terminal shows what is typed."""
        return bool(termios.tcgetattr(self.terminal)[3] & termios.ECHO)

    def type(self, keys: str) -> None:
        os.write(self._reader, keys.encode())

    def wait_for(self, words: str, times: int = 1) -> str:
        """Wait until `words` were shown so often; returns all that was shown."""
        end = time.monotonic() + PATIENCE_SECONDS
        while self.text.count(words) < times:
            assert time.monotonic() < end, f"no '{words}' in: {self.text}"
            time.sleep(0.01)
        return self.text


@contextlib.contextmanager
def open_screen() -> Iterator[Screen]:
    screen = Screen()
    try:
        yield screen
    finally:
        os.close(screen.terminal)
