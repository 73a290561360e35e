"""Signatures of small searches. One that changes without intention is a bug; the JIT must not change any.

Run this file with NUMBA_DISABLE_JIT=1 too: it must give the same signatures. A change of search behaviour that
is meant prints the new table with `python -m tests.search.test_golden`.
"""

from typing import Any

import pytest

from tests.support.searches import EVERY_GAME, LARGE_GAMES, SMALL_GAMES, search
from treespan.search.result import visit_signature

PLAYOUTS = 300  # few enough to run without the JIT, enough to go several moves deep
SEARCHES: dict[str, dict[str, Any]] = {
    "uct": {"algorithm": "uct"},
    "dfuct": {"algorithm": "dfuct"},  # so early mostly the same leaves as UCT
    "dfuct-greedy": {"algorithm": "dfuct", "c": 0.1},
    "puct": {"bandit": "puct"},
    "rave": {"bandit": "rave"},
    "rave-mse": {"bandit": "rave-mse"},
    "widening": {"widening": 4.3},
}
GOLDEN: dict[tuple[str, str], str] = {
    ("tictactoe", "uct"): "87db112e06af591a",
    ("tictactoe", "dfuct"): "87db112e06af591a",
    ("tictactoe", "dfuct-greedy"): "f8161aec2f9ec32f",
    ("tictactoe", "puct"): "037699035510214f",
    ("tictactoe", "rave"): "49b8d65f85ab0632",
    ("tictactoe", "rave-mse"): "f15d81c4ed3cf0b4",
    ("tictactoe", "widening"): "fc419d0436e9ccbe",
    ("connect4", "uct"): "62f56f8115f2dabc",
    ("connect4", "dfuct"): "62f56f8115f2dabc",
    ("connect4", "dfuct-greedy"): "290cd84589352ab9",
    ("connect4", "puct"): "a944fbb73373e890",
    ("connect4", "rave"): "d911c20e1bceca29",
    ("connect4", "rave-mse"): "fa0901f439c147fb",
    ("connect4", "widening"): "51fe3052054a520b",
    ("pgame", "uct"): "de14d91e46559a38",
    ("pgame", "dfuct"): "de14d91e46559a38",
    ("pgame", "dfuct-greedy"): "a9b852b2350ecc90",
    ("pgame", "puct"): "6e22c41b246123ae",
    ("pgame", "rave"): "c52748fa76c49703",
    ("pgame", "rave-mse"): "9fea69e7b62cacc8",
    ("pgame", "widening"): "6c326d0ba4337745",
    ("sailing:size=4", "uct"): "cd2fd26ac7ea9d51",
    ("sailing:size=4", "dfuct"): "cd2fd26ac7ea9d51",
    ("sailing:size=4", "dfuct-greedy"): "2f252f2868cd9e5c",
    ("sailing:size=4", "puct"): "0f3153b8d0b530af",
    ("sailing:size=4", "rave"): "2ea65871a0a2dbdc",
    ("sailing:size=4", "rave-mse"): "a15f80e828a5e957",
    ("sailing:size=4", "widening"): "807011428a06f80f",
    ("go:size=5", "uct"): "8d769376c748080f",
    ("go:size=5", "dfuct"): "8d769376c748080f",
    ("go:size=5", "dfuct-greedy"): "6cdfee406f19353b",
    ("go:size=5", "puct"): "7c84998c9d658a0e",
    ("go:size=5", "rave"): "50d1c2d390083c92",
    ("go:size=5", "rave-mse"): "b441fee6ea7b4d03",
    ("go:size=5", "widening"): "f95cc70d8234b338",
    ("hex:size=5", "uct"): "8df7c6e9c25f8bd9",
    ("hex:size=5", "dfuct"): "8df7c6e9c25f8bd9",
    ("hex:size=5", "dfuct-greedy"): "dc572fa3543e91ea",
    ("hex:size=5", "puct"): "3bcdcb9b2e919519",
    ("hex:size=5", "rave"): "c79320e1b73e135c",
    ("hex:size=5", "rave-mse"): "522655e9589aa6bc",
    ("hex:size=5", "widening"): "3ece57a74751be40",
    ("havannah:base=4", "uct"): "050152f90d10fb95",
    ("havannah:base=4", "dfuct"): "050152f90d10fb95",
    ("havannah:base=4", "dfuct-greedy"): "3df3b22be6da4284",
    ("havannah:base=4", "puct"): "e491e6f03c1746ff",
    ("havannah:base=4", "rave"): "01ef4605059b227b",
    ("havannah:base=4", "rave-mse"): "5c3cd874a19b753b",
    ("havannah:base=4", "widening"): "62642a3ea659feb3",
    ("samegame:width=4,height=4,colors=3", "uct"): "46b8cf8e8ca8b042",
    ("samegame:width=4,height=4,colors=3", "dfuct"): "46b8cf8e8ca8b042",
    ("samegame:width=4,height=4,colors=3", "dfuct-greedy"): "7f6826a2c3187019",
    ("samegame:width=4,height=4,colors=3", "puct"): "cb09d53c34986325",
    ("samegame:width=4,height=4,colors=3", "rave"): "b80678948acdcbbc",
    ("samegame:width=4,height=4,colors=3", "rave-mse"): "cc634af197e717bc",
    ("samegame:width=4,height=4,colors=3", "widening"): "e4280d8d8916d9a0",
}
GO_PATTERNS = "6d09ecb7e689ba24"


def signature(spec: str, name: str) -> str:
    searcher = search(spec, PLAYOUTS, seed=1, solver=False, **SEARCHES[name])
    return visit_signature(searcher.root().moves)


@pytest.mark.parametrize("name", SEARCHES)
@pytest.mark.parametrize("spec", EVERY_GAME)
def test_signature(spec: str, name: str) -> None:
    assert signature(spec, name) == GOLDEN[spec, name]


def patterns_signature() -> str:
    searcher = search("go:size=5", PLAYOUTS, seed=1, solver=False, policy="patterns")
    return visit_signature(searcher.root().moves)


def test_signature_of_go_patterns() -> None:
    assert patterns_signature() == GO_PATTERNS


if __name__ == "__main__":
    for spec in (*SMALL_GAMES, *LARGE_GAMES):
        for name in SEARCHES:
            print(f'    ("{spec}", "{name}"): "{signature(spec, name)}",')
    print(f'GO_PATTERNS = "{patterns_signature()}"')
