"""Workers in threads of this process, until the budget is spent."""

import threading
import time
from collections.abc import Callable, Sequence

from treespan.core.waiting import Endings
from treespan.schemes.plan import POLL_SECONDS, Budget, Progress, WantsStop
from treespan.schemes.summary import Run
from treespan.search.searcher import FOREVER_NS, Searcher
from treespan.search.tree import MAX_VISITS

CHECKS = 40  # of a search by playouts: whether its choice is settled


def drive(
    searchers: Sequence[Searcher],
    budget: Budget,
    progress: Progress | None,
    is_settled: Callable[[int], bool] | None = None,
    wants_stop: WantsStop | None = None,
) -> Run:
    """Run each searcher in a thread of its own until the budget is spent or the user interrupts.

    The playouts of the budget are dealt out evenly. Compiled code looks at the clock itself; this thread
    only reports progress, and passes Ctrl-C on. A searcher asks now and then, always after the same number of
    playouts, whether the choice `is_settled` with so many of its playouts to come; if so it ends.
    """
    for searcher in searchers:
        searcher.run(0)  # compiles, or loads from the cache, before the clock starts
        searcher.finish()
    share, rest = divmod(MAX_VISITS if budget.playouts is None else budget.playouts, len(searchers))
    quotas = [share + (i < rest) for i in range(len(searchers))]
    start = time.monotonic_ns()
    deadline = FOREVER_NS if budget.seconds is None else start + int(budget.seconds * 1e9)
    finished = [start] * len(searchers)
    failures: list[BaseException] = []

    def work(index: int) -> None:
        try:
            _run(searchers[index], quotas[index], deadline, is_settled)
        except BaseException as error:  # handed over to the calling thread, which raises it
            failures.append(error)
            for searcher in searchers:
                searcher.stop()
        finished[index] = time.monotonic_ns()
        endings.note(index)

    endings = Endings(len(searchers))
    threads = [threading.Thread(target=work, args=(index,), daemon=True) for index in range(len(searchers))]
    interrupted = False
    try:
        for thread in threads:
            thread.start()
        have_ended = False
        while not have_ended:
            have_ended = endings.wait(POLL_SECONDS)
            if wants_stop and wants_stop():
                interrupted = True
                for searcher in searchers:
                    searcher.stop()
            if progress:
                progress(sum(s.playouts for s in searchers), (time.monotonic_ns() - start) * 1e-9)
    except KeyboardInterrupt:
        interrupted = True
    finally:  # whatever ended the wait, no worker is left running
        for searcher in searchers:
            searcher.stop()
        for thread in threads:
            if thread.ident is not None:  # it was started
                thread.join()
    if failures:
        raise failures[0]
    total = max(max(finished) - start, 1)
    load = [
        (end - start) / total * share
        for searcher, end in zip(searchers, finished, strict=True)
        for share in searcher.load
    ]
    return Run(total * 1e-9, load, interrupted)


def _run(searcher: Searcher, quota: int, deadline: int, is_settled: Callable[[int], bool] | None) -> None:
    """Run a searcher until its quota, the time or the question is spent."""
    left, step = quota, quota if is_settled is None else -(-quota // CHECKS)
    while left > 0:
        asked = min(step, left)
        done = searcher.run(asked, deadline)
        left -= done
        if done < asked or (is_settled and is_settled(left)):
            return
