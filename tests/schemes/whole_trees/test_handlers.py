"""Schemes with whole trees: what one rank gives, what must hold on many, and what they refuse."""

from typing import Any

import numpy as np
import pytest

from tests.support.distributed import check_result, moves_of, request
from tests.support.searches import position_of, sized
from treespan.core.errors import OptionError
from treespan.core.jit import JIT_DISABLED
from treespan.runtimes.run import run_search
from treespan.runtimes.simulated import Simulation
from treespan.schemes.plan import MPI, SIMULATED, THREADS, Budget, Plan, Request
from treespan.schemes.protocol.port import LEAVES, OUT, PLAYED, TREE, URGENT
from treespan.schemes.registry import SCHEMES as ALL_SCHEMES
from treespan.schemes.registry import read_scheme
from treespan.search.options import BANDITS
from treespan.search.result import SearchResult
from treespan.search.searcher import Searcher
from treespan.search.tree import EDGES, NODES

PLAYOUTS = sized(1501, without_jit=121)  # cannot be dealt out evenly
GAMES = ["pgame:branching=5", "tictactoe", "sailing:size=4"]
SAME_ALONE = ["root", "slow-tree", "slow-root", "master-worker", "leaf", "broadcast", "shared"]
SCHEMES = [
    "root",
    "root:period=0.0002",
    "slow-root:period=0.0002",
    "slow-tree:period=0.0001,share=0.02",
    "slow-tree:period=0.0001,share=0,depth=16,copies=100",
    "master-worker",
    "master-worker:jobs_per_worker=3,master_plays=yes,virtual_loss=unobserved",
    "master-worker:mode=random-workers",
    "leaf",
    "leaf:playouts_per_leaf=7",
    "broadcast:period=0.0001",
]


def run(
    scheme: str, spec: str, ranks: int, playouts: int | None = PLAYOUTS, runtime: str = SIMULATED, **more: Any
) -> Any:
    return run_search(request(scheme, spec, playouts, ranks, 3, runtime, **more))


def with_options(scheme: str, options: str) -> str:
    return scheme + ("," if ":" in scheme else ":") + options


def facts(result: SearchResult) -> dict[str, Any]:
    names = ("playouts", "move", "depth", "max_depth", "nodes", "edges", "proven", "line", "depth_cuts")
    return {"moves": moves_of(result), **{name: getattr(result, name) for name in names}}


def bandits_of(scheme: str) -> tuple[str, ...]:
    return ALL_SCHEMES[scheme].search_choices.get("bandit", BANDITS)


@pytest.mark.parametrize("scheme", SAME_ALONE)
@pytest.mark.parametrize("spec", GAMES)
def test_one_rank_is_the_sequential_search_bit_for_bit(scheme: str, spec: str) -> None:
    for bandit in BANDITS[:1] if JIT_DISABLED else bandits_of(scheme):
        options = f"bandit={bandit},widening={10 if bandit == 'tuned1' else 0}"
        expected = run(f"sequential:{options}", spec, 1, runtime=THREADS)
        for runtime in (SIMULATED,) if scheme == "shared" else (SIMULATED, THREADS):
            result = run(with_options(scheme, options), spec, 1, runtime=runtime)
            assert facts(result) == facts(expected), (bandit, runtime)


def test_one_rank_is_the_sequential_search_in_go() -> None:
    """With RAVE, priors, patterns, superko and proofs: what the game's own defaults ask for."""
    position, budget = position_of("go:size=5"), Budget(sized(400, without_jit=60))
    plans = [Plan(*read_scheme(name, position.game), budget, seed=3) for name in ("sequential", "root")]
    expected, result = (run_search(Request(position, plan)) for plan in plans)
    assert expected is not None and result is not None
    assert facts(result) == facts(expected) and "rave-mse" in result.scheme


def test_a_proof_ends_the_search() -> None:
    result = run("root", "tictactoe", 3, playouts=3000, moves="a1 b1 a2 b2")
    assert (result.move, result.proven) == ("a3", "win")
    assert result.root_visits == result.playouts == sum(move.visits for move in result.moves) < 3000


def finished(wanted: Request) -> Simulation:
    simulation = Simulation(wanted)
    while not simulation.run(10_000):
        pass
    return simulation


def check_nothing_under_way(simulation: Simulation) -> None:
    tree = simulation.seat.tree
    assert not tree.node_flight[: int(tree.used[NODES])].any() and not tree.edge_flight[: int(tree.used[EDGES])].any()
    assert not simulation.port.queues[:, [TREE, LEAVES, PLAYED, OUT, URGENT]].length.any()


@pytest.mark.parametrize("scheme", [*SCHEMES, "shared", "shared:virtual_loss=visits", "shared:virtual_loss=none"])
@pytest.mark.parametrize("spec", GAMES)
def test_nothing_is_lost_on_simulated_ranks(scheme: str, spec: str) -> None:
    scheme = with_options(scheme, "solver=no")
    for ranks, workers in ((2, 0), (3, 0 if scheme.startswith("shared") else 2), (11, 0)):
        simulation = finished(request(scheme, spec, PLAYOUTS, ranks, workers=workers))
        assert simulation.playouts == PLAYOUTS == int(simulation.seat.tree.node_visits[0])
        check_nothing_under_way(simulation)
        check_result(run(scheme, spec, ranks, workers=workers), PLAYOUTS)


@pytest.mark.parametrize(
    "spec", [pytest.param("samegame:width=4,height=4,colors=3", marks=() if JIT_DISABLED else pytest.mark.full)]
)
def test_one_player_is_enough(spec: str) -> None:
    for scheme in [*SCHEMES, "shared"]:
        check_result(run(scheme, spec, 3, playouts=sized(600, without_jit=60)), sized(600, without_jit=60))


@pytest.mark.parametrize("scheme", SCHEMES)
def test_nothing_is_lost_on_threads(scheme: str) -> None:
    for ranks, workers in ((3, 0), (2, 2)):
        result = run(with_options(scheme, "solver=no"), GAMES[0], ranks, runtime=THREADS, workers=workers)
        check_result(result, PLAYOUTS)
        assert result.ranks == ranks and len(result.playouts_by_rank) == ranks


@pytest.mark.parametrize("scheme", [*SCHEMES, "shared"])
def test_same_seed_same_trace(scheme: str) -> None:
    scheme = with_options(scheme, "policy=wait=0.1ms")
    runs = [run_search(request(scheme, GAMES[0], PLAYOUTS, 5, seed)) for seed in (4, 4, 5)]
    traces = [(run.seconds, run.signature, run.messages["bytes"], run.playouts_by_rank) for run in runs if run]
    assert traces[0] == traces[1] != traces[2]


@pytest.mark.parametrize("scheme", SCHEMES)
@pytest.mark.parametrize("runtime", [SIMULATED, THREADS])
def test_time_ends_a_search(scheme: str, runtime: str) -> None:
    result = run(with_options(scheme, "policy=wait=1ms"), GAMES[0], 3, None, runtime, seconds=0.05)
    assert result.seconds >= 0.05 and not result.interrupted
    check_result(result, result.playouts)
    assert 0 < result.playouts <= 3 * 51 + 3


@pytest.mark.parametrize("scheme", [*SCHEMES, "shared"])
def test_more_ranks_than_playouts(scheme: str) -> None:
    check_result(run(scheme, GAMES[0], 7, playouts=2), 2)


@pytest.mark.parametrize("scheme", SCHEMES)
def test_full_tree_degrades_and_is_reported(scheme: str) -> None:
    result = run(with_options(scheme, "nodes=12"), GAMES[0], 3)
    check_result(result, PLAYOUTS)
    assert result.tree_full and result.edges <= 36


def test_python_may_value_positions() -> None:
    sizes: list[int] = []

    def evaluate(states: Any) -> list[float]:
        sizes.append(len(states))
        return [0.25] * len(states)

    for runtime in (SIMULATED, THREADS):
        sizes.clear()
        result = run("slow-tree", GAMES[0], 2, playouts=100, runtime=runtime, evaluate=evaluate)
        check_result(result, 100)
        assert sum(sizes) == 100 and all(move.value == 0.25 for move in result.moves if move.visits)


@pytest.mark.parametrize("more", [{"workers": 2}, {"evaluate": lambda states: [0.5] * len(states)}])
def test_rave_is_refused_where_the_moves_of_playouts_are_gone(more: dict[str, Any]) -> None:
    with pytest.raises(OptionError, match=r"root: bandit=rave needs the moves of each playout .* workers"):
        run("root:bandit=rave", GAMES[0], 2, **more)


@pytest.mark.parametrize("option", ["expertise=5", "conditioning=yes"])
def test_tactics_are_refused_on_ranks(option: str) -> None:
    with pytest.raises(OptionError, match=f"slow-tree: {option} is not possible; use sequential or shared"):
        run(f"slow-tree:{option}", GAMES[0], 2)


@pytest.mark.parametrize("name", ["root", "broadcast"])
def test_a_tree_without_room_for_the_roots_of_all_ranks_is_refused(name: str) -> None:
    with pytest.raises(OptionError, match="nodes=3 is too small for a root at each rank; give at least"):
        run(f"{name}:nodes=3", GAMES[0], 4)


# root


@pytest.mark.parametrize("spec", GAMES)
def test_merged_statistics_are_the_sum_of_the_trees(spec: str) -> None:
    position, (_, options) = position_of(spec), read_scheme("root:solver=no")
    total: dict[int, Any] = {}
    nodes = 0
    for stream in range(3):
        searcher = Searcher(position.game, options, seed=4, stream=stream)
        searcher.set_position(position)
        searcher.run(PLAYOUTS // 3 + (stream < PLAYOUTS % 3))
        nodes += int(searcher.tree.used[NODES])
        for move in searcher.root().moves:
            visits_and_wins = total.setdefault(move.id, np.zeros(2))
            visits_and_wins += (move.visits, move.wins)
    for runtime in (SIMULATED, THREADS):
        result = run_search(request("root:solver=no", spec, PLAYOUTS, 3, 4, runtime))
        assert result is not None and result.nodes == nodes
        for move in result.moves:
            assert move.visits == total[move.id][0] and move.wins == pytest.approx(total[move.id][1], abs=1e-9)


# master-worker, leaf, broadcast, shared


def test_the_master_plays_nothing_out_unless_it_shall() -> None:
    plain, helping = (
        run(f"master-worker:{option}", GAMES[0], 4) for option in ("jobs_per_worker=2", "master_plays=yes")
    )
    assert plain.playouts_by_rank[0] == 0 < min(plain.playouts_by_rank[1:]) and plain.played_elsewhere == 1.0
    assert helping.playouts_by_rank[0] > 0


def test_random_modes_measure_the_master() -> None:
    """cazenave2008, Tables 6 and 7: without playouts, then without messages."""
    times = [
        run(f"master-worker:mode={mode},policy=wait=0.1ms", GAMES[0], 3).seconds for mode in ("full", "random-workers")
    ]
    assert times[0] >= times[1] >= PLAYOUTS * 1e-4 / 2
    instant, alone = (run(f"master-worker:mode={mode}", GAMES[0], 3) for mode in ("random-workers", "random-master"))
    assert alone.seconds < instant.seconds and alone.playouts_by_rank == [PLAYOUTS, 0, 0]
    assert alone.messages["sent"] == 2 < instant.messages["sent"]  # the two that tell of the end


def test_all_playouts_at_a_leaf_are_counted_before_the_next_descent() -> None:
    result = run("leaf:playouts_per_leaf=7,policy=wait=1ms", GAMES[0], 7, playouts=700)
    assert all(move.visits % 7 == 0 for move in result.moves)
    assert 0.1 < result.seconds < 0.11  # 100 leaves, each in the time of one playout
    assert result.playouts_by_rank == [100] * 7


def test_every_rank_has_replayed_everything_at_the_end() -> None:
    simulation = finished(request("broadcast:period=0.0001,solver=no", GAMES[0], PLAYOUTS, 4))
    tree, roots = simulation.seat.tree, simulation.seat.rank.roots
    statistics = []
    for root in roots:
        edges = slice(int(tree.node_first[root]), int(tree.node_first[root] + tree.node_count[root]))
        assert int(tree.node_visits[root]) == PLAYOUTS
        statistics.append((tree.edge_visits[edges].tolist(), tree.edge_wins[edges].tolist()))
    assert statistics.count(statistics[0]) == 4


def test_broadcast_cannot_pass_its_bound() -> None:
    """gelly2008: with a share alpha of the time in updates the speed-up stays below 1 / alpha; without it, it grows."""
    playouts = sized(20_000, without_jit=300)

    def speed(scheme: str, ranks: int) -> float:
        result = run(scheme + ":policy=wait=5us", GAMES[0], ranks, playouts=playouts)
        return float(result.playouts_per_second)

    few, many = (speed("broadcast", ranks) / speed("broadcast", 1) for ranks in (4, 16))
    assert few < 4 and many < 8 < speed("root", 16) / speed("root", 1)


def test_a_stack_that_is_full_is_sent_at_once() -> None:
    result = run("broadcast:period=1000", GAMES[0], 3, playouts=sized(3000, without_jit=300))
    assert result.messages["sent"] > 2 * 3 * 2 or JIT_DISABLED
    check_result(result, result.playouts)


def test_broadcast_to_too_many_is_refused() -> None:
    with pytest.raises(
        OptionError, match=r"broadcast: 4000 ranks send each other more at once .* at most 1\d\d\d ranks"
    ):
        run("broadcast", GAMES[0], 4000)


def test_broadcast_reaches_as_many_as_the_paper_of_the_largest_cluster_has() -> None:
    asked = request("broadcast", "pgame", 1000, 1200)
    asked.plan.scheme.check(asked)


def test_shared_needs_one_memory() -> None:
    with pytest.raises(OptionError, match="scheme shared needs one memory; give threads, simulate"):
        run("shared", GAMES[0], 2, 10, MPI)
    with pytest.raises(OptionError, match="shared: update=mutex is not simulated"):
        run("shared:update=mutex", GAMES[0], 2)


def test_simulated_threads_search_one_tree_and_avoid_each_other() -> None:
    results = {name: run(f"shared:virtual_loss={name},policy=wait=1ms", GAMES[0], 8) for name in ("loss", "none")}
    alone = run("shared:policy=wait=1ms", GAMES[0], 1)
    assert results["loss"].seconds < alone.seconds / 7
    if not JIT_DISABLED:
        assert results["loss"].depth > results["none"].depth
