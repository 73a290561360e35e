"""treespan: Monte-Carlo tree search that spans machines.

    import treespan as ts

    result = ts.search("go:size=9", seconds=5)
    print(result)

Every name below is imported when it is first used, so that `import treespan` costs next to nothing.
"""

import importlib
import sys
from types import ModuleType
from typing import TYPE_CHECKING, Any

__version__ = "0.2.0"

if TYPE_CHECKING:
    from treespan.core.errors import GameError, OptionError, PositionError, TreespanError
    from treespan.core.options import option
    from treespan.engine.tree import Tree
    from treespan.games.check import CheckReport, check_game
    from treespan.games.position import Position
    from treespan.games.registry import make_game
    from treespan.games.rules import CHANCE, FIRST, SECOND, Game
    from treespan.lab.match.play import MatchReport
    from treespan.library.engine import Answer, Engine
    from treespan.library.lists import games, schemes
    from treespan.library.measure import AdviceTable, ComparisonTable, ScalingTable, advise, compare, match, speedup
    from treespan.library.searching import search
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
    from treespan.schemes.whole_trees.broadcast import Broadcast
    from treespan.schemes.whole_trees.leaf import Leaf
    from treespan.schemes.whole_trees.master_worker import MasterWorker
    from treespan.search.result import MoveStatistics, SearchResult

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
