"""The Makefile: an environment of another Python is not used unnoticed."""

import os
import shutil
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]


def python(path: Path, version: str) -> None:
    """A program that says it is some Python, and can do nothing."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(f"#!/bin/sh\necho Python {version}\n")
    path.chmod(0o755)


@pytest.fixture
def checkout(tmp_path: Path) -> Path:
    """A checkout whose environment is ready."""
    for name in ("Makefile", "pyproject.toml"):
        shutil.copy(ROOT / name, tmp_path)
    for folder in ("docs", "src/treespan"):
        (tmp_path / folder).mkdir(parents=True)
    python(tmp_path / ".venv/bin/python", "3.11.7")
    for stamp in (".installed-demo", ".installed"):
        (tmp_path / ".venv" / stamp).touch()
    return tmp_path


def make_setup(folder: Path, *arguments: str) -> "subprocess.CompletedProcess[str]":
    known = {name: value for name, value in os.environ.items() if name not in ("PYTHON", "MAKEFLAGS", "MAKELEVEL")}
    command = ["make", "setup", *arguments]
    return subprocess.run(command, cwd=folder, env=known, capture_output=True, text=True, timeout=60)


def test_environment_of_another_python_is_refused(checkout: Path) -> None:
    python(checkout / "other", "3.13.0")
    done = make_setup(checkout, "PYTHON=./other")
    assert done.returncode != 0
    told = ".venv has Python 3.11.7, but PYTHON=./other is Python 3.13.0; run make clean first, or leave out PYTHON"
    assert done.stderr.splitlines()[0] == told


def test_environment_of_the_same_python_is_used(checkout: Path) -> None:
    python(checkout / "same", "3.11.9")
    for arguments in ([], ["PYTHON=./same"]):
        done = make_setup(checkout, *arguments)
        assert done.returncode == 0, done.stderr
