"""The result of a search: the moves with their statistics, the chosen move, and how the search went."""

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
# Ranks have playouts too short for them if all together they were busy for less than the time of the search, and with
# a playout of each for less than 20 us; on 2 and 4 ranks of 2 cores one thread was then 1.5 to 200 times as fast.
SHORT_SECONDS, HINT_SECONDS = 20e-6, 0.1  # the second: shorter searches are over before all ranks have begun
_Z = 1.96  # of a 95 % interval


@dataclass
class MoveStatistics:
    """A move at the root, with its statistics. `SearchResult.moves` lists them, best first.

    >>> import treespan as ts
    >>> best = ts.search("tictactoe", playouts=1000).moves[0]
    >>> best.move, best.visits > 100, 0 < best.share < 1, best.proven
    ('b2', True, True, None)
    """

    move: str  # in the game's notation
    visits: int  # simulations through the move
    value: float  # mean reward, in 0..1, for the player to move
    prior: float | None = None  # None: the search used none
    proven: str | None = None  # win, draw or loss for the player to move; None: not proven
    id: int = field(default=-1, repr=False)  # the move's number in the game
    wins: float = field(default=0.0, repr=False)  # sum of the rewards
    share: float = field(default=0.0, repr=False)  # of the root's visits
    line: list[str] = field(default_factory=list, repr=False)  # expected moves, this one first; empty: not known

    def as_json(self) -> dict[str, Any]:
        """Return the move as JSON has it."""
        entry = {"move": self.move, "visits": self.visits, "value": self.value}
        entry.update(
            {key: value for key, value in (("prior", self.prior), ("proven", self.proven)) if value is not None}
        )
        return entry


def lower_bound(wins: float, visits: int) -> float:
    """Return the lower end of Wilson's 95 % interval of a mean reward."""
    if visits == 0:
        return 0.0
    mean, spread = wins / visits, _Z * _Z / visits
    centre = mean + spread / 2
    radius = _Z * math.sqrt(max(mean * (1 - mean), 0.0) / visits + spread / (4 * visits))
    return (centre - radius) / (1 + spread)


def rank_moves(moves: Sequence[MoveStatistics], choice: str) -> list[MoveStatistics]:
    """Sort moves, best first: proven wins, then by `choice` (visits, mean or lower bound), proven losses last."""
    proofs = {"win": 1, "loss": -1}
    merits = {
        "visits": lambda m: (m.visits, m.value),
        "mean": lambda m: (m.visits > 0, m.value, m.visits),
        "lcb": lambda m: (lower_bound(m.wins, m.visits), m.visits),
    }
    merit = merits[choice]
    return sorted(moves, key=lambda m: (proofs.get(m.proven or "", 0), merit(m), -m.id), reverse=True)


def visit_signature(moves: Sequence[MoveStatistics]) -> str:
    """Return a hash of the root's visit counts. Equal searches have equal signatures."""
    text = " ".join(f"{m.id}:{m.visits}" for m in sorted(moves, key=lambda m: m.id))
    return hashlib.sha256(text.encode()).hexdigest()[:16]


def proof_name(proven: int) -> str | None:
    return None if proven == UNPROVEN else PROOF_NAMES[proven]


@dataclass(repr=False)
class SearchResult:
    """The result of one search. `str()` returns a table of the best moves; a notebook shows the visits on the board.

    >>> import treespan as ts
    >>> result = ts.search("connect4", playouts=1000)
    >>> result.move, result.playouts, result.root_visits
    ('4', 1000, 1000)
    >>> sorted(result.as_json())[:3]
    ['best_share', 'between_ranks', 'depth']
    """

    game: str  # its spec
    scheme: str  # its spec, with the options of the search
    seed: int
    playouts: int
    seconds: float
    move: str  # the chosen one
    root_visits: int
    moves: list[MoveStatistics]  # best first
    nodes: int  # expanded positions
    edges: int
    position: Position = field(repr=False)  # the position that was searched
    depth: float = 0.0  # moves down the tree, mean over simulations
    max_depth: int = 0  # moves down the tree, deepest simulation
    runtime: str = "threads"
    ranks: int = 1
    threads: int = 1
    line: list[str] = field(default_factory=list)  # the expected continuation, the chosen move first
    proven: str | None = None  # win, draw or loss for the player to move, if the search proved it
    optimal: bool | None = None  # P-game: whether the chosen move is the branch of value 0
    refused_expansions: int = 0  # leaves that were not expanded, because the tree was full
    depth_cuts: int = 0  # descents that were ended at the option max_depth
    report_levels: float | None = None  # dfuct: levels returned, per playout
    third_best: float | None = None  # dfuct: share of returns after which a former third-best or worse move was best
    third_best_audit: float | None = None  # dfuct with audit: the same at all levels, as a share of playouts
    load: list[float] = field(default_factory=lambda: [1.0])  # share of the time that each rank or thread worked
    end_seconds: float = 0.0  # from the last playout to the result
    interrupted: bool = False  # whether Ctrl-C ended the search
    wall_seconds: float | None = None  # real seconds, if `seconds` are simulated
    messages: dict[str, float] = field(default_factory=lambda: dict(_NO_MESSAGES))
    report_jobs: dict[str, float] = field(default_factory=lambda: dict(_NO_REPORTS))
    sync_share: float = 0.0  # share of the ranks' time spent on synchronising their trees
    between_ranks: dict[str, float] | None = None  # how much the ranks' trees differ, if each rank has its own
    distinct_leaves: float | None = None  # number of different positions evaluated, as a share of the playouts
    played_elsewhere: float = 0.0  # share of the playouts that were not done at the leaf's home
    playouts_by_rank: list[int] = field(default_factory=list)
    received_by_rank: list[int] = field(default_factory=list)  # messages
    queue_peak_by_rank: list[int] = field(default_factory=list)  # most jobs that waited
    lost_ranks: int = 0  # that ended before the search did
    lost_playouts: int = 0  # that do not count, because ranks were lost; of those, an estimate

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
        """The reward that the player to move may expect from the chosen move, in 0..1."""
        return self.moves[0].value

    @property
    def playouts_per_second(self) -> float:
        """Playouts per second; 0 if the search took no time."""
        return self.playouts / self.seconds if self.seconds > 0 else 0.0

    @property
    def best_share(self) -> float:
        """The chosen move's share of the root's visits."""
        return self.moves[0].share

    @property
    def signature(self) -> str:
        """A hash of the root's visit counts. Equal searches have equal signatures."""
        return visit_signature(self.moves)

    @property
    def queue_peak(self) -> int:
        """The longest queue of jobs at one rank."""
        return max(self.queue_peak_by_rank, default=0)

    def by_rank(self) -> list[tuple[int, float, int, int]]:
        """Return playouts, load, messages received and longest queue of each rank."""
        if not self.playouts_by_rank:
            return []
        columns = (self.playouts_by_rank, self.load, self.received_by_rank, self.queue_peak_by_rank)
        return list(zip(*columns, strict=True))

    @property
    def hint(self) -> str | None:
        """What the user may do better; None if nothing stands out."""
        if self.runtime != "mpi" or self.threads > self.ranks or self.seconds < HINT_SECONDS or not self.playouts:
            return None
        busy = sum(self.load)  # ranks that were busy on average
        if busy < 1 and busy * self.seconds / self.playouts < SHORT_SECONDS:
            return "playouts of this game are too short for ranks: one thread is faster; search without ranks"
        return None

    @property
    def tree_full(self) -> bool:
        """Whether the tree was full, so that leaves were not expanded."""
        return self.refused_expansions > 0

    def as_json(self) -> dict[str, Any]:
        """Return the result as a dictionary: `treespan search --json` prints it."""
        document = {name: copy(value) for name, value in vars(self).items() if name != "position"}
        document["moves"] = [move.as_json() for move in self.moves]
        for name in ("playouts_per_second", "best_share", "signature", "tree_full", "queue_peak", "hint"):
            document[name] = getattr(self, name)
        document["wall_seconds"] = self.seconds if self.wall_seconds is None else self.wall_seconds
        return document


def joined(parts: Sequence[SearchResult]) -> SearchResult:
    """Return the result of a search that went on in several parts, in one tree. The last part has its end."""
    last = copy(parts[-1])
    if len(parts) == 1:
        return last
    playouts, seconds = [part.playouts for part in parts], [part.seconds for part in parts]
    last.playouts, last.seconds = sum(playouts), sum(seconds)
    if last.wall_seconds is not None:
        last.wall_seconds = sum(part.wall_seconds or 0.0 for part in parts)
    for name in ("depth", "played_elsewhere", "report_levels", "third_best", "third_best_audit", "distinct_leaves"):
        if getattr(last, name) is not None:  # a position that was evaluated in two parts counts twice
            setattr(last, name, _mean([getattr(part, name) for part in parts], playouts))
    last.sync_share = _mean([part.sync_share for part in parts], seconds)
    last.max_depth = max(part.max_depth for part in parts)
    for name in ("depth_cuts", "refused_expansions", "lost_ranks", "lost_playouts"):
        setattr(last, name, sum(getattr(part, name) for part in parts))
    alike = [part for part in parts if part.ranks == last.ranks]  # who lost ranks went on with fewer
    times = [part.seconds for part in alike]
    last.load = [_mean(of_rank, times) for of_rank in zip(*(part.load for part in alike), strict=True)]
    for name, join in (("playouts_by_rank", sum), ("received_by_rank", sum), ("queue_peak_by_rank", max)):
        setattr(last, name, [join(of_rank) for of_rank in zip(*(getattr(part, name) for part in alike), strict=True)])
    last.messages = _added([part.messages for part in parts], playouts)
    last.report_jobs = _added([part.report_jobs for part in parts], playouts)
    return last


def _mean(values: Sequence[float | None], weights: Sequence[float]) -> float:
    return sum((value or 0.0) * weight for value, weight in zip(values, weights, strict=True)) / (sum(weights) or 1)


def _added(counts: Sequence[dict[str, float]], playouts: Sequence[int]) -> dict[str, float]:
    """Add up counts by name; of what is a mean per playout or per message take the mean."""
    total = {name: sum(part[name] for part in counts) for name in counts[-1]}
    total["per_playout"] = _mean([part["per_playout"] for part in counts], playouts)
    if "microseconds" in total:
        total["microseconds"] = _mean([part["microseconds"] for part in counts], [part["sent"] for part in counts])
    return total
