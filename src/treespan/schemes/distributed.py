"""Schemes that run on ranks: what a runtime asks of them, and the result of such a search."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from treespan.core.sketch import estimate
from treespan.games.position import Position
from treespan.schemes.base import Budget, Request, Scheme
from treespan.schemes.protocol.messages import Jobs
from treespan.schemes.protocol.port import (
    BUSY_NS,
    LEVELS_CUT,
    LEVELS_MAX,
    LEVELS_SUM,
    MAIL_NS,
    PLAYED_ELSEWHERE,
    PLAYOUTS_DONE,
    QUEUE_PEAK,
    RECEIVED,
    REPORTS_RECEIVED,
    SENT,
    SENT_BYTES,
    SYNC_NS,
    Seat,
)
from treespan.search.result import SearchResult, rank_moves
from treespan.search.searcher import FOREVER_NS, RootView, read_root
from treespan.search.tree import EDGES, NODES, REFUSED


@dataclass(frozen=True)
class Distributed(Scheme):
    """A scheme whose ranks exchange messages; a subclass says how a rank is made.

    One that can `search` by itself does so in the threads of this process, and needs ranks in a simulated cluster only.
    """

    may_ask_solver: ClassVar[bool] = False

    def root_home(self, position: Position, ranks: int) -> int:
        """The rank that holds the root and has its statistics at the end."""
        raise NotImplementedError

    def check(self, request: Request) -> None:
        """Refuse what cannot be done with these ranks and workers."""

    def under_way(self, request: Request) -> int:
        """Playouts that may be under way at once, at all ranks together."""
        raise NotImplementedError

    def new_seat(self, request: Request, place: "Place") -> Seat:
        """A rank, or in a simulated cluster all of them, ready to run."""
        raise NotImplementedError

    def time_limit(self, budget: Budget) -> float | None:
        """Seconds after which the runtime ends the search."""
        return budget.seconds

    def read(self, request: Request, seat: Seat) -> "Finding":
        """What was found, from the seat of the root's home; the line beyond its first move lies at other ranks."""
        root = read_root(request.position.game, seat.tree)
        return Finding(root, [rank_moves(root.moves, self.choice)[0].move])


@dataclass
class Finding:
    """What the root's home knows at the end."""

    root: RootView
    line: list[str]  # expected moves
    between_ranks: dict[str, float] | None = None  # how much the ranks differ, where they have trees of their own


@dataclass(frozen=True)
class Place:
    """Where a seat is: `rows` ranks from `first` on. Ranks of one process may share the slots of jobs."""

    first: int = 0
    rows: int = 1
    jobs: Jobs | None = None  # shared slots; None: slots of its own
    own_slots: bool = False  # messages are copied, so all slots are free but those of jobs that start here
    workers: int = 0  # evaluators with buffers of their own; 0: the rank itself evaluates
    search: int = 1  # number of the search in this process

    @property
    def ranks(self) -> range:
        return range(self.first, self.first + self.rows)


@dataclass
class Outcome:
    """What a runtime hands back when the search is over."""

    finding: Finding
    numbers: np.ndarray  # int64[ranks, NUMBERS]
    used: np.ndarray  # int64[3], tree entries summed over ranks
    leaves: np.ndarray  # sketch of the positions that were evaluated
    seconds: float
    end_seconds: float
    wall_seconds: float
    runtime: str
    interrupted: bool = False


def evaluated_leaves(seats: Sequence[Seat]) -> np.ndarray:
    """The sketch of the positions that the evaluators of these seats were given."""
    sketches = [evaluator.value.leaves for seat in seats for evaluator in seat.evaluators]
    return np.asarray(np.maximum.reduce(sketches))


def summarise_ranks(scheme: Distributed, request: Request, outcome: Outcome) -> SearchResult:
    """The result of a distributed search."""
    game, numbers = request.position.game, outcome.numbers
    finding = outcome.finding
    moves = rank_moves(finding.root.moves, scheme.choice)
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
        root_visits=finding.root.visits,
        moves=moves,
        depth=float(numbers[:, LEVELS_SUM].sum()) / max(playouts, 1),
        max_depth=int(numbers[:, LEVELS_MAX].max()),
        nodes=int(outcome.used[NODES]),
        edges=int(outcome.used[EDGES]),
        runtime=outcome.runtime,
        ranks=request.ranks,
        threads=1 if outcome.runtime == "simulated" else request.ranks * max(1, request.workers),
        principal_variation=finding.line,
        proven=finding.root.proven,
        optimal=optimal_move(request.position.state) == moves[0].id if optimal_move else None,
        refused_expansions=int(outcome.used[REFUSED]),
        depth_cuts=int(numbers[:, LEVELS_CUT].sum()),
        report_levels=float(reports.sum()) / max(playouts, 1) if scheme.algorithm == "dfuct" else None,
        load=(numbers[:, BUSY_NS] * 1e-9 / max(outcome.seconds, 1e-12)).tolist(),
        sync_share=float(numbers[:, SYNC_NS].mean()) * 1e-9 / max(outcome.seconds, 1e-12),
        between_ranks=finding.between_ranks,
        end_seconds=outcome.end_seconds,
        interrupted=outcome.interrupted,
        messages={
            "sent": int(sent.sum()),
            "received": int(numbers[:, RECEIVED].sum()),
            "per_playout": float(sent.sum()) / max(playouts, 1),
            "bytes": int(numbers[:, SENT_BYTES].sum()),
            "microseconds": float(numbers[:, MAIL_NS].sum()) * 1e-3 / max(int(sent.sum()), 1),  # of CPU, at both ends
            "max_rank": int(numbers[:, RECEIVED].max()),
            "mean_rank": float(numbers[:, RECEIVED].mean()),
        },
        report_jobs={
            "max_rank": int(reports.max()),
            "mean_rank": float(reports.mean()),
            "per_playout": float(reports.sum()) / max(playouts, 1),
        },
        distinct_leaves=min(estimate(outcome.leaves) / max(playouts, 1), 1.0) if outcome.leaves.any() else None,
        played_elsewhere=int(numbers[:, PLAYED_ELSEWHERE].sum()) / max(playouts, 1),
        playouts_by_rank=numbers[:, PLAYOUTS_DONE].tolist(),
        received_by_rank=numbers[:, RECEIVED].tolist(),
        queue_peak_by_rank=numbers[:, QUEUE_PEAK].tolist(),
    )


def deadline_ns(scheme: Distributed, budget: Budget, start_ns: int = 0) -> int:
    """When a search that starts at `start_ns` must end."""
    seconds = scheme.time_limit(budget)
    return FOREVER_NS if seconds is None else start_ns + int(seconds * 1e9)
