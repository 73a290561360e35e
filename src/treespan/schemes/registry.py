"""Schemes by name."""

import dataclasses

from treespan.core.errors import unknown_name
from treespan.core.options import fill, split_spec
from treespan.games.rules import Game
from treespan.schemes.base import Scheme
from treespan.schemes.divided_tree.mp_mcts import MpMcts
from treespan.schemes.divided_tree.span.scheme import Span
from treespan.schemes.divided_tree.tds_dfuct import TdsDfuct
from treespan.schemes.divided_tree.tds_uct import TdsUct
from treespan.schemes.divided_tree.treesplit.scheme import Treesplit
from treespan.schemes.one_process.sequential import Sequential
from treespan.schemes.one_process.shared import Shared
from treespan.schemes.whole_trees.averaging.root import Root
from treespan.schemes.whole_trees.averaging.slow_root import SlowRoot
from treespan.schemes.whole_trees.averaging.slow_tree import SlowTree
from treespan.schemes.whole_trees.broadcast import BroadcastScheme
from treespan.schemes.whole_trees.leaf import Leaf
from treespan.schemes.whole_trees.master_worker import MasterWorker

SCHEMES: dict[str, type[Scheme]] = {
    cls.name: cls
    for cls in (
        Sequential,
        Shared,
        Leaf,
        Root,
        MasterWorker,
        BroadcastScheme,
        SlowTree,
        SlowRoot,
        TdsUct,
        TdsDfuct,
        Treesplit,
        MpMcts,
        Span,
    )
}


def make_scheme(spec: str, game: Game | None = None, has_workers: bool = False, /, **overrides: str) -> Scheme:
    """A scheme from a spec such as `sequential:algorithm=dfuct`; overrides are options given elsewhere.

    With a game, what is not given is the game's default where it has one, and the game must know the policy and have
    a tactical solver if the options ask for it. `has_workers`: threads or a Python function will play out for the
    ranks, which not every scheme can do with every bandit.
    """
    name, values = split_spec(spec)
    if name not in SCHEMES:
        raise unknown_name("scheme", name, SCHEMES)
    given = {key.replace("-", "_"): value for key, value in {**values, **overrides}.items()}
    if game is None:
        return fill(SCHEMES[name], given, name)
    scheme = fill(SCHEMES[name], {**game_defaults(SCHEMES[name], game, given, has_workers), **given}, name)
    scheme.policy_index(game)
    scheme.check_solver(game)
    return scheme


def game_defaults(cls: type[Scheme], game: Game, given: dict[str, str], has_workers: bool) -> dict[str, str]:
    """The game's defaults for a scheme; those of its bandit only where that is possible and no other is chosen."""
    defaults = dict(game.search_defaults)
    bandits = next(field.metadata["choices"] for field in dataclasses.fields(cls) if field.name == "bandit")
    is_possible = game.bandit_defaults.get("bandit") in bandits and (cls.amaf_with_workers or not has_workers)
    if is_possible and "bandit" not in given and "algorithm" not in given:
        defaults |= game.bandit_defaults
    return defaults


def default_scheme(threads: int, runtime: str = "threads") -> str:
    """The scheme for a runtime and a number of threads when the user names none."""
    if runtime != "threads":
        return "span"
    return "sequential" if threads == 1 else "shared"
