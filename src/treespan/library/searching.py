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

    position: a position, a game, or the spec of a game, such as "go:size=9".
    playouts, seconds: the search ends after so many playouts or seconds, whichever comes first; 10,000 playouts if you
        give neither.
    scheme: the scheme that spreads the simulations, such as "span:grant=3" or `treespan.Span(grant=3)`. None:
        `sequential` in one thread, `shared` for several threads, `span` for ranks.
    threads, ranks, simulate: the number of threads of this process; of MPI ranks, which the search starts on this
        machine; or of ranks of a simulated cluster. Give at most one. A program under mpiexec searches on the ranks of
        the job, and every rank gets the result.
    network: the network of the simulated cluster: the name or the file of a profile.
    workers: the number of threads of each rank that only play out; 0: the rank itself plays out.
    evaluate: a function that values positions, instead of playouts. It takes an array of positions and returns a number
        in 0..1 for each: the reward that the first player may expect.
    seed: the same seed and the same playouts give the same result, unless threads share a tree or MPI ranks exchange
        messages.
    progress: a function that is called a few times a second with the playouts and the seconds so far.
    options: options of a search, such as bandit="rave" or policy="light". If you give the scheme as text, also options
        of the scheme.

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
