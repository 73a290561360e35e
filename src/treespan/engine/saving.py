"""Searches that save their tree on the way, and go on from the last save when their ranks are lost."""

import contextlib
import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path

from treespan.engine.thinker import RankThinker, Thinker, Watch
from treespan.games.position import Position
from treespan.runtimes.job_folder import RanksLostError
from treespan.runtimes.launch import inside_mpi
from treespan.runtimes.together import share
from treespan.runtimes.world import world
from treespan.schemes.plan import MPI, SIMULATED, Budget
from treespan.schemes.saved import Manifest, SaveError, SaveFolder, all_entries, entries_in, read_manifest
from treespan.search.result import SearchResult, joined

WAIT_SECONDS = 0.05  # between two looks whether all shards are written
MOST_RESTARTS = 3
SHORTEST_SECONDS = 1e-3  # of what is left of a search
SHORTEST_EVERY = 0.1  # seconds between two saves
Tell = Callable[[str], None]  # says a sentence to the user


class Saver:
    """Saves a tree to a folder, again and again, while it grows."""

    def __init__(self, path: Path):
        """Open the folder. Raises SaveError, and touches nothing, if something else is there."""
        self._folder = SaveFolder(path)
        self.path = path
        self.parts_saved: int | None = None  # parts of the search that the saved tree has; None: no save was made
        self._writing: _Save | None = None

    def begin(self, thinker: Thinker, position: Position, parts: int = 0) -> None:
        """Copy the tree, and have it written while this process goes on. Waits for the save before.

        Raises SaveError if that has failed, or if this one cannot begin.
        """
        self.end()
        folder = self._folder.begin()
        try:
            facts, count = thinker.begin_save(position, folder)
        except BaseException:
            self._folder.discard(folder)
            raise
        self._writing = _Save(self._folder, folder, thinker, facts, count, parts)

    def end(self) -> None:
        """Wait until the last save is on the disk. Raises SaveError if it is not; then the one before is there."""
        writing, self._writing = self._writing, None
        if writing is not None:
            writing.end()
            self.parts_saved = writing.parts

    def give_up(self) -> None:
        """The ranks are lost: a save that is not whole never will be."""
        writing, self._writing = self._writing, None
        if writing is not None and writing.give_up():
            self.parts_saved = writing.parts

    def close(self) -> None:
        self.give_up()
        self._folder.close()


class _Save:
    """One save on its way to the disk."""

    def __init__(self, target: SaveFolder, folder: Path, thinker: Thinker, facts: Manifest, count: int, parts: int):
        self.target, self.folder, self.thinker, self.parts = target, folder, thinker, parts
        self._error: SaveError | None = None
        self._is_whole = False
        self._given_up = threading.Event()
        self._thread = threading.Thread(target=self._commit, args=(facts, count), daemon=True)
        self._thread.start()

    def _commit(self, facts: Manifest, count: int) -> None:
        """Wait for the shards, and let them be the saved tree as soon as they are there: a job may be killed soon."""
        try:
            is_last_look = False
            while (entries := entries_in(self.folder, count)) is None:
                if is_last_look:
                    return
                is_last_look = self._given_up.wait(WAIT_SECONDS)
            self.target.commit(self.folder, facts, entries)
            self._is_whole = True
        except SaveError as error:
            self._error = error
        except Exception as error:  # told by who waits
            self._error = SaveError(f"cannot save: {type(error).__name__}: {error}")

    def end(self) -> None:
        """Wait until it is there. Raises SaveError if it never will be."""
        errors = self.thinker.end_save()
        if not self.give_up():  # now all shards are there that ever will be
            raise self._error or SaveError(errors[0] if errors else "cannot save: a rank was lost; the last save stays")

    def give_up(self) -> bool:
        """Wait no more for shards. Returns whether all were there."""
        self._given_up.set()
        self._thread.join()
        if not self._is_whole:
            self.target.discard(self.folder)
        return self._is_whole


@contextlib.contextmanager
def saving(path: Path) -> Iterator[Saver]:
    """A saver, while the body runs."""
    saver = Saver(path)
    try:
        yield saver
    finally:
        saver.close()


def save(thinker: Thinker, position: Position, path: Path) -> None:
    """Save a tree to a folder, and wait until it is there. In an MPI job without a leader all ranks call this."""
    if thinker.plan.runtime != MPI or not inside_mpi():
        with saving(path) as saver:
            saver.begin(thinker, position)
            saver.end()
        return
    _save_together(thinker, position, path)


def _save_together(thinker: Thinker, position: Position, path: Path) -> None:
    """Each rank writes its part; rank 0 has the folder."""
    thinker.check_save()
    target, folder, error = None, None, None
    try:
        if world().rank == 0:
            target = SaveFolder(path)
            folder = target.begin()
    except SaveError as caught:
        error = caught
    folder, error = share((folder, error))
    if error is not None:
        raise error
    facts, count = thinker.begin_save(position, folder)
    errors = thinker.end_save()
    error = SaveError(errors[0]) if errors else None
    if target is not None:
        try:
            if error is None:
                target.commit(folder, facts, all_entries(folder, count))
        except SaveError as caught:
            error = caught
        if error is not None:
            target.discard(folder)
        target.close()
    error = share(error)
    if error is not None:
        raise error


class SavedSearch:
    """A search by a plan that saves its tree every so many real seconds, and at the end.

    It pauses for a moment, so that no job is between ranks, and goes on while the tree is written. A full disk costs
    the save, not the search. If the ranks are lost, fewer go on from the last save in the time that is left.
    """

    def __init__(self, thinker: Thinker, position: Position, saver: Saver, every: float, tell: Tell):
        """`tell` says to the user what went wrong while the search goes on."""
        self.thinker, self.position, self.saver, self.every, self.tell = thinker, position, saver, every, tell
        self.lost_ranks = self.lost_playouts = 0
        self._parts: list[SearchResult] = []
        self._playouts_of_part = 0  # so far
        self.paused_seconds = 0.0  # of real time: simulated clusters do not pause

    def run(self, budget: Budget, watch: Watch | None = None) -> SearchResult:
        is_over = False
        while not is_over:
            done = sum(part.playouts for part in self._parts)
            gone = sum(part.seconds for part in self._parts) + self.paused_seconds
            left = None if budget.playouts is None else budget.playouts - done
            seconds = None if budget.seconds is None else max(budget.seconds - gone, SHORTEST_SECONDS)
            try:
                part, is_over = self._think(Budget(left, seconds), self._watching(watch, done, gone))
                self._parts.append(part)
                self._save(is_over)
            except RanksLostError as error:
                self._restart(error)
            except KeyboardInterrupt:  # between two parts; in the midst of one it is told by the part
                if not self._parts:
                    raise
                is_over = self._parts[-1].interrupted = True
                self._save(is_over)
        result = joined(self._parts)
        result.lost_ranks += self.lost_ranks
        result.lost_playouts += self.lost_playouts
        result.seed = self.thinker.plan.seed  # parts have seeds of their own
        return result

    def _save(self, is_over: bool) -> None:
        start = time.monotonic()
        try:
            self.saver.begin(self.thinker, self.position, len(self._parts))
            if is_over:
                self.saver.end()
        except SaveError as error:
            self.tell(str(error) if is_over else f"{error}; the search goes on")
        if self.thinker.plan.runtime != SIMULATED and not is_over:
            self.paused_seconds += time.monotonic() - start

    def _restart(self, error: RanksLostError) -> None:
        """Go on from the last save, with a rank less. Raises the error if there is no save, or after some times."""
        self.saver.give_up()
        thinker, saved = self.thinker, self.saver.parts_saved
        if saved is None or self.lost_ranks == MOST_RESTARTS or not isinstance(thinker, RankThinker):
            raise error
        lost = self._playouts_of_part + sum(part.playouts for part in self._parts[saved:])
        self.lost_ranks, self.lost_playouts = self.lost_ranks + 1, self.lost_playouts + lost
        del self._parts[saved:]
        self._playouts_of_part = 0
        thinker.lose_rank()
        reason = str(error).partition("; ")[0]
        self.tell(f"{reason}; {thinker.plan.ranks} go on from the last save, without {lost:,} playouts")
        manifest = read_manifest(self.saver.path)
        thinker.load(self.position, manifest, self.saver.path / manifest.folder)

    def _think(self, budget: Budget, watch: Watch) -> tuple[SearchResult, bool]:
        """Search until the budget is spent, or for some real seconds. Returns whether the whole search is over."""
        thinker, every = self.thinker, self.every
        thinker.last_save = self.saver.path.absolute()
        thinker.ready()
        if thinker.plan.runtime != SIMULATED:
            is_last = budget.seconds is not None and budget.seconds <= every
            result = thinker.think(
                self.position, replace(budget, seconds=budget.seconds if is_last else every), watch=watch
            )
            is_spent = budget.playouts is not None and result.playouts >= budget.playouts
            return result, is_last or is_spent or result.interrupted or result.proven is not None
        is_due = threading.Event()

        def pause() -> None:
            is_due.set()
            thinker.stop()

        timer = threading.Timer(every, pause)
        timer.daemon = True
        timer.start()
        try:
            result = thinker.think(self.position, budget, watch=watch)
        finally:
            timer.cancel()
        is_paused = is_due.is_set() and result.interrupted
        result.interrupted &= not is_paused
        return result, not is_paused

    def _watching(self, watch: Watch | None, done: int, gone: float) -> Watch:
        """Let who watches see the whole search."""

        def see(playouts: int, seconds: float) -> None:
            self._playouts_of_part = playouts
            if watch is not None:
                watch(done + playouts, gone + seconds)

        self._playouts_of_part = 0
        return see
