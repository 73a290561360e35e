"""`treespan search`: one search, on any runtime."""

import shlex
import sys
from functools import partial
from pathlib import Path
from typing import Annotated, Any

import typer

from treespan.cli import options
from treespan.cli.app import JsonOption, app, print_json
from treespan.cli.ranks import with_crew
from treespan.core.errors import OptionError, named


@app.command()
@options.with_search_options()
def search(
    game: Annotated[str | None, typer.Argument(help="Game spec, as go:size=9 or mygame.py:size=5.")] = None,
    moves: Annotated[str, typer.Option(help="Moves to play first, as 'E5 C3'.")] = "",
    position: Annotated[Path | None, typer.Option(help="File with a diagram to start from.")] = None,
    *,
    chosen: options.Chosen,
    save: Annotated[
        Path | None, typer.Option(help="Save the tree to this folder, at the end and on the way.", metavar="PATH")
    ] = None,
    save_every: Annotated[str, typer.Option(help="Time between two saves on the way.")] = "60s",
    resume: Annotated[
        Path | None, typer.Option(help="Go on with the tree that was saved to this folder.", metavar="PATH")
    ] = None,
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
      treespan search go:size=19 --ranks 8 --seconds 1h --save opening
      treespan search --resume opening --ranks 32 --seconds 10m --save opening
    """
    from treespan.games.registry import make_game
    from treespan.runtimes.launch import join_job
    from treespan.runtimes.run import run_search, starting_ranks
    from treespan.schemes.plan import Request
    from treespan.terminal import search_progress

    join_job()
    if game is None and resume is None:
        raise OptionError("there is nothing to search; give a game, as go:size=9, or --resume PATH")
    if save is not None or resume is not None:
        if resume is not None and position is not None:
            raise OptionError("--position and --resume exclude each other: a saved tree has a position; give one")
        start = (lambda rules: read_position(rules, position, moves)) if resume is None else moves
        search_with_saves(game, start, chosen, save, save_every, resume, json_output)
        return
    rules = make_game(game or "")
    plan = options.plan_of(chosen, rules)
    with starting_ranks(plan) as ranks, search_progress(plan) as line:
        request = Request(read_position(rules, position, moves), plan)
        if json_output or line is None:
            result = run_search(request, crew=ranks)
        else:
            result = run_search(request, line.report, crew=ranks, looks=line.looks)
    if result is not None:  # this is rank 0
        show(result, json_output)


def show(result: Any, json_output: bool) -> None:
    """Print a result."""
    from treespan.search.text import result_text
    from treespan.terminal import terminal_width

    if json_output:
        print_json(result.as_json())
    else:
        print(result_text(result, width=terminal_width()))


def search_with_saves(
    game: str | None,
    start: Any,
    chosen: options.Chosen,
    save: Path | None,
    save_every: str,
    resume: Path | None,
    json_output: bool,
) -> None:
    """Search with a tree that is saved, or goes on from a save. `start`: the moves since, or what makes the position"""
    from treespan.core.options import check_range, parse_seconds
    from treespan.engine.saving import SHORTEST_EVERY, SavedSearch, Saver
    from treespan.engine.thinker import make_crew, make_thinker
    from treespan.games.registry import make_game
    from treespan.runtimes.plan import resumed
    from treespan.runtimes.run import check_fit
    from treespan.schemes.plan import Request
    from treespan.schemes.saved import read_manifest
    from treespan.terminal import search_progress

    every = parse_seconds(save_every, partial(named, "save_every"))
    check_range("save_every", every, SHORTEST_EVERY)
    manifest = None if resume is None else read_manifest(resume)
    rules = None if game is None else make_game(game)
    if manifest is None:
        assert rules is not None
        plan = options.plan_of(chosen, rules)
        position = start(rules)
    else:
        assert resume is not None
        position, plan = resumed(manifest, resume, rules, **options.read_chosen(chosen))
    check_fit(Request(position, plan))

    def work(crew: Any) -> None:
        nonlocal position
        thinker = make_thinker(position.game, plan, True, crew)
        saver = None
        try:
            if save is not None:
                thinker.check_save()
                saver = Saver(save)
            if manifest is not None and resume is not None:
                thinker.load(position, manifest, resume / manifest.folder)
                position = position.copy()
                position.play_text(start)
            with search_progress(plan) as line:

                def watch(playouts: int, seconds: float) -> None:
                    if line is not None and not json_output:
                        line.report(playouts, seconds)
                        if so_far := thinker.so_far():
                            line.show(so_far)

                if saver is None:
                    result = thinker.think(position, plan.budget, watch=watch)
                else:
                    result = SavedSearch(thinker, position, saver, every, note).run(plan.budget, watch)
        finally:
            if saver is not None:
                saver.close()
            thinker.close()
        show(result, json_output)
        if saver is not None and saver.parts_saved is not None:
            note(f"the tree is saved; go on by: treespan search --resume {shlex.quote(str(save))}")

    with_crew(plan, make_crew(plan), work)


def note(text: str) -> None:
    """Say something beside the result."""
    print(f"treespan: {text}", file=sys.stderr)


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
