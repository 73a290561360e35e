"""The result of a search, from its trees and counters."""

import time
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from treespan.core.sketch import estimate
from treespan.schemes.plan import SIMULATED, THREADS, Looks, Plan, Progress, Request
from treespan.schemes.protocol.port import Seat
from treespan.schemes.scheme import Finding
from treespan.search.result import SearchResult, rank_moves
from treespan.search.searcher import RootView, Searcher, lines_of, merge_moves
from treespan.search.tree import EDGES, NODES, REFUSED, USES, TreeArrays
from treespan.search.work import (
    DEPTH_CUT,
    DEPTH_MAX,
    DEPTH_SUM,
    PLAYOUTS,
    REPORTS,
    RETURNS,
    THIRD_BEST,
    THIRD_BEST_AUDIT,
)


@dataclass
class Run:
    """How a search in the threads of one process went."""

    seconds: float
    load: list[float]  # share of the time that each thread was running
    interrupted: bool


@dataclass
class Outcome:
    """What a runtime knows of a search on ranks when it is over, or so far."""

    finding: Finding
    counts: np.ndarray  # records[ranks] of RANK_COUNTS
    used: np.ndarray  # int64[USES], tree entries summed over ranks
    leaves: np.ndarray  # sketch of the positions that were evaluated
    seconds: float
    end_seconds: float
    wall_seconds: float
    interrupted: bool = False


def summarise_here(request: Request, searchers: Sequence[Searcher], run: Run, is_over: bool = True) -> SearchResult:
    """The result of one or more trees of one position in this process; of searches that still run if not `is_over`."""
    end_start = time.monotonic_ns()
    for searcher in searchers if is_over else ():
        searcher.finish()
    views: list[RootView] = [searcher.root() for searcher in searchers]
    counters = np.sum([searcher.counters for searcher in searchers], axis=0)
    used = np.sum([searcher.tree.used for searcher in searchers], axis=0)
    playouts = int(counters[PLAYOUTS])
    best = rank_moves(merge_moves(views), request.plan.options.choice)[0].id
    found = Finding(
        root=RootView(
            merge_moves(views),
            sum(view.visits for view in views),
            next((view.proven for view in views if view.proven), None),
        ),
        line=searchers[0].principal_variation(best),
        lines=lines_of(request.position.game, searchers[0].tree),
    )
    result = _new_result(request, found, playouts, used, run.seconds)
    result.depth = float(counters[DEPTH_SUM]) / max(playouts, 1)
    result.max_depth = max(int(searcher.counters[DEPTH_MAX]) for searcher in searchers)
    result.depth_cuts = int(counters[DEPTH_CUT])
    result.distinct_leaves = sum(visited_edges(searcher.tree) for searcher in searchers) / max(playouts, 1)
    result.load, result.interrupted = run.load, run.interrupted
    if request.plan.options.algorithm == "dfuct":
        _add_dfuct_figures(result, counters, request.plan)
    result.end_seconds = (time.monotonic_ns() - end_start) * 1e-9
    return result


def with_looks(
    request: Request, searchers: Sequence[Searcher], progress: Progress | None, looks: Looks | None
) -> Progress | None:
    """What a search in this process calls a few times a second: `progress`, and who wants results so far."""
    if looks is None:
        return progress

    def report(playouts: int, seconds: float) -> None:
        if progress:
            progress(playouts, seconds)
        if looks.is_due():
            looks.tell(summarise_here(request, searchers, Run(seconds, [1.0], False), is_over=False))

    return report


def summarise_root(request: Request, found: Finding, seconds: float) -> SearchResult:
    """A result so far of which nothing is known but the root: its new visits stand for the playouts."""
    playouts = found.root.visits - found.root.visits_before
    return _new_result(request, found, playouts, np.zeros(USES, dtype=np.int64), seconds)


def summarise_look(request: Request, root: RootView, line: list[str]) -> SearchResult:
    """What a tree knows between two searches: nothing is played out for that."""
    best = rank_moves(root.moves, request.plan.options.choice)[0].move
    return summarise_root(request, Finding(replace(root, visits_before=root.visits), line or [best]), 0.0)


def summarise_ranks(request: Request, outcome: Outcome) -> SearchResult:
    """The result of a search on ranks."""
    counts, plan = outcome.counts, request.plan
    playouts = int(counts["playouts"].sum())
    reports, sent = counts["reports"], counts["sent"]
    result = _new_result(request, outcome.finding, playouts, outcome.used, outcome.seconds)
    result.wall_seconds = outcome.wall_seconds
    result.depth = float(counts["levels"].sum()) / max(playouts, 1)
    result.max_depth = int(counts["deepest"].max())
    result.depth_cuts = int(counts["cut"].sum())
    if plan.options.algorithm == "dfuct":
        result.report_levels = float(reports.sum()) / max(playouts, 1)
    result.load = (counts["busy_ns"] * 1e-9 / max(outcome.seconds, 1e-12)).tolist()
    result.sync_share = float(counts["sync_ns"].mean()) * 1e-9 / max(outcome.seconds, 1e-12)
    result.between_ranks = outcome.finding.between_ranks
    result.end_seconds, result.interrupted = outcome.end_seconds, outcome.interrupted
    result.messages = {
        "sent": int(sent.sum()),
        "received": int(counts["received"].sum()),
        "per_playout": float(sent.sum()) / max(playouts, 1),
        "bytes": int(counts["sent_bytes"].sum()),
        "microseconds": float(counts["mail_ns"].sum()) * 1e-3 / max(int(sent.sum()), 1),  # of CPU, at both ends
        "max_rank": int(counts["received"].max()),
        "mean_rank": float(counts["received"].mean()),
    }
    result.report_jobs = {
        "max_rank": int(reports.max()),
        "mean_rank": float(reports.mean()),
        "per_playout": float(reports.sum()) / max(playouts, 1),
    }
    if outcome.leaves.any():
        result.distinct_leaves = min(estimate(outcome.leaves) / max(playouts, 1), 1.0)
    result.played_elsewhere = int(counts["played_elsewhere"].sum()) / max(playouts, 1)
    result.playouts_by_rank = counts["playouts"].tolist()
    result.received_by_rank = counts["received"].tolist()
    result.queue_peak_by_rank = counts["queue_peak"].tolist()
    return result


def _new_result(request: Request, found: Finding, playouts: int, used: Any, seconds: float) -> SearchResult:
    """What all results have in common."""
    position, plan = request.position, request.plan
    moves = rank_moves(found.root.moves, plan.options.choice)
    for move in moves:
        move.line = found.lines.get(move.id, [])
    optimal_move = getattr(position.game, "optimal_move", None)
    return SearchResult(
        position=position.copy(),  # the caller may play on with his
        game=position.game.spec(),
        scheme=plan.spec(),
        seed=plan.seed,
        runtime=plan.runtime,
        ranks=1 if plan.runtime == THREADS and plan.scheme.in_one_process else plan.ranks,
        threads=1 if plan.runtime == SIMULATED else plan.ranks * max(1, plan.worker_threads),
        playouts=playouts,
        seconds=seconds,
        move=moves[0].move,
        root_visits=found.root.visits,
        moves=moves,
        line=moves[0].line or found.line,
        nodes=int(used[NODES]),
        edges=int(used[EDGES]),
        refused_expansions=int(used[REFUSED]),
        proven=found.root.proven,
        optimal=optimal_move(position.state) == moves[0].id if optimal_move else None,
    )


def evaluated_leaves(seats: Sequence[Seat]) -> np.ndarray:
    """The sketch of the positions that the evaluators of these seats were given."""
    sketches = [evaluator.value.leaves for seat in seats for evaluator in seat.evaluators]
    return np.asarray(np.maximum.reduce(sketches))


def visited_edges(tree: TreeArrays) -> int:
    """Moves of a tree that simulations have taken: each led to a leaf when it was first taken."""
    return int(np.count_nonzero(tree.edge_visits[: int(tree.used[EDGES])]))


def _add_dfuct_figures(result: SearchResult, counters: Any, plan: Plan) -> None:
    playouts = max(result.playouts, 1)
    reports = int(counters[REPORTS])
    result.report_levels = reports / playouts
    result.report_jobs = {
        "max_rank": reports,
        "mean_rank": reports / plan.ranks,
        "per_playout": result.report_levels,
    }
    result.third_best = float(counters[THIRD_BEST]) / max(int(counters[RETURNS]), 1)
    if plan.options.audit:
        result.third_best_audit = float(counters[THIRD_BEST_AUDIT]) / playouts
