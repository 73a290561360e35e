"""What records become: values with their ranges, sheets with gaps, findings in words."""

import pytest

from treespan.lab.match.statistics import wilson
from treespan.lab.papers.study import (
    Block,
    Cell,
    Sheet,
    Study,
    Value,
    Verdict,
    compare,
    judge,
    mean_of,
    score_of_a,
    score_of_first,
    share_of,
    win_rate,
)
from treespan.lab.papers.units import MatchGame
from treespan.lab.store.records import Figures, Key

BLOCK = Block("rates")
GAMES = [MatchGame("tictactoe", "--playouts 5", "--playouts 5", number) for number in range(4)]


def game(winner: str | None, first: str = "A", **more: object) -> Figures:
    return {"winner": winner, "first": first, "reason": "score", **more}


def sheet_of(records: dict[int, Figures], **options: object) -> Sheet:
    """A sheet of one cell over four games, of which some have records."""
    cell = Cell(BLOCK, "row", "column", GAMES, win_rate(score_of_a), 0.5, is_share=True, **options)  # type: ignore[arg-type]
    study = Study("test.table", "a test", "real", lambda scale: [cell] if scale == "full" or records else [])

    def find(key: Key) -> Figures | None:
        return records.get(int(key["number"]))

    return Sheet(study, "full", find)


def test_means_have_their_extremes() -> None:
    records = [{"depth": 2}, {"depth": 4}]
    assert mean_of("depth")(records) == Value(3.0, 2.0, 4.0, 2)
    assert mean_of(lambda record: 10 * record["depth"])(records) == Value(30.0, 20.0, 40.0, 2)


def test_a_figure_that_a_record_lacks_has_no_mean() -> None:
    assert mean_of("depth")([{"depth": 2}, {"depth": None}]) is None
    assert share_of("optimal")([{"optimal": None}]) is None


def test_shares_and_win_rates_have_wilson_s_interval() -> None:
    assert share_of("optimal")([{"optimal": True}, {"optimal": False}]) == Value(0.5, *wilson(0.5, 2), 2, True)
    records = [game("A"), game("B", "B"), game(None), game("A", "B")]
    assert win_rate(score_of_a)(records) == Value(0.625, *wilson(0.625, 4), 4, True)
    assert win_rate(score_of_first)(records) == Value(0.625, *wilson(0.625, 4), 4, True)
    assert str(score_of_a(records)) == "2–1–1" and str(score_of_first(records)) == "2–1–1"
    assert str(score_of_first(records[3:])) == "0–1–0"


def test_a_cell_without_records_has_no_value() -> None:
    (filled,) = sheet_of({})
    assert filled.value is None and filled.ratio is None and not filled.is_partial


def test_a_cell_may_be_filled_in_part() -> None:
    (filled,) = sheet_of({0: game("A"), 2: game("B")})
    assert filled.value and filled.value.count == 2 and filled.is_partial and filled.ratio == pytest.approx(1.0)
    (filled,) = sheet_of({0: game("A"), 2: game("B")}, needs_all=True)
    assert filled.value is None


def test_what_is_done_in_part_counts_for_no_claim() -> None:
    (filled,) = sheet_of({0: game("A"), 2: game("B")}).settled()
    assert filled.value is None
    (filled,) = sheet_of({number: game("A") for number in range(4)}).settled()
    assert filled.value and filled.value.mean == 1.0


def test_a_full_tree_is_counted_once_however_many_cells_stand_on_it() -> None:
    cells = [Cell(BLOCK, f"row {i}", "column", GAMES, win_rate(score_of_a)) for i in range(3)]
    sheet = Sheet(
        Study("test.table", "a test", "real", lambda scale: cells), "full", lambda key: game("A", tree_full=True)
    )
    assert sheet.full_trees == len(GAMES)


def test_faults_and_full_trees_are_counted() -> None:
    sheet = sheet_of({0: game("A", reason="time"), 1: game("B", reason="resignation"), 2: game("A", tree_full=True)})
    assert sheet.faults == 1 and sheet.full_trees == 1


def test_a_unit_that_cannot_be_done_says_why() -> None:
    (filled,) = sheet_of({number: {"error": "no such thing"} for number in range(4)})
    assert filled.value is None and filled.obstacle == "no such thing"


def test_findings_count_what_was_run() -> None:
    low, high = Value(0.3, 0.2, 0.4, 9), Value(0.8, 0.7, 0.9, 9)
    rises = compare("It rises", [(high, low), (low, high), (None, low)], lambda a, b: a > b)
    assert rises == Verdict("It rises", 1, 2, 3)
    assert str(rises) == "It rises: holds in part, in 1 of 2 comparisons (1 not run)."
    assert (
        str(judge("It is high", [high], lambda value: value.low > 0.5)) == "It is high: holds, in 1 of 1 comparisons."
    )
    assert str(judge("It is high", [low], lambda v: v.low > 0.5)) == "It is high: does not hold, in 0 of 1 comparisons."
    assert str(judge("It is high", [None], lambda value: True)) == "It is high: not run."
