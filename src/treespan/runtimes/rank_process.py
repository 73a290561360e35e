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
from treespan.runtimes.job_folder import job_of_rank
from treespan.runtimes.mpi_binding import end_all_ranks, fail_all_ranks
from treespan.runtimes.ranks import DISMISS, GRACE_SECONDS, LOOK, PROGRESS, RESULT, SEARCH, STOP
from treespan.schemes.plan import Looks

FAILURE_STATUS = 1


def main() -> None:
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is for the process that started us
    job = job_of_rank()
    assert job is not None, "this program is started by treespan itself"
    try:
        crew = MpiCrew()
        get_ready()  # while the process that started us prepares the search
        if crew.is_leader:
            lead(crew, connect(job.address))
        else:
            crew.follow()
    except (EOFError, ConnectionError):  # nobody is there any more who wants to know
        end_all_ranks(FAILURE_STATUS)
        sys.exit(FAILURE_STATUS)  # alone
    except BaseException as error:
        fail_all_ranks(error)
        sys.exit(FAILURE_STATUS)


def connect(address: str) -> Connection:
    line = socket.socket(socket.AF_UNIX)
    line.connect(address)
    return Connection(line.detach())


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


def lead(crew: MpiCrew, line: Connection) -> None:
    """Do what is ordered until there are no more orders."""
    conversation = Conversation(line)
    while (order := conversation.next_order())[0] != DISMISS:
        what, content = order
        if what == SEARCH:
            request, every = content
            looks = None if every is None else Looks(every, partial(conversation.tell, LOOK))
            conversation.tell(RESULT, crew.search(request, conversation.report, conversation.wants_stop, looks))
        else:
            function, arguments = content
            conversation.tell(RESULT, crew.call(function, *arguments))
    crew.dismiss()


if __name__ == "__main__":
    main()
