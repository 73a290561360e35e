"""Schemes in threads: what one thread gives, what many add up to, and how a search ends."""

import json
import os
import re
import signal
import subprocess
import sys
import threading
import time
from typing import Any

import pytest

from tests.support.distributed import request
from tests.support.interrupts import hear_interrupts
from tests.support.searches import SMALL_GAMES, position_of, search, sized, statistics
from treespan.core.errors import OptionError, PositionError
from treespan.games.position import Position
from treespan.games.registry import make_game
from treespan.runtimes.plan import plan_of, split_options
from treespan.runtimes.run import check_fit, run_search
from treespan.schemes.plan import RUNTIMES, SIMULATED, THREADS, Budget, Plan, Request
from treespan.schemes.registry import SCHEMES, default_scheme, read_scheme
from treespan.schemes.scheme import Place, Scheme
from treespan.search.options import SearchOptions
from treespan.search.result import SearchResult
from treespan.search.searcher import FOREVER_NS, Searcher
from treespan.search.tree import MAX_VISITS

PLAYOUTS = sized(3001, without_jit=201)  # cannot be dealt out evenly
ALGORITHMS = ["uct", "dfuct"]


def run(
    scheme: str, spec: str = "pgame", playouts: int | None = PLAYOUTS, threads: int = 1, **more: Any
) -> SearchResult:
    wanted = request(scheme, spec, playouts, threads, runtime=THREADS, **more)
    return wanted.plan.scheme.search_here(wanted)


@pytest.mark.parametrize("algorithm", ALGORITHMS)
@pytest.mark.parametrize("spec", SMALL_GAMES)
def test_sequential_scheme_is_the_search(spec: str, algorithm: str) -> None:
    result = run(f"sequential:algorithm={algorithm},nodes=50000", spec, seed=9)
    searcher = search(spec, PLAYOUTS, 9, algorithm=algorithm)
    assert statistics(result) == {move.move: (move.visits, move.wins) for move in searcher.root().moves}
    assert result.playouts == result.root_visits == PLAYOUTS == sum(move.visits for move in result.moves)
    assert (result.nodes, result.edges) == tuple(searcher.tree.used[:2].tolist())


# Budgets


@pytest.mark.parametrize("scheme, threads", [("sequential", 1), ("sequential:algorithm=dfuct", 1), ("shared", 2)])
def test_seconds_end_a_search(scheme: str, threads: int) -> None:
    result = run(scheme, playouts=None, seconds=0.1, threads=threads)
    assert 0.1 <= result.seconds < 10  # generous: the machine is shared
    assert result.playouts == result.root_visits > 0 and not result.interrupted


def test_whatever_comes_first_ends_a_search() -> None:
    few = run("sequential", playouts=50, seconds=600)
    short = run("sequential", playouts=MAX_VISITS, seconds=0.05)
    assert few.playouts == 50 and 0 < short.playouts < MAX_VISITS


@pytest.mark.parametrize(
    "budget, message",
    [
        ({}, "a search needs a budget; give playouts or seconds"),
        ({"playouts": 0}, f"playouts=0 is out of range; give 1..{MAX_VISITS}"),
        ({"playouts": MAX_VISITS + 1}, f"playouts={MAX_VISITS + 1} is out of range; give 1..{MAX_VISITS}"),
        ({"seconds": 0.0}, "seconds=0 is out of range; give more than 0 and less than 1e8"),
        ({"seconds": -1.5}, "seconds=-1.5 is out of range; give more than 0 and less than 1e8"),
        ({"seconds": float("nan")}, "seconds=nan is out of range; give more than 0 and less than 1e8"),
        ({"seconds": float("inf")}, "seconds=inf is out of range; give more than 0 and less than 1e8"),
    ],
)
def test_budgets_that_cannot_be_kept_are_refused(budget: dict[str, Any], message: str) -> None:
    with pytest.raises(OptionError) as refusal:
        Budget(**budget)
    assert str(refusal.value) == message


@pytest.mark.parametrize("threads", [0, -1, 1025])
def test_number_of_threads_is_bounded(threads: int) -> None:
    with pytest.raises(OptionError, match=rf"threads={threads} is out of range; give 1..1024"):
        request("shared", "pgame", 1, threads, runtime=THREADS)


def test_sequential_scheme_refuses_threads() -> None:
    with pytest.raises(OptionError, match="scheme sequential runs in 1 thread, not 2; give scheme=shared"):
        run_search(request("sequential", "pgame", PLAYOUTS, 2, runtime=THREADS))


@pytest.mark.parametrize("name", SCHEMES)
def test_finished_game_and_natures_turn_are_refused(name: str) -> None:
    with pytest.raises(
        PositionError, match="the game is over, so there is nothing to search; give an earlier position"
    ):
        run_search(request(name, "tictactoe", 1, runtime=THREADS, moves="a1 b1 a2 b2 a3"))
    with pytest.raises(PositionError, match="nature moves here; play its move first"):
        run_search(request(name, "sailing:size=4", 1, runtime=THREADS, moves="NE"))


def test_search_leaves_the_position_alone() -> None:
    position = position_of("connect4", "4 4")
    before = position.state.tobytes(), list(position.moves_made), position.key
    run_search(Request(position, Plan(*read_scheme("shared"), Budget(playouts=50), ranks=2)))
    assert (position.state.tobytes(), position.moves_made, position.key) == before


def test_every_scheme_says_what_it_is() -> None:
    for name, cls in SCHEMES.items():
        assert cls.name == name and cls.summary and cls.paper
        assert cls.in_one_process or cls.on_ranks
    assert (default_scheme(THREADS, 1), default_scheme(THREADS, 2)) == ("sequential", "shared")
    assert {default_scheme(runtime, 1) for runtime in RUNTIMES if runtime != THREADS} == {"span"}
    assert default_scheme(THREADS, 1, has_workers=True) == "span"


def test_base_of_schemes_cannot_search() -> None:
    class Idle(Scheme):
        name = "idle"

    wanted = Request(position_of("pgame"), Plan(Idle(), SearchOptions(), Budget(playouts=1)))
    with pytest.raises(NotImplementedError):
        Idle().search_here(wanted)
    with pytest.raises(NotImplementedError):
        Idle().new_seat(wanted, Place())


# Progress, failures, interrupts


def test_progress_is_reported_until_the_end() -> None:
    seen: list[tuple[int, float]] = []
    wanted = request("shared:policy=wait=1ms", "pgame", 200, 2, runtime=THREADS)
    result = wanted.plan.scheme.search_here(wanted, lambda *at: seen.append(at))
    playouts, seconds = zip(*seen, strict=True)
    assert list(playouts) == sorted(playouts) and list(seconds) == sorted(seconds)
    assert playouts[-1] == result.playouts == 200 and seconds[0] > 0


@pytest.mark.parametrize(
    "scheme, runtime, ranks",
    [("sequential", THREADS, 1), ("shared", THREADS, 2), ("slow-tree", THREADS, 2), ("span", SIMULATED, 8)],
)
def test_a_wish_to_stop_ends_a_search(scheme: str, runtime: str, ranks: int) -> None:
    """What was found so far is the result."""
    seen = [0]
    wanted = request(f"{scheme}:policy=wait=0.1ms", "pgame", None, ranks, runtime=runtime, seconds=600)
    result = run_search(wanted, lambda playouts, _: seen.append(playouts), lambda: seen[-1] > 0)
    assert result is not None and result.seconds < 60 and result.interrupted
    assert result.playouts == result.root_visits == sum(move.visits for move in result.moves) > 0


class WorkerError(Exception):
    pass


def test_failure_in_a_worker_is_raised_in_the_caller(monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(self: Searcher, playouts: int, deadline_ns: int = FOREVER_NS) -> int:
        if playouts > 0:
            assert threading.current_thread() is not threading.main_thread()
            raise WorkerError("the worker fell ill")
        return 0

    monkeypatch.setattr(Searcher, "run", broken)
    with pytest.raises(WorkerError, match="the worker fell ill"):
        run("sequential")
    assert threading.active_count() == 1


LONG_SEARCH = """
import json, sys
from treespan.games.position import Position
from treespan.games.registry import make_game
from treespan.runtimes.run import run_search
from treespan.schemes.plan import Budget, Plan, Request
from treespan.schemes.registry import read_scheme

started = []

def progress(playouts, seconds):
    if not started and playouts > 0:
        started.append(playouts)
        print("started", flush=True)

scheme, threads = sys.argv[1], int(sys.argv[2])
plan = Plan(*read_scheme(scheme), Budget(seconds=60), ranks=threads)
result = run_search(Request(Position(make_game("pgame")), plan), progress)
visits = [result.root_visits, sum(move.visits for move in result.moves)]
print(json.dumps({"interrupted": result.interrupted, "playouts": result.playouts, "visits": visits}), flush=True)
"""


@pytest.mark.parametrize(
    "scheme, threads",
    [
        ("sequential", 1),
        ("sequential:algorithm=dfuct", 1),
        ("shared", 3),
        ("slow-tree", 3),
        ("broadcast", 3),
        ("leaf", 3),
    ],
)
def test_interrupted_search_gives_its_result_at_once(scheme: str, threads: int) -> None:
    process = subprocess.Popen(
        [sys.executable, "-c", LONG_SEARCH, scheme, str(threads)],
        stdout=subprocess.PIPE,
        text=True,
        env=dict(os.environ),
        preexec_fn=hear_interrupts,
    )
    try:
        assert process.stdout is not None
        assert process.stdout.readline() == "started\n"
        start = time.monotonic()
        process.send_signal(signal.SIGINT)
        answer = json.loads(process.stdout.readline())
        waited = time.monotonic() - start
        assert process.wait(60) == 0
    finally:
        process.kill()
        process.wait()
    assert answer["interrupted"] and waited < 2
    assert answer["visits"] == [answer["playouts"]] * 2 and answer["playouts"] > 0


@pytest.mark.parametrize(
    ("spec", "bandit", "rave_visits"),
    [
        ("sequential", "rave-mse", 3000.0),
        ("root:threshold=9", "rave-mse", 3000.0),
        ("sequential:rave_visits=50", "rave-mse", 50.0),
        ("sequential:bandit=rave", "rave", 1000.0),  # numbers that go with a bandit go with it
        ("sequential:algorithm=dfuct", "ucb1", 1000.0),
        ("tds-dfuct", "rave-mse", 3000.0),
        ("mp-mcts", "ucb1", 1000.0),  # has no RAVE
    ],
)
def test_go_has_defaults_of_its_own(spec: str, bandit: str, rave_visits: float) -> None:
    _, options = read_scheme(spec, make_game("go"))
    assert (options.bandit, options.rave_visits, options.policy) == (bandit, rave_visits, "patterns")
    scheme, plain = read_scheme(spec)
    assert plain.policy == "light" and plain.bandit in ("ucb1", "rave")
    assert read_scheme(spec, make_game("hex")) == (scheme, plain)
    assert read_scheme(spec, make_game("go"), policy="light")[1].policy == "light"


@pytest.mark.parametrize(("name", "bandit"), [("slow-tree", "ucb1"), ("root", "ucb1"), ("span", "rave-mse")])
def test_workers_get_a_default_that_they_can_serve(name: str, bandit: str) -> None:
    assert read_scheme(name, make_game("go"), True)[1].bandit == bandit
    assert read_scheme(name, make_game("go"))[1].bandit == "rave-mse"
    plan = plan_of(split_options(f"--scheme {name} --simulate 2 --workers 2"), make_game("go"))
    assert plan.options.bandit == bandit and plan.runtime == SIMULATED
    check_fit(Request(Position(make_game("go")), plan))


def test_a_game_refuses_policies_that_it_does_not_have() -> None:
    known = "light, wait=TIME (as wait=1ms)"
    for policy in ("patterns", "wait", "heavy"):
        with pytest.raises(OptionError, match=re.escape(f"unknown policy '{policy}' of hex; known: {known}")):
            read_scheme(f"sequential:policy={policy}", make_game("hex"))
    assert read_scheme("sequential:policy=wait=2ms", make_game("hex"))[1].wait_seconds() == 0.002


def test_a_scheme_is_found_by_the_name_that_it_has() -> None:
    assert {name: cls.name for name, cls in SCHEMES.items()} == {name: name for name in SCHEMES}
    assert "sequential" in SCHEMES and "nothing" not in SCHEMES
