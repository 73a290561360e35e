"""`treespan play` and `treespan analyze`: games for people."""

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.console import Console

from treespan.cli import options
from treespan.cli.app import JsonOption, accept_any_input, app, print_json
from treespan.cli.ranks import lead_or_follow
from treespan.core.errors import OptionError

if TYPE_CHECKING:
    from treespan.engine import GameEngine
    from treespan.lab.measure.review import MoveReview


@app.command()
@options.with_search_options()
def play(
    game: Annotated[str, typer.Argument(help="Spec of a game, as go:size=9; a game for one is played with hints.")],
    side: Annotated[str, typer.Option(help="You are the first or the second player.")] = "first",
    *,
    chosen: options.Chosen,
    resign: options.Resign = 0.0,
    resign_moves: options.ResignMoves = None,
    early_stop: options.EarlyStop = True,
) -> None:
    """Play a game against the computer.

    The board has colours where the terminal has them; NO_COLOR=1 does without. In the game, ? shows what you can say.

    \b
    Examples:
      treespan play go:size=9 --seconds 3 --bandit rave
      treespan play connect4 --side second --playouts 100000
      treespan play hex:size=11 --threads 4 --seconds 5
      treespan play go:size=19 --ranks 4 --seconds 10
      treespan play havannah:base=5 --simulate 16 --playouts 20000
      treespan play samegame
    """
    from treespan.engine import RESIGN_MOVES, GameEngine
    from treespan.games.registry import make_game
    from treespan.runtimes.launch import join_job
    from treespan.terminal import quiet_keys

    if side not in ("first", "second"):
        raise OptionError(f"--side {side} is unknown; give first or second")
    join_job()
    with quiet_keys():  # it may compile
        rules = make_game(game)
        plan = options.plan_of(chosen, rules)
        engine = GameEngine(rules, plan, resign, early_stop=early_stop, resign_moves=resign_moves or RESIGN_MOVES)
    lead_or_follow(engine, lambda: play_games(engine, ("first", "second").index(side)))


def play_games(engine: "GameEngine", human: int) -> None:
    """Play at this terminal until the person leaves."""
    from treespan.play import PlaySession
    from treespan.terminal import PlayScreen, quiet_keys

    screen = PlayScreen()
    session = PlaySession(engine, human, screen.thinking)
    accept_any_input()
    try:
        with quiet_keys():
            engine.warm_up()  # before the game: compiles, and refuses options that do not go together
            turn = session.begin()
            screen.show(turn)
        while not turn.is_last and (line := screen.ask()):
            with quiet_keys():
                turn = session.handle_line(line)
                screen.show(turn)
    except KeyboardInterrupt:
        print(file=sys.stderr)  # after the ^C of the terminal
        raise
    finally:
        engine.close()


@app.command()
@options.with_search_options(but=options.MPI_OPTIONS)
def analyze(
    file: Annotated[Path, typer.Argument(help="A game of Go as SGF.")],
    *,
    chosen: options.Chosen,
    blunder: Annotated[float, typer.Option(help="A move that costs this win rate is a blunder.", min=0, max=1)] = 0.15,
    out: Annotated[Path | None, typer.Option(help="Write the game with comments and better lines here.")] = None,
    plot: Annotated[Path | None, typer.Option(help="Draw win rate and blunders: FILE.png, .svg or .pdf.")] = None,
    json_output: JsonOption = False,
) -> None:
    """Look at a game of Go again: the win rate of every move, blunders, and what was better.

    \b
    Examples:
      treespan analyze game.sgf --seconds 1
      treespan analyze game.sgf --playouts 20000 --bandit rave \\
          --out commented.sgf --plot rates.png
    """
    from rich.progress import Progress

    from treespan.games.go import Go
    from treespan.games.go.sgf import read_sgf
    from treespan.lab.measure.review import annotate, review_game

    plan = options.plan_of(chosen, Go())
    try:
        document = read_sgf(file.read_bytes())
    except OSError as error:
        raise OptionError(f"cannot read '{file}': {error.strerror}") from None
    if not document.moves:
        raise OptionError(f"'{file}' has no moves; there is nothing to analyze")
    if plot:
        from treespan.lab.measure.plots import plot_review, require_matplotlib

        require_matplotlib()  # rather than after hours of searching
    with Progress(console=Console(stderr=True), transient=True, disable=not sys.stderr.isatty()) as progress:
        task = progress.add_task("analyzing", total=len(document.moves))
        reviews = review_game(document, plan, lambda done: progress.update(task, completed=done))
    try:
        if out:
            out.write_bytes(annotate(document, reviews, blunder))
    except OSError as error:
        raise OptionError(f"cannot write '{error.filename}': {error.strerror}") from None
    if plot:
        plot_review(reviews, blunder, plot)
    if json_output:
        marks = [{**review.as_json(), "blunder": review.is_blunder(blunder)} for review in reviews]
        print_json({"game": document.game.spec(), "scheme": plan.spec(), "moves": marks})
    else:
        show_review(reviews, blunder)


def show_review(reviews: "list[MoveReview]", blunder: float) -> None:
    """A table of all moves, the win rate as a picture of text, and the blunders once more."""
    from treespan.core.tables import as_text, plain_table
    from treespan.lab.measure.review import rate_plot
    from treespan.terminal import show_folded, terminal_width

    table: Any = plain_table("move", "Black wins", "cost", "best", "line", right_from=1)
    for column in table.columns[3:]:
        column.justify = "left"
    for review in reviews:
        cost = f"{review.loss:.1%}" + (" ??" if review.is_blunder(blunder) else "   ")
        cells = (f"{review.number:3} {review.color} {review.move}", f"{review.after:.1%}", cost)
        table.add_row(*cells, review.best, " ".join(review.line[1:6]))
    print(as_text(table, terminal_width()))
    for line in rate_plot(reviews, max(terminal_width() - 8, 10)):
        print(line.rstrip())
    blunders = [review for review in reviews if review.is_blunder(blunder)]
    words = ", ".join(f"{r.number} {r.color} {r.move} (better {r.best})" for r in blunders) or "none"
    show_folded([f"blunders, {blunder:.0%} or more: {words}"])
