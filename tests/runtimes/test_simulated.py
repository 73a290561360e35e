"""The simulated cluster: invariants, equality with the sequential search, determinism, the cost model."""

import itertools
from dataclasses import replace
from time import perf_counter, sleep
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.support.distributed import (
    SCHEMES,
    check_result,
    check_seat,
    moves_of,
    one_job,
    request,
    sequential_moves,
)
from treespan.core.errors import OptionError
from treespan.core.jit import JIT_DISABLED
from treespan.runtimes.network import PROFILES, find_profile
from treespan.runtimes.simulated import Simulation, pop_event, push_event, run_simulated
from treespan.runtimes.workers import EvaluationError
from treespan.schemes.plan import Budget, Request
from treespan.schemes.registry import read_scheme
from treespan.search.result import SearchResult

GAMES = ["pgame:branching=5", "tictactoe", "sailing:size=4"]
PLAYOUTS = 60 if JIT_DISABLED else 1500


def simulate(spec: str, scheme: str, ranks: int, playouts: int = PLAYOUTS, seed: int = 1) -> SearchResult:
    result = run_simulated(request(scheme, spec, playouts, ranks, seed))
    check_result(result, playouts)
    return result


@pytest.mark.parametrize("spec", GAMES)
@pytest.mark.parametrize("algorithm", ["uct", "dfuct"])
@pytest.mark.parametrize("bandit", ["ucb1", "puct"])
def test_one_rank_with_one_job_is_the_sequential_search(spec: str, algorithm: str, bandit: str) -> None:
    for seed in (1, 2):
        result = simulate(spec, one_job(algorithm) + f",bandit={bandit}", 1, seed=seed)
        assert moves_of(result) == sequential_moves(spec, algorithm, PLAYOUTS, seed, f",bandit={bandit}")


@pytest.mark.parametrize("scheme", SCHEMES)
@pytest.mark.parametrize("spec", GAMES)
def test_nothing_is_lost_on_many_ranks(scheme: str, spec: str) -> None:
    for ranks in (2, 7):
        simulation = Simulation(request(scheme, spec, PLAYOUTS, ranks))
        while not simulation.run(10_000):
            pass
        check_seat(simulation.seat)
        assert simulation.playouts == PLAYOUTS


@settings(max_examples=5 if JIT_DISABLED else 40, suppress_health_check=list(HealthCheck))
@given(
    spec=st.sampled_from(GAMES),
    scheme=st.sampled_from(SCHEMES),
    jobs=st.integers(1, 30),
    ranks=st.integers(1, 40),
    playouts=st.integers(1, 60 if JIT_DISABLED else 600),
    seed=st.integers(0, 2**32),
)
def test_any_search_keeps_its_count(spec: str, scheme: str, jobs: int, ranks: int, playouts: int, seed: int) -> None:
    simulate(spec, with_jobs(scheme, jobs), ranks, playouts, seed)


def add_option(scheme: str, option: str) -> str:
    return scheme + ("," if ":" in scheme else ":") + option


def with_jobs(scheme: str, jobs: int) -> str:
    name, _, options = scheme.partition(":")
    kept = [option for option in options.split(",") if option and not option.startswith("jobs=")]
    return name + ":" + ",".join([*kept, f"jobs={jobs}"])


@pytest.mark.parametrize(
    "scheme", ["tds-uct", "tds-dfuct", "tds-dfuct:place=idle", "treesplit:n_sync=5", "mp-mcts", "span:jobs=20,grant=2"]
)
def test_same_seed_same_trace(scheme: str) -> None:
    runs = [simulate("pgame", add_option(scheme, "policy=wait=1ms"), 13, playouts=600, seed=seed) for seed in (4, 4, 5)]
    facts = [(run.seconds, run.signature, run.messages["bytes"], tuple(run.playouts_by_rank)) for run in runs]
    assert facts[0] == facts[1] != facts[2]


def test_time_limit_ends_the_search_and_calls_all_jobs_home() -> None:
    for scheme in ("tds-uct:", "tds-dfuct:", "treesplit:", "mp-mcts:", "span:jobs=20,grant=2,"):
        result = run_simulated(request(f"{scheme}policy=wait=1ms", "pgame", None, 6, seconds=0.02))
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
    cluster = Simulation(request("tds-uct:jobs=60", "tictactoe", 1000, 4)).cluster
    first_step = (0.0, -1)
    times = np.random.default_rng(1).integers(0, 20, 200).astype(float)
    for slot, time in enumerate(times):
        push_event(cluster, time, 0, 0, slot)
    order = [int(pop_event(cluster)) & 0xFFFFFFFF for _ in range(201)]
    expected = sorted([first_step, *((time, slot) for slot, time in enumerate(times))])
    assert order[1:] == [slot for _, slot in expected[1:]]


@pytest.mark.parametrize("scheme", ["tds-uct:jobs=20", "tds-dfuct:grant=4", "treesplit:overload=3", "span:grant=2"])
def test_workers_play_out_beside_the_tree_work(scheme: str) -> None:
    playouts = max(PLAYOUTS, 240)  # of fewer `span` has a part under way that twelve workers would wait for
    without = simulate("pgame", f"{scheme},policy=wait=1ms", 4, playouts)
    with_workers = run_simulated(request(f"{scheme},policy=wait=1ms", "pgame", playouts, 4, workers=3))
    check_result(with_workers, playouts)
    assert with_workers.seconds < without.seconds / 2
    assert with_workers.seconds > playouts * 1e-3 / 12 and all(load <= 1.0 + 1e-9 for load in with_workers.load)


def test_idle_ranks_take_playouts() -> None:
    results = {
        place: simulate("pgame", f"tds-dfuct:jobs=4,grant=4,place={place},policy=wait=1ms", 12)
        for place in ("home", "idle")
    }
    assert results["home"].played_elsewhere == 0.0 < results["idle"].played_elsewhere
    assert results["idle"].seconds < results["home"].seconds


def test_share_rule_ends_when_every_rank_has_done_its_share() -> None:
    result = run_simulated(request("tds-dfuct:budget=share,policy=wait=1ms", "pgame", PLAYOUTS, 6))
    check_result(result, result.playouts)
    assert min(result.playouts_by_rank) >= int(1.05 * PLAYOUTS / 6)


def test_share_rule_ends_where_some_ranks_never_get_a_leaf() -> None:
    result = run_simulated(request("tds-dfuct:budget=share,solver=no", "pgame:branching=2,depth=1", 200, 8))
    check_result(result, result.playouts)
    assert min(result.playouts_by_rank) == 0 and result.playouts >= 200


def test_kept_moves_all_with_one_job_chooses_as_the_sequential_search() -> None:
    result = simulate("pgame:branching=5", "tds-dfuct:jobs=1,grant=1000000,kept_moves=all", 3)
    # Several ranks have several generators: only without chance in the playouts are the searches equal.
    alone = simulate("pgame:branching=5", "tds-dfuct:jobs=1,grant=1000000,kept_moves=all", 1)
    assert moves_of(alone) == sequential_moves("pgame:branching=5", "dfuct", PLAYOUTS, 1, ",kept_moves=all")
    assert result.playouts == PLAYOUTS


def test_position_values_may_come_from_python() -> None:
    seen: list[int] = []

    def evaluate(states: Any) -> list[float]:
        seen.append(len(states))
        return [0.75 if state.score >= 0 else 0.25 for state in states]

    for workers in (0, 2):
        seen.clear()
        more: dict[str, Any] = {"evaluate": evaluate, "workers": workers}
        result = run_simulated(request("tds-dfuct:policy=wait=1ms", "pgame:branching=5", 300, 3, **more))
        check_result(result, 300)
        assert sum(seen) == 300
        assert {value for move in result.moves for value in [move.value] if move.visits} != {0.5}


@pytest.mark.parametrize(
    "values, message",
    [([2.0], "gave 2; give values in 0..1"), ([], "gave 0 values for 1"), ([float("nan")], "gave nan")],
)
def test_bad_values_from_python_are_refused(values: list[float], message: str) -> None:
    wanted = request("tds-dfuct", "pgame:branching=5", 10, 2, evaluate=lambda states: values)
    with pytest.raises(EvaluationError, match=message):
        run_simulated(wanted)


def longest_silence(wanted: Request) -> float:
    """The most seconds between two reports of a search's progress."""
    first = replace(wanted.plan, budget=Budget(1))
    run_simulated(replace(wanted, plan=first))  # what is compiled now is not compiled below
    heard = [perf_counter()]
    run_simulated(wanted, lambda playouts, seconds: heard.append(perf_counter()))
    heard.append(perf_counter())
    return max(after - before for before, after in itertools.pairwise(heard))


def test_progress_is_told_by_the_clock_whatever_a_playout_takes() -> None:
    assert longest_silence(request("span", "go:size=19", 30 if JIT_DISABLED else 20_000, 32)) < 1.0

    def slow(states: Any) -> list[float]:
        sleep(0.004)
        return [0.5] * len(states)

    assert longest_silence(request("tds-dfuct", "tictactoe", 400, 2, evaluate=slow)) < 1.0


def test_an_interrupt_within_an_evaluation_calls_its_job_home() -> None:
    calls: list[int] = []

    def stuck(states: Any) -> list[float]:
        calls.append(len(states))
        if len(calls) == 5:
            raise KeyboardInterrupt
        return [0.5] * len(states)

    result = run_simulated(request("tds-dfuct", "pgame:branching=5", 300, 3, evaluate=stuck))
    assert result.interrupted and result.playouts == 4 and len(calls) == 5


def test_a_second_interrupt_ends_a_search_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    runs: list[int] = []

    def run(simulation: Simulation, events: int = 1, real_ns: int = 0) -> bool:
        runs.append(events)
        if events:
            raise KeyboardInterrupt
        return False

    monkeypatch.setattr(Simulation, "run", run)
    with pytest.raises(KeyboardInterrupt):
        run_simulated(request("tds-uct", "pgame:branching=5", 300, 3))
    assert len(runs) == 3


def test_thousands_of_ranks() -> None:
    ranks = 50 if JIT_DISABLED else 4096
    result = simulate("pgame:branching=5", "tds-dfuct:jobs=2,place=idle,policy=wait=1ms", ranks, playouts=20 * ranks)
    assert sum(count > 0 for count in result.playouts_by_rank) > ranks / 2


def test_every_profile_names_its_source_and_unknown_ones_are_refused() -> None:
    assert {"qdr", "shared-memory", "10gbe"} <= set(PROFILES)
    assert all(profile.source and profile.latency > 0 for profile in PROFILES.values())
    with pytest.raises(OptionError, match="did you mean 'qdr'"):
        find_profile("qrd")


def test_costs_are_those_of_the_plan_s_network_or_of_the_one_that_is_given() -> None:
    wanted = request("tds-dfuct:policy=wait=0.1ms", "pgame", PLAYOUTS, 6)
    other = Request(wanted.position, replace(wanted.plan, network="10gbe"))
    seconds = [run_simulated(made).seconds for made in (wanted, other)]
    assert seconds[0] != seconds[1] == run_simulated(wanted, network=find_profile("10gbe")).seconds


def test_schemes_refuse_what_they_cannot_do() -> None:
    with pytest.raises(NotImplementedError):  # it needs a runtime
        wanted = request("tds-uct", "tictactoe", 1)
        wanted.plan.scheme.search_here(wanted)
    with pytest.raises(OptionError, match="keeps rank 0 free of playouts"):
        read_scheme("tds-uct:dedicated_root=yes,place=idle")
    with pytest.raises(OptionError, match="mp-mcts: bandit=rave is not possible; known: ucb1"):
        read_scheme("mp-mcts:bandit=rave")
    with pytest.raises(OptionError, match="tds-uct: algorithm=dfuct is not possible; known: uct"):
        read_scheme("tds-uct:algorithm=dfuct")
