"""One search as a unit of work: what is searched, how it is run on any runtime, and what is recorded of it."""

import contextlib
import dataclasses
import hashlib
import json
import signal
import tempfile
from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass
from functools import cache
from statistics import fmean
from typing import Any

from treespan.core.errors import OptionError, TreespanError
from treespan.core.machine import usable_cores
from treespan.games.position import Position
from treespan.games.registry import make_game
from treespan.games.rules import Game
from treespan.lab.records import Figures
from treespan.lab.speed import many_playouts, playout_arguments
from treespan.runtimes.launch import launch
from treespan.runtimes.network import find_profile
from treespan.runtimes.run import run_search
from treespan.schemes.base import Budget, Progress, Request
from treespan.schemes.registry import make_scheme

# Rough seconds of an unwaited playout and of starting ranks: they only weigh searches in the time that is left.
_PLAYOUT_SECONDS = {"mpi": 2e-6, "threads": 2e-6, "simulated": 4e-6}
_START_SECONDS = {"mpi": 2.0, "threads": 0.01, "simulated": 0.1}

Report = Callable[["Search", float], None]  # a search, and the share of it that is done


@dataclass(frozen=True)
class Search:
    """One search to be done; its fields are the key of its record."""

    game: str
    scheme: str
    runtime: str
    workers: int  # ranks or threads
    network: str  # of simulated ranks, else empty
    playouts: int
    problem: int
    seed: int
    plies: int = 0  # moves of a playout that lead to the position
    diagram: str = ""  # the position, if it is not the first one
    rank_workers: int = 0  # threads of a rank that play out; 0: the rank itself does
    seconds: float = 0.0  # time limit, where there is one; playouts are then 0

    def key(self) -> dict[str, str | int]:
        """Fields that have their default are left out, so that new ones leave old records valid."""
        fields = dataclasses.fields(self)
        key = {field.name: value for field in fields if (value := getattr(self, field.name)) != field.default}
        return {**key, "profile": profile_digest(self.network)} if self.network else key

    def networks(self) -> list[str]:
        return [self.network] if self.network else []

    def request(self, progress: Progress | None = None) -> Request:
        budget = Budget(seconds=self.seconds) if self.seconds else Budget(playouts=self.playouts)
        threads = self.workers if self.runtime == "threads" else 1
        game = make_game(self.game)
        position = Position(game, game.read_diagram(self.diagram)) if self.diagram else position_after(game, self.plies)
        return Request(position, budget, self.seed, threads, self.workers, workers=self.rank_workers, progress=progress)

    def expected_seconds(self) -> float:
        """About how long it takes; good enough to weigh searches in a progress bar."""
        if self.seconds:
            return _START_SECONDS[self.runtime] + self.seconds
        wait = 0.0 if self.runtime == "simulated" else make_scheme(self.scheme).wait_seconds()
        return _START_SECONDS[self.runtime] + self.playouts * (wait / self.workers + _PLAYOUT_SECONDS[self.runtime])

    def obstacle(self) -> str | None:
        """Why it cannot be measured on this machine; None if it can."""
        cores = usable_cores()
        if self.runtime == "threads" and self.workers > cores:
            return f"{self.workers} threads need as many cores; this machine has {cores}"
        return None

    def describe(self) -> str:
        return f"{self.scheme} on {self.game}, {self.workers:,} {self.runtime}, problem {self.problem}"


def unwaited(policy: str) -> str:
    """The same playouts without waiting: for searches that are asked for their move, not for their speed."""
    return "light" if policy.startswith("wait") else policy


@cache
def profile_digest(network: str) -> str:
    """Names the costs of a simulated network: results under other costs are other results."""
    costs = asdict(find_profile(network))
    del costs["name"], costs["source"]
    return hashlib.sha256(json.dumps(costs, sort_keys=True).encode()).hexdigest()[:8]


@cache
def _playout_moves(game: Game) -> list[int]:
    """The moves of one playout from the first position, by the game's best policy; always the same."""
    arguments = playout_arguments(game, game.policies[-1])
    plies, _ = many_playouts(game, *arguments, 1)
    return [int(max(move, ~move)) for move in arguments[2][:plies]]  # `noted` has ~move for the second player


def position_after(game: Game, plies: int) -> Position:
    """The first position, or one in the midst of a game that a playout has begun."""
    position = Position(game)
    for move in _playout_moves(game)[:plies] if plies else []:
        position.play(move)
    return position


def run(search: Search, report: Report | None = None) -> Figures:
    """Do one search; gives what is recorded of it."""
    if search.runtime == "mpi":
        return figures(_search_on_ranks(search))

    def progress(playouts: int, seconds: float) -> None:
        if report:
            report(search, seconds / search.seconds if search.seconds else playouts / search.playouts)

    network = [search.network] if search.network else []
    result = run_search(make_scheme(search.scheme), search.request(progress), search.runtime, *network)
    assert result is not None  # only ranks other than 0 get none
    return figures(result.as_json())


def figures(document: dict[str, Any]) -> Figures:
    """What is recorded of a search, taken from its JSON."""
    if document["interrupted"]:
        raise KeyboardInterrupt
    names = "playouts playouts_per_second seconds wall_seconds move signature best_share depth optimal nodes tree_full"
    chosen: Figures = {name: document[name] for name in f"{names} end_seconds third_best third_best_audit".split()}
    chosen["messages_per_playout"] = document["messages"]["per_playout"]
    chosen["bytes_per_playout"] = document["messages"]["bytes"] / max(document["playouts"], 1)
    chosen["distinct_leaves"] = document["distinct_leaves"]
    chosen["reports_per_playout"] = document["report_jobs"]["per_playout"]
    chosen["reports_max_rank"] = document["report_jobs"]["max_rank"]
    chosen["load"] = fmean(document["load"])
    loads = sorted(document["load"])
    chosen["load_deciles"] = [round(loads[(len(loads) - 1) * tenth // 10], 4) for tenth in range(11)]
    return chosen


def _search_on_ranks(search: Search) -> dict[str, Any]:
    """A search on MPI ranks: `treespan search ... --json` through the launcher."""
    if search.plies or search.diagram or search.rank_workers:
        raise OptionError(f"{search.describe()}: on MPI ranks only first positions are measured, without workers")
    options: dict[str, Any] = {
        "scheme": make_scheme(search.scheme).spec(make_game(search.game)),
        "ranks": search.workers,
        "playouts": search.playouts,
        "seed": search.seed,
    }
    options["seconds"] = search.seconds
    given = (f"--{name}={value}" for name, value in options.items() if value or name == "seed")
    arguments = ["search", search.game, *given, "--json"]
    with tempfile.TemporaryFile() as output, _interrupts_are_raised():
        status = launch(search.workers, arguments, output)
        output.seek(0)
        text = output.read().decode()
    try:
        document: dict[str, Any] = json.loads(text.partition("\n")[0])  # a mistake is told by every rank
    except ValueError:
        document = {"error": "they printed no result"}
    if status or "error" in document:
        raise TreespanError(f"the search on {search.workers} ranks failed (status {status}): {document.get('error')}")
    return document


@contextlib.contextmanager
def _interrupts_are_raised() -> Iterator[None]:
    """Raise at the end if there was a Ctrl-C: the launcher takes it as a wish for the best move so far."""
    heard = False

    def hear(number: int, frame: object) -> None:
        nonlocal heard
        heard = True
        raise KeyboardInterrupt

    before = signal.getsignal(signal.SIGINT)
    if before != signal.SIG_IGN:  # as a script's background jobs do
        signal.signal(signal.SIGINT, hear)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)
        if heard:
            raise KeyboardInterrupt
