"""A suite of positions with known good or bad moves. It counts how often a search chooses right, by kind of position.

A position is a text file: lines `word: value`, an empty line, then the game's diagram.

    kind: semeai-play
    game: go:size=9
    good: E1 F1
    reason: Three liberties each: whoever moves first wins the race.
    verified: who or what confirmed it, in words.

A move is right if it is one of `good`. In a position that lists only `bad` moves, all others are right. The package has
positions of its own, in `suite/`.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

from treespan.core.errors import PositionError, TreespanError, unknown_name
from treespan.games.position import Position
from treespan.games.registry import make_game
from treespan.lab.measure.searches import Search, start_of
from treespan.lab.store.runner import OnStep, check_jobs, measure
from treespan.schemes.plan import Budget, Plan
from treespan.schemes.registry import read_scheme

KINDS = {
    "semeai-play": "a race for liberties that the next move wins",
    "semeai-won": "a race that is won already, where a move is wasted",
    "rave-trap": "the good move works only if it is played at once",
    "capture": "a chain to be caught or saved",
    "ladder": "a long series of ataris to be read",
    "life-death": "a group that lives or dies by the next move",
}
FIELDS = ("kind", "game", "good", "bad", "reason", "verified")
SUFFIX = ".txt"
SUITE = Path(__file__).parent / "suite"  # the package's own positions
WITHOUT_RAVE = "bandit=ucb1"


@dataclass(frozen=True)
class Problem:
    """A position of the suite."""

    name: str
    kind: str
    position: Position
    good: frozenset[int]
    bad: frozenset[int]
    reason: str

    def is_right(self, move: int) -> bool:
        return move in self.good if self.good else move not in self.bad


def read_problem(path: Path) -> Problem:
    """Read a position from its file. Raises PositionError, with the file's name, if the file is not sound."""
    try:
        head, _, diagram = path.read_text(encoding="utf-8").partition("\n\n")
        return _problem(path.stem, _fields(head), diagram)
    except (OSError, UnicodeDecodeError) as error:
        raise PositionError(f"{path}: cannot be read: {error}") from None
    except TreespanError as error:
        raise PositionError(f"{path}: {error.message}") from None


def _fields(head: str) -> dict[str, str]:
    fields: dict[str, str] = {}
    for line in head.splitlines():
        word, colon, value = line.partition(":")
        if not colon:
            raise PositionError(f"'{line}' is not of the form `word: value`")
        if word.strip() not in FIELDS:
            raise unknown_name("field", word.strip(), FIELDS)
        fields[word.strip()] = value.strip()
    for field in ("kind", "game", "reason", "verified"):
        if not fields.get(field):
            raise PositionError(f"the field '{field}' is missing")
    if fields["kind"] not in KINDS:
        raise unknown_name("kind of position", fields["kind"], KINDS)
    return fields


def _problem(name: str, fields: dict[str, str], diagram: str) -> Problem:
    game = make_game(fields["game"])
    position = Position(game, game.read_diagram(diagram))
    moves = {}
    for field in ("good", "bad"):
        moves[field] = frozenset(game.parse_move(text) for text in fields.get(field, "").split())
        for move in moves[field] - set(position.legal_moves):
            raise PositionError(f"the {field} move {game.move_name(move)} is not legal")
    if not moves["good"] and not moves["bad"]:
        raise PositionError("neither good nor bad moves are given")
    if moves["good"] & moves["bad"]:
        raise PositionError("a move is both good and bad")
    return Problem(name, fields["kind"], position, moves["good"], moves["bad"], fields["reason"])


def read_suite(paths: Iterable[Path] = (SUITE,)) -> list[Problem]:
    """Read the positions of files, and of all text files in folders, in the order of their names."""
    files: list[Path] = []
    for path in paths:
        if path.is_dir():
            files += sorted(path.glob("*" + SUFFIX))
        elif path.exists():
            files.append(path)
        else:
            raise PositionError(f"there is no file or folder {path}; give a file or a folder of positions")
    if not files:
        raise PositionError(f"no positions there; they are files *{SUFFIX}")
    return [read_problem(file) for file in files]


@dataclass(frozen=True)
class Setup:
    """One way to search the suite."""

    name: str
    options: str

    def search(self, problem: Problem, playouts: int, seed: int = 1) -> Search:
        """Return the search of a problem."""
        position = problem.position
        method = read_scheme(f"sequential:{self.options}", position.game)
        plan = Plan(*method, Budget(playouts=playouts), seed)
        return Search(position.game, plan, seed, **start_of(position))


def all_setups(expertise: float) -> list[Setup]:
    """Return setups with and without RAVE, expertise and conditioning; the latter two as in bourki2010, Table 3."""
    setups = []
    for bandit, name in (("", "RAVE"), (WITHOUT_RAVE, "no RAVE")):
        for solver, remark in (
            ("", ""),
            (f"expertise={expertise:g}", ", expertise"),
            ("conditioning=yes", ", conditioning"),
            (f"expertise={expertise:g},conditioning=yes", ", both"),
        ):
            setups.append(Setup(name + remark, ",".join(filter(None, (bandit, solver)))))
    return setups


@dataclass
class SuiteRow:
    """How one setup did at one number of playouts."""

    setup: str
    options: str
    playouts: int
    right: dict[str, int]  # right moves by kind
    tried: dict[str, int]  # searches by kind
    wrong: list[str]  # positions, each with the wrong move that was chosen

    def share(self, kind: str | None = None) -> float:
        """Return the share of right moves, for one kind of position or for all."""
        kinds = [kind] if kind else list(self.tried)
        return sum(self.right[k] for k in kinds) / sum(self.tried[k] for k in kinds)


def search_suite(
    problems: Sequence[Problem],
    setups: Sequence[Setup],
    counts: Sequence[int],
    repeats: int = 1,
    jobs: int = 1,
    on_step: OnStep | None = None,
) -> list[SuiteRow]:
    """Search every position `repeats` times, with the seeds 1, 2, ... Returns a row for each count and setup."""
    check_jobs(jobs)
    searches = {
        (count, setup): [
            (problem, setup.search(problem, count, seed)) for problem in problems for seed in range(1, repeats + 1)
        ]
        for count in counts
        for setup in setups
    }
    found = measure((search for own in searches.values() for _, search in own), jobs=jobs, on_step=on_step)
    kinds = [kind for kind in KINDS if any(problem.kind == kind for problem in problems)]
    rows = []
    for (count, setup), own in searches.items():
        row = SuiteRow(setup.name, setup.options, count, dict.fromkeys(kinds, 0), dict.fromkeys(kinds, 0), [])
        for problem, search in own:
            move = str(found[search]["move"])
            row.tried[problem.kind] += 1
            if problem.is_right(problem.position.game.parse_move(move)):
                row.right[problem.kind] += 1
            else:
                row.wrong.append(f"{problem.name} {move}")
        rows.append(row)
    return rows
