"""MPI ranks that this process starts on this machine, gives work to, and ends.

The ranks run `rank_process.py`. This process and rank 0 talk over a socket in the job's folder, which is this user's
alone: an order goes in, progress and a result come out. An error is noted in the folder. Whoever finds the other gone
ends: no rank outlives the process that started it.

Where MPI tells the ranks that one is lost (`world.py`), the others go on. If rank 0 is lost, the one that takes its
place calls here, and says whether the ranks still do what they were ordered.
"""

import contextlib
import os
import pickle
import queue
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time
import weakref
from collections.abc import Callable
from dataclasses import replace
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any

import cloudpickle

from treespan.core.errors import TreespanError
from treespan.core.machine import TERMINAL, python_path
from treespan.core.options import check_range
from treespan.core.waiting import woken
from treespan.runtimes.job_folder import JOB_FOLDER, JobFolder, RanksLostError, open_job_folder
from treespan.runtimes.launch import find_mpiexec, is_rank
from treespan.runtimes.mpi_binding import MpiError, find_library, require_compiler
from treespan.runtimes.talk import Talk
from treespan.runtimes.world import RankLostError, rank_lost
from treespan.schemes.plan import MAX_RANKS, POLL_SECONDS, Looks, Progress, Request, WantsStop
from treespan.search.result import SearchResult

GRACE_SECONDS = 5.0  # for ranks to end by themselves
GRACE_SECONDS_PER_RANK = 0.25  # besides: many ranks on few cores take longer
SHORTEST_SECONDS = 0.1  # of a search that is ordered anew
TAKE_OVER_SECONDS = 20.0  # for another rank to speak for all, when rank 0 is lost
LONGEST_FOLDER = 98  # bytes: Unix has 107 bytes for the path of a socket
# What goes over the socket: orders to rank 0, then its news
CALL, SEARCH, STOP, DISMISS = "call", "search", "stop", "dismiss"
HELLO, PROGRESS, LOOK, RESULT, LOST, GONE = "hello", "progress", "look", "result", "lost", "gone"
FAULT_TOLERANT = ["--with-ft", "ulfm"]  # of Open MPI's launcher: a lost rank does not end the others
FOREVER_SECONDS = 1e9
WISH = "wish"  # no news from rank 0: this process wants the search to end


class Ranks:
    """`count` MPI ranks on this machine, from now until `close`."""

    def __init__(self, count: int):
        check_range("ranks", count, 1, MAX_RANKS)
        require_compiler()
        if is_rank():
            raise MpiError("this process is an MPI rank itself and cannot start ranks; start it without mpiexec")
        self.count = count  # of those that are there
        self._survives = False  # whether the others go on when one is lost
        self._is_busy = False  # whether they searched when the one that speaks for them began to
        self._exit = contextlib.ExitStack()
        self._line: Connection | None = None
        self._news: queue.Queue[tuple[str, Any]] = queue.Queue()  # from rank 0
        try:
            job = self._exit.enter_context(open_job_folder())
            self._job = job
            self._listener = self._listen(job)
            self._talk = Talk()
            self._exit.callback(self._talk.end)
            self._process = self._start(job)
            self._end = weakref.finalize(
                self, _end, self._process, self._talk, self._exit
            )  # also if nobody closes them
        except BaseException:
            self._exit.close()
            raise

    def _listen(self, job: JobFolder) -> socket.socket:
        """A socket that only this user can reach; its path is in the job's folder."""
        folder = str(job.path)
        if len(os.fsencode(folder)) > LONGEST_FOLDER:
            folder = self._exit.enter_context(tempfile.TemporaryDirectory(prefix="treespan-", dir="/tmp"))
        listener = self._exit.enter_context(socket.socket(socket.AF_UNIX))
        listener.bind(f"{folder}/socket")
        listener.listen(self.count)
        listener.settimeout(POLL_SECONDS)
        job.address = f"{folder}/socket"
        return listener

    def _start(self, job: JobFolder) -> "subprocess.Popen[bytes]":
        try:
            command, environment = command_line(self.count, job.path)
            self._survives = FAULT_TOLERANT[0] in command
            return subprocess.Popen(
                command,
                env=environment,
                stdin=subprocess.DEVNULL,
                stdout=self._talk.writer,  # what ranks and their launcher print is no result
                stderr=self._talk.writer,
                start_new_session=True,  # a terminal's Ctrl-C must reach us alone, for mpiexec would kill the ranks
                pass_fds=(job.lock,),
            )
        finally:
            self._talk.begin()

    def search(
        self,
        request: Request,
        progress: Progress | None = None,
        wants_stop: WantsStop | None = None,
        looks: Looks | None = None,
    ) -> SearchResult:
        """Let the ranks search a position. Ctrl-C, or a wish to stop, ends that with the best move so far."""

        def own(result: SearchResult) -> SearchResult:
            result.position = request.position.copy()  # the caller may play on with his
            return result

        looks = looks and looks.of(own)
        every = looks.every if looks else None

        def order() -> None:
            self._send(SEARCH, (_with_rest(request, time.monotonic() - start), every))

        self._send(SEARCH, (request, every))
        start = time.monotonic()
        with woken(wants_stop, lambda: self._news.put((WISH, None))):
            result = own(self._await_result(progress, wants_stop, looks, order))
        self.count = result.ranks
        return result

    def call(self, function: Callable[..., Any], *arguments: Any) -> Any:
        """Let all ranks call a function of a module; returns what rank 0 returns.

        Raises RankLostError if a rank is lost meanwhile, and others are there.
        """
        self._send(CALL, (function, arguments))
        return self._await_result()

    def _send(self, what: str, content: Any = None) -> None:
        while True:
            line = self._connect()
            try:
                return _give(line, what, content)
            except OSError:
                self._find_speaker()

    def _find_speaker(self) -> bool:
        """Rank 0 is lost: wait for the rank that takes its place. Returns whether the ranks go on with the search."""
        if not self._survives:
            raise self._loss()
        self._line = None
        self._connect(TAKE_OVER_SECONDS)
        return self._is_busy

    def _connect(self, limit: float = FOREVER_SECONDS) -> Connection:
        """The connection to rank 0, when that is there."""
        self._talk.start()
        start = time.monotonic()
        while self._line is None:
            try:
                line = Connection(self._listener.accept()[0].detach())
                with contextlib.suppress(EOFError, OSError):  # it is lost, too
                    _, (self._is_busy, self.count) = cloudpickle.loads(line.recv_bytes())
                    self._line = line
                    threading.Thread(target=_listen_to, args=(line, self._news), daemon=True).start()
            except TimeoutError:
                has_ended = self._process.poll() is not None or time.monotonic() - start > limit
                # MPI does not tell of a rank that is lost while it starts: the others would wait for ever
                if has_ended or (limit == FOREVER_SECONDS and self._job.has_lost_one()):
                    raise self._loss() from None
            except BaseException:
                self._kill()
                raise
        return self._line

    def _await_result(
        self,
        progress: Progress | None = None,
        wants_stop: WantsStop | None = None,
        looks: Looks | None = None,
        order: Callable[[], None] | None = None,
    ) -> Any:
        """Wait for what was ordered. `order` gives it anew, if it has got lost with rank 0."""
        was_stopped, interrupted_at = False, 0.0
        while True:
            try:
                with contextlib.suppress(queue.Empty):
                    what, content = self._news.get(timeout=POLL_SECONDS)
                    if what == RESULT:
                        return content
                    if what == LOST:
                        self.count = content
                        raise rank_lost(content)
                    if what == GONE and content is self._line:
                        if interrupted_at and not self._survives:
                            raise KeyboardInterrupt
                        is_busy = self._find_speaker()
                        if order is None:
                            raise rank_lost(self.count)
                        if not is_busy:
                            order()
                        if was_stopped or interrupted_at:
                            self._send(STOP)
                    if what == PROGRESS and progress:
                        progress(*content)
                    if what == LOOK and looks:
                        looks.tell(content)
                if not was_stopped and wants_stop and wants_stop():
                    was_stopped = True
                    self._send(STOP)
                if interrupted_at and time.monotonic() - interrupted_at > GRACE_SECONDS:
                    raise KeyboardInterrupt  # there is nothing to show yet
            except KeyboardInterrupt:
                if interrupted_at:  # or the user will not wait
                    self._kill()
                    raise
                interrupted_at = time.monotonic()
                self._send(STOP)

    def _loss(self) -> TreespanError:
        """Why the ranks are gone: what one of them has noted, or how their launcher ended."""
        with contextlib.suppress(subprocess.TimeoutExpired):
            self._process.wait(GRACE_SECONDS)
        error = self._job.error()
        status = self._process.poll()
        self._kill()
        if error is not None:
            return error
        ended = f"the {self.count} MPI ranks have ended, {_ending(status)}"
        return RanksLostError(f"{ended}; search again, or with fewer ranks")

    def close(self) -> None:
        """End the ranks."""
        if self._line is not None and self._end.alive:
            with contextlib.suppress(OSError, TreespanError):  # they are lost
                self._send(DISMISS)
            try:
                with contextlib.suppress(subprocess.TimeoutExpired):
                    self._process.wait(GRACE_SECONDS + self.count * GRACE_SECONDS_PER_RANK)
            finally:
                self._kill()
        self._kill()

    def _kill(self) -> None:
        """End what is left of the job, and remove its folder."""
        self._end()

    def __enter__(self) -> "Ranks":
        return self

    def __exit__(self, *error: object) -> None:
        self.close()


def _end(process: "subprocess.Popen[bytes]", talk: Talk, exit_stack: contextlib.ExitStack) -> None:
    """End the processes of a job, and give back what was held for it."""
    if process.poll() is None:
        talk.mute()  # that ranks were killed is no news
    for number in (signal.SIGTERM, signal.SIGKILL):
        if process.poll() is None:
            with contextlib.suppress(subprocess.TimeoutExpired, ProcessLookupError):
                os.killpg(process.pid, number)
                process.wait(GRACE_SECONDS)
    exit_stack.close()


def _give(line: Connection, what: str, content: Any = None) -> None:
    """Give rank 0 an order. What it is can be read without reading its content, which may need a module of the user."""
    line.send_bytes(pickle.dumps((what, cloudpickle.dumps(content))))


def _with_rest(request: Request, gone: float) -> Request:
    """A search that must be ordered anew, `gone` seconds after it was."""
    budget = request.plan.budget
    if budget.seconds is None:
        return request
    rest = replace(budget, seconds=max(budget.seconds - gone, SHORTEST_SECONDS))
    return replace(request, plan=request.plan.with_budget(rest))


def _listen_to(line: Connection, news: "queue.Queue[tuple[str, Any]]") -> None:
    """Take in what rank 0 says, in a thread of its own: Ctrl-C must not come in the midst of a message."""
    try:
        with contextlib.suppress(EOFError, OSError):
            while True:
                news.put(cloudpickle.loads(line.recv_bytes()))
    finally:
        line.close()
        news.put((GONE, line))


class RanksOnDemand:
    """Ranks that are started for the first search, and anew after they were lost; they stay until `close`."""

    def __init__(self, count: int):
        self.count = count
        self._ranks: Ranks | None = None
        self._has_lost = False  # whether ranks may be fewer than who searches with them knows

    def search(
        self,
        request: Request,
        progress: Progress | None = None,
        wants_stop: WantsStop | None = None,
        looks: Looks | None = None,
    ) -> SearchResult:
        self.start()
        assert self._ranks is not None
        if self._has_lost and request.plan.ranks != self._ranks.count:
            request = replace(request, plan=replace(request.plan, ranks=self._ranks.count))
        try:
            result = self._ranks.search(request, progress, wants_stop, looks)
            self._has_lost |= result.ranks < self.count
            return result
        except BaseException:  # also Ctrl-C, where nothing was to show: these ranks answer nobody any more
            self.close()
            raise

    def call(self, function: Callable[..., Any], *arguments: Any) -> Any:
        """Let all ranks call a function; returns what rank 0 returns."""
        self.start()
        assert self._ranks is not None
        try:
            return self._ranks.call(function, *arguments)
        except RankLostError:
            self._has_lost = True
            raise
        except BaseException:
            self.close()
            raise

    def resize(self, count: int) -> None:
        """End the ranks; the next ones are so many."""
        self.close()
        self.count = count

    @property
    def are_there(self) -> bool:
        """Whether ranks run, or are starting."""
        return self._ranks is not None

    def start(self) -> None:
        """Start the ranks now, if they are not there."""
        if self._ranks is None:
            self._ranks = Ranks(self.count)

    def close(self) -> None:
        ranks, self._ranks = self._ranks, None
        if ranks is not None:
            ranks.close()


def command_line(ranks: int, folder: Path) -> tuple[list[str], dict[str, str]]:
    """The command that starts the ranks of a job, and its environment."""
    library = find_library()
    command, environment = [find_mpiexec(library), "-n", str(ranks)], dict(os.environ)
    if library.is_open_mpi:
        command += ["--oversubscribe", "--bind-to", "none"]
        if int(library.version.partition(".")[0]) >= 5:
            command += FAULT_TOLERANT
        environment.update(OMPI_ALLOW_RUN_AS_ROOT="1", OMPI_ALLOW_RUN_AS_ROOT_CONFIRM="1")
        # Its session folders inside ours (Open MPI 5, then 4), so that they go with it whatever happens.
        environment.update(PRTE_MCA_prte_tmpdir_base=str(folder), OMPI_MCA_orte_tmpdir_base=str(folder))
    environment[JOB_FOLDER] = str(folder)
    with contextlib.suppress(OSError):  # no terminal
        environment[TERMINAL] = os.ttyname(2)
    # Ranks import what this process can, and nothing from the folder that they happen to start in.
    environment["PYTHONPATH"] = python_path()
    return [*command, sys.executable, "-P", "-m", "treespan.runtimes.rank_process"], environment


def _ending(status: int | None) -> str:
    if status is None:
        return "or do not answer"
    return f"by signal {-status}" if status < 0 else f"with status {status}"
