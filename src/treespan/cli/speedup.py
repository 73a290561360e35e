"""`treespan speedup`: how a parallel scheme scales, with the quality of its search beside the speed."""

import hashlib
import re
import sys
from collections.abc import Sequence
from dataclasses import asdict
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from treespan.cli.app import JsonOption, app, by_first_rank, print_json
from treespan.cli.progress import JobsOption, counts, steps
from treespan.core.errors import named
from treespan.core.machine import usable_cores
from treespan.core.options import count

if TYPE_CHECKING:
    from treespan.lab.measure.speedup import Scaling, ScalingRow

MAX_FILE_NAME = 120  # file systems take 255 bytes


@app.command()
@by_first_rank
def speedup(
    game: Annotated[str, typer.Argument(help="Game spec, as pgame:branching=8.")],
    scheme: Annotated[str, typer.Option(help="Scheme spec, as tds-dfuct:grant=20.")],
    ranks: Annotated[str, typer.Option(help="Numbers of MPI ranks to start on this machine, as 1,2,4,8.")] = "",
    threads: Annotated[str, typer.Option(help="Numbers of threads, as 1,2,4.")] = "",
    simulate: Annotated[str, typer.Option(help="Numbers of simulated ranks, as 1,12,144,1200.")] = "",
    network: Annotated[str, typer.Option(help="Simulated network: a profile's name or FILE.toml.")] = "qdr",
    playouts: Annotated[str, typer.Option(help="Playouts of each search.")] = "100000",
    policy: Annotated[str | None, typer.Option(help="Playouts: light, or wait=1ms for virtual ones.")] = None,
    problems: Annotated[
        int, typer.Option(help="How many problems are searched: seeds of the game, or of the search.", min=1)
    ] = 10,
    seed: Annotated[int, typer.Option(help="Seed of the first search.")] = 1,
    jobs: JobsOption = 1,
    out: Annotated[Path, typer.Option(help="Folder for results and plots.")] = Path("results/speedup"),
    resume: Annotated[bool, typer.Option("--resume/--fresh", help="Use earlier results, or set them aside.")] = True,
    plot: Annotated[bool, typer.Option("--plot/--no-plot", help="Draw the figures as PNG and SVG.")] = True,
    json_output: JsonOption = False,
) -> None:
    """Measure how a scheme scales: speed-up over the sequential df-UCT, and the quality of the search beside it.

    Every problem is searched at every number of ranks or threads, and by the sequential df-UCT with as many playouts.
    Finished searches are recorded at once: after Ctrl-C the same command goes on where it was.

    \b
    Examples:
      treespan speedup pgame --scheme tds-dfuct --simulate 1,12,144,1200 \\
          --policy wait=1ms --playouts 1e6
      treespan speedup pgame:branching=40 --scheme tds-uct:dedicated_root=yes \\
          --simulate 12,36,72 --policy wait=0.1ms
      treespan speedup pgame --scheme tds-dfuct --ranks 1,2,4 --threads 1,2,4 \\
          --policy wait=1ms --playouts 5000
      treespan speedup go:size=9 --scheme root --threads 1,2 --problems 3 --json
    """
    from treespan.games.registry import make_game
    from treespan.lab.measure.plots import plot_speedup, require_matplotlib
    from treespan.lab.measure.speedup import Scaling, full_trees, rows
    from treespan.lab.store.records import Records
    from treespan.lab.store.runner import check_jobs, measure
    from treespan.library.tables import speedup_text
    from treespan.schemes.registry import read_scheme
    from treespan.terminal import terminal_width

    chosen = read_scheme(scheme, **({"policy": policy} if policy else {}))
    points = worker_points(ranks=ranks, threads=threads, simulate=simulate)
    plan = Scaling(
        make_game(game), *chosen, points, count(playouts, partial(named, "playouts")), network, problems, seed
    )
    check_jobs(jobs, plan.real_time)
    if plot:
        require_matplotlib()  # rather than after hours of measuring
    path = out / f"{file_name(plan)}.jsonl"
    with Records(path, fresh=not resume) as records:
        try:
            searches = plan.searches()
            with steps(to_do=sum(records.find(search.key()) is None for search in searches)) as on_step:
                found = measure(searches, records, jobs, on_step)
        except KeyboardInterrupt:
            done = f"{len(records)} finished searches in {path}"
            print(f"interrupted; kept: {done}; the same command goes on from there", file=sys.stderr)
            raise
        table = rows(plan, found)
        remarks = warnings(plan, records.older_sources, full_trees(found))
    plots = plot_speedup(plan, table, path) if plot else []
    if json_output:
        print_json(as_document(plan, table, [path, *plots], remarks))
        return
    files = " ".join(f"{file}" for file in [path, *plots])
    print(speedup_text(plan, table, [*remarks, f"results: {files}"], terminal_width()))


def worker_points(**lists: str) -> tuple[tuple[str, int], ...]:
    """Runtimes and numbers of workers from the texts of --ranks, --threads and --simulate."""
    runtimes = {"ranks": "mpi", "threads": "threads", "simulate": "simulated"}
    points = [(runtimes[name], number) for name, text in lists.items() for number in counts(name, text, "1,12,144")]
    return tuple(dict.fromkeys(points))


def file_name(plan: "Scaling") -> str:
    """What results and plots of this game, scheme and number of playouts are called."""
    game = re.sub(r"^.*/", "", plan.game.spec())  # a user's game is a path
    text = re.sub(r"[^A-Za-z0-9._-]+", "-", f"{game} {plan.spec} {plan.playouts}")
    if len(text) > MAX_FILE_NAME:
        text = text[: MAX_FILE_NAME - 9] + "-" + hashlib.sha256(text.encode()).hexdigest()[:8]
    return text


def warnings(plan: "Scaling", older_sources: int, full: int) -> list[str]:
    """What a reader of the figures should know."""
    found = []
    cores = usable_cores()
    if any(runtime != "simulated" and workers > cores for runtime, workers in plan.points):
        found.append(f"more workers than the {cores} cores of this machine: they share them")
    if full:
        found.append(f"the tree was full in {full} searches; give the scheme more room, as nodes=40000000")
    if older_sources:
        found.append(f"{older_sources} records are of older sources of this version; --fresh measures anew")
    return found


def as_document(
    plan: "Scaling", table: "Sequence[ScalingRow]", files: Sequence[Path], remarks: Sequence[str]
) -> dict[str, Any]:
    return {
        "game": plan.game.spec(),
        "scheme": plan.spec,
        "sequential": plan.equal_search(1).plan.spec(),
        "playouts": plan.playouts,
        "network": plan.network,
        "problems": plan.problems,
        "seed": plan.seed,
        "rows": [asdict(row) for row in table],
        "files": [str(file) for file in files],
        "remarks": list(remarks),
    }
