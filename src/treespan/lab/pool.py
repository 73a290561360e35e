"""Units of work in several processes at once.

Each process has a worker of its own, which stays for one unit after another: what it has compiled, loaded or started
is there for the next. Results come in the order in which they are ready. Closing the generator ends the processes.
"""

import contextlib
import multiprocessing
import os
import signal
import threading
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from multiprocessing.connection import Connection, wait
from typing import Any, Protocol

TRIES = 2  # at a unit whose process dies
GRACE_SECONDS = 10.0  # for a process to end what it is at


class Worker(Protocol):
    """What a process does units with. It must be possible to send `factory`, units and results to other processes."""

    def do(self, unit: Any, /) -> Any: ...

    def close(self) -> None: ...


class WorkerDied(Exception):  # noqa: N818 - it tells what happened
    """The process of a unit has died again and again; the message begins with the unit."""


def do_in_processes(factory: Callable[[], Worker], units: Sequence[Any], jobs: int) -> Iterator[tuple[Any, Any]]:
    """Do the units in `jobs` processes; yields each with its result. What a worker raises is raised here."""
    context = multiprocessing.get_context("spawn")  # not fork: there may be threads
    waiting = list(reversed(units))
    tries: Counter[Any] = Counter()
    busy: dict[Connection, tuple[Any, Any]] = {}  # connection: process, its unit
    processes: list[Any] = []

    def start_process() -> None:
        ours, theirs = context.Pipe()
        process = context.Process(target=_work, args=(theirs, factory), daemon=True)
        process.start()
        processes.append(process)
        theirs.close()
        give(ours, process)

    def give(connection: Connection, process: Any) -> None:
        unit = waiting.pop()
        busy[connection] = (process, unit)
        with contextlib.suppress(OSError):  # a process that has died is noticed below
            connection.send(unit)

    try:
        for _ in range(min(jobs, len(waiting))):
            start_process()
        while busy:
            for connection in wait(list(busy)):
                assert isinstance(connection, Connection)
                process, unit = busy.pop(connection)
                try:
                    result = connection.recv()
                except (EOFError, OSError):
                    process.join()
                    tries[unit] += 1
                    if tries[unit] >= TRIES:
                        status = f"exit status {process.exitcode}"
                        raise WorkerDied(f"{unit}: its process died {TRIES} times ({status})") from None
                    waiting.append(unit)
                    start_process()
                    continue
                if isinstance(result, BaseException):
                    connection.close()  # ends the process, which is waited for below
                    raise result
                if waiting:
                    give(connection, process)
                else:
                    connection.close()
                yield unit, result
    finally:
        for connection, (process, _) in busy.items():
            connection.close()
            process.terminate()
        for process in processes:
            process.join(GRACE_SECONDS)
            if process.is_alive():  # deep in compiled code, which hears no signal
                process.kill()
                process.join()


def _work(connection: Connection, factory: Callable[[], Worker]) -> None:
    """A process that does the units it is given, until nobody gives it any more or its parent has died."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is for the parent
    signal.signal(signal.SIGTERM, _exit)  # an exception, so that programs which a worker started are ended, too
    threading.Thread(target=_follow_parent, daemon=True).start()
    worker = factory()
    try:
        while True:
            unit = connection.recv()
            try:
                result: Any = worker.do(unit)
            except Exception as error:  # raised in the parent
                result = error
            connection.send(result)
    except (EOFError, OSError):
        pass
    finally:
        worker.close()


def _follow_parent() -> None:
    """End this process when its parent has died: nobody would hear of the unit it is at, which may take an hour."""
    parent = multiprocessing.parent_process()
    assert parent is not None
    parent.join()
    os.kill(os.getpid(), signal.SIGTERM)


def _exit(number: int, frame: object) -> None:
    raise SystemExit(1)
