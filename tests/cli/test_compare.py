"""`treespan compare` and `treespan advise`: what they print and what they refuse."""

import json
from typing import Any

import pytest

GAME = "pgame:branching=4,depth=8"
SMALL = ("--simulate", "4", "--policy", "wait=1ms", "--playouts", "200")


def test_schemes_are_compared_in_a_table(treespan: Any) -> None:
    status, out, _ = treespan("compare", GAME, *SMALL, "--schemes", "root; span:jobs=2; sequential")
    assert status == 0
    for text in ("sequential", "root", "span:jobs=2", "dis-", "tinct", "not run: sequential: ", "2,000 playouts chose"):
        assert text in out


def test_two_jobs_find_the_same(treespan: Any) -> None:
    found = [treespan("compare", GAME, *SMALL, "--schemes", "root;leaf", "--jobs", jobs)[1] for jobs in "12"]
    assert found[0] == found[1] != ""


def test_for_machines_there_is_one_object(treespan: Any, tmp_path: Any) -> None:
    picture = tmp_path / "schemes"
    status, out, _ = treespan("compare", GAME, *SMALL, "--schemes", "root", "--json", "--plot", str(picture))
    document = json.loads(out)
    assert status == 0 and [row["scheme"] for row in document["rows"]] == ["sequential", "root"]
    assert document["files"] == [f"{picture}.png", f"{picture}.svg"] and all(map(bool, document["reference_moves"]))


MISTAKES = [
    ((), "give one of --threads, --ranks and --simulate"),
    (("--simulate", "4", "--threads", "2"), "give one of --threads, --ranks and --simulate"),
    (("--simulate", "4", "--playouts", "5", "--seconds", "1"), "--playouts and --seconds exclude each other"),
    (("--simulate", "4", "--plot", "nowhere/picture"), "there is no folder 'nowhere'"),
    (("--simulate", "4", "--schemes", "rot"), "unknown scheme 'rot'"),
    (("--simulate", "4", "--policy", "patterns"), "patterns"),
    (("--simulate", "4", "--jobs", "0"), "--jobs 0 is out of range; give 1..1024"),
    (("--threads", "2", "--jobs", "2"), "--jobs 2: a comparison on threads measures real time on all cores"),
]


@pytest.mark.parametrize(
    "options, complaint",
    [
        (("--machines", "5000"), "--machines 5000 is out of range; give 1..4096"),
        (("--playouts", "abc"), "--playouts abc is not a whole number"),
    ],
)
def test_advice_tells_mistakes_before_it_measures(
    treespan: Any, monkeypatch: Any, options: tuple[str, ...], complaint: str
) -> None:
    monkeypatch.setattr("treespan.lab.measure.calibrate.calibrate", None)
    status, out, err = treespan("advise", GAME, *options)
    assert status == 2 and out == "" and err.count("\n") == 1 and complaint in err


@pytest.mark.parametrize("options, complaint", MISTAKES)
def test_mistakes_are_told_in_one_line(treespan: Any, options: tuple[str, ...], complaint: str) -> None:
    status, out, err = treespan("compare", GAME, *options)
    assert status == 2 and out == "" and err.count("\n") == 1 and complaint in err


def test_advice_names_a_command(treespan: Any) -> None:
    options = ("--machines", "2", "--network", "qdr", "--policy", "wait=1ms", "--playouts", "300", "--searches", "1")
    status, out, _ = treespan("advise", GAME, *options)
    assert status == 0 and "advice" in out and f"mpiexec -n 2 treespan search {GAME} --scheme " in out
    assert "--bandit ucb1 --policy wait=1ms\n" in out and "predicted speed-up" in out  # as it was simulated
