"""Lines that fit a terminal."""

import shlex

import pytest

from treespan.core.folding import fold, fold_command
from treespan.core.tables import as_text, plain_table

SPEC = "span:grant=3,jobs=80,threshold=8,prior_visits=10,nodes=1000000,bandit=rave,widening=0.5"
LINE = f"10,000 playouts in 1.23 s on 4 simulated ranks, {SPEC}: 8,130 playouts/s"
WIDTHS = range(20, 121)


@pytest.mark.parametrize("width", WIDTHS)
def test_a_folded_line_fits_and_loses_nothing(width):
    folded = fold(LINE, width)
    assert all(len(line) <= width for line in folded)
    assert "".join("".join(folded).split()) == "".join(LINE.split())


@pytest.mark.parametrize("width", WIDTHS)
def test_a_long_word_that_is_no_spec_stays_whole(width):
    path = "/home/someone/results-of-today/a=1,b=2/" + 100 * "x" + ".sgf"
    folded = fold(f"saved {path} and said so", width)
    assert any(path in line for line in folded)
    assert folded[0] == "saved"


def test_a_spec_that_fits_a_line_stays_whole():
    assert fold("playouts on 4 ranks, span:grant=3,jobs=80", 30) == ["playouts on 4 ranks,", "  span:grant=3,jobs=80"]


def test_a_longer_spec_is_broken_after_commas():
    assert fold("on span:grant=3,jobs=80,threshold=8", 24) == ["on span:grant=3,jobs=80,", "  threshold=8"]


def test_blanks_before_a_line_stay():
    assert fold("    one two three", 12, "      ") == ["    one two", "      three"]


def test_a_short_line_stays_as_it_is():
    assert fold(" a  b ", 20) == [" a  b "]


@pytest.mark.parametrize("width", range(30, 121))
def test_a_folded_command_is_the_same_to_a_shell(width):
    command = "mpiexec -n 32 treespan search 'my game.py' --scheme span --policy light --seconds 5"
    folded = fold_command(command, width, "  ")
    assert all(len(line) <= width for line in folded)
    assert all(line.endswith(" \\") for line in folded[:-1])
    assert shlex.split("\n".join(folded).replace("\\\n", "")) == shlex.split(command)
    assert any("--policy light" in line for line in folded)


@pytest.mark.parametrize("width", WIDTHS)
def test_a_table_with_long_specs_fits(width):
    table = plain_table("scheme", "playouts/s", "speed-up", "best share")
    table.add_row(SPEC, "1,000,000", "31.20", "99.9%")
    assert all(len(line) <= width for line in as_text(table, width).splitlines())


def test_a_table_is_80_columns_wide_if_nobody_says_otherwise():
    table = plain_table("scheme", *(f"column {number}" for number in range(12)))
    table.add_row("span", *("1,000" for _ in range(12)))
    assert all(len(line) <= 80 for line in as_text(table).splitlines())


def test_a_long_first_column_leaves_room_for_the_others():
    table = plain_table("scheme", "playouts/s", "speed-up", "best share")
    table.add_row(SPEC, "1,000,000", "31.20", "99.9%")
    assert "\n\n" not in as_text(table, 80)
    assert "span:grant=3,jobs=80," in as_text(table, 80)
