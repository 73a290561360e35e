"""Programs are found by name or path, and can be hidden."""

import sys
from pathlib import Path

import pytest

from treespan.core.programs import find_program

pytestmark = pytest.mark.programs


@pytest.fixture
def engine(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A program on the PATH."""
    path = tmp_path / "some-engine"
    path.write_text("#!/bin/sh\n")
    path.chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path))
    return path


def test_programs_are_found_on_the_path(engine: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("TREESPAN_HIDE_PROGRAMS", raising=False)
    assert find_program("some-engine") == str(engine)
    assert find_program("no-such-engine") is None


def test_hidden_programs_are_found_by_their_path_alone(engine: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TREESPAN_HIDE_PROGRAMS", "1")
    assert find_program("some-engine") is None
    assert find_program(str(engine)) == str(engine)
    assert find_program(sys.executable) == sys.executable
