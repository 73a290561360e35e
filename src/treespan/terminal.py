"""What people see on the terminal: tables of results, a progress line."""

import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager

from rich import box
from rich.console import Console
from rich.progress import BarColumn, Progress, SpinnerColumn, TextColumn, TimeElapsedColumn
from rich.table import Table

from treespan.games.position import Position
from treespan.runtimes.launch import open_terminal
from treespan.schemes.base import Budget
from treespan.schemes.base import Progress as ProgressCall
from treespan.search.result import SearchResult

MAX_SHOWN_RANKS = 32  # of more ranks there is no table
PROGRESS_AFTER_SECONDS = 1.0  # shorter runs need none


def plain_table(*columns: str, right_from: int = 1) -> Table:
    """A table whose columns from `right_from` on hold numbers."""
    table = Table(box=box.SIMPLE_HEAD, pad_edge=False)
    for index, column in enumerate(columns):
        table.add_column(column, justify="right" if index >= right_from else "left")
    return table


@contextmanager
def search_progress(budget: Budget, is_simulated: bool = False) -> Iterator[ProgressCall | None]:
    """A live line on stderr, if that is a terminal, from the second second of a search on.

    Of a simulated search it shows the simulated time, too; the clock at its end is always the real one.
    """
    stream = sys.stderr if sys.stderr.isatty() else open_terminal()
    if stream is None:
        yield None
        return
    columns = (SpinnerColumn(), BarColumn(), TextColumn("{task.description}"), TimeElapsedColumn())
    line = Progress(*columns, console=Console(file=stream, force_terminal=True), transient=True)
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
        if is_simulated:
            text += f", {seconds:.3f} s simulated"
        line.update(task, completed=min(max(shares), 1.0), description=text)

    try:
        yield report
    finally:
        line.stop()


def show_search(console: Console, position: Position, result: SearchResult, best: int = 8) -> None:
    """The position, the best moves, and how the search went."""
    console.print(str(position), highlight=False, markup=False, soft_wrap=True)
    with_priors = result.moves[0].prior is not None
    with_proofs = any(move.proven for move in result.moves[:best])
    extra = (["prior"] if with_priors else []) + (["proven"] if with_proofs else [])
    table = plain_table("move", "visits", "share", "value", *extra)
    for move in result.moves[:best]:
        cells = [move.move, f"{move.visits:,}", f"{move.visits / max(result.root_visits, 1):.1%}", f"{move.value:.3f}"]
        if with_priors:
            cells.append(f"{move.prior:.3f}")
        if with_proofs:
            cells.append(move.proven or "")
        table.add_row(*cells)
    console.print(table)
    if 1 < len(result.playouts_by_rank) <= MAX_SHOWN_RANKS:
        by_rank = plain_table("rank", "playouts", "load", "messages received", "jobs at most", right_from=0)
        for rank, figures in enumerate(result.by_rank()):
            playouts, load, received, queue = figures
            by_rank.add_row(str(rank), f"{playouts:,}", f"{load:.0%}", f"{received:,}", f"{queue:,}")
        console.print(by_rank)
    for line in summary_lines(result):
        console.print(line, highlight=False, markup=False)


def summary_lines(result: SearchResult) -> list[str]:
    """A search in a few lines of words."""
    where = f"{result.threads} threads" if result.threads > 1 else "1 thread"
    if result.runtime != "threads":
        where = f"{result.ranks} {'simulated' if result.runtime == 'simulated' else 'MPI'} ranks"
    lines = [
        f"best move {result.move}, line {' '.join(result.principal_variation)}",
        f"{result.playouts:,} playouts in {result.seconds:.2f} s on {where}, {result.scheme}: "
        f"{result.playouts_per_second:,.0f} playouts/s",
        f"depth {result.depth:.1f} (deepest {result.max_depth}), {result.nodes:,} nodes with {result.edges:,} moves",
    ]
    if result.proven:
        lines.append(f"proven: a {result.proven} for the player to move")
    if result.optimal is not None:
        lines.append("the optimal move" if result.optimal else "not the optimal move")
    if result.report_levels is not None:
        lines.append(f"levels reported a playout {result.report_levels:.2f}")
    if result.third_best is not None:
        lines.append(f"a third-best move or worse had become best in {result.third_best:.2%} of returns")
    if result.messages["sent"]:
        size = result.messages["bytes"] / result.messages["sent"]
        lines.append(
            f"{result.messages['per_playout']:.2f} messages of {size:.0f} bytes a playout, at most "
            f"{result.queue_peak:,} jobs at one rank, ended in {result.end_seconds * 1e3:.2f} ms"
        )
    if result.between_ranks is not None:
        between = result.between_ranks
        lines.append(
            f"{between['agreement']:.0%} of the ranks prefer it by their own simulations, its value varies by "
            f"{between['variance'] ** 0.5:.3f} between ranks; {between['rounds']:.0f} rounds of sharing took "
            f"{result.sync_share:.2%} of the time"
        )
    if result.third_best_audit is not None:
        lines.append(f"third-best move best somewhere on the stack after {result.third_best_audit:.2%} of playouts")
    if result.tree_full:
        lines.append(f"the tree was full: {result.refused_expansions:,} expansions refused; give more --nodes")
    if result.depth_cuts:
        lines.append(f"{result.depth_cuts:,} descents were cut at max_depth")
    if result.interrupted:
        lines.append("interrupted: the best move so far")
    return lines
