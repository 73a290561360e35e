"""What people see on a terminal: progress while they wait, and the board of `treespan play`."""

import shutil
import sys
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

from rich.console import Console
from rich.live import Live
from rich.progress import BarColumn, Progress, SpinnerColumn, TextColumn, TimeElapsedColumn
from rich.spinner import Spinner
from rich.text import Text

from treespan.core.folding import WIDTH, fold_all
from treespan.schemes.plan import SIMULATED, Looks, Plan
from treespan.search.result import SearchResult

if TYPE_CHECKING:
    from treespan.play import Turn

PROGRESS_AFTER_SECONDS = 1.0  # shorter runs need none
LOOK_SECONDS = 0.5  # between two looks at the best move
BAR_WIDTH = 20


class SearchLine:
    """A live line about a search: how far it is, and the best move so far with its value."""

    def __init__(self, plan: Plan):
        self.plan, self.looks = plan, Looks(LOOK_SECONDS, self.show)
        columns = (SpinnerColumn(), BarColumn(BAR_WIDTH), TextColumn("{task.description}"), TimeElapsedColumn())
        self._line = Progress(*columns, console=Console(stderr=True), transient=True)
        self._task = self._line.add_task("starting", total=1.0)
        self._start, self._best = time.monotonic(), ""

    def show(self, so_far: SearchResult) -> None:
        self._best = f"{so_far.move} {so_far.value:.3f}, "

    def report(self, playouts: int, seconds: float) -> None:
        if time.monotonic() - self._start < PROGRESS_AFTER_SECONDS or seconds == 0.0:
            return
        self._line.start()
        budget, shares = self.plan.budget, []
        if budget.playouts:
            shares.append(playouts / budget.playouts)
        if budget.seconds:
            shares.append(seconds / budget.seconds)
        text = f"{self._best}{playouts:,} playouts, {playouts / seconds:,.0f}/s"
        if self.plan.runtime == SIMULATED:
            text += f", {seconds:.3f} s simulated"
        self._line.update(self._task, completed=min(max(shares), 1.0), description=text)

    def stop(self) -> None:
        self._line.stop()


@contextmanager
def search_progress(plan: Plan) -> Iterator[SearchLine | None]:
    """Show a live line on stderr, if that is a terminal, once a search has run for a second.

    Yields the line: the search must call its `report`, and tell its `looks`. The line's clock shows real time; for a
    simulated search the line shows the simulated time, too.
    """
    if not sys.stderr.isatty():
        yield None
        return
    line = SearchLine(plan)
    try:
        yield line
    finally:
        line.stop()


def terminal_width() -> int:
    """Return the columns of the terminal, or what COLUMNS says; 80 if there is neither."""
    return shutil.get_terminal_size((WIDTH, 24)).columns


def show_folded(lines: Iterable[str], indent: str = "  ") -> None:
    """Print lines. Those that are longer than the terminal go on in the next line, behind `indent`."""
    for line in fold_all(lines, terminal_width(), indent):
        print(line)


@contextmanager
def quiet_keys() -> Iterator[None]:
    """Neither show nor keep the keys that are typed meanwhile. Ctrl-C still works.

    Does nothing where stdin is no terminal. The terminal is as before afterwards, whatever ends the body.
    """
    if not sys.stdin.isatty():
        yield
        return
    import termios

    terminal = sys.stdin.fileno()
    before = termios.tcgetattr(terminal)
    silent = list(before)
    silent[3] &= ~termios.ECHO
    try:
        termios.tcsetattr(terminal, termios.TCSADRAIN, silent)
        yield
    finally:
        termios.tcsetattr(terminal, termios.TCSAFLUSH, before)  # and drops what was typed


class PlayScreen:
    """Where a person plays: stdin and stdout, in colours if stdout is a terminal that has them."""

    def __init__(self) -> None:
        self.console = Console(highlight=False, markup=False, emoji=False)
        has_signs = "utf" in self.console.encoding.lower()
        self.is_painted = bool(self.console.color_system) and not self.console.no_color and has_signs

    def show(self, turn: "Turn") -> None:
        width = terminal_width()
        if turn.view and self.console.is_terminal:
            print()
        if not self.is_painted:
            lines = ("".join(text for text, _ in line).rstrip() for line in turn.lines(width))
            print("".join(f"{line}\n" for line in lines), end="", flush=True)
            return
        for line in turn.lines(width, is_painted=True):
            self.console.print(Text.assemble(*line), soft_wrap=True)

    def ask(self) -> str:
        """Return what the person says; it is empty at the end of the stream."""
        if sys.stdin.isatty():
            print("your move> ", end="", flush=True)
        return sys.stdin.readline()

    @contextmanager
    def thinking(self) -> Iterator[Callable[[str], None]]:
        """Show a line while the computer thinks, with what it has found by then. The line is gone at the end."""
        if not self.console.is_terminal or self.console.is_dumb_terminal:
            yield lambda words: None
            return
        spinner = Spinner("line", "thinking…")
        with Live(spinner, console=self.console, transient=True, refresh_per_second=8):
            yield lambda words: spinner.update(text=Text(f"thinking… {words}", no_wrap=True, overflow="ellipsis"))
