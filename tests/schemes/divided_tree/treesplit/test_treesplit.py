"""Scheme treesplit: copies of hot nodes, whose results reach the homes once; sharing nothing and everything."""

import numpy as np
import pytest

from tests.support.cluster import Cluster
from tests.support.distributed import check_result, check_seat, home_of_plain, moves_of, request, sequential_moves
from treespan.core.errors import OptionError
from treespan.core.jit import JIT_DISABLED
from treespan.runtimes.simulated import run_simulated
from treespan.runtimes.threads import run_threads
from treespan.schemes.plan import SIMULATED, THREADS
from treespan.search.tree import EDGES, ROOT

SPEC = "pgame:branching=5"
PLAYOUTS = 100 if JIT_DISABLED else 2000
FEW = 200  # for clusters driven by Python


@pytest.mark.parametrize("options", ["n_dup=0,n_sync=1", "n_dup=2,n_sync=7,jobs=9", "n_dup=16,n_sync=100"])
def test_homes_have_every_result_once(options: str) -> None:
    """Against a brute-force sum, whatever the order in which messages arrive."""
    cluster = Cluster(SPEC, f"treesplit:{options}", 4, FEW)
    cluster.run()
    assert cluster.copy_count() >= 3  # of the root at least
    assert cluster.statistics() == cluster.counted
    assert cluster.rank.tree.node_visits[ROOT] == FEW == len(cluster.paths)
    assert not cluster.copies.new_visits[: int(cluster.rank.tree.used[EDGES])].any()
    check_seat(cluster.seat)


def test_sharing_nothing_is_a_split_tree() -> None:
    cluster = Cluster(SPEC, "treesplit:n_dup=1000000", 4, FEW)
    cluster.run()
    assert cluster.copy_count() == 3  # the root alone is everywhere
    for path in cluster.paths:
        for key, rank in path[1:]:
            assert rank == home_of_plain(key, cluster.rank)
    assert len({rank for path in cluster.paths for _, rank in path[1:]}) > 1


def test_sharing_everything_needs_messages_for_leaves_only() -> None:
    playouts = 3 * FEW
    everything, nothing = (Cluster(SPEC, f"treesplit:n_dup={n_dup}", 4, playouts) for n_dup in (0, 10**6))
    for cluster in (everything, nothing):
        cluster.run()
    late = [[len({rank for _, rank in path}) == 1 for path in c.paths[playouts // 2 :]] for c in (everything, nothing)]
    alone = [float(np.mean(same)) for same in late]  # share of simulations that one rank selects
    assert alone[0] > 0.6 > alone[1] + 0.2
    messages = [
        run_simulated(request(f"treesplit:n_dup={n_dup}", SPEC, playouts, 4)).messages["per_playout"]
        for n_dup in (0, 10**6)
    ]
    assert messages[0] < messages[1]


@pytest.mark.parametrize("spec", [SPEC, "tictactoe", "sailing:size=4"])
@pytest.mark.parametrize("bandit", ["ucb1", "puct"])
def test_one_rank_with_one_simulation_is_the_sequential_search(spec: str, bandit: str) -> None:
    simulated, threads = (
        request(f"treesplit:overload=1,bandit={bandit}", spec, PLAYOUTS, seed=2, runtime=runtime)
        for runtime in (SIMULATED, THREADS)
    )
    for result in (run_threads(threads), run_simulated(simulated)):
        check_result(result, PLAYOUTS)
        assert moves_of(result) == sequential_moves(spec, "uct", PLAYOUTS, 2, f",bandit={bandit}")


def test_every_worker_has_its_simulations() -> None:
    alone, helped = (
        request("treesplit:overload=4", SPEC, PLAYOUTS, 2, runtime=THREADS, workers=workers) for workers in (0, 3)
    )
    assert [wanted.plan.scheme.under_way(wanted.plan) for wanted in (alone, helped)] == [8, 24]
    check_result(run_threads(helped), PLAYOUTS)


def test_fewer_playouts_than_ranks_and_a_full_tree() -> None:
    check_result(run_simulated(request("treesplit", SPEC, 3, 9)), 3)
    result = run_simulated(request("treesplit:nodes=40,n_dup=0", SPEC, PLAYOUTS, 3))
    check_result(result, PLAYOUTS)
    assert result.tree_full
    with pytest.raises(OptionError, match="nodes=19 is too small for the root and its copies; give at least 20"):
        run_simulated(request("treesplit:nodes=19,n_dup=0", SPEC, PLAYOUTS, 3))
