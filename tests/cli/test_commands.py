"""The command line: what it prints, what it refuses, and how it ends."""

import json
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.support.interrupts import hear_interrupts
from treespan.core.jit import JIT_DISABLED
from treespan.games.registry import PACKAGE_GAMES
from treespan.lab.measure.positions import SUITE
from treespan.runtimes.plan import plan_of, split_options
from treespan.schemes.registry import SCHEMES
from treespan.schemes.whole_trees.averaging.slow_root import SlowRoot

EXAMPLE = str(Path(__file__).parents[2] / "examples" / "domineering.py")
PLAYOUTS = "50" if JIT_DISABLED else "2000"


def test_search_prints_board_moves_and_rate(treespan: Any) -> None:
    status, out, err = treespan("search", "tictactoe", "--moves", "b2 a1", "--playouts", PLAYOUTS)
    assert status == 0 and err == ""
    assert "...\n.X.\nO..\n" in out
    assert "visits" in out and "best move" in out and "playouts/s" in out


def test_search_json_has_every_promised_field(treespan: Any) -> None:
    status, out, _ = treespan("search", "pgame:branching=4", "--playouts", PLAYOUTS, "--seed", "3", "--json")
    document = json.loads(out)
    assert status == 0 and out.count("\n") == 1
    promised = (
        "game scheme runtime ranks threads seed playouts seconds playouts_per_second wall_seconds move root_visits "
        "moves depth nodes messages report_jobs best_share optimal load end_seconds signature"
    )
    assert not set(promised.split()) - set(document)
    assert document["root_visits"] == document["playouts"] == int(PLAYOUTS)
    assert sum(move["visits"] for move in document["moves"]) == int(PLAYOUTS)
    assert document["seed"] == 3 and document["game"] == "pgame:branching=4"
    assert set(document["messages"]) == {"sent", "received", "per_playout", "bytes", "max_rank", "mean_rank"}
    assert set(document["report_jobs"]) == {"max_rank", "mean_rank", "per_playout"}


def test_same_seed_same_signature(treespan: Any) -> None:
    def signature(*more: str) -> str:
        _, out, _ = treespan("search", "tictactoe", "--playouts", PLAYOUTS, "--json", *more)
        return str(json.loads(out)["signature"])

    assert signature("--seed", "5") == signature("--seed", "5") != signature("--seed", "6")


def test_dfuct_prints_report_levels_and_third_best(treespan: Any) -> None:
    scheme = "sequential:algorithm=dfuct,audit=yes"
    _, out, _ = treespan("search", "pgame", "--scheme", scheme, "--playouts", PLAYOUTS)
    assert "levels reported per playout" in out
    assert "a third-best move or worse had become best" in out and "somewhere on the stack" in out


def test_unsure_ranks_get_more_playouts(treespan: Any) -> None:
    arguments = ("search", "tictactoe", "--simulate", "2", "--scheme", "slow-root", "--playouts", "20", "--seed", "3")
    sure, unsure = (json.loads(treespan(*arguments, *more, "--json")[1]) for more in ((), ("--extend-if-unsure", "3")))
    assert sure["playouts"] == 20 and 20 < unsure["playouts"] <= 60 and unsure["between_ranks"]["extensions"] > 0
    plan = plan_of(split_options("--simulate 2 --scheme slow-root --extend-if-unsure 3"))  # a player of a match
    assert isinstance(plan.scheme, SlowRoot) and plan.scheme.extend == 3.0


def test_full_tree_is_reported(treespan: Any) -> None:
    _, out, _ = treespan("search", "pgame", "--nodes", "40", "--playouts", PLAYOUTS)
    assert "the tree was full" in out and "give more nodes" in out


def test_position_file_and_threads(treespan: Any, tmp_path: Path) -> None:
    file = tmp_path / "position.txt"
    file.write_text("X.O\n.X.\n..O\n")
    _, out, _ = treespan(
        "search", "tictactoe", "--position", str(file), "--threads", "2", "--playouts", PLAYOUTS, "--json"
    )
    document = json.loads(out)
    assert document["scheme"] == "shared" and document["threads"] == 2
    assert {move["move"] for move in document["moves"]} == {"b3", "a2", "c2", "a1", "b1"}


def test_users_game_is_searched_by_every_search(treespan: Any) -> None:
    bandits = ("ucb1", "tuned1", "tuned2", "rave", "rave-mse", "puct")
    searches = [("uct", bandit) for bandit in bandits] + [("dfuct", b) for b in bandits if "rave" not in b]
    for algorithm, bandit in searches:
        scheme = f"sequential:algorithm={algorithm},bandit={bandit},widening=20"
        status, out, err = treespan("search", f"{EXAMPLE}:side=4", "--scheme", scheme, "--playouts", PLAYOUTS, "--json")
        document = json.loads(out)
        assert status == 0, err
        assert document["root_visits"] == document["playouts"]
        assert document["move"] in {"5", "6"} or document["playouts"] < 1000 or bandit != "ucb1"


def test_users_game_passes_check_game(treespan: Any) -> None:
    status, out, _ = treespan("check-game", f"{EXAMPLE}:side=5", "--games", "20")
    assert status == 0 and "all checks passed" in " ".join(out.split()) and out.count("ok ") == 4
    status, out, _ = treespan("check-game", EXAMPLE, "--games", "5", "--json")
    assert json.loads(out)["games"] == 5


def test_lists_name_every_game_and_scheme(treespan: Any) -> None:
    for command, known in (("games", PACKAGE_GAMES), ("schemes", SCHEMES)):
        _, text, _ = treespan(command)
        _, out, _ = treespan(command, "--json")
        assert [entry["name"] for entry in json.loads(out)] == list(known)
        assert all(f"{name}: " in text for name in known)
    assert "komi=7.5: points for White (-361..361)" in treespan("games")[1]


@pytest.mark.programs
def test_doctor_finds_the_compiler_and_cache(treespan: Any) -> None:
    status, out, _ = treespan("doctor", "--json")
    findings = {finding["what"]: finding for finding in json.loads(out)}
    assert status == 0 and findings["compiles"]["ok"] and findings["compile cache"]["ok"]
    assert "Numba" in treespan("doctor")[1]


def test_bench_and_compile_report_rates_and_times(treespan: Any) -> None:
    _, out, _ = treespan("bench", "tictactoe", "--seconds", "0.01", "--json")
    assert json.loads(out)[0]["uct_per_second"] > 0
    assert "UCT/s" in treespan("bench", "tictactoe", "--seconds", "0.01")[1]
    assert "tictactoe: " in treespan("compile", "tictactoe")[1]


def test_bench_positions_counts_right_moves_by_kind(treespan: Any, tmp_path: Path) -> None:
    arguments = ("bench", "positions", str(SUITE / "capture-1.txt"), "--playouts", "20", "--options", "bandit=ucb1")
    status, out, _ = treespan(*arguments, "--repeats", "2", "--json")
    (row,) = json.loads(out)
    assert status == 0 and row["playouts"] == 20 and row["tried"] == {"capture": 2} and row["options"] == "bandit=ucb1"
    assert "capture (1)" in treespan(*arguments)[1]
    assert "treespan bench positions" in treespan("bench", "positions", "--help")[1]


@pytest.mark.parametrize("command", ["search", "games", "schemes", "bench", "check-game", "compile", "doctor"])
def test_help_has_examples(treespan: Any, command: str) -> None:
    status, out, _ = treespan(command, "--help")
    assert status == 0 and "Examples:" in out and f"treespan {command}" in out


MISTAKES = [
    (("search", "gow"), "unknown game 'gow'; did you mean 'go'?"),
    (("search", "go:size=3"), "go: size=3 is out of range; give 5..19"),
    (("search", "go:komi=x"), "go: komi=x is not a number; give -361..361"),
    (("search", "go:siz=9"), "unknown option of go 'siz'; did you mean 'size'?"),
    (("search", "go:size"), "'size' in 'go:size' is not an option; write size=VALUE"),
    (("search", "go", "--moves", "E5 E5"), "go: move 2, 'E5': it is not legal here; give a legal move, as A1"),
    (("search", "go", "--moves", "I5"), "go: 'I5' is not a point of 9x9; give A1..J9 or pass"),
    (("search", "go", "--nodes", "10"), "--nodes 10 is too small: branching is 82; give at least 83"),
    (("search", "go", "--playouts", "-5"), "--playouts -5 is out of range; give 1..2147483647"),
    (("search", "go", "--playouts", "many"), "--playouts many is not a whole number; give one such as 4"),
    (("search", "go", "--seconds", "-1"), "--seconds -1 is out of range; give a duration of at least 0"),
    (("search", "go", "--seconds", "soon"), "--seconds soon is not a duration; write for example 2s, 1ms or 50us"),
    (("search", "go", "--threads", "0"), "--threads 0 is out of range; give 1..1024"),
    (("search", "go", "--position", "/no/such"), "cannot read --position '/no/such': No such file or directory"),
    (
        ("search", "connect4", "--scheme", "shared", "--ranks", "2"),
        "scheme shared needs one memory; give --threads, --simulate, or --scheme slow-tree",
    ),
    (
        ("search", "connect4", "--scheme", "sequential", "--ranks", "2"),
        "scheme sequential runs on threads only; for ranks give --scheme span",
    ),
    (("search", "/no/such.py"), "cannot read '/no/such.py': No such file or directory; name another file"),
    (("search", "go", "--scheme", "sequental"), "unknown scheme 'sequental'; did you mean 'sequential'?"),
    (("search", "go", "--bandit", "ucb2"), "unknown search bandit 'ucb2'; did you mean 'ucb1'?"),
    (
        ("search", "go", "--policy", "heavy"),
        "unknown policy 'heavy' of go; known: light, patterns, wait=TIME (as wait=1ms)",
    ),
    (
        ("search", "hex", "--policy", "patterns"),
        "unknown policy 'patterns' of hex; known: light, wait=TIME (as wait=1ms)",
    ),
    (
        ("search", "tictactoe", "--moves", "a1 b1 a2 b2 a3"),
        "tictactoe: the game is over, so there is nothing to search; give an earlier position",
    ),
    (("search", "go", "--frobnicate"), "No such option: --frobnicate"),
    (("bench", "positions", "/no/such"), "there is no file or folder /no/such; give a file or a folder of positions"),
    (("bench", "positions", "--kinds", "captur"), "unknown kind of position 'captur'; did you mean 'capture'?"),
    (
        ("search", "hex", "--scheme", "sequential:expertise=30"),
        "expertise=30 needs a tactical solver, and hex has none; leave it out",
    ),
    (
        ("search", "tictactoe", "--extend-if-unsure", "2"),
        "--extend-if-unsure 2 needs trees that may disagree, sequential has none; give --scheme slow-tree",
    ),
    (("serch",), "No such command 'serch'. Did you mean 'search', 'bench'?"),
]


@pytest.mark.parametrize(("arguments", "message"), MISTAKES, ids=[" ".join(arguments) for arguments, _ in MISTAKES])
def test_mistakes_are_one_line_and_status_2(treespan: Any, arguments: tuple[str, ...], message: str) -> None:
    status, out, err = treespan(*arguments)
    assert (status, out, err) == (2, "", f"treespan: {message}\n")
    status, out, err = treespan(*arguments, "--json")
    assert status == 2 and json.loads(out) == {"error": message}


def test_a_value_that_reads_json_asks_for_no_json(treespan: Any) -> None:
    message = "tictactoe: '--json' is not a move; give a column a-c and a row 1-3, as b2"
    assert treespan("search", "tictactoe", "--moves", "--json") == (2, "", f"treespan: {message}\n")


# The program, which says on stderr that playouts are done.
TELLING = """
import sys
from treespan.cli import main
from treespan.runtimes import run

def telling(request, progress=None, search=run.run_search, **others):
    def tell(playouts, seconds):
        if playouts:
            print("searching", file=sys.stderr, flush=True)
    return search(request, tell, **others)

run.run_search = telling
main()
"""


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_signals_end_a_search_with_the_best_move_so_far(number: signal.Signals) -> None:
    command = [sys.executable, "-c", TELLING, "search", "tictactoe:", "--policy", "wait=1ms", "--seconds", "60"]
    command += ["--scheme", "sequential:solver=no", "--json"]
    process = subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, preexec_fn=hear_interrupts
    )
    assert process.stderr is not None
    while process.stderr.readline() not in ("searching\n", ""):  # it may compile before
        pass
    process.send_signal(number)
    out, _ = process.communicate(timeout=30)
    document = json.loads(out)
    assert process.returncode == 0 and document["interrupted"] is True
    assert document["root_visits"] == document["playouts"] > 0 and document["move"]


def test_an_interrupt_that_comes_up_as_something_else_is_one(treespan: Any, monkeypatch: Any) -> None:
    """Numba's compiler, interrupted, raises a RuntimeError."""

    def compile_something(**options: object) -> None:
        try:
            signal.raise_signal(signal.SIGINT)
        except KeyboardInterrupt:
            raise RuntimeError("no compiled object yet") from None

    monkeypatch.setattr("treespan.cli.app.app", compile_something)
    before = signal.getsignal(signal.SIGINT)
    hear_interrupts()
    try:
        status, out, err = treespan("games")
        assert (status, out, err) == (130, "", "")
        assert signal.getsignal(signal.SIGINT) is signal.default_int_handler
    finally:
        signal.signal(signal.SIGINT, before)
