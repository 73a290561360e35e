"""Measurements as text: the tables that the command line prints and `str()` returns."""

import math
from collections.abc import Callable, Sequence

from treespan.core.errors import for_library
from treespan.core.folding import WIDTH, fold_all, fold_command
from treespan.core.tables import as_text, plain_table
from treespan.lab.measure.advise import Advice
from treespan.lab.measure.compare import Comparison, Contest
from treespan.lab.measure.searches import RANK_NAMES
from treespan.lab.measure.speedup import Scaling, ScalingRow
from treespan.schemes.plan import SIMULATED


def comparison_title(contest: Contest) -> str:
    budget = f"{contest.seconds:g} s" if contest.seconds else f"{contest.playouts:,} playouts"
    network = f", network {contest.network}" if contest.runtime == SIMULATED else ""
    where = f"{contest.workers:,} {RANK_NAMES[contest.runtime]}"
    return f"{contest.game}, {where}, {budget}, {contest.bandit}, {contest.policy}{network}"


def comparison_text(
    contest: Contest, found: Comparison, width: int = WIDTH, write: Callable[[str], str] = for_library
) -> str:
    """Return a table of the schemes. `write` says how options are written in the reasons of what was not run."""
    with_optimal = found.rows[0].optimal is not None
    columns = ["playouts/s", "speed-up", "messages", "bytes", "nodes", "depth", "best\nshare", "dis-\ntinct", "agrees"]
    table = plain_table("scheme", *columns, *(["opti-\nmal"] if with_optimal else []), "load")
    table.padding = (0, 1, 0, 0)
    for row in found.rows:
        cells = [row.scheme, f"{row.playouts_per_second:,.0f}", f"{row.speedup:.2f}", f"{row.messages_per_playout:.2f}"]
        cells += [f"{row.bytes_per_playout:,.0f}", f"{row.nodes:,.0f}", f"{row.depth:.2f}", f"{row.best_share:.1%}"]
        cells += ["" if row.distinct_leaves is None else f"{row.distinct_leaves:.0%}", f"{row.agreement:.0%}"]
        cells += [f"{row.optimal:.0%}"] if row.optimal is not None else []
        table.add_row(*cells, f"{row.load:.0%}")
    moves = ", ".join(dict.fromkeys(found.reference_moves))
    means = f"; means of {contest.problems} searches" if contest.problems > 1 else ""
    lines = [
        comparison_title(contest) + means,
        "messages and bytes per playout",
        f"the sequential search with {found.reference_playouts:,} playouts chose {moves}",
        *(f"not run: {refusal.scheme}: {write(refusal.reason)}" for refusal in found.refusals),
    ]
    return "\n".join([as_text(table, width), "", *fold_all(lines, width)])


def advice_text(advice: Advice, command: str, network: str, width: int = WIDTH) -> str:
    with_workers = any(row.candidate.workers for row in advice.predictions)
    columns = ["ranks", *(["workers"] if with_workers else []), "jobs", "speed-up", "best\nshare", "depth", "messages"]
    table = plain_table("scheme", *columns, "dis-\ntinct", "as\ngood")
    table.padding = (0, 1, 0, 0)
    for row in advice.predictions:
        one, leaves = row.candidate, "" if row.distinct_leaves is None else f"{row.distinct_leaves:.0%}"
        cells = [one.scheme, "threads" if one.is_threads else f"{one.ranks:,}"]
        cells += [str(one.workers)] if with_workers else []
        cells += [f"{row.jobs:.3g}", f"{row.speedup:.1f}", f"{row.best_share:.1%}", f"{row.depth:.2f}"]
        table.add_row(*cells, f"{row.messages_per_playout:.2f}", leaves, "yes" if row.is_good else "no")
    best = advice.best
    verdict = "" if best.is_good else " (none is as good as the sequential search; this one is the nearest)"
    playout = f"{advice.playout_seconds * 1e6:,.1f} us"
    lines = [
        f"a playout takes {playout} here; {advice.playouts:,} playouts, network {network}",
        f"sequential, as many playouts: best share {advice.sequential_share:.1%}, depth {advice.sequential_depth:.2f}",
        "as good: the best move has about the share that the sequential search gives it",
        f"advice{verdict}, predicted speed-up {best.speedup:.1f}:",
    ]
    slurm = ["  (with Slurm: srun -n instead of mpiexec -n)"] if command.startswith("mpiexec") else []
    below = [*fold_all(lines, width), *fold_command(command, width, "  "), *fold_all(slurm, width)]
    return "\n".join([as_text(table, width), "", *below])


def speedup_text(plan: Scaling, table: Sequence[ScalingRow], remarks: Sequence[str] = (), width: int = WIDTH) -> str:
    """Return a table of rows. Figures of the sequential search stand in parentheses."""
    with_optimal, with_paper = table[0].optimal is not None, any(row.paper_speedup for row in table)
    with_spread = plan.problems > 1
    columns = ["N", "playouts/s", "speed-up\n(min–max)" if with_spread else "speed-up", "effi-\nciency"]
    columns += ["paper"] if with_paper else []
    columns += ["best share\n(seq.)", "depth\n(seq.)"]
    columns += ["optimal\n(seq.)"] if with_optimal else []
    shown = plain_table("runtime", *columns, "messages", "reports", "load", "end ms")
    shown.padding = (0, 1, 0, 0)
    for row in table:
        spread = f" ({three_digits(row.speedup_min)}–{three_digits(row.speedup_max)})" if with_spread else ""
        cells = [row.runtime, f"{row.workers:,}", f"{row.playouts_per_second:,.0f}"]
        cells += [f"{three_digits(row.speedup)}{spread}", f"{row.efficiency:.0%}"]
        if with_paper:
            cells.append(three_digits(row.paper_speedup) if row.paper_speedup else "")
        cells.append(f"{row.best_share:.1%} ({row.sequential_best_share:.1%})")
        cells.append(f"{row.depth:.2f} ({row.sequential_depth:.2f})")
        if row.optimal is not None and row.sequential_optimal is not None:
            cells.append(f"{row.optimal:.0%} ({row.sequential_optimal:.0%})")
        cells += [f"{row.messages_per_playout:.2f}", f"{row.reports_per_playout:.2f}", f"{row.load:.0%}"]
        cells.append(f"{row.end_seconds * 1e3:.2f}")
        shown.add_row(*cells)
    problems = f"means of {plan.problems} problems" if plan.problems > 1 else "1 problem"
    network = f", network {plan.network}" if any(row.runtime == SIMULATED for row in table) else ""
    lines = [
        f"{plan.spec} on {plan.game.spec()}: {plan.playouts:,} playouts, {problems}{network}",
        f"speed-up over, and in parentheses the figures (seq.) of, {plan.equal_search(1).plan.spec()}",
        "messages and reports are counted per playout",
        *remarks,
    ]
    return "\n".join([as_text(shown, width, names=2), "", *fold_all(lines, width)])


def three_digits(number: float) -> str:
    """Write a number with at least three significant digits and no exponent: 0.99, 11.2, 741."""
    return f"{number:,.{max(0, min(2, 2 - math.floor(math.log10(max(number, 1e-9)))))}f}"
