"""A process of `pool.py`: it does units until its parent closes the connection or dies.

python -m treespan.lab.store.pool_process CONNECTION LIFELINE     file descriptors that it inherits
"""

import os
import signal
import sys
import threading
from multiprocessing.connection import Connection
from typing import Any

import cloudpickle

from treespan.lab.store.runner import Kept


def main() -> None:
    connection, lifeline = Connection(int(sys.argv[1])), int(sys.argv[2])
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is for the parent
    signal.signal(signal.SIGTERM, _exit)  # an exception, so that programs which a unit started are ended, too
    threading.Thread(target=_follow_parent, args=(lifeline,), daemon=True).start()
    kept = Kept()
    try:
        do = cloudpickle.loads(connection.recv_bytes())
        while True:
            words = connection.recv_bytes()
            try:
                result: Any = do(cloudpickle.loads(words), kept)
            except Exception as error:  # raised in the parent
                result = error
            connection.send_bytes(cloudpickle.dumps(result))
    except (EOFError, OSError):
        pass
    finally:
        kept.close()


def _follow_parent(lifeline: int) -> None:
    """End this process when its parent has died. Its unit may take an hour, and nobody wants the result any more."""
    os.read(lifeline, 1)
    os.kill(os.getpid(), signal.SIGTERM)


def _exit(number: int, frame: object) -> None:
    signal.signal(signal.SIGTERM, signal.SIG_IGN)  # a second signal must not disturb the clean-up
    raise SystemExit(1)


if __name__ == "__main__":
    main()
