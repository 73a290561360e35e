"""What editors and type checkers see: of the public names, and of our own functions."""

import inspect
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from functools import cached_property
from pathlib import Path
from typing import Any

import pytest

import treespan as ts

ROOT = Path(__file__).parents[1]
SCRIPT = ROOT / "tests/support/typed_script.py"


def python_of(page: str) -> str:
    """The Python of a page. Its functions may lack types: mypy looks at the lines that call the library."""
    blocks = re.findall(r"^```python\n(.*?)^```", (ROOT / page).read_text(), flags=re.MULTILINE | re.DOTALL)
    return "\n".join(["# mypy: allow-untyped-defs", *blocks])


def test_a_users_scripts_pass_strict_checks(tmp_path: Path) -> None:
    pytest.importorskip("mypy", reason="mypy is missing; run make setup")
    shutil.copy(SCRIPT, tmp_path / "typed_script.py")
    (tmp_path / "readme.py").write_text(python_of("README.md"))
    (tmp_path / "library.py").write_text(python_of("docs/library.md"))
    (tmp_path / "wrong.py").write_text("import treespan as ts\nts.search('hex', playouts='many').visits\n")
    cache = ROOT / ".mypy_cache/strict"  # apart from the project's own, whose options are others
    command = [sys.executable, "-m", "mypy", "--strict", "--config-file=", f"--cache-dir={cache}", "."]
    done = subprocess.run(command, capture_output=True, text=True, timeout=300, cwd=tmp_path)
    found = [line for line in done.stdout.splitlines() if ": error: " in line]
    assert [line.partition(":")[0] for line in found] == ["wrong.py", "wrong.py"], done.stdout + done.stderr


def public_types() -> Iterator[tuple[str, Any]]:
    """What each public function, method and attribute says that it returns or is."""
    for name in ts.__all__:
        value = getattr(ts, name)
        if inspect.isfunction(value):
            yield name, value.__annotations__.get("return", Any)
        elif inspect.isclass(value):
            for cls in value.__mro__:
                if cls.__module__.startswith("treespan."):
                    yield from ((f"{name}.{own}", kind) for own, kind in types_of(cls) if not own.startswith("_"))


def types_of(cls: type) -> Iterator[tuple[str, Any]]:
    yield from inspect.get_annotations(cls).items()
    for name, member in vars(cls).items():
        member = getattr(member, "__func__", member)  # of static and class methods
        if isinstance(member, property):
            member = member.fget
        elif isinstance(member, cached_property):
            member = member.func
        if inspect.isfunction(member):
            yield name, member.__annotations__.get("return", Any)


def test_public_names_have_types() -> None:
    types = dict(public_types())
    assert len(types) > 200 and "SearchResult.moves" in types and "Game.new_state" in types
    assert [name for name, kind in types.items() if kind is Any] == []
