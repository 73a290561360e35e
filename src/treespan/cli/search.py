"""`treespan search`: one search, on any runtime."""

from pathlib import Path
from typing import Annotated, Any

import typer

from treespan.cli import options
from treespan.cli.app import JsonOption, app, print_json
from treespan.core.errors import OptionError


@app.command()
@options.with_search_options()
def search(
    game: Annotated[str, typer.Argument(help="Game spec, as go:size=9 or mygame.py:size=5.")],
    moves: Annotated[str, typer.Option(help="Moves to play first, as 'E5 C3'.")] = "",
    position: Annotated[Path | None, typer.Option(help="File with a diagram to start from.")] = None,
    *,
    chosen: options.Chosen,
    json_output: JsonOption = False,
) -> None:
    """Search a position and print the best moves.

    \b
    Examples:
      treespan search go:size=9 --playouts 100000
      treespan search go:size=9 --moves "E5 C3 G6" --seconds 5 --threads 2
      treespan search pgame:branching=40 --scheme sequential:algorithm=dfuct \\
          --playouts 1e6
      treespan search hex:size=11 --bandit rave --json
      treespan search go:size=9 --ranks 4 --seconds 5
      treespan search pgame --simulate 1200 --scheme tds-dfuct --policy wait=1ms \\
          --playouts 1e6
      mpiexec -n 64 treespan search go:size=19 --seconds 30
      treespan search go:size=9 --ranks 4 --scheme slow-tree --bandit ucb1 \\
          --seconds 5 --extend-if-unsure 2
      treespan search go:size=19 --ranks 2 --workers 7 --seconds 10
      treespan search go:size=9 --ranks 2 --evaluate mynet.py:values \\
          --playouts 2000
      treespan search mygame.py:size=5 --playouts 10000
    """
    from treespan.games.registry import make_game
    from treespan.runtimes.launch import join_job
    from treespan.runtimes.run import run_search, starting_ranks
    from treespan.schemes.plan import Request
    from treespan.search.text import result_text
    from treespan.terminal import search_progress, terminal_width

    join_job()
    rules = make_game(game)
    plan = options.plan_of(chosen, rules)
    with starting_ranks(plan) as ranks, search_progress(plan) as line:
        request = Request(read_position(rules, position, moves), plan)
        if json_output or line is None:
            result = run_search(request, crew=ranks)
        else:
            result = run_search(request, line.report, crew=ranks, looks=line.looks)
    if result is None:
        return  # not rank 0
    if json_output:
        print_json(result.as_json())
    else:
        print(result_text(result, width=terminal_width()))


def read_position(game: Any, file: Path | None, moves: str) -> Any:
    """The position to search: from a diagram or the start, then moves."""
    from treespan.games.position import Position

    state = None
    if file is not None:
        try:
            state = game.read_diagram(file.read_text())
        except (OSError, UnicodeDecodeError) as error:
            reason = error.strerror if isinstance(error, OSError) else "it is not text"
            raise OptionError(f"cannot read --position '{file}': {reason}") from None
    start = Position(game, state)
    start.play_text(moves)
    return start
