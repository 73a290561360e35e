"""`treespan paper`: the tables of the papers, ours beside the published ones."""

import shlex
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from treespan.cli.app import JsonOption, app, print_json
from treespan.cli.progress import steps

if TYPE_CHECKING:
    from treespan.lab.papers.report import Result
    from treespan.lab.papers.study import Study

DEFAULT_FOLDER = Path("results/paper")

paper = typer.Typer(no_args_is_help=True, help="Tables of the papers: list them, run them, report ours beside theirs.")
app.add_typer(paper, name="paper")

OutOption = Annotated[Path, typer.Option(help="Folder of the results.")]


@paper.command("list")
def list_studies(json_output: JsonOption = False) -> None:
    """List every table and figure: its key, what it measures, on which runtime, and whether it can be run here."""
    from treespan.lab.papers.registry import STUDIES
    from treespan.terminal import show_folded

    rows = [
        {
            "key": study.key,
            "title": study.title,
            "runtime": study.runtime,
            "needs": needs_of(study),
            "state": state_of(study),
        }
        for study in STUDIES.values()
    ]
    if json_output:
        print_json(rows)
        return
    for row in rows:
        needs = f", needs {row['needs']}" if row["needs"] else ""
        show_folded([f"{row['key']} ({row['runtime']}{needs}): {row['state']}", f"    {row['title']}"], indent="    ")


def state_of(study: "Study") -> str:
    """Whether a study can be run here, and with which gaps."""
    obstacles = study.unavailable() or ""
    if not obstacles and study.needs:
        first_units = [cell.units[0] for cell in study.cells("full") if cell.units]
        obstacles = "; ".join(dict.fromkeys(filter(None, (unit.obstacle() for unit in first_units))))
        obstacles = f"ready, with gaps: {obstacles}" if obstacles else ""
    return obstacles or "ready"


def needs_of(study: "Study") -> str:
    names = dict.fromkeys(spec.partition(":")[0] for spec in study.schemes)
    return ", ".join([*names, *([study.needs] if study.needs else [])])


@paper.command("run")
def run_key(
    key: Annotated[str, typer.Argument(help="Key of a table, or of a paper for all its tables.")],
    scale: Annotated[
        str, typer.Option(help="smoke (seconds), desk (minutes to an hour) or full (the paper's).")
    ] = "desk",
    jobs: Annotated[
        int, typer.Option(help="Units of work that are done at the same time, each in a process of its own.")
    ] = 1,
    out: OutOption = DEFAULT_FOLDER,
    resume: Annotated[bool, typer.Option("--resume/--fresh", help="Use earlier results, or set them aside.")] = True,
    json_output: JsonOption = False,
) -> None:
    """Run a table, or all tables of a paper; show ours beside the published figures.

    Every finished unit of work, a search or a game, is recorded at once: after Ctrl-C, a crash or a full disk the same
    command goes on where it was, and nothing is done twice.

    \b
    Examples:
      treespan paper run yoshizoe2011.table4 --scale desk --jobs 2
      treespan paper run bourki2010 --scale smoke
    """
    from treespan.lab.papers.laboratory import require_runnable
    from treespan.lab.papers.markdown import paragraph
    from treespan.lab.papers.registry import find_studies
    from treespan.terminal import show_folded

    studies = find_studies(key)
    if len(studies) == 1:
        require_runnable(studies[0], scale, jobs)
    fresh: set[str] = set()
    for study in studies:
        if len(studies) > 1:
            reason = study.unavailable()
            if reason:
                print(f"{study.key} {reason}: skipped", file=sys.stderr)
                continue
        is_first = (study.store or study.key) not in fresh
        fresh.add(study.store or study.key)
        result = run_one(study, scale, 1 if len(studies) > 1 and study.one_job else jobs, out, not resume and is_first)
        if json_output:
            print_json(result.as_json())
        else:
            show_tables(study, result)
            show_folded([paragraph(result)], indent="")


def run_one(study: "Study", scale: str, jobs: int, out: Path, fresh: bool) -> "Result":
    """Do what is left of a study; returns what its records say."""
    from treespan.lab.papers.laboratory import plan_work, records_path, require_runnable, run_study
    from treespan.lab.papers.report import read_result
    from treespan.lab.store.records import Records

    require_runnable(study, scale, jobs)
    path = records_path(out, study)
    with Records(path, fresh=fresh) as records:
        work = plan_work(study, scale, records)
        print(f"{study.key} at scale {scale}: {work.done} units done, {len(work.pending)} to do", file=sys.stderr)
        for reason, count in work.skipped.items():
            print(f"skipped {count} units: {reason}", file=sys.stderr)
        try:
            with steps(study.key, len(work.pending)) as on_step:
                run_study(study, work, records, command_line(), jobs, on_step)
        except KeyboardInterrupt:
            print(f"interrupted; what is done is kept in {path}; the same command goes on from there", file=sys.stderr)
            raise
    return read_result(study, out, scale)


def command_line() -> str:
    return shlex.join(["treespan", *sys.argv[1:]])


def show_tables(study: "Study", result: "Result") -> None:
    """The tables for people."""
    from treespan.core.tables import as_text, plain_table
    from treespan.lab.papers.markdown import grids
    from treespan.terminal import show_folded, terminal_width

    for grid in grids(result, only_run=True):
        shown = plain_table(*grid.head)
        for row in grid.rows:
            shown.add_row(*row)
        print()
        show_folded([f"{study.key}: {grid.title}"])
        print(as_text(shown, terminal_width()))
        show_folded(grid.notes)


@paper.command("report")
def write_report(out: OutOption = DEFAULT_FOLDER, json_output: JsonOption = False) -> None:
    """Write DIR/report.html, one page that needs nothing else, and DIR/report.md with its pictures in DIR/pictures.

    Published figures, ours, their ratio, the commands and the machine; what was not run is marked so.
    """
    from treespan.lab.papers.report_files import write_files

    files = write_files(out)
    if json_output:
        print_json({"files": [str(file) for file in files]})
    else:
        print("\n".join(str(file) for file in files))
