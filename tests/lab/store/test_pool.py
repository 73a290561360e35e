"""Worker processes end with their parent, whatever ended that."""

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

SLEEPER = """
import os, sys, time
from pathlib import Path
from treespan.lab.store.pool import do_in_processes

class Program:
    def __init__(self, note):
        self.note = note

    def close(self):
        Path(self.note + ".closed").touch()

def sleep(note, kept):
    kept.get(note, lambda: Program(note))
    Path(note).write_text(str(os.getpid()))
    for _ in range(600):
        time.sleep(0.1)

list(do_in_processes(sleep, [sys.argv[1]], 1))  # no guard: this file is not imported again
"""


def wait_for(path: Path, seconds: float = 60.0) -> None:
    deadline = time.monotonic() + seconds
    while not path.exists() or (path.suffix == ".pid" and not path.read_text()):
        assert time.monotonic() < deadline, f"{path} does not appear"
        time.sleep(0.05)


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGTERM])
def test_workers_end_when_their_parent_is_killed(tmp_path: Path, number: signal.Signals) -> None:
    script, note = tmp_path / "sleeper.py", tmp_path / "worker.pid"
    script.write_text(SLEEPER)
    parent = subprocess.Popen([sys.executable, str(script), str(note)])
    try:
        wait_for(note)
        worker = int(note.read_text())
    finally:
        parent.send_signal(number)
        parent.wait()
    wait_for(Path(f"{note}.closed"))  # and it has ended the programs that it had started
    deadline = time.monotonic() + 60
    while Path(f"/proc/{worker}").exists() and time.monotonic() < deadline:
        time.sleep(0.05)
    with pytest.raises(ProcessLookupError):
        os.kill(worker, 0)
