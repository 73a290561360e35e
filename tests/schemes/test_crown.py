"""The crown of span: jobs start and end there, its copies know what their homes know, and nothing gets lost."""

from typing import Any

import numpy as np
import pytest

from tests.runtimes.distributed import check_result, check_seat, home_of_plain, request
from tests.schemes.copies_cluster import Cluster
from treespan.core.jit import JIT_DISABLED
from treespan.runtimes.network import find_profile
from treespan.runtimes.simulated import Simulation, run_simulated
from treespan.schemes import crown
from treespan.schemes.copies import NO_COPY, show_move
from treespan.schemes.rank import PLAYOUTS_DONE
from treespan.schemes.registry import make_scheme
from treespan.search.tree import EDGES, NODES, ROOT

SPEC = "pgame:branching=5"
QDR = find_profile("qdr")
FEW = 400


@pytest.fixture(autouse=True)
def eager(monkeypatch: pytest.MonkeyPatch) -> None:
    """Short searches shall have copies, too."""
    monkeypatch.setattr(crown, "N_DUP", 4)
    monkeypatch.setattr(crown, "N_SYNC", 1)


@pytest.mark.parametrize(
    "scheme",
    [
        "span:crown=1",
        "span:crown=2,jobs=3",
        "span:crown=3,grant=5,place=home",
        "span:crown=2,grant=5,virtual_loss=unobserved",
    ],
)
@pytest.mark.parametrize("game", [SPEC, "tictactoe"])
def test_homes_have_every_result_once(scheme: str, game: str) -> None:
    """Against a brute-force sum, whatever the order in which messages arrive."""
    cluster = Cluster(game, scheme, 6, FEW)
    cluster.run()
    assert cluster.statistics() == cluster.counted
    assert cluster.rank.tree.node_visits[ROOT] == FEW == len(cluster.paths)
    assert cluster.copy_count() > cluster.copies.starters  # not of the root alone
    check_seat(cluster.seat)


@pytest.mark.parametrize("game", [SPEC, "tictactoe"])
@pytest.mark.parametrize("place", ["idle", "home"])
def test_the_crown_holds_copies_and_nothing_else(game: str, place: str) -> None:
    cluster = Cluster(game, f"span:crown=2,place={place}", 6, FEW)
    cluster.run()
    assert not cluster.rank.port.numbers[:2, PLAYOUTS_DONE].any()
    for path in cluster.paths:
        holders = [rank for _, rank in path]
        in_crown = [rank < 2 for rank in holders]
        assert in_crown[0] and in_crown == sorted(in_crown, reverse=True)  # once a job has left it stays outside
        assert len({rank for rank in holders if rank < 2}) == 1
        assert all(rank == home_of_plain(key, cluster.rank) for key, rank in path if rank >= 2)


def test_a_copy_supposes_that_the_others_change_as_it_does() -> None:
    cluster = Cluster(SPEC, "span:crown=3", 6, FEW)
    copies, tree = cluster.copies, cluster.rank.tree
    node = int(np.flatnonzero(copies.role[: int(tree.used[NODES])] != NO_COPY)[0])
    edge = int(tree.node_first[node])
    copies.known_visits[edge], copies.known_wins[edge], copies.known_flights[edge] = 100, 60.0, 7
    copies.new_visits[edge], copies.new_wins[edge], copies.new_flights[edge] = 20, 6.0, -1
    show_move(cluster.seat.handle.whole, node, edge)
    assert tree.edge_visits[edge] == 100 + 3 * 20 and tree.edge_flight[edge] == 7 - 3
    assert tree.edge_wins[edge] / tree.edge_visits[edge] == pytest.approx(66 / 120)
    copies.new_flights[edge] = -5
    show_move(cluster.seat.handle.whole, node, edge)
    assert tree.edge_flight[edge] == 0  # never fewer than none
    first = slice(edge, edge + int(tree.node_count[node]))
    assert tree.node_visits[node] == tree.edge_visits[first].sum()
    assert tree.node_flight[node] == tree.edge_flight[first].sum()


@pytest.mark.parametrize("virtual_loss", ["visits", "unobserved"])
def test_jobs_count_as_one_or_as_all_playouts_that_they_may_do(virtual_loss: str) -> None:
    scheme: Any = make_scheme(f"span:crown=0,jobs=2,grant=6,waiting=100,virtual_loss={virtual_loss}")
    simulation = Simulation(scheme, request("pgame:branching=8", FEW, 4), QDR)
    simulation.run(60)
    headers, levels = simulation.port.jobs.headers, simulation.port.jobs.levels
    away = [job for job in range(4 * 2) if headers[job].levels > 0]
    flights = int(simulation.seat.tree.node_flight[ROOT])
    if virtual_loss == "visits":
        assert flights == len(away) > 0
    else:  # what was left of its grant when it left the root
        assert flights == sum(int(levels[job, 0].under_way) for job in away) > len(away)
        assert max(int(levels[job, 0].under_way) for job in away) == 6
    while not simulation.run(1000):
        pass
    check_seat(simulation.seat)


def test_many_ranks_have_a_crown_and_few_have_none() -> None:
    span: Any = make_scheme("span")
    assert [span.reserved(ranks) for ranks in (1, 12, 99)] == [0, 0, 0]
    assert 0 < span.reserved(1200) < 120
    assert make_scheme("span:crown=5").reserved(3) == 2  # type: ignore[attr-defined]


def test_hot_nodes_are_copied_into_the_crown() -> None:
    playouts = 300 if JIT_DISABLED else 20_000
    scheme: Any = make_scheme("span:crown=4,policy=wait=1ms")
    simulation = Simulation(scheme, request("pgame:branching=8", playouts, 60), QDR)
    while not simulation.run(10_000):
        pass
    check_seat(simulation.seat)
    copies, tree = simulation.seat.handle.whole.value, simulation.seat.tree
    assert (copies.role[: int(tree.used[NODES])] != NO_COPY).sum() > 4 * 8
    assert not copies.new_visits[: int(tree.used[EDGES])].any()


def test_fewer_playouts_than_jobs_and_a_full_tree() -> None:
    check_result(run_simulated(make_scheme("span:crown=4"), request(SPEC, 3, 9), QDR), 3)  # type: ignore[arg-type]
    few: Any = make_scheme("span:crown=2,nodes=60")
    result = run_simulated(few, request(SPEC, FEW, 5), QDR)
    check_result(result, FEW)
    assert result.tree_full
