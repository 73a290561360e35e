"""Documents that quote the project must quote it as it is."""

import re
from pathlib import Path

from treespan.games.registry import PACKAGE_GAMES
from treespan.schemes.registry import SCHEMES

ROOT = Path(__file__).parents[1]


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
