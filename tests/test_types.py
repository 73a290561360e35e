"""What editors and type checkers see: of the public names, and of our own functions."""

import ast
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
from treespan.games.declarations import REQUIRED_RULES
from treespan.games.rules import OPTIONAL_RULES

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


# Our own functions: those that Numba compiles have no types, all others have them.

COMPILING = {"njit", "njit_inline", "njit_unit", "question", "intrinsic"}  # decorators
RULES = {*REQUIRED_RULES, *OPTIONAL_RULES}


def functions_below(node: ast.AST, owner: ast.AST) -> Iterator[tuple[ast.FunctionDef, ast.AST]]:
    """Functions and methods in a piece of source, each with what it stands in."""
    for child in ast.iter_child_nodes(node):
        if isinstance(child, ast.FunctionDef):
            yield child, owner
        yield from functions_below(child, child if isinstance(child, ast.FunctionDef | ast.ClassDef) else owner)


def decorators_of(function: ast.FunctionDef) -> set[str]:
    return {ast.unparse(decorator).partition("(")[0] for decorator in function.decorator_list}


def is_compiled(function: ast.FunctionDef, owner: ast.AST) -> bool:
    decorators = decorators_of(function)
    is_rule = function.name in RULES or function.name.startswith("playout_")
    return bool(decorators & COMPILING) or (
        is_rule and isinstance(owner, ast.ClassDef) and "staticmethod" in decorators
    )


def untyped_parts(function: ast.FunctionDef, owner: ast.AST) -> list[str]:
    """Names of parameters without a type, and `return` if it has none."""
    parameters = [*function.args.posonlyargs, *function.args.args, *function.args.kwonlyargs]
    parameters += filter(None, [function.args.vararg, function.args.kwarg])
    if isinstance(owner, ast.ClassDef) and "staticmethod" not in decorators_of(function):
        del parameters[0]  # self or cls
    missing = [parameter.arg for parameter in parameters if parameter.annotation is None]
    return missing + (["return"] if function.returns is None and function.name != "__init__" else [])


def test_a_function_has_types_unless_it_is_compiled() -> None:
    compiled, plain, wrong = 0, 0, []
    for path in [*ROOT.glob("src/**/*.py"), *ROOT.glob("bench/*.py")]:
        for function, owner in functions_below(tree := ast.parse(path.read_text()), tree):
            missing = untyped_parts(function, owner)
            place = f"{path.relative_to(ROOT)}:{function.lineno}: {function.name}"
            if is_compiled(function, owner):
                compiled += 1
                if function.returns or len(missing) <= len(function.args.args):
                    wrong.append(f"{place} is compiled, so Numba infers its types")
            else:
                plain += 1
                if missing:
                    wrong.append(f"{place} needs types: {', '.join(missing)}")
    assert compiled > 400 and plain > 1000 and not wrong, "\n".join(wrong)
