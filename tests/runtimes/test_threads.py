"""Ranks as threads: the same schemes, really at the same time."""

from typing import Any

import pytest

from tests.support.distributed import SCHEMES, check_result, check_seat, moves_of, one_job, request, sequential_moves
from treespan.core.jit import JIT_DISABLED
from treespan.runtimes import threads
from treespan.runtimes.threads import run_threads
from treespan.schemes.divided_tree.scheme import DividedTree
from treespan.schemes.plan import THREADS, Request
from treespan.schemes.protocol.port import FREE, Port, Seat

PLAYOUTS = 60 if JIT_DISABLED else 3000


def on_threads(scheme: str, spec: str, playouts: int | None, ranks: int = 1, seed: int = 1, **more: Any) -> Request:
    return request(scheme, spec, playouts, ranks, seed, THREADS, **more)


@pytest.mark.parametrize("spec", ["pgame:branching=5", "tictactoe"])
@pytest.mark.parametrize("algorithm", ["uct", "dfuct"])
def test_one_rank_with_one_job_is_the_sequential_search(spec: str, algorithm: str) -> None:
    result = run_threads(on_threads(one_job(algorithm), spec, PLAYOUTS, seed=3))
    assert moves_of(result) == sequential_moves(spec, algorithm, PLAYOUTS, 3)


@pytest.mark.parametrize("scheme", SCHEMES)
def test_nothing_is_lost_on_many_ranks(scheme: str, monkeypatch: pytest.MonkeyPatch) -> None:
    made: list[Seat] = []
    original = DividedTree.new_seat

    def remember(self: DividedTree, *arguments: object, **keywords: object) -> Seat:
        made.append(original(self, *arguments, **keywords))  # type: ignore[arg-type]
        return made[-1]

    monkeypatch.setattr(DividedTree, "new_seat", remember)
    for spec, ranks in (("pgame:branching=5", 8), ("tictactoe", 3), ("pgame:branching=5", 2)):
        made.clear()
        result = run_threads(on_threads(scheme, spec, PLAYOUTS, ranks))
        check_result(result, PLAYOUTS)
        assert len(made) == ranks and result.ranks == ranks
        for me, seat in enumerate(made):
            check_seat(seat, me)


def test_free_slots_go_back_to_where_messages_come_from(monkeypatch: pytest.MonkeyPatch) -> None:
    """More reports come to the root's home than go out of it: without that it would soon have nearly all slots."""
    made: list[Seat] = []
    original, begun = DividedTree.new_seat, []

    def remember(self: DividedTree, *arguments: object, **keywords: object) -> Seat:
        made.append(original(self, *arguments, **keywords))  # type: ignore[arg-type]
        begun.append(int(made[-1].port.queues[0, FREE].length))
        return made[-1]

    monkeypatch.setattr(DividedTree, "new_seat", remember)
    playouts = 20 * PLAYOUTS
    result = run_threads(on_threads("span:jobs=40", "pgame:branching=8", playouts, 4))
    check_result(result, playouts)
    free = [int(seat.port.queues[0, FREE].length) for seat in made]
    assert all(have <= first + first // threads.SURPLUS for have, first in zip(free, begun, strict=True))
    assert sum(free) > sum(begun) // 2  # the others are in rings


def test_time_limit_calls_all_jobs_home() -> None:
    result = run_threads(on_threads("tds-dfuct", "pgame", None, 3, seconds=0.3))
    check_result(result, result.playouts)
    assert result.playouts > 0 and result.seconds >= 0.3


def test_failure_in_one_rank_ends_all_and_is_raised(monkeypatch: pytest.MonkeyPatch) -> None:
    run_rank = threads.run_rank

    def fail(port: Port, *more: object) -> None:
        if port.first == 1:
            raise RuntimeError("rank 1 is broken")
        run_rank(port, *more)

    monkeypatch.setattr(threads, "run_rank", fail)
    with pytest.raises(RuntimeError, match="rank 1 is broken"):
        run_threads(on_threads("tds-uct", "pgame:branching=5", 10**6, 3))


@pytest.mark.parametrize("scheme", ["tds-uct", "tds-dfuct:place=idle", "span:jobs=20,grant=2"])
def test_workers_play_out_beside_the_tree_work(scheme: str) -> None:
    result = run_threads(on_threads(scheme, "pgame:branching=5", PLAYOUTS, 2, workers=2))
    check_result(result, PLAYOUTS)


def test_position_values_may_come_from_python() -> None:
    sizes: list[int] = []

    def evaluate(states: Any) -> list[float]:
        sizes.append(len(states))
        return [0.5] * len(states)

    result = run_threads(on_threads("tds-dfuct", "pgame:branching=5", 200, 2, evaluate=evaluate))
    check_result(result, 200)
    assert sum(sizes) == 200 and all(move.value == 0.5 for move in result.moves if move.visits)


def test_failing_evaluation_ends_the_search_and_is_raised() -> None:
    def evaluate(states: Any) -> list[float]:
        raise ValueError("no network weights")

    with pytest.raises(ValueError, match="no network weights"):
        run_threads(on_threads("tds-dfuct", "pgame:branching=5", 200, 2, evaluate=evaluate))
