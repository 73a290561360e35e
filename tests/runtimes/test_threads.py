"""Ranks as threads: the same schemes, really at the same time."""

from dataclasses import replace
from typing import Any

import pytest

from tests.support.distributed import (
    SCHEMES,
    check_result,
    check_seat,
    moves_of,
    one_job,
    request,
    sequential_moves,
)
from treespan.core.jit import JIT_DISABLED
from treespan.runtimes import threads
from treespan.runtimes.threads import run_threads
from treespan.schemes.base import Budget, Request
from treespan.schemes.divided_tree.scheme import Tds
from treespan.schemes.protocol.port import FREE_LENGTH, Port, Seat
from treespan.schemes.registry import make_scheme

PLAYOUTS = 60 if JIT_DISABLED else 3000


@pytest.mark.parametrize("spec", ["pgame:branching=5", "tictactoe"])
@pytest.mark.parametrize("algorithm", ["uct", "dfuct"])
def test_one_rank_with_one_job_is_the_sequential_search(spec: str, algorithm: str) -> None:
    result = run_threads(make_scheme(one_job(algorithm)), request(spec, PLAYOUTS, 1, seed=3))  # type: ignore[arg-type]
    assert moves_of(result) == sequential_moves(spec, algorithm, PLAYOUTS, 3)


@pytest.mark.parametrize("scheme", SCHEMES)
def test_nothing_is_lost_on_many_ranks(scheme: str, monkeypatch: pytest.MonkeyPatch) -> None:
    made: list[Seat] = []
    original = Tds.new_seat

    def remember(self: Tds, *arguments: object, **keywords: object) -> Seat:
        made.append(original(self, *arguments, **keywords))  # type: ignore[arg-type]
        return made[-1]

    monkeypatch.setattr(Tds, "new_seat", remember)
    for spec, ranks in (("pgame:branching=5", 8), ("tictactoe", 3), ("pgame:branching=5", 2)):
        made.clear()
        result = run_threads(make_scheme(scheme), request(spec, PLAYOUTS, ranks))  # type: ignore[arg-type]
        check_result(result, PLAYOUTS)
        assert len(made) == ranks and result.ranks == ranks
        for me, seat in enumerate(made):
            check_seat(seat, me)


def test_free_slots_go_back_to_where_messages_come_from(monkeypatch: pytest.MonkeyPatch) -> None:
    """More reports come to the root's home than go out of it: without that it would soon have nearly all slots."""
    made: list[Seat] = []
    original, begun = Tds.new_seat, []

    def remember(self: Tds, *arguments: object, **keywords: object) -> Seat:
        made.append(original(self, *arguments, **keywords))  # type: ignore[arg-type]
        begun.append(int(made[-1].port.numbers[0, FREE_LENGTH]))
        return made[-1]

    monkeypatch.setattr(Tds, "new_seat", remember)
    playouts = 20 * PLAYOUTS
    result = run_threads(make_scheme("span:jobs=40"), request("pgame:branching=8", playouts, 4))  # type: ignore[arg-type]
    check_result(result, playouts)
    free = [int(seat.port.numbers[0, FREE_LENGTH]) for seat in made]
    assert all(have <= first + first // threads.SURPLUS for have, first in zip(free, begun, strict=True))
    assert sum(free) > sum(begun) // 2  # the others are in rings


def test_time_limit_calls_all_jobs_home() -> None:
    position = request("pgame", 1, 1).position
    result = run_threads(make_scheme("tds-dfuct"), Request(position, Budget(seconds=0.3), ranks=3))  # type: ignore[arg-type]
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
        run_threads(make_scheme("tds-uct"), request("pgame:branching=5", 10**6, 3))  # type: ignore[arg-type]


@pytest.mark.parametrize("scheme", ["tds-uct", "tds-dfuct:place=idle", "span:jobs=20,grant=2"])
def test_workers_play_out_beside_the_tree_work(scheme: str) -> None:
    wanted = replace(request("pgame:branching=5", PLAYOUTS, 2), workers=2)
    result = run_threads(make_scheme(scheme), wanted)  # type: ignore[arg-type]
    check_result(result, PLAYOUTS)


def test_position_values_may_come_from_python() -> None:
    sizes: list[int] = []

    def evaluate(states: Any) -> list[float]:
        sizes.append(len(states))
        return [0.5] * len(states)

    wanted = replace(request("pgame:branching=5", 200, 2), evaluate=evaluate)
    result = run_threads(make_scheme("tds-dfuct"), wanted)  # type: ignore[arg-type]
    check_result(result, 200)
    assert sum(sizes) == 200 and all(move.value == 0.5 for move in result.moves if move.visits)


def test_failing_evaluation_ends_the_search_and_is_raised() -> None:
    def evaluate(states: Any) -> list[float]:
        raise ValueError("no network weights")

    wanted = replace(request("pgame:branching=5", 200, 2), evaluate=evaluate)
    with pytest.raises(ValueError, match="no network weights"):
        run_threads(make_scheme("tds-dfuct"), wanted)  # type: ignore[arg-type]
