"""What a game adds to an engine, a referee and a printed board: nothing, if it does not say so."""

import subprocess
import sys

import pytest

from treespan.core.errors import PositionError
from treespan.games.manners import Manners, Status
from treespan.games.position import Position
from treespan.games.registry import make_game


def never() -> Status:
    raise AssertionError("nobody needs the status here")


def test_by_default_players_move_in_turn_and_the_rules_decide() -> None:
    game = make_game("tictactoe")
    manners, position = game.manners(), game.position("a1 b1 a2 b2")
    assert type(manners) is Manners and not manners.has_status and not manners.file_format
    assert manners.turned(position, 1) is position
    assert manners.obvious_move(position, True, never) is None and manners.banned_moves(position, False) == set()
    assert not manners.is_mistake(position, position.legal_moves[0], never)
    assert manners.considered_moves(position) == set(position.legal_moves)
    assert manners.marked(position) == str(position)
    position.play_text("a3")
    assert manners.outcome(position, never) == (0.5, "first player wins")
    assert manners.lost_result(position.state, 0, "time") == "second player wins"


def test_by_default_there_are_no_dead_stones_no_komi_and_no_files() -> None:
    position = Position(make_game("tictactoe"))
    manners = position.game.manners()
    with pytest.raises(PositionError, match="tictactoe: only Go has territory"):
        manners.status(position.state, 10, 1)
    with pytest.raises(PositionError, match="tictactoe: only Go has a komi"):
        manners.change_komi([position], 1.5)
    with pytest.raises(PositionError, match="tictactoe has no file format"):
        manners.as_file(position.state, [], ("a", "b"))


def test_engines_do_not_import_go_nor_searches_the_library_for_files() -> None:
    code = (
        "import sys, treespan.engine, treespan.play; assert 'treespan.games.go' not in sys.modules\n"
        "import treespan.gtp.session, treespan.games.go.manners; assert 'sgfmill' not in sys.modules"
    )
    subprocess.run([sys.executable, "-c", code], check=True)
