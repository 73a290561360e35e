"""What a search found: the moves with their statistics, the chosen one, and how the search went."""

import hashlib
import math
from collections.abc import Sequence
from copy import copy
from dataclasses import dataclass, field
from typing import Any

from treespan.games.position import Position
from treespan.search.tree import DRAW, LOSS, UNPROVEN, WIN

PROOF_NAMES = {LOSS: "loss", DRAW: "draw", WIN: "win"}
_NO_MESSAGES = {"sent": 0, "received": 0, "per_playout": 0.0, "bytes": 0, "max_rank": 0, "mean_rank": 0.0}
_NO_REPORTS = {"max_rank": 0, "mean_rank": 0.0, "per_playout": 0.0}
_Z = 1.96  # of a 95 % interval


@dataclass
class MoveStatistics:
    """A move at the root; `value` is the mean reward for the player to move."""

    move: str
    visits: int
    value: float
    prior: float | None = None
    proven: str | None = None  # win, draw or loss for the player to move
    id: int = field(default=-1, repr=False)  # the move's number in the game
    wins: float = field(default=0.0, repr=False)
    share: float = field(default=0.0, repr=False)  # of the root's visits

    def as_json(self) -> dict[str, Any]:
        entry = {"move": self.move, "visits": self.visits, "value": self.value}
        entry.update(
            {key: value for key, value in (("prior", self.prior), ("proven", self.proven)) if value is not None}
        )
        return entry


def lower_bound(wins: float, visits: int) -> float:
    """The lower end of Wilson's 95 % interval of a mean reward."""
    if visits == 0:
        return 0.0
    mean, spread = wins / visits, _Z * _Z / visits
    centre = mean + spread / 2
    radius = _Z * math.sqrt(max(mean * (1 - mean), 0.0) / visits + spread / (4 * visits))
    return (centre - radius) / (1 + spread)


def rank_moves(moves: Sequence[MoveStatistics], choice: str) -> list[MoveStatistics]:
    """Best first: proven wins, then by visits, mean or lower confidence bound, proven losses last."""
    proofs = {"win": 1, "loss": -1}
    merits = {
        "visits": lambda m: (m.visits, m.value),
        "mean": lambda m: (m.visits > 0, m.value, m.visits),
        "lcb": lambda m: (lower_bound(m.wins, m.visits), m.visits),
    }
    merit = merits[choice]
    return sorted(moves, key=lambda m: (-proofs.get(m.proven or "", 0), *(-value for value in merit(m)), m.id))


def visit_signature(moves: Sequence[MoveStatistics]) -> str:
    """A hash of the root's visit counts: equal searches have equal signatures."""
    text = " ".join(f"{m.id}:{m.visits}" for m in sorted(moves, key=lambda m: m.id))
    return hashlib.sha256(text.encode()).hexdigest()[:16]


def proof_name(proven: int) -> str | None:
    return None if proven == UNPROVEN else PROOF_NAMES[proven]


@dataclass(repr=False)
class SearchResult:
    """The outcome of one search. `str()` is a table of the best moves; a notebook shows the board with their visits."""

    game: str
    scheme: str
    seed: int
    playouts: int
    seconds: float
    move: str
    root_visits: int
    moves: list[MoveStatistics]  # best first
    nodes: int  # expanded positions
    edges: int
    position: Position = field(repr=False)  # that was searched
    depth: float = 0.0  # moves down the tree, mean over simulations
    max_depth: int = 0
    runtime: str = "threads"
    ranks: int = 1
    threads: int = 1
    line: list[str] = field(default_factory=list)  # of best play, the chosen move first
    proven: str | None = None  # result for the player to move, if the search proved it
    optimal: bool | None = None  # P-game: whether the chosen move is the branch of value 0
    refused_expansions: int = 0  # for lack of room: the tree was full
    depth_cuts: int = 0  # descents that reached max_depth
    report_levels: float | None = None  # dfuct: levels returned, a playout
    third_best: float | None = None  # dfuct: share of returns that found a third-best move or worse best
    third_best_audit: float | None = None  # dfuct with audit: the same, share of playouts, looking everywhere
    load: list[float] = field(default_factory=lambda: [1.0])  # share of the time that each rank or thread worked
    end_seconds: float = 0.0  # from the last playout to the result
    interrupted: bool = False
    wall_seconds: float | None = None  # where `seconds` are simulated: the real ones
    messages: dict[str, float] = field(default_factory=lambda: dict(_NO_MESSAGES))
    report_jobs: dict[str, float] = field(default_factory=lambda: dict(_NO_REPORTS))
    sync_share: float = 0.0  # of the ranks' time, spent on keeping what they know equal
    between_ranks: dict[str, float] | None = None  # ranks with trees of their own: how much these differ
    distinct_leaves: float | None = None  # different positions that were evaluated, as a share of the playouts
    played_elsewhere: float = 0.0  # share of playouts that another rank than the leaf's home did
    playouts_by_rank: list[int] = field(default_factory=list)
    received_by_rank: list[int] = field(default_factory=list)  # messages
    queue_peak_by_rank: list[int] = field(default_factory=list)  # most jobs that waited

    def __post_init__(self) -> None:
        for move in self.moves:
            move.share = move.visits / self.root_visits if self.root_visits else 0.0

    def __str__(self) -> str:
        from treespan.search.text import result_text

        return result_text(self)

    def __repr__(self) -> str:
        return f"<search of {self.game}: {self.move}, value {self.value:.3f}, {self.playouts:,} playouts>"

    def _repr_html_(self) -> str:
        from treespan.search.text import result_html

        return result_html(self)

    @property
    def value(self) -> float:
        """The expected reward of the chosen move for the player to move."""
        return self.moves[0].value

    @property
    def playouts_per_second(self) -> float:
        return self.playouts / self.seconds if self.seconds > 0 else 0.0

    @property
    def best_share(self) -> float:
        """The chosen move's share of the root's visits."""
        return self.moves[0].share

    @property
    def signature(self) -> str:
        return visit_signature(self.moves)

    @property
    def queue_peak(self) -> int:
        """Most jobs that waited at one rank."""
        return max(self.queue_peak_by_rank, default=0)

    def by_rank(self) -> list[tuple[int, float, int, int]]:
        """Playouts, load, messages received and longest queue of each rank."""
        if not self.playouts_by_rank:
            return []
        columns = (self.playouts_by_rank, self.load, self.received_by_rank, self.queue_peak_by_rank)
        return list(zip(*columns, strict=True))

    @property
    def tree_full(self) -> bool:
        return self.refused_expansions > 0

    def as_json(self) -> dict[str, Any]:
        """The result as JSON has it: what `treespan search --json` prints."""
        document = {name: copy(value) for name, value in vars(self).items() if name != "position"}
        document["moves"] = [move.as_json() for move in self.moves]
        for name in ("playouts_per_second", "best_share", "signature", "tree_full", "queue_peak"):
            document[name] = getattr(self, name)
        document["wall_seconds"] = self.seconds if self.wall_seconds is None else self.wall_seconds
        return document
