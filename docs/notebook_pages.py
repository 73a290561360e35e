"""Pages of the site from the notebooks of docs/notebooks, with the outputs that their files have.

A page of ours instead of a plugin: `json` reads a notebook, MkDocs does the rest, and nothing has to be installed.
"""

import html
import json
import re
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from mkdocs.config.defaults import MkDocsConfig
    from mkdocs.structure.files import Files
    from mkdocs.structure.pages import Page


def on_files(files: "Files", config: "MkDocsConfig") -> "Files":
    """Add a page for each notebook; the file itself is in the site beside it, to be downloaded."""
    from mkdocs.structure.files import File

    for path in sorted(Path(config.docs_dir).glob("notebooks/*.ipynb")):
        files.append(File.generated(config, f"notebooks/{path.stem}.md", content=page_of(path)))
    return files


def on_page_markdown(markdown: str, page: "Page", config: "MkDocsConfig", files: "Files") -> str:
    """Let links to notebooks lead to their pages."""
    return re.sub(r"(\]\([^)\s]+)\.ipynb\)", r"\1.md)", markdown)


def page_of(path: Path) -> str:
    """Return a notebook as Markdown: the title, the way to the file, then the cells."""
    title, *parts = [part for cell in json.loads(path.read_text())["cells"] for part in _parts(cell)]
    source = f'<p><a href="{path.name}" download>This page as a notebook</a></p>'
    return "\n\n".join([title, source, *parts]) + "\n"


def _parts(cell: dict[str, Any]) -> list[str]:
    """Return the blocks of a cell."""
    text = "".join(cell["source"])
    if cell["cell_type"] == "markdown":
        return text.split("\n\n")
    return [f"```python\n{text}\n```", *map(_output, cell["outputs"])]


def _output(output: dict[str, Any]) -> str:
    """Return what a cell has shown as HTML, in a block that Markdown leaves alone."""
    data = output.get("data", {})
    if "image/png" in data:
        picture = "".join(data["image/png"]).replace("\n", "")
        shown = f'<img src="data:image/png;base64,{picture}" alt="picture">'
    elif "text/html" in data:
        shown = "".join(data["text/html"])
    else:
        shown = f"<pre>{html.escape(''.join(output.get('text') or data['text/plain']).rstrip())}</pre>"
    return f'<div class="notebook-output">{shown}</div>'
