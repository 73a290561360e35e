"""Commands for authors of games and for a look at the installation."""

from typing import Annotated

import typer

from treespan.cli.app import JsonOption, app, print_json


@app.command("check-game")
def check_game_command(
    game: Annotated[str, typer.Argument(help="A Python file with one game, or any game spec.")],
    rounds: Annotated[int, typer.Option("--games", help="Random games to play.", min=1)] = 100,
    seed: Annotated[int, typer.Option(help="Seed of the random games.")] = 1,
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
    from treespan.terminal import show_folded

    def on_step(step: str) -> None:
        if not json_output:
            show_folded([f"ok  {step}"], indent="    ")

    report = check_game(make_game(game), games=rounds, seed=seed, on_step=on_step)
    if json_output:
        print_json({**vars(report), "movers": sorted(report.movers)})
    else:
        show_folded(report.conclusion())


@app.command("compile")
def compile_command(
    games: Annotated[list[str] | None, typer.Argument(help="Game specs; default: all games of the package.")] = None,
    json_output: JsonOption = False,
) -> None:
    """Compile what searches of these games by the default schemes need, on threads, on simulated and on MPI ranks: the
    first search then starts at once. What is compiled already is not compiled again.

    \b
    Examples:
      treespan compile
      treespan compile go mygame.py
    """
    from treespan.games.registry import PACKAGE_GAMES
    from treespan.lab.measure.warm_up import warm_up

    specs = games or list(PACKAGE_GAMES)
    times = {}
    for spec, seconds in warm_up(specs):
        times[spec] = seconds
        if not json_output:
            print(f"{spec}: {seconds:.1f} s", flush=True)
    if json_output:
        print_json(times)


@app.command()
def doctor(json_output: JsonOption = False) -> None:
    """Report what this machine has: Python, compiler, MPI, GNU Go and other programs that treespan can use.

    \b
    Examples:
      treespan doctor
      treespan doctor --json
    """
    from treespan.doctor import examine
    from treespan.terminal import show_folded

    findings = examine()
    if json_output:
        print_json([vars(finding) for finding in findings])
    else:
        signs = {True: "ok", False: "BAD", None: "-"}
        show_folded((f"{signs[one.ok]:4}{one.what}: {one.found}" for one in findings), indent="      ")
    if any(finding.ok is False for finding in findings):
        raise typer.Exit(1)
