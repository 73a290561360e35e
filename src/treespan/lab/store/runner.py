"""Runs units of work: one after another in this process, or several at once in processes of their own.

All measurements go through here. A unit has a method `run` that does its work. Units with a key can have their figures
recorded, and are not measured again then. After Ctrl-C all finished units are recorded.
"""

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, Generic, Protocol, TypeVar

from treespan.core.errors import OptionError, TreespanError, for_library, named
from treespan.core.options import check_range
from treespan.lab.store.pool import UnitError, WorkerDied, do_in_processes
from treespan.lab.store.records import Figures, Records

MAX_JOBS = 1024

Report = Callable[[float], None]  # called with the share of a unit that is done


class Kept:
    """A single thing that a process keeps from one unit to the next, such as the two players of a match."""

    def __init__(self) -> None:
        self._key: Any = None
        self._thing: Any = None

    def get(self, key: Any, make: Callable[[], Any]) -> Any:
        """Return the thing kept under this key. If there is none, close the other thing and make a new one."""
        if self._thing is None or self._key != key:
            self.close()
            self._thing, self._key = make(), key
        return self._thing

    def close(self) -> None:
        thing, self._thing = self._thing, None
        if thing is not None:
            thing.close()


class Unit(Protocol):
    """A piece of work. It can be hashed, and pickled for other processes."""

    def run(self, kept: Kept, report: Report | None = None, /) -> Any:
        """Do the work. Returns the result. Raises KeyboardInterrupt if Ctrl-C has cut it short."""

    def describe(self) -> str: ...

    def expected_seconds(self) -> float:
        """Return about how long it takes: good enough for a progress bar."""


class RecordedUnit(Unit, Protocol):
    """A unit whose figures can be recorded."""

    def key(self) -> dict[str, str | int]:
        """Return the key of its record."""

    def obstacle(self) -> str | None:
        """Return why it cannot be done on this machine; None if it can."""

    def networks(self) -> list[str]:
        """Return the names of the simulated networks that it uses."""


U = TypeVar("U", bound=Unit)
R = TypeVar("R", bound=RecordedUnit)


@dataclass(frozen=True)
class Step(Generic[U]):
    """How far a run has come. `str()` returns a line for people."""

    unit: U  # the unit that runs or is done
    share: float  # of the unit that is done
    number: int  # of the unit in the run, from 1
    count: int  # units of the run
    done: float  # share of the whole run

    def __str__(self) -> str:
        return f"{self.number:,} of {self.count:,}: {self.unit.describe()}"


OnStep = Callable[[Step[Any]], None]  # called when a unit begins, while it runs in this process, and when it is done
Errors = tuple[type[TreespanError], ...]


def scaled(on_step: OnStep | None, start: float, end: float) -> OnStep | None:
    """Return an `on_step` for a part of a run: its share, 0 to 1, becomes `start` to `end` of the whole run."""
    if on_step is None:
        return None
    whole: OnStep = on_step
    return lambda step: whole(replace(step, done=start + (end - start) * step.done))


def check_jobs(jobs: int, real_time: str | None = None) -> None:
    """Raise OptionError if the number of jobs is out of range, or above 1 although real time is measured.

    real_time: what measures real time, in words.
    """
    check_range("jobs", jobs, 1, MAX_JOBS)
    if jobs > 1 and real_time:
        raise OptionError(f"{named('jobs', jobs)}: {real_time} measures real time on all cores; leave it out")


def measure(
    units: Iterable[R],
    records: Records | None = None,
    jobs: int = 1,
    on_step: OnStep | None = None,
    tolerate: Errors = (),
) -> dict[R, Figures]:
    """Return the figures of the units: those in the records, and new ones, which are recorded at once.

    A unit that fails with one of the errors in `tolerate` gets the figure `error`; the next run tries it again.
    """
    found: dict[R, Figures] = {}
    for unit in units:
        record = records.find(unit.key()) if records is not None else None
        found[unit] = {} if record is None or "error" in record else record

    def keep(unit: R, figures: Figures) -> None:
        if records is not None:
            records.append(unit.key(), {"error": for_library(figures["error"])} if "error" in figures else figures)

    try:
        for unit, figures in results([u for u, record in found.items() if not record], jobs, on_step, tolerate, keep):
            found[unit] = figures
    except WorkerDied as death:
        if records is None:
            raise
        raise WorkerDied(f"{death.message}; the same command goes on after the finished units") from None
    return found


def results(
    units: Sequence[U],
    jobs: int = 1,
    on_step: OnStep | None = None,
    tolerate: Errors = (),
    keep: Callable[[U, Any], None] | None = None,
    kept: Kept | None = None,
) -> Iterator[tuple[U, Any]]:
    """Run the units. Yields each with its result, in the order in which they are ready. Closing the generator ends all.

    keep: called with a result before `on_step` is told that the unit is done.
    kept: used by units in this process.
    """
    weights = [max(unit.expected_seconds(), 1e-9) for unit in units]
    number_of = {unit: number for number, unit in enumerate(units, start=1)}
    total, done = sum(weights), 0.0

    def tell(unit: U, share: float, number: int) -> None:
        if on_step:
            on_step(Step(unit, share, number, len(units), (done + share * weights[number_of[unit] - 1]) / total))

    do = partial(do_unit, tolerate=tolerate)
    ready = do_in_processes(do, units, jobs) if jobs > 1 else _do_here(do, units, tell, number_of, kept)
    for number, (unit, result) in enumerate(ready, start=1):
        if keep:
            keep(unit, result)
        tell(unit, 1.0, number)
        done += weights[number_of[unit] - 1]
        yield unit, result


def _do_here(
    do: Callable[..., Any],
    units: Sequence[U],
    tell: Callable[[U, float, int], None],
    number_of: dict[U, int],
    kept: Kept | None,
) -> Iterator[tuple[U, Any]]:
    own = kept or Kept()
    try:
        for unit in units:
            number = number_of[unit]
            tell(unit, 0.0, number)
            yield unit, do(unit, own, partial(_tell_share, tell, unit, number))
    finally:
        own.close()


def _tell_share(tell: Callable[[U, float, int], None], unit: U, number: int, share: float) -> None:
    tell(unit, min(share, 1.0), number)


def do_unit(unit: Unit, kept: Kept, report: Report | None = None, tolerate: Errors = ()) -> Any:
    """Return the result of a unit, or, if it fails with an error in `tolerate`, why. Other errors name the unit."""
    try:
        return unit.run(kept, report)
    except tolerate as error:
        return {"error": error.message}
    except OptionError:  # its message says enough
        raise
    except TreespanError as error:
        raise UnitError(f"{unit.describe()}: {error.message}") from error
    except Exception as error:
        raise UnitError(f"{unit.describe()}: {type(error).__name__}: {error}") from error
