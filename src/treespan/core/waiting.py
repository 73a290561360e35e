"""Waiting for threads so that Ctrl-C may come at any moment, and a wish that wakes who waits."""

import contextlib
import queue
from collections.abc import Callable, Iterator


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

    def wake(self) -> None:
        """Let who waits look up, though no thread has ended."""
        self._news.put(None)


class Wish:
    """A wish, as that a search ends, that one thread has and others ask for. Who waits meanwhile is woken at once."""

    def __init__(self) -> None:
        self._is_there = False
        self._wakers: list[Callable[[], None]] = []

    def __call__(self) -> bool:
        """Return whether the wish is there."""
        return self._is_there

    def set(self) -> None:
        """Wish it. May be called from any thread."""
        self._is_there = True
        for wake in tuple(self._wakers):
            wake()

    def clear(self) -> None:
        """Take the wish back."""
        self._is_there = False

    @contextlib.contextmanager
    def waking(self, wake: Callable[[], None]) -> Iterator[None]:
        """In the body `wake` is called when the wish comes, and at once if it is there already."""
        self._wakers.append(wake)
        try:
            if self._is_there:
                wake()
            yield
        finally:
            self._wakers.remove(wake)


def woken(wish: Callable[[], bool] | None, wake: Callable[[], None]) -> contextlib.AbstractContextManager[None]:
    """`wish.waking(wake)`; of another function that says whether there is a wish nobody is woken."""
    return wish.waking(wake) if isinstance(wish, Wish) else contextlib.nullcontext()
