"""A table of the laboratory: cells, each with its units of work and the figure that was published.

    Study   a table or figure: its key, claim, schemes, and its cells at a scale
    Cell    one figure: a block (sub-table), row and column, units of work, and how their records become a value
    Sheet   a study filled in with the records so far; a cell without records has no value

A unit of work is a `Search` or a `MatchGame`. Its result is one record.
"""

from collections.abc import Callable, Iterator, Sequence
from copy import copy
from dataclasses import dataclass, replace
from statistics import fmean

from treespan.core.errors import OptionError, TreespanError
from treespan.lab.match.statistics import Score, wilson
from treespan.lab.store.records import Figures, Key, key_text
from treespan.lab.store.runner import RecordedUnit
from treespan.schemes.registry import SCHEMES, read_scheme

SCALES = ("smoke", "desk", "full")


@dataclass(frozen=True)
class Value:
    """A measured figure and its range: the 95 % interval of a rate, or the extremes of a mean."""

    mean: float
    low: float
    high: float
    count: int  # records behind it
    is_interval: bool = False


Reduce = Callable[[Sequence[Figures]], Value | None]


def mean_of(figure: str | Callable[[Figures], float | None]) -> Reduce:
    """Return a function: the mean and extremes of a figure over problems; None if a record lacks the figure."""
    read = figure if callable(figure) else (lambda record: record[figure])

    def reduce(records: Sequence[Figures]) -> Value | None:
        values = [float(value) for record in records if (value := read(record)) is not None]
        return Value(fmean(values), min(values), max(values), len(values)) if len(values) == len(records) else None

    return reduce


def share_of(figure: str | Callable[[Figures], float | None]) -> Reduce:
    """Return a function: how often a figure is true, with the 95 % interval."""
    mean = mean_of(figure)

    def reduce(records: Sequence[Figures]) -> Value | None:
        value = mean(records)
        return value and Value(value.mean, *wilson(value.mean, value.count), value.count, is_interval=True)

    return reduce


def score_of_first(records: Sequence[Figures]) -> Score:
    """Return the score of the player who moved first."""
    wins = sum(record["winner"] == record["first"] for record in records)
    draws = sum(record["winner"] is None for record in records)
    return Score(wins, len(records) - wins - draws, draws)


def score_of_a(records: Sequence[Figures]) -> Score:
    wins, draws = (sum(record["winner"] == who for record in records) for who in ("A", None))
    return Score(wins, len(records) - wins - draws, draws)


def win_rate(score: Callable[[Sequence[Figures]], Score]) -> Reduce:
    """Return a function: the win rate of a score, with its 95 % interval."""

    def reduce(records: Sequence[Figures]) -> Value:
        counted = score(records)
        return Value(counted.rate, *wilson(counted.rate, counted.games), counted.games, is_interval=True)

    return reduce


@dataclass(frozen=True)
class Block:
    """A sub-table: figures of one kind."""

    title: str
    plot: "Plot | None" = None


@dataclass(frozen=True)
class Plot:
    """A picture of a block: its columns against the rows' `x`."""

    x_label: str
    y_label: str
    is_log: bool = False  # both axes are logarithmic; else x is, if it has a wide range
    has_ideal: bool = False  # with a line y = x


@dataclass(frozen=True)
class Cell:
    """One figure of a table."""

    block: Block
    row: str
    column: str
    units: Sequence[RecordedUnit]
    reduce: Reduce
    published: float | None = None
    is_share: bool = False  # shown in per cent
    x: float | None = None  # its place in a plot
    needs_all: bool = False  # it has no value before all units are done

    @property
    def place(self) -> tuple[str, str, str]:
        return self.block.title, self.row, self.column


@dataclass(frozen=True)
class Map:
    """A picture of the best of several schemes, over a grid of two conditions."""

    title: str
    x_label: str
    y_label: str
    columns: list[str]
    rows: list[str]
    best: dict[tuple[str, str], tuple[str, float]]  # by row and column: a name and its figure, if any is good


@dataclass(frozen=True)
class Verdict:
    """A claim, with the number of comparisons that confirm it, of those that could be made."""

    claim: str
    held: int
    compared: int
    possible: int

    def __str__(self) -> str:
        if not self.compared:
            return f"{self.claim}: not run."
        rest = self.possible - self.compared
        missing = f" ({rest} not run)" if rest else ""
        verdict = "holds" if self.held == self.compared else ("holds in part" if self.held else "does not hold")
        return f"{self.claim}: {verdict}, in {self.held} of {self.compared} comparisons{missing}."


class StudyError(TreespanError):
    """A study cannot be run."""


@dataclass(frozen=True)
class Study:
    """A table or figure of a paper, or one of ours."""

    key: str
    title: str
    runtime: str  # in words
    cells: Callable[[str], list[Cell]]  # at a scale
    schemes: tuple[str, ...] = ()  # specs of the schemes that it needs
    needs: str = ""  # what else it needs, in words
    simulated: bool = True  # the schemes must run on simulated ranks
    findings: Callable[["Sheet"], list[Verdict]] = lambda sheet: []
    notes: Callable[["Sheet"], list[str]] = lambda sheet: []  # further conclusions from the figures
    map: Callable[["Sheet"], Map] | None = None  # the whole study as one picture
    remark: str = ""  # how ours differs from the paper's, and what follows
    store: str = ""  # key of the study whose records it shares; empty: its own
    one_job: bool = False  # it measures real time: nothing else may run beside it

    @property
    def paper(self) -> str:
        return self.key.partition(".")[0]

    def unavailable(self) -> str | None:
        """Why the study cannot be run, in one line; None if it can."""
        for spec in self.schemes:
            name = spec.partition(":")[0]
            if name not in SCHEMES:
                return f"needs the scheme {name}, which this version does not have"
            if self.simulated and not SCHEMES[name].on_ranks:
                return f"needs the scheme {name} on simulated ranks; it runs on threads only"
            try:
                read_scheme(spec)
            except TreespanError as error:
                return f"needs the scheme {spec}: {error}"
        return None

    def units(self, scale: str) -> list[RecordedUnit]:
        """Return all units of work of a scale, each once, in the order of the cells."""
        found: dict[RecordedUnit, None] = {}
        for cell in self.cells_at(scale):
            found.update(dict.fromkeys(cell.units))
        return list(found)

    def cells_at(self, scale: str) -> list[Cell]:
        """Return the cells of a scale; an empty list if they name a scheme that is missing."""
        try:
            return self.cells(scale)
        except OptionError:
            if self.unavailable():
                return []
            raise


@dataclass(frozen=True)
class FilledCell:
    """A cell with its value from the records."""

    cell: Cell
    value: Value | None
    obstacle: str | None = None  # why it was not run

    @property
    def ratio(self) -> float | None:
        """Our figure over the published one."""
        if self.value is None or not self.cell.published:
            return None
        return self.value.mean / self.cell.published

    @property
    def is_partial(self) -> bool:
        return self.value is not None and self.value.count < len(self.cell.units)


Find = Callable[[Key], Figures | None]


class Sheet:
    """A study's cells at one scale, with values from the records. Cells that only the full table has are empty."""

    def __init__(self, study: Study, scale: str, find: Find):
        self.study, self.scale = study, scale
        self.cells: dict[tuple[str, str, str], FilledCell] = {}
        self._full_trees: set[str] = set()
        self.faults = 0
        measured = {cell.place: cell for cell in study.cells_at(scale)}
        for cell in [*study.cells_at("full"), *measured.values()]:
            if cell.place not in self.cells:
                self.cells[cell.place] = self._fill(measured.get(cell.place), cell, find)

    def _fill(self, measured: Cell | None, cell: Cell, find: Find) -> FilledCell:
        if measured is None:
            return FilledCell(cell, None)
        keys = [unit.key() for unit in measured.units]
        found = [record for key in keys if (record := find(key)) is not None]
        records = [record for record in found if "error" not in record]
        if any(record.get("tree_full") for record in found):
            self._full_trees |= {key_text(key) for key in keys if (find(key) or {}).get("tree_full")}
        self.faults += sum(record.get("reason", "score") not in ("score", "resignation") for record in records)
        if len(records) == len(measured.units) > 0 or (records and not measured.needs_all):
            return FilledCell(measured, measured.reduce(records))
        obstacles = [record.get("error") for record in found]
        obstacles += [unit.obstacle() for unit in measured.units[:1]]  # the units of a cell are of one kind
        return FilledCell(measured, None, next(filter(None, obstacles), None))

    def __iter__(self) -> Iterator[FilledCell]:
        return iter(self.cells.values())

    def blocks(self) -> list[Block]:
        return list({filled.cell.block.title: filled.cell.block for filled in self}.values())

    def of(self, block: Block) -> list[FilledCell]:
        return [filled for filled in self if filled.cell.block.title == block.title]

    def value(self, block: Block, row: str, column: str) -> Value | None:
        filled = self.cells.get((block.title, row, column))
        return filled.value if filled else None

    def settled(self) -> "Sheet":
        """Return the sheet without cells that are done in part: a few games prove nothing."""
        sheet = copy(self)
        sheet.cells = {
            place: replace(filled, value=None) if filled.is_partial else filled for place, filled in self.cells.items()
        }
        return sheet

    @property
    def full_trees(self) -> int:
        """Return the number of searches whose tree was full. A search counts once, even if several cells need it."""
        return len(self._full_trees)

    @property
    def done(self) -> int:
        return sum(filled.value is not None for filled in self)


Pairs = Sequence[tuple[Value | None, Value | None]]


def compare(claim: str, pairs: Pairs, test: Callable[[float, float], bool]) -> Verdict:
    """Return how often `test` holds for the means of two values. Pairs with a value that was not run do not count."""
    known = [(a, b) for a, b in pairs if a is not None and b is not None]
    return Verdict(claim, sum(test(a.mean, b.mean) for a, b in known), len(known), len(pairs))


def judge(claim: str, values: Sequence[Value | None], test: Callable[[Value], bool]) -> Verdict:
    """Return how often `test` holds for a value. Values that were not run do not count."""
    known = [value for value in values if value is not None]
    return Verdict(claim, sum(map(test, known)), len(known), len(values))
