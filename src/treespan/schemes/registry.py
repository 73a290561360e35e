"""Schemes by name."""

from collections.abc import Collection, Mapping
from typing import Any

from treespan.core.errors import unknown_name
from treespan.core.options import OptionFacts, describe, fill, option_names, split_spec
from treespan.games.rules import Game
from treespan.schemes.divided_tree.mp_mcts import MpMcts
from treespan.schemes.divided_tree.span.scheme import Span
from treespan.schemes.divided_tree.tds_dfuct import TdsDfuct
from treespan.schemes.divided_tree.tds_uct import TdsUct
from treespan.schemes.divided_tree.treesplit.scheme import Treesplit
from treespan.schemes.one_process.sequential import Sequential
from treespan.schemes.one_process.shared import Shared
from treespan.schemes.plan import THREADS
from treespan.schemes.scheme import Scheme
from treespan.schemes.whole_trees.averaging.root import Root
from treespan.schemes.whole_trees.averaging.slow_root import SlowRoot
from treespan.schemes.whole_trees.averaging.slow_tree import SlowTree
from treespan.schemes.whole_trees.broadcast import Broadcast
from treespan.schemes.whole_trees.leaf import Leaf
from treespan.schemes.whole_trees.master_worker import MasterWorker
from treespan.search.options import BANDITS, SearchOptions

SCHEMES: dict[str, type[Scheme]] = {
    cls.name: cls
    for cls in (
        Sequential,
        Shared,
        Leaf,
        Root,
        MasterWorker,
        Broadcast,
        SlowTree,
        SlowRoot,
        TdsUct,
        TdsDfuct,
        Treesplit,
        MpMcts,
        Span,
    )
}


def read_scheme(
    spec: str, game: Game | None = None, has_workers: bool = False, /, **overrides: Any
) -> tuple[Scheme, SearchOptions]:
    """A scheme and the options of a search, from a spec such as `span:grant=3,bandit=rave`.

    A spec has options of both; `overrides` are options given elsewhere. With a game, what is not given is the game's
    default where it has one. `has_workers`: threads or a Python function will play out for the ranks, which not every
    scheme can do with every bandit.
    """
    name, values = split_spec(spec)
    cls = scheme_class(name)
    given = {key.replace("-", "_"): value for key, value in {**values, **overrides}.items()}
    own = {key: value for key, value in given.items() if key in option_names(cls)}
    shared = {key: value for key, value in given.items() if key not in own}
    check_names(spec, given)
    scheme = fill(cls, own, name)
    return scheme, search_options(scheme, shared, game, has_workers)


def scheme_class(name: str) -> type[Scheme]:
    if name not in SCHEMES:
        raise unknown_name("scheme", name, SCHEMES, "scheme")
    return SCHEMES[name]


def check_names(scheme: str | Scheme, given: Collection[str], more: Collection[str] = ()) -> None:
    """Raise OptionError for a name that is no option of a search by this scheme, and none of `more`.

    The scheme's own options may be given beside one that is named, not beside an object.
    """
    own = option_names(scheme_class(split_spec(scheme)[0])) if isinstance(scheme, str) else []
    known = [*own, *option_names(SearchOptions)]
    for name in given:
        if name.replace("-", "_") not in known:
            of = split_spec(scheme)[0] if isinstance(scheme, str) else scheme.name
            raise unknown_name(f"option of {of}", name, [*known, *more])


def search_options(
    scheme: Scheme, given: Mapping[str, Any], game: Game | None = None, has_workers: bool = False
) -> SearchOptions:
    """The options of a search by a scheme: those that are given, then the game's defaults, then the scheme's."""
    defaults = scheme.default_options()
    if game is not None:
        defaults |= game_defaults(type(scheme), game, given, has_workers)
    options = fill(SearchOptions, {**defaults, **given}, scheme.name)
    scheme.check_options(options)
    if game is not None:
        options.policy_index(game)
        options.check_solver(game)
    return options


def game_defaults(cls: type[Scheme], game: Game, given: Mapping[str, Any], has_workers: bool) -> dict[str, str]:
    """The game's defaults for a scheme; those of its bandit only where that is possible and no other is chosen."""
    defaults = dict(game.search_defaults)
    bandits = cls.search_choices.get("bandit", BANDITS)
    is_possible = game.bandit_defaults.get("bandit") in bandits and (cls.amaf_with_workers or not has_workers)
    if is_possible and "bandit" not in given and "algorithm" not in given:
        defaults |= game.bandit_defaults
    return defaults


def default_scheme(runtime: str, ranks: int, has_workers: bool = False) -> str:
    """The scheme for a runtime and a number of ranks when the user names none."""
    if runtime != THREADS or has_workers:
        return "span"
    return "sequential" if ranks == 1 else "shared"


def describe_scheme(cls: type[Scheme]) -> list[OptionFacts]:
    """The options that a spec of a scheme may have: its own, then those of a search, as this scheme can do them."""
    entries = describe(cls)
    for entry in describe(SearchOptions):
        name = entry["name"]
        choices = cls.search_choices.get(name, ())
        entry["default"] = cls.default_options().get(name, entry["default"])
        if len(choices) == 1:
            continue  # nothing to choose
        entries.append({**entry, "choices": choices} if choices else entry)
    return entries
