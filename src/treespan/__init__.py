"""treespan: Monte-Carlo tree search that spans machines.

    import treespan as ts

    result = ts.search("go:size=9", seconds=5)
    print(result)

A name below is imported when it is first used, so `import treespan` takes a few hundredths of a second.
"""

import importlib
import sys
from types import ModuleType
from typing import TYPE_CHECKING, Any

__version__ = "0.2.0"

if TYPE_CHECKING:  # `as` tells type checkers and editors that a name is for users
    from treespan.core.errors import GameError as GameError
    from treespan.core.errors import OptionError as OptionError
    from treespan.core.errors import PositionError as PositionError
    from treespan.core.errors import TreespanError as TreespanError
    from treespan.core.options import option as option
    from treespan.engine.tree import Tree as Tree
    from treespan.games.check import CheckReport as CheckReport
    from treespan.games.check import check_game as check_game
    from treespan.games.position import Position as Position
    from treespan.games.registry import make_game as make_game
    from treespan.games.rules import CHANCE as CHANCE
    from treespan.games.rules import FIRST as FIRST
    from treespan.games.rules import SECOND as SECOND
    from treespan.games.rules import Game as Game
    from treespan.lab.match.play import MatchReport as MatchReport
    from treespan.library.engine import Answer as Answer
    from treespan.library.engine import Engine as Engine
    from treespan.library.lists import games as games
    from treespan.library.lists import schemes as schemes
    from treespan.library.measure import AdviceTable as AdviceTable
    from treespan.library.measure import ComparisonTable as ComparisonTable
    from treespan.library.measure import ScalingTable as ScalingTable
    from treespan.library.measure import advise as advise
    from treespan.library.measure import compare as compare
    from treespan.library.measure import match as match
    from treespan.library.measure import speedup as speedup
    from treespan.library.searching import search as search
    from treespan.schemes.divided_tree.mp_mcts import MpMcts as MpMcts
    from treespan.schemes.divided_tree.span.scheme import Span as Span
    from treespan.schemes.divided_tree.tds_dfuct import TdsDfuct as TdsDfuct
    from treespan.schemes.divided_tree.tds_uct import TdsUct as TdsUct
    from treespan.schemes.divided_tree.treesplit.scheme import Treesplit as Treesplit
    from treespan.schemes.one_process.sequential import Sequential as Sequential
    from treespan.schemes.one_process.shared import Shared as Shared
    from treespan.schemes.whole_trees.averaging.root import Root as Root
    from treespan.schemes.whole_trees.averaging.slow_root import SlowRoot as SlowRoot
    from treespan.schemes.whole_trees.averaging.slow_tree import SlowTree as SlowTree
    from treespan.schemes.whole_trees.broadcast import Broadcast as Broadcast
    from treespan.schemes.whole_trees.leaf import Leaf as Leaf
    from treespan.schemes.whole_trees.master_worker import MasterWorker as MasterWorker
    from treespan.search.result import MoveStatistics as MoveStatistics
    from treespan.search.result import SearchResult as SearchResult

# Where each name lives
_HOMES = {
    "treespan.core.errors": ("TreespanError", "OptionError", "PositionError", "GameError"),
    "treespan.core.options": ("option",),
    "treespan.engine.tree": ("Tree",),
    "treespan.games.check": ("check_game", "CheckReport"),
    "treespan.games.position": ("Position",),
    "treespan.games.registry": ("make_game",),
    "treespan.games.rules": ("Game", "FIRST", "SECOND", "CHANCE"),
    "treespan.lab.match.play": ("MatchReport",),
    "treespan.library.engine": ("Engine", "Answer"),
    "treespan.library.lists": ("games", "schemes"),
    "treespan.library.measure": (
        "match",
        "speedup",
        "compare",
        "advise",
        "ScalingTable",
        "ComparisonTable",
        "AdviceTable",
    ),
    "treespan.library.searching": ("search",),
    "treespan.schemes.divided_tree.mp_mcts": ("MpMcts",),
    "treespan.schemes.divided_tree.span.scheme": ("Span",),
    "treespan.schemes.divided_tree.tds_dfuct": ("TdsDfuct",),
    "treespan.schemes.divided_tree.tds_uct": ("TdsUct",),
    "treespan.schemes.divided_tree.treesplit.scheme": ("Treesplit",),
    "treespan.schemes.one_process.sequential": ("Sequential",),
    "treespan.schemes.one_process.shared": ("Shared",),
    "treespan.schemes.whole_trees.averaging.root": ("Root",),
    "treespan.schemes.whole_trees.averaging.slow_root": ("SlowRoot",),
    "treespan.schemes.whole_trees.averaging.slow_tree": ("SlowTree",),
    "treespan.schemes.whole_trees.broadcast": ("Broadcast",),
    "treespan.schemes.whole_trees.leaf": ("Leaf",),
    "treespan.schemes.whole_trees.master_worker": ("MasterWorker",),
    "treespan.search.result": ("SearchResult", "MoveStatistics"),
}
_HOME_OF = {name: home for home, names in _HOMES.items() for name in names}
__all__ = sorted([*_HOME_OF, "__version__"])


def __getattr__(name: str) -> Any:
    if name not in _HOME_OF:
        raise AttributeError(f"treespan has no '{name}'; see dir(treespan)")
    value = getattr(importlib.import_module(_HOME_OF[name]), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return __all__


class _Library(ModuleType):
    """`treespan.search`, `.games` and `.schemes` are functions, although packages of the same names lie below.

    Python enters a package into its parent when it is imported; here it must not take the function's place.
    """

    def __setattr__(self, name: str, value: Any) -> None:
        if not (name in _HOME_OF and isinstance(value, ModuleType)):
            super().__setattr__(name, value)


sys.modules[__name__].__class__ = _Library
