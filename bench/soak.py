"""A Go engine on ranks for a long time: does its memory stay flat, and is it as fast at the end?

    python bench/soak.py [--minutes 30] [--ranks 4] [--size 9] [--nodes 200000]

`treespan gtp --ranks N --ponder` plays game after game against itself, with takebacks and analyses, in trees so small
that they are full soon. Every minute prints the memory of all processes of the session, and the playouts a second of
the searches. The last line compares the last third with the first one.
"""

import argparse
import random
import re
import statistics
import subprocess
import sys
import time
from pathlib import Path

PAGE = 4096


def family(root: int) -> list[int]:
    """A process and all below it."""
    below: dict[int, list[int]] = {}
    for path in Path("/proc").glob("[0-9]*/stat"):
        try:
            fields = path.read_text().rpartition(")")[2].split()
        except OSError:
            continue
        below.setdefault(int(fields[1]), []).append(int(path.parent.name))
    found = [root]
    for process in found:
        found += below.get(process, [])
    return found


def megabytes(root: int) -> float:
    """Memory of a process and all below it; shared pages count in each."""
    total = 0
    for process in family(root):
        try:
            total += int(Path(f"/proc/{process}/statm").read_text().split()[1])
        except OSError:
            continue
    return total * PAGE / 1e6


class Engine:
    """A GTP engine in a process of its own."""

    def __init__(self, ranks: int, size: int, nodes: int):
        command = [sys.executable, "-m", "treespan", "gtp", "--game", f"go:size={size}", "--ranks", str(ranks)]
        command += ["--ponder", "--playouts", "2000", "--nodes", str(nodes)]
        self.process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)

    def ask(self, line: str) -> str:
        assert self.process.stdin and self.process.stdout
        self.process.stdin.write(line + "\n")
        self.process.stdin.flush()
        answer = ""
        while not answer.endswith("\n\n"):
            answer += self.process.stdout.readline()
        return answer.strip()

    def analyse(self, seconds: float) -> int:
        """Look for so long. Returns the updates."""
        assert self.process.stdin and self.process.stdout
        self.process.stdin.write("lz-analyze 10\n")
        self.process.stdin.flush()
        time.sleep(seconds)
        self.process.stdin.write("name\n")
        self.process.stdin.flush()
        text = ""
        while text.count("\n\n") < 2:
            text += self.process.stdout.readline()
        return len(re.findall("^info", text, flags=re.MULTILINE))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--minutes", type=float, default=30)
    parser.add_argument("--ranks", type=int, default=4)
    parser.add_argument("--size", type=int, default=9)
    parser.add_argument("--nodes", type=int, default=200_000, help="moves in the tree of a rank")
    given = parser.parse_args()
    engine, choice = Engine(given.ranks, given.size, given.nodes), random.Random(1)
    start = time.monotonic()
    minute, taken = 1, []
    memory: list[float] = []
    speed: list[float] = []
    searches = undone = updates = moves = 0
    while time.monotonic() - start < 60 * given.minutes:
        begin = time.monotonic()
        answer = engine.ask(f"genmove {'bw'[moves % 2]}")
        taken.append(time.monotonic() - begin)
        assert answer.startswith("="), answer
        searches, moves = searches + 1, moves + 1
        if choice.random() < 0.15:
            assert engine.ask("undo").startswith("="), "undo"
            moves, undone = moves - 1, undone + 1
        if choice.random() < 0.1:
            updates += engine.analyse(0.5)
        if moves >= given.size**2 or "pass" in answer.lower() or "resign" in answer:
            engine.ask("clear_board")
            moves = 0
        if time.monotonic() - start > 60 * minute:
            memory.append(megabytes(engine.process.pid))
            speed.append(1 / statistics.mean(taken))
            print(f"minute {minute:>3}: {memory[-1]:8.0f} MB, {speed[-1]:6.2f} searches a second", flush=True)
            minute, taken = minute + 1, []
    engine.ask("quit")
    status = engine.process.wait(60)
    print(f"{searches} searches, {undone} undone, {updates} updates of analyses, status {status}")
    third = max(1, len(memory) // 3)
    first, last = statistics.mean(memory[:third]), statistics.mean(memory[-third:])
    pace = statistics.mean(speed[-third:]) / statistics.mean(speed[:third])
    print(f"memory {last / first:.3f} and speed {pace:.3f} of the first third, in the last third")


if __name__ == "__main__":
    main()
