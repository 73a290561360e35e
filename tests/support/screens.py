"""A terminal for programs that tests start: it has what they show."""

import contextlib
import os
import pty
import threading
from collections.abc import Iterator


class Screen:
    """What was written to a terminal. It is read at once, or writers would wait."""

    def __init__(self) -> None:
        self._reader, self.terminal = pty.openpty()  # file descriptors; the terminal is for a program's stderr
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


@contextlib.contextmanager
def open_screen() -> Iterator[Screen]:
    screen = Screen()
    try:
        yield screen
    finally:
        os.close(screen.terminal)
