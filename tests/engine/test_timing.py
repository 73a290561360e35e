"""The clock: what is left, how long to think, and when to stop."""

import pytest

from treespan.engine.timing import MOVE_LAG, Allotment, Clock, TimeSettings, is_settled, may_stop
from treespan.search.result import MoveStatistics

BLACK, WHITE = 0, 1


def clock(*settings: float, **more: int) -> Clock:
    made = Clock()
    made.set(TimeSettings(*settings, **more))  # type: ignore[arg-type]
    return made


def test_no_settings_no_limit() -> None:
    made = Clock()
    made.spend(BLACK, 5.0)
    assert made.allot(BLACK, 30) is None


def test_sudden_death_shares_the_time_among_the_moves_to_come() -> None:
    made = clock(60.0)
    allotment = made.allot(BLACK, 30)
    assert allotment is not None and 1.9 < allotment.target < 2.0 and allotment.limit == 3 * allotment.target
    for _ in range(500):  # a very long game: time gets short but never runs out
        allotment = made.allot(BLACK, 10)
        assert allotment is not None and allotment.limit < made.left(BLACK)[0]
        made.spend(BLACK, allotment.limit)
    assert made.left(BLACK)[0] > 0 and made.left(WHITE) == (60.0, 0)


def test_sudden_death_outlives_lag_that_only_the_controller_sees() -> None:
    made = clock(4.0)
    for move in range(40):  # twice as many as are expected on 7x7
        allotment = made.allot(BLACK, max(10, 20 - move))
        assert allotment is not None
        made.spend(BLACK, allotment.target + MOVE_LAG)
    assert made.left(BLACK)[0] > 0.1
    told_late = clock(4.0)
    told_late.tell(BLACK, 0.3, 0)
    allotment = told_late.allot(BLACK, 10)
    assert allotment is not None and 0 < allotment.limit < 0.01 + MOVE_LAG  # nearly all is kept for lag


def test_what_is_left_of_an_allotment() -> None:
    assert Allotment(2.0, 6.0).after(0.5) == Allotment(1.5, 5.5)
    assert Allotment(2.0, 6.0).after(3.0) == Allotment(0.0, 3.0)


def test_time_that_is_told_without_settings() -> None:
    made = Clock()
    made.tell(BLACK, 60.0, 0)
    assert made.settings == TimeSettings(main=60.0)
    assert made.allot(BLACK, 30) == clock(60.0).allot(BLACK, 30)
    made.tell(BLACK, 10.0, 5)
    made.spend(BLACK, 4.0)
    assert made.left(BLACK) == (6.0, 4)
    made.refill()
    assert made.allot(BLACK, 30) is None  # of a new game nothing is known
    made.tell(WHITE, 10.0, 5)
    assert made.settings == TimeSettings(period=10.0, stones=5) and made.left(BLACK) == (10.0, 5)


def test_stones_that_are_told_are_forgotten_in_the_next_game() -> None:
    made = clock(8.0)
    made.tell(BLACK, 3.0, 2)
    made.refill()
    assert made.settings == TimeSettings(main=8.0) and made.left(BLACK) == (8.0, 0)


def test_time_that_is_told_after_no_limit_was_announced() -> None:
    made = Clock()
    made.set(None)
    made.tell(BLACK, 60.0, 0)
    assert made.allot(BLACK, 30) is None


def test_canadian_byo_yomi() -> None:
    made = clock(10.0, 30.0, stones=5)
    assert made.left(BLACK) == (10.0, 0)
    made.spend(BLACK, 12.0)  # 2 s of the first period, and its first stone
    assert made.left(BLACK) == (28.0, 4)
    allotment = made.allot(BLACK, 30)
    assert allotment is not None and allotment.target == pytest.approx(27.8 / 4) and allotment.limit <= 27.8 / 2
    for _ in range(4):
        made.spend(BLACK, 3.0)
    assert made.left(BLACK) == (30.0, 5)  # a new period
    made.tell(BLACK, 7.0, 1)
    assert made.allot(BLACK, 30) == Allotment(6.8, 6.8)


def test_stones_that_a_controller_tells_without_having_announced_them() -> None:
    made = clock(8.0)
    made.tell(BLACK, 3.0, 2)
    given = made.allot(BLACK, 10)
    assert given is not None and (given.target, given.limit) == pytest.approx((1.4, 1.4))


def test_japanese_byo_yomi() -> None:
    made = clock(5.0, 10.0, periods=3)
    made.spend(BLACK, 6.0)
    assert made.left(BLACK) == (10.0, 3)
    made.spend(BLACK, 9.0)
    assert made.left(BLACK) == (10.0, 3)
    made.spend(BLACK, 11.0)
    assert made.left(BLACK) == (10.0, 2)
    assert made.allot(BLACK, 30) == Allotment(9.8, 9.8)


def test_main_time_before_byo_yomi_is_used_freely() -> None:
    made = clock(10.0, 20.0, periods=1)
    allotment = made.allot(BLACK, 100)
    assert allotment is not None and 20.0 <= allotment.target <= 30.0


def test_byo_yomi_alone() -> None:
    assert clock(0.0, 30.0, periods=1).left(BLACK) == (30.0, 1)


def moves(*figures: tuple[int, float]) -> list[MoveStatistics]:
    return [MoveStatistics(str(i), visits, value, id=i) for i, (visits, value) in enumerate(figures)]


TEN = Allotment(10.0, 30.0)

# Root moves (visits, value), playouts, seconds; whether the search may end
CASES = [
    ("second-best can still catch up", moves((600, 0.5), (300, 0.4)), 1000, 5.0, False),
    ("second-best cannot catch up", moves((900, 0.5), (50, 0.4)), 1000, 6.0, True),
    ("the target is reached", moves((600, 0.5), (500, 0.4)), 1100, 10.0, True),
    ("most visited is not best by value", moves((600, 0.5), (500, 0.6)), 1100, 10.0, False),
    ("nor at the limit", moves((600, 0.5), (500, 0.6)), 1100, 30.0, True),
    ("a value of few visits is none", moves((600, 0.5), (20, 0.9)), 1100, 10.0, True),
    ("one move only", moves((10, 0.5)), 10, 0.1, True),
    ("nothing known yet", [], 0, 0.1, False),
    ("no time gone", moves((1, 0.5), (0, 0.0)), 1, 0.0, False),
]


@pytest.mark.parametrize(("what", "root", "playouts", "seconds", "stop"), CASES, ids=[case[0] for case in CASES])
def test_when_to_stop(what: str, root: list[MoveStatistics], playouts: int, seconds: float, stop: bool) -> None:
    assert may_stop(root, playouts, seconds, TEN) is stop


def test_settled_means_that_nobody_can_catch_up() -> None:
    assert is_settled(moves((60, 0.5), (20, 0.4)), 39)
    assert not is_settled(moves((60, 0.5), (20, 0.4)), 40)
    assert is_settled(moves((1, 0.5)), 1000) and not is_settled([], 0)
    root = moves((60, 0.1), (20, 0.4), (5, 0.3))
    root[0].proven = "loss"  # it will not be played, whatever its visits
    assert is_settled(root, 14) and not is_settled(root, 15)


def test_a_proven_win_needs_no_more_search() -> None:
    root = moves((10, 0.9), (9, 0.4))
    root[0].proven = "win"
    assert may_stop(root, 20, 0.1, TEN)
