"""Signatures of small searches. One that changes without intention is a bug; the JIT must not change any.

Run this file with NUMBA_DISABLE_JIT=1 too: it must give the same signatures. A change of search behaviour that
is meant prints the new table with `python -m tests.search.test_golden`.
"""

from typing import Any

import pytest

from tests.search.searches import EVERY_GAME, LARGE_GAMES, SMALL_GAMES, search
from treespan.search.result import visit_signature

PLAYOUTS = 300  # few enough to run without the JIT, enough to go several moves deep
SEARCHES: dict[str, dict[str, Any]] = {
    "uct": {"algorithm": "uct"},
    "dfuct": {"algorithm": "dfuct"},
    "puct": {"bandit": "puct"},
    "rave": {"bandit": "rave"},
    "widening": {"widening": 4.3},
}
GOLDEN: dict[tuple[str, str], str] = {
}


def signature(spec: str, name: str) -> str:
    searcher = search(spec, PLAYOUTS, seed=1, solver=False, **SEARCHES[name])
    return visit_signature(searcher.root().moves)


@pytest.mark.parametrize("name", SEARCHES)
@pytest.mark.parametrize("spec", EVERY_GAME)
def test_signature(spec: str, name: str) -> None:
    assert signature(spec, name) == GOLDEN[spec, name]


def test_searches_differ() -> None:
    assert len(set(GOLDEN.values())) > 0.8 * len(GOLDEN)


if __name__ == "__main__":
    for spec in (*SMALL_GAMES, *LARGE_GAMES):
        for name in SEARCHES:
            print(f'    ("{spec}", "{name}"): "{signature(spec, name)}",')
