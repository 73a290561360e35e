"""Tells that code is being compiled, when that takes more than a second: on stderr, and never on stdout."""

import contextlib
import os
import sys
import threading
from collections.abc import Callable, Iterator

PATIENCE_SECONDS = 1.0  # before anything is said
SILENT = "TREESPAN_SILENT"  # environment variable: nothing is said. Of the ranks of a job only the first speaks
_has_spoken = threading.Event()  # where nobody watches, one line will do for all that a process compiles
_RANKS = ("PMI_RANK", "PMIX_RANK", "OMPI_COMM_WORLD_RANK")


def may_speak() -> bool:
    """Whether this process may tell the user something: of several ranks only the first does."""
    return not os.environ.get(SILENT) and all(os.environ.get(name, "0") == "0" for name in _RANKS)


@contextlib.contextmanager
def announce(count_done: Callable[[], int], total: int, is_kept: bool = True) -> Iterator[None]:
    """While the body runs: `compiling 7 of 12 …` on a terminal, anew each second; elsewhere one line."""
    if not may_speak():
        yield
        return
    over = threading.Event()
    is_terminal = sys.stderr.isatty()

    def speak() -> None:
        said = not is_terminal and _has_spoken.is_set()
        while not over.wait(PATIENCE_SECONDS):
            text = f"compiling {min(count_done() + 1, total)} of {total} …"
            if is_terminal:
                print(f"\r{text} ", end="", file=sys.stderr, flush=True)
            elif not said:
                _has_spoken.set()
                print(
                    "treespan: compiling" + ("; the code is kept for next time" if is_kept else ""),
                    file=sys.stderr,
                    flush=True,
                )
            said = True
        if said and is_terminal:
            print("\r" + " " * 40 + "\r", end="", file=sys.stderr, flush=True)

    speaker = threading.Thread(target=speak, daemon=True)
    speaker.start()
    try:
        yield
    finally:
        over.set()
        speaker.join()
