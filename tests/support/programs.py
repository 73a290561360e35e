"""Programs that tests run in processes of their own, and how: what is kept on disk shows only there."""

import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import treespan

PACKAGE = Path(treespan.__file__).parent

# A search of tic-tac-toe: its result, and whether the compiler was needed.
SEARCH = """
import sys
from treespan.games.position import Position
from treespan.games.tictactoe import TicTacToe
from treespan.search.options import SearchOptions
from treespan.search.searcher import Searcher

game = TicTacToe()
searcher = Searcher(game, SearchOptions(nodes=1000))
searcher.set_position(Position(game))
searcher.run(100)
print([(move.move, move.visits, move.value) for move in searcher.root().moves], "numba" in sys.modules)
"""

# Two moves of tic-tac-toe: its rules are several entries, each quick to compile. Whether the compiler was needed, too.
MOVES = """
import sys
from treespan.games.position import Position
from treespan.games.tictactoe import TicTacToe

position = Position(TicTacToe())
position.play_text("b2 a1")
print(str(position), position.legal_moves, "numba" in sys.modules)
"""

# A compiled caller whose callee `next64` lies in a file of the package; quick to compile.
DRAW = """
import sys
import numpy as np
from treespan.core.jit import njit
from treespan.core.rng import next64

@njit
def draw(random):
    return next64(random)

print(hex(draw(np.zeros(1, dtype=np.uint64))), "numba" in sys.modules)
"""
DRAWN = "0xe220a8397b1dcdaf"  # the first number of SplitMix64 from 0


def environment(home: Path | str | None = None, source: Path | str = PACKAGE.parent, **more: str) -> dict[str, str]:
    """Variables for a process that keeps compiled code in `home`, by default where this run does."""
    known = {name: value for name, value in os.environ.items() if name != "TREESPAN_SILENT"}
    own = {} if home is None else {"TREESPAN_CACHE_DIR": str(home)}
    # Python takes bytecode for current whose source was changed within a second to one of equal size.
    return {**known, "PYTHONPATH": str(source), "PYTHONDONTWRITEBYTECODE": "1", **own, **more}


def command(program: str, folder: Path, *arguments: str) -> list[str]:
    """The program as a file of `folder`, to be run with arguments."""
    path = folder / "program.py"
    if not path.exists() or path.read_text() != program:
        path.write_text(program)
    return [sys.executable, str(path), *arguments]


def run(program: str, folder: Path, *arguments: str, **settings: Any) -> subprocess.CompletedProcess[str]:
    """Run a program to its end; `settings` are those of `environment`."""
    return subprocess.run(
        command(program, folder, *arguments), env=environment(**settings), capture_output=True, text=True, timeout=300
    )


def output(program: str, folder: Path, *arguments: str, **settings: Any) -> list[str]:
    """The words that a program prints; it must succeed."""
    done = run(program, folder, *arguments, **settings)
    assert done.returncode == 0, done.stderr
    assert "Traceback" not in done.stderr, done.stderr
    return done.stdout.split()


def entries(home: Path) -> dict[Path, int]:
    """The files of a store that hold compiled code, and when each was written."""
    return {path: path.stat().st_mtime_ns for path in home.glob("*.code")}
