"""`treespan games` and `treespan schemes`: what there is."""

from typing import Any

from treespan.cli.app import JsonOption, app, print_json
from treespan.core.options import describe


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
