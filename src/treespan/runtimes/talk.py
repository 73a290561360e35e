"""What ranks and their launcher print: it goes to people, but not what a launcher says of ranks that we have ended."""

import contextlib
import os
import select
import threading
from collections.abc import Iterator

from treespan.core.store import NOT_KEPT, store

_JOIN_SECONDS = 1.0  # for the last words of ranks that have ended
_AT_ONCE = 65_536  # bytes; a pipe holds as many


class Talk:
    """A pipe from ranks and their launcher to this process's stderr.

    Nobody reads it before `start`: a thread would keep this process from forking helpers that compile.
    """

    def __init__(self) -> None:
        self._reader, self.writer = os.pipe()
        os.set_blocking(self._reader, False)
        self._lock = threading.Lock()
        self._thread: threading.Thread | None = None
        self._is_muted = self._is_over = False
        self._was_news = True  # whether the last line was

    def begin(self) -> None:
        """Give up this process's own end for writing: the launcher has it now."""
        os.close(self.writer)

    def start(self) -> None:
        """Pass on from now on, in a thread. May be called again."""
        if self._thread is not None:
            return
        self._thread = threading.Thread(target=self._follow, daemon=True)
        self._thread.start()

    def mute(self) -> None:
        """Pass on what was said until now, and nothing more."""
        self._pass_on()
        self._is_muted = True

    def end(self) -> None:
        """Pass on the last words. All who write have ended."""
        if self._thread is not None:
            self._thread.join(_JOIN_SECONDS)
        self._pass_on()
        if self._thread is None or not self._thread.is_alive():  # else somebody lives on and may still speak
            os.close(self._reader)

    def _follow(self) -> None:
        poll = select.poll()
        poll.register(self._reader, select.POLLIN)
        while not self._is_over:
            poll.poll()
            self._pass_on()

    def _pass_on(self) -> None:
        """Pass on what is there."""
        with self._lock, contextlib.suppress(BlockingIOError):
            while not self._is_over:
                part = os.read(self._reader, _AT_ONCE)
                if not part:
                    self._is_over = True
                elif not self._is_muted:
                    _print(b"".join(self._news_in(part)))

    def _news_in(self, part: bytes) -> Iterator[bytes]:
        """The lines that are news, without an empty one behind a line that is none."""
        for line in part.splitlines(keepends=True):
            if self._was_news or line.strip():
                self._was_news = not _is_known(line)
                if self._was_news:
                    yield line


def _print(lines: bytes) -> None:
    """Print where people read: also where Python has replaced its stderr, as in a notebook."""
    with contextlib.suppress(OSError):  # it was closed
        while lines:
            lines = lines[os.write(2, lines) :]


def _is_known(line: bytes) -> bool:
    """Whether this process has told the same of its own, or the result does."""
    if line.startswith((b"NBC_Progress: an error ", b"Error in NBC_Start_round")):  # Open MPI: a rank is lost
        return True
    if not line.startswith(f"treespan: {NOT_KEPT}".encode()):
        return False
    was_told, store().was_told = store().was_told, True
    return was_told
