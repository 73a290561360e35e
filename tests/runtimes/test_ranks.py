"""Ranks that a process starts, gives work to, and ends: what they do, and what happens when somebody dies."""

import os
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import pytest

from tests.support.distributed import check_result, moves_of, one_job, request, sequential_moves
from tests.support.interrupts import hear_interrupts
from tests.support.ranks import processes_of, ranks_of, shared_memory_of, survives_losses, wait_for
from treespan.core.errors import OptionError, TreespanError
from treespan.core.jit import JIT_DISABLED
from treespan.core.machine import RANK_VARIABLES
from treespan.games.pgame import PGame
from treespan.games.registry import make_game
from treespan.runtimes.job_folder import RanksLostError, remove_abandoned
from treespan.runtimes.mpi_binding import MpiError, load_mpi
from treespan.runtimes.ranks import Ranks, RanksOnDemand
from treespan.runtimes.run import run_search
from treespan.schemes.kept import TreeName
from treespan.schemes.plan import MPI, Looks, Request
from treespan.search.result import SearchResult

pytest.importorskip("mpi4py", reason="mpi4py is missing; pip install treespan[mpich]")
needs_compiler = pytest.mark.skipif(JIT_DISABLED, reason="the MPI runtime needs the compiler")
ends_with_one = pytest.mark.skipif(survives_losses(), reason="a lost rank does not end the others (test_losses.py)")

SPEC = "pgame:branching=5"
COUNT = 2
LONG = "tds-uct:policy=wait=1ms"
PROVEN = [  # positions, and what is proven for whom it is to move
    ("tictactoe", "a1 c2 a3", "loss"),
    ("tictactoe", "b2 c1 c3", "draw"),
    ("hex:size=4", "d4 d1 c2 b2 a4", "win"),
    ("connect4", "6 6 4 6 2 7 3 5 2 4 6 7 6 1 6 2 4 7 7 7 4 2 5 1 1 2 1 4 4 7", "loss"),
]
EXAMPLES = Path(__file__).parents[2] / "examples"


def on_ranks(scheme: str, spec: str, playouts: int | None, ranks: int = COUNT, seed: int = 1, **more: Any) -> Request:
    return request(scheme, spec, playouts, ranks, seed, MPI, **more)


@pytest.fixture
def folder(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    """The temporary folder of the jobs that a test starts; the ranks can be told by it."""
    return use_folder(monkeypatch, tmp_path)


def use_folder(monkeypatch: pytest.MonkeyPatch, folder: Path) -> Path:
    monkeypatch.setenv("TMPDIR", str(folder))
    monkeypatch.setattr(tempfile, "tempdir", str(folder))
    return folder


@pytest.fixture
def ranks(folder: Path) -> Iterator[Ranks]:
    with Ranks(COUNT) as started:
        yield started


def assert_nothing_is_left(folder: Path, memory: list[Path]) -> None:
    assert wait_for(lambda: processes_of(folder) == [], 30)
    assert list(folder.iterdir()) == [] and not any(path.exists() for path in memory)


# Work


@needs_compiler
def test_searches_of_one_session_do_not_disturb_each_other(ranks: Ranks, folder: Path) -> None:
    wanted = [
        on_ranks("tds-uct", SPEC, 2000, seed=3),
        on_ranks("span:jobs=20,grant=2", "tictactoe", 1500, moves="b2"),
        on_ranks("slow-tree:period=0.001", SPEC, 1000),
        on_ranks("tds-dfuct", SPEC, None, seconds=0.2),
    ]
    for one in [*wanted, wanted[0]]:
        result = ranks.search(one)
        check_result(result, one.plan.budget.playouts or result.playouts)
        assert (result.runtime, result.ranks, result.interrupted) == (MPI, COUNT, False)
        assert result.position.key == one.position.key and result.scheme == one.plan.spec()
    memory = shared_memory_of(folder)
    started = ranks_of(folder)
    assert len(started) == COUNT
    ranks.close()
    assert_nothing_is_left(folder, memory)


@needs_compiler
@pytest.mark.parametrize("algorithm", ["uct", "dfuct"])
def test_a_rank_alone_with_one_job_is_the_sequential_search(algorithm: str, folder: Path) -> None:
    wanted = on_ranks(one_job(algorithm), SPEC, 2000, ranks=1, seed=7)
    expected = sequential_moves(SPEC, algorithm, 2000, 7)
    result = run_search(wanted)
    assert result is not None and moves_of(result) == expected
    assert_nothing_is_left(folder, [])


@needs_compiler
@pytest.mark.parametrize("scheme", ["tds-uct", "tds-dfuct", "span", "treesplit:n_dup=2,n_sync=3", "mp-mcts"])
def test_ranks_prove_and_end_then(scheme: str, ranks: Ranks) -> None:
    for spec, moves, truth in PROVEN:
        wanted = on_ranks(scheme, spec, 100_000, moves=moves)
        first = ranks.search(Request(wanted.position, wanted.plan, name := TreeName()))
        assert first.proven == truth and first.playouts < 100_000
        check_result(first, first.playouts)
        again = ranks.search(Request(wanted.position, wanted.plan, name))
        assert (again.proven, again.playouts, again.root_visits) == (truth, 0, first.playouts)


def add_up(times: int) -> tuple[int, int]:
    """The sum of the ranks' numbers, so that one that does not take part is missed; and the process of rank 0."""
    world = load_mpi().COMM_WORLD
    return world.allreduce(times * (world.rank + 1)), os.getpid()


def test_all_ranks_call_a_function(folder: Path) -> None:
    with Ranks(3) as ranks:
        for times in (1, 5):
            total, process = ranks.call(add_up, times)
            assert total == times * (1 + 2 + 3) and process in ranks_of(folder)
    assert_nothing_is_left(folder, [])


def test_functions_may_be_made_anywhere(ranks: Ranks) -> None:
    factor = 4
    assert ranks.call(lambda count: factor * count, 5) == 20


@needs_compiler
def test_calls_and_searches_take_turns(ranks: Ranks) -> None:
    for _ in range(2):
        check_result(ranks.search(on_ranks("tds-uct", SPEC, 500)), 500)
        assert ranks.call(add_up, 1)[0] == 1 + 2


@needs_compiler
def test_progress_is_told(ranks: Ranks) -> None:
    told: list[tuple[int, float]] = []
    result = ranks.search(on_ranks(LONG, SPEC, 600), lambda *at: told.append(at))
    playouts, seconds = zip(*told, strict=True)
    assert list(playouts) == sorted(playouts) and list(seconds) == sorted(seconds) and playouts[-1] > 0
    assert result.playouts == 600 and seconds[-1] <= result.seconds + 0.2


@needs_compiler
@pytest.mark.parametrize(
    "scheme, spec, home",
    [("span", "go:size=19", 1), ("tds-uct:max_depth=1", "pgame:branching=8", 1), ("span", "hex:size=11", 0)],
)
def test_results_so_far_come_from_the_home_of_the_root(scheme: str, spec: str, home: int, ranks: Ranks) -> None:
    """On a large board in several messages; then the next search is whole."""
    wanted = on_ranks(scheme, spec, None, seconds=600)
    assert wanted.plan.scheme.root_home(wanted.position, COUNT) == home
    seen: list[SearchResult] = []
    result = ranks.search(wanted, None, lambda: len(seen) >= 3, Looks(0.0, seen.append))
    visits = [so_far.root_visits for so_far in seen]
    assert visits == sorted(visits) and visits[0] < result.playouts == result.root_visits
    for so_far in seen:
        assert sum(move.visits for move in so_far.moves) == so_far.root_visits == so_far.playouts
        assert {move.id for move in so_far.moves} == {move.id for move in result.moves}
        assert so_far.line[0] == so_far.move == so_far.moves[0].move
    check_result(ranks.search(on_ranks("tds-uct", SPEC, 500)), 500)


@needs_compiler
@pytest.mark.parametrize(
    "scheme", ["span:grant=3", "tds-uct:dedicated_root=yes", "treesplit:n_dup=4,n_sync=5", "mp-mcts"]
)
def test_ranks_go_on_with_a_tree(scheme: str, ranks: Ranks) -> None:
    """The root's visits are those kept and the new playouts; another tree, or one that was forgotten, begins anew."""
    wanted, name = on_ranks(scheme, "connect4", 500), TreeName()
    assert ranks.search(replace(wanted, tree=name)).root_visits == 500
    again = ranks.search(replace(wanted, tree=name))
    assert again.root_visits == sum(move.visits for move in again.moves) == 1000
    check_result(ranks.search(wanted), 500)
    check_result(ranks.search(replace(wanted, tree=TreeName())), 500)
    wanted.position.play(again.moves[0].id)
    below = ranks.search(replace(wanted, tree=name))
    assert 500 == below.playouts < below.root_visits <= 500 + again.moves[0].visits
    assert ranks.search(replace(wanted, tree=name)).root_visits == below.root_visits + 500
    check_result(ranks.search(replace(wanted, tree=name.forgotten())), 500)


# A search that shall end


@needs_compiler
def test_an_interrupt_ends_the_search_with_the_best_move_so_far_and_the_next_one_is_whole(ranks: Ranks) -> None:
    hear_interrupts()
    heard: list[int] = []

    def interrupt_once(playouts: int, seconds: float) -> None:
        if playouts > 0 and not heard:
            heard.append(playouts)
            signal.raise_signal(signal.SIGINT)

    start = time.monotonic()
    result = ranks.search(on_ranks(LONG, SPEC, None, seconds=600), interrupt_once)
    assert heard and result.interrupted and time.monotonic() - start < 60
    check_result(result, result.playouts)
    assert result.playouts > 0 and result.move == result.moves[0].move
    whole = ranks.search(on_ranks("tds-uct", SPEC, 500))
    check_result(whole, 500)
    assert not whole.interrupted


@needs_compiler
def test_a_wish_to_stop_ends_the_search(ranks: Ranks) -> None:
    seen: list[int] = []
    wanted = on_ranks(LONG, SPEC, None, seconds=600)
    result = ranks.search(wanted, lambda playouts, _: seen.append(playouts), lambda: bool(seen and seen[-1] > 0))
    check_result(result, result.playouts)
    assert 0 < result.playouts < 60_000
    check_result(ranks.search(on_ranks("tds-uct", SPEC, 500)), 500)


def stay(seconds: float) -> None:
    time.sleep(seconds)


def test_who_interrupts_twice_waits_for_nobody(ranks: Ranks, folder: Path) -> None:
    hear_interrupts()
    memory = shared_memory_of(folder)

    def interrupt() -> None:
        for _ in range(2):
            time.sleep(1)
            os.kill(os.getpid(), signal.SIGINT)

    ranks.call(add_up, 1)
    thread = threading.Thread(target=interrupt)
    thread.start()
    start = time.monotonic()
    with pytest.raises(KeyboardInterrupt):
        ranks.call(stay, 60)
    thread.join()
    assert time.monotonic() - start < 30
    assert_nothing_is_left(folder, memory)


# Errors


@dataclass(frozen=True)
class Faulty(PGame):
    """Breaks at rank 1, before the search starts."""

    name = "faulty"

    error: type[Exception] = RuntimeError

    @property
    def max_moves(self) -> int:
        if any(os.environ.get(name) == "1" for name in RANK_VARIABLES):
            raise self.error("no room here")
        return super().max_moves


@needs_compiler
@pytest.mark.parametrize(
    "error, raised, message",
    [
        (RuntimeError, RanksLostError, "rank 1: RuntimeError: no room here"),
        (OptionError, OptionError, "rank 1: no room here"),
    ],
)
def test_the_error_of_a_rank_is_told_with_its_number(
    error: type[Exception], raised: type[Exception], message: str, ranks: Ranks, folder: Path
) -> None:
    memory = shared_memory_of(folder)
    with pytest.raises(raised) as caught:
        ranks.search(on_ranks("tds-uct", "", 100, game=Faulty(error=error)))
    assert str(caught.value) == message and type(caught.value) is raised
    assert_nothing_is_left(folder, memory)


def fail_at(rank: int) -> int:
    world = load_mpi().COMM_WORLD
    if world.rank == rank:
        raise ValueError("seven is no even number")
    return int(world.allreduce(1))


@pytest.mark.parametrize("rank", [0, 1])
def test_the_error_of_a_function_is_told_with_the_number_of_the_rank(rank: int, ranks: Ranks, folder: Path) -> None:
    memory = shared_memory_of(folder)
    with pytest.raises(RanksLostError, match=f"^rank {rank}: ValueError: seven is no even number$"):
        ranks.call(fail_at, rank)
    assert_nothing_is_left(folder, memory)


@needs_compiler
def test_an_option_that_the_ranks_refuse_is_named(ranks: Ranks) -> None:
    wanted = on_ranks("tds-uct", SPEC, 100)
    wrong = Request(wanted.position, replace(wanted.plan, evaluate="nowhere.py:values"))
    with pytest.raises(OptionError, match=r"rank \d: cannot read 'nowhere.py'") as caught:
        ranks.search(wrong)
    assert "\n" not in str(caught.value)


@needs_compiler
def test_a_game_that_has_changed_on_disk_is_refused(tmp_path: Path) -> None:
    file = tmp_path / "mygame.py"
    file.write_text((EXAMPLES / "domineering.py").read_text())
    game = make_game(str(file))
    file.write_text(file.read_text() + "\n# a remark\n")
    told = r"^rank 0: .*'.*mygame\.py' has changed since it was loaded; make the game anew$"
    with Ranks(COUNT) as ranks, pytest.raises(TreespanError, match=told):
        ranks.search(on_ranks("tds-uct", "", 100, game=game))


def end_abruptly(rank: int) -> None:
    world = load_mpi().COMM_WORLD
    if world.rank == rank:
        os.kill(os.getpid(), signal.SIGKILL)
    time.sleep(60)


@ends_with_one
@pytest.mark.parametrize("rank", [0, 1])
def test_ranks_that_die_without_a_word_are_missed(rank: int, ranks: Ranks, folder: Path) -> None:
    memory = shared_memory_of(folder)
    with pytest.raises(
        RanksLostError,
        match=r"^the 2 MPI ranks have ended, (by signal|with status) \d+; search again, or with fewer ranks$",
    ):
        ranks.call(end_abruptly, rank)
    assert_nothing_is_left(folder, memory)


def test_what_cannot_be_started_is_refused(monkeypatch: pytest.MonkeyPatch, folder: Path) -> None:
    for count in (0, 65_537):
        with pytest.raises(OptionError, match=f"ranks={count} is out of range; give 1..65536"):
            Ranks(count)
    monkeypatch.setenv("PMI_RANK", "0")
    with pytest.raises(MpiError, match="this process is an MPI rank itself and cannot start ranks"):
        Ranks(COUNT)
    assert list(folder.iterdir()) == []


@ends_with_one
@needs_compiler
def test_ranks_on_demand_stay_and_are_started_anew_after_a_loss(folder: Path) -> None:
    wanted, demanded = on_ranks("tds-uct", SPEC, 300), RanksOnDemand(COUNT)
    assert processes_of(folder) == []
    try:
        for _ in range(2):
            check_result(demanded.search(wanted), 300)
            started = set(ranks_of(folder))
        os.kill(min(started), signal.SIGKILL)
        with pytest.raises(RanksLostError, match="the 2 MPI ranks have ended"):
            demanded.search(wanted)
        check_result(demanded.search(wanted), 300)
        assert len(ranks_of(folder)) == COUNT and not started & set(ranks_of(folder))
    finally:
        demanded.close()
    assert_nothing_is_left(folder, [])


# Other processes


def start_script(script: str, tmp_path: Path, *arguments: str, **more: Any) -> "subprocess.Popen[str]":
    path = tmp_path / "script.py"
    path.write_text(script)
    folder = tmp_path / "jobs"
    folder.mkdir()
    environment = {**os.environ, "TMPDIR": str(folder)}
    command = [sys.executable, str(path), *arguments]
    return subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=environment, cwd=tmp_path, **more
    )


KILLED = """
import sys, time
from treespan.games.position import Position
from treespan.games.registry import make_game
from treespan.runtimes.ranks import Ranks
from treespan.schemes.plan import MPI, Budget, Plan, Request
from treespan.schemes.registry import read_scheme

def begun(playouts, seconds):
    if playouts > 0:
        print("ready", flush=True)

ranks = Ranks(2)
if sys.argv[1] == "starting":
    print("ready", flush=True)
    time.sleep(60)
ranks.call(time.sleep, 0)
if sys.argv[1] == "idle":
    print("ready", flush=True)
    time.sleep(60)
if sys.argv[1] == "calling":
    print("ready", flush=True)
    ranks.call(time.sleep, 5)
    time.sleep(60)
plan = Plan(*read_scheme("tds-uct:policy=wait=1ms"), Budget(seconds=600), runtime=MPI, ranks=2)
ranks.search(Request(Position(make_game("pgame:branching=5")), plan), begun)
"""


@pytest.mark.parametrize("state", ["starting", "idle", "calling", pytest.param("searching", marks=needs_compiler)])
def test_ranks_end_when_the_process_that_started_them_is_killed(
    state: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    process = start_script(KILLED, tmp_path, state)
    folder = tmp_path / "jobs"
    try:
        assert process.stdout is not None and process.stdout.readline() == "ready\n"
        if state != "starting":
            assert len(ranks_of(folder)) == 2
    finally:
        process.kill()
    assert wait_for(lambda: processes_of(folder) == [])
    process.communicate()
    memory = shared_memory_of(folder)
    monkeypatch.setattr(tempfile, "tempdir", str(folder))
    assert wait_for(lambda: remove_abandoned() != [], 10)  # a process that ends holds the lock a little longer
    assert_nothing_is_left(folder, memory)


SCRIPT = """
import sys
from treespan.games.position import Position
from treespan.runtimes.run import run_search
from treespan.schemes.plan import MPI, THREADS, Budget, Plan, Request
from treespan.schemes.registry import read_scheme

def search(scheme, runtime, ranks):
    plan = Plan(*read_scheme(scheme), Budget(playouts=300), runtime=runtime, ranks=ranks)
    return run_search(Request(Position(Domineering(side=4)), plan))

alone, one, two = search("sequential:solver=no", THREADS, 1), search("tds-uct:jobs=1", MPI, 1), search("span", MPI, 2)
assert Domineering.__module__ == "__main__"
assert [(move.move, move.visits, move.wins) for move in one.moves] == [
    (move.move, move.visits, move.wins) for move in alone.moves
]
print(two.ranks, two.playouts, two.root_visits, two.game)
"""


@needs_compiler
def test_ranks_search_a_game_that_a_script_defines(tmp_path: Path) -> None:
    process = start_script((EXAMPLES / "domineering.py").read_text() + SCRIPT, tmp_path)
    out, err = process.communicate(timeout=300)
    assert process.returncode == 0 and out == "2 300 300 domineering:side=4\n", err
    assert_nothing_is_left(tmp_path / "jobs", [])


@needs_compiler
def test_ranks_import_what_lies_beside_a_game_file(tmp_path: Path) -> None:
    source = (EXAMPLES / "domineering.py").read_text()
    (tmp_path / "mygame.py").write_text("from sides import SIDE\n" + source.replace("option(6", "option(SIDE"))
    (tmp_path / "sides.py").write_text("SIDE = 4\n")
    script = "from treespan.cli import main; main()"
    (tmp_path / "elsewhere").mkdir()
    words = ("search", str(tmp_path / "mygame.py"), "--ranks", "2", "--playouts", "300")
    process = start_script(script, tmp_path / "elsewhere", *words)
    out, err = process.communicate(timeout=300)
    assert process.returncode == 0 and "300 playouts" in out and "2 MPI ranks" in out, err


PROGRAM = "from treespan.cli import main; main()"


@needs_compiler
def test_a_mistake_is_one_line_also_where_ranks_are_starting(tmp_path: Path) -> None:
    process = start_script(PROGRAM, tmp_path, "search", "tictactoe", "--moves", "z9", "--ranks", "2", "--playouts", "9")
    out, err = process.communicate(timeout=300)
    assert (process.returncode, out) == (2, "")
    assert [line[:22] for line in err.splitlines() if line] == ["treespan: tictactoe: '"]
    assert_nothing_is_left(tmp_path / "jobs", [])


TELLING = """
import os
os.environ.update(TREESPAN_CACHE_DIR="/dev/null/below", TREESPAN_SILENT="")
from treespan.core.jit import njit
from treespan.runtimes.ranks import Ranks

@njit
def double(number):
    return 2 * number

def doubled(number):  # compiles, and has to tell that the code cannot be kept
    return double(number)

if __name__ == "__main__":
    with Ranks(2) as ranks:
        print(doubled(2), ranks.call(doubled, 3))
"""


@needs_compiler
def test_what_the_ranks_have_to_tell_too_is_told_once(tmp_path: Path) -> None:
    process = start_script(TELLING, tmp_path)
    out, err = process.communicate(timeout=300)
    assert (process.returncode, out) == (0, "4 6\n"), err
    (line,) = [line for line in err.splitlines() if "not kept" in line]
    assert line.endswith("; set TREESPAN_CACHE_DIR to a folder that can be written")


def test_many_ranks_have_more_time_to_end(monkeypatch: pytest.MonkeyPatch, folder: Path) -> None:
    waited: list[float] = []
    with Ranks(COUNT) as ranks:
        ranks.call(add_up, 1)
        wait = ranks._process.wait

        def note(seconds: float) -> int:
            waited.append(seconds)
            return wait(seconds)

        monkeypatch.setattr(ranks._process, "wait", note)
        ranks.count = 64
    assert waited[0] == 5 + 64 * 0.25


SAY = """
from treespan.runtimes.ranks import Ranks
with Ranks(2) as ranks:
    ranks.call(print, "hello")
print("the result")
"""


def test_what_ranks_print_is_no_result(tmp_path: Path) -> None:
    process = start_script(SAY, tmp_path)
    out, err = process.communicate(timeout=300)
    assert process.returncode == 0 and out == "the result\n" and err.count("hello") == 2, err


ASK = """
import sys, time
from treespan.runtimes.ranks import Ranks
with Ranks(2) as ranks:
    ranks.call(time.sleep, 0.5)
    print(sys.stdin.read())
"""


def test_what_is_typed_is_not_for_ranks(tmp_path: Path) -> None:
    """A launcher that had our stdin would read it."""
    process = start_script(ASK, tmp_path, stdin=subprocess.PIPE)
    out, err = process.communicate("for me", timeout=300)
    assert process.returncode == 0 and out == "for me\n", err


@needs_compiler
@pytest.mark.parametrize("letters", [0, 40, 150])
def test_the_temporary_folder_may_have_a_long_name(
    letters: int, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    folder = tmp_path / ("long" * (letters // 4) or "short")
    folder.mkdir()
    use_folder(monkeypatch, folder)
    with Ranks(COUNT) as ranks:
        check_result(ranks.search(on_ranks("tds-uct", SPEC, 500)), 500)
        socket = Path(ranks._job.address)
        assert socket.exists()
    assert_nothing_is_left(folder, [])
    assert not socket.parent.exists()


def test_files_of_the_folder_of_the_start_are_no_modules_of_ranks(
    monkeypatch: pytest.MonkeyPatch, folder: Path, tmp_path_factory: pytest.TempPathFactory
) -> None:
    elsewhere = tmp_path_factory.mktemp("elsewhere")
    (elsewhere / "socket.py").write_text("raise RuntimeError('not this one')\n")
    monkeypatch.chdir(elsewhere)
    with Ranks(1) as ranks:
        assert ranks.call(add_up, 1)[0] == 1


@needs_compiler
def test_a_progress_call_that_fails_ends_the_ranks_at_once(folder: Path) -> None:
    def fail(playouts: int, seconds: float) -> None:
        raise RuntimeError("nobody shows progress")

    start = time.monotonic()
    with pytest.raises(RuntimeError, match="nobody shows progress"), Ranks(COUNT) as ranks:
        ranks.search(on_ranks("tds-uct", "pgame:branching=5", None, seconds=600.0), fail)
    assert time.monotonic() - start < 60
