"""`treespan search`: one search, on any runtime."""

import sys
from dataclasses import replace
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.console import Console

from treespan.cli.app import JsonOption, app, count, print_json
from treespan.core.errors import OptionError


@app.command()
def search(
    game: Annotated[str, typer.Argument(help="Game spec, as go:size=9 or mygame.py:size=5.")],
    moves: Annotated[str, typer.Option(help="Moves to play first, as 'E5 C3'.")] = "",
    position: Annotated[Path | None, typer.Option(help="File with a diagram to start from.")] = None,
    scheme: Annotated[str | None, typer.Option(help="Scheme spec, as sequential:algorithm=dfuct.")] = None,
    threads: Annotated[int, typer.Option(help="Threads; more than one needs a parallel scheme.")] = 1,
    ranks: Annotated[int, typer.Option(help="MPI ranks to start on this machine.")] = 0,
    simulate: Annotated[int, typer.Option(help="Ranks of a simulated cluster.")] = 0,
    network: Annotated[str, typer.Option(help="Simulated network: qdr, shared-memory or 10gbe.")] = "qdr",
    playouts: Annotated[str | None, typer.Option(help="Stop after so many playouts (default 10000).")] = None,
    seconds: Annotated[str | None, typer.Option(help="Stop after this time, as 5, 500ms or 2m.")] = None,
    bandit: Annotated[str | None, typer.Option(help="ucb1, tuned1, tuned2, rave, rave-mse or puct.")] = None,
    policy: Annotated[
        str | None, typer.Option(help="Playouts: light, patterns (Go), or wait=1ms for virtual ones.")
    ] = None,
    nodes: Annotated[str | None, typer.Option(help="Capacity of the tree, in moves.")] = None,
    seed: Annotated[int, typer.Option(help="Same seed, same result.")] = 1,
    json_output: JsonOption = False,
) -> None:
    """Search a position and print the best moves.

    \b
    Examples:
      treespan search go:size=9 --playouts 100000
      treespan search go:size=9 --moves "E5 C3 G6" --seconds 5 --threads 2
      treespan search pgame:branching=40 --scheme sequential:algorithm=dfuct --playouts 1e6
      treespan search hex:size=11 --bandit rave --json
      treespan search go:size=9 --ranks 4 --seconds 5
      treespan search pgame --simulate 1200 --scheme tds-dfuct --policy wait=1ms --playouts 1e6
      mpiexec -n 64 treespan search go:size=19 --seconds 30
      treespan search mygame.py:size=5 --playouts 10000
    """
    from treespan.core.options import parse_seconds
    from treespan.games.registry import make_game
    from treespan.runtimes.launch import inside_mpi, launch
    from treespan.runtimes.run import run_search
    from treespan.schemes.base import Budget, Request
    from treespan.schemes.registry import default_scheme, make_scheme
    from treespan.terminal import search_progress, show_search

    runtime, workers = choose_runtime(threads, ranks, simulate, inside_mpi())
    given = {"bandit": bandit, "policy": policy, "nodes": str(count(nodes)) if nodes else None}
    overrides = {name: value for name, value in given.items() if value is not None}
    start = read_position(make_game(game), position, moves)
    chosen = make_scheme(scheme or default_scheme(threads, runtime), start.game, **overrides)
    budget = Budget(
        playouts=count(playouts) if playouts else (None if seconds else 10_000),
        seconds=parse_seconds(seconds, "--seconds") if seconds else None,
    )
    request = Request(start, budget, seed, threads, workers)
    if runtime == "mpi" and not inside_mpi():
        raise typer.Exit(launch(ranks, sys.argv[1:]))  # all input has been checked: the ranks will accept it
    with search_progress(budget) as progress:
        result = run_search(chosen, replace(request, progress=None if json_output else progress), runtime, network)
    if result is None:
        return  # not rank 0
    if json_output:
        print_json(result.as_json())
    else:
        show_search(Console(), start, result)


def choose_runtime(threads: int, ranks: int, simulate: int, is_rank: bool) -> tuple[str, int]:
    """The runtime that the options ask for, and its number of ranks."""
    asked = [
        name for name, value in (("--threads", threads > 1), ("--ranks", ranks), ("--simulate", simulate)) if value
    ]
    if len(asked) > 1:
        raise OptionError(f"{' and '.join(asked)} exclude each other; give one")
    if ranks < 0 or simulate < 0:
        raise OptionError(f"{asked[0]} {ranks or simulate} is out of range; give at least 1")
    if simulate:
        return "simulated", simulate
    if is_rank:  # started by mpiexec or srun: use the ranks that it gives
        from treespan.runtimes.mpi_binding import load_mpi

        size = load_mpi().COMM_WORLD.size
        if ranks and ranks != size:
            raise OptionError(f"--ranks {ranks}, but MPI has {size}; does mpiexec belong to the MPI of mpi4py?")
        return "mpi", size
    return ("mpi", ranks) if ranks else ("threads", threads)


def read_position(game: Any, file: Path | None, moves: str) -> Any:
    """The position to search: from a diagram or the start, then moves."""
    from treespan.games.position import Position

    state = None
    if file is not None:
        try:
            state = game.read_diagram(file.read_text())
        except (OSError, UnicodeDecodeError) as error:
            reason = error.strerror if isinstance(error, OSError) else "it is not text"
            raise OptionError(f"cannot read --position '{file}': {reason}") from None
    start = Position(game, state)
    start.play_text(moves)
    return start
