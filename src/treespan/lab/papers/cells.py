"""Cells that several papers need: speed-ups with the quality of the search beside them, and win rates."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TypeVar

from treespan.games.registry import make_game
from treespan.lab.measure.speedup import Scaling, simulated_base_rate
from treespan.lab.papers.study import (
    SCALES,
    Block,
    Cell,
    Value,
    mean_of,
    score_of_a,
    share_of,
    win_rate,
)
from treespan.lab.papers.units import MatchGame
from treespan.lab.store.records import Figures
from treespan.schemes.registry import read_scheme

T = TypeVar("T")
ROOM = 1.1  # a tree has room for all expansions that are possible, times this factor


def at(scale: str, smoke: T, desk: T, full: T) -> T:
    """Return the value for a scale."""
    return (smoke, desk, full)[SCALES.index(scale)]


def room(playouts: int, branching: int, threshold: int = 4) -> int:
    """Return the capacity of a tree that playouts cannot fill: a leaf is expanded at its `threshold`-th visit."""
    return max(100_000, int(ROOM * playouts * branching / threshold))


@dataclass(frozen=True)
class ScalingColumn:
    """One scheme at many numbers of simulated ranks: a column of speed-ups, and columns of quality."""

    column: str
    plan: Scaling

    @classmethod
    def make(
        cls, column: str, game: str, scheme: str, ranks: Sequence[int], playouts: int, problems: int, network: str
    ) -> "ScalingColumn":
        points = tuple(("simulated", count) for count in ranks)
        return cls(column, Scaling(make_game(game), *read_scheme(scheme), points, playouts, network, problems))

    @property
    def problems(self) -> range:
        return range(1, self.plan.problems + 1)

    def cells(
        self, block: Block, value: Callable[[Figures], float], published: Mapping[int, float] | None = None
    ) -> list[Cell]:
        """Return a column: a figure of the parallel searches, with mean and extremes over the problems."""
        found = []
        for _, ranks in self.plan.points:
            units = [self.plan.search("simulated", ranks, problem) for problem in self.problems]
            paper = (published or {}).get(ranks)
            found.append(Cell(block, f"{ranks:,}", self.column, units, mean_of(value), paper, x=ranks))
        return found

    def speedups(self, block: Block, published: Mapping[int, float] | None = None, with_end: bool = True) -> list[Cell]:
        """Return a column of speed-ups: playouts per second over those of the sequential df-UCT.

        Without `with_end` time counts only up to the last playout.
        """
        rate = None

        def speedup(figures: Figures) -> float:
            nonlocal rate
            rate = rate or simulated_base_rate(self.plan)
            seconds = figures["seconds"] - (0.0 if with_end else figures["end_seconds"])
            return float(figures["playouts"] / seconds / rate)

        return self.cells(block, speedup, published)

    def quality(self, block: Block) -> list[Cell]:
        """Return columns of best move's share, depth and optimal move, with a row of the equal sequential search."""
        found = []
        equals = [self.plan.equal_search(problem) for problem in self.problems]
        searches = {"sequential": equals} | {
            f"{ranks:,}": [self.plan.search("simulated", ranks, problem) for problem in self.problems]
            for _, ranks in self.plan.points
        }
        measures = {
            "best share": (mean_of("best_share"), True),
            "depth": (mean_of("depth"), False),
            "optimal": (share_of("optimal"), True),
        }
        if not hasattr(self.plan.game, "optimal_move"):
            del measures["optimal"]
        for name, (reduce, is_share) in measures.items():
            for row, units in searches.items():
                found.append(Cell(block, row, f"{self.column} {name}", units, reduce, is_share=is_share))
        return found


def games(game: str, a: str, b: str, count: int, weight: float = 1.0, threads: int = 1) -> list[MatchGame]:
    """Return the first games of a match. `weight` is about how many seconds a game takes."""
    return [MatchGame(game, a, b, number, weight=weight, threads=threads) for number in range(count)]


def win_cell(
    block: Block,
    row: str,
    column: str,
    units: Sequence[MatchGame],
    published: float | None = None,
    x: float | None = None,
) -> Cell:
    """Return a cell with A's win rate; `published` is in per cent."""
    share = None if published is None else published / 100
    return Cell(block, row, column, units, win_rate(score_of_a), share, is_share=True, x=x)


def above_half(value: Value) -> bool:
    """Return whether a win rate is above one half with its whole interval."""
    return value.low > 0.5
