"""`treespan.search`: one search."""

from typing import Any

from treespan.core.arguments import checked
from treespan.games.position import Position
from treespan.games.registry import make_game
from treespan.games.rules import Game
from treespan.runtimes.plan import asks_for_ranks, make_plan
from treespan.runtimes.run import search_for_all, starting_ranks
from treespan.runtimes.together import together
from treespan.schemes.plan import DEFAULT_NETWORK, Evaluate, Progress, Request
from treespan.schemes.scheme import Scheme
from treespan.search.result import SearchResult


@together(asks_for_ranks)
@checked
def search(
    position: Position | Game | str,
    *,
    playouts: int | None = None,
    seconds: float | None = None,
    scheme: str | Scheme | None = None,
    threads: int | None = None,
    ranks: int | None = None,
    simulate: int | None = None,
    network: str = DEFAULT_NETWORK,
    workers: int = 0,
    evaluate: Evaluate | str | None = None,
    seed: int = 1,
    progress: Progress | None = None,
    **options: Any,
) -> SearchResult:
    """Search a position. Ctrl-C ends the search with the result so far.

    position: a position, a game, or a game's spec as "go:size=9".
    playouts, seconds: when the search ends, whichever comes first; 10,000 playouts if neither is given.
    scheme: how simulations are spread, as "span:grant=3" or `treespan.Span(grant=3)`; None: a good one for what is
        asked.
    threads, ranks, simulate: threads of this process; MPI ranks, which are started on this machine; or ranks of a
        simulated cluster. Give at most one. A program under mpiexec searches on the ranks of the job, and every rank
        gets the result.
    network: of the simulated cluster.
    workers: threads of each rank that only play out; 0: the rank itself plays out.
    evaluate: a function that values positions instead of playouts. It takes an array of positions and returns a number
        in 0..1 for each, the expected reward of the first player.
    seed: the same seed gives the same result, unless threads share a tree or MPI ranks exchange messages.
    progress: called a few times a second with the playouts and the seconds so far.
    options: of a search, as bandit="rave" or policy="light". If the scheme is given as text, also its own options.

    Returns the result: the moves, best first, and how the search went. Raises OptionError for options that do not fit,
    and PositionError for a position without a choice.

    >>> import treespan as ts
    >>> ts.search("tictactoe", playouts=2000).move
    'b2'
    """
    game = position.game if isinstance(position, Position) else make_game(position)
    plan = make_plan(
        game,
        playouts=playouts,
        seconds=seconds,
        scheme=scheme,
        threads=threads,
        ranks=ranks,
        simulate=simulate,
        network=network,
        workers=workers,
        evaluate=evaluate,
        seed=seed,
        **options,
    )
    with starting_ranks(plan) as crew:  # while the position is made, for which Numba may be loaded
        start = position if isinstance(position, Position) else Position(game)
        return search_for_all(Request(start, plan), progress, crew=crew)
