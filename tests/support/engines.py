"""Engines for the tests: short searches of small boards."""

from typing import Any

from treespan.core.jit import JIT_DISABLED
from treespan.engine import GameEngine
from treespan.games.go import Go
from treespan.games.registry import make_game
from treespan.runtimes.plan import plan_of, split_options

PLAYOUTS = 100 if JIT_DISABLED else 300
PLAN = plan_of(split_options(f"--playouts {PLAYOUTS} --scheme sequential:nodes=50000"))

# The end of a game on 5x5, in which White is ahead.
SETTLED = """
. X O . .
X X O O O
. X O . .
X X O O O
. X O . .
"""


def engine_for(spec: str = "go:size=5,komi=0.5", options: str = "", **more: Any) -> GameEngine:
    plan = plan_of(split_options(f"--playouts {PLAYOUTS} {options}")) if options else PLAN
    return GameEngine(make_game(spec), plan, **more)


def go_position(rows: str, status: str = "black to play, komi 0.5", **options: Any) -> GameEngine:
    game = Go(size=5, komi=0.5)
    engine = GameEngine(game, PLAN, **options)
    engine.start(game, game.read_diagram(f"{rows}\n{status}"))
    return engine
