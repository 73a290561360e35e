"""`treespan speedup`: what it prints, what it refuses, and how it ends and goes on."""

import json
import re
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest

from tests.support.interrupts import hear_interrupts
from treespan.cli import main
from treespan.cli.speedup import file_name, worker_points
from treespan.core.jit import JIT_DISABLED
from treespan.games.registry import make_game
from treespan.lab.measure.speedup import Scaling
from treespan.library.tables import three_digits
from treespan.schemes.registry import read_scheme

PLAYOUTS = "40" if JIT_DISABLED else "400"
SMALL = ("pgame:branching=4", "--scheme", "tds-dfuct", "--playouts", PLAYOUTS, "--problems", "2")


@pytest.fixture
def speedup(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path) -> Any:
    """Run the command in this process and an empty folder. Returns exit status, stdout and stderr."""
    monkeypatch.chdir(tmp_path)

    def run(*arguments: str) -> tuple[Any, str, str]:
        monkeypatch.setattr(sys, "argv", ["treespan", "speedup", *arguments])
        with pytest.raises(SystemExit) as stop:
            main()
        captured = capsys.readouterr()
        return stop.value.code, captured.out, captured.err

    return run


def test_table_names_every_figure_and_file(speedup: Any) -> None:
    pytest.importorskip("matplotlib")
    status, out, err = speedup(*SMALL, "--simulate", "1,3", "--policy", "wait=1ms")
    assert (status, err) == (0, "")
    words = "runtime N playouts/s speed-up best share depth optimal messages reports load end"
    assert not [word for word in words.split() if word not in out]
    assert len(re.findall(r"^ simulated +[13] ", out, re.MULTILINE)) == 4 and "…" not in out  # two parts
    flat = " ".join(out.split())  # where lines are folded depends on the number of playouts
    assert "sequential:algorithm=dfuct" in flat and "means of 2 problems, network qdr" in flat
    stem = f"results/speedup/pgame-branching-4-tds-dfuct-policy-wait-1ms-{PLAYOUTS}"
    assert all(Path(stem + suffix).stat().st_size > 0 and stem + suffix in out for suffix in (".jsonl", ".png", ".svg"))


def test_json_has_the_rows_and_resumes(speedup: Any) -> None:
    arguments = (*SMALL, "--simulate", "1,3", "--out", "here", "--no-plot", "--json")
    status, out, err = speedup(*arguments)
    document = json.loads(out)
    assert (status, err) == (0, "") and out.count("\n") == 1
    assert [(row["runtime"], row["workers"]) for row in document["rows"]] == [("simulated", 1), ("simulated", 3)]
    assert document["playouts"] == int(PLAYOUTS) and document["problems"] == 2
    (file,) = document["files"]
    before = Path(file).read_bytes()
    assert before.count(b"\n") == 6
    assert json.loads(speedup(*arguments)[1]) == document and Path(file).read_bytes() == before
    speedup(*arguments, "--fresh")
    assert Path(file).with_suffix(".old.jsonl").read_bytes() == before
    assert Path(file).read_bytes() != before  # measured anew: other times of day, other wall seconds


def test_a_terminal_sees_what_runs_and_the_time_left(speedup: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.setenv("COLUMNS", "120")
    monkeypatch.setattr(sys.stderr, "isatty", lambda: True)
    status, _, err = speedup(*SMALL, "--simulate", "3", "--no-plot")
    assert status == 0 and "4 of 4: tds-dfuct" in err and "left" in err
    assert "left" not in speedup(*SMALL, "--simulate", "3", "--no-plot")[2]  # all is done already


def test_results_of_another_version_are_refused(speedup: Any) -> None:
    arguments = (*SMALL, "--simulate", "1", "--out", "here", "--no-plot")
    speedup(*arguments)
    (file,) = Path("here").iterdir()
    file.write_text(re.sub(r'"treespan": "[^"]*"', '"treespan": "0.0.9"', file.read_text()))
    status, _, err = speedup(*arguments)
    assert status == 2 and "is of treespan 0.0.9" in err and "--fresh" in err and "--out" in err
    assert speedup(*arguments, "--fresh")[0] == 0


MISTAKES = [
    (("--simulate", "1,x"), "--simulate 1,x: 'x' is not a whole number; write for example 1,12,144"),
    (("--simulate", "0"), "--simulate 0: 0 is out of range; give at least 1"),
    (("--threads", "1,-2"), "--threads 1,-2: -2 is out of range; give at least 1"),
    (("--ranks", "1,,2"), "--ranks 1,,2: '' is not a whole number"),
    (("--threads", "5000"), "--threads 5000 is out of range; give 1..1024"),
    ((), "nothing to measure; give --ranks"),
    (("--simulate", "2", "--network", "qrd"), "unknown network profile 'qrd'; did you mean 'qdr'?"),
    (("--simulate", "2", "--policy", "wait"), "unknown policy 'wait'"),
    (("--simulate", "2", "--playouts", "many"), "--playouts many is not a whole number"),
    (("--simulate", "2", "--problems", "0"), "--problems"),
    (("--simulate", "2", "--scheme", "sequential"), "scheme sequential runs on threads only"),
    (("--simulate", "2", "--scheme", "tds"), "unknown scheme 'tds'"),
    (("--threads", "1", "--jobs", "2"), "--jobs 2: speed-up on threads measures real time on all cores"),
]


@pytest.mark.parametrize("arguments, message", MISTAKES)
def test_mistakes_are_one_line(speedup: Any, arguments: tuple[str, ...], message: str) -> None:
    status, out, err = speedup(*SMALL, *arguments)
    assert status == 2 and out == "" and err.count("\n") == 1 and message in err


def test_help_has_examples(speedup: Any) -> None:
    status, out, _ = speedup("--help")
    assert status == 0 and "Examples:" in out and "treespan speedup pgame" in out


def test_lists_keep_their_order_and_drop_repetitions() -> None:
    points = worker_points(ranks="2,1", threads="", simulate=" 1_200, 1e3,1200 ")
    assert points == (("mpi", 2), ("mpi", 1), ("simulated", 1200), ("simulated", 1000))


def test_file_names_suit_file_systems() -> None:
    example = Path(__file__).parents[2] / "examples" / "domineering.py"
    points = (("threads", 1),)
    assert (
        file_name(Scaling(make_game(f"{example}:side=4"), *read_scheme("root"), points, 50))
        == "domineering.py-side-4-root-50"
    )
    long = "root:" + ",".join(f"{name}=1.2345678" for name in ("c", "fpu", "rave_visits", "widening"))
    names = {
        file_name(Scaling(make_game("pgame:branching=150,depth=900,seed=12345"), *read_scheme(long), points, k))
        for k in range(10**8, 10**8 + 9)
    }
    assert len(names) == 9 and all(len(name) <= 120 for name in names)


def test_three_digits() -> None:
    shown = {0.0: "0.00", 0.991: "0.99", 1.0: "1.00", 11.24: "11.2", 741.2: "741", 1234.5: "1,234"}
    assert {number: three_digits(number) for number in shown} == shown


LONG_RUNS = [  # game and options; finished searches at the time of Ctrl-C, in the middle of the next
    (("tictactoe", "--simulate", "2", "--playouts", "5_000_000"), 1),
    (("pgame", "--ranks", "2", "--playouts", "100_000", "--policy", "wait=1ms"), 2),
]


@pytest.mark.skipif(JIT_DISABLED, reason="needs the compiler")
@pytest.mark.parametrize("options, finished", LONG_RUNS)
def test_interrupted_measurement_keeps_its_work(tmp_path: Path, options: tuple[str, ...], finished: int) -> None:
    if "--ranks" in options:
        pytest.importorskip("mpi4py", reason="mpi4py is missing; pip install treespan[mpich]")
    game, *more = options
    more += ["--scheme", "tds-dfuct", "--problems", "1", "--no-plot", "--out", str(tmp_path)]
    process = subprocess.Popen(
        [sys.executable, "-m", "treespan", "speedup", game, *more],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        preexec_fn=hear_interrupts,
    )

    def lines() -> int:
        return sum(file.read_bytes().count(b"\n") for file in tmp_path.iterdir())

    try:
        until = time.monotonic() + 240
        while lines() < finished and time.monotonic() < until:
            time.sleep(0.05)
        process.send_signal(signal.SIGINT)
        out, err = process.communicate(timeout=60)
    finally:
        process.kill()
    assert process.returncode == 130 and out == "" and lines() == finished
    assert f"kept: {finished} finished searches in {tmp_path}" in err and "the same command goes on" in err
