"""`treespan calibrate`, through the command line with real MPI ranks."""

import json
import re
import subprocess
import sys
from pathlib import Path

import pytest

from treespan.core.jit import JIT_DISABLED
from treespan.runtimes.network import PROFILES, load_profile

pytest.importorskip("mpi4py", reason="mpi4py is missing; pip install treespan[mpich]")
pytestmark = pytest.mark.skipif(JIT_DISABLED, reason="the MPI runtime needs the compiler")

CALIBRATE = [sys.executable, "-m", "treespan", "calibrate"]


def test_this_machine_is_measured_and_the_simulator_takes_the_profile(tmp_path: Path) -> None:
    file = tmp_path / "here.toml"
    command = [*CALIBRATE, "--seconds", "0.3", "--name", "here", "--out", str(file), "--json"]
    done = subprocess.run(command, capture_output=True, text=True, timeout=600)
    assert done.returncode == 0, done.stderr
    assert re.search(r"^measuring messages between \d+ ranks( \(load .*\))?$", done.stderr, re.MULTILINE)
    profile = load_profile(file)
    printed = json.loads(done.stdout)
    assert printed["name"] == profile.name == "here" and printed["handle"] == pytest.approx(profile.handle, rel=1e-3)
    assert "measured by treespan calibrate" in profile.source
    costs = ("overhead", "gap", "handle", "per_ply", "sequential")
    assert all(getattr(profile, cost) > 0 for cost in costs) and profile.latency >= 0
    search = [sys.executable, "-m", "treespan", "search", "pgame", "--simulate", "4", "--network", str(file), "--json"]
    done = subprocess.run(search, capture_output=True, text=True, timeout=600)
    assert json.loads(done.stdout)["playouts"] == 10_000


def test_list_names_every_profile_with_its_source() -> None:
    done = subprocess.run([*CALIBRATE, "--list", "--json"], capture_output=True, text=True, timeout=60)
    assert {entry["name"] for entry in json.loads(done.stdout)} == set(PROFILES)
    assert all(entry["source"] for entry in json.loads(done.stdout))


def test_mistakes_are_one_line() -> None:
    done = subprocess.run([*CALIBRATE, "--seconds", "0"], capture_output=True, text=True, timeout=60)
    assert done.returncode == 2 and done.stderr == "treespan: --seconds 0 is out of range; give 0.1..3600\n"


def test_help_has_examples() -> None:
    done = subprocess.run([*CALIBRATE, "--help"], capture_output=True, text=True, timeout=60)
    assert done.returncode == 0 and "Examples:" in done.stdout and "treespan calibrate --out here.toml" in done.stdout
