"""Documents that quote the project must quote it as it is."""

import re
from pathlib import Path

import pytest

from treespan.games.registry import PACKAGE_GAMES
from treespan.schemes.divided_tree.treesplit import copies
from treespan.schemes.protocol import messages
from treespan.schemes.registry import SCHEMES

ROOT = Path(__file__).parents[1]
PAGES = [*ROOT.glob("*.md"), *(path for path in ROOT.glob("docs/**/*.md") if "results" not in path.parts)]
LONGEST_LINE = 120
STILL_LONG = {"life-of-a-simulation.md", "glossary.md"}  # they are being rewritten


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


def prose_of(page: str) -> list[str]:
    """Return the lines of prose of a page: no code, no tables, and links without their targets."""
    without_code = re.sub(r"^```.*?^```$", "", page, flags=re.MULTILINE | re.DOTALL)
    lines = [line for line in without_code.split("\n") if not line.startswith(("|", "    ", "![", ":::"))]
    return [re.sub(r"\]\([^)\s]*\)", "]", line) for line in lines]


@pytest.mark.parametrize("path", PAGES, ids=lambda path: str(path.relative_to(ROOT)))
def test_prose_has_a_sentence_or_clause_a_line(path: Path) -> None:
    too_long = [line for line in prose_of(path.read_text()) if len(line) > LONGEST_LINE]
    assert path.name in STILL_LONG or not too_long, too_long


def test_what_counts_as_prose() -> None:
    page = "Read [this](a/long/target.md).\n\n    code\n\n| a | table |\n\n```\nmore code\n```\nThe end."
    assert [line for line in prose_of(page) if line] == ["Read [this].", "The end."]
