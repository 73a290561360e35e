"""`treespan gtp`: a Go program for user interfaces and servers."""

import sys
from typing import TYPE_CHECKING, Annotated

import typer

from treespan.cli import options
from treespan.cli.app import accept_any_input, app
from treespan.cli.ranks import lead_or_follow
from treespan.core.errors import OptionError

if TYPE_CHECKING:
    from treespan.engine import GameEngine


@app.command()
@options.with_search_options()
def gtp(
    game: Annotated[str, typer.Option(help="Spec of the game to begin with, as go:size=9,superko=yes.")] = "go:size=19",
    *,
    chosen: options.Chosen,
    resign: options.Resign = 0.0,
    resign_moves: options.ResignMoves = None,
    early_stop: options.EarlyStop = True,
    ponder: Annotated[bool, typer.Option("--ponder", help="Think while the opponent does.")] = False,
) -> None:
    """Speak the Go Text Protocol, version 2, on stdin and stdout.

    A controller's clock decides how long a move takes; without one, or on simulated ranks, --playouts or --seconds do.

    \b
    Examples:
      treespan gtp --seconds 5
      treespan gtp --threads 2 --playouts 50000 --bandit rave --resign 0.1
      treespan gtp --game go:size=9,superko=yes --ponder
      treespan gtp --ranks 4 --seconds 5
      treespan gtp --simulate 64 --scheme treesplit --playouts 20000
    """
    from treespan.engine import RESIGN_MOVES, GameEngine
    from treespan.games.go import Go
    from treespan.games.position import Position
    from treespan.games.registry import make_game
    from treespan.runtimes.launch import join_job
    from treespan.runtimes.run import check_fit
    from treespan.schemes.plan import Request

    join_job()
    go = make_game(game)
    if not isinstance(go, Go):
        raise OptionError(f"--game {game} is not Go; GTP is for Go alone")
    plan = options.plan_of(chosen, go)
    check_fit(Request(Position(go), plan))
    engine = GameEngine(go, plan, resign, early_stop=early_stop, resign_moves=resign_moves or RESIGN_MOVES)
    lead_or_follow(engine, lambda: run_session(engine, ponder))


def run_session(engine: "GameEngine", ponders: bool) -> None:
    """Speak GTP until the controller has had enough."""
    from treespan.gtp.session import new_session
    from treespan.gtp.stream import serve

    accept_any_input()
    engine.warm_up()  # before the controller's clock runs
    try:
        serve(new_session(engine, ponders), sys.stdin, sys.stdout, engine.halt)
    finally:
        engine.close()
