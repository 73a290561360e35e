"""Comparing schemes, and advice."""

from typing import Any

import pytest

from treespan.core.errors import OptionError, TreespanError
from treespan.games.registry import make_game
from treespan.lab.measure import searches
from treespan.lab.measure.advise import Candidate, Question, advise, candidates
from treespan.lab.measure.compare import Contest, compare
from treespan.lab.store.runner import Step
from treespan.runtimes.network import find_profile
from treespan.runtimes.simulated import run_simulated

GAME = "pgame:branching=4,depth=8"
START = make_game(GAME).position()


def contest(*schemes: str, **changed: object) -> Contest:
    values: dict[str, Any] = {"start": START, "runtime": "simulated", "workers": 4, "playouts": 400}
    return Contest(**{**values, "policy": "wait=1ms", "schemes": schemes, **changed})


def test_every_scheme_has_a_row_with_the_sequential_search_first() -> None:
    found = compare(contest("span", "root", problems=2))
    assert [row.scheme for row in found.rows] == ["sequential", "root", "span"]  # the fastest first
    base, root, span = found.rows
    assert base.speedup == pytest.approx(1.0) and 1.0 < span.speedup < root.speedup < 4.1
    assert span.messages_per_playout > 1.0 > root.messages_per_playout
    assert found.reference_playouts == 4000 and len(found.reference_moves) == 2
    # Trees that grow apart evaluate the same leaves again and again.
    assert root.distinct_leaves is not None and span.distinct_leaves is not None
    assert root.distinct_leaves < 0.8 * span.distinct_leaves


def test_a_scheme_that_does_not_run_like_that_is_told_with_its_reason() -> None:
    found = compare(contest("root", "sequential"))
    assert [refusal.scheme for refusal in found.refusals] == ["sequential"]
    assert "sequential" in found.refusals[0].reason


def test_mistakes_are_told_at_once() -> None:
    with pytest.raises(TreespanError, match=r"unknown scheme 'rot'.*root"):
        compare(contest("rot"))
    with pytest.raises(OptionError, match="no scheme runs like that"):
        compare(contest("mp-mcts", bandit="rave"))


def test_what_a_spec_says_itself_holds_for_it() -> None:
    chosen = contest()
    assert chosen.scheme("root:bandit=tuned1")[1].bandit == "tuned1"
    assert chosen.scheme("root")[1].bandit == "ucb1"


def test_simulated_time_costs_no_time() -> None:
    """The sequential search has as many playouts as the profile's machine would do, and does not wait."""
    plan = contest(playouts=0, seconds=3.0).base(1).plan
    assert 2900 < plan.playouts < 3000 and plan.budget.seconds is None
    assert "wait" not in plan.spec()


def test_a_time_limit_may_stand_for_the_number_of_playouts() -> None:
    found = compare(contest("root", playouts=0, seconds=0.1))
    assert found.rows[1].playouts_per_second == pytest.approx(4000, rel=0.1)


def test_steps_are_told() -> None:
    told: list[Step[Any]] = []
    compare(contest("root"), on_step=told.append)
    begun = [step for step in told if step.share == 0.0]
    assert len({step.unit for step in told}) == len(begun) == 3 and str(begun[-1]).startswith("2 of 2: root")
    assert [step.done for step in told] == sorted(step.done for step in told)
    assert told[0].done == 0.0 and told[-1].done == pytest.approx(1.0)


def test_candidates_are_schemes_that_there_are() -> None:
    assert Candidate("span", 12, 0) in candidates(3, 4, {"span"})
    assert Candidate("span", 3, 3) in candidates(3, 4, {"span"})
    assert all(one.workers == 0 for one in candidates(3, 1, {"span", "root"}))
    assert {one.scheme.partition(":")[0] for one in candidates(3, 4, {"root"})} == {"root"}


def test_advice_is_the_fastest_of_those_that_search_as_well_as_the_sequential_search() -> None:
    tried = [Candidate("root", 8, 0), Candidate("span", 8, 0), Candidate("span", 2, 3)]
    advice = advise(Question(START, tried, "wait=1ms", playouts=3000, searches=1), find_profile("qdr"))
    assert {row.candidate: row.jobs for row in advice.predictions} == {tried[0]: 1, tried[1]: 93 / 8, tried[2]: 93 / 2}
    assert advice.playout_seconds == 1e-3 and len(advice.predictions) == 3
    good = [row for row in advice.predictions if row.is_good]
    assert advice.predictions[: len(good)] == sorted(good, key=lambda row: -row.speedup)
    assert all(row.best_share >= advice.sequential_share - 0.05 for row in good)
    assert advice.best.candidate.command(GAME, "wait=1ms").endswith(" --bandit ucb1 --policy wait=1ms --ranks 8")


def test_machines_with_very_many_cores_have_no_candidates_with_workers() -> None:
    assert all(one.workers == 0 for one in candidates(2, 384, {"span"}))


def test_a_question_without_an_answer_is_refused_before_anything_is_measured() -> None:
    with pytest.raises(OptionError, match="patterns"):
        Question(START, [Candidate("span", 2, 0)], "patterns")
    with pytest.raises(OptionError, match="playouts=-1"):
        Question(START, [Candidate("span", 2, 0)], playouts=-1)


def test_too_many_ranks_are_refused() -> None:
    with pytest.raises(OptionError, match=r"5000 ranks are out of range; .* 1\.\.4096"):
        Question(START, [Candidate("span", 5000, 0)])


def test_one_machine_has_threads_on_one_tree_among_its_candidates() -> None:
    shared = Candidate("shared", 4, 0)
    found = candidates(1, 4, {"shared", "span"})
    assert shared in found and Candidate("span", 1, 3) in found and shared not in candidates(2, 4, {"shared", "span"})
    assert shared.command("hex", "light").endswith(" --threads 4")
    advice = advise(Question(START, [shared], "wait=1ms", playouts=400, searches=1), find_profile("shared-memory"))
    assert advice.best.jobs == 1 and 3 < advice.best.speedup <= 4.1


def test_an_interrupted_search_is_no_advice(monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupted(*arguments: Any, **options: Any) -> Any:
        result = simulate(*arguments, **options)
        result.interrupted = True
        return result

    simulate = run_simulated
    monkeypatch.setattr(searches, "run_simulated", interrupted)
    with pytest.raises(KeyboardInterrupt):
        advise(Question(START, [Candidate("root", 2, 0)], "wait=1ms", 100, 1), find_profile("qdr"))
