"""A bar on stderr while something is measured."""

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.console import Console

from treespan.core.errors import OptionError
from treespan.core.options import count

if TYPE_CHECKING:
    from treespan.lab.store.runner import Step

SPEED_SECONDS = 600.0  # over which the time left is reckoned

JobsOption = Annotated[int, typer.Option(help="Searches that run at the same time, each in a process of its own.")]


@contextmanager
def steps(what: str = "", to_do: int = 1) -> Iterator["Callable[[Step[Any]], None] | None"]:
    """A bar with the time left, if stderr is a terminal and something is to do; yields what hears of the steps."""
    from rich.progress import BarColumn, Progress, TextColumn, TimeRemainingColumn

    if not to_do or not sys.stderr.isatty():
        yield None
        return
    columns = (BarColumn(20), TimeRemainingColumn(), TextColumn("left: {task.description}"))
    bar = Progress(*columns, console=Console(stderr=True), transient=True, speed_estimate_period=SPEED_SECONDS)
    before = f"{what}: " if what else ""
    task = bar.add_task(f"{before}starting", total=1.0)

    def on_step(step: "Step[Any]") -> None:
        # Rounded, for a step of 1e-16 would be taken for a speed.
        bar.update(task, completed=round(step.done, 6), description=f"{before}{step}")

    with bar:
        yield on_step


def counts(name: str, text: str, example: str) -> list[int]:
    """Whole numbers of at least 1 with commas between them, as an option has them."""
    from treespan.core.errors import named

    found = []
    for part in text.split(",") if text.strip() else []:
        try:
            number = count(part.strip())
        except OptionError:
            reason = f"'{part.strip()}' is not a whole number"
            raise OptionError(f"{named(name, text)}: {reason}; write for example {example}") from None
        if number < 1:
            raise OptionError(f"{named(name, text)}: {number} is out of range; give at least 1")
        found.append(number)
    return found
