"""A choice without a search, or before and after one: a first pass, and the time that all of it takes."""

from typing import Any

import pytest

from tests.support.engines import SETTLED, engine_for, go_position
from treespan.engine.engine import FEWEST_MOVES_TO_GO
from treespan.engine.timing import MOVE_LAG, TimeSettings
from treespan.games.position import Position
from treespan.schemes.plan import Budget
from treespan.search.result import SearchResult

# The first pass

DIVIDED = """
. X . X O
X X X X O
. X X O O
X X O O .
. X O . O
"""
DIVIDED_WITH_DEAD_STONE = DIVIDED.replace("\n. X X O O", "\nO . X O O")
OPEN = """
. X X . .
X X . . .
. X X . .
X X X . .
. X . . .
"""


@pytest.mark.parametrize(
    ("rows", "komi", "passes"),
    [
        (DIVIDED, 2.5, True),
        (DIVIDED, 5.5, False),  # White wins
        (DIVIDED_WITH_DEAD_STONE, 0.5, True),  # Black needs neither the stone nor the points around it
        (DIVIDED_WITH_DEAD_STONE, 2.5, False),
        (OPEN, 0.5, True),
        (OPEN, 3.5, False),  # White may still live on the right
    ],
)
def test_a_first_pass_without_search_if_the_win_is_for_good(rows: str, komi: float, passes: bool) -> None:
    decision = go_position(rows, f"black to play, komi {komi}").choose()
    assert (decision.result is None) == passes
    assert not passes or decision.move == 0


def test_no_first_pass_on_an_empty_board() -> None:
    assert engine_for("go:size=5,komi=-60").choose().result is not None


def test_no_first_pass_in_the_cleanup() -> None:
    engine = go_position(DIVIDED_WITH_DEAD_STONE, "black to play, komi 0.5")
    assert engine.choose(may_pass=False).move != 0


# Time


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
