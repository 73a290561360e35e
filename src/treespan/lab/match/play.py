"""A match of two players: games in several processes, the score as it grows, and an early end by SPRT.

Read `referee.py` for one game, `players.py` for who plays, `statistics.py` for what the score means.
"""

import contextlib
from collections import Counter
from collections.abc import Callable, Generator, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from treespan.core.errors import OptionError, TreespanError, named
from treespan.core.options import check_range
from treespan.games.registry import make_game
from treespan.games.rules import Game
from treespan.lab.match.match_folder import MatchFolder
from treespan.lab.match.referee import SIDES, GameRecord, MatchSetup, Opponents, check_openings
from treespan.lab.match.statistics import Score, Sprt, elo, wilson
from treespan.lab.match.text import SHOWN_GAMES, match_text, score_line
from treespan.lab.store.pool import UnitError, WorkerDied
from treespan.lab.store.runner import Kept, Report, check_jobs, results

MAX_GAMES = 1_000_000


class MatchError(TreespanError):
    """The match cannot go on; finished games are kept."""


@dataclass(repr=False)
class MatchReport:
    """The result of `treespan.match`: the finished games and A's score. `str()` returns tables.

    >>> import treespan as ts
    >>> report = ts.match("playouts=50", "playouts=50", "tictactoe", games=2)
    >>> report.score.games, report.decision, report.faults()
    (2, None, {'A': {}, 'B': {}})
    """

    setup: MatchSetup
    records: list[GameRecord]  # of the games that count, in order
    sprt: Sprt | None = None  # the test that may end the match early
    interrupted: bool = False  # by Ctrl-C
    score: Score = field(init=False)  # A's
    by_first: dict[str, Score] = field(init=False)  # A's score in the games in which A, or B, is the first player

    def __post_init__(self) -> None:
        self.by_first = {side: score_of(r for r in self.records if r.first == side) for side in SIDES}
        self.score = self.by_first["A"] + self.by_first["B"]

    def __str__(self) -> str:
        return match_text(self, games=SHOWN_GAMES)

    def __repr__(self) -> str:
        return f"<match of {self.setup.game}: A {score_line(self)}>"

    @property
    def interval(self) -> tuple[float, float]:
        """The 95 % interval of A's score."""
        return wilson(self.score.rate, self.score.games)

    @property
    def elo(self) -> tuple[float, float, float]:
        """The Elo difference of A over B, and the ends of its interval."""
        low, high = self.interval
        return elo(self.score.rate), elo(low), elo(high)

    @property
    def decision(self) -> str | None:
        """What the test that may end the match early has decided; None if it has not, or if there is no test."""
        return self.sprt.decision(self.score) if self.sprt else None

    def faults(self) -> dict[str, dict[str, int]]:
        """Return, for each player, how many games it lost by each kind of fault, such as an illegal move."""
        lost = {"A": "B", "B": "A"}
        found: dict[str, Counter[str]] = {side: Counter() for side in SIDES}
        for record in self.records:
            if record.reason not in ("score", "resignation") and record.winner:
                found[lost[record.winner]][record.reason] += 1
        return {side: dict(counter) for side, counter in found.items()}

    def disputes(self) -> dict[str, list[int]]:
        """Return, for each player, the games in which it disagreed with the referee about the winner."""
        return {side: [r.game for r in self.records if side in r.disputes()] for side in SIDES}

    def margin_disputes(self) -> dict[str, int]:
        """Return, for each player, the number of games in which it disagreed about the score, but not the winner.

        A player that counts territory instead of area disagrees, for example.
        """
        return {
            side: sum(
                side in r.claims and r.claims[side] != r.result and side not in r.disputes() for r in self.records
            )
            for side in SIDES
        }

    def as_json(self) -> dict[str, Any]:
        """Return the report as a dictionary: `treespan match --json` prints it."""
        finite = {float("inf"): None, float("-inf"): None}
        difference, low, high = (finite.get(value, value) for value in self.elo)
        plies = sum(len(record.moves) for record in self.records)
        document: dict[str, Any] = {
            "game": self.setup.game,
            "A": self.setup.a,
            "B": self.setup.b,
            "seed": self.setup.seed,
            "games": self.score.games,
            "wins": self.score.wins,
            "losses": self.score.losses,
            "draws": self.score.draws,
            "rate": self.score.rate,
            "interval": list(self.interval),
            "elo": difference,
            "elo_interval": [low, high],
            "A_first": _numbers(self.by_first["A"]),
            "B_first": _numbers(self.by_first["B"].turned()),
            "plies_per_game": plies / max(len(self.records), 1),
            "seconds": {side: sum(r.seconds.get(side, 0.0) for r in self.records) for side in SIDES},
            "faults": self.faults(),
            "disputes": self.disputes(),
            "interrupted": self.interrupted,
        }
        if self.sprt:
            document["sprt"] = {
                "elo0": self.sprt.elo0,
                "elo1": self.sprt.elo1,
                "ratio": self.sprt.ratio(self.score),
                "bound": self.sprt.bound,
                "decision": self.decision,
            }
        return document


def _numbers(score: Score) -> dict[str, int]:
    """Return a score's counts."""
    return {"wins": score.wins, "losses": score.losses, "draws": score.draws}


def score_of(records: Iterator[GameRecord] | Sequence[GameRecord]) -> Score:
    """Return A's score in some games."""
    winners = Counter(record.winner for record in records)
    return Score(winners["A"], winners["B"], winners[None])


def counted(records: Sequence[GameRecord], sprt: Sprt | None) -> list[GameRecord]:
    """Return the games that count, in order.

    An SPRT counts games up to its decision, and only those before which no game is missing. Games that end early are no
    fair sample, and the result must not depend on which process was faster.
    """
    ordered = sorted(records, key=lambda record: record.game)
    if sprt is None:
        return ordered
    taken: list[GameRecord] = []
    score = Score()
    for number, record in enumerate(ordered):
        if record.game != number:
            break
        taken.append(record)
        score += score_of([record])
        if sprt.decision(score):
            break
    return taken


OnGame = Callable[[MatchReport], None]  # called after every game


def play_match(
    setup: MatchSetup,
    games: int,
    jobs: int = 1,
    sprt: Sprt | None = None,
    out: Path | None = None,
    resume: bool = False,
    on_game: OnGame | None = None,
    rules: Game | None = None,
) -> MatchReport:
    """Play a match of `games` games, or go on with one. Ctrl-C ends it with the finished games.

    rules: the game, if the setup's text cannot name it.
    """
    check_range("games", games, 1, MAX_GAMES)
    check_jobs(jobs)
    if resume and out is None:
        raise OptionError(f"{named('resume')} needs the folder of the match; give {named('out')}")
    game = rules or make_game(setup.game)
    check_openings(setup, game)
    kept = Kept()
    opponents = PlayedGame(setup, 0, rules).opponents(kept)
    folder = MatchFolder(out, setup, game, resume) if out else None
    records = [record for record in folder.records if record.game < games] if folder else []
    with contextlib.ExitStack() as stack:
        stack.callback(kept.close)
        if folder:
            stack.callback(folder.close)
        done = {record.game for record in records}
        missing = [number for number in range(games) if number not in done]
        report = MatchReport(setup, counted(records, sprt), sprt)
        try:
            if missing and not report.decision:
                opponents.check()
                if jobs > 1:
                    kept.close()  # each process has its own
                played = play_games([PlayedGame(setup, number, rules) for number in missing], jobs, kept)
                stack.callback(played.close)
                for record in played:
                    records.append(record)
                    if folder:
                        folder.add(record)
                    report = MatchReport(setup, counted(records, sprt), sprt)
                    if on_game:
                        on_game(report)
                    if report.decision:
                        break
        except KeyboardInterrupt:
            finished = folder.read_log() if folder else records  # the last game may be written but not yet counted
            report = MatchReport(setup, counted(finished, sprt), sprt, interrupted=True)
        return report


@dataclass(frozen=True)
class PlayedGame:
    """One game of a match as a unit of work."""

    setup: MatchSetup
    number: int
    rules: Game | None = None  # the game, if the setup's text cannot name it

    def opponents(self, kept: Kept) -> Opponents:
        """Return the players, which stay from game to game."""
        opponents: Opponents = kept.get(
            (self.setup, self.rules), lambda: Opponents(self.setup, self.rules or make_game(self.setup.game))
        )
        return opponents

    def run(self, kept: Kept, report: Report | None = None) -> GameRecord:
        return self.opponents(kept).play(self.number)

    def expected_seconds(self) -> float:
        return 1.0

    def describe(self) -> str:
        return f"game {self.number}"


def play_games(games: Sequence[PlayedGame], jobs: int, kept: Kept | None = None) -> Generator[GameRecord, None, None]:
    """Play the games, and yield each when it is over. Closing the generator ends its processes.

    Raises MatchError for a fault that is no player's, such as an error in the game's rules.
    """
    try:
        yield from (record for _, record in results(games, jobs, kept=kept))
    except WorkerDied as death:
        raise MatchError(f"{death.message}; give {named('resume')} to go on after the finished games") from None
    except UnitError as error:
        raise MatchError(error.message) from error
