"""The message that code is being compiled. It is printed after a second, to stderr, never to stdout."""

import contextlib
import os
import sys
import threading
import time
from collections.abc import Callable, Iterator
from typing import IO

from treespan.core.machine import TERMINAL, is_first_rank

PATIENCE_SECONDS = 1.0  # before anything is printed
SILENT = "TREESPAN_SILENT"  # environment variable: nothing is printed
_has_spoken = threading.Event()  # without a terminal, a process prints one line for all that it compiles


def may_speak() -> bool:
    """Return whether this process may print messages to the user. Of several ranks only the first may."""
    return not os.environ.get(SILENT) and is_first_rank()


def _open_terminal() -> IO[str] | None:
    """Return the terminal that the user watches: stderr, or that of a rank's launcher; None if there is none."""
    if sys.stderr.isatty():
        return sys.stderr
    path = os.environ.get(TERMINAL)
    with contextlib.suppress(OSError):
        return open(os.open(path, os.O_WRONLY | os.O_APPEND | os.O_NOCTTY), "w", encoding="utf-8") if path else None
    return None


@contextlib.contextmanager
def announce(
    count_done: Callable[[], int], total: int, is_kept: bool = True, begun: float | None = None
) -> Iterator[None]:
    """Report progress while the body runs: `compiling 7 of 12 …` each second on a terminal, elsewhere one line.

    begun: when the work began, by `time.monotonic`; None: now.
    """
    first = PATIENCE_SECONDS if begun is None else max(0.0, begun + PATIENCE_SECONDS - time.monotonic())
    if not may_speak():
        yield
        return
    over = threading.Event()
    terminal = _open_terminal()

    def speak() -> None:
        shown, patience = False, first
        while not over.wait(patience):
            patience = PATIENCE_SECONDS
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
