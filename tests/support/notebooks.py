"""Notebooks run as in Jupyter: by a kernel of their own. `python -m tests.support.notebooks` writes their outputs."""

import sys
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[2]
NOTEBOOKS = sorted((ROOT / "docs/notebooks").glob("*.ipynb"))


def executed(path: Path) -> Any:
    """Return a notebook after a run of all its cells, without the times of the run."""
    import nbformat
    from nbclient import NotebookClient

    book = nbformat.read(path, as_version=4)
    folder = {"metadata": {"path": str(path.parent)}}
    NotebookClient(book, timeout=300, kernel_name="python3", record_timing=False, resources=folder).execute()
    for cell in book.cells:
        cell.metadata.clear()
    book.metadata["language_info"] = {"name": "python"}
    return book


def outputs_of(book: Any) -> list[list[str]]:
    """Return what kinds of output each cell of code has: `text/html`, `image/png`, `text/plain`, `stdout`.

    What a cell prints is one output, in however many parts the kernel sends it.
    """
    return [
        [kind for output in _merged(cell["outputs"]) for kind in _kinds_of(output)]
        for cell in book["cells"]
        if cell["cell_type"] == "code"
    ]


def _merged(outputs: list[Any]) -> list[Any]:
    """Return the outputs without those that go on with the same stream."""
    streams = [output["name"] if output["output_type"] == "stream" else None for output in outputs]
    before = [None, *streams]
    return [
        output for output, stream, last in zip(outputs, streams, before, strict=False) if not stream or stream != last
    ]


def _kinds_of(output: Any) -> list[str]:
    if output["output_type"] == "stream":
        return [output["name"]]
    return sorted(output.get("data", [output["output_type"]]))


def main() -> None:
    """Run the notebooks, all or those named, and write them with their outputs."""
    import nbformat

    named = [Path(name).resolve() for name in sys.argv[1:]]
    for path in named or NOTEBOOKS:
        nbformat.write(executed(path), path)
        print(path.relative_to(ROOT))


if __name__ == "__main__":
    main()
