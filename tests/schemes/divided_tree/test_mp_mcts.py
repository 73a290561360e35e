"""Scheme mp-mcts: nodes remember their ancestors, jobs and nodes learn from each other, results are counted once."""

from typing import Any

import numpy as np
import pytest

from tests.naive.mp_mcts import NaiveMpMcts
from tests.support.distributed import check_result, moves_of, request, sequential_moves
from treespan.core.jit import JIT_DISABLED
from treespan.games.rules import FIRST, SECOND
from treespan.runtimes.simulated import Simulation, run_simulated
from treespan.schemes.divided_tree import mp_mcts
from treespan.schemes.scheme import Place
from treespan.search.options import SearchOptions

SPEC = "pgame:branching=5"
PLAYOUTS = 100 if JIT_DISABLED else 1500
ONE_JOB = "mp-mcts:jobs=1,grant=1000000"
NODE = 5  # any


def seat() -> Any:
    wanted = request("mp-mcts", SPEC, 100)
    return wanted.plan.scheme.new_seat(wanted, Place())


def set_level(level: Any, total: int, best_visits: int, gained: tuple[int, float] = (0, 0.0), edge: int = 2) -> None:
    level.node, level.edge, level.home, level.player = 0, edge, 0, FIRST
    level.total, level.best_visits, level.best_wins = total, best_visits, best_visits / 2
    level.second_visits, level.second_wins, level.test_at = total - best_visits, 1.0, 9
    level.gained_visits, level.gained_wins = gained


def test_fresher_snapshot_replaces_the_older_and_a_jobs_own_results_stay_its_own() -> None:
    made = seat()
    whole, jobs = made.handle.whole, made.port.jobs
    mp, known = whole.value, whole.value.history[0]
    mp.depth[NODE] = 1
    jobs.headers[0].levels = jobs.headers[1].levels = 1
    set_level(jobs.levels[0, 0], total=10, best_visits=4)
    mp_mcts.exchange(whole, 0, NODE)
    assert (known.total, known.best_visits, known.edge) == (10, 4, 2)  # nothing was known
    set_level(jobs.levels[1, 0], total=30, best_visits=20)
    mp_mcts.exchange(whole, 1, NODE)
    assert (known.total, known.best_visits) == (30, 20)
    mine = jobs.levels[0, 0]
    set_level(mine, total=10, best_visits=4, gained=(3, 1.0))
    mp_mcts.exchange(whole, 0, NODE)
    assert (mine.gained_visits, mine.gained_wins) == (3, 1.0)
    assert (mine.total + 3, mine.best_visits + 3, mine.best_wins + 1.0) == (30, 20, 10.0)
    assert (mine.second_visits, mine.test_at, known.total) == (10, 0, 30)
    set_level(mine, total=3, best_visits=1, edge=4)  # by another path: other ancestors, nothing to compare
    mp_mcts.exchange(whole, 0, NODE)
    assert (known.total, known.edge, mine.total) == (3, 4, 3)


def test_node_adds_the_results_of_jobs_that_come_up_through_it() -> None:
    made = seat()
    whole, jobs = made.handle.whole, made.port.jobs
    mp, known = whole.value, whole.value.history[0]
    mp.depth[NODE] = 1
    header, mine, own = jobs.headers[0], jobs.levels[0, 0], jobs.levels[0, 1]
    header.levels, header.allowance, header.target = 1, 9, 0
    set_level(known, total=100, best_visits=60)
    known.second_visits = -1  # no other move: nothing can flip
    set_level(mine, total=50, best_visits=20, gained=(3, 2.0))
    own.node, own.player, own.gained_visits, own.gained_wins = NODE, SECOND, 3, 1.0
    mp_mcts.decide(whole, 0, 0)
    assert (known.gained_visits, known.gained_wins) == (3, 2.0)  # seen by the other player
    assert mine.total + mine.gained_visits == 103 and header.target == 1  # it stays
    known.second_visits, known.second_wins = 1, 1.0  # hardly tried, and it won
    mp_mcts.decide(whole, 0, 0)
    assert header.target == 0
    header.allowance, header.target, known.second_visits = 0, 0, -1  # called home
    mp_mcts.decide(whole, 0, 0)
    assert header.target == 0


@pytest.mark.parametrize("spec", [SPEC, "tictactoe", "sailing:size=4"])
def test_one_job_of_one_rank_is_the_naive_search(spec: str) -> None:
    wanted = request(ONE_JOB, spec, PLAYOUTS, seed=3)
    result = run_simulated(wanted)
    check_result(result, PLAYOUTS)
    twin = NaiveMpMcts(wanted.position, SearchOptions(algorithm="dfuct", solver=False, max_depth=127), 3)
    twin.run(PLAYOUTS)
    expected = {edge.move: (edge.visits, pytest.approx(edge.wins)) for edge in twin.root.edges}  # another order of sums
    assert moves_of(result) == expected


def test_with_two_moves_one_job_is_the_sequential_dfuct() -> None:
    """With more moves it is not by definition: the leaf's parent may choose a third one."""
    result = run_simulated(request(ONE_JOB, "pgame:branching=2", PLAYOUTS))
    assert moves_of(result) == sequential_moves("pgame:branching=2", "dfuct", PLAYOUTS, 1)


def test_nodes_know_their_ancestors() -> None:
    simulation = Simulation(request("mp-mcts", SPEC, PLAYOUTS, 3))
    while not simulation.run(10_000):
        pass
    mp: Any = simulation.seat.handle.whole.value
    tree = mp.rank.tree
    known = np.flatnonzero(mp.depth)
    assert len(known) > 5
    for node in known:
        last = mp.history[mp.first[node] + mp.depth[node] - 1]
        assert tree.edge_key[last.edge] == tree.node_key[node]  # the last ancestor is the parent
        assert mp.history[mp.first[node]].total <= PLAYOUTS


def test_without_room_for_histories_jobs_use_their_own() -> None:
    simulation = Simulation(request("mp-mcts", SPEC, PLAYOUTS, 3))
    mp: Any = simulation.seat.handle.whole.value
    mp.used[0] = len(mp.history)
    while not simulation.run(10_000):
        pass
    assert not mp.depth.any() and simulation.playouts == PLAYOUTS == int(mp.rank.tree.node_visits[0])
