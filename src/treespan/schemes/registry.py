"""Schemes by name."""

from collections.abc import Collection, Iterator, Mapping
from importlib import import_module
from typing import Any

from treespan.core.errors import unknown_name
from treespan.core.options import OptionFacts, describe, fill, option_names, split_spec
from treespan.games.rules import Game
from treespan.schemes.plan import THREADS
from treespan.schemes.scheme import Scheme
from treespan.search.options import BANDITS, SearchOptions


class Schemes(Mapping[str, type[Scheme]]):
    """Classes of schemes by name. A scheme's file is imported when its class is first wanted: a search wants one."""

    def __init__(self, places: dict[str, str]):
        self._places = places  # module below `treespan.schemes` and class, by name

    def __getitem__(self, name: str) -> type[Scheme]:
        module, _, cls = self._places[name].partition(":")
        found: type[Scheme] = getattr(import_module(f"treespan.schemes.{module}"), cls)
        return found

    def __contains__(self, name: object) -> bool:
        return name in self._places

    def __iter__(self) -> Iterator[str]:
        return iter(self._places)

    def __len__(self) -> int:
        return len(self._places)


SCHEMES = Schemes(
    {
        "sequential": "one_process.sequential:Sequential",
        "shared": "one_process.shared:Shared",
        "leaf": "whole_trees.leaf:Leaf",
        "root": "whole_trees.averaging.root:Root",
        "master-worker": "whole_trees.master_worker:MasterWorker",
        "broadcast": "whole_trees.broadcast:Broadcast",
        "slow-tree": "whole_trees.averaging.slow_tree:SlowTree",
        "slow-root": "whole_trees.averaging.slow_root:SlowRoot",
        "tds-uct": "divided_tree.tds_uct:TdsUct",
        "tds-dfuct": "divided_tree.tds_dfuct:TdsDfuct",
        "treesplit": "divided_tree.treesplit.scheme:Treesplit",
        "mp-mcts": "divided_tree.mp_mcts:MpMcts",
        "span": "divided_tree.span.scheme:Span",
    }
)


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
