"""Schemes whose tree is spread over ranks: their options, the arrays of their ranks, and the result."""

from dataclasses import dataclass
from typing import Any

import numpy as np

from treespan.core.errors import OptionError
from treespan.core.options import option
from treespan.core.rng import generator
from treespan.games.position import Position
from treespan.schemes.base import Budget, Request, Scheme
from treespan.schemes.messages import NO_SLOT, new_jobs
from treespan.schemes.rank import (
    BUSY_NS,
    JOBS_ALIVE,
    LEAF_HEAD,
    LEAF_TAIL,
    LEVELS_CUT,
    LEVELS_MAX,
    LEVELS_SUM,
    NUMBERS,
    PLAYOUTS_DONE,
    QUEUE_PEAK,
    RECEIVED,
    REPORTS_RECEIVED,
    SENT,
    SENT_BYTES,
    SHARED,
    TO_GRANT,
    TREE_HEAD,
    TREE_TAIL,
    Rank,
)
from treespan.search.options import compiled_settings
from treespan.search.result import SearchResult, rank_moves
from treespan.search.searcher import RootView, drop_forbidden
from treespan.search.tree import EDGES, MAX_VISITS, NODES, REFUSED, new_tree
from treespan.search.uct import find_or_add
from treespan.search.work import new_work


@dataclass(frozen=True)
class Distributed(Scheme):
    """Options that all schemes with travelling jobs share."""

    bandit: str = option("ucb1", "formula that selects moves", choices=("ucb1", "tuned1", "tuned2", "puct"))
    solver: bool = option(False, "not used: proofs stay in one tree")
    max_depth: int = option(
        127, "moves down the tree before a playout is forced; bounds a job's size", low=1, high=4095
    )
    jobs: int = option(20, "jobs under way for each rank", low=1, high=100_000)

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.solver:
            raise OptionError(f"{self.name}: solver=yes is not possible: proofs stay in one tree; leave it out")

    def all_jobs(self, ranks: int) -> int:
        """J, the number of jobs under way."""
        return self.jobs * ranks

    def root_is_dedicated(self, ranks: int) -> bool:
        return False

    def portion(self, playouts: int, ranks: int) -> int:
        """Playouts that a job is granted each time that it starts at the root."""
        return 1

    def root_home(self, position: Position, ranks: int) -> int:
        return 0 if self.root_is_dedicated(ranks) else position.key % ranks

    def new_ranks(self, request: Request, rows: int, first: int, jobs: Any = None) -> Rank:
        """The arrays of ranks `first` ... `first + rows` of a search. The root's home gets the root's node."""
        position, ranks = request.position, request.ranks
        game = position.game
        position.require_choice()
        settings = compiled_settings(self, game)
        tree = new_tree(self.nodes, self.uses_priors(), False, game.max_moves, with_flights=True, with_keys=True)
        work = new_work(game, int(settings.max_depth), request.seed)
        work.states[0] = position.state
        work.states[1] = position.state
        numbers = np.zeros((rows, NUMBERS), dtype=np.int64)
        numbers[:, [TREE_HEAD, TREE_TAIL, LEAF_HEAD, LEAF_TAIL]] = NO_SLOT
        shared = np.zeros(SHARED, dtype=np.int64)
        playouts = request.budget.playouts or MAX_VISITS
        all_jobs = min(self.all_jobs(ranks), playouts)
        if first <= self.root_home(position, ranks) < first + rows:
            find_or_add(game, tree, work.states[1], settings, work)
            drop_forbidden(tree, position)
            shared[JOBS_ALIVE], shared[TO_GRANT] = all_jobs, playouts
        return Rank(
            tree=tree,
            work=work,
            settings=settings,
            jobs=jobs or new_jobs(all_jobs, int(settings.max_depth) + 1),
            numbers=numbers,
            shared=shared,
            random=np.array([generator(request.seed, first + row)[0] for row in range(rows)]),
            ranks=ranks,
            root_key=np.uint64(position.key),
            grant=self.portion(playouts, ranks),
            all_jobs=all_jobs,
            dedicated_root=self.root_is_dedicated(ranks),
        )


@dataclass
class Outcome:
    """What a runtime hands back when the search is over."""

    root: RootView
    numbers: np.ndarray  # int64[ranks, NUMBERS]
    used: np.ndarray  # int64[3], tree entries summed over ranks
    seconds: float
    end_seconds: float
    wall_seconds: float
    runtime: str
    interrupted: bool = False


def summarise_ranks(scheme: Distributed, request: Request, outcome: Outcome) -> SearchResult:
    """The result of a distributed search."""
    game, numbers = request.position.game, outcome.numbers
    moves = rank_moves(outcome.root.moves, scheme.choice)
    playouts = int(numbers[:, PLAYOUTS_DONE].sum())
    reports, sent = numbers[:, REPORTS_RECEIVED], numbers[:, SENT]
    optimal_move = getattr(game, "optimal_move", None)
    return SearchResult(
        game=game.spec(),
        scheme=scheme.spec(),
        seed=request.seed,
        playouts=playouts,
        seconds=outcome.seconds,
        wall_seconds=outcome.wall_seconds,
        move=moves[0].move,
        root_visits=outcome.root.visits,
        moves=moves,
        depth=float(numbers[:, LEVELS_SUM].sum()) / max(playouts, 1),
        max_depth=int(numbers[:, LEVELS_MAX].max()),
        nodes=int(outcome.used[NODES]),
        edges=int(outcome.used[EDGES]),
        runtime=outcome.runtime,
        ranks=request.ranks,
        threads=1 if outcome.runtime == "simulated" else request.ranks,
        principal_variation=[moves[0].move],  # what comes after lies at other ranks
        optimal=optimal_move(request.position.state) == moves[0].id if optimal_move else None,
        refused_expansions=int(outcome.used[REFUSED]),
        depth_cuts=int(numbers[:, LEVELS_CUT].sum()),
        report_levels=float(reports.sum()) / max(playouts, 1) if scheme.algorithm == "dfuct" else None,
        load=(numbers[:, BUSY_NS] * 1e-9 / max(outcome.seconds, 1e-12)).tolist(),
        end_seconds=outcome.end_seconds,
        interrupted=outcome.interrupted,
        messages={
            "sent": int(sent.sum()),
            "received": int(numbers[:, RECEIVED].sum()),
            "per_playout": float(sent.sum()) / max(playouts, 1),
            "bytes": int(numbers[:, SENT_BYTES].sum()),
            "max_rank": int(numbers[:, RECEIVED].max()),
            "mean_rank": float(numbers[:, RECEIVED].mean()),
        },
        report_jobs={
            "max_rank": int(reports.max()),
            "mean_rank": float(reports.mean()),
            "per_playout": float(reports.sum()) / max(playouts, 1),
        },
        playouts_by_rank=numbers[:, PLAYOUTS_DONE].tolist(),
        received_by_rank=numbers[:, RECEIVED].tolist(),
        queue_peak_by_rank=numbers[:, QUEUE_PEAK].tolist(),
    )


def total_seconds(budget: Budget) -> float:
    """The time limit of a budget, infinite if it has none."""
    return float("inf") if budget.seconds is None else budget.seconds
