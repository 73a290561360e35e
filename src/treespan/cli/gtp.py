"""`treespan gtp`: a Go program for user interfaces and servers."""

import sys
from typing import Annotated

import typer

from treespan.cli import options
from treespan.cli.app import app
from treespan.core.errors import OptionError

Resign = Annotated[float, typer.Option(help="Resign below this expected reward; 0: never.", min=0.0, max=0.99)]


@app.command()
def gtp(
    game: Annotated[str, typer.Option(help="Spec of the game to begin with, as go:size=9,superko=yes.")] = "go:size=19",
    scheme: options.Scheme = None,
    threads: options.Threads = 1,
    playouts: options.Playouts = None,
    seconds: options.Seconds = None,
    bandit: options.Bandit = None,
    policy: options.Policy = None,
    nodes: options.Nodes = None,
    seed: options.Seed = 1,
    resign: Resign = 0.0,
    ponder: Annotated[bool, typer.Option("--ponder", help="Think while the opponent does.")] = False,
) -> None:
    """Speak the Go Text Protocol, version 2, on stdin and stdout.

    A controller's clock decides how long a move takes; without one, --playouts or --seconds do.

    \b
    Examples:
      treespan gtp --seconds 5
      treespan gtp --threads 2 --playouts 50000 --bandit rave --resign 0.1
      treespan gtp --game go:size=9,superko=yes --ponder
    """
    from treespan.engine import Engine
    from treespan.games.go import Go
    from treespan.games.registry import make_game
    from treespan.gtp.session import new_session
    from treespan.gtp.stream import serve
    from treespan.runtimes.plan import make_plan

    chosen = make_game(game)
    if not isinstance(chosen, Go):
        raise OptionError(f"--game {game} is not Go; GTP is for Go alone")
    plan = make_plan(
        scheme=scheme,
        threads=threads,
        playouts=playouts,
        seconds=seconds,
        bandit=bandit,
        policy=policy,
        nodes=nodes,
        seed=seed,
    )
    engine = Engine(chosen, plan, resign)
    plan.request(engine.position)  # checks
    engine.warm_up()  # before the controller's clock runs
    serve(new_session(engine, ponder), sys.stdin, sys.stdout, engine.halt)
