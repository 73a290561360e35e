"""What the schemes share whose ranks have trees of their own and add them up in rounds (`rounds.py`)."""

import math
from dataclasses import dataclass

import numpy as np

from treespan.core.options import option
from treespan.schemes.kept import Kept
from treespan.schemes.plan import Budget, Plan, Request
from treespan.schemes.protocol.hooks import Addition
from treespan.schemes.protocol.port import SPARE_SLOTS, Seat
from treespan.schemes.scheme import Finding, Place
from treespan.schemes.whole_trees.averaging import handlers, rounds
from treespan.schemes.whole_trees.handlers import LocalRank
from treespan.schemes.whole_trees.scheme import BusyTree, share_of
from treespan.search.result import rank_moves
from treespan.search.searcher import FOREVER_NS

EXTENSIONS = 4  # steps in which an unsure search gets more; the ranks are asked again after each


@dataclass(frozen=True)
class RoundScheme(BusyTree):
    """Independent trees that take over what the others found, now and then or at the end."""

    jobs: int = option(0, "simulations under way in a tree; 0: 1, or 2 for each worker", low=0, high=10_000)
    period: float = option(0.0, "seconds between two rounds; 0: one round, at the end", low=0, high=1e8)
    extend: float = option(1.0, "times the budget, at most, while the ranks prefer different moves", low=1, high=1000)

    def jobs_in_tree(self, plan: Plan) -> int:
        return self.jobs or max(1, 2 * plan.worker_threads)

    def spare_slots(self, request: Request, own_slots: bool) -> int:
        return SPARE_SLOTS + rounds.FAN_OUT + 2

    def shared_depth(self) -> int:
        """Depth of the deepest nodes that are shared."""
        return 0

    def shared_places(self, max_moves: int) -> int:
        """Moves of all shared nodes, at most."""
        return max_moves

    def least_share(self) -> float:
        """Share of the root's simulations that a node below it needs to be shared."""
        return 1.0

    def least_visits(self) -> float:
        return 0.0

    def divisor(self, ranks: int) -> int:
        """Trees take over sums divided by this."""
        return 1

    def time_limit(self, budget: Budget) -> float | None:
        return None if budget.seconds is None else budget.seconds * self.extend

    def most_playouts(self, request: Request) -> int:
        return math.ceil(super().most_playouts(request) * self.extend)

    def more_playouts(self, request: Request, place: Place) -> np.ndarray:
        """int64[rows, times]: what each extension adds to the quotas of the ranks: together what the budget allows."""
        if self.extend == 1.0 or request.plan.ranks == 1:
            return np.zeros((place.rows, 0), dtype=np.int64)
        playouts = super().most_playouts(request)
        more = math.floor(playouts * (self.extend - 1.0))
        budgets = [playouts + more * done // EXTENSIONS for done in range(EXTENSIONS + 1)]
        ranks = range(place.first, place.first + place.rows)
        quotas = [[share_of(budget, request.plan.ranks, rank) for budget in budgets] for rank in ranks]
        return np.diff(np.array(quotas, dtype=np.int64), axis=1)

    def stop_ns(self, request: Request) -> int:
        seconds = request.plan.budget.seconds
        return FOREVER_NS if seconds is None or self.extend == 1.0 else round(seconds * 1e9)

    def message_levels(self, request: Request) -> int:
        max_moves = request.position.game.max_moves
        return rounds.message_levels(max(self.shared_places(max_moves), max_moves), max_moves)

    def add_to(self, rank: LocalRank, request: Request, place: Place) -> Addition:
        ranks, max_moves = request.plan.ranks, request.position.game.max_moves
        step = (self.extend - 1.0) / EXTENSIONS
        timed = request.plan.budget.seconds or 0.0
        own = rounds.new_rounds(
            rank,
            max_moves,
            self.shared_places(max_moves),
            # One rank has nobody to share with, and stays the sequential search to the last bit.
            period_ns=round(self.period * 1e9) if self.period and ranks > 1 else FOREVER_NS // 2,
            depth=self.shared_depth(),
            share=self.least_share(),
            min_visits=self.least_visits(),
            divisor=self.divisor(ranks),
            more_ns=round(timed * step * 1e9),
            more_playouts=self.more_playouts(request, place),
        )
        return Addition(
            own,
            {
                "called": handlers.handle_round,
                "counted": handlers.contribute_in_time,
                "finished": handlers.contribute_all,
            },
        )

    def keep(self, request: Request, seat: Seat) -> Kept:
        """Each rank its own tree: the root of rank 0 had the results of all, to be read."""
        own, tree = seat.handle.whole.value, seat.tree
        if seat.port.first == 0 and request.plan.ranks > 1:
            root, places = own.nodes[0, 0], slice(int(own.first[0, 0]), int(own.first[0, 0] + own.sizes[0, 0]))
            first = int(tree.node_first[root])
            edges = slice(first, first + int(own.sizes[0, 0]))
            tree.edge_visits[edges] = own.base_visits[0, places]
            tree.edge_wins[edges] = own.base_wins[0, places]
            tree.node_visits[root] = tree.edge_visits[edges].sum()
        return super().keep(request, seat)

    def read(self, request: Request, seat: Seat) -> Finding:
        finding, own = super().read(request, seat), seat.handle.whole.value
        if request.plan.ranks == 1:
            return finding
        best = rank_moves(finding.root.moves, request.plan.options.choice)[0].id
        chosen = own.moves[0, : own.sizes[0, 0]].tolist().index(best)
        sums = own.sums[0, rounds.FIELDS * chosen : rounds.FIELDS * (chosen + 1)]
        known = max(float(sums[rounds.KNOWN]), 1.0)
        mean = float(sums[rounds.MEANS]) / known
        finding.between_ranks = {
            "agreement": float(sums[rounds.VOTES]) / request.plan.ranks,  # ranks whose own simulations prefer the move
            "mean_value": mean,  # of the move, by the ranks that tried it
            "variance": max(float(sums[rounds.SQUARES]) / known - mean * mean, 0.0),
            "rounds": float(own.state[0].rounds_done),
            "extensions": float(own.state[0].extended),
        }
        return finding


@dataclass(frozen=True)
class SlowAverage(RoundScheme):
    """Every `period` seconds the trees take over the average of all."""

    period: float = option(0.33, "seconds between two averages", low=1e-6, high=1e8)

    def divisor(self, ranks: int) -> int:
        return ranks
