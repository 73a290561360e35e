"""The command line. Each command checks its input, calls one function below, and prints.

Mistakes are one line on stderr and exit status 2; with --json also `{"error": ...}` on stdout.
"""

import json
import sys
from dataclasses import replace
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.console import Console

from treespan.core.errors import OptionError, TreespanError
from treespan.core.options import describe

app = typer.Typer(
    add_completion=False,
    no_args_is_help=True,
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
    help="Monte-Carlo tree search that spans machines.",
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 120},
)

USAGE_ERROR: Any = typer.BadParameter.__base__  # what the library raises for any mistake in the arguments

JsonOption = Annotated[bool, typer.Option("--json", help="Print one JSON object instead of text.")]


def print_json(document: Any) -> None:
    print(json.dumps(document, default=str))


def count(text: str) -> int:
    """A whole number; 10000, 10_000, 10,000 and 1e4 are the same."""
    try:
        number = float(text.replace("_", "").replace(",", ""))
    except ValueError:
        number = float("nan")
    if number != number or number in (float("inf"), float("-inf")) or number != int(number):
        raise OptionError(f"'{text}' is not a whole number")
    return int(number)


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
    bandit: Annotated[str | None, typer.Option(help="ucb1, tuned1, tuned2, rave or puct.")] = None,
    policy: Annotated[str | None, typer.Option(help="Playouts: light, or wait=1ms for virtual ones.")] = None,
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
    chosen = make_scheme(scheme or default_scheme(threads, runtime), **overrides)
    budget = Budget(
        playouts=count(playouts) if playouts else (None if seconds else 10_000),
        seconds=parse_seconds(seconds, "--seconds") if seconds else None,
    )
    start = read_position(make_game(game), position, moves)
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


@app.command()
def games(json_output: JsonOption = False) -> None:
    """List the games and their options.

    \b
    Examples:
      treespan games
      treespan games --json
    """
    from treespan.games.registry import PACKAGE_GAMES, game_class

    entries = [
        {
            "name": name,
            "summary": cls.summary,
            "players": cls.players,
            "chance": cls.has_chance,
            "options": describe(cls),
        }
        for name in PACKAGE_GAMES
        for cls in [game_class(name)]
    ]
    show_entries(entries, json_output)


@app.command()
def schemes(json_output: JsonOption = False) -> None:
    """List the schemes, their papers and their options.

    \b
    Examples:
      treespan schemes
      treespan schemes --json
    """
    from treespan.schemes.registry import SCHEMES

    entries = [
        {"name": cls.name, "summary": cls.summary, "paper": cls.paper, "options": describe(cls)}
        for cls in SCHEMES.values()
    ]
    show_entries(entries, json_output)


def show_entries(entries: list[dict[str, Any]], as_json: bool) -> None:
    """Games or schemes with their options, as JSON or for people."""
    if as_json:
        print_json(entries)
        return
    for entry in entries:
        paper = f" [{entry['paper']}]" if entry.get("paper") else ""
        print(f"{entry['name']}: {entry['summary']}{paper}")
        for item in entry["options"]:
            bounds = ""
            if item["choices"]:
                bounds = " (" + ", ".join(item["choices"]) + ")"
            elif item["low"] is not None:
                bounds = (
                    f" ({item['low']}..{item['high']})" if item["high"] is not None else f" (at least {item['low']})"
                )
            print(f"    {item['name']}={item['default']}: {item['help']}{bounds}")


@app.command()
def bench(
    games: Annotated[list[str] | None, typer.Argument(help="Game specs; default: one or more of each game.")] = None,
    seconds: Annotated[float, typer.Option(help="Measure each figure for about so long.", min=0.01)] = 1.0,
    json_output: JsonOption = False,
) -> None:
    """Measure playouts and simulations a second in one thread.

    \b
    Examples:
      treespan bench
      treespan bench go:size=9 pgame:branching=40 --seconds 3
    """
    from rich.progress import track

    from treespan.lab.speed import STANDARD_GAMES, measure
    from treespan.terminal import plain_table

    specs = list(games or STANDARD_GAMES)
    shown = track(specs, "measuring", console=Console(stderr=True), transient=True, disable=not sys.stderr.isatty())
    rows = [measure(spec, seconds) for spec in shown]
    if json_output:
        print_json([vars(row) for row in rows])
        return
    table = plain_table("game", "playouts/s", "UCT/s", "df-UCT/s")
    for row in rows:
        figures = (row.playouts_per_second, row.uct_per_second, row.dfuct_per_second)
        table.add_row(row.game, *(f"{figure:,.0f}" for figure in figures))
    Console().print(table)


@app.command("check-game")
def check_game_command(
    game: Annotated[str, typer.Argument(help="A Python file with one game, or any game spec.")],
    rounds: Annotated[int, typer.Option("--games", help="Random games to play.", min=1)] = 100,
    seed: Annotated[int, typer.Option(help="Of the random games.")] = 1,
    json_output: JsonOption = False,
) -> None:
    """Check that a game keeps the protocol that every search relies on.

    \b
    Examples:
      treespan check-game mygame.py
      treespan check-game mygame.py:size=7 --games 1000
    """
    from treespan.games.check import check_game
    from treespan.games.registry import make_game

    def on_step(step: str) -> None:
        if not json_output:
            print(f"ok  {step}")

    report = check_game(make_game(game), games=rounds, seed=seed, on_step=on_step)
    if json_output:
        print_json(vars(report))
    else:
        size = f"{report.mean_plies:.1f} plies a game, up to {report.max_branching} moves"
        print(f"{report.game}: {size}, all checks passed")


@app.command("compile")
def compile_command(
    games: Annotated[list[str] | None, typer.Argument(help="Game specs; default: all games of the package.")] = None,
    json_output: JsonOption = False,
) -> None:
    """Compile the searches of games into the cache, so that the first search starts at once.

    \b
    Examples:
      treespan compile
      treespan compile go mygame.py
    """
    import time

    from treespan.games.position import Position
    from treespan.games.registry import PACKAGE_GAMES, make_game
    from treespan.schemes.base import Budget, Request
    from treespan.schemes.registry import make_scheme

    times = {}
    for spec in games or list(PACKAGE_GAMES):
        start = time.perf_counter()
        for algorithm in ("uct", "dfuct"):
            request = Request(Position(make_game(spec)), Budget(playouts=1))
            make_scheme("sequential", algorithm=algorithm).search(request)
        times[spec] = time.perf_counter() - start
        if not json_output:
            print(f"{spec}: {times[spec]:.1f} s", flush=True)
    if json_output:
        print_json(times)


@app.command()
def doctor(json_output: JsonOption = False) -> None:
    """Report what this machine has of what treespan can use.

    \b
    Examples:
      treespan doctor
      treespan doctor --json
    """
    from treespan.doctor import examine

    findings = examine()
    if json_output:
        print_json([vars(finding) for finding in findings])
    else:
        signs = {True: "ok", False: "BAD", None: "-"}
        for finding in findings:
            print(f"{signs[finding.ok]:4}{finding.what}: {finding.found}")
    if any(finding.ok is False for finding in findings):
        raise typer.Exit(1)


def main() -> None:
    """Entry point of the program `treespan`."""
    try:
        status = app(standalone_mode=False)
    except TreespanError as error:
        fail(str(error))
    except USAGE_ERROR as error:
        fail(error.format_message())
    except (typer.Abort, KeyboardInterrupt):
        sys.exit(130)
    except BrokenPipeError:  # the reader of our output has gone, as in `treespan games | head -1`
        sys.stderr.close()
        sys.exit(0)
    else:
        sys.exit(status if isinstance(status, int) else 0)


def fail(message: str) -> None:
    """One line on stderr, and for machines an object on stdout; exit status 2."""
    if "--json" in sys.argv:
        print_json({"error": message})
    print(f"treespan: {message}", file=sys.stderr)
    sys.exit(2)


if __name__ == "__main__":
    main()
