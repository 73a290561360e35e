"""Tells that code is being compiled, when that takes more than a second: on stderr, and never on stdout."""

import contextlib
import os
import sys
import threading
from collections.abc import Callable, Iterator
from typing import IO

from treespan.core.machine import TERMINAL, is_first_rank

PATIENCE_SECONDS = 1.0  # before anything is said
SILENT = "TREESPAN_SILENT"  # environment variable: nothing is said
_has_spoken = threading.Event()  # where nobody watches, one line will do for all that a process compiles


def may_speak() -> bool:
    """Whether this process may tell the user something: of several ranks only the first does."""
    return not os.environ.get(SILENT) and is_first_rank()


def _open_terminal() -> IO[str] | None:
    """Where somebody watches: stderr, or of a rank the terminal of its launcher."""
    if sys.stderr.isatty():
        return sys.stderr
    path = os.environ.get(TERMINAL)
    with contextlib.suppress(OSError):
        return open(os.open(path, os.O_WRONLY | os.O_APPEND | os.O_NOCTTY), "w", encoding="utf-8") if path else None
    return None


@contextlib.contextmanager
def announce(count_done: Callable[[], int], total: int, is_kept: bool = True) -> Iterator[None]:
    """While the body runs: `compiling 7 of 12 …` on a terminal, anew each second; elsewhere one line."""
    if not may_speak():
        yield
        return
    over = threading.Event()
    terminal = _open_terminal()

    def speak() -> None:
        shown = False
        while not over.wait(PATIENCE_SECONDS):
            if terminal is not None:
                shown = True
                print(f"\rcompiling {min(count_done() + 1, total)} of {total} … ", end="", file=terminal, flush=True)
            elif not _has_spoken.is_set():
                _has_spoken.set()
                kept = "; the code is kept for next time" if is_kept else ""
                print(f"treespan: compiling{kept}", file=sys.stderr, flush=True)
        if shown:
            print("\r" + " " * 40 + "\r", end="", file=terminal, flush=True)

    speaker = threading.Thread(target=speak, daemon=True)
    speaker.start()
    try:
        yield
    finally:
        over.set()
        speaker.join()
        if terminal is not None and terminal is not sys.stderr:
            terminal.close()
