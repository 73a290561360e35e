"""Commands that measure this machine."""

import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.console import Console
from typer.core import TyperGroup

from treespan.cli.app import JsonOption, app, print_json
from treespan.cli.progress import JobsOption, counts, steps
from treespan.core.errors import OptionError

if TYPE_CHECKING:
    from treespan.lab.measure.positions import SuiteRow

DEFAULT_EXPERTISE = 30.0


class BenchGroup(TyperGroup):
    """`treespan bench GAME ...` is `treespan bench speed GAME ...`."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        named = args and (args[0] in self.commands or args[0] in ("-h", "--help"))
        return super().parse_args(ctx, args if named else ["speed", *args])


BENCH_HELP = """Measure this machine, or how well searches do in a suite of positions.

\b
Examples:
  treespan bench
  treespan bench go:size=9 pgame:branching=40 --seconds 3
  treespan bench positions --playouts 1000
"""
bench = typer.Typer(cls=BenchGroup, rich_markup_mode=None, help=BENCH_HELP)
app.add_typer(bench, name="bench")


@bench.command()
def speed(
    games: Annotated[list[str] | None, typer.Argument(help="Game specs; default: one or more of each game.")] = None,
    seconds: Annotated[float, typer.Option(help="How many seconds each figure is measured, roughly.", min=0.01)] = 1.0,
    json_output: JsonOption = False,
) -> None:
    """Measure playouts and simulations a second in one thread. The word `speed` may be left out.

    \b
    Examples:
      treespan bench
      treespan bench go:size=9 pgame:branching=40 --seconds 3
    """
    from rich.progress import track

    from treespan.core.tables import as_text, plain_table
    from treespan.lab.measure.speed import STANDARD_GAMES, measure
    from treespan.terminal import terminal_width

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
    print(as_text(table, terminal_width()))


@bench.command()
def positions(
    files: Annotated[list[Path] | None, typer.Argument(help="Files or folders; default: the package's.")] = None,
    playouts: Annotated[str, typer.Option(help="Numbers of playouts of a search.")] = "1000,30000",
    kinds: Annotated[str, typer.Option(help="Only these kinds of positions, as capture,ladder.")] = "",
    options: Annotated[list[str] | None, typer.Option(help="Search by these options only; may be repeated.")] = None,
    expertise: Annotated[
        float, typer.Option(help="Virtual wins in the table rows with expertise.")
    ] = DEFAULT_EXPERTISE,
    repeats: Annotated[int, typer.Option(help="Searches of a position, each with its own seed.", min=1)] = 1,
    jobs: JobsOption = 1,
    json_output: JsonOption = False,
) -> None:
    """Measure how often searches find the right move in positions of a suite, by kind.

    Without --options: with and without RAVE, expertise and conditioning.

    \b
    Examples:
      treespan bench positions
      treespan bench positions --playouts 1000 --kinds semeai-play,semeai-won
      treespan bench positions my-positions/ one.txt --repeats 3
      treespan bench positions --options expertise=30 --options bandit=puct \\
          --playouts 10000 --json
    """
    from treespan.core.errors import unknown_name
    from treespan.lab.measure.positions import KINDS, SUITE, Setup, all_setups, read_suite, search_suite

    wanted = [kind.strip() for kind in kinds.split(",")] if kinds.strip() else list(KINDS)
    for kind in wanted:
        if kind not in KINDS:
            raise unknown_name("kind of position", kind, KINDS)
    problems = [problem for problem in read_suite(files or [SUITE]) if problem.kind in wanted]
    if not problems:
        raise OptionError(f"--kinds {kinds}: there are no such positions; leave it out to see all")
    setups = [Setup(given or "default", given) for given in options] if options else all_setups(expertise)
    for setup in setups:
        setup.search(problems[0], 1)  # a mistake in the options is told before anything is searched
    numbers = counts("playouts", playouts, "1000,30000")
    with steps() as on_step:
        rows = search_suite(problems, setups, numbers, repeats, jobs, on_step)
    if json_output:
        print_json([{**vars(row), "share": row.share()} for row in rows])
    else:
        show_rows(rows)


def show_rows(rows: "Sequence[SuiteRow]") -> None:
    """Shares of right moves, by kind and of all positions."""
    from treespan.core.tables import as_text, plain_table
    from treespan.terminal import show_folded, terminal_width

    kinds = list(rows[0].tried)
    table = plain_table("search", "playouts", *(f"{kind} ({rows[0].tried[kind]})" for kind in kinds), "all")
    for row in rows:
        shares = [f"{row.share(kind):.0%}" for kind in kinds]
        table.add_row(row.setup, f"{row.playouts:,}", *shares, f"{row.share():.0%}")
    print(as_text(table, terminal_width()))
    show_folded(
        f"{row.setup}, {row.playouts:,} playouts, not found: {', '.join(row.wrong)}" for row in rows if row.wrong
    )
