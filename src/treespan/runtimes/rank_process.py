"""A rank that `ranks.py` has started: rank 0 takes orders over the socket of the job, the others from rank 0.

python -m treespan.runtimes.rank_process     with the job's folder in TREESPAN_JOB_FOLDER
"""

import os
import select
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
from treespan.runtimes.crew import Crew
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
        crew = Crew()
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
        self.is_dismissed = False
        threading.Thread(target=self._follow, daemon=True).start()

    def _follow(self) -> None:
        """End this rank, and with it the job, some time after whoever started it is gone: also if it hears nothing."""
        gone = select.poll()
        gone.register(self.line.fileno(), getattr(select, "POLLRDHUP", select.POLLHUP))
        gone.poll()
        time.sleep(GRACE_SECONDS)
        os.kill(os.getpid(), signal.SIGKILL)

    def next_order(self) -> tuple[str, Any]:
        order: tuple[str, Any] = cloudpickle.loads(self.line.recv_bytes())
        return order

    def tell(self, what: str, content: Any) -> None:
        self.line.send_bytes(cloudpickle.dumps((what, content)))

    def report(self, playouts: int, seconds: float) -> None:
        self.tell(PROGRESS, (playouts, seconds))

    def wants_stop(self) -> bool:
        """Whether the search shall end. Raises EOFError if nobody waits for it any more."""
        if self.line.poll():
            self.is_dismissed |= self.next_order()[0] == DISMISS
            return True
        return False


def lead(crew: Crew, line: Connection) -> None:
    """Do what is ordered until there are no more orders."""
    conversation = Conversation(line)
    while not conversation.is_dismissed and (order := conversation.next_order())[0] != DISMISS:
        what, content = order
        if what == SEARCH:
            request, every = content
            looks = None if every is None else Looks(every, partial(conversation.tell, LOOK))
            conversation.tell(RESULT, crew.search(request, conversation.report, conversation.wants_stop, looks))
        elif what != STOP:  # of a search that has just ended
            function, arguments = content
            conversation.tell(RESULT, crew.call(function, *arguments))
    crew.dismiss()


if __name__ == "__main__":
    main()
