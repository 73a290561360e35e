"""Documents that quote the project must quote it as it is."""

import ast
import importlib.util
import re
import sys
from itertools import pairwise
from pathlib import Path

import pytest

from treespan.games.registry import PACKAGE_GAMES
from treespan.schemes.divided_tree.treesplit import copies
from treespan.schemes.protocol import messages
from treespan.schemes.registry import SCHEMES

ROOT = Path(__file__).parents[1]
PAGES = [*ROOT.glob("*.md"), *(path for path in ROOT.glob("docs/**/*.md") if "results" not in path.parts)]
SOURCES = sorted(ROOT.glob("src/treespan/**/*.py"))
LONGEST_LINE = 120
LEFTOVER = 30  # characters of a line that need not stand alone


def test_the_example_game_is_quoted_whole() -> None:
    assert (ROOT / "examples/domineering.py").read_text().rstrip() in (ROOT / "docs/add-a-game.md").read_text()


def test_every_scheme_and_game_has_its_place() -> None:
    readme, games = (ROOT / "README.md").read_text(), (ROOT / "docs/games.md").read_text()
    for scheme in SCHEMES:
        assert f"docs/schemes/{scheme}.md" in readme and (ROOT / f"docs/schemes/{scheme}.md").exists()
    assert all(f"| `{game}` |" in games for game in PACKAGE_GAMES)


def test_links_between_documents_lead_somewhere() -> None:
    for page in [ROOT / "README.md", *ROOT.glob("docs/**/*.md")]:
        for target in re.findall(r"\]\(([^)#:]+)(?:#[^)]*)?\)", page.read_text()):
            assert (page.parent / target).exists(), f"{page.name}: {target}"


@pytest.mark.parametrize("scheme", SCHEMES)
def test_a_scheme_has_a_diagram_of_its_messages(scheme: str) -> None:
    page, index = (ROOT / f"docs/schemes/{scheme}.md").read_text(), (ROOT / "docs/schemes/index.md").read_text()
    assert f"[{scheme}]({scheme}.md)" in index
    diagrams = re.findall(r"^```\n(.*?)^```", page, flags=re.MULTILINE | re.DOTALL)
    assert diagrams and all("│" in diagram for diagram in diagrams)
    if scheme in ("sequential", "shared"):  # they send none
        return
    kinds = {kind for diagram in diagrams for kind in re.findall(r"(?:├──|◀──) ([A-Z][A-Z_]+)", diagram)}
    assert len(kinds) > 1 and "index.md#how-to-read-the-diagrams" in page
    assert all(hasattr(messages, kind) or hasattr(copies, kind) for kind in kinds), kinds


def test_the_speed_table_is_one_that_the_benchmark_writes() -> None:
    pytest.importorskip("pyspiel", reason="OpenSpiel is missing; run make setup")
    spec = importlib.util.spec_from_file_location("speed", ROOT / "bench/speed.py")
    assert spec and spec.loader
    speed = sys.modules["speed"] = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(speed)
    readme = (ROOT / "README.md").read_text()
    rows = re.findall(r"^\| (.*) \| (.*) \| (.*) \| .* \|$", readme.partition(speed.HEADER)[2], flags=re.MULTILINE)
    figures = [[None if text == "–" else float(text.replace(",", "")) for text in row[1:]] for row in rows]
    lines = [speed.Line(row[0], ours, theirs) for row, (ours, theirs) in zip(rows, figures, strict=True)]
    assert len(lines) > 10 and speed.with_table(readme, lines) == readme


def prose_of(page: str) -> list[str]:
    """Return the lines of prose of a page: no settings, no code and no tables."""
    without_settings = re.sub(r"\A---\n.*?^---$", "", page, flags=re.MULTILINE | re.DOTALL)
    without_code = re.sub(r"^ *```.*?^ *```$", "", without_settings, flags=re.MULTILINE | re.DOTALL)
    return [line for line in without_code.split("\n") if not line.startswith(("|", "    ", "![", ":::"))]


def too_long_of(page: str) -> list[str]:
    """Return lines of prose that are too long without the targets of their links."""
    lines = [re.sub(r"\]\([^)\s]*\)", "]", line) for line in prose_of(page)]
    return [line for line in lines if len(line) > LONGEST_LINE]


def leftovers_of(page: str) -> list[str]:
    """Return short lines that go on with a sentence of the line before."""
    lines = prose_of(page)
    return [
        line
        for before, line in pairwise(lines)
        if 0 < len(line.strip()) < LEFTOVER
        and before.strip()
        and not before.startswith("#")
        and not re.search(r"[.?!:;][)*\"]*$", before)
        and not re.match(r" *([-*]|\d+\.) ", line)
    ]


@pytest.mark.parametrize("path", PAGES, ids=lambda path: str(path.relative_to(ROOT)))
def test_prose_has_a_sentence_or_clause_a_line(path: Path) -> None:
    assert [*too_long_of(path.read_text()), *leftovers_of(path.read_text())] == []


@pytest.mark.parametrize("path", SOURCES, ids=lambda path: str(path.relative_to(ROOT)))
def test_docstrings_say_returns(path: Path) -> None:
    """A function returns something; nobody must guess that it "gives" it."""
    named = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef, ast.Module)
    nodes = [node for node in ast.walk(ast.parse(path.read_text())) if isinstance(node, named)]
    found = [(getattr(node, "name", path.stem), ast.get_docstring(node) or "") for node in nodes]
    assert [name for name, text in found if re.search(r"(\A|[.:;]\s+)[Gg]ives\b", text)] == []


def test_what_counts_as_prose() -> None:
    page = (
        "---\na: b\n---\nRead [this](a/long/target.md).\n\n    code\n\n| a | table |\n\n```\nmore code\n```\nThe end."
    )
    assert [line for line in prose_of(page) if line] == ["Read [this](a/long/target.md).", "The end."]
    assert too_long_of(f"Read [this]({LONGEST_LINE * 'a'})") == [] and too_long_of(LONGEST_LINE * "ab")


def test_what_counts_as_a_leftover() -> None:
    page = "# Title\nShort.\nA sentence that goes on and\non.\nTwo things:\n- one\n- two\n  of them\n"
    assert leftovers_of(page) == ["on.", "  of them"]


def test_a_term_of_the_glossary_has_two_lines_at_most_and_is_used_elsewhere() -> None:
    page = (ROOT / "docs/glossary.md").read_text()
    entries = re.findall(r"^- (.*(?:\n  .*)*)", page, flags=re.MULTILINE)
    assert len(entries) > 50 and all(entry.count("\n") < 2 for entry in entries)
    files = [*ROOT.glob("src/treespan/**/*.py"), *(path for path in PAGES if path.name != "glossary.md")]
    elsewhere = "\n".join(path.read_text() for path in files).lower()
    terms = [term for entry in entries for term in re.findall(r"\*\*(.*?)\*\*", entry)]
    assert [term for term in terms if not re.search(rf"\b{re.escape(term.lower())}\b", elsewhere)] == []


def test_no_file_has_marks_of_a_merge() -> None:
    marks = re.compile(r"^(<{7} |>{7} |\|{7} |={7}$)", re.MULTILINE)
    files = [path for folder in ("src", "tests", "docs", "bench", "examples") for path in (ROOT / folder).rglob("*.*")]
    texts = {path: path.read_text() for path in files if path.suffix in (".py", ".md", ".toml", ".txt")}
    assert len(texts) > 300
    assert [str(path) for path, text in texts.items() if marks.search(text)] == []
