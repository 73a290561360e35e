"""A match as text: the score, what it means, and a short list of the games."""

from typing import TYPE_CHECKING

from treespan.core.folding import WIDTH, fold_all
from treespan.core.tables import as_text, plain_table

if TYPE_CHECKING:
    from rich.table import Table

    from treespan.lab.match.play import MatchReport

SHOWN_GAMES = 10


def match_text(report: "MatchReport", games: int = 0, width: int = WIDTH) -> str:
    """Return the players, the score and what it means, and the first `games` games."""
    setup = report.setup
    table = plain_table(f"{setup.game}: wins–losses–draws of A", "games", "score")
    table.add_row("as first player", f"{report.by_first['A'].games}", f"{report.by_first['A']}")
    table.add_row("as second player", f"{report.by_first['B'].games}", f"{report.by_first['B']}")
    table.add_row("all", f"{report.score.games}", f"{report.score}")
    lines = fold_all([f"A: {setup.a}", f"B: {setup.b}"], width)
    lines += ["", as_text(table, width), "", *fold_all(match_lines(report), width)]
    if games and report.records:
        lines += ["", as_text(_games_table(report, games), width)]
        more = len(report.records) - games
        lines += [f"and {more:,} more games"] if more > 0 else []
    return "\n".join(lines)


def _games_table(report: "MatchReport", games: int) -> "Table":
    table = plain_table("game", "first", "winner", "result", "by", "moves", right_from=5)
    for record in report.records[:games]:
        cells = (record.first, record.winner or "none", record.result, record.reason, f"{len(record.moves)}")
        table.add_row(f"{record.game}", *cells)
    return table


def score_line(report: "MatchReport") -> str:
    """Return the score, the win rate with its interval, and what an SPRT says."""
    low, high = report.interval
    text = f"{report.score}, {report.score.rate:.1%} ({low:.1%}..{high:.1%})"
    return text + (f", LLR {report.sprt.ratio(report.score):+.2f}" if report.sprt else "")


def match_lines(report: "MatchReport") -> list[str]:
    """Return what the score means, and what went wrong, in a few lines."""
    low, high = report.interval
    difference, elo_low, elo_high = report.elo
    lines = [
        f"win rate of A {report.score.rate:.1%}, 95 % interval {low:.1%} to {high:.1%}",
        f"Elo of A over B {difference:+.0f}, 95 % interval {elo_low:+.0f} to {elo_high:+.0f}",
    ]
    if report.sprt:
        told = {
            "H1": f"A is stronger by {report.sprt.elo1:g} Elo rather than {report.sprt.elo0:g}",
            "H0": f"A is stronger by {report.sprt.elo0:g} Elo rather than {report.sprt.elo1:g}",
            None: "not decided",
        }
        ratio = f"log-likelihood ratio {report.sprt.ratio(report.score):+.2f} of ±{report.sprt.bound:.2f}"
        lines.append(f"SPRT: {told[report.decision]}; {ratio}")
    for side, kinds in report.faults().items():
        for kind, number in kinds.items():
            example = next(r for r in report.records if r.reason == kind and r.winner != side)
            lines.append(f"{side} lost {number} by {kind}; game {example.game}: {example.detail}")
    for side, numbers in report.disputes().items():
        if numbers:
            shown = ", ".join(map(str, numbers[:10])) + (", …" if len(numbers) > 10 else "")
            lines.append(f"{side} saw another winner than the referee in {len(numbers)} games: {shown}")
    for side, number in report.margin_disputes().items():
        if number:
            lines.append(f"{side} saw another score, but the same winner, in {number} games")
    if report.interrupted:
        lines.append("interrupted: the finished games count")
    return lines
