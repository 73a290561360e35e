"""The laboratory's report: for each study the published figures, ours, their ratio, and whether the claim holds.

`read_results` collects the results from the records of a folder; `markdown.py` and `webpage.py` write the report.
"""

from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from treespan.lab.papers.laboratory import records_path
from treespan.lab.papers.registry import STUDIES
from treespan.lab.papers.study import SCALES, FilledCell, Sheet, Study, Verdict
from treespan.lab.store.records import Figures, Key, key_text, read_records

CLOSE = 0.15  # a figure without an interval agrees with the published one if it differs by at most this share


@dataclass(frozen=True)
class Origin:
    """A command that contributed records, and the machine that it ran on."""

    command: str
    machine: dict[str, str | int]
    skipped: dict[str, int]
    profiles: dict[str, dict[str, str | float]]  # of simulated networks


@dataclass(frozen=True)
class Result:
    """The results of a study."""

    study: Study
    sheet: Sheet
    runs: list[Origin]
    unavailable: str | None
    done: int  # units of work
    planned: int
    older_sources: int = 0  # records of any scale that other sources of this version made

    @property
    def was_run(self) -> bool:
        return self.sheet.done > 0

    @property
    def hindrance(self) -> str | None:
        """Why nothing of the study can be run here; None if a part can."""
        if self.unavailable:
            return self.unavailable
        cells = [cell for cell in self.study.cells_at(self.sheet.scale) if cell.units]
        obstacles = [obstacle for cell in cells if (obstacle := self.sheet.cells[cell.place].obstacle)]
        return "; ".join(dict.fromkeys(obstacles)) if obstacles and len(obstacles) == len(cells) else None

    @property
    def compares(self) -> bool:
        """Whether the figures can be compared with the paper's. Those of a smoke test cannot."""
        return self.sheet.scale != "smoke"

    def findings(self) -> list[Verdict]:
        """Return the verdicts on the claims, and how many figures agree with the published ones."""
        return [*self.study.findings(self.sheet.settled()), *self._agreement()] if self.compares else []

    def as_json(self) -> dict[str, Any]:
        cells = []
        for filled in self.sheet:
            block, row, column = filled.cell.place
            value = asdict(filled.value) if filled.value else None
            place = {"block": block, "row": row, "column": column, "published": filled.cell.published}
            cells.append({**place, "value": value, "ratio": filled.ratio, "obstacle": filled.obstacle})
        return {
            "key": self.study.key,
            "title": self.study.title,
            "runtime": self.study.runtime,
            "scale": self.sheet.scale,
            "done": self.done,
            "planned": self.planned,
            "cells": cells,
            "findings": [asdict(finding) for finding in self.findings()],
            "remarks": self.remarks(),
        }

    def _agreement(self) -> list[Verdict]:
        compared = [filled for filled in self.sheet.settled() if filled.cell.published is not None]
        if not compared:
            return []
        known = [filled for filled in compared if filled.value is not None]
        claim = f"Published figures are met (within our 95 % interval, or within {CLOSE:.0%})"
        return [Verdict(claim, sum(map(agrees, known)), len(known), len(compared))]

    def remarks(self) -> list[str]:
        """Return remarks on the figures for the reader."""
        found = []
        if self.done < self.planned:
            found.append(f"{self.done:,} of the {self.planned:,} units of work of scale {self.sheet.scale} are done.")
        if not self.compares:
            found.append("Scale smoke only shows that everything works: its figures mean nothing.")
        if self.older_sources:
            found.append(f"{self.older_sources:,} records were made by other sources of this version.")
        if self.sheet.full_trees:
            found.append(f"The tree was full in {self.sheet.full_trees} searches.")
        if self.sheet.faults:
            found.append(f"{self.sheet.faults} games were lost by a player's fault, not on the board.")
        skipped = {f"{count} units skipped: {why}." for run in self.runs for why, count in run.skipped.items()}
        return found + sorted(skipped)


def agrees(filled: FilledCell) -> bool:
    """Return whether a measured figure agrees with the published one."""
    value, published = filled.value, filled.cell.published
    assert value is not None and published is not None
    if value.is_interval and value.low <= published <= value.high:
        return True
    return abs(value.mean - published) <= CLOSE * abs(published)


def read_result(study: Study, folder: Path, scale: str | None = None) -> Result:
    """Return the results of a study from the records of a folder.

    scale: None: the greatest scale that is done; if none is, the greatest that has begun.
    """
    path = records_path(folder, study)
    records: dict[str, Figures] = {}
    runs = []
    older = 0
    for key, figures, is_older in read_records(path):
        if "run" in key:
            if key["run"] in (study.key, study.store):
                runs.append(_run(key, figures))
        else:
            records[key_text(key)] = figures
            older += is_older

    def share_done(scale: str) -> tuple[int, int]:
        units = study.units(scale)
        return sum(key_text(unit.key()) in records for unit in units), len(units)

    counts = {scale: share_done(scale) for scale in SCALES} if records else {}
    finished = [scale for scale, (done, planned) in counts.items() if done == planned > 0]
    begun = sorted(
        (scale for scale in counts if counts[scale][0]), key=lambda scale: counts[scale][0] / counts[scale][1]
    )
    scale = scale or (finished[-1] if finished else (begun[-1] if begun else "full"))
    sheet = Sheet(study, scale, lambda key: records.get(key_text(key)) if records else None)
    done, planned = counts.get(scale, (0, 0))
    return Result(study, sheet, runs, study.unavailable(), done, planned, older)


def _run(key: Key, figures: Figures) -> Origin:
    machine = {name: value for name, value in key.items() if name not in ("run", "command")}
    return Origin(str(key["command"]), machine, figures["skipped"], figures["profiles"])


def read_results(folder: Path) -> list[Result]:
    """Return the results of all studies, whether they were run or not."""
    return [read_result(study, folder) for study in STUDIES.values()]
