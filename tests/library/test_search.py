"""`treespan.search` and `treespan.Tree`: any scheme, any runtime, any way to name a position."""

import inspect
import pickle
import subprocess
import sys
import threading
from pathlib import Path
from typing import Any

import pytest

import treespan as ts
from tests.support.programs import run
from tests.support.ranks import run_under_mpiexec
from treespan.core.jit import JIT_DISABLED
from treespan.library import searching
from treespan.runtimes.plan import make_plan
from treespan.schemes.registry import SCHEMES

needs_compiler = pytest.mark.skipif(JIT_DISABLED, reason="the MPI runtime needs the compiler")


def even(states: Any) -> list[float]:
    return [0.5] * len(states)


def test_a_position_may_be_named_in_three_ways() -> None:
    game = ts.make_game("tictactoe")
    found = [ts.search(start, playouts=500) for start in ("tictactoe", game, game.position())]
    assert len({result.signature for result in found}) == 1
    assert found[0].playouts == found[0].root_visits == 500


def test_a_game_is_made_of_a_spec_an_object_and_options() -> None:
    go = ts.make_game("go:size=9", komi=6.5)
    assert go.spec() == "go:komi=6.5"
    assert ts.make_game(go) is go and ts.make_game(go, komi=5.5).spec().endswith("komi=5.5")
    with pytest.raises(ts.OptionError, match="is no game; give a spec"):
        ts.make_game(type(go))  # type: ignore[arg-type]
    with pytest.raises(ts.OptionError, match="go: size=nine is not a whole number"):
        ts.make_game("go", size="nine")
    with pytest.raises(ts.OptionError, match="go: size=True is not a whole number"):
        ts.make_game("go", size=True)


def test_positions_are_read_printed_and_pickled() -> None:
    game = ts.make_game("go:size=9")
    position = game.position("E5 C3")
    again = game.read(str(position))
    assert again.key == position.key
    twin = pickle.loads(pickle.dumps(position))
    assert twin.key == position.key and twin.moves_made == position.moves_made and twin.history == position.history
    twin.play_text("G7")
    assert repr(twin) == f"<position of {game.spec()} after 3 moves>"


@pytest.mark.parametrize("scheme", sorted(SCHEMES))
def test_every_scheme_takes_a_function_instead_of_playouts(scheme: str) -> None:
    threads = 1 if scheme == "sequential" else 2
    result = ts.search("tictactoe", playouts=60, scheme=scheme, threads=threads, evaluate=even)
    assert result.playouts == result.root_visits == 60
    assert result.scheme.partition(":")[0] == scheme
    assert all(move.value == 0.5 for move in result.moves if move.visits and not move.proven)


def test_one_rank_with_a_function_is_the_sequential_search() -> None:
    """A function that plays out by the rules' own choices would be the same search: here one that knows no better."""
    by_ranks = ts.search("connect4", playouts=80, scheme="root:jobs=1", evaluate=even, seed=3)
    alone = ts.search("connect4", playouts=80, scheme="sequential", evaluate=even, seed=3)
    assert [(m.id, m.visits) for m in alone.moves] == [(m.id, m.visits) for m in by_ranks.moves]


def test_without_a_scheme_a_function_is_searched_by_the_best_one() -> None:
    assert ts.search("tictactoe", playouts=30, evaluate=even).scheme.startswith("span")


IN_OPTIONS = {"latency", "extend_if_unsure"}  # they are rarely given, and `search` takes them among its options


def test_a_search_has_the_parameters_of_a_plan_and_hands_all_on(monkeypatch: pytest.MonkeyPatch) -> None:
    ours, plans = (dict(inspect.signature(function).parameters) for function in (ts.search, make_plan))
    del ours["position"], ours["progress"]
    assert set(plans) - set(ours) == {"game", *IN_OPTIONS}
    assert all(ours[name] == plans[name] for name in ours)
    given: dict[str, Any] = {}

    def note(game: ts.Game, **options: Any) -> None:
        given.update(options)
        raise ts.TreespanError("noted")

    monkeypatch.setattr(searching, "make_plan", note)
    values: dict[str, Any] = {name: number for number, name in enumerate(ours, start=1) if name != "options"}
    values |= {"scheme": "span", "network": "qdr", "evaluate": "net.py:values", "bandit": "rave", "latency": 0.5}
    with pytest.raises(ts.TreespanError, match="noted"):
        ts.search("tictactoe", **values)
    assert given == values


def test_a_scheme_may_be_an_object() -> None:
    result = ts.search("pgame:branching=4", playouts=300, scheme=ts.Span(grant=3), simulate=12, policy="wait=1ms")
    assert result.scheme == "span:grant=3,policy=wait=1ms" and result.ranks == 12


def test_options_of_a_scheme_that_is_named_go_with_those_of_a_search() -> None:
    result = ts.search("tictactoe", playouts=100, scheme="root", period=0.5, threads=2, bandit="tuned1")
    assert result.scheme == "root:period=0.5,bandit=tuned1"


@pytest.mark.parametrize(
    "options, error",
    [
        ({"playouts": 0}, "playouts=0 is out of range; give 1..2147483647"),
        ({"seconds": -1.0}, "seconds=-1 is out of range; give more than 0 and less than 1e8"),
        ({"scheme": "spam"}, "unknown scheme 'spam'; did you mean 'span'?"),
        ({"bandit": "ucb2"}, "unknown search bandit 'ucb2'; did you mean 'ucb1'?"),
        ({"scheme": "leaf", "bandit": "rave"}, "leaf: bandit=rave is not possible; known: ucb1, tuned1, tuned2, puct"),
        ({"serach": 1}, "unknown option of sequential 'serach'"),
        ({"threads": 2, "simulate": 3}, "threads and simulate exclude each other; give one"),
        ({"scheme": "sequential", "threads": 2}, "scheme sequential runs in 1 thread, not 2; give scheme=shared"),
        ({"simulate": 0}, "simulate=0 is out of range; give 1..65536"),
        ({"latency": 0.1}, "latency holds MPI messages back; give ranks, or simulate with a network"),
    ],
)
def test_mistakes_are_one_line_with_the_remedy(options: dict[str, Any], error: str) -> None:
    with pytest.raises(ts.TreespanError) as raised:
        ts.search("tictactoe", **options)
    text = str(raised.value)
    assert text.startswith(error) and "\n" not in text and "--" not in text


def test_errors_name_option_value_and_remedy() -> None:
    with pytest.raises(ts.OptionError) as raised:
        ts.search("tictactoe", playouts=0)
    error = raised.value
    assert (error.option, error.value, error.remedy) == ("playouts", "0", "give 1..2147483647")


def test_results_print_as_tables_of_80_columns_and_as_html() -> None:
    result = ts.search("go:size=5", playouts=200, simulate=3)
    text = str(result)
    assert "best move" in text and "A B C D E" in text and max(map(len, text.splitlines())) <= 80
    assert repr(result).startswith("<search of go:size=5: ") and "\n" not in repr(result)
    page = result._repr_html_()
    assert page.count("<td style=") == 25 and f"{result.moves[0].visits:,} visits" in page
    plain = ts.search("pgame:branching=3", playouts=100)._repr_html_()
    assert "<pre>" in plain


def test_results_have_what_the_documents_say() -> None:
    result = ts.search("tictactoe", playouts=500, bandit="puct")
    best = result.moves[0]
    assert result.move == best.move == result.line[0] and result.value == best.value
    assert best.share == best.visits / 500 and best.prior is not None
    twin = pickle.loads(pickle.dumps(result))
    assert twin.signature == result.signature and twin.position.key == result.position.key


def test_two_searches_in_two_threads_do_not_disturb_each_other() -> None:
    expected = {seed: ts.search("connect4", playouts=3000, seed=seed).signature for seed in (1, 2)}
    game, found = ts.make_game("connect4"), dict[int, str]()

    def search(seed: int) -> None:
        found[seed] = ts.search(game, playouts=3000, seed=seed).signature

    threads = [threading.Thread(target=search, args=(seed,)) for seed in expected]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert found == expected


def test_progress_is_told() -> None:
    told: list[tuple[int, float]] = []
    ts.search("pgame:branching=4", seconds=0.3, progress=lambda playouts, seconds: told.append((playouts, seconds)))
    assert told and told[-1][0] > 0


SCRIPT = """
from dataclasses import dataclass
import treespan as ts
from treespan.games.tictactoe import TicTacToe

@dataclass(frozen=True)
class Mine(TicTacToe):
    name = "mine"

def even(states):
    return [0.5] * len(states)

result = ts.search(ts.make_game(Mine()), playouts=400, {ranks} evaluate={evaluate})
print(f"{{result.runtime}} {{result.ranks}} {{result.playouts}} {{result.root_visits}}\\n", end="", flush=True)
"""


START = """
import sys
from treespan.core.errors import TreespanError
from treespan.runtimes.ranks import RanksOnDemand

def start(ranks):
    print("ranks start, numba is loaded:", "numba" in sys.modules)
    raise TreespanError("they did not start")

RanksOnDemand.start = start
"""
STARTS = {
    "library": "import treespan as ts; ts.search('go:size=9', ranks=2, playouts=100)",
    "command line": (
        "from treespan.cli import main; "
        "sys.argv = 'treespan search go:size=9 --ranks 2 --playouts 100 --moves E5'.split(); main()"
    ),
}


@needs_compiler
@pytest.mark.parametrize("way", STARTS)
def test_ranks_start_before_numba_is_loaded(way: str, tmp_path: Path) -> None:
    pytest.importorskip("mpi4py", reason="mpi4py is missing; pip install treespan[mpich]")
    done = run(START + STARTS[way], tmp_path, home=tmp_path / "cache")  # where all has to be compiled
    assert done.stdout == "ranks start, numba is loaded: False\n" and "they did not start" in done.stderr


@needs_compiler
@pytest.mark.parametrize("evaluate", ["None", "even"])
def test_ranks_search_games_and_functions_of_a_script(evaluate: str, tmp_path: Path) -> None:
    pytest.importorskip("mpi4py", reason="mpi4py is missing; pip install treespan[mpich]")
    script = tmp_path / "script.py"
    script.write_text(SCRIPT.format(ranks="ranks=2,", evaluate=evaluate))
    done = subprocess.run([sys.executable, str(script)], capture_output=True, text=True, timeout=300)
    assert done.returncode == 0 and done.stdout == "mpi 2 400 400\n", done.stderr


@needs_compiler
def test_under_mpiexec_all_ranks_search_together_and_get_the_result(tmp_path: Path) -> None:
    pytest.importorskip("mpi4py", reason="mpi4py is missing; pip install treespan[mpich]")
    done = run_under_mpiexec(SCRIPT.format(ranks="", evaluate="None"), tmp_path)
    assert done.returncode == 0 and done.stdout.splitlines() == ["mpi 2 400 400"] * 2, done.stderr
