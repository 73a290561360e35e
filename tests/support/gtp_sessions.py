"""Sessions of the Go Text Protocol for the tests, on a board of 5x5."""

from treespan.core.jit import JIT_DISABLED
from treespan.engine import GameEngine
from treespan.games.go import Go
from treespan.gtp.protocol import Protocol
from treespan.runtimes.plan import plan_of, split_options

PLAYOUTS = 20 if JIT_DISABLED else 200

# Commands that lead to the end of a game: Black has the columns A and B, White the others.
SETTLED = [f"play b {v}" for v in ["B1", "A2", "B2", "B3", "A4", "B4", "B5"]]
SETTLED += [f"play w {v}" for v in ["C1", "C2", "D2", "E2", "C3", "C4", "D4", "E4", "C5"]]


def new_engine(options: str = "", size: int = 5, scheme: str = "sequential:nodes=50000") -> GameEngine:
    plan = plan_of(split_options(f"--playouts {PLAYOUTS} --scheme {scheme} {options}"))
    return GameEngine(Go(size=size, komi=0.5), plan)


def ask(session: Protocol, line: str) -> str:
    reply = session.handle_line(line)
    assert reply is not None
    return str(reply)[:-2]
