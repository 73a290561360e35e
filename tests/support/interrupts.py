"""Signals for programs that tests start."""

import signal


def hear_interrupts() -> None:
    """In the new process: a shell's background jobs ignore SIGINT, and pass that on."""
    signal.signal(signal.SIGINT, signal.default_int_handler)
