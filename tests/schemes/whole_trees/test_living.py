"""Whole trees that ranks keep from search to search."""

from typing import Any

import numpy as np
import pytest

from tests.support.distributed import moves_of, request
from tests.support.searches import new_searcher, sized
from treespan.runtimes.run import run_search
from treespan.schemes.kept import Kept, TreeName, kept_here
from treespan.schemes.plan import SIMULATED, THREADS, Request
from treespan.schemes.scheme import Scheme
from treespan.search.result import SearchResult
from treespan.search.shard import find
from treespan.search.tree import NO_NODE

PLAYOUTS = sized(2000, without_jit=150)
SCHEMES = [
    "root",
    "root:bandit=rave",
    "slow-tree:period=0.0001",
    "slow-root:period=0.0001",
    "broadcast:period=0.0001",
    "leaf",
    "master-worker",
]


class Living:
    def __init__(self, scheme: str, runtime: str, ranks: int, spec: str = "connect4"):
        self.first = request(scheme, spec, PLAYOUTS, ranks, runtime=runtime)
        self.name, self.position = TreeName(), self.first.position

    @property
    def scheme(self) -> Scheme:
        return self.first.plan.scheme

    def search(self) -> SearchResult:
        result = run_search(Request(self.position, self.first.plan, self.name))
        assert result is not None and sum(move.visits for move in result.moves) == result.root_visits
        return result

    def kept(self) -> dict[int, Kept]:
        return kept_here(self.name)

    def visits_of_roots(self) -> int:
        """Visits of the roots of all trees that the result counts."""
        total = 0
        for kept in self.kept().values():
            ranks = self.first.plan.ranks if self.first.plan.runtime == SIMULATED else 1
            for row in range(ranks):
                node = find(kept.tree, self.position.key ^ self.salt(row))
                total += int(kept.tree.node_visits[node]) if node != NO_NODE else 0
        return total

    def salt(self, row: int) -> int:
        from treespan.core.rng import hash_words

        return int(hash_words(row)) if row else 0

    def play(self, move: int) -> None:
        self.position = self.position.copy()
        self.position.play(move)


def check_tree(kept: Kept) -> None:
    tree = kept.tree
    for node in range(int(tree.used[0])):
        first = int(tree.node_first[node])
        of_node = slice(first, first + int(tree.node_count[node]))
        assert find(tree, int(tree.node_key[node])) == node
        assert abs(int(tree.node_visits[node]) - int(tree.edge_visits[of_node].sum())) == 0


@pytest.mark.parametrize("runtime, ranks", [(SIMULATED, 4), (THREADS, 2)])
@pytest.mark.parametrize("scheme", SCHEMES)
def test_root_visits_are_those_kept_and_the_new_playouts(scheme: str, runtime: str, ranks: int) -> None:
    living = Living(scheme, runtime, ranks)
    is_same_everywhere = scheme.startswith("broadcast")
    before = 0
    for step in range(4):
        result = living.search()
        if not scheme.startswith("slow"):
            assert result.playouts == PLAYOUTS and result.root_visits == before + PLAYOUTS
        for kept in living.kept().values():
            if not scheme.startswith("slow"):
                check_tree(kept)
        if step % 2:
            living.play(result.moves[0].id)
        before = living.visits_of_roots() // (ranks if is_same_everywhere else 1)
        assert before > 0
        if scheme.startswith("slow"):  # averages are rounded
            assert abs(living.search().root_visits - before - PLAYOUTS) <= 8 * ranks
            before = living.visits_of_roots()


@pytest.mark.parametrize("scheme", ["root", "leaf", "broadcast", "slow-tree"])
def test_one_rank_goes_on_like_the_sequential_search(scheme: str) -> None:
    living = Living(scheme, SIMULATED, 1)
    sequential = new_searcher("connect4", max_depth=127 if scheme == "broadcast" else 1000)
    for _ in range(3):
        result = living.search()
        sequential.run(PLAYOUTS)
        assert moves_of(result) == {move.id: (move.visits, move.wins) for move in sequential.root().moves}
        living.play(result.moves[0].id)
        sequential.advance(result.moves[0].id)


def test_what_was_not_reached_is_given_back() -> None:
    living = Living("root", THREADS, 2)
    result = living.search()
    before = [int(kept.tree.used[0]) for kept in living.kept().values()]
    living.play(result.moves[-1].id)
    few: Any = living.search()
    assert few.nodes < sum(before) + PLAYOUTS // 4
    assert all(
        int(np.count_nonzero(kept.tree.slots != NO_NODE)) == kept.tree.used[0] for kept in living.kept().values()
    )
