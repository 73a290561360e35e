"""`treespan compare` and `treespan advise`: which scheme pays on a problem."""

from dataclasses import asdict
from functools import partial
from pathlib import Path
from typing import Annotated

import typer

from treespan.cli.app import JsonOption, app, by_first_rank, print_json
from treespan.cli.progress import JobsOption, steps
from treespan.core.errors import OptionError, for_command_line, named
from treespan.core.options import count, parse_seconds


@app.command()
@by_first_rank
def compare(
    game: Annotated[str, typer.Argument(help="Game spec, as go:size=9.")],
    schemes: Annotated[str, typer.Option(help="The schemes to compare, with ; between them (default: all).")] = "",
    threads: Annotated[int, typer.Option(help="Threads of this process.", min=0)] = 0,
    ranks: Annotated[int, typer.Option(help="MPI ranks to start on this machine.", min=0)] = 0,
    simulate: Annotated[int, typer.Option(help="Simulated ranks.", min=0)] = 0,
    network: Annotated[str, typer.Option(help="Simulated network: a profile's name or FILE.toml.")] = "qdr",
    playouts: Annotated[str | None, typer.Option(help="Playouts of each search (default 20000).")] = None,
    seconds: Annotated[
        str | None,
        typer.Option(help="Seconds of each search, instead of --playouts; simulated seconds with --simulate."),
    ] = None,
    bandit: Annotated[str, typer.Option(help="The bandit that all schemes use.")] = "ucb1",
    policy: Annotated[
        str, typer.Option(help="Playouts: light, another of the game, or wait=1ms for virtual ones.")
    ] = "light",
    problems: Annotated[
        int, typer.Option(help="How many problems each scheme searches, each with a seed of its own.", min=1)
    ] = 1,
    seed: Annotated[int, typer.Option(help="Seed of the first problem.")] = 1,
    jobs: JobsOption = 1,
    plot: Annotated[Path | None, typer.Option(help="Draw the figures: FILE.png and FILE.svg.")] = None,
    json_output: JsonOption = False,
) -> None:
    """Search one problem by all schemes: speed, messages, trees, duplicate work, and the quality of the choice.

    Agreement is the share of searches that chose the move of a sequential search with ten times the playouts.
    Distinct leaves are the number of different positions that were evaluated, as a share of the playouts. A low figure
    means that ranks did the same work twice.

    \b
    Examples:
      treespan compare go:size=9 --ranks 4 --seconds 5
      treespan compare pgame --simulate 144 --policy wait=1ms --playouts 2e5 \\
          --problems 3 --plot schemes
      treespan compare connect4 --threads 2 \\
          --schemes "shared; shared:virtual_loss=unobserved; root"
    """
    from treespan.lab.measure.plots import plot_comparison
    from treespan.library.measure import compare as run
    from treespan.library.tables import comparison_text, comparison_title
    from treespan.terminal import terminal_width

    if plot:
        from treespan.lab.measure.plots import require_matplotlib

        require_matplotlib()  # rather than after minutes of measuring
        if not plot.parent.is_dir():
            raise OptionError(f"{named('plot', plot)}: there is no folder '{plot.parent}'; make it, or name another")
    with steps() as on_step:
        table = run(
            game,
            simulate=simulate,
            ranks=ranks,
            threads=threads,
            playouts=count(playouts, partial(named, "playouts")) if playouts else None,
            seconds=parse_seconds(seconds, partial(named, "seconds")) if seconds else None,
            schemes=[part.strip() for part in schemes.split(";") if part.strip()],
            bandit=bandit,
            policy=policy,
            network=network,
            problems=problems,
            seed=seed,
            jobs=jobs,
            on_step=on_step,
        )
    contest, found = table.contest, table.found
    if not json_output:
        print(comparison_text(contest, found, terminal_width(), for_command_line))
    files = plot_comparison(comparison_title(contest), found.rows, plot) if plot else []
    if json_output:
        refusals = [{"scheme": one.scheme, "reason": for_command_line(one.reason)} for one in found.refusals]
        document = {**contest.as_json(), **found.as_json(), "refusals": refusals}
        print_json({**document, "files": [str(file) for file in files]})
    else:
        for file in files:
            print(file)


@app.command()
@by_first_rank
def advise(
    game: Annotated[str, typer.Argument(help="Game spec, as go:size=9.")],
    machines: Annotated[int, typer.Option(help="Machines of the cluster.", min=1)] = 16,
    cores: Annotated[int, typer.Option(help="Cores of each machine.", min=1)] = 1,
    network: Annotated[
        str, typer.Option(help="What messages cost: a profile, or measure, which measures this machine.")
    ] = "measure",
    policy: Annotated[
        str, typer.Option(help="Playouts: light, another of the game, or wait=1ms for virtual ones.")
    ] = "light",
    playouts: Annotated[str | None, typer.Option(help="Playouts of each simulated search.")] = None,
    searches: Annotated[
        int, typer.Option(help="How many searches each candidate does, each with a seed of its own.", min=1)
    ] = 3,
    jobs: JobsOption = 1,
    json_output: JsonOption = False,
) -> None:
    """Measure playouts and messages on this machine, simulate the schemes, and recommend one for a cluster.

    It recommends the fastest scheme whose best move gets about the share of visits that it gets from the sequential
    search with as many playouts. If messages cost something else on the cluster than here, give --network.

    \b
    Examples:
      treespan advise go:size=9 --machines 16
      treespan advise mygame.py:size=5 --machines 8 --cores 12 \\
          --network cluster.toml
      treespan advise pgame --machines 100 --cores 12 --network qdr \\
          --policy wait=1ms
    """
    from treespan.library.measure import advise as run
    from treespan.library.tables import advice_text
    from treespan.terminal import terminal_width

    with steps() as on_step:
        table = run(
            game,
            machines=machines,
            cores=cores,
            network=None if network == "measure" else network,
            policy=policy,
            playouts=count(playouts, partial(named, "playouts")) if playouts else 0,
            searches=searches,
            jobs=jobs,
            on_step=on_step,
        )
    if json_output:
        print_json({"command": table.command, "network": vars(table.network), **asdict(table.advice)})
        return
    print(advice_text(table.advice, table.command, table.network.name, terminal_width()))
