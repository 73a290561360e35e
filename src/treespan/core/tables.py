"""Tables as text, for terminals, logs and `str()`."""

from typing import TYPE_CHECKING, Any

from treespan.core.folding import WIDTH, fold

if TYPE_CHECKING:
    from rich.table import Table

NAMES_SHARE = 0.45  # of the width that the first column of a table that is too wide may take


def plain_table(*columns: str, right_from: int = 1) -> "Table":
    """Return an empty table. Its columns from `right_from` on hold numbers, so they are right-aligned."""
    from rich import box
    from rich.table import Table

    table = Table(box=box.SIMPLE_HEAD, pad_edge=False)
    for index, column in enumerate(columns):
        table.add_column(column, justify="right" if index >= right_from else "left")
    return table


def as_text(table: "Table", width: int = WIDTH, names: int = 1) -> str:
    """Return a table as plain text. No line ends in blanks, none is longer than `width`.

    A table that is too wide is folded: the columns that do not fit stand below, beside the first column again. Long
    names in the first column take several lines.

    names: the columns that tell a row from the others, and stand in every part.
    """
    names_width = max(int(NAMES_SHARE * width), 1) if _natural_width(table) > width else None
    parts, head, rest = [], list(table.columns[:names]), list(table.columns[names:])
    while True:
        taken = len(rest)
        while taken > 1 and _natural_width(_part(table, head + rest[:taken], names_width)) > width:
            taken -= 1
        parts.append(_print(_part(table, head + rest[:taken], names_width), width))
        rest = rest[taken:]
        if not rest:
            return "\n\n".join(parts)


def _part(table: "Table", columns: list[Any], names_width: int | None) -> "Table":
    """Return a table of some of the columns; the first is folded if it is wider than `names_width`."""
    from rich.table import Table

    part = Table(box=table.box, pad_edge=table.pad_edge, padding=table.padding)
    for column in columns:
        part.add_column(column.header, justify=column.justify)
    for name, *cells in zip(*(column.cells for column in columns), strict=True):
        part.add_row("\n".join(fold(name, names_width)) if names_width else name, *cells)
    return part


def _natural_width(table: "Table") -> int:
    from rich.console import Console
    from rich.measure import Measurement

    console = Console(width=10_000, force_jupyter=False)
    return int(Measurement.get(console, console.options, table).maximum)


def _print(table: "Table", width: int) -> str:
    from rich.console import Console

    # In a notebook Rich would display what it prints, besides
    console = Console(width=width, color_system=None, force_terminal=False, force_jupyter=False, legacy_windows=False)
    with console.capture() as capture:
        console.print(table)
    return "\n".join(line.rstrip() for line in capture.get().splitlines()).strip("\n")
