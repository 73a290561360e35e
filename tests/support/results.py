"""Results of searches in one process, by a scheme that is given as text."""

from tests.support.distributed import request
from treespan.schemes.plan import THREADS
from treespan.search.result import SearchResult


def result_of(scheme: str, spec: str, playouts: int, moves: str = "", seed: int = 1) -> SearchResult:
    search = request(scheme, spec, playouts, seed=seed, runtime=THREADS, moves=moves)
    return search.plan.scheme.search_here(search)
