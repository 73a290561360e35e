"""The notebooks of the documents run as in Jupyter, and show what they are there to show."""

import json
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.support.notebooks import NOTEBOOKS, executed, outputs_of
from treespan.core.jit import JIT_DISABLED

pytestmark = pytest.mark.skipif(JIT_DISABLED, reason="takes long as plain Python")
TIMEOUT = 120  # seconds, for what a kernel does in a few


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_a_notebook_runs_and_shows_what_its_file_shows(path: Path) -> None:
    pytest.importorskip("mpi4py", reason="mpi4py is missing; pip install treespan[mpich]")
    pytest.importorskip("matplotlib", reason="matplotlib is missing; pip install treespan[plots]")
    assert outputs_of(executed(path)) == outputs_of(json.loads(path.read_text()))


def test_there_are_boards_and_pictures() -> None:
    kinds = [kind for path in NOTEBOOKS for cell in outputs_of(json.loads(path.read_text())) for kind in cell]
    assert len(NOTEBOOKS) == 3 and kinds.count("text/html") >= 4 and kinds.count("image/png") >= 3
    assert not {"error", "stderr"} & set(kinds)


def test_what_is_printed_in_parts_is_one_output() -> None:
    parts = [{"output_type": "stream", "name": name, "text": "x"} for name in ("stdout", "stdout", "stderr", "stdout")]
    picture = {"output_type": "display_data", "data": {"image/png": ""}}
    cell = {"cell_type": "code", "outputs": [*parts, picture, picture, parts[0]]}
    shown = ["stdout", "stderr", "stdout", "image/png", "image/png", "stdout"]
    assert outputs_of({"cells": [cell]}) == [shown]


@pytest.fixture
def kernel() -> Iterator[Any]:
    """A manager and a client of a kernel, as a notebook has them."""
    from jupyter_client.manager import start_new_kernel

    manager, client = start_new_kernel(kernel_name="python3")
    yield manager, client
    client.stop_channels()
    manager.shutdown_kernel(now=True)


@pytest.mark.parametrize("options", ["", "threads=2", "simulate=4"])
def test_the_stop_button_ends_a_search_with_its_result_so_far(kernel: Any, options: str) -> None:
    """Jupyter interrupts the kernel: in the middle of a search of ten minutes the cell ends, and has the result."""
    manager, client = kernel
    run(client, f"import treespan as ts; ts.search('go:size=9', playouts=100, {options})")
    client.execute(f"print('searching', flush=True); result = ts.search('go:size=9', seconds=600, {options})")
    while client.get_iopub_msg(timeout=TIMEOUT)["msg_type"] != "stream":  # what it prints
        pass
    time.sleep(0.5)
    begin = time.monotonic()
    manager.interrupt_kernel()
    answer = client.get_shell_msg(timeout=TIMEOUT)
    assert answer["content"]["status"] == "ok" and time.monotonic() - begin < TIMEOUT / 4
    assert run(client, "print(result.interrupted, result.moves[0].visits > 0)") == "True True\n"


def run(client: Any, code: str) -> str:
    """Run a cell; returns what it printed."""
    printed: list[str] = []

    def hear(message: Any) -> None:
        if message["msg_type"] == "stream":
            printed.append(message["content"]["text"])

    answer = client.execute_interactive(code, timeout=TIMEOUT, output_hook=hear)
    assert answer["content"]["status"] == "ok", answer["content"]
    return "".join(printed)
