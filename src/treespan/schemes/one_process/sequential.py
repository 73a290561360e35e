"""`sequential`: UCT or df-UCT in one thread, the yardstick of every other scheme (all five papers)."""

from dataclasses import dataclass

from treespan.games.rules import Game
from treespan.schemes.one_process.driver import drive
from treespan.schemes.plan import Looks, Plan, Progress, Request, WantsStop
from treespan.schemes.scheme import Scheme
from treespan.schemes.summary import summarise_here, with_looks
from treespan.search.result import SearchResult
from treespan.search.searcher import Searcher


@dataclass(frozen=True)
class Sequential(Scheme):
    """One thread and one tree. All other schemes are measured against it.

    >>> import treespan as ts
    >>> ts.search("tictactoe", scheme=ts.Sequential(), playouts=2000).move
    'b2'
    """

    name = "sequential"
    summary = "UCT or df-UCT in one thread"
    paper = "gelly2008 Algorithm 3; yoshizoe2011 (df-UCT)"
    in_one_process = True
    on_ranks = False
    may_ask_solver = True
    amaf_with_workers = False

    def search_here(
        self,
        request: Request,
        progress: Progress | None = None,
        wants_stop: WantsStop | None = None,
        looks: Looks | None = None,
    ) -> SearchResult:
        (searcher,) = self.new_searchers(request.position.game, request.plan)
        searcher.set_position(request.position)
        report = with_looks(request, [searcher], progress, looks)
        run = drive([searcher], request.plan.budget, report, wants_stop=wants_stop)
        return summarise_here(request, [searcher], run)

    def new_searchers(self, game: Game, plan: Plan) -> list[Searcher]:
        return [Searcher(game, plan.options, plan.seed)]

    def with_workers(self, plan: Plan) -> Scheme:
        from treespan.schemes.whole_trees.averaging.root import Root  # few searches need it

        return Root(jobs=1)
