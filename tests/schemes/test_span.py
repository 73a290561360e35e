"""Scheme span: copies of hot nodes stay equal, nothing is counted twice, and the search ends by reduction."""

from typing import Any

import numpy as np
import pytest

from tests.runtimes.distributed import check_result, request
from treespan.core.jit import JIT_DISABLED
from treespan.runtimes.network import find_profile
from treespan.runtimes.simulated import Simulation, run_simulated
from treespan.runtimes.threads import run_threads
from treespan.schemes.base import Budget, Request
from treespan.schemes.registry import make_scheme
from treespan.schemes.replicas import ALIVE, EDGES_USED, HOT, QUOTA
from treespan.search.tree import EDGES, NODES

QDR = find_profile("qdr")
SPEC = "pgame:branching=5"
PLAYOUTS = 40 if JIT_DISABLED else 4000
RANKS = [1, 2] if JIT_DISABLED else [1, 2, 13]  # plans are slow without the compiler


def simulation(scheme: str, ranks: int, playouts: int = PLAYOUTS) -> Simulation:
    done = Simulation(make_scheme(scheme), request(SPEC, playouts, ranks), QDR)  # type: ignore[arg-type]
    while not done.run(10_000):
        pass
    return done


@pytest.mark.parametrize("scheme", ["span", "span:grant=3,share=20,pause=0", "span:jobs=1,place=home,copies=20"])
@pytest.mark.parametrize("ranks", RANKS)
def test_nothing_is_lost_and_nothing_is_under_way_at_the_end(scheme: str, ranks: int) -> None:
    done = simulation(scheme, ranks)
    rank = done.seat.rank
    nodes, edges = int(rank.tree.used[NODES]), int(rank.tree.used[EDGES])
    assert done.playouts == PLAYOUTS == int(rank.tree.node_visits[0])
    assert not rank.tree.node_flight[:nodes].any() and not rank.tree.edge_flight[:edges].any()
    copies: Any = rank.extension
    assert not copies.own_under_way.any() and not copies.new_visits.any()
    assert not copies.state[:, ALIVE].any() and not copies.state[:, QUOTA].any()


def test_every_rank_has_the_same_copies_of_the_same_nodes() -> None:
    done = simulation("span:grant=3,share=20", 4 if JIT_DISABLED else 9, playouts=max(PLAYOUTS, 300))
    copies: Any = done.seat.rank.extension
    hot, edges = int(copies.state[0, HOT]), int(copies.state[0, EDGES_USED])
    assert hot > 1
    assert (copies.keys[:, :hot] == copies.keys[0, :hot]).all()
    # Rank 0 has the totals of the last round already when it ends the search.
    assert (copies.visits[1:, :edges] == copies.visits[1, :edges]).all()
    assert (copies.visits[1, :edges] <= copies.visits[0, :edges]).all()


def test_visits_of_a_copied_node_are_those_of_the_move_that_leads_there() -> None:
    """With one rank nothing is late: a copied child has the visits of its edge, less those as a leaf."""
    done = simulation("span:jobs=1,grant=1,share=1000", 1)
    rank = done.seat.rank
    first, count = int(rank.tree.node_first[0]), int(rank.tree.node_count[0])
    keys = rank.tree.edge_key[first : first + count]
    threshold = int(rank.settings.threshold)
    for visits, key in zip(rank.tree.edge_visits[first : first + count], keys, strict=True):
        (child,) = np.flatnonzero(rank.tree.node_key[: int(rank.tree.used[NODES])] == key)
        assert rank.tree.node_visits[child] == visits - threshold


def test_same_seed_same_trace() -> None:
    wanted = request(SPEC, PLAYOUTS, 3, seed=3)
    runs = [run_simulated(make_scheme("span:policy=wait=1ms"), wanted, QDR) for _ in range(2)]  # type: ignore[arg-type]
    assert (runs[0].seconds, runs[0].signature) == (runs[1].seconds, runs[1].signature)
    check_result(runs[0], PLAYOUTS)


def test_time_limit_calls_all_jobs_home() -> None:
    wanted = Request(request(SPEC, 1, 1).position, Budget(seconds=0.02), ranks=6)
    result = run_simulated(make_scheme("span:policy=wait=1ms"), wanted, QDR)  # type: ignore[arg-type]
    check_result(result, result.playouts)
    assert 0.02 <= result.seconds < 0.06


@pytest.mark.parametrize("ranks", [1, 4])
def test_ranks_as_threads(ranks: int) -> None:
    result = run_threads(make_scheme("span:grant=3,share=20"), request(SPEC, PLAYOUTS, ranks))  # type: ignore[arg-type]
    check_result(result, PLAYOUTS)
