"""Compiling in advance: a search of each kind, with one playout, for each game."""

import sys
import time
from collections.abc import Iterator, Sequence

from treespan.games.position import Position
from treespan.games.registry import make_game
from treespan.runtimes.mpi_binding import MpiError
from treespan.runtimes.ranks import Ranks
from treespan.runtimes.run import run_search
from treespan.schemes.plan import MPI, SIMULATED, THREADS, Budget, Plan, Request
from treespan.schemes.registry import read_scheme

SCHEMES = ("sequential", "sequential:algorithm=dfuct", "shared")
RANKS = 2


def warm_up(specs: Sequence[str]) -> Iterator[tuple[str, float]]:
    """Compile for games, one after the other. Yields each spec with the seconds that it took."""
    for spec in specs:
        start = time.perf_counter()
        for scheme in SCHEMES:
            run_search(_request(spec, scheme, THREADS))
        run_search(_request(spec, "span", SIMULATED))
        yield spec, time.perf_counter() - start
    start = time.perf_counter()
    try:
        with Ranks(RANKS) as ranks:
            for spec in specs:
                ranks.search(_request(spec, "span", MPI))
    except MpiError as error:  # without MPI there is nothing to compile for it
        print(f"treespan: not compiled for MPI ranks: {error}", file=sys.stderr)
        return
    yield "on MPI ranks", time.perf_counter() - start


def _request(spec: str, scheme: str, runtime: str) -> Request:
    game = make_game(spec)
    plan = Plan(
        *read_scheme(scheme, game), Budget(playouts=4), runtime=runtime, ranks=1 if runtime == THREADS else RANKS
    )
    return Request(Position(game), plan)
