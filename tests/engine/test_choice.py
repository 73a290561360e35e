"""A choice of move: the time that all of it takes."""

from typing import Any

import pytest

from tests.engine.test_engine import SETTLED, engine_for, go_position
from treespan.engine.engine import FEWEST_MOVES_TO_GO
from treespan.engine.timing import MOVE_LAG, TimeSettings
from treespan.games.position import Position
from treespan.schemes.base import Budget
from treespan.search.result import SearchResult


def test_choices_off_the_clock_take_none_of_it() -> None:
    engine = engine_for("connect4", "--scheme sequential:nodes=50000,solver=no")
    engine.clock.set(TimeSettings(main=3.0))
    engine.choose(use_clock=False)
    assert engine.clock.left(0) == (3.0, 0)


def test_all_of_a_choice_is_on_the_clock(monkeypatch: pytest.MonkeyPatch) -> None:
    """Whatever it does before and after the search; time is what `seconds` says."""
    seconds = [100.0]
    engine = go_position(SETTLED, "black to play, komi 0.5, passes 1")
    engine.clock.set(TimeSettings(main=60.0))
    found = engine.thinker.think(engine.position, engine.plan.budget, ())
    found.moves.sort(key=lambda move: move.id != 0)  # a search that wants to pass
    limits: list[float] = []

    def takes(duration: float, what: Any) -> Any:
        def timed(*arguments: Any) -> Any:
            seconds[0] += duration
            return what(*arguments)

        return timed

    def think(position: Position, budget: Budget, *rest: Any) -> SearchResult:
        limits.append(budget.seconds or 0.0)
        return found

    whole = engine.clock.allot(0, FEWEST_MOVES_TO_GO)
    assert whole is not None
    monkeypatch.setattr("treespan.engine.engine.time.monotonic", lambda: seconds[0])
    monkeypatch.setattr(engine, "halt", takes(0.25, engine.halt))
    monkeypatch.setattr(engine, "status", takes(1.0, engine.status))
    monkeypatch.setattr(engine.thinker, "think", takes(3.0, think))
    engine.choose()
    assert limits == pytest.approx([whole.limit - 1.25])  # of this move's time the search has the rest
    assert engine.clock.left(0)[0] == pytest.approx(60.0 - 0.25 - 2 * 1.0 - 3.0 - MOVE_LAG)
