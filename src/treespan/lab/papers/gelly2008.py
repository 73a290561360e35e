"""Gelly et al. 2008, The Parallelization of Monte-Carlo Planning: threads on one tree, broadcast, slow averaging."""

from functools import cache

from treespan.lab.papers.cells import ScalingColumn, above_half, at, games, room, win_cell
from treespan.lab.papers.study import Block, Cell, Plot, Sheet, Study, Verdict, compare, judge

GO, SMALL_GAME = "go:size=9", "pgame:branching=4,depth=6"
NETWORK = "gigabit-2008"
RUNTIME = f"simulated ranks, network {NETWORK}"
PAPER_GAMES = 500  # guessed from the paper's intervals of about 2 points

# Table 1: threads on one tree

# (threads, seconds times processors per move): success in per cent against mogoRelease3
TABLE1 = {(1, 10): 51.1, (1, 20): 62.0, (1, 40): 74.4, (2, 20): 62.9, (4, 40): 66.4}
THREADS = Block("success rate against one thread with 10 s a move")


@cache
def table1_cells(scale: str) -> list[Cell]:
    game, count = at(scale, SMALL_GAME, GO, GO), at(scale, 2, 40, PAPER_GAMES)
    unit_seconds = at(scale, 0.0002, 0.002, 1.0)  # our time for one second of the paper
    found = []
    for (threads, processor_seconds), published in TABLE1.items():
        if scale == "smoke" and (threads > 2 or processor_seconds > 20):
            continue
        seconds = unit_seconds * processor_seconds / threads
        scheme = "shared" if threads > 1 else "sequential"
        a = f"--scheme {scheme} --threads {threads} --seconds {seconds:g} --reuse no"
        b = f"--scheme sequential --seconds {10 * unit_seconds:g} --reuse no"
        units = games(game, a, b, count, weight=60 * seconds, threads=threads)
        row = f"{threads} thread{'s' if threads > 1 else ''}"
        found.append(win_cell(THREADS, row, f"{processor_seconds} s · processors", units, published))
    return found


def table1_findings(sheet: Sheet) -> list[Verdict]:
    two = (
        sheet.value(THREADS, "2 threads", "20 s · processors"),
        sheet.value(THREADS, "1 thread", "20 s · processors"),
    )
    four = (
        sheet.value(THREADS, "4 threads", "40 s · processors"),
        sheet.value(THREADS, "1 thread", "40 s · processors"),
    )
    doubled = [sheet.value(THREADS, "1 thread", "20 s · processors")]
    return [
        judge("Doubling the time wins more than half of the games", doubled, above_half),
        compare("2 threads are as good as twice the time (within 8 points)", [two], lambda a, b: abs(a - b) < 0.08),
        compare("4 threads fall behind four times the time", [four], lambda a, b: a < b),
    ]


# Slow averaging of the root

# (machines, T0 in seconds, board size): success in per cent
SLOW_ROOT = {(3, 1.00, 9): 67.2, (3, 0.11, 9): 67.3, (4, 0.33, 9): 69.6, (9, 0.33, 9): 79.0, (9, 0.11, 19): 83.8}
SECONDS = 10.0  # per move; the paper does not state it
AVERAGED = Block("win rate against one machine with the same time")


def machines(scheme: str, count: int, seconds: float) -> str:
    return f"--scheme {scheme} --simulate {count} --network {NETWORK} --seconds {seconds:g}"


@cache
def slow_root_cells(scale: str) -> list[Cell]:
    part = at(scale, 0.0005, 0.01, 1.0)  # of the paper's times, of moves and periods alike: as many averages per move
    count, found = at(scale, 2, 40, PAPER_GAMES), []
    for (number, period, size), published in SLOW_ROOT.items():
        if size > 9 and scale != "full":
            continue
        if scale == "smoke" and number > 3:
            continue
        game = at(scale, SMALL_GAME, f"go:size={size}", f"go:size={size}")
        scheme = f"slow-root:period={period * part:g}"
        a, b = machines(scheme, number, SECONDS * part), machines(scheme, 1, SECONDS * part)
        units = games(game, a, b, count, weight=500 * number * part)
        row = f"{number} machines, T0 = {period:.2f} s, {size}×{size}"
        found.append(win_cell(AVERAGED, row, "success", units, published))
    return found


def slow_root_findings(sheet: Sheet) -> list[Verdict]:
    names = {size: [c for c in sheet if c.cell.row.endswith(f"{size}×{size}")] for size in (9, 19)}
    values = [filled.value for size in names for filled in names[size]]
    three = sheet.value(AVERAGED, "3 machines, T0 = 0.11 s, 9×9", "success")
    nine = sheet.value(AVERAGED, "9 machines, T0 = 0.33 s, 9×9", "success")
    return [
        judge("Slow averaging beats one machine (95 % sure)", values, above_half),
        compare("9 machines win more than 3", [(nine, three)], lambda many, few: many > few),
    ]


# Merging only at the end

MERGED_MACHINES, MERGED_SUCCESS = 43, 59.0


@cache
def merge_cells(scale: str) -> list[Cell]:
    part = at(scale, 0.0005, 0.005, 1.0)
    number = at(scale, 3, MERGED_MACHINES, MERGED_MACHINES)
    game, count = at(scale, SMALL_GAME, GO, GO), at(scale, 2, 40, PAPER_GAMES)
    a, b = machines("root", number, SECONDS * part), machines("root", 1, SECONDS * part)
    units = games(game, a, b, count, weight=500 * number * part)
    return [win_cell(AVERAGED, f"{MERGED_MACHINES} machines, merged at the end", "success", units, MERGED_SUCCESS)]


def merge_findings(sheet: Sheet) -> list[Verdict]:
    values = [filled.value for filled in sheet]
    claim = "43 machines that merge at the end gain no more than the paper's machine with twice the time (63 %)"
    return [judge(claim, values, lambda value: value.mean <= 0.63)]


# The bound of broadcasting

BROADCAST_RANKS = (1, 2, 4, 8, 16, 32, 64, 128)
BROADCAST_WAITS = {"0.04 ms": "40us", "0.4 ms": "400us"}
BROADCAST = Block(
    "speed-up of broadcast on the P-game (b = 40), by machines and playout time",
    Plot("machines", "speed-up", True, True),
)


@cache
def broadcast_cells(scale: str) -> list[Cell]:
    ranks, playouts = at(scale, (1, 4), BROADCAST_RANKS, BROADCAST_RANKS), at(scale, 300, 100_000, 1_000_000)
    quality, found = Block("quality of the search, by machines"), []
    columns = []
    for name, wait in BROADCAST_WAITS.items():
        scheme = f"broadcast:policy=wait={wait},period=0.005,nodes={room(playouts, 40)}"
        game, problems = f"pgame:branching={at(scale, 4, 40, 40)}", at(scale, 1, 2, 10)
        columns.append(ScalingColumn.make(f"playouts of {name}", game, scheme, ranks, playouts, problems, "qdr"))
    for measured in columns:
        found += measured.speedups(BROADCAST)
    for measured in columns:
        found += measured.quality(quality)
    return found


def broadcast_findings(sheet: Sheet) -> list[Verdict]:
    names = [f"playouts of {name}" for name in BROADCAST_WAITS]
    last = [(sheet.value(BROADCAST, "128", name), sheet.value(BROADCAST, "32", name)) for name in names]
    order = [tuple(sheet.value(BROADCAST, "128", name) for name in reversed(names))]
    return [
        compare("The speed-up is bounded: 128 machines gain less than twofold over 32", last, lambda a, b: a < 2 * b),
        compare("The bound is higher where playouts are longer", [(order[0][0], order[0][1])], lambda a, b: a > b),
    ]


OWN_OPPONENT = "The opponent is our own search with the base time, in place of mogoRelease3."
STUDIES = (
    Study(
        "gelly2008.table1",
        "threads on one tree, by time",
        "real, threads",
        table1_cells,
        schemes=("shared",),
        needs="4 cores for its last row",
        simulated=False,
        findings=table1_findings,
        one_job=True,
        remark=f"{OWN_OPPONENT} At desk scale a second of the paper is 2 ms.",
    ),
    Study(
        "gelly2008.slow-root",
        "slow averaging of the root: machines and period",
        RUNTIME,
        slow_root_cells,
        schemes=("slow-root:period=0.1",),
        findings=slow_root_findings,
        remark="The paper does not state the time a move; 10 s are taken. At desk scale all times are a hundredth, so "
        "that the root is averaged as often a move, over fewer playouts.",
    ),
    Study(
        "gelly2008.merge",
        "merging only at the end: 43 machines against one",
        RUNTIME,
        merge_cells,
        schemes=("root",),
        findings=merge_findings,
        remark="At desk scale a move has a two-hundredth of 10 s.",
    ),
    Study(
        "gelly2008.broadcast",
        "the bound of broadcasting all simulations",
        "simulated ranks, network qdr",
        broadcast_cells,
        schemes=("broadcast:period=0.005",),
        findings=broadcast_findings,
        remark="The paper derives the bound 1/α for a share α of updates in the time of a simulation, about 20 for "
        "MoGo; it has no measured figures. Shorter playouts mean a greater α.",
    ),
)
