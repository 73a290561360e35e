"""`tds-uct`: UCT by transposition-table driven scheduling (yoshizoe2011, UCT1 and UCT2).

Every simulation starts at the root and reports to it, so the root's home handles two jobs a playout and bounds the
speed-up: the paper's UCT1 stops at 10 with playouts of 0.1 ms and at 70-90 with 1 ms. UCT2 is `dedicated_root=yes`:
rank 0 handles the root's jobs and nothing else. Handlers and deviations: `divided_tree/handlers.py`.
"""

from dataclasses import dataclass

from treespan.core.errors import OptionError, in_spec
from treespan.core.options import option
from treespan.schemes.divided_tree.scheme import Tds


@dataclass(frozen=True)
class TdsUct(Tds):
    """One tree over all ranks. Every simulation starts at the root and reports to it.

    >>> import treespan as ts
    >>> result = ts.search("tictactoe", scheme=ts.TdsUct(dedicated_root=True), simulate=8, playouts=2000)
    >>> result.move, result.ranks
    ('b2', 8)
    """

    name = "tds-uct"
    summary = "one tree over all ranks: nodes live at key mod N, jobs travel"
    paper = "yoshizoe2011 (UCT1, UCT2)"

    search_choices = Tds.search_choices | {"algorithm": ("uct",)}

    dedicated_root: bool = option(False, "rank 0 holds the root and nothing else (UCT2)")

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.dedicated_root and self.place == "idle":
            raise OptionError(
                f"tds-uct: {in_spec('dedicated_root', 'yes')} keeps rank 0 free of playouts, place=idle sends them; "
                "give one"
            )

    def reserved(self, ranks: int) -> int:
        return int(self.dedicated_root and ranks > 1)
