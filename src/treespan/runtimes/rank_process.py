"""A rank that `ranks.py` has started: rank 0 takes orders over the socket of the job, the others from rank 0.

python -m treespan.runtimes.rank_process     with the job's folder in TREESPAN_JOB_FOLDER
"""

import contextlib
import os
import pickle
import queue
import signal
import socket
import sys
import threading
import time
from functools import partial
from multiprocessing.connection import Connection
from typing import Any

import cloudpickle

from treespan.core.compiled import get_ready
from treespan.core.waiting import Wish
from treespan.runtimes.crew import MpiCrew
from treespan.runtimes.job_folder import JobFolder, job_of_rank
from treespan.runtimes.mpi import Watching
from treespan.runtimes.mpi_binding import end_all_ranks, end_launcher, fail_all_ranks
from treespan.runtimes.ranks import DISMISS, GRACE_SECONDS, HELLO, LOOK, LOST, PROGRESS, RESULT, SEARCH, STOP
from treespan.runtimes.world import RankLostError, tells_of_losses, world
from treespan.schemes.plan import Looks
from treespan.search.result import SearchResult

FAILURE_STATUS = 1


def main() -> None:
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is for the process that started us
    job = job_of_rank()
    assert job is not None, "this program is started by treespan itself"
    job.note_begin()
    try:
        crew, speaker = MpiCrew(), Speaker(job)
        get_ready()  # while the process that started us prepares the search
        if crew.is_leader or not crew.follow(speaker):
            lead(crew, speaker.conversation or speaker.begin(is_busy=False))
    except (EOFError, ConnectionError):  # nobody is there any more who wants to know
        end_all_ranks(FAILURE_STATUS)
        sys.exit(FAILURE_STATUS)  # alone
    except BaseException as error:
        fail_all_ranks(error)
        sys.exit(FAILURE_STATUS)


def connect(address: str) -> Connection:
    """A line to the process that has started us. Raises EOFError if that is gone."""
    line = socket.socket(socket.AF_UNIX)
    try:
        line.connect(address)
    except OSError:
        raise EOFError from None
    return Connection(line.detach())


class Speaker:
    """A rank that speaks for all with the process that has started them: rank 0, or who takes its place."""

    def __init__(self, job: JobFolder):
        self._job = job
        self.conversation: Conversation | None = None

    def begin(self, is_busy: bool) -> "Conversation":
        """Say who speaks now. `is_busy`: the ranks search."""
        self.conversation = Conversation(connect(self._job.address))
        self.conversation.tell(HELLO, (is_busy, world().size))
        return self.conversation

    def take_over(self, every: float | None) -> Watching:
        """In the midst of a search: rank 0 is lost, and this rank speaks from now on."""
        conversation = self.begin(is_busy=True)
        return Watching(conversation.report, conversation.wants_stop, conversation.looks(every))

    def deliver(self, result: SearchResult) -> None:
        assert self.conversation is not None  # who has taken over a search has a result
        self.conversation.tell(RESULT, result)


class Conversation:
    """Rank 0's side of the socket."""

    def __init__(self, line: Connection):
        self.line = line
        self.wants_stop = Wish()  # that the search under way ends
        # What, and content as it came; None: nobody gives any more
        self._orders: queue.SimpleQueue[tuple[str, bytes] | None] = queue.SimpleQueue()
        threading.Thread(target=self._follow, daemon=True).start()

    def _follow(self) -> None:
        """Take in orders. End this rank, and with it the job, some time after whoever started it is gone."""
        with contextlib.suppress(EOFError, OSError):
            while True:
                what, content = pickle.loads(self.line.recv_bytes())
                if what == SEARCH:  # a stop that came before was for another one
                    self.wants_stop.clear()
                if what != STOP:
                    self._orders.put((what, content))
                if what in (STOP, DISMISS):
                    self.wants_stop.set()
        self._orders.put(None)
        self.wants_stop.set()
        time.sleep(GRACE_SECONDS)
        if tells_of_losses():
            end_launcher()
        os.kill(os.getpid(), signal.SIGKILL)

    def next_order(self) -> tuple[str, Any]:
        """Wait for an order. Raises EOFError if nobody is there any more."""
        order = self._orders.get()
        if order is None:
            raise EOFError
        return order[0], cloudpickle.loads(order[1])

    def tell(self, what: str, content: Any) -> None:
        self.line.send_bytes(cloudpickle.dumps((what, content)))

    def report(self, playouts: int, seconds: float) -> None:
        self.tell(PROGRESS, (playouts, seconds))

    def looks(self, every: float | None) -> Looks | None:
        """The wish to see results so far."""
        return None if every is None else Looks(every, partial(self.tell, LOOK))


def lead(crew: MpiCrew, conversation: Conversation) -> None:
    """Do what is ordered until there are no more orders."""
    while (order := conversation.next_order())[0] != DISMISS:
        what, content = order
        if what == SEARCH:
            request, every = content
            looks = conversation.looks(every)
            conversation.tell(RESULT, crew.search(request, conversation.report, conversation.wants_stop, looks))
        else:
            function, arguments = content
            try:
                conversation.tell(RESULT, crew.call(function, *arguments))
            except RankLostError as error:
                conversation.tell(LOST, error.ranks)
    crew.dismiss()


if __name__ == "__main__":
    main()
