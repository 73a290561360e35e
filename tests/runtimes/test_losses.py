"""Ranks that are lost while they search, and between searches: the others go on (Open MPI from 5 on)."""

import os
import random
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

import treespan as ts
from tests.support.distributed import request
from tests.support.losses import LATE, check_after_loss, is_clean, kill, rank_numbers, search_and_kill, with_tree
from tests.support.ranks import processes_of, shared_memory_of, survives_losses, wait_for
from treespan.core.errors import TreespanError
from treespan.core.jit import JIT_DISABLED
from treespan.engine.saving import SavedSearch, Saver
from treespan.engine.thinker import RankThinker
from treespan.games.position import Position
from treespan.games.registry import make_game
from treespan.runtimes.job_folder import RanksLostError, remove_abandoned
from treespan.runtimes.plan import make_plan
from treespan.runtimes.ranks import Ranks, RanksOnDemand
from treespan.runtimes.world import RankLostError, world
from treespan.schemes.plan import MPI, Budget, Request
from treespan.schemes.saved import read_manifest

pytest.importorskip("mpi4py", reason="mpi4py is missing; pip install treespan[openmpi]")


pytestmark = [
    pytest.mark.skipif(JIT_DISABLED, reason="the MPI runtime needs the compiler"),
    pytest.mark.skipif(
        not survives_losses(), reason="only Open MPI from 5 on tells ranks of a loss (make test-openmpi)"
    ),
]
RANKS = 4
SECONDS = 0.8
PLAYOUT = "policy=wait=0.1ms"


def wanted(scheme: str = "span", seconds: float | None = SECONDS, spec: str = "connect4", **more: Any) -> Request:
    scheme += f"{',' if ':' in scheme else ':'}{PLAYOUT}"
    return with_tree(request(scheme, spec, more.pop("playouts", None), RANKS, 1, MPI, seconds=seconds, **more))


@pytest.fixture
def folder(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    """The temporary folder of the jobs that a test starts; the ranks can be told by it."""
    folder = tmp_path / "jobs"
    folder.mkdir()
    monkeypatch.setenv("TMPDIR", str(folder))
    monkeypatch.setattr(tempfile, "tempdir", str(folder))
    return folder


@pytest.fixture
def ranks(folder: Path) -> Iterator[RanksOnDemand]:
    """Ranks that have compiled. In the end nothing of them is left."""
    started = RanksOnDemand(RANKS)
    try:
        started.search(replace(wanted(), plan=wanted().plan.with_budget(Budget(playouts=100))))
        memory = shared_memory_of(folder)
        yield started
    finally:
        started.close()
    assert wait_for(lambda: is_clean(folder), 30)
    assert not any(path.exists() for path in memory)


HOME = wanted().plan.scheme.root_home(Position(make_game("connect4")), RANKS)
SCHEMES = ["span", "tds-uct", "tds-dfuct", "treesplit", "mp-mcts", "tds-uct:dedicated_root=yes", "span:bandit=rave-mse"]


@pytest.mark.parametrize(
    "scheme, victim",
    [*(("span", rank) for rank in range(RANKS)), *((scheme, rank) for scheme in SCHEMES[1:] for rank in (0, HOME))],
)
def test_a_search_goes_on_without_a_rank(scheme: str, victim: int, ranks: RanksOnDemand, folder: Path) -> None:
    search = wanted(scheme)
    run = search_and_kill(ranks, search, folder, [(SECONDS / 2, victim)])
    result = run.result
    assert (result.ranks, result.lost_ranks, len(result.playouts_by_rank)) == (RANKS - 1, 1, RANKS - 1)
    assert result.playouts > 100 and run.late < LATE and not result.interrupted
    again = ranks.search(search)
    assert (again.ranks, again.lost_ranks, again.lost_playouts) == (RANKS - 1, 0, 0)
    assert again.root_visits == result.root_visits + again.playouts


@pytest.mark.parametrize("victims", [(0, 1), (HOME, 0 if HOME else 1), (2, 3)])
def test_two_ranks_are_lost_in_one_search(victims: tuple[int, int], ranks: RanksOnDemand, folder: Path) -> None:
    run = search_and_kill(ranks, wanted(), folder, [(SECONDS / 3, victims[0]), (2 * SECONDS / 3, victims[1])])
    assert (run.result.ranks, run.result.lost_ranks) == (2, 2) and run.late < LATE


def test_two_ranks_are_lost_at_once_and_then_another(ranks: RanksOnDemand, folder: Path) -> None:
    run = search_and_kill(ranks, wanted(), folder, [(0.3, 0), (0.3, 2), (0.6, 3)])
    assert (run.result.ranks, run.result.lost_ranks) == (1, 3) and run.late < LATE


def test_a_budget_of_playouts_is_met(ranks: RanksOnDemand, folder: Path) -> None:
    search = wanted(playouts=30_000, seconds=600.0)
    timer = threading.Timer(0.3, kill, (folder, 1))
    timer.start()
    result = ranks.search(search)
    timer.join()
    assert result.playouts == result.root_visits == 30_000 and result.lost_ranks == 1


@pytest.mark.parametrize("scheme", ["slow-tree:period=0.01", "root", "leaf", "master-worker", "broadcast"])
def test_a_scheme_that_keeps_no_tree_begins_anew(scheme: str, ranks: RanksOnDemand, folder: Path) -> None:
    search = replace(wanted(scheme), tree=None)
    began: list[float] = []

    def progress(playouts: int, seconds: float) -> None:
        if seconds > 0.3 and not began:  # the ranks have compiled
            began.append(time.monotonic() - seconds)
            kill(folder, 0)

    result = ranks.search(search, progress)
    assert time.monotonic() - began[0] < SECONDS + LATE
    assert result.playouts == result.root_visits > 0 and (result.ranks, result.lost_ranks) == (RANKS - 1, 1)
    assert result.lost_playouts > 0


@pytest.mark.parametrize("victim", [0, 1])
def test_who_stops_a_search_after_a_loss_is_heard(victim: int, ranks: RanksOnDemand, folder: Path) -> None:
    start = time.monotonic()
    told: list[int] = []

    def progress(playouts: int, seconds: float) -> None:
        if playouts and not told:
            kill(folder, victim)
        told.append(playouts)

    result = ranks.search(wanted(seconds=600.0), progress, lambda: time.monotonic() - start > 1.5)
    assert result.interrupted and result.lost_ranks == 1 and time.monotonic() - start < 1.5 + LATE
    assert told[-1] > 0


@pytest.mark.parametrize("victim", range(RANKS))
def test_a_rank_is_lost_between_two_searches(victim: int, folder: Path) -> None:
    with ts.Tree("connect4", scheme="span", ranks=RANKS, policy="wait=0.1ms") as tree:
        before = tree.search(playouts=2000)
        kill(folder, victim)
        result = tree.search(seconds=0.5)
        assert (result.ranks, result.lost_ranks) == (RANKS - 1, 1)
        assert sum(move.visits for move in result.moves) == result.root_visits == root_visits(tree)
        if victim != HOME:
            assert result.root_visits == before.root_visits + result.playouts and result.lost_playouts == 0
        tree.advance(result.move)
        assert tree.search(playouts=500).lost_ranks == 0
    assert wait_for(lambda: is_clean(folder), 30)


STARTER = """
import sys, time
from treespan.runtimes.ranks import Ranks
ranks = Ranks(4)
if sys.argv[1] == "idle":
    ranks.call(time.sleep, 0)
print("ready", flush=True)
time.sleep(60)
"""


@pytest.mark.parametrize("state", ["starting", "idle"])
def test_ranks_end_with_the_process_that_started_them(state: str, folder: Path) -> None:
    """None goes on as if another rank were lost: there MPI_Abort ends only the rank that calls it."""
    process = subprocess.Popen([sys.executable, "-c", STARTER, state], stdout=subprocess.PIPE)
    assert process.stdout is not None and process.stdout.readline() == b"ready\n"
    assert state == "starting" or len(rank_numbers(folder)) == RANKS
    process.kill()
    process.communicate()
    assert wait_for(lambda: processes_of(folder) == [], 30)
    remove_abandoned()
    assert is_clean(folder)


def fail_at(rank: int) -> int:
    if world().rank == rank:
        raise ValueError("seven is no even number")
    return int(world().allreduce(1))


@pytest.mark.parametrize("rank", [0, 3])
def test_an_error_is_no_loss(rank: int, ranks: RanksOnDemand) -> None:
    with pytest.raises(RanksLostError, match=f"^rank {rank}: ValueError: seven is no even number$"):
        ranks.call(fail_at, rank)


@pytest.mark.parametrize("victim", [0, 2])
def test_a_rank_that_is_lost_while_ranks_start_ends_them(victim: int, folder: Path) -> None:
    ranks = Ranks(RANKS)
    begun = next(folder.glob("treespan-job-*"))
    assert wait_for(lambda: len(list(begun.glob("begun-*"))) > victim)
    os.kill(int(sorted(begun.glob("begun-*"))[victim].name.removeprefix("begun-")), signal.SIGKILL)
    try:
        result = ranks.search(wanted(seconds=0.2))
        assert result.lost_ranks == 1  # they had started already
    except RanksLostError:
        pass
    finally:
        ranks.close()
    assert wait_for(lambda: is_clean(folder), 30)


def root_visits(tree: ts.Tree) -> int:
    so_far = tree.look()
    return so_far.root_visits if so_far else 0


def lose(victim: int | None) -> int:
    if world().rank == victim:
        os.kill(os.getpid(), signal.SIGKILL)
    return 7


@pytest.mark.parametrize("victim", [0, 2])
def test_a_call_that_loses_a_rank_may_be_made_again(victim: int, ranks: RanksOnDemand, folder: Path) -> None:
    with pytest.raises(RankLostError, match=r"^a rank was lost; 3 go on; do it again$"):
        ranks.call(lose, victim)
    assert ranks.call(lose, None) == 7


@pytest.mark.parametrize("victim", [0, 1])
@pytest.mark.parametrize("pause", [0.0, 0.003, 0.01])
def test_a_rank_that_is_lost_while_the_tree_is_saved_costs_the_save(
    victim: int, pause: float, folder: Path, tmp_path: Path
) -> None:
    path = tmp_path / "tree"
    with ts.Tree("connect4", scheme="span", ranks=RANKS) as tree:
        tree.search(playouts=3000)
        tree.save(path)
        tree.search(playouts=3000)
        timer = threading.Timer(pause, kill, (folder, victim))
        timer.start()
        try:
            tree.save(path)
        except TreespanError as error:
            assert "a rank was lost" in str(error) or "let it search first" in str(error)
        timer.join()
        assert read_manifest(path).root_visits in (3000, 6000)
        assert tree.search(playouts=500).playouts == 500
        tree.save(path)
        visits = root_visits(tree)
        assert read_manifest(path).root_visits == visits > 0
    with ts.Tree.load(path, simulate=3) as loaded:
        assert root_visits(loaded) == visits


def test_what_a_lost_rank_had_comes_from_the_last_save(folder: Path, tmp_path: Path) -> None:
    game = make_game("connect4")
    plan = make_plan(game, scheme="span", ranks=RANKS, policy="wait=0.1ms")
    crew = RanksOnDemand(RANKS)
    thinker, saver = RankThinker(plan, True, crew), Saver(tmp_path / "tree")
    position = Position(game)
    try:
        thinker.think(position, Budget(playouts=4000))
        saver.begin(thinker, position)
        saver.end()
        visits, nodes = read_manifest(tmp_path / "tree").root_visits, saved_nodes(tmp_path / "tree")
        kill(folder, HOME)
        search = SavedSearch(thinker, position, saver, 600.0, lambda text: None)
        result = search.run(Budget(seconds=0.3))
        assert result.lost_ranks == 1 and result.root_visits >= visits
        assert saved_nodes(tmp_path / "tree") >= nodes
    finally:
        saver.close()
        crew.close()
        thinker.close()


def saved_nodes(path: Path) -> int:
    return sum(entry.nodes for entry in read_manifest(path).shards)


@pytest.mark.parametrize("victim", [0, 3])
def test_an_engine_survives_a_game_in_which_ranks_are_lost(victim: int, folder: Path) -> None:
    with ts.Engine("go:size=5", scheme="span", ranks=RANKS, seconds=0.4) as engine:
        for ply in range(8):
            if ply in (2, 5):
                timer = threading.Timer(0.2, kill, (folder, victim if ply == 2 else 1))
                timer.start()
            start = time.monotonic()
            answer = engine.choose()
            assert time.monotonic() - start < 0.4 + LATE or ply == 0  # where the ranks start
            assert answer.move is not None
            engine.play(answer.move)
        assert len(rank_numbers(folder)) == RANKS - 2
    assert wait_for(lambda: is_clean(folder), 30)


@pytest.mark.full
def test_a_hundred_searches_in_which_ranks_are_lost(folder: Path) -> None:
    """At random moments; in a fifth of them two are lost."""
    rng, late, lost, counted, two_lost = random.Random(1), [], 0, 0, 0
    for run in range(100):
        crew, search = RanksOnDemand(8), wanted(rng.choice(SCHEMES), seconds=1.0)
        search = replace(search, plan=replace(search.plan, ranks=8))
        try:
            crew.search(replace(search, tree=None, plan=search.plan.with_budget(Budget(playouts=200))))
            victims = rng.sample(range(8), 1 + (run % 5 == 0))
            found = search_and_kill(crew, search, folder, sorted((rng.random(), victim) for victim in victims))
            again = crew.search(search)
            assert again.root_visits >= found.result.root_visits
            assert found.result.lost_ranks + again.lost_ranks == len(victims)
            crew.call(check_after_loss, search.tree, search.position.key)
        finally:
            crew.close()
        late.append(found.late)
        lost, counted = lost + found.result.lost_playouts, counted + found.result.playouts
        two_lost += len(victims) == 2
        assert wait_for(lambda: is_clean(folder), 30), run
    late.sort()
    figures = f"late by {late[50]:.2f} s in the middle, {late[-1]:.2f} s at most"
    print(f"100 searches on 8 ranks, {two_lost} with two losses: {figures}; lost {lost} beside {counted} playouts")
    assert late[-1] < LATE + 1
