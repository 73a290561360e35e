"""`span`: TDS-df-UCT that stays a good search at thousands of ranks. Ours; builds on yoshizoe2011 and graf2011.

TDS-df-UCT scales because jobs hardly ever come back to the root, and searches badly for the same reason: a job goes
on below moves that looked good when it left. Here jobs come back after every `grant` playouts, and it costs little:

- Hot nodes, those with more than 1 / `share` of all jobs below them, are copied to every rank, as in UCT-Treesplit
  (graf2011), and kept equal by reductions over a tree of ranks (`replicas.py`). A job starts at the copy of the root
  at its own rank, goes down through copies without a message, and comes back to that rank.
- All ranks know the same between two reductions and would herd to the same move. They follow a plan instead, which
  spreads the visits expected until the next reduction as the bandit would.
- A leaf is played out by the least loaded of the ranks heard from last (`place=idle`): few jobs then keep all busy,
  and fewer jobs under way mean fewer virtual losses and fresher statistics.
- The reductions also count the jobs alive, which ends the search.

Below hot nodes it is `tds-dfuct`; handlers: `span_handlers.py`.
"""

from dataclasses import dataclass
from typing import ClassVar

from treespan.core.options import option
from treespan.games.position import Position
from treespan.schemes import span_handlers  # noqa: F401 - extends the handlers of tds.py
from treespan.schemes.base import Request
from treespan.schemes.distributed import Place
from treespan.schemes.rank import SPARE_SLOTS
from treespan.schemes.replicas import FAN_OUT, QUOTA, Replicas, message_levels, new_replicas
from treespan.schemes.tds_scheme import Tds


@dataclass(frozen=True)
class Span(Tds):
    name = "span"
    summary = "TDS-df-UCT with hot nodes copied to every rank: keeps its search quality at thousands of ranks"
    paper = "ours; after yoshizoe2011 and graf2011"
    copies_root: ClassVar[bool] = True
    spare_slots: ClassVar[int] = SPARE_SLOTS + FAN_OUT + 2

    algorithm: str = option("dfuct", "always dfuct", choices=("dfuct",))
    kept_moves: str = option("2", "moves compared in the stack test", choices=("2",))
    jobs: int = option(5, "jobs under way for each rank", low=1, high=1000)
    place: str = option("idle", "where leaves are played out: where less waits, or at home", choices=("home", "idle"))
    grant: int = option(10, "playouts that a job does before it returns to its rank", low=1)
    share: int = option(100, "a node is copied if more than 1 / share of all jobs are below it", low=1, high=10**6)
    pause: int = option(4, "messages and leaves that a rank handles between two reductions", low=0)
    copies: int = option(4096, "moves of copied nodes, at most", low=1, high=10**6)

    def portion(self) -> int:
        return self.grant

    def root_home(self, position: Position, ranks: int) -> int:
        return 0

    def message_levels(self, request: Request) -> int:
        return message_levels(request.position.game.max_moves, self._edges(request))

    def _edges(self, request: Request) -> int:
        return max(self.copies, request.position.game.max_moves)

    def new_extension(self, request: Request, place: Place, playouts: int) -> Replicas:
        game, ranks = request.position.game, request.ranks
        copies = new_replicas(place.rows, game.max_moves, self._edges(request), self.share, self.pause, self.jobs)
        for row in range(place.rows):
            copies.state[row, QUOTA] = playouts // ranks + (place.first + row < playouts % ranks)
        return copies
