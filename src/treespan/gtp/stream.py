"""The loop between a controller and the protocol: lines from one stream, replies to another."""

import queue
import threading
from collections.abc import Callable
from typing import TextIO

from treespan.gtp.protocol import Protocol, Reply

END = None  # in the queue of lines: the controller has closed the stream


def serve(protocol: Protocol, source: TextIO, target: TextIO, stop_search: Callable[[], None]) -> None:
    """Answer until `quit`, or until the controller closes the stream or goes away.

    A thread of its own reads lines, so that the next line can interrupt an analysis.
    """
    lines: queue.Queue[str | None] = queue.Queue()

    def read() -> None:
        try:
            for line in source:
                lines.put(line)
        finally:  # whatever ends the stream, the session ends, too
            lines.put(END)

    threading.Thread(target=read, daemon=True).start()
    try:
        line = lines.get()
        while line is not END:
            reply = protocol.handle_line(line)
            if reply is not None and reply.content.updates is not None:
                line = _watch(reply, lines, target, stop_search)
                continue
            if reply is not None:
                target.write(str(reply))
                target.flush()
                if reply.content.ends_session:
                    break
            line = lines.get()
    except BrokenPipeError:  # nobody listens any more
        pass
    finally:
        stop_search()


def _watch(reply: Reply, lines: queue.Queue[str | None], target: TextIO, stop_search: Callable[[], None]) -> str | None:
    """Report on a search until a line comes. Returns that line."""
    assert reply.content.updates is not None
    target.write(f"{reply.head}\n")
    target.flush()
    while True:
        try:
            line = lines.get(timeout=reply.content.interval)
            break
        except queue.Empty:
            text = reply.content.updates()
            if text:
                target.write(text + "\n")
                target.flush()
    stop_search()
    target.write("\n")
    target.flush()
    return line
