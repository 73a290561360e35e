"""`tds-dfuct`: depth-first UCT by transposition-table driven scheduling (yoshizoe2011, DFUCT).

A job carries the local stack of df-UCT and returns only as far as a best move has flipped, so few reports reach the
root. The budget is exact: the playouts are granted to jobs at the root, in portions of `grant`; a job without any left
reports to the root. Large portions are fast, for jobs then hardly ever come back to the root. But a job
that does not come back keeps the virtual losses of the first flood in its stack and never learns what the others found:
small portions keep the search's quality. `grant=0` grants all playouts at once, K / J a job, which is nearest to the
paper. Handlers and other deviations: `tds.py`.
"""

from dataclasses import dataclass

from treespan.core.options import option
from treespan.schemes.distributed import Distributed


@dataclass(frozen=True)
class TdsDfuct(Distributed):
    name = "tds-dfuct"
    summary = "the same with df-UCT: the local stack travels in the job"
    paper = "yoshizoe2011 (DFUCT)"

    algorithm: str = option("dfuct", "always dfuct; see tds-uct", choices=("dfuct",))
    kept_moves: str = option("2", "moves compared in the stack test", choices=("2",))
    grant: int = option(20, "playouts that a job does before it returns to the root; 0: its share of all", low=0)

    def portion(self, playouts: int, ranks: int) -> int:
        return self.grant or -(-playouts // min(self.all_jobs(ranks), playouts))
