"""Matches: the same command gives the same games, and no player's fault ends a match."""

import dataclasses
import json
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest

from tests.support.interrupts import hear_interrupts
from treespan.cli.match import read_openings
from treespan.core.errors import OptionError, PositionError
from treespan.core.jit import JIT_DISABLED
from treespan.games.position import Position
from treespan.games.registry import make_game
from treespan.lab.match.match_folder import LOG_FILE, SETUP_FILE
from treespan.lab.match.play import MatchError, MatchReport, PlayedGame, counted, play_games, play_match
from treespan.lab.match.players import GtpPlayer, SearchPlayer, make_player
from treespan.lab.match.referee import GameRecord, MatchSetup, opening_moves
from treespan.lab.match.statistics import Score, Sprt
from treespan.lab.match.text import match_lines

FAKE = Path(__file__).parents[2] / "support" / "fake_gtp.py"
OURS = "--playouts 20 --scheme sequential:nodes=20000"
TICTACTOE = MatchSetup("tictactoe", OURS, "--playouts 5 --scheme sequential:nodes=20000")


def fake(manner: str, log: Path | None = None) -> str:
    return f"gtp: {sys.executable} {FAKE} {manner} {log or ''}"


def against(manner: str, log: Path | None = None, **options: Any) -> MatchSetup:
    return MatchSetup("go:size=5,komi=0.5", OURS, fake(manner, log), **options)


def games(report: MatchReport) -> list[dict[str, Any]]:
    """All of the games that must be the same again."""
    return [{**record.as_json(), "seconds": None} for record in report.records]


# The same games


def test_same_setup_same_games_and_other_seed_other_games() -> None:
    report = play_match(TICTACTOE, 6)
    assert games(report) == games(play_match(TICTACTOE, 6))
    assert games(report) != games(play_match(dataclasses.replace(TICTACTOE, seed=2), 6))
    assert [record.first for record in report.records] == ["A", "B"] * 3
    assert len({record.seeds[side] for record in report.records for side in "AB"}) == 12


def test_processes_play_the_same_games() -> None:
    assert games(play_match(TICTACTOE, 4, jobs=2)) == games(play_match(TICTACTOE, 4))


def test_moves_replay_to_the_result() -> None:
    game = make_game(TICTACTOE.game)
    report = play_match(TICTACTOE, 4)
    for record in report.records:
        position = Position(game)
        position.play_text(" ".join(record.moves))
        winner = {1.0: record.first, 0.5: None}.get(position.reward, "B" if record.first == "A" else "A")
        assert position.is_over and record.winner == winner and record.reason == "score"
    assert report.score.games == 4 and report.by_first["A"].games == 2


def test_players_on_simulated_ranks_have_simulated_seconds() -> None:
    """They may have more of them than the timeout has real ones, and are counted in them."""
    cluster = "--scheme tds-dfuct:nodes=20000,solver=no --simulate 4 --policy wait=1s --seconds 300"
    setup = MatchSetup(
        "pgame:branching=4,depth=4", cluster, "--playouts 5 --scheme sequential:nodes=20000", timeout=200
    )
    for record in play_match(setup, 2).records:
        assert record.reason == "score" and 2 * 300 <= record.seconds["A"] < 2 * 310 and record.seconds["B"] < 200
    with pytest.raises(OptionError, match="seconds=300 is not below the match's timeout=200"):
        play_match(dataclasses.replace(setup, a="--seconds 300"), 2)


# Openings


def test_two_games_from_each_opening() -> None:
    setup = dataclasses.replace(TICTACTOE, openings=("b2 a1", "a1"))
    report = play_match(setup, 6)
    begins = [(record.moves[: record.opening], record.first) for record in report.records]
    assert [begin for begin, _ in begins] == [["b2", "a1"]] * 2 + [["a1"]] * 2 + [["b2", "a1"]] * 2
    assert [first for _, first in begins] == ["A", "B"] * 3


def test_random_openings_come_in_pairs() -> None:
    setup = dataclasses.replace(TICTACTOE, random_plies=3)
    begins = [tuple(record.moves[:3]) for record in play_match(setup, 8).records]
    assert begins[::2] == begins[1::2] and len(set(begins)) > 1


def test_random_openings_do_not_pass() -> None:
    game = make_game("go:size=5")
    setup = MatchSetup("go:size=5", OURS, OURS, random_plies=8)
    assert all(0 not in opening_moves(setup, game, number) for number in range(20))


def test_openings_that_leave_nothing_to_play_are_refused() -> None:
    with pytest.raises(OptionError, match=r"opening 1 .* ends the game"):
        play_match(dataclasses.replace(TICTACTOE, openings=("a1 b1 a2 b2 a3",)), 2)
    with pytest.raises(PositionError, match="not legal"):
        play_match(dataclasses.replace(TICTACTOE, openings=("a1 a1",)), 2)
    with pytest.raises(OptionError, match="random_opening=9 is too long"):
        play_match(dataclasses.replace(TICTACTOE, random_plies=9), 2)


def test_openings_file(tmp_path: Path) -> None:
    path = tmp_path / "openings"
    path.write_text("# two\nb2 a1  # corner\n\na1\n")
    assert read_openings(path) == ("b2 a1", "a1")
    path.write_text("# none\n")
    with pytest.raises(OptionError, match="has no moves"):
        read_openings(path)
    with pytest.raises(OptionError, match="cannot read"):
        read_openings(tmp_path / "missing")


# Faults

FAULTS = [
    ("crash", "crash", "ended at 'genmove black' (exit status 7): out of cheese"),
    ("illegal", "unreadable answer", "'Z99' is no move"),
    ("error", "error", "answered '? I would rather not' to 'genmove black'"),
    ("garbage", "unreadable answer", "'Welcome to the machine' to 'genmove black'"),
    ("endless", "unreadable answer", "endless answer to 'genmove black'"),
]


@pytest.mark.parametrize(("manner", "reason", "detail"), FAULTS, ids=[manner for manner, *_ in FAULTS])
def test_a_fault_loses_the_game_and_not_the_match(manner: str, reason: str, detail: str) -> None:
    report = play_match(against(manner), 4)
    assert [record.reason for record in report.records] == [reason] * 4
    assert report.score == Score(4, 0, 0) and report.faults() == {"A": {}, "B": {reason: 4}}
    assert report.records[1].detail == detail
    assert [record.result for record in report.records] == ["B+F", "W+F"] * 2
    assert any(line.startswith(f"B lost 4 by {reason}; game 0:") for line in match_lines(report))


def test_a_hanging_program_loses_on_time() -> None:
    report = play_match(against("hang", timeout=0.5), 2)
    assert [(record.reason, record.result) for record in report.records] == [("time", "B+T"), ("time", "W+T")]


def test_an_occupied_point_is_an_illegal_move() -> None:
    report = play_match(against("occupied", openings=("C3 B2",)), 2)
    assert [(record.reason, record.detail) for record in report.records] == [("illegal move", "C3")] * 2
    assert [record.moves[:2] for record in report.records] == [["C3", "B2"]] * 2


def test_a_refused_legal_move_is_the_refusers_loss() -> None:
    record = play_match(against("refuse-play"), 1).records[0]
    assert (record.winner, record.reason) == ("A", "error") and "'? illegal move' to 'play black" in record.detail


def test_a_crashed_program_is_started_again(tmp_path: Path) -> None:
    log = tmp_path / "log"
    report = play_match(against("crash-once", log), 3)
    assert [record.reason for record in report.records] == ["crash", "score", "score"]
    assert log.read_text().count("start") == 2


def test_a_search_that_takes_too_long_loses_on_time() -> None:
    slow = "--playouts 100 --policy wait=20ms --scheme sequential:nodes=1000"
    setup = MatchSetup("pgame:depth=6", OURS, slow, timeout=0.3)
    report = play_match(setup, 2)
    assert [record.reason for record in report.records] == ["time", "time"] and report.score == Score(2, 0, 0)


def test_resignation() -> None:
    report = play_match(against("resign"), 2)
    assert [record.result for record in report.records] == ["B+R", "W+R"] and report.faults()["B"] == {}
    hopeless = MatchSetup("tictactoe", OURS, OURS + " --resign 0.99 --resign-moves 1")
    assert [record.reason for record in play_match(hopeless, 1).records] == ["resignation"]


def test_claims_are_compared_with_the_referees_count() -> None:
    setup = dataclasses.replace(against("claim=B+99"), game="go:size=5,komi=50")
    report = play_match(setup, 2)
    assert all(record.winner == ("B" if record.first == "A" else "A") for record in report.records)
    assert report.disputes() == {"A": [], "B": [0, 1]}
    assert "B saw another winner than the referee in 2 games: 0, 1" in match_lines(report)


@pytest.mark.parametrize(
    ("komi", "claim", "read"),
    [(50, "W+50.0", "W+50"), (-7.5, "b+7.50", "B+7.5"), *[(0, draw, "0") for draw in ("0", "0.0", "Draw", "Jigo")]],
)
def test_claims_are_read_as_the_referee_writes_them(komi: float, claim: str, read: str) -> None:
    setup = MatchSetup(f"go:size=5,komi={komi}", fake("pass"), fake(f"claim={claim}"))
    report = play_match(setup, 1)
    record = report.records[0]
    assert record.moves == ["pass", "pass"] and record.result == read and record.claims == {"B": read}
    assert report.disputes()["B"] == [] and report.margin_disputes()["B"] == 0


def test_another_score_with_the_same_winner_is_told_apart() -> None:
    setup = MatchSetup("go:size=5,komi=50", fake("claim=W+49.0"), fake("claim=W+R"))
    report = play_match(setup, 1)
    assert report.margin_disputes() == {"A": 1, "B": 1} and report.disputes() == {"A": [], "B": []}


def test_words_are_no_claim() -> None:
    report = play_match(dataclasses.replace(against("no-claim"), game="go:size=5,komi=50"), 1)
    assert report.disputes() == {"A": [], "B": []} and "B" not in report.records[0].claims


def test_a_program_hears_the_whole_game(tmp_path: Path) -> None:
    log = tmp_path / "log"
    setup = MatchSetup("go:size=9,komi=0.5,handicap=2", fake("pass", log), fake("pass"), openings=("E5 D5",))
    record = play_match(setup, 1).records[0]
    assert record.moves == ["E5", "D5", "pass", "pass"]
    commands = log.read_text().splitlines()
    game = commands[commands.index("boardsize 9", 2) :]  # after the first look whether it can play
    assert game[:3] == ["boardsize 9", "clear_board", "komi 0.5"]
    assert sorted(game[3:5]) == ["play black C3", "play black G7"]
    assert game[5:] == [
        "play white E5",
        "play black D5",
        "play white pass",
        "genmove black",
        "final_score",
        "quit",
    ]


def test_a_game_that_kills_its_process_ends_the_match_with_a_reason(tmp_path: Path) -> None:
    path = tmp_path / "deadly.py"
    source = (Path(__file__).parents[3] / "examples" / "domineering.py").read_text()
    path.write_text(
        source + "\n    def describe_result(self, state, reward):\n        import os\n        os._exit(3)\n"
    )
    setup = MatchSetup(f"{path}:side=2", OURS, OURS)
    with pytest.raises(MatchError, match=r"game 0: its process died 2 times \(exit status 3\)"):
        play_match(setup, 1, jobs=2)


@pytest.mark.parametrize("jobs", [1, 2])
def test_a_game_with_a_fault_of_its_own_ends_the_match_with_a_reason(tmp_path: Path, jobs: int) -> None:
    path = tmp_path / "faulty.py"
    source = (Path(__file__).parents[3] / "examples" / "domineering.py").read_text()
    path.write_text(source + "\n    def describe_result(self, state, reward):\n        return 1 / 0\n")
    with pytest.raises(MatchError, match="game 0: ZeroDivisionError: division by zero"):
        play_match(MatchSetup(f"{path}:side=2", OURS, OURS), 1, jobs=jobs)


# Score and SPRT


def test_sprt_ends_a_match_early() -> None:
    report = play_match(against("resign"), 50, sprt=Sprt(0, 400))
    assert report.score == Score(5, 0, 0) and report.decision == "H1"
    assert any(line.startswith("SPRT: A is stronger by 400 Elo rather than 0") for line in match_lines(report))


def test_sprt_counts_games_in_order_up_to_its_decision() -> None:
    records = [GameRecord(number, "A", 0, [], "", "A", "score") for number in (0, 1, 2, 4)]
    assert [record.game for record in counted(records, Sprt(0, 400))] == [0, 1, 2]
    assert [record.game for record in counted(records[::-1], None)] == [0, 1, 2, 4]
    many = [GameRecord(number, "A", 0, [], "", "A", "score") for number in range(9)]
    assert [record.game for record in counted(many, Sprt(0, 400))] == [0, 1, 2, 3, 4]


def test_draws_of_depth_limited_p_games_are_counted() -> None:
    """yoshizoe2011, Table 3: wins, losses and draws of the first player."""
    setup = MatchSetup(
        "pgame:branching=2,depth=4,seed=3",
        "--playouts 60 --scheme sequential:nodes=2000",
        "--playouts 60 --scheme sequential:algorithm=dfuct,nodes=2000",
    )
    report = play_match(setup, 8)
    assert report.score == Score(0, 0, 8)  # both solve the tree, whose minimax value is a draw
    document = report.as_json()
    assert document["A_first"] == document["B_first"] == {"wins": 0, "losses": 0, "draws": 4}


def test_json_has_no_infinities() -> None:
    document = play_match(against("resign"), 2).as_json()
    assert document["rate"] == 1.0 and document["elo"] is None and document["elo_interval"][1] is None
    assert json.loads(json.dumps(document, allow_nan=False)) == document


# Folders


def test_resume_goes_on_where_a_match_ended(tmp_path: Path) -> None:
    whole = play_match(TICTACTOE, 6)
    play_match(TICTACTOE, 2, out=tmp_path)
    log = tmp_path / LOG_FILE
    log.write_bytes(log.read_bytes()[:-7])  # as if the program died while it wrote
    resumed = play_match(TICTACTOE, 6, out=tmp_path, resume=True)
    assert games(resumed) == games(whole)
    lines = [json.loads(line) for line in log.read_text().splitlines()]
    assert sorted(line["game"] for line in lines) == list(range(6))
    assert games(play_match(TICTACTOE, 6, out=tmp_path, resume=True)) == games(whole)
    assert games(play_match(TICTACTOE, 3, out=tmp_path, resume=True)) == games(whole)[:3]  # as many as are asked for


def test_a_match_is_not_overwritten_or_mixed_with_another(tmp_path: Path) -> None:
    play_match(TICTACTOE, 1, out=tmp_path)
    with pytest.raises(OptionError, match="has a match already; give resume to"):
        play_match(TICTACTOE, 1, out=tmp_path)
    other = dataclasses.replace(TICTACTOE, seed=2)
    with pytest.raises(OptionError, match="has another match: seed was 1, now 2; give the same options or another"):
        play_match(other, 1, out=tmp_path, resume=True)
    (tmp_path / LOG_FILE).write_text("nonsense\n")
    with pytest.raises(OptionError, match="cannot read line 1"):
        play_match(TICTACTOE, 1, out=tmp_path, resume=True)
    (tmp_path / SETUP_FILE).write_text("{")
    with pytest.raises(OptionError, match="cannot read"):
        play_match(TICTACTOE, 1, out=tmp_path, resume=True)


def test_interrupt_keeps_finished_games(tmp_path: Path) -> None:
    def interrupt(report: MatchReport) -> None:
        if report.score.games == 2:
            raise KeyboardInterrupt

    report = play_match(TICTACTOE, 6, out=tmp_path, on_game=interrupt)
    assert report.interrupted and report.score.games == 2
    assert len((tmp_path / LOG_FILE).read_text().splitlines()) == 2


@pytest.mark.skipif(JIT_DISABLED, reason="too slow: the program scores with all its playouts")
@pytest.mark.parametrize("jobs", ["1", "2"])
def test_ctrl_c_ends_the_program_with_the_finished_games(tmp_path: Path, jobs: str) -> None:
    log = tmp_path / "log"
    players = ["--playouts 5 --scheme sequential:nodes=1000 --policy wait=1ms", fake("pass", log)]
    command = [sys.executable, "-m", "treespan", "match", *players, "--game", "go:size=5,komi=50", "--games", "100000"]
    command += ["--jobs", jobs, "--out", str(tmp_path / "out"), "--json"]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True, preexec_fn=hear_interrupts)
    games_log = tmp_path / "out" / LOG_FILE
    end = time.monotonic() + 300
    while not (games_log.exists() and games_log.read_bytes().count(b"\n") >= 2) and time.monotonic() < end:
        time.sleep(0.1)
    process.send_signal(signal.SIGINT)
    document = json.loads(process.communicate(timeout=60)[0])
    assert process.returncode == 130 and document["interrupted"] is True
    assert 2 <= document["games"] == len(games_log.read_text().splitlines())
    starts, ends = log.read_text().count("start"), log.read_text().count("quit")
    assert starts == ends  # no program is left


def test_closing_ends_the_processes() -> None:
    played = play_games([PlayedGame(TICTACTOE, number) for number in range(1000)], 2)
    assert next(played).game in (0, 1)
    played.close()  # joins them


def test_go_games_are_written_as_sgf(tmp_path: Path) -> None:
    from sgfmill import sgf

    play_match(against("pass", openings=("C3 B2",)), 2, out=tmp_path)
    document = sgf.Sgf_game.from_bytes((tmp_path / "games" / "00001.sgf").read_bytes())
    assert document.get_size() == 5 and document.get_komi() == 0.5
    assert document.get_player_name("w") == f"A: {OURS}"
    moves = [node.get_move() for node in document.get_main_sequence()[1:]]
    assert moves[:2] == [("b", (2, 2)), ("w", (1, 1))] and moves[-1][1] is None
    record = json.loads((tmp_path / LOG_FILE).read_text().splitlines()[1])
    assert document.get_root().get("RE") == record["result"] and len(moves) == len(record["moves"])


# Players from text

PLAYER_MISTAKES = [
    ("go", "gtp: nosuchprogram --mode gtp", "there is no program 'nosuchprogram'; give its full path"),
    ("go", "gtp:", "'gtp:' names no program"),
    ("tictactoe", "gtp: gnugo --mode gtp", "GTP is for Go alone"),
    ("sailing", "--playouts 5", "sailing has one player; a match needs a game for two"),
    ("go", "--playuots 5", "unknown search option 'playuots'; did you mean 'playouts'?"),
    ("go", "playouts 5", "'playouts' in 'playouts 5' is not an option"),
    ("go", "--playouts", "playouts in '--playouts' has no value"),
    ("go", "--playouts 5 --playouts=6", "playouts stands twice"),
    ("go", "--threads x", "threads=x is not a whole number"),
    ("go", "--resign 2", "resign=2 is out of range"),
    ("go", "--resign-moves 0", "resign_moves=0 is out of range"),
    ("go", "--ranks 4", "a player of a match has no ranks; give threads or simulate"),
    ("go", "--seconds 90", "seconds=90 is not below the match's timeout=60; raise it"),
    ("go", "--scheme 'sequential", "cannot read"),
]


@pytest.mark.parametrize(("game", "text", "message"), PLAYER_MISTAKES, ids=[text for _, text, _ in PLAYER_MISTAKES])
def test_mistakes_in_players(game: str, text: str, message: str) -> None:
    with pytest.raises(OptionError) as caught:
        make_player(text, make_game(game), 60.0)
    assert message in str(caught.value)


@pytest.mark.programs
def test_a_missing_gnu_go_is_an_error_that_names_its_package(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TREESPAN_HIDE_PROGRAMS", "1")
    with pytest.raises(OptionError, match="player B: there is no program 'gnugo'; install the Debian package gnugo"):
        play_match(MatchSetup("go:size=5", OURS, "gtp: gnugo --mode gtp"), 1)


def test_a_program_that_cannot_play_at_all_is_an_error() -> None:
    with pytest.raises(OptionError, match=r"player B .* cannot play: crash"):
        play_match(MatchSetup("go:size=5", OURS, f"gtp: {sys.executable} -c pass"), 1)


def test_players_read_their_options() -> None:
    player = make_player("--scheme root --threads 2 --playouts 1e3 --resign=0.1 --reuse no", make_game("go"), 60.0)
    assert isinstance(player, SearchPlayer) and (player.resign, player.reuse) == (0.1, False)
    assert (player.plan.scheme.name, player.plan.ranks, player.plan.budget.playouts) == ("root", 2, 1000)
    assert isinstance(make_player(fake("pass"), make_game("go"), 60.0), GtpPlayer)


@pytest.mark.programs("gnugo")
@pytest.mark.skipif(JIT_DISABLED, reason="too slow")
def test_gnu_go_agrees_about_the_score() -> None:
    setup = MatchSetup(
        "go:size=7",
        "gtp: gnugo --mode gtp --chinese-rules --level 1 --seed 1",
        "gtp: gnugo --mode gtp --chinese-rules --level 1 --seed 2",
        random_plies=4,
    )
    report = play_match(setup, 4)
    assert [record.reason for record in report.records] == ["score"] * 4
    assert all(claim == record.result for record in report.records for claim in record.claims.values())
