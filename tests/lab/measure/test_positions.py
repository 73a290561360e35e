"""The suite of positions: its files are sound, mistakes in a file are told, and searches are counted right."""

import json
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from treespan.core.errors import OptionError, PositionError
from treespan.lab.measure.positions import KINDS, Setup, all_setups, read_problem, read_suite, search_suite

SOUND = """kind: capture
game: go:size=5
good: B5
reason: The stone has one liberty.
verified: by looking.

O . . . .
X . . . .
. . . . .
. . . . .
. . . . .
black to play, komi 0.5
"""


def test_the_suite_is_sound_and_has_some_of_every_kind() -> None:
    problems = read_suite()  # parses every file, and checks that its moves are legal
    kinds = Counter(problem.kind for problem in problems)
    assert set(kinds) == set(KINDS) and min(kinds.values()) >= 6, f"{kinds}"
    assert all(len(problem.reason) > 20 for problem in problems)
    assert len({problem.position.key for problem in problems}) == len(problems)


def test_the_suite_is_found_from_anywhere(treespan: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    search = ("--playouts", "1", "--options", "policy=light,bandit=ucb1")
    status, out, _ = treespan("bench", "positions", "--kinds", "capture", *search, "--json")
    assert status == 0 and json.loads(out)[0]["tried"]["capture"] >= 6


MISTAKES = [
    ("kind: capture", "kind: captur", "unknown kind of position 'captur'; did you mean 'capture'?"),
    ("good: B5", "god: B5", "unknown field 'god'; did you mean 'good'?"),
    ("good: B5", "good: A5", "the good move A5 is not legal"),
    ("good: B5", "good: Z9", "'Z9' is not a point"),
    ("good: B5\n", "", "neither good nor bad moves are given"),
    ("good: B5", "good: B5\nbad: B5", "a move is both good and bad"),
    ("reason: The stone has one liberty.", "reason:", "the field 'reason' is missing"),
    ("kind: capture", "capture", "'capture' is not of the form `word: value`"),
    ("O . . . .", "O . . .", "a diagram has 5 rows of 5"),
]


@pytest.mark.parametrize(("part", "mistake", "message"), MISTAKES)
def test_mistakes_in_a_file(part: str, mistake: str, message: str, tmp_path: Path) -> None:
    path = tmp_path / "one.txt"
    path.write_text(SOUND.replace(part, mistake))
    with pytest.raises(PositionError) as refusal:
        read_problem(path)
    assert str(path) in str(refusal.value) and message in str(refusal.value)


def test_missing_files(tmp_path: Path) -> None:
    with pytest.raises(PositionError, match=r"no positions there; they are files \*.txt"):
        read_suite([tmp_path])
    with pytest.raises(PositionError, match="there is no file or folder"):
        read_suite([tmp_path / "none"])


def test_right_moves_are_counted(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text(SOUND)
    (tmp_path / "b.txt").write_text(SOUND.replace("good: B5", "bad: B5"))
    problems = read_suite([tmp_path])
    (row,) = search_suite(problems, [Setup("light", "policy=light,bandit=ucb1")], [200], 2)
    assert row.tried["capture"] == 4
    # Whatever is chosen, it is right in one of the two files.
    assert row.right["capture"] == 2 and row.share() == row.share("capture") == 0.5 and len(row.wrong) == 2


def test_setups_are_with_and_without_each_part() -> None:
    options = [setup.options for setup in all_setups(50)]
    assert len(set(options)) == 8 and options[0] == ""
    assert sum("expertise=50" in o for o in options) == sum("conditioning=yes" in o for o in options) == 4


def test_wrong_options_are_refused(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text(SOUND)
    with pytest.raises(OptionError, match="unknown"):
        Setup("x", "nonsense=1").search(read_suite([tmp_path])[0], 1)
