"""`treespan.match`, `speedup`, `compare` and `advise`."""

import shlex
import subprocess
import sys
from pathlib import Path

import pytest

import treespan as ts
from tests.support.programs import environment, output
from treespan.core.jit import JIT_DISABLED
from treespan.lab.match.text import score_line

EXAMPLE = (Path(__file__).parents[2] / "examples" / "domineering.py").read_text()
OWN_GAME = """
for jobs in (1, 2):
    report = ts.match("playouts=20", "playouts=10", Domineering(side=5), games=3, jobs=jobs)
    print(report.setup.game, report.score)
"""
OWN_SCORES = ["domineering:side=5", "3–0–0"] * 2

pytestmark = pytest.mark.skipif(JIT_DISABLED, reason="many searches: they take too long as plain Python")


def test_a_match_in_processes_is_the_match_in_this_one() -> None:
    reports = [ts.match("playouts=40", "playouts=10", "tictactoe", games=6, jobs=jobs) for jobs in (1, 2)]
    assert reports[0].score == reports[1].score and reports[0].score.games == 6
    low, high = reports[0].interval
    assert 0 <= low <= reports[0].score.rate <= high <= 1 and len(reports[0].elo) == 3


def test_a_match_may_be_of_a_game_that_a_script_defines(tmp_path: Path) -> None:
    assert output(EXAMPLE + OWN_GAME, tmp_path) == OWN_SCORES


def test_a_match_may_be_of_a_game_of_a_module(tmp_path: Path) -> None:
    (tmp_path / "domineering.py").write_text(EXAMPLE)
    own = "import treespan as ts\nfrom domineering import Domineering\n" + OWN_GAME
    assert output(own, tmp_path) == OWN_SCORES


def test_a_match_may_be_of_a_game_that_is_typed(tmp_path: Path) -> None:
    typed = [sys.executable, "-"]
    done = subprocess.run(
        typed, input=EXAMPLE + OWN_GAME, capture_output=True, text=True, timeout=300, cwd=tmp_path, env=environment()
    )
    assert done.returncode == 0 and done.stdout.split() == OWN_SCORES, done.stderr


def test_a_scaling_table_prints_and_plots(tmp_path: Path) -> None:
    table = ts.speedup("pgame:branching=4", "span", simulate=[1, 8], playouts=1000, policy="wait=1ms")
    assert [row["workers"] for row in table.to_dicts()] == [1, 8]
    assert table.rows[1].speedup > 3 and "speed-up" in str(table) and widest(table) <= 80
    pytest.importorskip("matplotlib", reason="matplotlib is missing; pip install treespan[plots]")
    table.plot(tmp_path / "speedup.png")
    assert (tmp_path / "speedup.png").stat().st_size > 1000
    with pytest.raises(ts.TreespanError, match="cannot write"):
        table.plot(tmp_path / "no folder" / "speedup.png")


def test_a_scheme_may_be_an_object_and_figures_may_be_kept(tmp_path: Path) -> None:
    kept = tmp_path / "figures.jsonl"
    tables = [ts.speedup("pgame:branching=4", ts.Span(grant=2), simulate=[2], playouts=300, out=kept) for _ in range(2)]
    assert tables[0].to_dicts() == tables[1].to_dicts() and "span:grant=2" in str(tables[0])
    assert len(kept.read_text().splitlines()) == 2


def test_a_comparison_prints(tmp_path: Path) -> None:
    table = ts.compare("pgame:branching=4", simulate=4, playouts=300, schemes=["span", "leaf"])
    assert [row["scheme"] for row in table.to_dicts()] == ["sequential", "leaf", "span"]
    assert "300 playouts" in str(table) and widest(table) <= 80
    with pytest.raises(ts.OptionError, match="nothing to compare on; give one of threads, ranks and simulate"):
        ts.compare("pgame:branching=4")
    with pytest.raises(ts.OptionError, match="playouts and seconds exclude each other; give one"):
        ts.compare("pgame:branching=4", simulate=4, playouts=10, seconds=1.0)


def test_advice_has_a_command() -> None:
    advice = ts.advise("pgame:branching=4", machines=4, network="qdr", policy="wait=1ms", playouts=1000, searches=1)
    assert advice.command.startswith("mpiexec -n 4 treespan search pgame:branching=4 --scheme ")
    assert advice.scheme in {row["candidate"]["scheme"] for row in advice.to_dicts()} and "advice" in str(advice)
    assert widest(advice) <= 80
    folded = str(advice).replace("\\\n", "")
    assert shlex.split(advice.command) in (shlex.split(line) for line in folded.splitlines())


def test_a_game_is_checked() -> None:
    report = ts.check_game(ts.make_game("tictactoe"), games=5)
    assert report.mean_plies > 4 and widest(report) <= 80 and repr(report) == str(report)
    assert len(str(report).splitlines()) > len(report.steps) and "ok  declarations: " in str(report)
    assert str(report).endswith(" moves, all checks passed")


def test_a_match_prints_its_score_and_its_first_games() -> None:
    report = ts.match("playouts=20", "playouts=10", "tictactoe", games=12)
    text = str(report)
    assert "tictactoe: wins–losses–draws of A" in text and f"win rate of A {report.score.rate:.1%}" in text
    assert "Elo of A over B" in text and text.endswith("and 2 more games") and widest(text) <= 80
    assert repr(report) == f"<match of tictactoe: A {score_line(report)}>"


def test_an_engine_says_what_it_plays() -> None:
    with ts.Engine("tictactoe", playouts=1000) as engine:
        engine.play("b2")
        assert repr(engine) == "<engine for tictactoe after 1 moves: sequential, 1,000 playouts>"


def widest(table: object) -> int:
    return max(map(len, str(table).splitlines()))
