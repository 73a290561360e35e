"""`treespan match`: two players, many games."""

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from rich.console import Console

from treespan.cli.app import JsonOption, app, by_first_rank, print_json
from treespan.core.errors import INTERRUPTED_STATUS, OptionError, named

if TYPE_CHECKING:
    from treespan.lab.match.play import MatchReport, OnGame


@app.command(context_settings={"ignore_unknown_options": True})  # a player begins with --, too
@by_first_rank
def match(
    a: Annotated[
        str, typer.Argument(metavar="A", help="Options of `treespan search` in one string, or 'gtp: COMMAND'.")
    ],
    b: Annotated[
        str,
        typer.Argument(
            metavar="B",
            help="The other player. Both may have --resign, --resign-moves, --reuse and --early-stop.",
        ),
    ],
    game: Annotated[str, typer.Option(help="Spec of a game for two players.")],
    games: Annotated[int, typer.Option(help="Games to play.")] = 200,
    sprt: Annotated[
        str | None,
        typer.Option(help="End the match when it is decided which of two Elo differences is right, as 0,30."),
    ] = None,
    openings: Annotated[
        Path | None, typer.Option(help="File of openings: each line has the first moves of two games.")
    ] = None,
    random_opening: Annotated[int, typer.Option(help="Begin with so many random moves, the same in two games.")] = 0,
    jobs: Annotated[
        int, typer.Option(help="Games that are played at the same time, each in a process of its own.")
    ] = 1,
    timeout: Annotated[
        str, typer.Option(help="A player that takes longer for a move loses the game, as 60 or 500ms.")
    ] = "60",
    seed: Annotated[
        int, typer.Option(help="Seed of the match: the same seed gives the same games, if both players are searches.")
    ] = 1,
    resume: Annotated[bool, typer.Option("--resume", help="Go on with the match in --out.")] = False,
    out: Annotated[Path | None, typer.Option(help="Folder for the log and SGF files.")] = None,
    json_output: JsonOption = False,
) -> None:
    """Play a match between two searches, or Go programs that speak GTP, and say who is stronger.

    \b
    Examples:
      treespan match "--playouts 2000 --bandit rave" "--playouts 2000" \\
          --game go:size=9 --games 100 --jobs 2
      treespan match "--seconds 1" "gtp: gnugo --mode gtp --chinese-rules" \\
          --game go:size=9 --out gnugo-match
      treespan match "--scheme sequential:algorithm=dfuct" "--scheme sequential" \\
          --game pgame:branching=8,depth=30
      treespan match "--playouts 1000" "--playouts 500" --game hex:size=7 \\
          --sprt 0,50 --random-opening 2
    """
    from treespan.core.options import parse_seconds
    from treespan.lab.match.play import play_match
    from treespan.lab.match.referee import MatchSetup
    from treespan.lab.match.statistics import parse_sprt
    from treespan.lab.match.text import match_text
    from treespan.terminal import terminal_width

    if openings and random_opening:
        raise OptionError("--openings and --random-opening exclude each other; give one")
    if random_opening < 0:
        raise OptionError(f"--random-opening {random_opening} is out of range; give at least 0")
    setup = MatchSetup(
        game=game,
        a=a,
        b=b,
        seed=seed,
        timeout=parse_seconds(timeout, partial(named, "timeout")),
        openings=read_openings(openings) if openings else (),
        random_plies=random_opening,
    )
    test = parse_sprt(sprt) if sprt else None
    with match_progress(games) as progress:
        report = play_match(setup, games, jobs, test, out, resume, None if json_output else progress)
    if json_output:
        print_json(report.as_json())
    else:
        print(match_text(report, width=terminal_width()))
    if report.interrupted:
        raise typer.Exit(INTERRUPTED_STATUS)


def read_openings(path: Path) -> tuple[str, ...]:
    """The lines of a file, without blank ones and comments."""
    try:
        lines = path.read_text().splitlines()
    except (OSError, UnicodeDecodeError) as error:
        reason = error.strerror if isinstance(error, OSError) else "it is not text"
        raise OptionError(f"cannot read --openings '{path}': {reason}") from None
    found = tuple(filter(None, (line.partition("#")[0].strip() for line in lines)))
    if not found:
        raise OptionError(f"--openings '{path}' has no moves; write the moves of an opening on each line")
    return found


@contextmanager
def match_progress(games: int) -> Iterator["OnGame | None"]:
    """A live line with the running score on stderr, if that is a terminal."""
    from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn

    from treespan.lab.match.text import score_line

    if not sys.stderr.isatty():
        yield None
        return
    columns = (BarColumn(), TextColumn("{task.description}"), TimeElapsedColumn())
    with Progress(*columns, console=Console(stderr=True), transient=True) as line:
        task = line.add_task("starting", total=games)

        def show(report: "MatchReport") -> None:
            text = f"{report.score.games} of {games} games, A {score_line(report)}"
            line.update(task, completed=report.score.games, description=text)

        yield show
