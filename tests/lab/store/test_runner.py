"""Units of work: done in order, in processes, resumed, told of, and failing."""

import os
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from treespan.core.errors import OptionError, TreespanError
from treespan.lab.store.pool import UnitError, WorkerDied
from treespan.lab.store.records import Records
from treespan.lab.store.runner import Kept, Report, Step, check_jobs, measure, results, scaled


@dataclass(frozen=True)
class Square:
    """A unit that takes no time; below 0 it fails, each number in a way of its own."""

    number: int
    weight: float = 1.0

    def run(self, kept: Kept, report: Report | None = None) -> Any:
        if self.number == -1:
            raise OptionError("no option does that; give another")
        if self.number == -2:
            raise TreespanError("it is lost")
        if self.number == -3:
            raise ZeroDivisionError("division by zero")
        if self.number == -4:
            os._exit(3)
        if self.number == -5:
            raise KeyboardInterrupt
        if report:
            report(0.5)
        return {"square": self.number**2}

    def key(self) -> dict[str, str | int]:
        return {"number": self.number}

    def describe(self) -> str:
        return f"square of {self.number}"

    def expected_seconds(self) -> float:
        return self.weight

    def obstacle(self) -> str | None:
        return None

    def networks(self) -> list[str]:
        return []


@pytest.mark.parametrize("jobs", [1, 2])
def test_all_units_are_done(jobs: int) -> None:
    units = [Square(number) for number in range(5)]
    found = measure(units, jobs=jobs)
    assert found == {unit: {"square": unit.number**2} for unit in units} and list(found) == units


def test_steps_are_weighed_by_the_time_that_units_take() -> None:
    told: list[Step[Square]] = []
    measure([Square(1, 3.0), Square(2, 1.0)], on_step=told.append)
    assert [step.done for step in told] == [0.0, 0.375, 0.75, 0.75, 0.875, 1.0]
    assert [step.share for step in told] == [0.0, 0.5, 1.0] * 2
    assert [str(step) for step in told[2:4]] == ["1 of 2: square of 1", "2 of 2: square of 2"]
    told.clear()
    measure([Square(1)], on_step=scaled(told.append, 0.5, 1.0))
    assert [step.done for step in told] == [0.5, 0.75, 1.0]


def test_what_is_recorded_is_not_done_again(tmp_path: Path) -> None:
    done: list[Any] = []
    with Records(tmp_path / "some.jsonl") as records:
        for last in (2, 3):
            found = measure([Square(number) for number in range(last)], records, on_step=done.append)
            assert len(found) == last
    assert [step.unit.number for step in done if step.share == 1.0] == [0, 1, 2]


def test_an_interrupt_keeps_what_is_done(tmp_path: Path) -> None:
    with Records(tmp_path / "some.jsonl") as records:
        with pytest.raises(KeyboardInterrupt):
            measure([Square(2), Square(-5), Square(3)], records)
        assert len(records) == 1 and records.find({"number": 2}) == {"square": 4}


def test_an_error_that_is_tolerated_is_a_result_and_tried_again(tmp_path: Path) -> None:
    for _ in range(2):
        with Records(tmp_path / "some.jsonl") as records:
            found = measure([Square(-1), Square(2)], records, tolerate=(OptionError,))
            assert found[Square(-1)] == {"error": "no option does that; give another"}
    assert (tmp_path / "some.jsonl").read_text().count("error") == 2


@pytest.mark.parametrize("jobs", [1, 2])
@pytest.mark.parametrize(
    "number, error, message",
    [
        (-1, OptionError, "^no option does that; give another$"),
        (-2, UnitError, "^square of -2: it is lost$"),
        (-3, UnitError, "^square of -3: ZeroDivisionError: division by zero$"),
    ],
)
def test_other_failures_are_raised_and_name_the_unit(
    jobs: int, number: int, error: type[TreespanError], message: str
) -> None:
    with pytest.raises(error, match=message):
        measure([Square(number), Square(1)], jobs=jobs)


def test_a_process_that_dies_again_and_again_is_told(tmp_path: Path) -> None:
    with pytest.raises(WorkerDied, match=r"^square of -4: its process died 2 times \(exit status 3\)$"):
        measure([Square(-4)], jobs=2)
    with Records(tmp_path / "some.jsonl") as records, pytest.raises(WorkerDied, match="; the same command goes on"):
        measure([Square(-4)], records, jobs=2)


@dataclass(frozen=True)
class Untold(Square):
    """A unit that cannot travel."""

    def __reduce__(self) -> Any:
        raise TypeError("it stays here")


def test_a_unit_that_cannot_travel_is_one_line_with_a_remedy() -> None:
    with pytest.raises(OptionError, match=r"cannot be sent to other processes: TypeError: it stays here; give jobs=1"):
        measure([Untold(1)], jobs=2)
    assert measure([Untold(1)])[Untold(1)] == {"square": 1}


class Thing:
    """Something that is kept, and notes that it was closed."""

    def __init__(self, name: str, log: list[str]):
        self.name, self.log = name, log

    def close(self) -> None:
        self.log.append(self.name)


def test_one_thing_is_kept_from_unit_to_unit() -> None:
    log: list[str] = []
    kept = Kept()
    first = kept.get("a", lambda: Thing("a", log))
    assert kept.get("a", lambda: Thing("another", log)) is first and log == []
    kept.get("b", lambda: Thing("b", log))
    assert log == ["a"]
    list(results([Square(1)], kept=kept))  # what is kept is closed with the run
    assert log == ["a", "b"]


def test_numbers_of_jobs_are_checked() -> None:
    with pytest.raises(OptionError, match=r"jobs=0 is out of range; give 1..1024"):
        check_jobs(0)
    with pytest.raises(OptionError, match="jobs=2: this measures real time on all cores; leave it out"):
        check_jobs(2, "this")
    check_jobs(1, "this")
