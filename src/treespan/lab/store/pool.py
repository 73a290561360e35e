"""Units of work in several processes at once.

A process (`pool_process.py`) does one unit after another, so that the next unit finds what was compiled, loaded or
started. Results come in the order in which they are ready. Closing the generator ends the processes; so does the end
of this process, for whatever reason.
"""

import contextlib
import os
import socket
import subprocess
import sys
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from multiprocessing.connection import Connection, wait
from typing import Any

import cloudpickle

from treespan.core.errors import OptionError, TreespanError, about, named
from treespan.core.machine import python_path
from treespan.runtimes.launch import environment_alone

TRIES = 2  # at a unit whose process dies
GRACE_SECONDS = 10.0  # for a process to finish what it is doing


class UnitError(TreespanError):
    """A unit of work has failed. The message begins with the unit."""


class WorkerDied(UnitError):  # noqa: N818 - the name says what happened
    """The process of a unit has died again and again."""


def do_in_processes(do: Callable[..., Any], units: Sequence[Any], jobs: int) -> Iterator[tuple[Any, Any]]:
    """Call `do(unit, kept)` for all units in `jobs` processes, each with a `Kept` of its own. Yields unit and result.

    `do`, units and results are pickled. An exception of `do` is raised here.
    """
    waiting = list(reversed(units))
    tries: Counter[Any] = Counter()
    busy: dict[Connection, tuple[Any, Any]] = {}  # connection: process, its unit
    processes: list[subprocess.Popen[bytes]] = []
    lifeline, held = os.pipe()  # nothing is ever written: when it closes, the processes know that this one has ended

    def start_process() -> None:
        ours, theirs = socket.socketpair()
        command = [sys.executable, "-P", "-m", "treespan.lab.store.pool_process", str(theirs.fileno()), str(lifeline)]
        # It imports what this process can import, and nothing from the folder in which it starts.
        environment = {**environment_alone(), "PYTHONPATH": python_path()}
        process = subprocess.Popen(command, pass_fds=(theirs.fileno(), lifeline), env=environment)
        processes.append(process)
        theirs.close()
        connection = Connection(ours.detach())
        connection.send_bytes(_packed(do))
        give(connection, process)

    def give(connection: Connection, process: Any) -> None:
        unit = waiting.pop()
        busy[connection] = (process, unit)
        words = _packed(unit)
        with contextlib.suppress(OSError):  # the loop below notices a process that has died
            connection.send_bytes(words)

    try:
        for _ in range(min(jobs, len(waiting))):
            start_process()
        while busy:
            for connection in wait(list(busy)):
                assert isinstance(connection, Connection)
                process, unit = busy.pop(connection)
                try:
                    result = cloudpickle.loads(connection.recv_bytes())
                except (EOFError, OSError):
                    tries[unit] += 1
                    if tries[unit] >= TRIES:
                        status = f"exit status {process.wait()}"
                        raise WorkerDied(f"{unit.describe()}: its process died {TRIES} times ({status})") from None
                    waiting.append(unit)
                    start_process()
                    continue
                if isinstance(result, BaseException):
                    connection.close()  # ends the process; the loop below waits for it
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
            try:
                process.wait(GRACE_SECONDS)
            except subprocess.TimeoutExpired:  # it is in compiled code, which handles no signals
                process.kill()
                process.wait()
        os.close(lifeline)
        os.close(held)


def _packed(thing: Any) -> bytes:
    """Pickle a thing for another process. Raises an error in words if a user's game or position cannot be pickled."""
    try:
        words: bytes = cloudpickle.dumps(thing)
    except Exception as error:
        why = f"{type(error).__name__}: {error}"
        raise OptionError(
            f"the work{about('jobs')} cannot be sent to other processes: {why}; give {named('jobs', 1)}"
        ) from error
    return words
