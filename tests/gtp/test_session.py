"""Sessions as tables: commands on the left, replies on the right."""

import io
import os
import re
import select
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest

from tests.support.gtp_sessions import SETTLED, ask, new_engine
from treespan.core.jit import JIT_DISABLED
from treespan.engine import GameEngine
from treespan.engine.timing import TimeSettings
from treespan.games.go import Go
from treespan.gtp.protocol import Protocol
from treespan.gtp.session import new_session
from treespan.gtp.stream import serve

SPECIFIED = [
    "protocol_version",
    "name",
    "version",
    "known_command",
    "list_commands",
    "quit",
    "boardsize",
    "clear_board",
    "komi",
    "fixed_handicap",
    "place_free_handicap",
    "set_free_handicap",
    "play",
    "genmove",
    "undo",
    "time_settings",
    "time_left",
    "final_score",
    "final_status_list",
    "loadsgf",
    "reg_genmove",
    "showboard",
]
SERVERS = ["kgs-genmove_cleanup", "kgs-time_settings", "lz-analyze", "kata-analyze", "gogui-analyze_commands"]


@pytest.fixture
def engine() -> GameEngine:
    return new_engine()


@pytest.fixture
def session(engine: GameEngine) -> Protocol:
    return new_session(engine)


def test_every_command_of_the_specification_is_known(session: Protocol) -> None:
    assert not set(SPECIFIED + SERVERS) - set(ask(session, "list_commands")[2:].split("\n"))
    assert ask(session, "name") == "= treespan"


# Each session starts on an empty 5x5 board.
SESSIONS = {
    "moves": [
        ("play b C3", "="),
        ("play white c3", "? illegal move"),
        ("play W D4", "="),
        ("play w D3", "="),
        ("play b pass", "="),
        ("play green A1", "? invalid color or coordinate"),
        ("play b Z9", "? invalid color or coordinate"),
        ("play b I3", "? invalid color or coordinate"),
        ("play b F1", "? invalid color or coordinate"),
        ("play b", "? syntax error: a color and a vertex are needed"),
        ("undo", "="),
        ("undo", "="),
        ("undo", "="),
        ("undo", "="),
        ("undo", "? cannot undo"),
    ],
    "ko": [
        *((f"play {move}", "=") for move in ("b B1", "b A2", "b B3", "w C1", "w D2", "w C3", "b C2", "w B2")),
        ("play b C2", "? illegal move"),
        ("play b E5", "="),
        ("play w E1", "="),
        ("play b C2", "="),
    ],
    "suicide": [
        *((f"play {move}", "=") for move in ("b A2", "b B1")),
        ("play w A1", "? illegal move"),
    ],
    "sizes": [
        ("boardsize 4", "? unacceptable size"),
        ("boardsize 20", "? unacceptable size"),
        ("boardsize x", "? syntax error: 'x' is not a whole number"),
        ("boardsize 1_3", "? syntax error: '1_3' is not a whole number"),
        ("boardsize", "? syntax error: one argument is needed"),
        ("boardsize 9", "="),
        ("play b J9", "="),
        ("clear_board", "="),
        ("undo", "? cannot undo"),
    ],
    "komi": [
        ("komi 6.5", "="),
        ("komi much", "? syntax error: 'much' is not a number"),
        ("komi 1e9", "? go: komi=1000000000.0 is out of range; give -361..361"),
        ("final_score", "= W+6.5"),
    ],
    "fixed handicap": [
        ("fixed_handicap 2", "? invalid number of stones"),
        ("boardsize 9", "="),
        ("fixed_handicap 1", "? invalid number of stones"),
        ("fixed_handicap 10", "? invalid number of stones"),
        ("fixed_handicap 4", "= C3 G3 C7 G7"),
        ("fixed_handicap 4", "? board not empty"),
        ("play w E5", "="),
        ("clear_board", "="),
        ("place_free_handicap 3", "= C3 G7 C7"),
        ("clear_board", "="),
        ("place_free_handicap 81", "? invalid number of stones"),
        ("set_free_handicap A1 B2 C3", "="),
        ("set_free_handicap A1 B2", "? board not empty"),
        ("clear_board", "="),
        ("set_free_handicap A1 A1", "? bad vertex list"),
        ("set_free_handicap A1", "? bad vertex list"),
        ("set_free_handicap A1 pass", "? bad vertex list"),
        ("set_free_handicap A1 Z1", "? invalid color or coordinate"),
    ],
    "time": [
        ("time_settings 60 10 5", "="),
        ("time_left b 30 0", "="),
        ("time_left b 9.5 3", "="),
        ("time_settings 1 2", "? syntax error: main time, byo-yomi time and stones are needed"),
        ("time_settings -1 0 0", "? syntax error: times are not negative"),
        ("time_left b", "? syntax error: color, time and stones are needed"),
        ("kgs-time_settings none", "="),
        ("kgs-time_settings byoyomi 60 10 5", "="),
        ("kgs-time_settings canadian 60 10 5", "="),
        ("kgs-time_settings absolute 60", "="),
        (
            "kgs-time_settings absolute",
            "? syntax error: none, absolute M, byoyomi M TIME PERIODS or canadian M TIME STONES is needed",
        ),
    ],
    "files": [
        ("loadsgf", "? syntax error: a file and perhaps a move number are needed"),
        ("loadsgf /dev/null -3", "? syntax error: '-3' is not a whole number"),
        ("loadsgf /nonexistent.sgf", "? cannot load file: No such file or directory"),
        ("loadsgf /dev/null", "? cannot load file: not an SGF file: no SGF data found"),
    ],
    "analysis": [
        ("lz-analyze b nonsense 3", "? syntax error: 'nonsense' is not understood"),
        ("treespan-visits", "? there is no search to show; use genmove, reg_genmove or lz-analyze first"),
        ("genmove green", "? invalid color or coordinate"),
        ("genmove", "? syntax error: one argument is needed"),
    ],
}


@pytest.mark.parametrize("name", SESSIONS)
def test_sessions(session: Protocol, name: str) -> None:
    for line, expected in SESSIONS[name]:
        assert ask(session, line) == expected, line


def test_genmove_plays_and_reg_genmove_does_not(session: Protocol, engine: GameEngine) -> None:
    assert re.fullmatch(r"= [A-E][1-5]", ask(session, "reg_genmove b"))
    assert engine.moves_played == 0
    move = ask(session, "genmove b")[2:]
    assert engine.moves_played == 1 and ask(session, f"play w {move}") == "? illegal move"
    assert re.fullmatch(r"= [A-E][1-5]", ask(session, "genmove b"))  # the same player again
    assert str(engine.position).count("X") == 2


def test_showboard(session: Protocol) -> None:
    ask(session, "play b A1")
    board = ask(session, "showboard")
    assert board.startswith("=\n   A B C D E\n") and " 1 X . . . . 1" in board and "white to play" in board


def test_the_end_of_a_game(session: Protocol) -> None:
    for line in [*SETTLED, "play b E3", "play w pass", "play b pass"]:
        assert ask(session, line) == "="
    assert ask(session, "final_score") == "= W+5.5"
    assert ask(session, "final_status_list dead") == "= E3"
    assert set(ask(session, "final_status_list black_territory")[2:].split()) == {"A1", "A3", "A5"}
    assert set(ask(session, "final_status_list white_territory")[2:].split()) == {"D1", "E1", "D3", "E3", "D5", "E5"}
    assert ask(session, "final_status_list dame") == "=" and ask(session, "final_status_list seki") == "="
    alive = ask(session, "final_status_list alive")[2:].split("\n")
    assert sorted(len(chain.split()) for chain in alive) == [7, 9]
    assert ask(session, "final_status_list nonsense") == "? invalid status"


def test_cleanup_takes_dead_stones_off_before_passing(session: Protocol, engine: GameEngine) -> None:
    for line in [*SETTLED, "play b E3", "play w pass", "play b pass"]:
        ask(session, line)
    assert ask(session, "kgs-genmove_cleanup w") != "= pass"
    while "X" in "".join(str(engine.position).split("\n")[3].split()[4:6]):  # Black's stone on E3
        assert engine.moves_played < 60
        ask(session, "play b pass")
        ask(session, "kgs-genmove_cleanup w")


def test_time_settings_reach_the_clock(session: Protocol, engine: GameEngine) -> None:
    ask(session, "time_settings 60 10 5")
    assert engine.clock.settings == TimeSettings(60, 10, stones=5)
    ask(session, "time_left w 7 2")
    assert engine.clock.left(1) == (7.0, 2) and engine.clock.left(0) == (60.0, 0)
    ask(session, "clear_board")
    assert engine.clock.left(1) == (60.0, 0)
    ask(session, "time_settings 60 10 0")  # the specification's way to say: no limit
    assert engine.clock.settings is None
    ask(session, "kgs-time_settings byoyomi 60 10 5")
    assert engine.clock.settings == TimeSettings(60, 10, periods=5)


@pytest.mark.parametrize(("told", "settings"), [("7 0", TimeSettings(7)), ("9 3", TimeSettings(0, 9, stones=3))])
def test_time_left_alone_sets_up_a_clock(
    session: Protocol, engine: GameEngine, told: str, settings: TimeSettings
) -> None:
    ask(session, "time_left w 0 0")  # what some controllers say where there is no clock
    assert engine.clock.settings is None
    ask(session, f"time_left w {told}")
    assert engine.clock.settings == settings and engine.clock.left(0) == engine.clock.left(1)


SGF = "(;GM[1]SZ[5]KM[2.5]AB[aa][bb]PL[W];W[cc];B[];W[dd](;B[ee])(;B[ea]))"


def test_loadsgf(session: Protocol, engine: GameEngine, tmp_path: Path) -> None:
    path = tmp_path / "game.sgf"
    path.write_text(SGF)
    assert ask(session, f"loadsgf {path}") == "="
    assert engine.moves_played == 4 and "E1" in str(engine.game.move_name(engine.position.moves_made[-1]))
    assert "white to play, komi 2.5" in str(engine.position) and str(engine.position).count("X") == 3
    assert ask(session, f"loadsgf {path} 2") == "="  # the position before move 2
    assert engine.moves_played == 1 and "black to play" in str(engine.position)
    before = str(engine.position)
    path.write_text("(;SZ[5]AB[ba][ab];W[cc];B[dd];W[aa];B[ee])")  # suicide, because of the stones set up
    assert ask(session, f"loadsgf {path}").startswith("? cannot load file: go: move 3")
    assert str(engine.position) == before
    path.write_text("(;SZ[5];B[aa];W[aa])")
    assert ask(session, f"loadsgf {path}").startswith("? cannot load file: go: move")
    path.write_text("(;SZ[5];B[aa];AB[bb])")
    assert ask(session, f"loadsgf {path}").startswith("? cannot load file: stones are set up after")
    assert str(engine.position) == before


def test_loadsgf_takes_stones_off_that_were_set_up(session: Protocol, engine: GameEngine, tmp_path: Path) -> None:
    path = tmp_path / "game.sgf"
    path.write_text("(;SZ[5]AB[ba];W[aa];B[ab];W[cc];B[aa])")
    assert ask(session, f"loadsgf {path}") == "=" and engine.moves_played == 4


def test_loadsgf_keeps_the_komi_that_a_file_does_not_say(session: Protocol, engine: GameEngine, tmp_path: Path) -> None:
    path = tmp_path / "game.sgf"
    path.write_text("(;SZ[5];B[aa])")
    ask(session, "komi 3.5")
    assert ask(session, f"loadsgf {path}") == "=" and "komi 3.5" in str(engine.position)
    path.write_text("(;SZ[5]KM[0];B[aa])")
    assert ask(session, f"loadsgf {path}") == "=" and "komi 0" in str(engine.position)


def test_loadsgf_minds_superko(tmp_path: Path) -> None:
    game = "(;SZ[5]AB[bc][ab][ca][bb]AW[cb][dc][cd];W[];B[cc];W[bc])"  # a ko taken back at once
    engine = GameEngine(Go(size=5, superko=True), new_engine().plan)
    path = tmp_path / "game.sgf"
    path.write_text(game)
    before = str(engine.position)
    assert ask(new_session(engine), f"loadsgf {path}").startswith("? cannot load file: ")
    assert str(engine.position) == before


def test_reg_genmove_keeps_turn_and_ko(session: Protocol, engine: GameEngine) -> None:
    for number, vertex in enumerate(["B3", "C3", "A2", "D2", "B1", "C1", "E5", "B2", "C2"]):
        assert ask(session, f"play {'bw'[number % 2]} {vertex}") == "="
    assert ask(session, "play w B2") == "? illegal move"
    assert re.fullmatch(r"= \w+", ask(session, "reg_genmove b"))
    assert ask(session, "play w B2") == "? illegal move" and "white to play" in ask(session, "showboard")


def test_a_search_from_nothing_shows_its_visits_afterwards() -> None:
    session = new_session(new_engine("--simulate 2 --bandit ucb1 --policy light", scheme="tds-uct"))
    assert ask(session, "treespan-visits").startswith("? there is no search to show")
    ask(session, "genmove b")
    assert "1.000" in ask(session, "treespan-visits")


@pytest.mark.parametrize("centiseconds", ["0", "1", "1000000000000000"])
def test_any_interval_of_an_analysis_can_be_waited_for(
    session: Protocol, engine: GameEngine, centiseconds: str
) -> None:
    reply = session.handle_line(f"lz-analyze {centiseconds}")
    engine.halt()
    assert reply is not None and reply.content.interval is not None and 0.01 <= reply.content.interval <= 86_400


@pytest.mark.parametrize("command", ["showboard", "final_score", "nonsense"])
def test_any_command_ends_pondering(command: str) -> None:
    engine = new_engine()
    session = new_session(engine, ponders=True)
    ask(session, "genmove b")
    assert engine._background is not None
    ask(session, command)
    assert engine._background is None


def test_gogui_boards() -> None:
    engine = new_engine("--bandit rave")
    session = new_session(engine)
    assert "treespan-rave" in ask(session, "gogui-analyze_commands")
    ask(session, "reg_genmove b")
    for command in ("treespan-visits", "treespan-rave", "treespan-territory"):
        rows = [[float(cell) for cell in row.split()] for row in ask(session, command).split("\n")[1:]]
        assert [len(row) for row in rows] == [5] * 5 and all(-1 <= cell <= 1 for row in rows for cell in row)
    plain = new_session(new_engine())
    ask(plain, "reg_genmove b")
    assert "bandit=rave-mse, Go's default, or rave" in ask(plain, "treespan-rave")


# Streams


def test_a_session_ends_with_quit_or_with_its_stream(session: Protocol, engine: GameEngine) -> None:
    out = io.StringIO()
    serve(session, io.StringIO("1 name\n\n2 quit\n3 name\n"), out, engine.halt)
    assert out.getvalue() == "=1 treespan\n\n=2\n\n"
    out = io.StringIO()
    serve(session, io.StringIO("1 name"), out, engine.halt)
    assert out.getvalue() == "=1 treespan\n\n"


@pytest.mark.parametrize("command", ["lz-analyze b 1", "kata-analyze interval 1 ownership true"])
def test_analysis_streams_until_the_next_line(command: str) -> None:
    engine = new_engine()
    source_end, write_end = os.pipe()
    out_end, target_end = os.pipe()
    with os.fdopen(source_end) as source, os.fdopen(target_end, "w") as target:
        thread = threading.Thread(target=serve, args=(new_session(engine), source, target, engine.halt))
        thread.start()
        os.write(write_end, f"7 {command}\n".encode())
        text = b""
        end = time.monotonic() + 60
        while text.count(b"info move") < 3 and time.monotonic() < end:
            if select.select([out_end], [], [], 1)[0]:
                text += os.read(out_end, 65536)
        os.write(write_end, b"8 name\n")
        os.close(write_end)
        thread.join(60)
        target.flush()
        text += os.read(out_end, 1 << 20)
    os.close(out_end)
    analysis, name, rest = text.decode().split("\n\n")
    assert analysis.startswith("=7\ninfo move ") and name == "=8 treespan" and rest == ""
    info = r"info move [A-Ea-z0-9]+ visits \d+ winrate [\d.]+ lcb [\d.]+ order 0 pv [A-Ea-z0-9]+"
    assert re.match(info, analysis.split("\n")[1])


@pytest.mark.skipif(JIT_DISABLED, reason="starts a compiling process")
def test_the_program_survives_nonsense_and_ends_with_its_stream() -> None:
    command = [sys.executable, "-m", "treespan", "gtp", "--game", "go:size=5", "--playouts", "50", "--ponder"]
    text = b"\x00\x01\n#\n\xff\n1 genmove b\n2 genmove w\n3 lz-analyze\n"
    done = subprocess.run(command, input=text, capture_output=True, timeout=300)
    assert done.returncode == 0 and done.stderr == b""
    assert re.fullmatch(rb"\? unknown command\n\n=1 \w+\n\n=2 \w+\n\n=3\n(info .*\n)*\n", done.stdout)


@pytest.mark.skipif(JIT_DISABLED, reason="too slow")
@pytest.mark.programs("gnugo")
def test_gnu_go_accepts_our_games() -> None:
    from treespan.lab.match.play import play_match
    from treespan.lab.match.referee import MatchSetup

    ours = f"gtp: {sys.executable} -m treespan gtp --playouts 50"
    setup = MatchSetup("go:size=7", ours, "gtp: gnugo --mode gtp --chinese-rules --level 1", random_plies=2)
    report = play_match(setup, 2)
    assert [record.reason for record in report.records] == ["score", "score"], report.faults()
