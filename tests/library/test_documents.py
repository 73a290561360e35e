"""The Python of pages runs as it stands, with smaller numbers: as a script, in a notebook and under mpiexec.

Their transcripts are what the program prints.
"""

import re
import subprocess
import sys
from pathlib import Path

import pytest

from tests.support.notebooks import execute, notebook_of, outputs_of, printed_by
from tests.support.ranks import run_under_mpiexec
from tests.support.transcripts import PAGES as TRANSCRIPT_PAGES
from tests.support.transcripts import WIDTH, Transcript, transcripts
from treespan.core.jit import JIT_DISABLED

ROOT = Path(__file__).parents[2]
# What takes long there is small here: nothing else is changed.
SMALLER = {
    r'"playouts=2000", "playouts=1000"': '"playouts=20", "playouts=10"',  # before 2000 becomes 300
    r"seconds=(5|60|2|1)\b": "seconds=0.2",
    r"playouts=(10_000|1_000_000|20_000|2000)\b": "playouts=300",
    r"simulate=1200": "simulate=40",
    r"games=100": "games=2",
    r"simulate=\[1, 12, 144\]": "simulate=[1, 3], playouts=200",
    r"machines=32": "machines=4, searches=1, playouts=300",
    r"machines=8, cores=4": "machines=4",
    r"simulate=32, ": "simulate=4, playouts=300, ",
    r"simulate=\[1, 8, 32\]": "simulate=[1, 3]",
}


# What two ranks print at once may mix, so each leaves a file when it has run a page to its end.
OVER = """
from pathlib import Path
from mpi4py import MPI
Path(f"over-{MPI.COMM_WORLD.rank}").touch()
"""

REFUSAL = "playouts=0 is out of range; give 1..2147483647\n"  # at the end of the library's page
PAGES = ["README.md", "docs/index.md", "docs/library.md", "docs/trees.md", "docs/add-a-game.md"]
PAGES += sorted(
    str(path.relative_to(ROOT)) for path in ROOT.glob("docs/tutorials/*.md") if "```python" in path.read_text()
)


def blocks_of(page: str) -> list[str]:
    """Return the blocks of Python of a page, with smaller numbers."""
    blocks = re.findall(r"^```python\n(.*?)^```", (ROOT / page).read_text(), flags=re.MULTILINE | re.DOTALL)
    assert blocks, page
    for pattern, small in SMALLER.items():
        blocks = [re.sub(pattern, small, block) for block in blocks]
    return blocks


def code_of(page: str) -> str:
    return "\n".join(blocks_of(page))


@pytest.mark.skipif(JIT_DISABLED, reason="searches on ranks need the compiler")
@pytest.mark.parametrize("page", PAGES)
def test_the_python_of_a_page_runs(page: str, tmp_path: Path) -> None:
    pytest.importorskip("mpi4py", reason="mpi4py is missing; pip install treespan[mpich]")
    pytest.importorskip("matplotlib", reason="matplotlib is missing; pip install treespan[plots]")
    script = tmp_path / "page.py"
    (tmp_path / "examples").symlink_to(ROOT / "examples")
    script.write_text(code_of(page))
    done = subprocess.run([sys.executable, str(script)], capture_output=True, text=True, timeout=600, cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert page != "docs/library.md" or REFUSAL in done.stdout


@pytest.mark.skipif(JIT_DISABLED, reason="searches on ranks need the compiler")
def test_the_python_of_the_library_runs_in_a_notebook(tmp_path: Path) -> None:
    """Each block is a cell. One that ends with a search shows its board."""
    pytest.importorskip("mpi4py", reason="mpi4py is missing; pip install treespan[mpich]")
    pytest.importorskip("matplotlib", reason="matplotlib is missing; pip install treespan[plots]")
    blocks = blocks_of("docs/library.md")
    book = notebook_of(blocks)
    execute(book, tmp_path)
    kinds = dict(zip(blocks, outputs_of(book), strict=True))
    assert [kinds[block] for block in blocks if "evaluate=my_values" in block] == [["text/html", "text/plain"]]
    assert REFUSAL in printed_by(book) and (tmp_path / "speedup.png").exists()


@pytest.mark.skipif(JIT_DISABLED, reason="searches on ranks need the compiler")
@pytest.mark.parametrize("page", ["README.md", "docs/library.md"])
def test_the_python_of_a_page_runs_under_mpiexec(page: str, tmp_path: Path) -> None:
    pytest.importorskip("mpi4py", reason="mpi4py is missing; pip install treespan[mpich]")
    pytest.importorskip("matplotlib", reason="matplotlib is missing; pip install treespan[plots]")
    done = run_under_mpiexec(code_of(page) + OVER, tmp_path)
    assert done.returncode == 0, done.stderr
    assert (tmp_path / "over-0").exists() and (tmp_path / "over-1").exists()


@pytest.mark.skipif(JIT_DISABLED, reason="takes long as plain Python")
@pytest.mark.parametrize("transcript", transcripts(), ids=lambda one: f"{one.page.stem}-{one.command.split()[1]}")
def test_a_transcript_is_what_the_program_prints(transcript: Transcript, tmp_path: Path) -> None:
    if " speedup " in transcript.command:
        pytest.importorskip("matplotlib", reason="matplotlib is missing; pip install treespan[plots]")
    assert transcript.run(tmp_path) == transcript.output, "write it anew: python -m tests.support.transcripts"
    assert max(map(len, transcript.output.splitlines())) <= WIDTH


def test_every_block_of_a_console_is_a_transcript() -> None:
    blocks = sum(page.read_text().count("```console\n") for page in TRANSCRIPT_PAGES)
    assert len(transcripts()) == blocks >= 6
