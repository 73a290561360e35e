"""How to search, as one value: scheme, budget, seed and runtime, made from the options of the command line.

`treespan search` has the options one by one; a player of a match is the same options in one string.
"""

import shlex
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path

from treespan.core.errors import OptionError, unknown_name
from treespan.core.options import count, parse_seconds, parse_value
from treespan.games.position import Position
from treespan.games.registry import load_file
from treespan.games.rules import Game
from treespan.runtimes.launch import inside_mpi, world_size
from treespan.runtimes.run import check_fit, run_search
from treespan.schemes.base import Budget, Evaluate, Progress, Request, Scheme
from treespan.schemes.registry import default_scheme, make_scheme
from treespan.search.result import SearchResult

DEFAULT_PLAYOUTS = 10_000
DEFAULT_NETWORK = "qdr"


@dataclass(frozen=True)
class Plan:
    """Everything about a search but the position."""

    scheme: Scheme
    budget: Budget
    seed: int = 1
    threads: int = 1
    ranks: int = 1
    runtime: str = "threads"
    network: str = DEFAULT_NETWORK
    workers: int = 0
    evaluate: str | None = None  # FILE.py:NAME
    latency: float = 0.0

    def request(self, position: Position, progress: Progress | None = None) -> Request:
        return Request(
            position,
            self.budget,
            self.seed,
            self.threads,
            self.ranks,
            workers=self.workers,
            evaluate=load_evaluation(self.evaluate) if self.evaluate else None,
            latency=self.latency,
            progress=progress,
        )

    def check(self, position: Position) -> None:
        """Refuse what could not be searched, before ranks are started."""
        check_fit(self.scheme, self.request(position), self.runtime)

    def search(self, position: Position, progress: Progress | None = None) -> SearchResult | None:
        """Search a position; in an MPI job only rank 0 gets a result."""
        return run_search(self.scheme, self.request(position, progress), self.runtime, self.network)

    def with_seed(self, seed: int) -> "Plan":
        return replace(self, seed=seed)

    def with_budget(self, budget: Budget) -> "Plan":
        return replace(self, budget=budget)


def make_plan(
    scheme: str | None = None,
    threads: int = 1,
    ranks: int = 0,
    simulate: int = 0,
    network: str = DEFAULT_NETWORK,
    playouts: str | None = None,
    seconds: str | None = None,
    bandit: str | None = None,
    policy: str | None = None,
    nodes: str | None = None,
    seed: int = 1,
    workers: int = 0,
    evaluate: str | None = None,
    latency: str | None = None,
    extend_if_unsure: str | None = None,
    game: Game | None = None,
) -> Plan:
    """A plan from the values of the options, texts as the user wrote them. A game has defaults of its own."""
    runtime, size = choose_runtime(threads, ranks, simulate, inside_mpi())
    given = {"bandit": bandit, "policy": policy, "nodes": str(count(nodes)) if nodes else None}
    overrides = {name: value for name, value in given.items() if value is not None}
    has_workers = bool(workers or evaluate)
    chosen = make_scheme(scheme or default_scheme(threads, runtime), game, has_workers, **overrides)
    if extend_if_unsure is not None:
        if not hasattr(chosen, "extend"):
            raise OptionError(
                f"--extend-if-unsure needs trees that may disagree, {chosen.name} has none; give --scheme slow-tree"
            )
        chosen = make_scheme(scheme or "", game, has_workers, **overrides, extend=extend_if_unsure)
    budget = Budget(
        playouts=count(playouts) if playouts else (None if seconds else DEFAULT_PLAYOUTS),
        seconds=parse_seconds(seconds, "--seconds") if seconds else None,
    )
    held_back = parse_seconds(latency, "--latency") if latency else 0.0
    return Plan(chosen, budget, seed, threads, size, runtime, network, workers, evaluate, held_back)


@cache
def load_evaluation(spec: str) -> Evaluate:
    """The function NAME of FILE.py: it takes an array of states and gives the first player's values."""
    path, colon, name = spec.rpartition(":")
    if not colon:
        raise OptionError(f"--evaluate '{spec}' is not FILE.py:NAME; give as mynet.py:values")
    function = getattr(load_file(Path(path)), name, None)
    if not callable(function):
        raise OptionError(f"--evaluate: '{path}' has no function '{name}'")
    found: Evaluate = function
    return found


PLAN_OPTIONS = {
    **dict.fromkeys(("scheme", "network", "playouts", "seconds", "bandit", "policy", "nodes"), str),
    **dict.fromkeys(("evaluate", "latency", "extend-if-unsure"), str),
    **dict.fromkeys(("threads", "ranks", "simulate", "seed", "workers"), int),
}


def split_options(text: str) -> dict[str, str]:
    """`--name value --other=value` as names and values; a name may stand once."""
    try:
        words = shlex.split(text)
    except ValueError as error:
        raise OptionError(f"cannot read '{text}': {error}") from None
    values: dict[str, str] = {}
    while words:
        word = words.pop(0)
        if not word.startswith("--"):
            raise OptionError(f"'{word}' in '{text}' is not an option; write --NAME VALUE")
        name, equals, value = word[2:].partition("=")
        if not equals:
            if not words or words[0].startswith("--"):
                raise OptionError(f"--{name} in '{text}' has no value; write --{name} VALUE")
            value = words.pop(0)
        if name in values:
            raise OptionError(f"--{name} stands twice in '{text}'; give it once")
        values[name] = value
    return values


def plan_of(values: dict[str, str], game: Game | None = None) -> Plan:
    """A plan from options by name, as `split_options` gives them."""
    for name in values:
        if name not in PLAN_OPTIONS:
            raise unknown_name("search option", f"--{name}", [f"--{known}" for known in PLAN_OPTIONS])
    parsed = {
        name.replace("-", "_"): parse_value(PLAN_OPTIONS[name], value, f"--{name}") for name, value in values.items()
    }
    return make_plan(**parsed, game=game)


def choose_runtime(threads: int, ranks: int, simulate: int, is_rank: bool) -> tuple[str, int]:
    """The runtime that the options ask for, and its number of ranks."""
    asked = [
        name for name, value in (("--threads", threads > 1), ("--ranks", ranks), ("--simulate", simulate)) if value
    ]
    if len(asked) > 1:
        raise OptionError(f"{' and '.join(asked)} exclude each other; give one")
    if ranks < 0 or simulate < 0:
        raise OptionError(f"{asked[0]} {ranks or simulate} is out of range; give at least 1")
    if simulate:
        return "simulated", simulate
    if is_rank:  # started by mpiexec or srun: use the ranks that it gives
        size = world_size()
        if ranks and ranks != size:
            raise OptionError(f"--ranks {ranks}, but MPI has {size}; leave --ranks out under mpiexec and srun")
        return "mpi", size
    return ("mpi", ranks) if ranks else ("threads", threads)
