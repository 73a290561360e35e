"""`sequential`: UCT or df-UCT in one thread, the yardstick of every other scheme (all five papers)."""

from dataclasses import dataclass

from treespan.core.errors import OptionError
from treespan.schemes.base import Request, Scheme, drive, summarise
from treespan.search.result import SearchResult
from treespan.search.searcher import Searcher


@dataclass(frozen=True)
class Sequential(Scheme):
    name = "sequential"
    summary = "UCT or df-UCT in one thread"
    paper = "gelly2008 Algorithm 3; yoshizoe2011 (df-UCT)"

    def search(self, request: Request) -> SearchResult:
        if request.threads != 1:
            raise OptionError(f"scheme sequential runs in 1 thread, not {request.threads}; give --scheme shared")
        searcher = Searcher(request.position.game, self, request.seed)
        searcher.set_position(request.position)
        run = drive([searcher], request.budget, request.progress)
        return summarise(self, request, [searcher], run)
