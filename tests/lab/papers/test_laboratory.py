"""Runs of studies: resumed without loss or repetition, stopped by anything, in one process or several."""

import json
import resource
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from tests.support.studies import BLOCK, GAMES, PLAYERS, SEARCHES, STUDY, cells, run
from treespan.core.errors import OptionError, TreespanError
from treespan.lab.measure.searches import search_of
from treespan.lab.papers import laboratory, units
from treespan.lab.papers.laboratory import Backlog, machine, plan_work, require_runnable, run_study
from treespan.lab.papers.study import Cell, StudyError, mean_of
from treespan.lab.papers.units import MatchGame
from treespan.lab.store.records import Records, RecordsError, read_records
from treespan.lab.store.runner import Kept, Step, do_unit


def figures(path: Path) -> dict[str, Any]:
    """What is recorded, without times."""
    found = {}
    for key, recorded, _ in read_records(path):
        if "run" not in key:
            found[json.dumps(key)] = {name: value for name, value in recorded.items() if "second" not in name}
    return found


def test_a_larger_scale_goes_on_from_a_smaller_one(tmp_path: Path) -> None:
    path = tmp_path / "test.jsonl"
    assert len(run(path, "smoke").pending) == 4
    work = run(path, "desk")
    assert work.done == 4 and work.pending == GAMES[2:]
    assert run(path, "full").pending == []
    assert len(figures(path)) == 6


def test_processes_find_the_same(tmp_path: Path) -> None:
    run(tmp_path / "one.jsonl")
    run(tmp_path / "two.jsonl", jobs=2)
    assert figures(tmp_path / "one.jsonl") == figures(tmp_path / "two.jsonl")


def test_an_interrupted_run_loses_and_repeats_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path, done = tmp_path / "test.jsonl", list[Any]()

    def note(step: Step[Any]) -> None:
        if step.share == 1.0 and step.unit not in done:
            done.append(step.unit)

    def interrupt(step: Step[Any]) -> None:
        if step.share == 0.0 and len(done) == 3:
            raise KeyboardInterrupt
        note(step)

    with pytest.raises(KeyboardInterrupt):
        run(path, on_step=interrupt)
    path.write_bytes(path.read_bytes() + b'{"treespan": "0.')  # as a killed process leaves it
    work = run(path, on_step=note)
    assert work.done == 3 and done == [*GAMES, *SEARCHES]
    whole = tmp_path / "whole.jsonl"
    run(whole)
    assert figures(path) == figures(whole)


def test_a_full_disk_stops_with_what_is_done(tmp_path: Path) -> None:
    path = tmp_path / "test.jsonl"
    with Records(path) as records:
        work = plan_work(STUDY, "desk", records)
        before = resource.getrlimit(resource.RLIMIT_FSIZE)

        def fill_up(step: Step[Any]) -> None:
            if step.share < 1.0:
                return
            resource.setrlimit(resource.RLIMIT_FSIZE, (path.stat().st_size + 50, before[1]))

        try:
            with pytest.raises(RecordsError, match=r"the 2 records before are kept: make room and run"):
                run_study(STUDY, work, records, "a command", on_step=fill_up)
        finally:
            resource.setrlimit(resource.RLIMIT_FSIZE, before)
    assert run(path).pending == work.pending[1:]


def test_the_run_and_its_machine_are_recorded_once(tmp_path: Path) -> None:
    path = tmp_path / "test.jsonl"
    run(path, "smoke")
    run(path, "desk")
    runs = [(key, recorded) for key, recorded, _ in read_records(path) if "run" in key]
    ((key, recorded),) = runs
    assert key["command"] == "treespan paper run test.table" and key["run"] == "test.table"
    assert {name: key[name] for name in machine()} == machine() and recorded == {"skipped": {}, "profiles": {}}


def test_the_costs_of_a_simulated_network_are_recorded(tmp_path: Path) -> None:
    unit = search_of("tictactoe", "tds-uct", "simulated", 2, 20)
    work = Backlog([unit], 0, {})
    with Records(tmp_path / "test.jsonl") as records:
        laboratory.note_run(STUDY, records, "a command", work)
    ((_, recorded, _),) = read_records(tmp_path / "test.jsonl")
    assert recorded["profiles"]["qdr"]["latency"] == 1.5e-6
    other = replace(unit, plan=replace(unit.plan, network="10gbe"))
    assert unit.key()["profile"] != other.key()["profile"]
    player = "--scheme tds-uct --simulate 2"
    assert MatchGame("go", player, f"{player} --network 10gbe", 0).networks() == ["qdr", "10gbe"]
    assert "profile" not in GAMES[0].key()


@pytest.mark.programs
def test_a_missing_program_skips_its_units(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TREESPAN_HIDE_PROGRAMS", "1")
    gnugo = MatchGame("go:size=5", PLAYERS[0], "gtp: gnugo --mode gtp", 0)
    study = replace(STUDY, cells=lambda scale: [*cells(scale), Cell(BLOCK, "gnugo", "rate", [gnugo], mean_of("plies"))])
    work = run(tmp_path / "test.jsonl", study=study)
    assert work.skipped == {"there is no program 'gnugo'; install the Debian package gnugo": 1}
    assert len(work.pending) == 6


def test_too_few_cores_skip_units(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(units, "usable_cores", lambda: 2)
    assert MatchGame("go", *PLAYERS, 0, threads=2).obstacle() is None
    assert MatchGame("go", *PLAYERS, 0, threads=4).obstacle() == "4 threads need as many cores; this machine has 2"


def test_an_impossible_unit_is_recorded_and_tried_again(tmp_path: Path) -> None:
    impossible = search_of("tictactoe", "shared:update=mutex", "simulated", 2, 50)
    study = replace(STUDY, cells=lambda scale: [Cell(BLOCK, "a", "b", [impossible, *SEARCHES], mean_of("depth"))])
    path = tmp_path / "test.jsonl"
    assert len(run(path, study=study).pending) == 3
    assert run(path, study=study).pending == [impossible]
    errors = [recorded["error"] for _, recorded, _ in read_records(path) if "error" in recorded]
    assert errors == ["shared: update=mutex is not simulated; leave it out"] * 2


def test_other_failures_end_the_run_and_name_the_unit() -> None:
    broken = MatchGame("tictactoe", *PLAYERS, number="no number")  # type: ignore[arg-type]
    with pytest.raises(TreespanError, match=r"game no number of '--playouts 20 .*: TypeError"):
        do_unit(broken, Kept())


def test_what_cannot_be_run_is_refused() -> None:
    for study, scale, jobs, message in (
        (STUDY, "huge", 1, "unknown scale 'huge'; known: smoke, desk, full"),
        (STUDY, "desk", 0, "jobs=0 is out of range; give 1..1024"),
        (replace(STUDY, one_job=True), "desk", 2, "jobs=2: test.table measures real time"),
    ):
        with pytest.raises(OptionError, match=message):
            require_runnable(study, scale, jobs)
    with pytest.raises(StudyError, match=r"^test.table needs the scheme nosuch, which this version does not have$"):
        require_runnable(replace(STUDY, schemes=("nosuch",)), "desk", 1)
