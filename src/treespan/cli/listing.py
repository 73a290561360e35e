"""`treespan games` and `treespan schemes`: what there is."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

from treespan.cli.app import JsonOption, app, print_json

if TYPE_CHECKING:
    from treespan.library.lists import GameFacts, SchemeFacts


@app.command()
def games(json_output: JsonOption = False) -> None:
    """List the games and their options.

    \b
    Examples:
      treespan games
      treespan games --json
    """
    from treespan.library.lists import games

    show_entries(games(), json_output)


@app.command()
def schemes(json_output: JsonOption = False) -> None:
    """List the schemes, their papers and their options.

    \b
    Examples:
      treespan schemes
      treespan schemes --json
    """
    from treespan.library.lists import schemes

    show_entries(schemes(), json_output)


def show_entries(entries: "Sequence[GameFacts | SchemeFacts]", as_json: bool) -> None:
    """Games or schemes with their options, as JSON or for people."""
    if as_json:
        print_json(entries)
        return
    from treespan.terminal import show_folded

    for entry in entries:
        paper = entry.get("paper")
        show_folded([f"{entry['name']}: {entry['summary']}" + (f" [{paper}]" if paper else "")], indent="  ")
        for item in entry["options"]:
            bounds = ""
            if item["choices"]:
                bounds = " (" + ", ".join(item["choices"]) + ")"
            elif item["low"] is not None:
                bounds = (
                    f" ({item['low']}..{item['high']})" if item["high"] is not None else f" (at least {item['low']})"
                )
            show_folded([f"    {item['name']}={item['default']}: {item['help']}{bounds}"], indent="        ")
