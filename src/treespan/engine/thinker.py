"""Searches of one game, move after move.

`TreeThinker` has its trees in this process and reads them when it likes. `RankThinker` lets ranks search, wherever they
are. Both keep the tree from move to move; with ranks this depends on the scheme.
"""

import contextlib
import threading
import time
import weakref
from collections.abc import Callable, Collection
from dataclasses import replace
from pathlib import Path
from typing import Any

from treespan.core.errors import OptionError, about
from treespan.core.waiting import Wish
from treespan.games.position import Position
from treespan.games.rules import Game
from treespan.runtimes import living
from treespan.runtimes.launch import inside_mpi
from treespan.runtimes.ranks import RanksOnDemand
from treespan.runtimes.run import Crew, search_for_all
from treespan.runtimes.world import RankLostError, call_or_lose
from treespan.schemes.kept import TreeName, drop
from treespan.schemes.one_process.driver import drive
from treespan.schemes.plan import MPI, POLL_SECONDS, SIMULATED, THREADS, Budget, Looks, Plan, Request
from treespan.schemes.saved import Manifest, SaveError, facts_of, read_shard, too_small
from treespan.schemes.summary import Run, summarise_here, summarise_look
from treespan.search.result import MoveStatistics, SearchResult, proof_name, rank_moves
from treespan.search.searcher import RootView, Searcher, drop_moves, merge_moves, read_moves
from treespan.search.shard import copy_nodes, nodes_in_use
from treespan.search.tree import ROOT

Watch = Callable[[int, float], None]  # called with the playouts done and the seconds gone; may call `stop`, `so_far`
Settled = Callable[[int], bool]  # returns whether this number of further playouts cannot change the choice
NOT_GROWN = "the tree knows nothing of its position yet; let it search first"
LOOK_SECONDS = 0.25  # between two results so far, where who watches does not say


class Thinker:
    """The search of an engine. One `think` runs at a time; other threads may call `stop` and `moves` meanwhile."""

    keeps_tree = False  # whether a search goes on with the tree of the one before
    plan: Plan
    last_save: Path | None = None  # folder of the last save of the tree: ranks read there what was lost with one

    def think(
        self,
        position: Position,
        budget: Budget,
        banned: Collection[int] = (),
        watch: Watch | None = None,
        is_settled: Settled | None = None,
        every: float | None = None,
    ) -> SearchResult:
        """Search without the moves in `banned`. Does not check that another move is left.

        Only UCT in one tree asks `is_settled`: its tree can be read after any number of playouts. Who will ask for
        results `so_far` says how many seconds `every` two of them are apart.
        """
        raise NotImplementedError

    def so_far(self) -> SearchResult | None:
        """Return the result so far of the search in another thread; None if there is nothing new."""
        return None

    def moves(self) -> list[MoveStatistics]:
        """Return the root's moves so far, or of the search before if no tree is kept, best first; empty before it."""
        return []

    def line(self, move: int) -> list[str]:
        """Return the expected continuation that starts with `move`."""
        return []

    def amaf(self) -> dict[int, float]:
        """Return the AMAF values of the root's moves; empty without RAVE."""
        return {}

    def jump(self) -> None:
        """The next position need not follow from the last one."""
        self.forget()

    def forget(self) -> None:
        """Drop the tree: what was found does not hold any more."""

    def look(self, position: Position) -> SearchResult | None:
        """Return what the tree knows of a position, between two searches; None if nothing."""
        return None

    def check_save(self) -> None:
        """Raise SaveError if the tree cannot be saved: it must be one, and kept."""
        which = f"the trees of scheme {self.plan.scheme.name}{about('scheme', self.plan.scheme.name)} cannot be saved"
        raise SaveError(f"{which}; give sequential, shared, or on ranks span")

    def begin_save(self, position: Position, folder: Path) -> tuple[Manifest, int]:
        """Copy the tree, and begin to write it to a folder. Returns what it is of, and the number of its shards.

        Raises SaveError if it cannot be saved, or if it knows nothing of the position.
        """
        raise NotImplementedError

    def end_save(self) -> list[str]:
        """Wait until all is written. Returns what went wrong."""
        return []

    def load(self, position: Position, manifest: Manifest, folder: Path) -> None:
        """Go on with a saved tree. Raises SaveError if that cannot be; then there is no tree."""
        raise NotImplementedError

    def close(self) -> None:
        """Give back the memory of the tree."""
        self.forget()

    def stop(self) -> None:
        """End a `think` in another thread soon. Also ends one that is about to begin."""

    def ready(self) -> None:
        """Take back a `stop`, and show no moves until the next `think` has begun."""


def make_thinker(game: Game, plan: Plan, reuse: bool, crew: Crew | None = None) -> Thinker:
    """Return a `TreeThinker` if all trees are in this process, else a `RankThinker`."""
    return TreeThinker(game, plan, reuse) if has_trees_here(plan) else RankThinker(plan, reuse, crew)


def make_crew(plan: Plan) -> RanksOnDemand | None:
    """Return ranks to be started, if a plan asks for MPI ranks and this process is not one of them; else None."""
    return RanksOnDemand(plan.ranks) if plan.runtime == MPI and not inside_mpi() else None


def has_trees_here(plan: Plan) -> bool:
    """Return whether all trees are in this process: one for all threads, or one for each that only it touches."""
    return plan.runtime == THREADS and not plan.has_workers and plan.scheme.has_searchers


class RankThinker(Thinker):
    """Any scheme on any runtime. A `crew` is the MPI ranks that search.

    The ranks keep their trees. In one that is divided a root is wherever its key says, and what cannot be reached any
    more makes room for new nodes; of a whole tree the part below the root is kept.
    """

    def __init__(self, plan: Plan, reuse: bool = True, crew: Crew | None = None):
        self.plan, self.crew = plan, crew
        self.keeps_tree = reuse
        self._is_mpi = plan.runtime == MPI
        self._tree = TreeName() if self.keeps_tree else None
        self._end = weakref.finalize(self, drop, self._tree) if self._tree else None  # also if nobody closes it
        self._searches = 0  # of this tree
        self._last: SearchResult | None = None  # of the search before, or so far
        self._so_far: SearchResult | None = None  # that nobody has asked for yet
        self._halt = Wish()

    def think(
        self,
        position: Position,
        budget: Budget,
        banned: Collection[int] = (),
        watch: Watch | None = None,
        is_settled: Settled | None = None,
        every: float | None = None,
    ) -> SearchResult:
        # Another seed each time, so that searches do not share their random numbers.
        seed = self.plan.seed + (self._searches if self.keeps_tree else len(position.moves_made))
        self._searches += 1
        plan = replace(self.plan, budget=budget, seed=seed)
        request = Request(position, plan, self._tree, frozenset(banned), self.last_save)

        def show(so_far: SearchResult) -> None:
            self._last = self._so_far = without(so_far, banned)

        if watch is not None and every is None:
            every = LOOK_SECONDS
        # Due at the nearest of the runtime's polls
        looks = None if every is None else Looks(max(every - POLL_SECONDS / 2, 0.0), show)
        try:
            result = search_for_all(request, watch, self._halt, self.crew, looks)
        except BaseException:
            self._searches = 0  # nothing is kept
            raise
        if result.lost_ranks:
            self._go_on_with(result.ranks)
        self._last, self._so_far = without(result, banned), None
        return self._last

    def _go_on_with(self, ranks: int) -> None:
        """Some ranks are lost: from now on so many search."""
        self.plan = replace(self.plan, ranks=ranks)

    def _everywhere(self, function: Callable[..., Any], *arguments: Any) -> Any:
        """Call a function in all processes that have ranks. Returns what rank 0 returns.

        Raises RankLostError if a rank is lost meanwhile; the others are there, and keep the tree.
        """
        try:
            if self.crew is not None:
                return self.crew.call(function, *arguments)
            return call_or_lose(function, *arguments) if self._is_mpi else function(*arguments)
        except RankLostError as error:
            self._go_on_with(error.ranks)
            raise

    def _root(self, position: Position) -> living.Root | None:
        if self._tree is None or not self._searches:
            return None
        while True:
            with contextlib.suppress(RankLostError):  # the others can be asked
                found: living.Root | None = self._everywhere(living.tell_root, self._tree, position.key, self._is_mpi)
                return found

    def look(self, position: Position) -> SearchResult | None:
        root = self._root(position)
        if root is None:
            return None
        shard = root.shard
        moves = read_moves(position.game, shard, slice(None))
        view = RootView(moves, int(shard.node_visits[0]), proof_name(int(shard.node_proven[0])))
        return summarise_look(Request(position, self.plan), view, [])

    def begin_save(self, position: Position, folder: Path) -> tuple[Manifest, int]:
        self.check_save()
        root = self._root(position)
        if root is None:
            raise SaveError(NOT_GROWN)
        try:
            self._everywhere(living.begin_save, self._tree, folder)
        except RankLostError as error:
            raise SaveError(f"cannot save: {error}") from None
        shards = 1 if self.plan.runtime == SIMULATED else self.plan.ranks
        return facts_of(position, self.plan, root.searches, int(root.shard.node_visits[0])), shards

    def check_save(self) -> None:
        if self._tree is None or not self.plan.scheme.divides_tree:
            super().check_save()

    def end_save(self) -> list[str]:
        try:
            errors: list[str] = self._everywhere(living.end_save, self._tree, self._is_mpi) if self._tree else []
        except RankLostError as error:
            errors = [f"cannot save: {error}"]
        return errors

    def load(self, position: Position, manifest: Manifest, folder: Path) -> None:
        self.check_save()
        self.forget()
        plan = replace(self.plan, seed=self.plan.seed + manifest.searches)
        error = self._everywhere(living.load_ranks, Request(position, plan, self._tree), manifest, folder)
        if error:
            raise SaveError(error)
        self._searches = manifest.searches

    def so_far(self) -> SearchResult | None:
        so_far, self._so_far = self._so_far, None
        return so_far

    def moves(self) -> list[MoveStatistics]:
        return list(self._last.moves) if self._last else []

    def line(self, move: int) -> list[str]:
        return next((one.line for one in self.moves() if one.id == move), [])

    def lose_rank(self) -> None:
        """A rank of our own is lost: the next search has one less, if there are several, and no tree."""
        if isinstance(self.crew, RanksOnDemand) and self.plan.ranks > 1:
            self.plan = replace(self.plan, ranks=self.plan.ranks - 1)
            self.crew.resize(self.plan.ranks)
        self.forget()

    def jump(self) -> None:
        self._last = None  # the tree finds any position by its key

    def forget(self) -> None:
        self._last, self._searches = None, 0
        if self._tree is not None:  # the ranks drop what they have kept when they are asked for the next one
            self._tree = self._tree.forgotten()

    def close(self) -> None:
        if self._tree is not None:
            drop(self._tree)
            if self.crew is not None and self.crew.are_there:
                with contextlib.suppress(RankLostError):
                    self.crew.call(drop, self._tree)
        self.forget()

    def stop(self) -> None:
        self._halt.set()

    def ready(self) -> None:
        self._halt.clear()
        self._last = self._so_far = None


def without(result: SearchResult, banned: Collection[int]) -> SearchResult:
    """A result that lacks moves. Does not check that others are left."""
    allowed = [move for move in result.moves if move.id not in banned]
    if len(allowed) < len(result.moves):
        result.moves, result.move, result.proven = allowed, allowed[0].move, None
        result.line = [allowed[0].move]
    return result


class TreeThinker(Thinker):
    """Keeps the tree below the moves that are played: one tree for each thread, or one for all threads."""

    keeps_tree = True

    def __init__(self, game: Game, plan: Plan, reuse: bool = True):
        self.game, self.plan, self.reuse = game, plan, reuse
        self._searchers: list[Searcher] = []
        self._searches = 0
        self._writing: living.Writing | None = None
        self._is_set = False
        self._is_there = False  # whether the trees are at the position that was asked for last
        self._started = 0.0  # when the last search began
        self._halt = threading.Event()

    def think(
        self,
        position: Position,
        budget: Budget,
        banned: Collection[int] = (),
        watch: Watch | None = None,
        is_settled: Settled | None = None,
        every: float | None = None,
    ) -> SearchResult:
        self._go_to(position)
        if banned:
            for searcher in self._searchers:
                drop_moves(searcher.tree, set(banned))
        self._is_there, self._started = True, time.monotonic()
        self._searches += 1

        def progress(playouts: int, seconds: float) -> None:
            if watch:
                watch(playouts, seconds)
            if self._halt.is_set():  # `stop` was called before the search began
                self._stop_all()

        if len(self._searchers) > 1 or self._searchers[0].depth_first:
            is_settled = None
        run = drive(self._searchers, budget, progress, is_settled)
        if banned:
            self._is_set = False  # the root lacks moves
        return summarise_here(Request(position, replace(self.plan, budget=budget)), self._searchers, run)

    def _go_to(self, position: Position) -> None:
        """Bring the trees to a position, and keep the part below the moves made since the last one."""
        if not self._searchers:
            self._searchers = self.plan.scheme.new_searchers(self.game, self.plan)
        for searcher in self._searchers:
            before = searcher.position.moves_made if searcher.position else []
            known = len(before)
            if self.reuse and searcher.position and position.moves_made[:known] == before:
                since = position.moves_made[known:]
                if self._is_set or since:
                    searcher.advance(*since)
                    continue
            searcher.set_position(position)
        self._is_set = True

    def so_far(self) -> SearchResult | None:
        if not self._is_there:
            return None
        searchers = self._searchers
        seconds = time.monotonic() - self._started
        position = searchers[0].position
        assert position is not None
        return summarise_here(Request(position, self.plan), searchers, Run(seconds, [1.0], False), is_over=False)

    def moves(self) -> list[MoveStatistics]:
        if not self._is_there:  # another thread is setting up the trees
            return []
        views = [searcher.root() for searcher in self._searchers if searcher.position]
        return rank_moves(merge_moves(views), self.plan.options.choice)

    def line(self, move: int) -> list[str]:
        return self._searchers[0].principal_variation(move) if self._searchers else []

    def amaf(self) -> dict[int, float]:
        tree = self._searchers[0].tree if self._searchers and self._searchers[0].position else None
        if tree is None or not len(tree.edge_amaf_visits):
            return {}
        first, count = int(tree.node_first[ROOT]), int(tree.node_count[ROOT])
        return {
            int(tree.edge_move[edge]): float(tree.edge_amaf_wins[edge] / tree.edge_amaf_visits[edge])
            for edge in range(first, first + count)
            if tree.edge_amaf_visits[edge]
        }

    def look(self, position: Position) -> SearchResult | None:
        if not self._searchers:
            return None
        self._go_to(position)
        views = [searcher.root() for searcher in self._searchers]
        proven = next((view.proven for view in views if view.proven), None)
        whole = RootView(merge_moves(views), sum(view.visits for view in views), proven)
        best = rank_moves(whole.moves, self.plan.options.choice)[0].id
        return summarise_look(Request(position, self.plan), whole, self.line(best))

    def begin_save(self, position: Position, folder: Path) -> tuple[Manifest, int]:
        self.check_save()
        if not self._searchers:
            raise SaveError(NOT_GROWN)
        self._go_to(position)
        searcher = self._searchers[0]
        searcher.finish()
        tree = searcher.tree
        self._writing = living.Writing(folder, 0, copy_nodes(tree, nodes_in_use(tree)))
        return facts_of(position, self.plan, self._searches, searcher.root().visits), 1

    def check_save(self) -> None:
        if len(self._searchers or self.plan.scheme.new_searchers(self.game, self.plan)) > 1:
            super().check_save()

    def end_save(self) -> list[str]:
        error = self._writing.wait() if self._writing else None
        return [error] if error else []

    def load(self, position: Position, manifest: Manifest, folder: Path) -> None:
        self.check_save()
        plan = replace(self.plan, seed=self.plan.seed + manifest.searches)
        searchers = self.plan.scheme.new_searchers(self.game, plan)
        tree, ids = searchers[0].tree, self.game.move_ids
        shards = [read_shard(folder, entry, tree, ids) for entry in manifest.shards]
        lost = searchers[0].restore(position, shards)
        if lost:
            raise OptionError(too_small(self.plan, manifest))
        self._searchers, self._is_set, self._searches = searchers, True, manifest.searches

    def forget(self) -> None:
        for searcher in self._searchers:
            searcher.position = None

    def stop(self) -> None:
        self._halt.set()
        self._stop_all()

    def ready(self) -> None:
        self._halt.clear()
        self._is_there = False

    def _stop_all(self) -> None:
        for searcher in self._searchers:
            searcher.stop()
