"""The commands that play: match, gtp, play, analyze, from the command line."""

import io
import json
import sys
from pathlib import Path
from typing import Any

import pytest

from treespan.core.jit import JIT_DISABLED

PLAYOUTS = "--playouts 20 --scheme sequential:nodes=20000"


def test_match_prints_score_and_elo(treespan: Any, tmp_path: Path) -> None:
    command = ("match", PLAYOUTS, PLAYOUTS, "--game", "tictactoe", "--games", "4", "--out", str(tmp_path / "m"))
    status, out, err = treespan(*command)
    assert status == 0 and err == ""
    assert "tictactoe: wins–losses–draws of A" in out and "win rate of A" in out and "Elo of A over B" in out
    assert len((tmp_path / "m" / "games.jsonl").read_text().splitlines()) == 4
    status, out, _ = treespan(*command, "--resume", "--json")
    document = json.loads(out)
    assert status == 0 and document["games"] == 4
    assert document["wins"] + document["losses"] + document["draws"] == 4


MISTAKES = [
    (("match", PLAYOUTS, "--game", "tictactoe"), "Missing argument 'B'."),
    (
        ("match", PLAYOUTS, PLAYOUTS, "--game", "tictactoe", "--games", "0"),
        "--games 0 is out of range; give 1..1000000",
    ),
    (
        ("match", PLAYOUTS, PLAYOUTS, "--game", "tictactoe", "--jobs", "0"),
        "--jobs 0 is out of range; give 1..1024",
    ),
    (
        ("match", PLAYOUTS, PLAYOUTS, "--game", "tictactoe", "--sprt", "5"),
        "--sprt 5 is not two numbers; give elo0,elo1 as in 0,30",
    ),
    (
        ("match", PLAYOUTS, PLAYOUTS, "--game", "tictactoe", "--resume"),
        "--resume needs the folder of the match; give --out",
    ),
    (
        ("match", PLAYOUTS, PLAYOUTS, "--game", "tictactoe", "--random-opening", "-1"),
        "--random-opening -1 is out of range; give at least 0",
    ),
    (
        ("match", PLAYOUTS, "--bandit ucb2", "--game", "tictactoe"),
        "player B: unknown search bandit 'ucb2'; did you mean 'ucb1'?",
    ),
    (("match", PLAYOUTS, PLAYOUTS, "--game", "chess"), None),
    (("play", "tictactoe", "--side", "third"), "--side third is unknown; give first or second"),
    (("play", "samegame", "--side", "second"), "samegame has one player; you can only be the first"),
    (
        ("play", "tictactoe", "--workers", "2", "--scheme", "shared"),
        "shared: --workers 2 is for ranks; give --threads",
    ),
    (
        ("play", "tictactoe", "--simulate", "4", "--scheme", "sequential"),
        "scheme sequential runs on threads only; for ranks give --scheme span",
    ),
    (("gtp", "--game", "hex"), "--game hex is not Go; GTP is for Go alone"),
    (("analyze", "/nonexistent.sgf"), "cannot read '/nonexistent.sgf': No such file or directory"),
    (("analyze", "/dev/null"), "not an SGF file: no SGF data found"),
]


@pytest.mark.parametrize(("arguments", "message"), MISTAKES, ids=[" ".join(arguments) for arguments, _ in MISTAKES])
def test_mistakes(treespan: Any, arguments: tuple[str, ...], message: str | None) -> None:
    status, out, err = treespan(*arguments)
    assert status == 2 and out == "" and err.startswith("treespan: ") and err.count("\n") == 1
    assert message is None or err == f"treespan: {message}\n"


def test_play_reads_moves_until_the_stream_ends(treespan: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "stdin", io.StringIO("b2\nhint\n"))
    status, out, err = treespan("play", "tictactoe", "--playouts", "20")
    assert status == 0 and err == "" and "treespan plays" in out and "visits" in out


def test_play_goes_on_after_the_end_of_the_game(treespan: Any, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    path = tmp_path / "game.sgf"
    monkeypatch.setattr(sys, "stdin", io.StringIO(f"resign\nC3\nsave {path}\nundo\nquit\nnever read\n"))
    status, out, err = treespan("play", "go:size=5", "--playouts", "20")
    assert status == 0 and err == "" and "RE[W+R]" in path.read_text()
    assert out.count("the game is over: W+R, you lose; say undo, new, save FILE or quit") == 2 and "never" not in out


def test_play_and_gtp_on_simulated_ranks(treespan: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    search = ("--simulate", "3", "--scheme", "tds-uct", "--policy", "light", "--playouts", "30")
    monkeypatch.setattr(sys, "stdin", io.StringIO("b2\n"))
    status, out, err = treespan("play", "tictactoe", *search)
    assert status == 0 and err == "" and "treespan plays" in out
    monkeypatch.setattr(sys, "stdin", io.StringIO("1 genmove b\n2 quit\n"))
    status, out, err = treespan("gtp", "--game", "go:size=5", *search)
    assert status == 0 and err == "" and out.startswith("=1 ") and out.endswith("=2\n\n")


def test_analyze(treespan: Any, tmp_path: Path) -> None:
    path, commented, picture = tmp_path / "game.sgf", tmp_path / "commented.sgf", tmp_path / "rates.png"
    path.write_text("(;SZ[5]KM[0.5];B[cc];W[bb];B[dd];W[])")
    options = ("--playouts", "20" if JIT_DISABLED else "200")
    status, out, err = treespan("analyze", str(path), *options, "--out", str(commented), "--plot", str(picture))
    assert status == 0 and err == ""
    assert "4 W pass" in out and "Black's win rate after moves 1 to 4" in out and "blunders, 15% or more:" in out
    assert "treespan: Black" in commented.read_text() and picture.read_bytes()[1:4] == b"PNG"
    status, out, _ = treespan("analyze", str(path), *options, "--json")
    moves = json.loads(out)["moves"]
    assert [move["move"] for move in moves] == ["C3", "B4", "D2", "pass"]
    path.write_text("(;SZ[5])")
    assert treespan("analyze", str(path))[2] == f"treespan: '{path}' has no moves; there is nothing to analyze\n"
