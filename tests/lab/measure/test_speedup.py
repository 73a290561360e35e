"""What a plan consists of, how it is resumed, and that its figures are those of the searches."""

import importlib.util
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from tests.support.studies import new_plan
from treespan.core.errors import OptionError
from treespan.core.jit import JIT_DISABLED
from treespan.lab.measure import searches
from treespan.lab.measure.searches import search_of
from treespan.lab.measure.speedup import full_trees, rows, simulated_base_rate
from treespan.lab.store.records import Records
from treespan.lab.store.runner import Step, measure
from treespan.runtimes.network import find_profile
from treespan.runtimes.run import run_search
from treespan.search.options import SearchOptions

needs_mpi = pytest.mark.skipif(
    JIT_DISABLED or importlib.util.find_spec("mpi4py") is None, reason="the MPI runtime needs mpi4py and the compiler"
)


def test_problems_are_seeds_of_the_game_or_else_of_the_search() -> None:
    pgame = [new_plan(seed=5, game="pgame:seed=3").search("simulated", 2, problem) for problem in (1, 2)]
    assert [(search.game_text, search.plan.seed) for search in pgame] == [("pgame:seed=3", 5), ("pgame:seed=4", 5)]
    other = [new_plan(seed=5, game="tictactoe").search("simulated", 2, problem) for problem in (1, 2)]
    assert [(search.game_text, search.plan.seed) for search in other] == [("tictactoe", 5), ("tictactoe", 6)]


def test_the_base_has_the_options_of_selection() -> None:
    plan = new_plan("tds-uct:c=0.7,threshold=9,jobs=3,policy=wait=1ms,choice=mean")
    base = plan.base
    assert isinstance(base, SearchOptions) and base == plan.equal_search(1).plan.options
    assert plan.equal_search(1).plan.scheme.name == "sequential"
    assert base.algorithm == "dfuct" and base.policy == "light"
    assert (base.c, base.threshold, base.choice, base.solver) == (0.7, 9, "mean", True)
    assert new_plan("root:bandit=rave", points=(("threads", 1),)).base.algorithm == "uct"  # RAVE has no df-UCT


def test_waiting_playouts_are_not_waited_for_in_the_base_of_quality() -> None:
    plan = new_plan(points=(("threads", 2),), playouts=50_000)
    equal, rate, parallel = (search.plan for search in plan.searches()[:3])
    assert "wait" not in equal.spec() and equal.budget.playouts == 50_000
    assert "wait=1ms" in rate.spec() and rate.budget.playouts == 1000
    assert parallel.runtime == "threads" and parallel.ranks == 2 and parallel.budget.playouts == 50_000
    assert len(new_plan("tds-dfuct", points=(("threads", 2),), problems=1).searches()) == 2  # one base for both
    assert len(new_plan(problems=1).searches()) == 3  # simulated: the base of speed is reckoned


def test_figures_are_those_of_the_searches() -> None:
    plan = new_plan(problems=1, points=(("simulated", 3),))
    (row,) = rows(plan, measure(plan.searches()))
    search = plan.search("simulated", 3, 1)
    result = run_search(search.request())
    equal = run_search(plan.equal_search(1).request())
    assert result is not None and equal is not None
    profile = find_profile("qdr")
    base = 1 / (1e-3 + profile.per_ply + profile.sequential)  # a virtual playout of the P-game counts as one ply
    assert row.speedup == row.speedup_min == row.speedup_max == pytest.approx(result.playouts_per_second / base)
    assert row.efficiency == pytest.approx(row.speedup / 3)
    assert (row.best_share, row.depth, row.optimal) == (result.best_share, result.depth, float(bool(result.optimal)))
    assert (row.sequential_best_share, row.sequential_depth) == (equal.best_share, equal.depth)
    assert row.sequential_optimal == float(bool(equal.optimal))
    assert row.messages_per_playout == result.messages["per_playout"] > 0
    assert row.reports_per_playout == result.report_jobs["per_playout"] > 0
    assert row.load == pytest.approx(sum(result.load) / 3) and row.end_seconds == result.end_seconds
    assert row.paper_speedup is None


def test_means_and_spread_are_over_problems() -> None:
    plan = new_plan("tds-dfuct:policy=wait=1ms", game="pgame", points=(("simulated", 12),))
    found = {}
    for search in plan.searches():
        made_up = dict.fromkeys(
            ["end_seconds", "wall_seconds", "messages_per_playout", "reports_per_playout", "load"], 1.0
        )
        made_up |= {"playouts_per_second": 1000.0 * search.problem, "best_share": 0.2 * search.problem}
        found[search] = {**made_up, "depth": 2.0, "optimal": search.problem == 1, "tree_full": True}
    (row,) = rows(plan, found)
    assert full_trees(found) == 4
    base = simulated_base_rate(plan)
    assert (row.speedup_min, row.speedup_max) == (1000 / base, 2000 / base)
    assert row.speedup == pytest.approx(1500 / base) and row.playouts_per_second == 1500
    assert row.best_share == pytest.approx(0.3) and row.optimal == 0.5 and row.problems == 2
    assert row.paper_speedup == 10.0


def test_real_playouts_take_the_profiles_time_a_ply() -> None:
    profile = find_profile("qdr")
    rate = simulated_base_rate(new_plan("tds-dfuct", game="tictactoe"))
    assert 1 / (profile.sequential + 9 * profile.per_ply) <= rate < 1 / (profile.sequential + 5 * profile.per_ply)


def test_a_run_goes_on_where_it_was(tmp_path: Path) -> None:
    plan, path, done = new_plan(), tmp_path / "some.jsonl", list[Any]()
    with Records(path) as records:
        expected = rows(plan, measure(plan.searches(), records))
    path.write_bytes(path.read_bytes()[:-40])  # as a killed process leaves it

    def count(step: Step[Any]) -> None:
        if step.share == 0.0:
            done.append(step.unit)

    with Records(path) as records:
        again = rows(plan, measure(plan.searches(), records, on_step=count))
        measure(replace(plan, problems=3).searches(), records, on_step=count)  # a longer plan repeats nothing either
    assert done[0] == plan.searches()[-1] and {search.problem for search in done[1:]} == {3}
    assert [replace(row, wall_seconds=0) for row in again] == [replace(row, wall_seconds=0) for row in expected]


def test_an_interrupted_search_is_not_recorded(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupted(*arguments: Any) -> Any:
        result = run_search(*arguments)
        assert result is not None
        result.interrupted = arguments[0].plan.runtime == "simulated"
        return result

    monkeypatch.setattr(searches, "run_search", interrupted)
    plan = new_plan()
    with Records(tmp_path / "some.jsonl") as records:
        with pytest.raises(KeyboardInterrupt):
            measure(plan.searches(), records)
        assert len(records) == 1 and records.find(plan.equal_search(1).key()) is not None


@needs_mpi
def test_ranks_and_threads_are_measured_against_this_machine() -> None:
    plan = new_plan("tds-dfuct:policy=wait=0.1ms", points=(("mpi", 2), ("threads", 2)), problems=1)
    found = measure(plan.searches())
    mpi, threads = rows(plan, found)
    rate = found[plan.rate_search(1)]
    assert mpi.speedup == pytest.approx(mpi.playouts_per_second / rate["playouts_per_second"])
    assert (mpi.runtime, threads.runtime) == ("mpi", "threads")
    assert min(mpi.messages_per_playout, threads.messages_per_playout) > 0


@needs_mpi
def test_failures_of_ranks_are_told() -> None:
    with pytest.raises(OptionError, match="scheme sequential runs on threads only; for ranks give scheme=span"):
        search_of("pgame", "sequential", "mpi", 2, 10).run()  # before ranks are started
    with pytest.raises(OptionError, match="unknown policy 'patterns' of pgame"):
        search_of("pgame", "span:policy=patterns", "mpi", 2, 10).run()  # by the ranks


def test_mistakes_are_refused_before_anything_runs(monkeypatch: pytest.MonkeyPatch) -> None:
    for options, message in (
        ({"points": ()}, "nothing to measure"),
        ({"points": (("simulated", 10**6),)}, "simulate=1000000 is out of range"),
        ({"points": (("threads", 0),)}, "threads=0 is out of range"),
        ({"playouts": 0}, "playouts=0 is out of range"),
        ({"network": "qrd"}, "did you mean 'qdr'"),
    ):
        with pytest.raises(OptionError, match=message):
            new_plan(**options)
    monkeypatch.setenv("PMI_RANK", "0")
    with pytest.raises(OptionError, match="ranks=2 starts ranks, which a rank of mpiexec or srun cannot"):
        new_plan(points=(("mpi", 2),))
