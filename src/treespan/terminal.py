"""The progress of a search on a terminal, and the terminal's width."""

import shutil
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager

from rich.console import Console
from rich.progress import BarColumn, Progress, SpinnerColumn, TextColumn, TimeElapsedColumn

from treespan.schemes.plan import SIMULATED, Plan
from treespan.schemes.plan import Progress as ProgressCall

PROGRESS_AFTER_SECONDS = 1.0  # shorter runs need none


@contextmanager
def search_progress(plan: Plan) -> Iterator[ProgressCall | None]:
    """Show a live line on stderr, if that is a terminal, once a search has run for a second.

    Yields the function that the search must call. The line's clock shows real time; for a simulated search the line
    shows the simulated time, too.
    """
    if not sys.stderr.isatty():
        yield None
        return
    budget = plan.budget
    columns = (SpinnerColumn(), BarColumn(), TextColumn("{task.description}"), TimeElapsedColumn())
    line = Progress(*columns, console=Console(stderr=True), transient=True)
    task = line.add_task("starting", total=1.0)
    start = time.monotonic()

    def report(playouts: int, seconds: float) -> None:
        if time.monotonic() - start < PROGRESS_AFTER_SECONDS or seconds == 0.0:
            return
        line.start()
        shares = []
        if budget.playouts:
            shares.append(playouts / budget.playouts)
        if budget.seconds:
            shares.append(seconds / budget.seconds)
        text = f"{playouts:,} playouts, {playouts / seconds:,.0f}/s"
        if plan.runtime == SIMULATED:
            text += f", {seconds:.3f} s simulated"
        line.update(task, completed=min(max(shares), 1.0), description=text)

    try:
        yield report
    finally:
        line.stop()


def terminal_width() -> int:
    """Return the columns of the terminal; 80 if there is none."""
    return shutil.get_terminal_size((80, 24)).columns
