"""What tests of Go share: a board, how random games are played, and GNU Go as a judge."""

import subprocess
from typing import Any

import numpy as np

from treespan.core.jit import JIT_DISABLED
from treespan.games.go import Go
from treespan.games.position import Position

SLOWNESS = 10 if JIT_DISABLED else 1  # divides sample sizes

# Two chains with two liberties each: who moves first catches the other.
RACE = """
. . . . . . .
O O O . . . .
. . O O O . .
X X X X O . .
O O O O X . .
. . X X X . .
X X X . . . .
"""

# Whoever takes at A1 and retakes at B1 makes an earlier board again.
SEND_TWO = """
. . . . .
. . . . .
. . . . .
O O X . .
. X . X ."""


def at(diagram: str, status: str = "black to play", **options: Any) -> Position:
    """A position from rows that are separated by line ends or `/`; their number is the size of the board."""
    rows = diagram.replace("/", "\n").strip()
    game = Go(size=len(rows.splitlines()), **options)
    return Position(game, game.read_diagram(f"{rows}\n{status}"))


def read(game: Go, rows: Any) -> Position:
    return Position(game, game.read_diagram("\n".join("".join(row) for row in rows)))


def pick(rng: np.random.Generator, legal: list[int], passing: float) -> int:
    stones = [move for move in legal if move]
    return int(rng.choice(stones)) if stones and rng.random() >= passing else 0


class GnuGo:
    """GNU Go as a judge of the rules, over GTP."""

    def __init__(self, program: str):
        command = [program, "--mode", "gtp", "--chinese-rules", "--forbid-suicide", "--simple-ko"]
        self.process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)

    def ask(self, *commands: str) -> list[list[str]]:
        """Send some commands at once; give the words of each answer."""
        assert self.process.stdin and self.process.stdout
        self.process.stdin.write("".join(f"{command}\n" for command in commands))
        self.process.stdin.flush()
        return [self._answer(command) for command in commands]

    def _answer(self, command: str) -> list[str]:
        assert self.process.stdout
        text = ""
        while not text.endswith("\n\n"):  # an answer ends with an empty line
            line = self.process.stdout.readline()
            assert line, f"GNU Go ended at '{command}'"
            text += line
        assert text.startswith("="), f"'{command}': {text}"
        return text[1:].split()

    def close(self) -> None:
        self.process.kill()
        self.process.communicate()  # waits for the end and closes the pipes
