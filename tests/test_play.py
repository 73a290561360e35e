"""A game at a terminal, as a table of what is said and answered."""

from pathlib import Path

import pytest

from treespan.core.errors import OptionError
from treespan.core.jit import JIT_DISABLED
from treespan.engine import Engine
from treespan.games.position import Position
from treespan.games.registry import make_game
from treespan.play import HELP, PlaySession
from treespan.runtimes.plan import plan_of, split_options

PLAYOUTS = 20 if JIT_DISABLED else 200
PLAN = plan_of(split_options(f"--playouts {PLAYOUTS} --scheme sequential:nodes=20000"))


def session(spec: str = "tictactoe", human: int = 0, resign: float = 0.0) -> PlaySession:
    return PlaySession(Engine(make_game(spec), PLAN, resign, resign_moves=1), human)


def test_the_computer_answers_every_move() -> None:
    game = session()
    assert game.begin().text.startswith("...\n...\n...\nyou are the first player")
    turn = game.handle_line("b2\n")
    assert "treespan plays " in turn.text and turn.text.count("O") == 1
    assert game.engine.moves_played == 2 and not game.is_over


def test_the_computer_begins_if_the_person_is_second() -> None:
    game = session(human=1)
    turn = game.begin()
    assert turn.text.count("X") == 1 and "you are the second player" in turn.text
    game.handle_line(game.engine.game.move_name(game.engine.position.legal_moves[0]))
    turn = game.handle_line("undo")
    assert game.engine.moves_played == 1 and turn.text.count("O") == 0
    turn = game.handle_line("undo")  # nothing of the person's is left: the computer begins anew
    assert game.engine.moves_played == 1


def test_a_game_to_its_end() -> None:
    game = session()
    turn = game.begin()
    while not game.is_over:
        turn = game.handle_line(game.engine.game.move_name(game.engine.position.legal_moves[0]))
    assert game.engine.position.is_over and not turn.is_last
    assert turn.text.endswith(("wins; say undo or quit", "draw; say undo or quit"))
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
        assert "help shows what you can say" in turn.text and not turn.is_last
    assert game.handle_line("  \n").text == "" and game.engine.moves_played == 0


def test_hints_moves_and_help() -> None:
    game = session()
    game.begin()
    hint = game.handle_line("hint").text
    assert hint.count("visits") == 5 and "line " in hint and game.engine.moves_played == 0
    assert len(game.handle_line("moves").text.split()) == 9
    assert game.handle_line("help").text == HELP


def test_leaving() -> None:
    game = session()
    game.begin()
    assert game.handle_line("quit").is_last
    game.handle_line("resign")
    assert game.handle_line("quit").is_last


@pytest.mark.parametrize(
    ("spec", "human", "end"),
    [
        ("tictactoe", 0, "second player wins; say undo or quit"),
        ("tictactoe", 1, "first player wins; say undo or quit"),
        ("go:size=5", 0, "W+R; say undo, save FILE or quit"),
        ("go:size=5", 1, "B+R; say undo, save FILE or quit"),
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
    assert "treespan resigns: you win\nthe game is over: first player wins; say" in turn.text and not turn.is_last
    assert game.handle_line("a1").text == "the game is over: first player wins; say undo or quit"
    assert game.handle_line("undo").text == "...\n...\n..." and game.engine.moves_played == 0
    assert not game.is_over


def test_a_computer_that_resigns_at_once_leaves_nothing_to_undo() -> None:
    game = session(human=1, resign=0.99)
    assert "treespan resigns: you win" in game.begin().text
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


def test_the_last_move_on_a_go_board_stands_in_brackets() -> None:
    game = session("go:size=19,komi=1.5")
    game.engine.play(game.engine.game.parse_move("A19"))
    assert game._board().splitlines()[1].startswith("19(X). ")
    game.engine.play(game.engine.game.parse_move("T1"))
    assert game._board().splitlines()[19].endswith(" .(O)1") and game._board().count("(") == 1
    game.engine.play(0)
    assert "(" not in game._board()


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


def test_a_game_for_one_is_refused() -> None:
    with pytest.raises(OptionError, match="has one player"):
        session("sailing")
