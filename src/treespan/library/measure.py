"""`treespan.match`, `speedup`, `compare` and `advise`: measurements from Python."""

import contextlib
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from treespan.core.errors import OptionError, for_library, named
from treespan.games.position import Position, as_position
from treespan.games.registry import make_game
from treespan.games.rules import Game
from treespan.lab.match.play import MatchReport, play_match
from treespan.lab.match.referee import MatchSetup
from treespan.lab.match.statistics import Sprt
from treespan.lab.measure import advise as advising
from treespan.lab.measure import compare as comparing
from treespan.lab.measure import speedup as scaling
from treespan.lab.store.records import Records
from treespan.lab.store.runner import OnStep, check_jobs, scaled
from treespan.lab.store.runner import measure as measure_units
from treespan.library.tables import advice_text, comparison_text, comparison_title, speedup_text
from treespan.runtimes.network import Network, find_profile
from treespan.schemes.plan import MPI, SIMULATED, THREADS
from treespan.schemes.registry import SCHEMES, read_scheme
from treespan.schemes.scheme import Scheme
from treespan.search.options import SearchOptions

if TYPE_CHECKING:
    from matplotlib.figure import Figure


def match(
    a: str,
    b: str,
    game: Game | str,
    *,
    games: int = 200,
    jobs: int = 1,
    seed: int = 1,
    sprt: tuple[float, float] | None = None,
    timeout: float = 60.0,
    openings: Sequence[str] = (),
    random_opening: int = 0,
    out: str | Path | None = None,
    resume: bool = False,
    on_game: Callable[[MatchReport], None] | None = None,
) -> MatchReport:
    """Let two players play a match. Ctrl-C ends it with the finished games.

    a, b: players, as "playouts=2000 scheme=shared threads=2", or a Go program as "gtp: gnugo --mode gtp".
    jobs: games at the same time, in processes of their own.
    sprt: end as soon as A's strength is decided to be nearer to the first or to the second Elo difference.
    timeout: seconds that a player has for a move.
    out: a folder for the games; with `resume` a match there goes on.

    >>> import treespan as ts
    >>> report = ts.match("playouts=50", "playouts=50", "tictactoe", games=4)
    >>> report.score.games
    4
    """
    rules = make_game(game)
    setup = MatchSetup(rules.spec(), a, b, seed, timeout, tuple(openings), random_opening)
    test = Sprt(*sprt) if sprt else None
    return play_match(setup, games, jobs, test, Path(out) if out else None, resume, on_game)


CALIBRATE_SECONDS, CALIBRATE_SHARE = 4.0, 0.1  # of advice: to measure messages, as a share of all for the progress


@dataclass(frozen=True)
class ScalingTable:
    """How a scheme scales: a row for each number of ranks. `str()` is a table."""

    plan: scaling.Scaling
    rows: list[scaling.ScalingRow]

    def to_dicts(self) -> list[dict[str, Any]]:
        return [asdict(row) for row in self.rows]

    def plot(self, path: str | Path | None = None) -> "Figure":
        """Draw speed-up and quality; write it to a file if one is named. Returns the figure of Matplotlib."""
        from treespan.lab.measure.plots import speedup_figure, write_figure

        return write_figure(speedup_figure(self.plan, self.rows), path)

    def __str__(self) -> str:
        return speedup_text(self.plan, self.rows)

    __repr__ = __str__


def speedup(
    game: Position | Game | str,
    scheme: str | Scheme,
    *,
    simulate: Sequence[int] = (),
    ranks: Sequence[int] = (),
    threads: Sequence[int] = (),
    playouts: int = 100_000,
    policy: str | None = None,
    network: str = "qdr",
    problems: int = 1,
    seed: int = 1,
    jobs: int = 1,
    out: str | Path | None = None,
    on_step: OnStep | None = None,
) -> ScalingTable:
    """Measure how a scheme scales: speed-up over the sequential df-UCT, and the quality of the search beside it.

    simulate, ranks, threads: numbers of simulated ranks, of MPI ranks and of threads.
    out: a file for the figures; a run that was cut short goes on from there.

    >>> import treespan as ts
    >>> table = ts.speedup("pgame:branching=4", "span", simulate=[1, 4], playouts=500, policy="wait=1ms")
    >>> [row["workers"] for row in table.to_dicts()]
    [1, 4]
    """
    given = {} if policy is None else {"policy": policy}
    method: tuple[Scheme, SearchOptions]
    if isinstance(scheme, str):
        method = read_scheme(scheme, **given)
    else:
        method = scheme, SearchOptions(**{**scheme.default_options(), **given})
    numbers = {SIMULATED: simulate, MPI: ranks, THREADS: threads}
    points = tuple((runtime, count) for runtime, counts in numbers.items() for count in counts)
    start = as_position(game)
    plan = scaling.Scaling(start.game, *method, points, playouts, network, problems, seed, start)
    check_jobs(jobs, plan.real_time)
    with contextlib.ExitStack() as stack:
        records = stack.enter_context(Records(Path(out))) if out is not None else None
        found = measure_units(plan.searches(), records, jobs, on_step)
    return ScalingTable(plan, scaling.rows(plan, found))


@dataclass(frozen=True)
class ComparisonTable:
    """Schemes side by side. `str()` is a table."""

    contest: comparing.Contest
    found: comparing.Comparison

    @property
    def rows(self) -> list[comparing.SchemeRow]:
        return self.found.rows

    def to_dicts(self) -> list[dict[str, Any]]:
        return [asdict(row) for row in self.rows]

    def plot(self, path: str | Path | None = None) -> "Figure":
        """Draw speed and what it is worth; write it to a file if one is named. Returns the figure of Matplotlib."""
        from treespan.lab.measure.plots import comparison_figure, write_figure

        return write_figure(comparison_figure(comparison_title(self.contest), self.rows), path)

    def __str__(self) -> str:
        return for_library(comparison_text(self.contest, self.found))

    __repr__ = __str__


def compare(
    game: Position | Game | str,
    *,
    simulate: int = 0,
    ranks: int = 0,
    threads: int = 0,
    playouts: int | None = None,
    seconds: float | None = None,
    schemes: Sequence[str] = (),
    bandit: str = "ucb1",
    policy: str = "light",
    network: str = "qdr",
    problems: int = 1,
    seed: int = 1,
    jobs: int = 1,
    on_step: OnStep | None = None,
) -> ComparisonTable:
    """Search one problem by all schemes: speed, messages, trees, duplicate work, and the quality of the choice.

    Give one of simulate, ranks and threads, and playouts (20,000 unless told otherwise) or seconds of each search.
    """
    given = [(runtime, count) for runtime, count in ((THREADS, threads), (MPI, ranks), (SIMULATED, simulate)) if count]
    if len(given) != 1:
        raise OptionError(f"give one of {named('threads')}, {named('ranks')} and {named('simulate')}")
    if playouts and seconds:
        raise OptionError(f"{named('playouts')} and {named('seconds')} exclude each other; give one")
    contest = comparing.Contest(
        start=as_position(game),
        runtime=given[0][0],
        workers=given[0][1],
        playouts=0 if seconds else playouts or comparing.DEFAULT_PLAYOUTS,
        seconds=seconds or 0.0,
        schemes=tuple(schemes),
        bandit=bandit,
        policy=policy,
        network=network,
        problems=problems,
        seed=seed,
    )
    return ComparisonTable(contest, comparing.compare(contest, jobs, on_step))


@dataclass(frozen=True)
class AdviceTable:
    """Which scheme to use on a cluster, and what each was predicted to do. `str()` is a table with the advice."""

    question: advising.Question
    advice: advising.Advice
    network: Network

    @property
    def command(self) -> str:
        """The advised search as a command line."""
        question = self.question
        return self.advice.best.candidate.command(question.game, question.policy, question.machines)

    @property
    def scheme(self) -> str:
        """The advised scheme."""
        return self.advice.best.candidate.scheme

    def to_dicts(self) -> list[dict[str, Any]]:
        return [asdict(row) for row in self.advice.predictions]

    def __str__(self) -> str:
        return advice_text(self.advice, self.command, self.network.name)

    __repr__ = __str__


def advise(
    game: Position | Game | str,
    *,
    machines: int = 16,
    cores: int = 1,
    network: str | None = None,
    policy: str = "light",
    playouts: int = 0,
    searches: int = 3,
    jobs: int = 1,
    on_step: OnStep | None = None,
) -> AdviceTable:
    """Measure playouts on this machine, simulate the schemes, and recommend one for a cluster.

    network: a profile's name or a file; None: messages are measured on this machine.
    """
    tried = advising.candidates(machines, cores, set(SCHEMES))
    question = advising.Question(as_position(game), tried, policy, playouts, searches, machines)
    if network is None:
        from treespan.lab.measure.calibrate import calibrate

        profile = calibrate("here", CALIBRATE_SECONDS, scaled(on_step, 0.0, CALIBRATE_SHARE))
        on_step = scaled(on_step, CALIBRATE_SHARE, 1.0)
    else:
        profile = find_profile(network)
    return AdviceTable(question, advising.advise(question, profile, jobs, on_step), profile)
