"""Waiting for threads, also interrupted."""

import os
import signal
import threading
import time

from treespan.core.waiting import Endings


def test_all_have_ended_when_each_has_said_so() -> None:
    endings = Endings(2)
    assert not endings.wait(0.01)
    endings.note(1)
    assert not endings.wait(0.01)
    endings.note(0)
    assert endings.wait(60) and endings.wait(60)


def test_it_hears_of_an_end_while_it_waits() -> None:
    endings = Endings(1)
    threading.Timer(0.05, endings.note, [0]).start()
    start = time.monotonic()
    assert endings.wait(60) and time.monotonic() - start < 30


def test_interrupts_come_when_they_like() -> None:
    """Hundreds of them, close together, in a wait that turns often: each is a KeyboardInterrupt and nothing else."""
    endings, heard, is_over = Endings(1), 0, False

    def interrupt() -> None:
        for _ in range(300):
            os.kill(os.getpid(), signal.SIGINT)
            time.sleep(0.0005)
        endings.note(0)

    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        sender = threading.Thread(target=interrupt)
        while not is_over:
            try:
                if sender.ident is None:
                    sender.start()
                while not is_over:
                    is_over = endings.wait(0.0001)
            except KeyboardInterrupt:
                heard += 1
    finally:
        signal.signal(signal.SIGINT, before)
        sender.join()
    assert heard > 10
