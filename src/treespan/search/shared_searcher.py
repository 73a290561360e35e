"""One tree and several threads: a `Searcher` whose `run` uses them all."""

import threading
import time

import numpy as np

from treespan.games.rules import Game
from treespan.search.options import SearchOptions
from treespan.search.searcher import FOREVER_NS, Searcher
from treespan.search.shared import new_team, run_shared
from treespan.search.work import DEPTH_MAX, Work, new_work

VIRTUAL_LOSSES = ("loss", "visits", "unobserved", "none")


class SharedSearcher(Searcher):
    """A search of one game by `threads` threads, which exist only during `run`. Not safe for two callers."""

    def __init__(
        self,
        game: Game,
        options: SearchOptions,
        seed: int = 1,
        threads: int = 1,
        virtual_loss: str = "loss",
        is_locked: bool = False,
    ):
        self.counts_flights = virtual_loss in ("visits", "unobserved")
        of_scheme = {"count_early": virtual_loss == "loss", "unobserved": virtual_loss == "unobserved"}
        super().__init__(game, options, seed, of_scheme=of_scheme)
        depth = int(self.settings.max_depth)
        others = [
            new_work(game, depth, seed, stream, with_solver=options.asks_solver()) for stream in range(1, threads)
        ]
        self.works: list[Work] = [self.work, *others]
        self.team = new_team(threads, is_locked)
        self.load = [1.0] * threads

    def _set_root_state(self) -> None:
        super()._set_root_state()
        for work in self.works[1:]:
            work.states[0] = self.work.states[0]
            work.counters[:] = 0
            work.stop[0] = 0

    def run(self, playouts: int, deadline_ns: int = FOREVER_NS) -> int:
        """Simulate in all threads, the calling thread among them. Returns the number of simulations done."""
        self.team.pool[0] = playouts
        done = [0] * len(self.works)
        finished = [0] * len(self.works)
        failures: list[BaseException] = []
        start = time.monotonic_ns()

        def work(index: int) -> None:
            try:
                done[index] = int(self._simulate(index, deadline_ns))
            except BaseException as error:  # handed over to the calling thread, which raises it
                failures.append(error)
                self.stop()
            finished[index] = time.monotonic_ns()

        threads = [threading.Thread(target=work, args=(index,), daemon=True) for index in range(1, len(self.works))]
        for thread in threads:
            thread.start()
        work(0)
        for thread in threads:
            thread.join()
        if failures:
            raise failures[0]
        total = max(max(finished) - start, 1)
        self.load = [(end - start) / total for end in finished]
        return sum(done)

    def _simulate(self, index: int, deadline_ns: int) -> int:
        done = run_shared(self.game, self.tree, self.settings, self.works[index], self.team, deadline_ns)
        return int(done)

    def stop(self) -> None:
        for work in self.works:
            work.stop[0] = 1

    @property
    def counters(self) -> np.ndarray:
        counters: np.ndarray = np.sum([work.counters for work in self.works], axis=0)
        counters[DEPTH_MAX] = max(work.counters[DEPTH_MAX] for work in self.works)
        return counters
