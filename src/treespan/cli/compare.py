"""`treespan compare` and `treespan advise`: which scheme pays on a problem."""

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from rich.console import Console

from treespan.cli.app import JsonOption, app, print_json
from treespan.core.errors import OptionError
from treespan.core.options import count, parse_seconds

if TYPE_CHECKING:
    from treespan.lab.advise import Advice
    from treespan.lab.compare import Comparison, Contest

DEFAULT_PLAYOUTS = 20_000


@app.command()
def compare(
    game: Annotated[str, typer.Argument(help="Game spec, as go:size=9.")],
    schemes: Annotated[str, typer.Option(help="Scheme specs with ; between them (default: all).")] = "",
    threads: Annotated[int, typer.Option(help="Threads of this process.", min=0)] = 0,
    ranks: Annotated[int, typer.Option(help="MPI ranks to start on this machine.", min=0)] = 0,
    simulate: Annotated[int, typer.Option(help="Simulated ranks.", min=0)] = 0,
    network: Annotated[str, typer.Option(help="Simulated network: a profile's name or FILE.toml.")] = "qdr",
    playouts: Annotated[str | None, typer.Option(help="Of every search (default 20000).")] = None,
    seconds: Annotated[str | None, typer.Option(help="Of every search, instead; simulated ones if ranks are.")] = None,
    bandit: Annotated[str, typer.Option(help="The same for all schemes.")] = "ucb1",
    policy: Annotated[
        str, typer.Option(help="Playouts: light, another of the game, or wait=1ms for virtual ones.")
    ] = "light",
    problems: Annotated[int, typer.Option(help="Searches of each scheme, with different seeds.", min=1)] = 1,
    seed: Annotated[int, typer.Option(help="Of the first search.")] = 1,
    plot: Annotated[Path | None, typer.Option(help="Draw the figures: FILE.png and FILE.svg.")] = None,
    json_output: JsonOption = False,
) -> None:
    """Search one problem by all schemes: speed, messages, trees, duplicate work, and the quality of the choice.

    Agreement is the share of searches that chose the move of a sequential search with ten times the playouts.
    Distinct leaves are different positions that were evaluated, as a share of the playouts: what is missing to
    100 % was evaluated more than once.

    \b
    Examples:
      treespan compare go:size=9 --ranks 4 --seconds 5
      treespan compare pgame --simulate 144 --policy wait=1ms --playouts 2e5 --problems 3 --plot schemes
      treespan compare connect4 --threads 2 --schemes "shared; shared:virtual_loss=unobserved; root"
    """
    from treespan.lab.compare import Contest
    from treespan.lab.compare import compare as run

    asked = [("threads", threads), ("mpi", ranks), ("simulated", simulate)]
    given = [(runtime, workers) for runtime, workers in asked if workers]
    if len(given) != 1:
        raise OptionError("give one of --threads, --ranks and --simulate")
    if playouts and seconds:
        raise OptionError("--playouts and --seconds exclude each other; give one")
    contest = Contest(
        game=game,
        runtime=given[0][0],
        workers=given[0][1],
        playouts=0 if seconds else count(playouts) if playouts else DEFAULT_PLAYOUTS,
        seconds=parse_seconds(seconds, "--seconds") if seconds else 0.0,
        schemes=tuple(part.strip() for part in schemes.split(";") if part.strip()),
        bandit=bandit,
        policy=policy,
        network=network,
        problems=problems,
        seed=seed,
    )
    if plot:
        from treespan.lab.plots import require_matplotlib

        require_matplotlib()  # rather than after minutes of measuring
        if not plot.parent.is_dir():
            raise OptionError(f"--plot {plot}: there is no folder '{plot.parent}'")
    with steps() as on_step:
        found = run(contest, on_step)
    if not json_output:
        show_comparison(contest, found)
    files = draw(contest, found, plot) if plot else []
    if json_output:
        print_json({**asdict(contest), **asdict(found), "files": [str(file) for file in files]})
    else:
        for file in files:
            print(file)


@contextmanager
def steps() -> Iterator[Callable[[str, float], None] | None]:
    """A bar on stderr, if that is a terminal."""
    from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn

    if not sys.stderr.isatty():
        yield None
        return
    columns = (BarColumn(), TextColumn("{task.description}"), TimeElapsedColumn())
    bar = Progress(*columns, console=Console(stderr=True), transient=True)
    task = bar.add_task("starting", total=1.0)
    with bar:
        yield lambda what, share: bar.update(task, completed=share, description=what)


def draw(contest: "Contest", found: "Comparison", path: Path) -> list[Path]:
    from treespan.lab.plots import plot_comparison

    return plot_comparison(title(contest), found.rows, path)


def title(contest: "Contest") -> str:
    budget = f"{contest.seconds:g} s" if contest.seconds else f"{contest.playouts:,} playouts"
    network = f", network {contest.network}" if contest.runtime == "simulated" else ""
    return (
        f"{contest.game}, {contest.workers:,} {contest.runtime}, {budget}, {contest.bandit}, {contest.policy}{network}"
    )


def show_comparison(contest: "Contest", found: "Comparison") -> None:
    from treespan.terminal import plain_table

    with_optimal = found.rows[0].optimal is not None
    columns = ["playouts/s", "speed-up", "messages", "bytes", "nodes", "depth", "best share", "distinct", "agrees"]
    table = plain_table("scheme", *columns, *(["optimal"] if with_optimal else []), "load")
    for row in found.rows:
        cells = [row.scheme, f"{row.playouts_per_second:,.0f}", f"{row.speedup:.2f}", f"{row.messages_per_playout:.2f}"]
        cells += [f"{row.bytes_per_playout:,.0f}", f"{row.nodes:,.0f}", f"{row.depth:.2f}", f"{row.best_share:.1%}"]
        cells += ["" if row.distinct_leaves is None else f"{row.distinct_leaves:.0%}", f"{row.agreement:.0%}"]
        cells += [f"{row.optimal:.0%}"] if row.optimal is not None else []
        table.add_row(*cells, f"{row.load:.0%}")
    Console(width=200).print(table)
    print(title(contest) + (f"; means of {contest.problems} searches" if contest.problems > 1 else ""))
    moves = ", ".join(dict.fromkeys(found.reference_moves))
    print(
        f"messages and bytes a playout; the sequential search with {found.reference_playouts:,} playouts chose {moves}"
    )
    for refusal in found.refusals:
        print(f"not run: {refusal.scheme}: {refusal.reason}")


@app.command()
def advise(
    game: Annotated[str, typer.Argument(help="Game spec, as go:size=9.")],
    machines: Annotated[int, typer.Option(help="Machines of the cluster.", min=1)] = 16,
    cores: Annotated[int, typer.Option(help="Cores of each machine.", min=1)] = 1,
    network: Annotated[
        str, typer.Option(help="Costs of messages: a profile, or measured on this machine.")
    ] = "measure",
    policy: Annotated[
        str, typer.Option(help="Playouts: light, another of the game, or wait=1ms for virtual ones.")
    ] = "light",
    playouts: Annotated[str | None, typer.Option(help="Of every simulated search.")] = None,
    searches: Annotated[int, typer.Option(help="Of each candidate, with different seeds.", min=1)] = 3,
    json_output: JsonOption = False,
) -> None:
    """Measure playouts and messages on this machine, simulate the schemes, and recommend one for a cluster.

    Recommended is the fastest scheme whose best move has about the share of visits that the sequential search
    gives it with as many playouts. Give the network of the cluster (treespan calibrate) where it is another one.

    \b
    Examples:
      treespan advise go:size=9 --machines 16
      treespan advise mygame.py:size=5 --machines 8 --cores 12 --network cluster.toml
      treespan advise pgame --machines 100 --cores 12 --network qdr --policy wait=1ms
    """
    from treespan.lab.advise import Question, candidates
    from treespan.lab.advise import advise as run
    from treespan.runtimes.network import find_profile
    from treespan.schemes.registry import SCHEMES

    tried = candidates(machines, cores, set(SCHEMES))
    question = Question(game, tried, policy, count(playouts) if playouts else 0, searches)
    if network == "measure":
        from treespan.lab.calibrate import calibrate

        profile = calibrate("here", 4.0, lambda step: print(f"measuring {step}", file=sys.stderr))
    else:
        profile = find_profile(network)
    with steps() as on_step:
        advice = run(question, profile, on_step)
    if json_output:
        print_json({"command": advice.best.candidate.command(game, policy), "network": vars(profile), **asdict(advice)})
        return
    show_advice(advice, advice.best.candidate.command(game, policy), profile.name)


def show_advice(advice: "Advice", command: str, network: str) -> None:
    from treespan.terminal import plain_table

    table = plain_table(
        "scheme",
        "ranks",
        "workers",
        "jobs",
        "speed-up",
        "best share",
        "depth",
        "messages",
        "distinct",
        "as good as sequential",
    )
    for row in advice.predictions:
        one, leaves = row.candidate, "" if row.distinct_leaves is None else f"{row.distinct_leaves:.0%}"
        cells = [one.scheme, "threads" if one.is_threads else f"{one.ranks:,}", str(one.workers), f"{row.jobs:.3g}"]
        cells += [f"{row.speedup:.1f}", f"{row.best_share:.1%}"]
        table.add_row(
            *cells, f"{row.depth:.2f}", f"{row.messages_per_playout:.2f}", leaves, "yes" if row.is_good else "no"
        )
    Console(width=200).print(table)
    print(
        f"a playout takes {advice.playout_seconds * 1e6:,.1f} us here; {advice.playouts:,} playouts, network {network}"
    )
    print(
        f"sequential, as many playouts: best share {advice.sequential_share:.1%}, depth {advice.sequential_depth:.2f}"
    )
    best = advice.best
    verdict = "" if best.is_good else " (none is as good as the sequential search; this one is the nearest)"
    print(f"advice{verdict}: {command}   predicted speed-up {best.speedup:.1f}")
