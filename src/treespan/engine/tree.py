"""A search tree to come back to: let it grow, look at it, play a move, let it grow on."""

import contextlib
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from treespan.core.arguments import checked
from treespan.core.errors import OptionError, TreespanError, named
from treespan.core.options import check_range
from treespan.engine.saving import save
from treespan.engine.thinker import Thinker, make_crew, make_thinker
from treespan.games.position import Position, as_position
from treespan.games.rules import Game
from treespan.runtimes.launch import inside_mpi
from treespan.runtimes.plan import asks_for_ranks, make_plan, resumed
from treespan.runtimes.run import check_fit
from treespan.runtimes.together import share, together
from treespan.schemes.plan import MPI, POLL_SECONDS, Budget, Plan, Request
from treespan.schemes.saved import read_manifest
from treespan.schemes.scheme import Scheme
from treespan.search.result import SearchResult

SHORTEST_WAIT, LONGEST_WAIT = 0.001, 1e6  # seconds between two results


class Tree:
    """A tree of one game that grows from search to search.

    position: a position, a game, or the spec of a game, such as "go:size=9".
    options: the options of `treespan.search`, except playouts and seconds.

    The tree is kept, from search to search and below the moves that are played, with every scheme, on threads, MPI
    ranks and simulated ranks. MPI ranks run until the tree is closed.

    Raises OptionError for options that do not fit, and PositionError for a position without a choice.

    >>> import treespan as ts
    >>> with ts.Tree("tictactoe", seed=1) as tree:
    ...     first = tree.search(playouts=1000)
    ...     tree.advance(first.move)
    ...     second = tree.search(playouts=1000)
    >>> second.playouts, second.root_visits > 1000
    (1000, True)
    """

    @together(asks_for_ranks)
    @checked
    def __init__(self, position: Position | Game | str, **options: Any):
        for budget in ("playouts", "seconds"):
            if options.get(budget) is not None:
                given = named(budget, options[budget])
                raise OptionError(f"{given} is for a search, and a tree has several; give it to `search` or `watch`")
        position = as_position(position)
        self._begin(position, make_plan(position.game, **options))

    def _begin(self, position: Position, plan: Plan) -> None:
        self._position, self._plan = position.copy(), plan
        check_fit(Request(position, plan))
        self._ranks = make_crew(self._plan)
        self._is_growing = threading.Lock()
        self._thinker: Thinker = make_thinker(position.game, self._plan, True, self._ranks)

    @property
    def position(self) -> Position:
        """The position at the root."""
        return self._position.copy()

    @together(lambda tree, **_: tree._plan.runtime == MPI)
    @checked
    def search(self, *, playouts: int | None = None, seconds: float | None = None) -> SearchResult:
        """Grow the tree. Ctrl-C ends the search with the result so far.

        playouts, seconds: the search ends after so many further playouts or seconds, whichever comes first.

        Returns the result. Raises TreespanError if another search is growing the tree.
        """
        budget = Budget(playouts, seconds)
        with self._alone():
            self._thinker.ready()
            return self._thinker.think(self._position, budget)

    @contextlib.contextmanager
    def _alone(self) -> Iterator[None]:
        """Allow one search at a time: two would write into the same tree."""
        if not self._is_growing.acquire(blocking=False):
            raise TreespanError(
                "the tree is growing already; end that search, or leave the loop that watches it, first"
            )
        try:
            yield
        finally:
            self._is_growing.release()

    @together(lambda tree, **_: tree._plan.runtime == MPI)
    @checked
    def watch(
        self, *, playouts: int | None = None, seconds: float | None = None, every: float = 0.5
    ) -> Iterator[SearchResult]:
        """Grow the tree. Yields results on the way, and one at the end. Leaving the loop ends the search.

        playouts, seconds: the search ends after so many further playouts or seconds, whichever comes first.
        every: the real seconds between two results.

        Where ranks have the tree, the results on the way are as the home of its root has them. That is looked at 20
        times a second at most, 10 times on simulated ranks. On MPI ranks it counts as playouts what has come home to
        the root, and says nothing of nodes, depth and messages before the end. Under mpiexec rank 0 alone has results
        on the way; the others get one, the last that rank 0 has seen. Raises TreespanError if another search is growing
        the tree.
        """
        check_range("every", every, SHORTEST_WAIT, LONGEST_WAIT)
        return self._watch_alone(Budget(playouts, seconds), every)

    def _watch_alone(self, budget: Budget, every: float) -> Iterator[SearchResult]:
        with self._alone():
            yield from self._watch(budget, every)

    def _watch(self, budget: Budget, every: float) -> Iterator[SearchResult]:
        found: list[SearchResult | BaseException] = []
        over = threading.Event()

        def grow() -> None:
            try:
                found.append(self._thinker.think(self._position, budget, every=every))
            except BaseException as error:  # handed over to the thread that watches
                found.append(error)
            over.set()

        interrupted, is_left, last = False, True, None
        all_watch = self._plan.runtime == MPI and inside_mpi()  # rank 0 alone has results on the way
        self._thinker.ready()
        thread = threading.Thread(target=grow, daemon=True)
        thread.start()
        try:
            pause = every
            while not over.wait(pause):
                so_far = self._thinker.so_far()
                pause = every if so_far else min(every, POLL_SECONDS)
                if so_far:
                    last = so_far
                    yield so_far
            is_left = False
        except KeyboardInterrupt:  # the result so far is yielded below
            interrupted, is_left = True, False
        finally:
            self._thinker.stop()
            thread.join()
            if is_left and all_watch and not isinstance(found[0], BaseException):
                share(last)
        if isinstance(found[0], BaseException):
            raise found[0]
        found[0].interrupted |= interrupted
        yield share(found[0]) if all_watch else found[0]

    def advance(self, *moves: str | int) -> None:
        """Play moves, in the game's notation or by their numbers.

        Raises PositionError if one is illegal; then none is played.
        """
        position = self._position.copy()
        for move in moves:
            position.play(move)
        self._position = position

    def look(self) -> SearchResult | None:
        """Return what the tree knows of its position, without a search; None if it knows nothing yet."""
        with self._alone():
            return self._thinker.look(self._position)

    @together(lambda tree, *_, **__: tree._plan.runtime == MPI)
    @checked
    def save(self, path: str | Path) -> None:
        """Save the tree to a folder. `Tree.load` goes on with it, on any number of ranks.

        path: a new folder, an empty one, or one with a saved tree. That is replaced when the new one is whole.

        Raises SaveError if the folder has other files or cannot be written; then the saved tree before is still there.
        """
        with self._alone():
            save(self._thinker, self._position, Path(path))

    @classmethod
    @together(asks_for_ranks)
    @checked
    def load(
        cls,
        path: str | Path,
        *,
        game: Game | None = None,
        scheme: str | Scheme | None = None,
        **options: Any,
    ) -> "Tree":
        """Go on with a tree that `save`, or the option `save` of the command line, has written.

        path: its folder.
        game: an object, for a game that has no spec.
        scheme: another scheme than the one that the tree was saved with.
        options: where the tree grows from now on: threads, ranks or simulate; also network, workers, evaluate, latency
            and nodes.

        Returns the tree. Raises SaveError if the tree is damaged, of another version or of another game, and
        OptionError for other options of a search than the tree's.
        """
        manifest = read_manifest(path)
        position, plan = resumed(manifest, Path(path), game, scheme, **options)
        tree = cls._of(position, plan)
        try:
            tree._thinker.load(position, manifest, Path(path) / manifest.folder)
        except BaseException:
            tree.close()
            raise
        return tree

    @classmethod
    def _of(cls, position: Position, plan: Plan) -> "Tree":
        tree = cls.__new__(cls)
        tree._begin(position, plan)
        return tree

    def close(self) -> None:
        """End the ranks, if there are any, and give back the tree's memory."""
        if self._ranks is not None:
            self._ranks.close()
        self._thinker.close()

    def __enter__(self) -> "Tree":
        return self

    def __exit__(self, *error: object) -> None:
        self.close()

    def __repr__(self) -> str:
        return f"<tree of {self._position!r} by {self._plan.spec()}>"
