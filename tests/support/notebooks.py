"""Notebooks run as in Jupyter: by a kernel of their own. `python -m tests.support.notebooks` writes their outputs."""

import sys
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[2]
NOTEBOOKS = sorted((ROOT / "docs/notebooks").glob("*.ipynb"))


def notebook_of(cells: list[str]) -> Any:
    """Return a new notebook with these cells of code."""
    from nbformat.v4 import new_code_cell, new_notebook

    return new_notebook(cells=[new_code_cell(code) for code in cells])


def execute(book: Any, folder: Path) -> None:
    """Run all cells of a notebook in a folder, by a kernel of its own, and put the outputs into it.

    Raises nbclient's CellExecutionError, with the cell's traceback, if a cell fails.
    """
    from nbclient import NotebookClient

    resources = {"metadata": {"path": str(folder)}}
    NotebookClient(book, timeout=300, kernel_name="python3", record_timing=False, resources=resources).execute()


def executed(path: Path) -> Any:
    """Return a notebook after a run of all its cells, without the times of the run."""
    import nbformat

    book = nbformat.read(path, as_version=4)
    execute(book, path.parent)
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


def printed_by(book: Any) -> str:
    """Return all that the cells have printed to stdout."""
    streams = [output for cell in book["cells"] for output in cell.get("outputs", []) if "name" in output]
    return "".join(stream["text"] for stream in streams if stream["name"] == "stdout")


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
