"""`treespan.match`, `speedup`, `compare` and `advise`: measurements from Python."""

import contextlib
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from treespan.core.arguments import checked
from treespan.core.errors import OptionError, named
from treespan.core.options import check_range
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
from treespan.runtimes.together import by_first_rank, meet, together
from treespan.schemes.plan import MPI, SIMULATED, THREADS, Budget
from treespan.schemes.registry import SCHEMES, read_scheme
from treespan.schemes.scheme import Scheme
from treespan.search.options import SearchOptions

if TYPE_CHECKING:
    from matplotlib.figure import Figure


@by_first_rank
@checked
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
    """Let two players play a match. Ctrl-C ends it, and the result is that of the finished games.

    a, b: the players, each a text: options of a search, such as "playouts=2000 scheme=shared threads=2", or a Go
        program, such as "gtp: gnugo --mode gtp".
    game: a game, or its spec, such as "go:size=9".
    games: the number of games.
    jobs: the number of games at the same time, each in a process of its own.
    seed: the same seed repeats the games, if the players search by playouts and not by seconds.
    sprt: two Elo differences, such as (0, 50). The match ends as soon as the games decide which of the two is nearer to
        A's lead over B (a sequential probability ratio test).
    timeout: the seconds that a player has for a move.
    openings: the moves that games begin with, a text for each opening. Two games begin with each opening, and the
        players change sides between them.
    random_opening: the number of random moves that games begin with.
    out: a folder for the games.
    resume: whether to go on with the match in `out`.
    on_game: a function that is called with a report after each game.

    Returns a report with score, confidence interval and Elo difference, all from A's side. Raises OptionError for
    options that do not fit or a player that cannot play, and TreespanError if the match cannot go on.

    >>> import treespan as ts
    >>> report = ts.match("playouts=50", "playouts=50", "tictactoe", games=4)
    >>> report.score.games
    4
    """
    rules = make_game(game)
    setup = MatchSetup(rules.spec(), a, b, seed, timeout, tuple(openings), random_opening)
    test = Sprt(*sprt) if sprt else None
    return play_match(setup, games, jobs, test, Path(out) if out else None, resume, on_game, rules)


CALIBRATE_SECONDS, CALIBRATE_SHARE = 4.0, 0.1  # advise measures messages for this time; its share of the progress


@dataclass(frozen=True)
class ScalingTable:
    """The result of `treespan.speedup`: how a scheme scales. `str()` returns a table.

    >>> import treespan as ts
    >>> table = ts.speedup("pgame:branching=4", "span", simulate=[1, 4], playouts=500, policy="wait=1ms")
    >>> [f"{row.workers} ranks: {row.speedup:.1f}" for row in table.rows]
    ['1 ranks: 1.0', '4 ranks: 2.9']
    """

    plan: scaling.Scaling  # what was measured
    rows: list[scaling.ScalingRow]  # a row for each number of ranks or threads

    def to_dicts(self) -> list[dict[str, Any]]:
        """Return the rows as dictionaries, as for `pandas.DataFrame`."""
        return [asdict(row) for row in self.rows]

    @checked
    def plot(self, path: str | Path | None = None) -> "Figure":
        """Draw speed-up and quality. Writes the picture if `path` names a file. Returns Matplotlib's figure."""
        from treespan.lab.measure.plots import speedup_figure, write_figure

        return write_figure(speedup_figure(self.plan, self.rows), path)

    def __str__(self) -> str:
        return speedup_text(self.plan, self.rows)

    __repr__ = __str__


@by_first_rank
@checked
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
    """Measure how a scheme scales: its speed-up over the sequential search, and the quality of its search.

    The sequential search is df-UCT with the scheme's options; with RAVE it is UCT.

    game: a position, a game, or the spec of a game, such as "go:size=9".
    scheme: a scheme, or its spec, such as "span:grant=3".
    simulate, ranks, threads: the numbers of simulated ranks, of MPI ranks and of threads, such as [1, 16, 256].
    playouts: the playouts of each search.
    policy: the policy of the playouts; None: the game's own.
    network: the network of simulated ranks: the name or the file of a profile.
    problems: the number of searches for each row, with different seeds; the table has their means.
    seed: the seed of the first of these.
    jobs: the number of searches at the same time; more than 1 only if all ranks are simulated.
    out: a file for the results of single searches, from which an interrupted run goes on.
    on_step: a function that is called with an object `step` as the run goes on. `step.done` is the share that is done,
        and `str(step)` says what is running.

    Returns a table. Raises OptionError for options that do not fit.

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
    """The result of `treespan.compare`: schemes side by side. `str()` returns a table.

    >>> import treespan as ts
    >>> table = ts.compare("pgame:branching=4", simulate=4, playouts=300, schemes=["span"])
    >>> [row.scheme for row in table.rows]
    ['sequential', 'span']
    """

    contest: comparing.Contest  # what was measured
    found: comparing.Comparison

    @property
    def rows(self) -> list[comparing.SchemeRow]:
        """A row for each scheme."""
        return self.found.rows

    def to_dicts(self) -> list[dict[str, Any]]:
        """Return the rows as dictionaries, as for `pandas.DataFrame`."""
        return [asdict(row) for row in self.rows]

    @checked
    def plot(self, path: str | Path | None = None) -> "Figure":
        """Draw speed and quality. Writes the picture if `path` names a file. Returns Matplotlib's figure."""
        from treespan.lab.measure.plots import comparison_figure, write_figure

        return write_figure(comparison_figure(comparison_title(self.contest), self.rows), path)

    def __str__(self) -> str:
        return comparison_text(self.contest, self.found)

    __repr__ = __str__


@by_first_rank
@checked
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

    game: a position, a game, or the spec of a game, such as "go:size=9".
    simulate, ranks, threads: the number of simulated ranks, of MPI ranks or of threads; give exactly one of them.
    playouts, seconds: the budget of each search; give at most one. 20,000 playouts if you give neither.
    schemes: the specs of the schemes; empty: all schemes.
    bandit, policy: the bandit and the policy of each search.
    network: the network of simulated ranks: the name or the file of a profile.
    problems: the number of searches for each scheme, with different seeds; the table has their means.
    seed: the seed of the first of these.
    jobs: the number of searches at the same time; more than 1 only if all ranks are simulated.
    on_step: a function that is called with an object `step` as the run goes on. `step.done` is the share that is done,
        and `str(step)` says what is running.

    Returns a table. Raises OptionError for options that do not fit.

    >>> import treespan as ts
    >>> table = ts.compare("pgame:branching=4", simulate=4, playouts=300, schemes=["tds-uct", "span"])
    >>> sorted(row["scheme"] for row in table.to_dicts())
    ['sequential', 'span', 'tds-uct']
    """
    given = [(runtime, count) for runtime, count in ((THREADS, threads), (MPI, ranks), (SIMULATED, simulate)) if count]
    if len(given) != 1:
        which = f"{named('threads')}, {named('ranks')} and {named('simulate')}"
        raise OptionError(f"nothing to compare on; give one of {which}")
    if playouts is not None and seconds is not None:
        raise OptionError(f"{named('playouts')} and {named('seconds')} exclude each other; give one")
    if playouts is None and seconds is None:
        playouts = comparing.DEFAULT_PLAYOUTS
    budget = Budget(playouts, seconds)
    contest = comparing.Contest(
        start=as_position(game),
        runtime=given[0][0],
        workers=given[0][1],
        playouts=budget.playouts or 0,
        seconds=budget.seconds or 0.0,
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
    """The result of `treespan.advise`: the best scheme, and a prediction for each scheme. `str()` returns a table.

    >>> import treespan as ts
    >>> few = {"machines": 4, "network": "qdr", "playouts": 300, "searches": 1}
    >>> advice = ts.advise("pgame:branching=4", policy="wait=1ms", **few)
    >>> advice.command.startswith("mpiexec -n 4 treespan search pgame:branching=4 --scheme")
    True
    """

    question: advising.Question  # what was measured
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
        """Return the predictions as dictionaries, as for `pandas.DataFrame`."""
        return [asdict(row) for row in self.advice.predictions]

    def __str__(self) -> str:
        return advice_text(self.advice, self.command, self.network.name)

    __repr__ = __str__


@together(lambda *_, **__: True)
@checked
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
    """Measure playouts on this machine, simulate the schemes on a cluster, and recommend one.

    game: a position, a game, or the spec of a game, such as "go:size=9".
    machines, cores: the number of machines of the cluster, and of cores of each machine.
    network: the name or the file of a network profile. None: measure what messages cost on this machine, or under
        mpiexec between the ranks of the job.
    policy: the policy of the playouts.
    playouts: the playouts of each search; 0: as many as keep the cores busy.
    searches: the number of searches for each scheme, with different seeds.
    jobs: the number of simulated searches at the same time.
    on_step: a function that is called with an object `step` as the run goes on. `step.done` is the share that is done,
        and `str(step)` says what is running.

    Returns a table with the advice. Raises OptionError for options that do not fit.

    >>> import treespan as ts
    >>> few = {"machines": 4, "network": "qdr", "playouts": 300, "searches": 1}
    >>> advice = ts.advise("pgame:branching=4", policy="wait=1ms", **few)
    >>> advice.scheme in {row["candidate"]["scheme"] for row in advice.to_dicts()}
    True
    """
    check_range("machines", machines, 1, advising.MAX_RANKS)
    check_range("cores", cores, 1, advising.MAX_RANKS)
    tried = advising.candidates(machines, cores, set(SCHEMES))
    question = advising.Question(as_position(game), tried, policy, playouts, searches, machines)
    profile = None if network is None else find_profile(network)
    meet()
    if profile is None:
        from treespan.lab.measure.calibrate import calibrate

        profile = calibrate("here", CALIBRATE_SECONDS, scaled(on_step, 0.0, CALIBRATE_SHARE))
        on_step = scaled(on_step, CALIBRATE_SHARE, 1.0)
    return AdviceTable(question, by_first_rank(advising.advise)(question, profile, jobs, on_step), profile)
