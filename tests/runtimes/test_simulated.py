"""The simulated cluster: invariants, equality with the sequential search, determinism, the cost model."""

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.runtimes.distributed import check_rank, check_result, moves_of, one_job, request, sequential_moves
from treespan.core.errors import OptionError
from treespan.core.jit import JIT_DISABLED
from treespan.runtimes.network import PROFILES, find_profile
from treespan.runtimes.simulated import Cluster, pop_event, push_event, run_simulated
from treespan.schemes.base import Budget, Request
from treespan.schemes.registry import make_scheme
from treespan.search.result import SearchResult

GAMES = ["pgame:branching=5", "tictactoe", "sailing:size=4"]
QDR = find_profile("qdr")
PLAYOUTS = 60 if JIT_DISABLED else 1500


def simulate(spec: str, scheme: str, ranks: int, playouts: int = PLAYOUTS, seed: int = 1) -> SearchResult:
    result = run_simulated(make_scheme(scheme), request(spec, playouts, ranks, seed), QDR)  # type: ignore[arg-type]
    check_result(result, playouts)
    return result


@pytest.mark.parametrize("spec", GAMES)
@pytest.mark.parametrize("algorithm", ["uct", "dfuct"])
@pytest.mark.parametrize("bandit", ["ucb1", "puct"])
def test_one_rank_with_one_job_is_the_sequential_search(spec: str, algorithm: str, bandit: str) -> None:
    for seed in (1, 2):
        result = simulate(spec, one_job(algorithm) + f",bandit={bandit}", 1, seed=seed)
        assert moves_of(result) == sequential_moves(spec, algorithm, PLAYOUTS, seed, f",bandit={bandit}")


@pytest.mark.parametrize("scheme", ["tds-uct", "tds-uct:dedicated_root=yes", "tds-dfuct", "tds-dfuct:grant=3"])
@pytest.mark.parametrize("spec", GAMES)
def test_nothing_is_lost_on_many_ranks(scheme: str, spec: str) -> None:
    for ranks in (2, 7):
        cluster = Cluster(make_scheme(scheme), request(spec, PLAYOUTS, ranks), QDR)  # type: ignore[arg-type]
        while not cluster.run(10_000):
            pass
        check_rank(cluster.rank)
        assert cluster.playouts == PLAYOUTS


@settings(max_examples=5 if JIT_DISABLED else 40, deadline=None, suppress_health_check=list(HealthCheck))
@given(
    spec=st.sampled_from(GAMES),
    scheme=st.sampled_from(["tds-uct", "tds-dfuct"]),
    jobs=st.integers(1, 30),
    ranks=st.integers(1, 40),
    playouts=st.integers(1, 60 if JIT_DISABLED else 600),
    seed=st.integers(0, 2**32),
)
def test_any_search_keeps_its_count(spec: str, scheme: str, jobs: int, ranks: int, playouts: int, seed: int) -> None:
    simulate(spec, f"{scheme}:jobs={jobs}", ranks, playouts, seed)


@pytest.mark.parametrize("scheme", ["tds-uct", "tds-dfuct"])
def test_same_seed_same_trace(scheme: str) -> None:
    runs = [simulate("pgame", f"{scheme}:policy=wait=1ms", 13, playouts=600, seed=seed) for seed in (4, 4, 5)]
    facts = [(run.seconds, run.signature, run.messages["bytes"], tuple(run.playouts_by_rank)) for run in runs]
    assert facts[0] == facts[1] != facts[2]


def test_time_limit_ends_the_search_and_calls_all_jobs_home() -> None:
    position = request("pgame", 1, 1).position
    wanted = Request(position, Budget(seconds=0.02), ranks=6)
    for scheme in ("tds-uct:policy=wait=1ms", "tds-dfuct:policy=wait=1ms"):
        result = run_simulated(make_scheme(scheme), wanted, QDR)  # type: ignore[arg-type]
        check_result(result, result.playouts)
        assert 0.02 <= result.seconds < 0.04 and 30 < result.playouts <= 6 * 21


def test_playouts_of_set_time_bound_the_speed() -> None:
    for ranks in (1, 4, 12):
        result = simulate("pgame", "tds-dfuct:policy=wait=1ms", ranks)
        assert PLAYOUTS * 1e-3 / ranks < result.seconds
        assert all(load <= 1.0 + 1e-9 for load in result.load)


def test_full_tree_degrades_and_is_reported() -> None:
    result = simulate("pgame:branching=5", "tds-dfuct:nodes=20", 3, playouts=300)
    assert result.tree_full and result.edges <= 20


def test_depth_limit_degrades_and_is_reported() -> None:
    result = simulate("pgame:branching=2", "tds-dfuct:max_depth=3", 3)
    assert result.max_depth <= 3 and result.depth_cuts > 0


def test_events_come_in_order_of_time_then_of_creation() -> None:
    rng = np.random.default_rng(1)
    times = rng.integers(0, 20, 200).astype(float)
    heap = np.zeros(256), np.zeros(256, np.int64), np.zeros(256, np.int64)
    clock = np.zeros(6)
    for slot, time in enumerate(times):
        push_any(heap, clock, time, slot)
    order = [pop_any(heap, clock) for _ in times]
    assert order == sorted(range(len(times)), key=lambda slot: (times[slot], slot))


def push_any(heap: tuple[np.ndarray, ...], clock: np.ndarray, time: float, slot: int) -> None:
    push_event(heap[0], heap[1], heap[2], clock, time, 0, 0, slot)


def pop_any(heap: tuple[np.ndarray, ...], clock: np.ndarray) -> int:
    return int(pop_event(heap[0], heap[1], heap[2], clock)) & 0x7FFFFFFF


def test_every_profile_names_its_source_and_unknown_ones_are_refused() -> None:
    assert {"qdr", "shared-memory", "10gbe"} <= set(PROFILES)
    assert all(profile.source and profile.latency > 0 for profile in PROFILES.values())
    with pytest.raises(OptionError, match="did you mean 'qdr'"):
        find_profile("qrd")


def test_schemes_refuse_what_they_cannot_do() -> None:
    with pytest.raises(OptionError, match="needs a runtime"):
        make_scheme("tds-uct").search(request("tictactoe", 1, 1))
    with pytest.raises(OptionError, match="solver=yes is not possible"):
        make_scheme("tds-uct:solver=yes")
    with pytest.raises(OptionError, match="unknown tds-dfuct bandit 'rave'"):
        make_scheme("tds-dfuct:bandit=rave")
    with pytest.raises(OptionError, match="unknown tds-uct algorithm 'dfuct'"):
        make_scheme("tds-uct:algorithm=dfuct")
