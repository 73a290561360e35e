"""Thinking in the background: analysis and pondering, until they are halted."""

import threading
import time
from typing import Any

import pytest

from tests.support.engines import PLAYOUTS, engine_for
from treespan.core.errors import PositionError
from treespan.engine.thinker import TreeThinker
from treespan.games.position import Position


def wait_for(condition: Any) -> None:
    end = time.monotonic() + 60
    while not condition():
        assert time.monotonic() < end
        time.sleep(0.01)


WATCHED = ["--scheme sequential:nodes=50000,solver=no", "--scheme shared:nodes=50000,solver=no --threads 2"]


@pytest.mark.parametrize("options", WATCHED)
def test_analysis_runs_until_it_is_halted(options: str) -> None:
    engine = engine_for("connect4", options)
    engine.analyse()
    wait_for(lambda: sum(move.visits for move in engine.thinker.moves()) > 10)
    engine.halt()
    visits = [(move.id, move.visits) for move in engine.thinker.moves()]
    time.sleep(0.1)
    assert [(move.id, move.visits) for move in engine.thinker.moves()] == visits


@pytest.mark.parametrize("options", WATCHED)
def test_a_halt_before_the_search_has_begun_ends_it(options: str) -> None:
    engine = engine_for("connect4", options)
    for _ in range(5):
        engine.analyse()
        engine.halt()  # would wait for ever if the stop were lost


@pytest.mark.parametrize("options", WATCHED)
def test_an_analysis_never_shows_the_position_before(options: str, monkeypatch: pytest.MonkeyPatch) -> None:
    engine = engine_for("connect4", options)
    thinker, may_go = engine.thinker, threading.Event()
    assert isinstance(thinker, TreeThinker)
    go_to = thinker._go_to
    engine.choose()
    assert thinker.moves()
    engine.play(3)

    def go_late(position: Position) -> None:
        may_go.wait(60)
        go_to(position)

    monkeypatch.setattr(thinker, "_go_to", go_late)
    engine.analyse()
    before = thinker.moves()
    may_go.set()
    wait_for(thinker.moves)
    engine.halt()
    assert before == []


@pytest.mark.parametrize("options", WATCHED)
def test_an_analysis_leaves_banned_moves_out(options: str) -> None:
    engine = engine_for("connect4", options)
    engine.choose()  # leaves a tree that knows all moves
    engine.analyse(banned=(2, 3))
    wait_for(engine.thinker.moves)
    engine.halt()
    assert sorted(move.id for move in engine.thinker.moves()) == [0, 1, 4, 5, 6]
    engine.analyse()
    wait_for(engine.thinker.moves)
    engine.halt()
    assert len(engine.thinker.moves()) == 7
    with pytest.raises(PositionError, match="no move is left"):
        engine.analyse(banned=range(7))


@pytest.mark.parametrize("options", WATCHED)
def test_pondering_feeds_the_next_search(options: str) -> None:
    engine = engine_for("connect4", options)
    engine.ponder()
    wait_for(lambda: sum(move.visits for move in engine.thinker.moves()) > 200)
    reply = engine.thinker.moves()[0]
    engine.play(reply.id)
    result = engine.choose().result
    assert result is not None and result.root_visits > PLAYOUTS


def test_a_question_during_an_analysis_changes_nothing() -> None:
    engine = engine_for()
    before = str(engine.position)
    engine.analyse(1)
    with engine.as_player(1):
        assert "white to play" in str(engine.position)
        engine.choose()
    assert str(engine.position) == before and "black to play" in before
