"""A game at a terminal, as a table of what is said and answered."""

import re
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from treespan.core.errors import OptionError
from treespan.core.jit import JIT_DISABLED
from treespan.engine import GameEngine
from treespan.games.position import Position
from treespan.games.registry import make_game
from treespan.play import PlaySession, Tell
from treespan.runtimes.plan import plan_of, split_options

PLAYOUTS = 20 if JIT_DISABLED else 200
PLAN = plan_of(split_options(f"--playouts {PLAYOUTS} --scheme sequential:nodes=20000"))


def session(spec: str = "tictactoe", human: int = 0, resign: float = 0.0) -> PlaySession:
    return PlaySession(GameEngine(make_game(spec), PLAN, resign, resign_moves=1), human)


def test_the_computer_answers_every_move() -> None:
    game = session()
    assert game.begin().text.splitlines() == [
        "3 . . .",
        "2 . . .    move 1, X to play",
        "1 . . .",
        "  a b c",
        "you are X; ? shows what you can say",
    ]
    turn = game.handle_line("b2\n")
    assert "treespan plays " in turn.text and turn.text.count("(O)") == 1
    assert "move 3, X to play" in turn.text and "X's chance to win " in turn.text
    assert game.engine.moves_played == 2 and not game.is_over


def test_the_computer_begins_if_the_person_is_second() -> None:
    game = session(human=1)
    turn = game.begin()
    assert turn.text.count("(X)") == 1 and "you are O" in turn.text
    game.handle_line(game.engine.game.move_name(game.engine.position.legal_moves[0]))
    turn = game.handle_line("undo")
    assert (
        game.engine.moves_played == 1 and "move 2, O to play" in turn.text and "O " not in turn.text.splitlines()[1][:8]
    )
    turn = game.handle_line("undo")  # nothing of the person's is left: the computer begins anew
    assert game.engine.moves_played == 1


def test_a_game_to_its_end() -> None:
    game = session()
    turn = game.begin()
    while not game.is_over:
        turn = game.handle_line(game.engine.game.move_name(game.engine.position.legal_moves[0]))
    assert game.engine.position.is_over and not turn.is_last
    assert turn.text.endswith(
        ("you win; say undo, new or quit", "you lose; say undo, new or quit", "nobody wins; say undo, new or quit")
    )
    end = turn.text.splitlines()[-1]
    assert end.startswith("the game is over: ")
    for line in ("a1", "hint", "moves", "resign", "nonsense"):
        assert game.handle_line(line).text == end
    moves = game.engine.moves_played
    assert "the game is over" not in game.handle_line("undo").text
    assert not game.is_over and game.engine.moves_played in (moves - 1, moves - 2)


def test_mistakes_change_nothing() -> None:
    game = session()
    game.begin()
    for line in ("nonsense", "z9", "undo", "hint 3"):
        turn = game.handle_line(line)
        assert turn.notes[0].endswith("; ? shows what you can say") and turn.is_mistake and not turn.is_last
    assert game.handle_line("  \n").text == "" and game.engine.moves_played == 0


def test_long_answers_are_folded() -> None:
    game = session("havannah:base=6")
    game.begin()
    for line in ("moves", "x" * 30 + " no such move at all"):
        lines = ["".join(text for text, _ in words) for words in game.handle_line(line).lines(width=60)]
        assert len(lines) > 1 and max(map(len, lines)) <= 60


def test_hints_moves_and_help() -> None:
    game = session()
    game.begin()
    hint = game.handle_line("hint").text
    assert hint.count("visits") == hint.count("X's chance to win ") == 5
    assert "expected line " in hint and game.engine.moves_played == 0
    assert len(game.handle_line("moves").text.split()) == 9
    help_text = game.handle_line("?").text
    assert help_text == game.handle_line("help").text and help_text.startswith("tictactoe: three in a row on 3x3\n")
    for word in ("hint", "undo", "new", "board", "moves", "resign", "quit", "Ctrl-C"):
        assert f"\n{word}" in help_text
    assert "save" not in help_text and "save FILE" in session("go:size=5").handle_line("?").text
    assert max(map(len, help_text.splitlines())) <= 80
    assert game.handle_line("board").text.startswith("3 . . .")


def test_leaving() -> None:
    game = session()
    game.begin()
    assert game.handle_line("quit").is_last
    game.handle_line("resign")
    assert game.handle_line("quit").is_last


@pytest.mark.parametrize(
    ("spec", "human", "end"),
    [
        ("tictactoe", 0, "second player wins, you lose; say undo, new or quit"),
        ("tictactoe", 1, "first player wins, you lose; say undo, new or quit"),
        ("go:size=5", 0, "W+R, you lose; say undo, new, save FILE or quit"),
        ("go:size=5", 1, "B+R, you lose; say undo, new, save FILE or quit"),
    ],
)
def test_a_resignation_has_a_result_and_is_taken_back(spec: str, human: int, end: str) -> None:
    game = session(spec, human)
    game.begin()
    moves = game.engine.moves_played
    turn = game.handle_line("resign")
    assert turn.text == f"you resign\nthe game is over: {end}" and game.is_over and not turn.is_last
    game.handle_line("undo")
    assert not game.is_over and game.engine.moves_played == moves == human


def test_the_computer_may_resign() -> None:
    game = session(resign=0.99)
    game.begin()
    turn = game.handle_line("b2")
    end = "the game is over: first player wins, you win; say undo, new or quit"
    assert turn.text.endswith(f"treespan resigns\n{end}") and not turn.is_last
    assert game.handle_line("a1").text == end
    assert "move 1, X to play" in game.handle_line("undo").text and game.engine.moves_played == 0
    assert not game.is_over


def test_a_computer_that_resigns_at_once_leaves_nothing_to_undo() -> None:
    game = session(human=1, resign=0.99)
    assert "treespan resigns\n" in game.begin().text
    assert "no move to undo" in game.handle_line("undo").text and game.is_over


def test_go_is_saved_as_sgf(tmp_path: Path) -> None:
    from treespan.games.go.sgf import read_sgf

    game = session("go:size=5,komi=1.5")
    game.begin()
    game.handle_line("C3")
    path = tmp_path / "game.sgf"
    assert game.handle_line(f"save {path}").text == f"saved {path}"
    document = read_sgf(path.read_bytes())
    position = Position(document.game, document.start)
    for _, move in document.moves:
        position.play(move)
    assert str(position) == str(game.engine.position)
    assert not document.document.get_root().has_property("RE")
    assert "give the name of a file" in game.handle_line("save").text
    assert "cannot write" in game.handle_line(f"save {tmp_path}/no/such.sgf").text
    assert "only Go is saved" in session().handle_line("save x").text


def test_a_large_board_and_what_stands_beside_it_fit_80_columns() -> None:
    game = session("go:size=19,komi=1.5")
    for move in ("Q16", "pass", "A19", "T1"):
        game.engine.play(game.engine.game.parse_move(move))
    lines = game.handle_line("board").text.splitlines()
    assert len(lines) == 21 and max(map(len, lines)) <= 80
    assert lines[19].startswith(" 1 ") and ".(O)1   " in lines[19] + " " * 3
    beside = [line[44:].strip() for line in lines[1:7]]
    assert beside[:3] == ["move 5, Black to play", "captures: Black 0, White 0", "komi 1.5"]
    assert beside[3].startswith("score by playouts: ") and beside[4:] == ["X is Black, O is White", ""]


def test_where_there_is_no_room_beside_a_board_facts_stand_below() -> None:
    game = session("go:size=19")
    lines = ["".join(text for text, _ in line) for line in game.begin().lines(width=60)]
    assert lines[20].startswith("   A B C") and lines[21] == "move 1, Black to play"


def test_a_game_without_a_board_is_shown_as_its_diagram() -> None:
    game = session(str(Path(__file__).parents[1] / "examples" / "domineering.py"))
    text = game.begin().text
    assert text.startswith("covered 0 0") and "side 6\nto_play 0\nmove 1, the first player to play\n" in text
    assert max(map(len, text.splitlines())) <= 80
    assert "The first player's chance to win " in game.handle_line("0").text


def test_with_colours_stones_lie_on_wood() -> None:
    game = session("go:size=5")
    game.engine.play(game.engine.game.parse_move("C3"))
    painted = dict(game.handle_line("board").lines(80, is_painted=True)[3])
    assert painted["●"] == "#000000 on #dcb35c" and painted["·"].endswith("on #dcb35c") and "(" in painted
    text = "".join(text for line in game.handle_line("board").lines(80, is_painted=True) for text, _ in line)
    assert "is Black" not in text and "X" not in text


@pytest.mark.parametrize("human, sides", [(0, "XO"), (1, "OX")])
def test_a_new_game_with_the_same_sides_or_others(human: int, sides: str) -> None:
    game = session(human=human)
    game.begin()
    move = game.engine.game.move_name(game.engine.position.legal_moves[0])
    game.handle_line(move)
    assert f"you are {sides[0]};" in game.handle_line("new").text and game.engine.moves_played == human
    other = ("second", "first")[human]
    assert f"you are {sides[1]};" in game.handle_line(f"new {other}").text and game.engine.moves_played == 1 - human
    turn = game.handle_line("new third")
    assert turn.is_mistake and turn.text == "'third' is no side; say new first or new second"


def test_a_finished_game_is_followed_by_a_new_one() -> None:
    game = session()
    game.begin()
    game.handle_line("resign")
    assert "move 1, X to play" in game.handle_line("new").text and not game.is_over


def test_somebody_may_watch_the_search() -> None:
    told: list[str] = []
    entered = 0

    @contextmanager
    def watch() -> Iterator[Tell]:
        nonlocal entered
        entered += 1
        yield told.append

    plan = plan_of(split_options("--seconds 0.5 --scheme sequential:nodes=20000"))
    game = PlaySession(GameEngine(make_game("connect4"), plan), 1, watch)
    game.begin()
    assert entered == 1 and told and game.engine.watcher is None
    assert all(re.fullmatch(r"\d, O's chance to win \d+%, [\d,]+ playouts, \d\.\d s", words) for words in told)


def test_a_search_that_shows_only_its_end_is_watched_by_its_playouts() -> None:
    told: list[str] = []

    @contextmanager
    def watch() -> Iterator[Tell]:
        yield told.append

    plan = plan_of(split_options("--simulate 3 --scheme tds-uct --policy light --playouts 3000"))
    PlaySession(GameEngine(make_game("connect4"), plan), 1, watch).begin()
    assert all(re.fullmatch(r"[\d,]+ playouts, \d+\.\d s", words) for words in told)


def test_a_game_for_one_is_played_alone() -> None:
    game = session("samegame:width=5,height=5,colors=3")
    text = game.begin().text
    assert "you play alone; ? shows" in text and "move 1\n" in text and "score 0" in text
    hint = game.handle_line("hint").text
    assert "expected score " in hint
    assert "resign" not in game.handle_line("?").text
    game.handle_line(hint.split()[0])
    assert game.engine.moves_played == 1 and "move 2" in game.handle_line("board").text
    game.handle_line("undo")
    while not game.is_over:
        turn = game.handle_line(game.engine.game.move_name(game.engine.position.legal_moves[0]))
    assert turn.text.splitlines()[-1].startswith("the game is over: score ")
    assert turn.text.endswith("; say undo, new or quit") and "you" not in turn.text.splitlines()[-1]


def test_nature_moves_in_between() -> None:
    game = session("sailing")
    assert "chance: wind=" in game.begin().text + game.handle_line("hint").text + game.handle_line("NE").text


def test_a_finished_game_of_go_is_scored() -> None:
    game = session("go:size=5,komi=50")
    game.begin()
    turn = game.handle_line("pass")
    assert game.is_over and "treespan plays pass" in turn.text and "the game is over: W+" in turn.text


@pytest.mark.parametrize(("line", "result"), [("pass", "W+50"), ("resign", "W+R")])
def test_a_finished_game_is_saved_with_its_result(tmp_path: Path, line: str, result: str) -> None:
    from sgfmill import sgf

    game = session("go:size=5,komi=50")
    game.begin()
    game.handle_line(line)
    path = tmp_path / "game.sgf"
    assert game.handle_line(f"save {path}").text == f"saved {path}"
    assert sgf.Sgf_game.from_bytes(path.read_bytes()).get_root().get("RE") == result
    game.handle_line("undo")
    game.handle_line(f"save {path}")
    assert not sgf.Sgf_game.from_bytes(path.read_bytes()).get_root().has_property("RE")


def test_in_a_game_for_one_there_is_no_second_player() -> None:
    with pytest.raises(OptionError, match="samegame has one player; you can only be the first"):
        session("samegame", human=1)
