"""How plans are made from what a user gives."""

import inspect
import shlex
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

from treespan.core.arguments import checked
from treespan.core.errors import OptionError, about, in_spec, named, shown, unknown_name
from treespan.core.options import check_range, count, parse_seconds, parse_value
from treespan.games.position import Position
from treespan.games.registry import make_game
from treespan.games.rules import Game
from treespan.runtimes.launch import inside_mpi, world_size
from treespan.schemes.plan import DEFAULT_NETWORK, MAX_RANKS, MPI, SIMULATED, THREADS, Budget, Evaluate, Plan
from treespan.schemes.registry import check_names, default_scheme, read_scheme, search_options
from treespan.schemes.saved import Manifest, SaveError
from treespan.schemes.scheme import Scheme

DEFAULT_PLAYOUTS = 10_000
MAX_EXTENSION = 1000  # times the budget
# Options of a search in a text, and how their values are read
TEXT_OPTIONS: dict[str, Any] = {
    **dict.fromkeys(("scheme", "network", "bandit", "policy", "evaluate"), str),
    **dict.fromkeys(("threads", "ranks", "simulate", "seed", "workers"), int),
    "playouts": count,
    "nodes": count,
    "seconds": parse_seconds,
    "latency": parse_seconds,
    "extend_if_unsure": float,
}


@checked
def make_plan(
    game: Game | None = None,
    *,
    scheme: str | Scheme | None = None,
    playouts: int | None = None,
    seconds: float | None = None,
    threads: int | None = None,
    ranks: int | None = None,
    simulate: int | None = None,
    network: str = DEFAULT_NETWORK,
    workers: int = 0,
    evaluate: Evaluate | str | None = None,
    latency: float = 0.0,
    extend_if_unsure: float | None = None,
    seed: int = 1,
    **options: Any,
) -> Plan:
    """A plan of what is given; a game and a scheme have defaults of their own.

    `options` are those of a search (`SearchOptions`); of a scheme that is named also its own. None: not given.
    """
    runtime, size = choose_runtime(threads, ranks, simulate)
    given = {name: value for name, value in options.items() if value is not None}
    known = [name for name in inspect.signature(make_plan).parameters if name not in ("game", "options")]
    check_names(scheme or default_scheme(runtime, size), given, known)
    has_workers = workers > 0 or evaluate is not None
    if scheme is None:
        scheme = default_scheme(runtime, size, has_workers)
    if isinstance(scheme, str):
        scheme, of_search = read_scheme(scheme, game, has_workers, **given)
    else:
        of_search = search_options(scheme, given, game, has_workers)
    if extend_if_unsure is not None:
        scheme = extended(scheme, extend_if_unsure)
    if playouts is None and seconds is None:
        playouts = DEFAULT_PLAYOUTS
    return Plan(scheme, of_search, Budget(playouts, seconds), seed, runtime, size, workers, network, evaluate, latency)


# Options of a search that depend on the scheme: a saved tree may go on by another one
OF_SCHEME = ("algorithm", "kept_moves", "max_depth", "solver")
# What may be given for a saved tree: where it grows from now on
WHERE = ("threads", "ranks", "simulate", "network", "workers", "evaluate", "latency", "nodes", "playouts", "seconds")


def resumed(
    manifest: Manifest, path: Path, game: Game | None = None, scheme: str | Scheme | None = None, **options: Any
) -> tuple[Position, Plan]:
    """The position of a saved tree, and a plan to go on with it: its own options, and where it grows from now on."""
    game = make_game(manifest.game) if game is None else game
    if game.spec() != manifest.game:
        raise SaveError(f"the tree in '{shown(path)}' is of {manifest.game}, not of {game.spec()}; give that game")
    given = {name: value for name, value in options.items() if value is not None}
    of_search = manifest.options
    for name in given:
        if name not in WHERE:
            which = f"{named(name, given[name])} does not go with a saved tree"
            kept = of_search.get(name, manifest.seed if name == "seed" else None)
            has = "" if kept is None else f", which has {in_spec(name, kept)}"
            raise OptionError(f"{which}{has}; leave it out")
    if scheme is not None:
        of_search = {name: value for name, value in of_search.items() if name not in OF_SCHEME}
    plan = make_plan(game, scheme=scheme or manifest.scheme, seed=manifest.seed, **{**of_search, **given})
    return manifest.position_in(game, path), plan


def extended(scheme: Scheme, times: float) -> Scheme:
    """The scheme with up to so many times the budget while the trees of its ranks disagree."""
    if not hasattr(scheme, "extend"):
        raise OptionError(
            f"{named('extend_if_unsure', times)} needs trees that may disagree, {scheme.name} has none; "
            f"give {named('scheme', 'slow-tree')}"
        )
    check_range("extend_if_unsure", times, 1, MAX_EXTENSION)
    extended: Scheme = replace(scheme, extend=times)  # type: ignore[call-arg]  # it has the option
    return extended


def asks_for_ranks(*_: Any, threads: Any = None, ranks: Any = None, simulate: Any = None, **others: Any) -> bool:
    """Whether a search with such options is one of all ranks of an MPI job, if this process takes part in one."""
    return simulate is None and (threads is None or ranks is not None)


def choose_runtime(threads: int | None, ranks: int | None, simulate: int | None) -> tuple[str, int]:
    """The runtime that is asked for, and its number of ranks. In an MPI job that is the job."""
    given = {"threads": threads, "ranks": ranks, "simulate": simulate}
    asked = [named(name) for name, value in given.items() if value is not None and (value, name) != (1, "threads")]
    if len(asked) > 1:
        raise OptionError(f"{' and '.join(asked)} exclude each other; give one")
    if simulate is not None:
        return SIMULATED, simulate
    if threads is not None and not asks_for_ranks(threads=threads, ranks=ranks):
        return THREADS, threads
    if inside_mpi():  # started by mpiexec or srun: use the ranks that it gives, however many are asked for
        check_range("ranks", 1 if ranks is None else ranks, 1, MAX_RANKS)
        return MPI, world_size()
    return (MPI, ranks) if ranks is not None else (THREADS, 1 if threads is None else threads)


def split_options(text: str) -> dict[str, str]:
    """`name=value other=value`, or `--name value --other=value`, as names and values; a name may stand once."""
    try:
        words = shlex.split(text)
    except ValueError as error:
        raise OptionError(f"cannot read '{shown(text)}': {error}; close its quotes") from None
    values: dict[str, str] = {}
    while words:
        word = words.pop(0)
        has_dashes = word.startswith("--")
        name, equals, value = word.removeprefix("--").partition("=")
        name = name.replace("-", "_")
        if not equals:
            if not has_dashes:
                which = f"'{shown(word)}' in '{shown(text)}' is not an option{about(word)}"
                raise OptionError(f"{which}; write NAME=VALUE")
            if not words or words[0].startswith("--"):
                raise OptionError(f"{named(name)} in '{text}' has no value; write {named(name, 'VALUE')}")
            value = words.pop(0)
        if name in values:
            raise OptionError(f"{named(name)} stands twice in '{text}'; give it once")
        values[name] = value
    return values


def plan_of(values: dict[str, str], game: Game | None = None) -> Plan:
    """A plan from options by name, as `split_options` returns them."""
    return make_plan(game, **read_options(values))


def read_options(values: dict[str, str]) -> dict[str, Any]:
    """Options of a search from texts."""
    parsed: dict[str, Any] = {}
    for name, text in values.items():
        if name not in TEXT_OPTIONS:
            raise unknown_name("search option", name, TEXT_OPTIONS)
        read = TEXT_OPTIONS[name]
        say = partial(named, name)
        parsed[name] = read(text, say) if read in (parse_seconds, count) else parse_value(read, text, say)
    return parsed
