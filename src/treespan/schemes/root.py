"""`root`: independent trees, one a thread, whose root statistics are added up at the end.

cazenave2008 calls it *single-run* (Cazenave & Jouandeau 2007), bourki2010 *voting* or *very slow root*. The
workers never communicate during the search, so the speed-up in playouts is perfect; but every tree is as small
as one worker can make it: bourki2010 reports that it loses clearly to schemes that share.

Deviations: none. Worker i draws from stream i of the seed, so one thread equals `sequential` bit for bit.
"""

from dataclasses import dataclass

from treespan.schemes.base import Request, Scheme, drive, summarise
from treespan.search.result import SearchResult
from treespan.search.searcher import Searcher


@dataclass(frozen=True)
class Root(Scheme):
    name = "root"
    summary = "independent trees, merged at the end"
    paper = "cazenave2008 (single-run), bourki2010 (voting)"

    def search(self, request: Request) -> SearchResult:
        game = request.position.game
        searchers = [Searcher(game, self, request.seed, stream) for stream in range(request.threads)]
        for searcher in searchers:
            searcher.set_position(request.position)
        run = drive(searchers, request.budget, request.progress)
        return summarise(self, request, searchers, run)
