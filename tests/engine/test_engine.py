"""A game in progress: moves, undo, tree reuse, passing, resignation, the clock."""

import time
from dataclasses import replace
from typing import Any

import pytest

from tests.support.engines import PLAN, PLAYOUTS, SETTLED, engine_for, go_position
from tests.support.ranks import wait_for
from treespan.core.errors import PositionError
from treespan.engine import GameEngine
from treespan.engine.engine import LONGEST_SECONDS
from treespan.engine.thinker import RankThinker, TreeThinker
from treespan.engine.timing import TimeSettings
from treespan.games.position import Position
from treespan.games.registry import make_game
from treespan.runtimes.plan import plan_of, split_options

# Moves


def test_play_and_undo() -> None:
    engine = engine_for("tictactoe")
    before = str(engine.position)
    engine.play(engine.game.parse_move("b2"))
    after = str(engine.position)
    with pytest.raises(PositionError):
        engine.play(engine.game.parse_move("b2"))
    assert str(engine.position) == after and engine.moves_played == 1
    engine.undo()
    assert str(engine.position) == before and engine.moves_played == 0
    with pytest.raises(PositionError, match="no move to undo"):
        engine.undo()


def test_either_player_may_move_in_go() -> None:
    engine = engine_for()
    move = engine.game.parse_move
    engine.play(move("C3"), player=0)
    engine.play(move("B2"), player=0)
    assert str(engine.position).count("X") == 2
    with pytest.raises(PositionError):
        engine.play(move("B2"), player=0)
    assert int(engine.position.state.to_play) == 1  # the refused move changed nothing
    engine.play(0)
    engine.play(0)
    assert engine.position.is_over
    engine.play(move("D4"), player=1)  # resumed after two passes
    assert not engine.position.is_over and engine.moves_played == 5
    for _ in range(5):
        engine.undo()
    assert "X" not in str(engine.position)


def test_superko_is_remembered_when_a_player_moves_twice() -> None:
    engine = engine_for("go:size=5,superko=yes")
    history = list(engine.position.history)
    engine.set_player(1)
    assert engine.position.history == history


def test_komi_may_change_during_the_game() -> None:
    engine = engine_for()
    engine.play(engine.game.parse_move("C3"))
    engine.set_komi(6.5)
    assert "komi 6.5" in str(engine.position)
    engine.undo()
    assert "komi 6.5" in str(engine.position)


# The search


def test_the_tree_is_kept_from_move_to_move() -> None:
    engine = engine_for("connect4", "--scheme sequential:nodes=50000,solver=no")
    first = engine.choose()
    assert first.move is not None and first.result is not None and first.result.root_visits == PLAYOUTS
    engine.play(first.move)
    reply = engine.choose()
    assert reply.move is not None and reply.result is not None
    assert reply.result.playouts == PLAYOUTS and reply.result.root_visits > PLAYOUTS
    fresh = GameEngine(engine.game, engine.plan, reuse=False)
    fresh.choose()
    fresh.play(first.move)
    result = fresh.choose().result
    assert result is not None and result.root_visits == PLAYOUTS


def test_choosing_again_goes_on_with_the_same_tree() -> None:
    engine = engine_for("connect4", "--scheme sequential:nodes=50000,solver=no")
    engine.choose()
    result = engine.choose().result
    assert result is not None and result.root_visits == 2 * PLAYOUTS and result.playouts == PLAYOUTS


@pytest.mark.parametrize("scheme", ["sequential:", "shared:"])
def test_a_settled_choice_takes_no_further_playouts(scheme: str) -> None:
    text = f"--scheme {scheme}nodes=200000,solver=no --playouts 4000 --seed 3"
    plan, played = plan_of(split_options(text)), make_game("connect4")
    line: list[int] = []
    saved = 0
    for _ in range(6):
        choices = []
        for early_stop in (False, True, True):
            engine = GameEngine(played, plan, early_stop=early_stop)
            for move in line:
                engine.play(move)
            choices.append(engine.choose())
        full, early, again = (choice.result for choice in choices)
        assert full is not None and early is not None and again is not None
        assert full.playouts == 4000 and early.root_visits == early.playouts
        chosen = choices[0].move
        assert chosen is not None and chosen == choices[1].move  # what is left out cannot change it
        assert early.signature == again.signature  # it ends after the same number of playouts
        saved += 4000 - early.playouts
        line.append(chosen)
    assert saved > 0


def test_a_search_by_seconds_ends_when_the_choice_is_settled() -> None:
    plan = plan_of(split_options("--seconds 6 --scheme sequential:nodes=50000,solver=no"))
    engine = GameEngine(make_game("tictactoe"), plan, early_stop=True)
    for move in ("a1", "a2", "b1", "b2"):
        engine.play(engine.game.parse_move(move))
    result = engine.choose().result  # c1 wins at once: nearly all visits go there
    assert result is not None and result.move == "c1" and result.seconds < 5.8


def test_undo_starts_a_new_tree() -> None:
    engine = engine_for("connect4", "--scheme sequential:nodes=50000,solver=no")
    move = engine.choose().move
    assert move is not None
    engine.play(move)
    engine.choose()
    engine.undo()
    result = engine.choose().result
    assert result is not None and result.root_visits == PLAYOUTS


def test_any_scheme_can_play() -> None:
    engine = engine_for("connect4", "--scheme slow-tree --threads 1 --simulate 2")
    assert isinstance(engine.thinker, RankThinker)
    for _ in range(2):
        decision = engine.choose()
        assert decision.move in engine.position.legal_moves
        engine.play(decision.move)
    engine.ponder()
    assert wait_for(lambda: bool(engine.thinker.moves()))
    engine.halt()


@pytest.mark.parametrize("scheme", ["root:", "shared:", "shared:virtual_loss=visits,"])
def test_threads_keep_a_tree_each_or_one_together(scheme: str) -> None:
    engine = engine_for("connect4", f"--scheme {scheme}nodes=50000,solver=no --threads 2")
    assert isinstance(engine.thinker, TreeThinker)
    for _ in range(3):
        move = engine.choose().move
        assert move is not None
        engine.play(move)
    result = engine.choose().result
    assert result is not None and result.threads == 2 and result.root_visits > PLAYOUTS == result.playouts
    assert len(result.load) == 2


@pytest.mark.parametrize(
    "options", ["root:period=1 --threads 2", "root --simulate 2", "root --threads 2 --workers 2", "shared --simulate 2"]
)
def test_trees_that_others_write_to_are_not_kept(options: str) -> None:
    assert isinstance(engine_for("connect4", f"--scheme {options}").thinker, RankThinker)


@pytest.mark.parametrize("options", ["span --threads 2", "span --simulate 3", "treesplit --simulate 3"])
def test_ranks_keep_their_tree(options: str) -> None:
    engine = engine_for("connect4", f"--scheme {options}")
    first = engine.choose()
    engine.play(first.move or 0)
    after = engine.choose().result
    assert after is not None and after.root_visits > PLAYOUTS == after.playouts
    engine.undo()  # the tree has the position before, too
    again = engine.choose().result
    assert again is not None and again.root_visits == 2 * PLAYOUTS
    engine.set_komi(0.5) if hasattr(engine.game, "komi") else engine.thinker.forget()
    anew = engine.choose().result
    assert anew is not None and anew.root_visits == PLAYOUTS


def test_same_seed_same_game() -> None:
    def game() -> list[int]:
        engine = engine_for("tictactoe", "--scheme sequential:nodes=5000 --seed 7")
        while not engine.position.is_over:
            move = engine.choose().move
            assert move is not None
            engine.play(move)
        return engine.position.moves_made

    assert game() == game()


def test_no_choice_without_a_position_to_choose_in() -> None:
    engine = engine_for("tictactoe")
    for move in ("a1", "b1", "a2", "b2", "a3"):
        engine.play(engine.game.parse_move(move))
    with pytest.raises(PositionError, match="over"):
        engine.choose()


# Passing, resigning: rows of a board, who moves, what the engine does

WITH_DEAD_STONE = """
. X O . .
X X O O O
O . X O .
X X X O .
. X X O .
"""


def test_a_pass_is_answered_by_a_pass_when_that_wins() -> None:
    engine = go_position(SETTLED, "white to play, komi 0.5, passes 1")
    decision = engine.choose()
    assert (decision.move, decision.value, decision.result) == (0, 1.0, None)


def test_a_pass_is_not_answered_by_a_pass_while_a_move_may_help() -> None:
    engine = go_position(SETTLED, "black to play, komi 0.5, passes 1")
    assert engine.choose().move != 0  # Black loses as it stands, and can still play into White's territory


def test_a_pass_when_nothing_else_is_left() -> None:
    full = SETTLED.replace(". .\n", "O .\n")  # every empty point is an eye
    engine = go_position(full, "black to play, komi 0.5, passes 1")
    assert engine.choose().move == 0


@pytest.mark.parametrize(("komi", "passes"), [(0.5, False), (-9.5, True)])
def test_a_first_pass_only_if_both_counts_win(komi: float, passes: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    """White's two stones are dead: Black is 4 ahead without them, 4 behind if they are counted as alive."""
    board = """
    . X . O .
    X X X O O
    . . X O .
    O O X O O
    . . X O .
    """
    engine = go_position(board, f"black to play, komi {komi}")
    found = engine.thinker.think(engine.position, engine.plan.budget, ())
    found.moves.sort(key=lambda move: move.id != 0)  # a search that wants to pass
    monkeypatch.setattr(engine.thinker, "think", lambda *arguments: found)
    assert (engine.choose().move == 0) == passes


def test_no_pass_in_the_cleanup() -> None:
    engine = go_position(WITH_DEAD_STONE, "black to play, komi 0.5")
    assert engine.choose(may_pass=False).move != 0


def test_resignation() -> None:
    lost = go_position(SETTLED, "black to play, komi 20.5, passes 1", resign=0.2, resign_moves=1)
    decision = lost.choose()
    assert decision.resigns and decision.move is None and decision.value < 0.2
    assert not go_position(SETTLED, "black to play, komi 20.5, passes 1").choose().resigns


def test_resignation_takes_several_moves_in_a_row() -> None:
    engine = engine_for("go:size=5,komi=60", resign=0.2, resign_moves=3)
    for ply in range(4):
        if ply % 2 == 0:
            assert not engine.choose().resigns
            assert not engine.choose().resigns  # asked again, it is still the same move
        engine.play(engine.position.legal_moves[0])
    assert engine.choose().resigns
    engine.undo()
    engine.undo()
    assert not engine.choose().resigns  # one of the three has not been


def test_hope_between_bad_moves_starts_the_count_anew() -> None:
    engine = engine_for("go:size=5,komi=60", resign=0.2, resign_moves=2)
    for komi, resigns in ((60, False), (-60, False), (60, False), (60, True)):
        engine.set_komi(komi)
        assert engine.choose().resigns == resigns
        engine.play(engine.position.legal_moves[0])
        engine.play(engine.position.legal_moves[0])


def test_asking_for_another_player_changes_nothing() -> None:
    engine = engine_for("go:size=5,komi=0.5")
    for name in ("B3", "C3", "A2", "D2", "B1", "C1", "E5", "B2", "C2"):  # the last takes a ko
        engine.play(engine.game.parse_move(name))
    before = str(engine.position)
    assert "ko B2" in before and "white to play" in before
    with engine.as_player(0):
        assert "black to play" in str(engine.position)
        engine.choose()
    assert str(engine.position) == before
    engine.analyse(0)
    engine.halt()
    assert str(engine.position) == before
    with pytest.raises(PositionError):
        engine.play(engine.game.parse_move("B2"))
    assert engine.choose().move is not None  # the tree of the other view is not taken for this one's


def test_status_is_for_go_alone() -> None:
    assert go_position(SETTLED).status().score == "W+5.5"
    with pytest.raises(PositionError, match="only Go"):
        engine_for("tictactoe").status()


# Time


def test_the_clock_decides_how_long_to_think() -> None:
    engine = engine_for("connect4", "--scheme sequential:nodes=50000,solver=no")
    engine.clock.set(TimeSettings(main=3.0))
    decision = engine.choose()
    assert decision.result is not None and decision.result.playouts != PLAYOUTS
    left, stones = engine.clock.left(0)
    assert 0 < left < 3.0 and stones == 0 and engine.clock.left(1) == (3.0, 0)
    result = engine.choose(use_clock=False).result
    assert result is not None and result.playouts == PLAYOUTS


def test_a_clock_of_years_is_a_clock() -> None:
    engine = engine_for("connect4", "--scheme sequential:nodes=2000")
    engine.clock.set(TimeSettings(main=2.0**31))
    engine.thinker.think = lambda position, budget, *rest, **more: budget  # type: ignore[method-assign]
    budget: Any = engine._think((), time.monotonic())
    assert budget.seconds == LONGEST_SECONDS


def test_a_clock_says_nothing_about_simulated_seconds() -> None:
    engine = engine_for(options="--simulate 2 --scheme tds-uct --bandit ucb1 --policy light")
    engine.clock.set(TimeSettings(main=3600.0))
    result = engine.choose().result
    assert result is not None and result.playouts == PLAYOUTS


def test_rave_values_are_shown() -> None:
    engine = engine_for("hex:size=4", "--bandit rave --scheme sequential:nodes=50000,solver=no")
    engine.choose()
    values = engine.thinker.amaf()
    assert values and all(0 <= value <= 1 for value in values.values())
    assert engine_for("hex:size=4").thinker.amaf() == {}


def test_warm_up_changes_nothing() -> None:
    engine = engine_for("tictactoe")
    engine.warm_up()
    assert str(engine.position) == str(Position(engine.game)) and engine.moves_played == 0


@pytest.mark.parametrize("scheme", ["span", "treesplit", "tds-uct", "slow-tree:period=0.001"])
@pytest.mark.parametrize("runtime", ["--simulate 3", "--threads 2"])
def test_a_banned_move_is_not_searched_on_ranks(scheme: str, runtime: str) -> None:
    """Were it searched, a win that must not be played would prove the root, and nothing else would be looked at."""
    engine = engine_for("tictactoe", f"--scheme {scheme}{',' if ':' in scheme else ':'}nodes=50000 {runtime}")
    for name in ("a1", "b1", "a2", "b2"):
        engine.play(engine.game.parse_move(name))
    winning = engine.game.parse_move("a3")
    for banned, truth in (((), "win"), ((winning,), None), ((), "win")):
        result = engine.thinker.think(engine.position, replace(PLAN.budget), banned=banned)
        assert (winning in [move.id for move in result.moves]) == (not banned)
        assert truth is None or result.proven == truth
        assert sum(move.visits for move in result.moves) == result.root_visits
        if banned:
            assert result.playouts > 20


def test_a_banned_move_is_not_chosen() -> None:
    engine = engine_for("tictactoe")
    best = engine.choose().move
    assert best is not None
    result = engine.thinker.think(engine.position, replace(PLAN.budget), banned=(best,))
    assert best not in [move.id for move in result.moves] and len(result.moves) == 8
    assert len(engine.choose().result.moves) == 9  # type: ignore[union-attr]
