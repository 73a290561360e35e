"""Waiting for threads so that Ctrl-C may come at any moment."""

import contextlib
import queue


class Endings:
    """Which of `count` threads have ended.

    Not `threading.Event`: a Ctrl-C in the midst of its `wait` releases a lock twice, and that is a RuntimeError. Not
    `Thread.join`: interrupted with a timeout, Python 3.11 takes a thread that still runs for ended.
    """

    def __init__(self, count: int):
        self._has_ended = [False] * count
        self._news: queue.SimpleQueue[None] = queue.SimpleQueue()  # written in C: an interrupt leaves it whole

    def note(self, index: int) -> None:
        """A thread is about to end."""
        self._has_ended[index] = True
        self._news.put(None)

    def wait(self, seconds: float) -> bool:
        """Wait for news, not longer than this. Returns whether all threads have ended."""
        if not all(self._has_ended):
            with contextlib.suppress(queue.Empty):
                self._news.get(timeout=seconds)
        return all(self._has_ended)
