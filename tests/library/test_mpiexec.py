"""Calls of the library that all ranks of an MPI job make: all get the result, or all raise the error."""

import ast
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from tests.support.ranks import run_under_mpiexec
from treespan.core.jit import JIT_DISABLED

pytest.importorskip("mpi4py", reason="mpi4py is missing; pip install treespan[mpich]")
pytestmark = pytest.mark.skipif(JIT_DISABLED, reason="the MPI runtime needs the compiler")

# Each rank makes the calls one after another, and writes what it gets into a file of its own.
SCRIPT = """
from pathlib import Path
import treespan as ts
from mpi4py import MPI

rank = MPI.COMM_WORLD.rank
GAME = "pgame:branching=4"

def fail(step):
    raise RuntimeError("boom")

def answer(call):
    try:
        return str(call())
    except Exception as error:
        return f"{type(error).__name__}: {error}"

calls = {
CALLS
}
found = {name: answer(call) for name, call in calls.items()}
Path(f"answers-{rank}").write_text(repr(found))
"""


def answers(calls: dict[str, str], folder: Path, before: str = "") -> Sequence[dict[str, Any]]:
    """What each of two ranks gets from calls."""
    lines = "\n".join(f"    {name!r}: lambda: {call}," for name, call in calls.items())
    done = run_under_mpiexec(SCRIPT.replace("CALLS", lines).replace("calls =", before + "\ncalls ="), folder)
    assert done.returncode == 0, done.stderr
    return [ast.literal_eval((folder / f"answers-{rank}").read_text()) for rank in (0, 1)]


MEASUREMENTS = {
    "match": 'ts.match("playouts=20", "playouts=10", "tictactoe", games=2).score.games',
    "match in processes": 'ts.match("playouts=20", "playouts=10", "tictactoe", games=2, jobs=2).score.games',
    "speedup": 'ts.speedup(GAME, "span", simulate=[1, 2], playouts=200)',
    "compare": 'ts.compare(GAME, simulate=2, playouts=200, schemes=["span"])',
    "advise": 'ts.advise(GAME, machines=2, playouts=200, searches=1, network="qdr").command[:12]',
    "messages": "ts.advise(GAME, machines=2, playouts=200, searches=1).network.name",
}
CANNOT = "starts ranks, which a rank of mpiexec or srun cannot; give"
REFUSED = {
    'ts.speedup(GAME, "span", simulate=[1], ranks=[3], playouts=200)': f"OptionError: ranks=3 {CANNOT} simulate",
    "ts.compare(GAME, ranks=2, playouts=200)": f"OptionError: ranks=2 {CANNOT} simulate",
    'ts.match("ranks=2", "playouts=10", "tictactoe", games=2)': "OptionError: player A: 'ranks=2': a player of a match",
    'ts.compare(GAME, simulate=2, schemes=["spam"])': "OptionError: unknown scheme 'spam'; did you mean 'span'?",
}


def test_rank_0_measures_and_all_ranks_get_the_table(tmp_path: Path) -> None:
    first, second = answers(MEASUREMENTS, tmp_path)
    assert first == second and first["match"] == first["match in processes"] == "2"
    assert "speed-up" in first["speedup"] and "span" in first["compare"] and first["advise"] == "mpiexec -n 2"
    assert first["messages"] == "here"


COMMAND = """
import sys
from treespan.cli import main
sys.argv = "treespan compare pgame:branching=4 --simulate 2 --playouts 200 --schemes span".split()
main()
"""


def test_a_command_that_measures_prints_once(tmp_path: Path) -> None:
    done = run_under_mpiexec(COMMAND, tmp_path)
    assert done.returncode == 0 and done.stdout.count("the sequential search with 2,000 playouts") == 1, done.stderr


def test_what_cannot_be_measured_is_refused_on_all_ranks(tmp_path: Path) -> None:
    first, second = answers({call: call for call in REFUSED}, tmp_path)
    assert first == second
    for call, error in REFUSED.items():
        assert first[call].startswith(error) and "\n" not in first[call]


def test_an_error_of_rank_0_is_raised_on_all_ranks(tmp_path: Path) -> None:
    first, second = answers({"fail": "ts.compare(GAME, simulate=2, playouts=200, on_step=fail)"}, tmp_path)
    assert first["fail"] == "RuntimeError: boom" and second["fail"] == "TreespanError: rank 0: RuntimeError: boom"


def test_a_search_uses_the_ranks_of_the_job_however_many_it_asks_for(tmp_path: Path) -> None:
    calls = {
        "ranks=7": "ts.search(GAME, playouts=100, ranks=7).ranks",
        "ranks=0": "ts.search(GAME, playouts=100, ranks=0)",
    }
    first, second = answers(calls, tmp_path)
    assert first == second and first["ranks=7"] == "2"
    assert first["ranks=0"] == "OptionError: ranks=0 is out of range; give 1..65536"


GROW = """
def grow(**options):
    with ts.Tree(GAME) as tree:
        return tree.search(**options)

def watch(**options):
    with ts.Tree(GAME) as tree:
        return [so_far.playouts for so_far in tree.watch(**options)]

def choose(**options):
    with ts.Engine(GAME, **options) as engine:
        return engine.choose().result.playouts
"""
OVER = "ts.make_game('tictactoe').position('a1 a2 b1 b2 c1')"
# Calls of which one rank makes another, and what that rank and the other get
ONE_SIDED = {
    "ts.search(GAME, playouts=100, seed='x' if rank == 0 else 1)": (0, "OptionError: {}seed=x is not a whole number"),
    "ts.search(GAME, playouts=100, seed='x' if rank == 1 else 1)": (1, "OptionError: {}seed=x is not a whole number"),
    "ts.search(GAME, playouts=100, **({'sed': 1} if rank else {}))": (1, "OptionError: {}unknown option of span 'sed'"),
    "ts.search(GAME, playouts=100, scheme='span' if rank else 'shared')": (0, "OptionError: {}scheme shared"),
    f"ts.search({OVER} if rank else 'tictactoe', playouts=100)": (1, "PositionError: {}tictactoe: the game is over"),
    "ts.search('/no.py' if rank else GAME, playouts=100)": (1, "OptionError: {}cannot read '/no.py'"),
    "grow(playouts=0 if rank else 50)": (1, "OptionError: {}playouts=0 is out of range"),
    "watch(playouts=50, every=0 if rank else 1)": (1, "OptionError: {}every=0 is out of range"),
    "choose(playouts=100, resign=2 if rank == 0 else 0)": (0, "OptionError: {}resign=2"),
}


def test_an_error_that_one_rank_has_is_raised_on_all(tmp_path: Path) -> None:
    calls = {"before": "ts.search(GAME, playouts=100, seed=5).root_visits", **{call: call for call in ONE_SIDED}}
    calls |= {"after": calls["before"], "grown": "grow(playouts=50).playouts", "chosen": "choose(playouts=100)"}
    found = answers({**calls, "watched": "watch(playouts=50)"}, tmp_path, GROW)
    for call, (guilty, error) in ONE_SIDED.items():
        own, other = found[guilty][call], found[1 - guilty][call]
        assert own.startswith(error.format("")) and other.startswith(error.format(f"rank {guilty}: ")), (own, other)
        assert own.replace(": ", f": rank {guilty}: ", 1) == other
    for answer in found:
        assert [answer[name] for name in ("after", "grown", "chosen", "watched")] == ["100", "50", "100", "[50]"]


def test_with_threads_or_simulated_ranks_each_rank_searches_by_itself(tmp_path: Path) -> None:
    calls = {
        name: f"ts.search(GAME, playouts=100, {name}).root_visits if rank else None"
        for name in ("threads=1", "simulate=2", "threads='x'")
    }
    first, second = answers(calls, tmp_path)
    assert set(first.values()) == {"None"} and second["threads='x'"].startswith("OptionError: threads=x is not a whole")
    assert [second[name] for name in ("threads=1", "simulate=2")] == ["100", "100"]


def test_ranks_that_search_different_positions_are_told_so(tmp_path: Path) -> None:
    found = answers(
        {
            "positions": 'ts.search(ts.make_game("tictactoe").position("b2" if rank else "a1"), playouts=50)',
            "schemes": 'ts.search("tictactoe", playouts=50, scheme="root" if rank else "span")',
            "the same": 'ts.search("tictactoe", playouts=50).playouts',
        },
        tmp_path,
    )
    refused = "OptionError: the ranks search different positions, or by different schemes; give all the same"
    assert found[0] == found[1] == {"positions": refused, "schemes": refused, "the same": "50"}


WATCHING = """
def watched(share):
    with ts.Tree("go:size=5", scheme="span") as tree:
        for so_far in tree.watch(playouts=20_000, every=0.05):
            if so_far.moves[0].share > share:
                break
        tree.advance(so_far.move)
        return so_far.move, so_far.playouts, tree.search(playouts=200).move
"""


def test_all_ranks_go_on_with_what_rank_0_has_seen(tmp_path: Path) -> None:
    """Rank 0 leaves the loop early; the others have the same result then, and the tree goes on at all."""
    found = answers({"early": "watched(0.0)", "at the end": "watched(2.0)"}, tmp_path, before=WATCHING)
    assert found[0] == found[1]
    assert ast.literal_eval(found[0]["at the end"])[1] == 20_000


MISSING = "'nothing': No such file or directory; give the folder of one"
SAVES = """
def grown():
    with ts.Tree("connect4", scheme="span", bandit="rave") as tree:
        tree.search(playouts=500)
        tree.save("tree")
        return tree.search(playouts=100).root_visits, tree.look().root_visits

def loaded():
    with ts.Tree.load("tree") as tree:
        return tree.look().root_visits, tree.search(playouts=100).root_visits, tree.look().ranks
"""


def test_all_ranks_save_and_load_a_tree_together(tmp_path: Path) -> None:
    (tmp_path / "other").mkdir()
    (tmp_path / "other" / "file").write_text("")
    calls = {
        "grown": "grown()",
        "loaded": "loaded()",
        "foreign": 'ts.Tree("connect4", scheme="span").save("other")',
        "missing": 'ts.Tree.load("nothing")',
    }
    expected = {
        "grown": "(600, 600)",
        "loaded": "(500, 600, 2)",
        "foreign": "SaveError: 'other' has other files, as 'file'; give a new or empty folder",
        "missing": f"SaveError: cannot read a saved tree from {MISSING}",
    }
    for found in answers(calls, tmp_path, SAVES):
        assert found == expected
