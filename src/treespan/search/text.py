"""A search's result as text for terminals, and as HTML for notebooks."""

import html
from typing import TYPE_CHECKING

from treespan.core.folding import WIDTH, fold_all
from treespan.core.tables import as_text, plain_table

if TYPE_CHECKING:
    from rich.table import Table

    from treespan.search.result import SearchResult

MAX_SHOWN_RANKS = 32  # with more ranks there is no table of ranks
SHOWN_MOVES = 8
HEAT = (217, 95, 2)  # colour of the most visited move of a board


def result_text(result: "SearchResult", best: int = SHOWN_MOVES, width: int = WIDTH) -> str:
    """Return the position, the best moves, and how the search went, as text."""
    parts = [str(result.position), ""]
    parts += [as_text(_move_table(result, best), width), ""]
    if 1 < len(result.playouts_by_rank) <= MAX_SHOWN_RANKS:
        by_rank = plain_table("rank", "playouts", "load", "messages received", "jobs at most", right_from=0)
        for rank, (playouts, load, received, queue) in enumerate(result.by_rank()):
            by_rank.add_row(str(rank), f"{playouts:,}", f"{load:.0%}", f"{received:,}", f"{queue:,}")
        parts += [as_text(by_rank, width), ""]
    return "\n".join([*parts, *fold_all(summary_lines(result), width)])


def _move_table(result: "SearchResult", best: int) -> "Table":
    moves = result.moves[:best]
    with_priors, with_proofs = result.moves[0].prior is not None, any(move.proven for move in moves)
    extra = (["prior"] if with_priors else []) + (["proven"] if with_proofs else [])
    table = plain_table("move", "visits", "share", "value", *extra)
    for move in moves:
        cells = [move.move, f"{move.visits:,}", f"{move.share:.1%}", f"{move.value:.3f}"]
        cells += [f"{move.prior:.3f}"] if with_priors else []
        table.add_row(*cells, *([move.proven or ""] if with_proofs else []))
    return table


def summary_lines(result: "SearchResult") -> list[str]:
    """Return a few lines on how the search went."""
    where = f"{result.threads} threads" if result.threads > 1 else "1 thread"
    if result.runtime != "threads":
        where = f"{result.ranks} {'simulated' if result.runtime == 'simulated' else 'MPI'} ranks"
    lines = [
        f"best move {result.move}, line {' '.join(result.line)}",
        f"{result.playouts:,} playouts in {result.seconds:.2f} s on {where}, {result.scheme}: "
        f"{result.playouts_per_second:,.0f} playouts/s",
        f"depth {result.depth:.1f} (deepest {result.max_depth}), {result.nodes:,} nodes with {result.edges:,} moves",
    ]
    if result.proven:
        lines.append(f"proven: a {result.proven} for the player to move")
    if result.optimal is not None:
        lines.append("the optimal move" if result.optimal else "not the optimal move")
    if result.report_levels is not None:
        lines.append(f"{result.report_levels:.2f} levels reported per playout")
    if result.third_best is not None:
        lines.append(f"a third-best move or worse had become best in {result.third_best:.2%} of returns")
    if result.messages["sent"]:
        size = result.messages["bytes"] / result.messages["sent"]
        lines.append(
            f"{result.messages['per_playout']:.2f} messages of {size:.0f} bytes per playout, at most "
            f"{result.queue_peak:,} jobs at one rank, ended in {result.end_seconds * 1e3:.2f} ms"
        )
    if result.between_ranks is not None:
        between = result.between_ranks
        lines.append(
            f"{between['agreement']:.0%} of the ranks prefer it by their own simulations, its value varies by "
            f"{between['variance'] ** 0.5:.3f} between ranks; {between['rounds']:.0f} rounds of sharing took "
            f"{result.sync_share:.2%} of the time"
        )
    if result.third_best_audit is not None:
        lines.append(f"third-best move best somewhere on the stack after {result.third_best_audit:.2%} of playouts")
    if result.tree_full:
        lines.append(f"the tree was full: {result.refused_expansions:,} expansions refused; give more nodes")
    if result.depth_cuts:
        lines.append(f"{result.depth_cuts:,} descents were cut at max_depth")
    if result.interrupted:
        lines.append("interrupted: the best move so far")
    if result.hint:
        lines.append(result.hint)
    return lines


def result_html(result: "SearchResult", best: int = SHOWN_MOVES) -> str:
    """Return the board as HTML, coloured by visits, beside the best moves."""
    rows = "".join(
        f"<tr><td>{html.escape(move.move)}</td><td>{move.visits:,}</td><td>{move.share:.1%}</td>"
        f"<td>{move.value:.3f}</td></tr>"
        for move in result.moves[:best]
    )
    table = f"<table><tr><th>move</th><th>visits</th><th>share</th><th>value</th></tr>{rows}</table>"
    words = "<br>".join(map(html.escape, summary_lines(result)))
    return f'<div style="display:flex;gap:2em;align-items:flex-start">{_board_html(result)}{table}</div><p>{words}</p>'


def _board_html(result: "SearchResult") -> str:
    """Return the board: the more visits a move has, the deeper its colour. As text if the game has no cells."""
    position = result.position
    cells = position.game.cells(position.state)
    if cells is None:
        return f"<pre>{html.escape(str(position))}</pre>"
    most = max((move.share for move in result.moves), default=0.0) or 1.0
    heat = {position.game.cell_of(position.state, move.id): move for move in result.moves if move.visits}
    rows = []
    for y, row in enumerate(cells):
        marks = []
        for x, mark in enumerate(row):
            move = heat.get((y, x))
            depth = move.share / most if move else 0.0
            title = f' title="{html.escape(move.move)}: {move.visits:,} visits, {move.value:.3f}"' if move else ""
            colour = f"background:rgba({HEAT[0]},{HEAT[1]},{HEAT[2]},{depth:.2f})"
            style = f"width:1.6em;height:1.6em;text-align:center;border:1px solid #ccc;{colour}"
            marks.append(f'<td style="{style}"{title}>{html.escape(mark)}</td>')
        rows.append(f"<tr>{''.join(marks)}</tr>")
    return f'<table style="border-collapse:collapse">{"".join(rows)}</table>'
