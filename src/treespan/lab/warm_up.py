"""Compile what searches need, by doing one of each kind: one playout for every game."""

import sys
import time
from collections.abc import Iterator, Sequence

from treespan.core.errors import TreespanError
from treespan.games.position import Position
from treespan.games.registry import make_game
from treespan.runtimes.launch import inside_mpi, launch
from treespan.runtimes.mpi_binding import MpiError
from treespan.runtimes.run import run_search
from treespan.schemes.base import Budget, Request
from treespan.schemes.registry import make_scheme

SCHEMES = ("sequential", "sequential:algorithm=dfuct", "shared")
RANKS = 2


def warm_up(specs: Sequence[str], arguments: Sequence[str]) -> Iterator[tuple[str, float]]:
    """Compile for games, one after the other; yields each spec with the seconds that it took.

    `arguments` are the command line's: MPI ranks are started with the same ones, and find themselves here again.
    """
    if inside_mpi():
        for spec in specs:
            _search(spec, "span", "mpi")
        return
    for spec in specs:
        start = time.perf_counter()
        for scheme in SCHEMES:
            _search(spec, scheme, "threads")
        _search(spec, "span", "simulated")
        yield spec, time.perf_counter() - start
    start = time.perf_counter()
    try:
        status = launch(RANKS, arguments)
    except MpiError as error:  # nothing to compile for
        print(f"treespan: not compiled for MPI ranks: {error}", file=sys.stderr)
        return
    if status:
        raise TreespanError(f"the ranks that should compile ended with status {status}")
    yield "on MPI ranks", time.perf_counter() - start


def _search(spec: str, scheme: str, runtime: str) -> None:
    game = make_game(spec)
    ranks = 1 if runtime == "threads" else RANKS
    run_search(make_scheme(scheme, game), Request(Position(game), Budget(playouts=4), ranks=ranks), runtime)
