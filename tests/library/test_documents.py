"""The Python of the README and of docs/library.md runs as it stands, with smaller numbers."""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from tests.support.ranks import run_under_mpiexec
from treespan.core.jit import JIT_DISABLED

ROOT = Path(__file__).parents[2]
# What takes long there is small here: nothing else is changed.
SMALLER = {
    r'"playouts=2000", "playouts=1000"': '"playouts=20", "playouts=10"',  # before 2000 becomes 300
    r"seconds=(5|60|2|1)\b": "seconds=0.2",
    r"playouts=(10_000|1_000_000|2000)\b": "playouts=300",
    r"simulate=1200": "simulate=40",
    r"games=100": "games=2",
    r"simulate=\[1, 12, 144\]": "simulate=[1, 3], playouts=200",
    r"machines=32": "machines=4, searches=1, playouts=300",
}


# What two ranks print at once may mix, so each leaves a file when it has run a page to its end.
OVER = """
from pathlib import Path
from mpi4py import MPI
Path(f"over-{MPI.COMM_WORLD.rank}").touch()
"""


def code_of(page: str) -> str:
    blocks = re.findall(r"^```python\n(.*?)^```", (ROOT / page).read_text(), flags=re.MULTILINE | re.DOTALL)
    assert blocks, page
    code = "\n".join(blocks)
    for pattern, small in SMALLER.items():
        code = re.sub(pattern, small, code)
    return code


@pytest.mark.skipif(JIT_DISABLED, reason="searches on ranks need the compiler")
@pytest.mark.parametrize("page", ["README.md", "docs/library.md"])
def test_the_python_of_a_page_runs(page: str, tmp_path: Path) -> None:
    pytest.importorskip("mpi4py", reason="mpi4py is missing; pip install treespan[mpich]")
    pytest.importorskip("matplotlib", reason="matplotlib is missing; pip install treespan[plots]")
    script = tmp_path / "page.py"
    script.write_text(code_of(page))
    done = subprocess.run([sys.executable, str(script)], capture_output=True, text=True, timeout=600, cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert page == "README.md" or "playouts=0 is out of range; give 1..2147483647\n" in done.stdout


@pytest.mark.skipif(JIT_DISABLED, reason="searches on ranks need the compiler")
@pytest.mark.parametrize("page", ["README.md", "docs/library.md"])
def test_the_python_of_a_page_runs_under_mpiexec(page: str, tmp_path: Path) -> None:
    pytest.importorskip("mpi4py", reason="mpi4py is missing; pip install treespan[mpich]")
    pytest.importorskip("matplotlib", reason="matplotlib is missing; pip install treespan[plots]")
    done = run_under_mpiexec(code_of(page) + OVER, tmp_path)
    assert done.returncode == 0, done.stderr
    assert (tmp_path / "over-0").exists() and (tmp_path / "over-1").exists()


def transcripts() -> list[tuple[str, str]]:
    """Commands and what they print, as pages show them: blocks ```console with lines `$ treespan …`.

    What is typed may come before: `$ printf 'E5\\nquit\\n' | treespan …`.
    """
    found = []
    for page in [ROOT / "README.md", *sorted(ROOT.glob("docs/*.md"))]:
        for block in re.findall(r"^```console\n(.*?)^```", page.read_text(), flags=re.MULTILINE | re.DOTALL):
            command, _, output = block.partition("\n")
            found.append((command.removeprefix("$ "), output))
    return found


@pytest.mark.skipif(JIT_DISABLED, reason="takes long as plain Python")
@pytest.mark.parametrize("command, output", transcripts())
def test_a_transcript_is_what_the_program_prints(command: str, output: str) -> None:
    typed, piped, command = command.rpartition(" | ")
    assert not piped or re.fullmatch(r"printf '[^'%]*'", typed), typed
    keys = typed.removeprefix("printf ").strip("'").replace("\\n", "\n")
    program, *arguments = re.findall(r'"[^"]*"|\S+', command)
    assert program == "treespan"
    words = [sys.executable, "-m", "treespan", *(word.strip('"') for word in arguments)]
    environment = {**os.environ, "COLUMNS": "80"}
    done = subprocess.run(words, input=keys, capture_output=True, text=True, timeout=300, cwd=ROOT, env=environment)
    assert done.returncode == 0 and done.stdout.rstrip() == output.rstrip(), done.stdout + done.stderr
    assert max(map(len, output.splitlines())) <= 80


def test_there_are_transcripts() -> None:
    assert len(transcripts()) >= 1
