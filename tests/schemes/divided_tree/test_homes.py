"""Which rank holds which position, before a loss and after it."""

import numpy as np
import pytest

from tests.support.distributed import request
from treespan.runtimes.run import run_search
from treespan.schemes.homes import usual_homes
from treespan.schemes.kept import TreeName, drop, recall
from treespan.schemes.plan import SIMULATED, Request
from treespan.schemes.scheme import Place
from treespan.search.shard import find, forget
from treespan.search.tree import NO_NODE

KEYS = np.random.default_rng(1).integers(0, 2**64 - 1, 5000, dtype=np.uint64)


@pytest.mark.parametrize("ranks, reserved", [(1, 0), (2, 0), (3, 1), (20, 0), (110, 1), (1200, 1), (65_536, 1)])
def test_without_a_loss_a_home_is_the_key_mod_the_number_of_ranks(ranks: int, reserved: int) -> None:
    homes = usual_homes(ranks, reserved)
    assert np.array_equal(homes.of(KEYS), reserved + (KEYS % np.uint64(ranks - reserved)).astype(np.int64))


@pytest.mark.parametrize("ranks, reserved", [(2, 0), (4, 0), (8, 1), (64, 0), (200, 1)])
def test_only_the_nodes_of_a_lost_rank_move(ranks: int, reserved: int) -> None:
    rng, homes = np.random.default_rng(ranks), usual_homes(ranks, reserved)
    number = np.arange(ranks)  # with which each rank began
    while len(number) > max(1, ranks - 6):
        victim = int(rng.integers(len(number)))
        there = [rank for rank in range(len(number)) if rank != victim]
        before, homes = number[homes.of(KEYS)], homes.after_loss(there)
        gone, number = number[victim], number[there]
        after = number[homes.of(KEYS)]
        stays = before != gone
        assert np.array_equal(after[stays], before[stays]) and not (after == gone).any()
        assert homes.lost is not None and homes.lost[homes.bucket_of(KEYS)][~stays].all()
        held = np.bincount(homes.buckets)
        assert held[homes.reserved :].max() <= 1.5 * held[homes.reserved :].min() + 1
        assert homes.reserved in (0, reserved) and not held[: homes.reserved].any() and not homes.is_whole


def test_several_are_lost_at_once() -> None:
    homes = usual_homes(6, 1).after_loss([1, 3, 5])
    assert homes.reserved == 0 and set(homes.buckets.tolist()) == {0, 1, 2}
    assert usual_homes(3, 1).after_loss([0]).reserved == 0


@pytest.mark.parametrize("scheme", ["span", "tds-uct:bandit=rave", "treesplit", "tds-dfuct"])
def test_a_lost_root_is_made_of_its_children(scheme: str) -> None:
    asked = request(scheme, "connect4", 2000, 5, runtime=SIMULATED)
    name = TreeName()
    result = run_search(Request(asked.position, asked.plan, name))
    kept = recall(name, 0)
    assert result is not None and kept is not None
    place = Place(0, 5, kept=kept)
    forget(kept.tree, asked.position.key)
    asked.plan.scheme.mend(asked, place, [], lambda numbers: numbers)
    root = find(kept.tree, asked.position.key)
    assert root != NO_NODE
    found = asked.plan.scheme.root_visits(asked, place)
    assert 0.9 * result.root_visits < found <= 1.2 * result.root_visits
    before = {move.id: (move.visits, move.value) for move in result.moves}
    first, count = int(kept.tree.node_first[root]), int(kept.tree.node_count[root])
    edges = range(first, first + count)
    assert sum(int(kept.tree.edge_visits[edge]) for edge in edges) == found
    for edge in edges:
        visits, value = before[int(kept.tree.edge_move[edge])]
        if visits > 100:
            assert kept.tree.edge_visits[edge] == pytest.approx(visits, rel=0.3)
            assert kept.tree.edge_wins[edge] / kept.tree.edge_visits[edge] == pytest.approx(value, abs=0.1)
    drop(name)
