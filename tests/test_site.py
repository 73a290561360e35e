"""The documentation site and the papers of the repository, as far as they can be checked without MkDocs."""

import importlib.util
import json
import re
from pathlib import Path

import pytest

import treespan

ROOT = Path(__file__).parents[1]
DOCS = ROOT / "docs"
NOTEBOOKS = sorted(DOCS.glob("notebooks/*.ipynb"))
GENERATED = {  # by `docs/hooks.py` and `docs/notebook_pages.py`
    "cli.md",
    *(f"notebooks/{path.stem}.md" for path in NOTEBOOKS),
}


def text(path: str) -> str:
    return (ROOT / path).read_text()


def navigation() -> list[str]:
    return re.findall(r"[:-] (\S+\.md)$", text("mkdocs.yml").partition("\nnav:\n")[2], flags=re.MULTILINE)


def test_every_page_is_in_the_navigation_once() -> None:
    pages = {str(path.relative_to(DOCS)) for path in DOCS.glob("**/*.md")}
    assert sorted(navigation()) == sorted(pages | GENERATED)


def test_the_reference_has_every_public_name_from_where_it_lives() -> None:
    page = text("docs/api.md")
    entries = set(re.findall(r"^::: (\S+)$", page, flags=re.MULTILINE))
    for name in treespan.__all__:
        home = treespan._HOME_OF.get(name)
        assert f"{home}.{name}" in entries or f"`ts.{name}`" in page, name
    assert entries <= {f"{home}.{name}" for name, home in treespan._HOME_OF.items()}


def test_the_version_is_the_same_everywhere() -> None:
    version = treespan.__version__
    newest = re.search(r"^## (\S+)", text("CHANGELOG.md"), flags=re.MULTILINE)
    assert newest and newest[1] == version
    assert f"\nversion: {version}\n" in text("CITATION.cff")


@pytest.mark.parametrize(
    "page", ["docs/index.md", *(f"docs/tutorials/{path.name}" for path in DOCS.glob("tutorials/*"))]
)
def test_python_of_a_page_uses_public_names(page: str) -> None:
    for block in re.findall(r"^```python\n(.*?)^```", text(page), flags=re.MULTILINE | re.DOTALL):
        compile(block, page, "exec")
        assert set(re.findall(r"\bts\.(\w+)", block)) <= set(treespan.__all__)


@pytest.mark.parametrize("page", ["docs/glossary.md", "CONTRIBUTING.md"])
def test_files_that_are_named_exist(page: str) -> None:
    named = re.findall(r"`((?:\w+/)+\w*(?:\.py|/)?)`", text(page))
    assert len(named) > 10
    for path in (path for path in named if "NAME" not in path and path != "site/"):  # that is built
        assert (ROOT / path).exists() or (ROOT / "src/treespan" / path).exists(), path


@pytest.mark.parametrize("page", ["CONTRIBUTING.md", "CHANGELOG.md"])
def test_links_lead_somewhere(page: str) -> None:
    for target in re.findall(r"\]\(([^)#:]+)(?:#[^)]*)?\)", text(page)):
        assert (ROOT / target).exists(), target


def test_nothing_of_the_site_is_loaded_from_elsewhere() -> None:
    own = [ROOT / "mkdocs.yml", *DOCS.glob("assets/*")]
    addresses = [address for path in own for address in re.findall(r"https?://[^\s\"']+", path.read_text())]
    assert set(addresses) <= {"http://www.w3.org/2000/svg"}  # a name, not an address
    assert "\n  font: false" in text("mkdocs.yml") and "iframe-worker" in text("mkdocs.yml")


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_a_notebook_is_a_page_with_its_outputs(path: Path) -> None:
    spec = importlib.util.spec_from_file_location("notebook_pages", DOCS / "notebook_pages.py")
    assert spec and spec.loader
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    page = module.page_of(path)
    assert page.startswith("# ") and f'href="{path.name}" download' in page.split("\n")[2]
    cells = json.loads(path.read_text())["cells"]
    assert page.count("\n```python\n") == sum(cell["cell_type"] == "code" for cell in cells)
    assert "data:image/png;base64," in page or "background:rgba(" in page
    for target in re.findall(r"\]\(([^)#:]+)", page):
        assert (path.parent / target).exists(), target
    assert module.on_page_markdown("[a](b.ipynb)", None, None, None) == "[a](b.md)"
