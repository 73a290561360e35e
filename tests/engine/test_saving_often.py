"""Saves at random moments: nothing is lost and nothing is doubled, on whatever number of ranks a tree goes on."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import treespan as ts
from treespan.core.jit import JIT_DISABLED

SCHEMES = ["span", "span:grant=3", "tds-uct", "tds-dfuct", "treesplit:n_dup=4,n_sync=5", "mp-mcts", "span:bandit=rave"]
RANKS = [1, 2, 3, 5, 8]


def figures(tree: ts.Tree) -> Any:
    found = tree.look()
    assert found is not None
    return found.root_visits, found.move, sorted((move.id, move.visits, move.wins) for move in found.moves)


def check_round(number: int, source: dict[str, Any], target: str, folder: Path) -> None:
    """Searches of random length with moves between them, and a save; then all numbers of ranks load it and go on."""
    rng = np.random.default_rng(number)
    scheme = SCHEMES[number % len(SCHEMES)]
    with ts.Tree("connect4", scheme=scheme, seed=number, **source) as tree:
        for _ in range(int(rng.integers(1, 4))):
            before = tree.look()
            playouts = int(rng.integers(1, 400))
            result = tree.search(playouts=playouts)
            assert result.root_visits == playouts + (before.root_visits if before else 0)
            if rng.random() < 0.4:
                tree.advance(result.move)
                tree.search(playouts=int(rng.integers(1, 50)))
        saved = figures(tree)
        tree.save(folder)
    for ranks in RANKS:
        with ts.Tree.load(folder, **dict[str, Any]({target: ranks})) as loaded:
            assert figures(loaded) == saved, (number, ranks)
            more = loaded.search(playouts=20)
            assert more.root_visits == saved[0] + 20


@pytest.mark.full
def test_200_simulated_trees_lose_nothing(tmp_path: Path) -> None:
    for number in range(200):
        check_round(number, {"simulate": RANKS[number % 5] + number % 3}, "simulate", tmp_path)


@pytest.mark.full
@pytest.mark.skipif(JIT_DISABLED, reason="the MPI runtime needs the compiler")
def test_20_trees_on_real_ranks_lose_nothing(tmp_path: Path) -> None:
    pytest.importorskip("mpi4py", reason="mpi4py is missing; pip install treespan[mpich]")
    for number in range(20):
        check_round(number, {"ranks": 1 + number % 4}, "threads" if number % 2 else "ranks", tmp_path)


def test_a_few_trees_lose_nothing(tmp_path: Path) -> None:
    for number in range(len(SCHEMES)):
        check_round(number, {"simulate": 3}, "simulate", tmp_path)
