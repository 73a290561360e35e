"""Commands that measure this machine."""

import sys
from typing import Annotated

import typer
from rich.console import Console

from treespan.cli.app import JsonOption, app, print_json


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
