"""Cazenave & Jouandeau 2008, A Parallel Monte-Carlo Tree Search Algorithm: the tree in a master, playouts in slaves."""

from collections.abc import Sequence
from dataclasses import replace
from functools import cache

from treespan.lab.measure.searches import Search, search_of
from treespan.lab.papers.cells import at, games, room, win_cell
from treespan.lab.papers.study import Block, Cell, Plot, Sheet, Study, Value, Verdict, compare, judge, mean_of
from treespan.lab.papers.units import MatchGame
from treespan.lab.store.records import Figures

GO = "go:size=9,komi=7.5"
SMALL_GO, SMALL_GAME = "go:size=5,komi=7.5", "pgame:branching=4,depth=6"  # of smoke tests
GNU_GO = "gtp: gnugo --mode gtp --chinese-rules"
NETWORK = "gigabit-2008"
NAME = "master-worker"
SCHEME = f"{NAME}:c=0.3,virtual_loss=none"  # as in the paper
RUNTIME = f"simulated ranks, network {NETWORK}"
SLAVES = (1, 2, 4, 8, 16, 32, 64)
NEEDS = "GNU Go"


def player(slaves: int, budget: str) -> str:
    """Return a player: a master and its slaves on the simulated cluster."""
    return f"--scheme {SCHEME} --simulate {slaves + 1} --network {NETWORK} {budget}"


def against_gnu_go(scale: str, slaves: int, budget: str, count: int, weight: float) -> list[MatchGame]:
    """Return games of the cluster against GNU Go. A smoke test has a sequential search in the cluster's place.

    The cluster would have to be compiled for Go.
    """
    small = f"--scheme sequential:nodes=20000 --playouts {10 + slaves}"
    ours = at(scale, small, player(slaves, budget), player(slaves, budget))
    return games(at(scale, SMALL_GO, GO, GO), ours, GNU_GO, count, weight)


# Tables 1 and 2: against GNU Go

AGAINST_GNU_GO = Block("win rate against GNU Go, by slaves", Plot("slaves", "win rate against GNU Go", is_log=False))
TABLE1 = {1: 40.5, 16: 70.5}
TABLE2 = {
    100_000: (70.0, 69.0, 73.5, 70.0, 71.5, 65.0, 58.0),
    50_000: (63.5, 64.0, 65.0, 67.5, 65.5, 56.5, 51.5),
    25_000: (47.0, 49.5, 54.0, 56.0, 53.5, 48.5, 42.0),
    12_500: (47.5, 44.5, 44.0, 45.5, 45.0, 36.0, 32.0),
}
PAPER_GAMES = 200


@cache
def table1_cells(scale: str) -> list[Cell]:
    seconds, count = at(scale, "0.5", "0.25", "5"), at(scale, 1, 24, PAPER_GAMES)
    return [
        win_cell(
            AGAINST_GNU_GO,
            f"{slaves}",
            "5 s a move",
            against_gnu_go(scale, slaves, f"--seconds {seconds}", count, weight=5 + slaves),
            published,
            x=slaves,
        )
        for slaves, published in TABLE1.items()
    ]


def table1_findings(sheet: Sheet) -> list[Verdict]:
    pair = (sheet.value(AGAINST_GNU_GO, "16", "5 s a move"), sheet.value(AGAINST_GNU_GO, "1", "5 s a move"))
    return [compare("16 slaves win more than 1 in the same time", [pair], lambda many, one: many > one)]


@cache
def table2_cells(scale: str) -> list[Cell]:
    count = at(scale, 1, 12, PAPER_GAMES)
    rows = at(scale, (12_500,), (12_500,), tuple(TABLE2))
    slave_counts = at(scale, (1, 4), (1, 4, 16, 64), SLAVES)
    found = []
    for playouts, published in TABLE2.items():
        for slaves, rate in zip(SLAVES, published, strict=True):
            if playouts in rows and slaves in slave_counts:
                units = against_gnu_go(scale, slaves, f"--playouts {playouts}", count, weight=playouts / 1000)
                column = f"{playouts:,} playouts"
                found.append(win_cell(AGAINST_GNU_GO, f"{slaves}", column, units, rate, x=slaves))
    return found


def table2_findings(sheet: Sheet) -> list[Verdict]:
    def pairs(a: int, b: int) -> list[tuple[Value | None, Value | None]]:
        columns = [f"{playouts:,} playouts" for playouts in TABLE2]
        return [(sheet.value(AGAINST_GNU_GO, f"{a}", c), sheet.value(AGAINST_GNU_GO, f"{b}", c)) for c in columns]

    doubled = [
        (sheet.value(AGAINST_GNU_GO, "8", f"{2 * p:,} playouts"), sheet.value(AGAINST_GNU_GO, "4", f"{p:,} playouts"))
        for p in (12_500, 25_000, 50_000)
    ]
    return [
        compare("64 slaves win less than 1 with the same playouts", pairs(64, 1), lambda many, one: many < one),
        compare("16 slaves lose less than 10 points to 1 slave", pairs(16, 1), lambda many, one: many > one - 0.1),
        compare("8 slaves with twice the playouts win more than 4", doubled, lambda more, less: more > less),
    ]


# Tables 3 to 5: time of the first move

TIME = Block("seconds of the first move, by slaves")
PLAYOUTS = (100_000, 50_000)
# One slave on each computer where the paper has that; of 32 slaves two, of 64 slaves four share a computer
TABLE3 = {
    100_000: (65.02, 32.96, 16.78, 8.23, 4.49, 3.77, 3.61),
    50_000: (32.45, 17.05, 8.56, 4.08, 2.19, 1.74, 1.75),
}
TABLE4_5 = {
    100_000: (1.00, 1.97, 3.87, 7.90, 14.48, 17.25, 18.01),
    50_000: (1.00, 1.90, 3.79, 7.95, 14.82, 18.65, 18.54),
}


def first_moves(scale: str, slaves: int, playouts: int, mode: str = "full", wait: str = "") -> list[Search]:
    """Return searches of the first position by a master with slaves, one for each seed."""
    game, policy = at(scale, (SMALL_GAME, "light"), (GO, "patterns"), (GO, "patterns"))
    done = at(scale, 200, playouts, playouts)
    scheme = f"{SCHEME},mode={mode},policy={wait or policy},nodes={room(done, 82)}"
    repeats = at(scale, 1, 2, 11)
    return [
        search_of(game, scheme, "simulated", slaves + 1, done, seed, seed, NETWORK) for seed in range(1, repeats + 1)
    ]


@cache
def table3_cells(scale: str) -> list[Cell]:
    return [
        Cell(
            TIME, f"{slaves}", f"{playouts:,} playouts", first_moves(scale, slaves, playouts), mean_of("seconds"), time
        )
        for playouts in PLAYOUTS
        for slaves, time in zip(SLAVES, TABLE3[playouts], strict=True)
        if slaves in at(scale, (1, 4), SLAVES, SLAVES)
    ]


def ratio_block() -> Block:
    return Block("time of one slave over that of several, by slaves", Plot("slaves", "time ratio", True, True))


def ratio_cells(scale: str, playouts: int) -> list[Cell]:
    """Return cells with the time of one slave over that of several. These are mean times, so a cell has no extremes."""
    alone = first_moves(scale, 1, playouts)
    found = []
    for slaves, ratio in zip(SLAVES, TABLE4_5[playouts], strict=True):
        if slaves in at(scale, (1, 4), SLAVES, SLAVES):
            several = first_moves(scale, slaves, playouts)
            pairs = [*alone, *several] if slaves > 1 else alone
            reduce = _ratio_of_halves if slaves > 1 else mean_of(lambda figures: 1.0)
            column = f"{playouts:,} playouts"
            found.append(Cell(ratio_block(), f"{slaves}", column, pairs, reduce, ratio, x=slaves, needs_all=True))
    return found


def _ratio_of_halves(records: Sequence[Figures]) -> Value | None:
    """Return the mean time of the first half over each time of the second half."""
    half = len(records) // 2
    alone = sum(record["seconds"] for record in records[:half]) / max(half, 1)
    ratio = mean_of(lambda record: alone / record["seconds"])(records[half:])
    return ratio and replace(ratio, count=len(records))


@cache
def table4_cells(scale: str) -> list[Cell]:
    return ratio_cells(scale, 100_000)


@cache
def table5_cells(scale: str) -> list[Cell]:
    return ratio_cells(scale, 50_000)


def ratio_findings(sheet: Sheet) -> list[Verdict]:
    ratios = {filled.cell.row: filled.value for filled in sheet}
    linear = [ratios.get(f"{slaves}") for slaves in (2, 4, 8)]
    known = [(slaves, value) for slaves, value in zip((2, 4, 8), linear, strict=True) if value]
    held = sum(value.mean >= 0.9 * slaves for slaves, value in known)
    return [
        Verdict("The ratio is at least 0.9 of linear up to 8 slaves", held, len(known), len(linear)),
        judge("16 slaves are at least 12 times as fast as one", [ratios.get("16")], lambda value: value.mean >= 12),
        compare(
            "64 slaves are hardly faster than 32", [(ratios.get("64"), ratios.get("32"))], lambda b, a: b < 1.3 * a
        ),
    ]


# Tables 6 to 8: slaves without playouts, the master alone, and slaves that wait

RANDOM = "random-workers"  # slaves that answer with a random value, at once or after the time of a playout
TABLE6 = {1: 25.00, 2: 12.50, 4: 6.25, 8: 4.44, 16: 4.10, 32: 3.93}
TABLE7 = {100_000: 2.60, 50_000: 1.30}
WAITS = ("10", "2", "1", "0.5", "0.25", "0.125", "0.0625", "0.01")  # ms
TABLE8_SLAVES = (1, 4, 8, 16, 32)
TABLE8 = {
    "10": (1026.8, 256.2, 128.1, 64.0, 32.0),
    "2": (224.9, 56.3, 28.1, 14.0, 7.0),
    "1": (125.0, 31.2, 15.6, 7.8, 4.3),
    "0.5": (75.0, 18.8, 9.4, 4.8, 4.0),
    "0.25": (50.0, 12.5, 6.2, 4.1, 3.9),
    "0.125": (37.5, 9.4, 4.7, 4.1, 3.9),
    "0.0625": (25.0, 6.6, 4.4, 4.0, 3.8),
    "0.01": (25.0, 6.3, 4.5, 4.5, 4.0),
}


@cache
def table6_cells(scale: str) -> list[Cell]:
    block = Block("seconds for 100,000 playouts that take no time, by slaves")
    return [
        Cell(
            block,
            f"{slaves}",
            "random slaves",
            first_moves(scale, slaves, 100_000, RANDOM),
            mean_of("seconds"),
            time,
        )
        for slaves, time in TABLE6.items()
        if slaves in at(scale, (1, 4), tuple(TABLE6), tuple(TABLE6))
    ]


def table6_findings(sheet: Sheet) -> list[Verdict]:
    values = {filled.cell.row: filled.value for filled in sheet}
    pair = (values.get("32"), values.get("8"))
    return [compare("Beyond 8 slaves the master is the limit", [pair], lambda many, some: many > 0.7 * some)]


MASTER = Block("seconds of the master alone, without messages and playouts")


@cache
def table7_cells(scale: str) -> list[Cell]:
    game, found = at(scale, SMALL_GAME, GO, GO), []
    for playouts, seconds in TABLE7.items():
        done = at(scale, 200, playouts, playouts)
        scheme = f"{SCHEME},mode=random-master,nodes={room(done, 82)}"
        units = [search_of(game, scheme, "threads", 1, done, seed, seed) for seed in range(1, at(scale, 2, 6, 11))]
        found.append(Cell(MASTER, f"{playouts:,} playouts", "random master", units, mean_of("seconds"), seconds))
    return found


def table7_findings(sheet: Sheet) -> list[Verdict]:
    values = [filled.value for filled in sheet]
    pair = (values[0], values[1])
    return [compare("The master's time is proportional to the playouts", [pair], lambda a, b: 1.5 < a / b < 2.5)]


@cache
def table8_cells(scale: str) -> list[Cell]:
    block = Block("seconds for 100,000 playouts by playout time and slaves")
    found = []
    for wait in WAITS:
        for slaves, time in zip(TABLE8_SLAVES, TABLE8[wait], strict=True):
            if scale != "smoke" or (wait == "1" and slaves <= 4):
                units = first_moves(scale, slaves, 100_000, RANDOM, f"wait={wait}ms")
                found.append(Cell(block, f"{wait} ms", f"{slaves} slaves", units, mean_of("seconds"), time))
    return found


def table8_findings(sheet: Sheet) -> list[Verdict]:
    def ratio(wait: str) -> tuple[Value | None, Value | None]:
        block = sheet.blocks()[0]
        return sheet.value(block, f"{wait} ms", "1 slaves"), sheet.value(block, f"{wait} ms", "32 slaves")

    slow, fast = [ratio("10"), ratio("2")], [ratio("0.125"), ratio("0.0625"), ratio("0.01")]
    return [
        compare(
            "With playouts of 2 ms or more 32 slaves are at least 28 times as fast", slow, lambda a, b: a >= 28 * b
        ),
        compare("With playouts below 0.2 ms they are less than 12 times as fast", fast, lambda a, b: a < 12 * b),
    ]


# Table 9: 8 slaves against 16

TABLE9 = {50_000: 33.5, 25_000: 27.0, 12_500: 21.5}
EIGHT = Block("win rate of 8 slaves with P playouts against 16 with 2 P")


@cache
def table9_cells(scale: str) -> list[Cell]:
    game, count = at(scale, SMALL_GAME, GO, GO), at(scale, 2, 16, PAPER_GAMES)
    rows = at(scale, (12_500,), (12_500,), tuple(TABLE9))
    found = []
    for playouts, published in TABLE9.items():
        if playouts in rows:
            done = at(scale, 20, playouts, playouts)
            a, b = player(8, f"--playouts {done}"), player(16, f"--playouts {2 * done}")
            units = games(game, a, b, count, weight=playouts / 300)
            found.append(win_cell(EIGHT, f"P = {playouts:,}", "8 against 16 slaves", units, published))
    return found


def table9_findings(sheet: Sheet) -> list[Verdict]:
    return [judge("8 slaves lose to 16 with twice the playouts", [c.value for c in sheet], lambda v: v.mean < 0.5)]


FITTED = (
    f"The profile {NETWORK} is fitted to the paper's Tables 6 and 7 and to the one-slave time of Table 3; the other "
    "figures are then predictions. N slaves are N + 1 ranks."
)
OTHER_PROGRAM = (
    "Our Go program is not theirs: playouts, priors and RAVE differ, and GNU Go is the version of this machine."
)


STUDIES = (
    Study(
        "cazenave2008.table1",
        "against GNU Go with 5 s a move",
        RUNTIME,
        table1_cells,
        schemes=(SCHEME,),
        needs=NEEDS,
        findings=table1_findings,
        remark=f"At desk scale 0.25 s a move. {FITTED} {OTHER_PROGRAM}",
    ),
    Study(
        "cazenave2008.table2",
        "against GNU Go by playouts and slaves",
        RUNTIME,
        table2_cells,
        schemes=(SCHEME,),
        needs=NEEDS,
        findings=table2_findings,
        remark=f"{FITTED} {OTHER_PROGRAM}",
    ),
    Study("cazenave2008.table3", "time of the first move", RUNTIME, table3_cells, schemes=(SCHEME,), remark=FITTED),
    Study(
        "cazenave2008.table4",
        "time ratio of the first move, 100,000 playouts",
        RUNTIME,
        table4_cells,
        schemes=(SCHEME,),
        findings=ratio_findings,
        store="cazenave2008.table3",
        remark=FITTED,
    ),
    Study(
        "cazenave2008.table5",
        "time ratio of the first move, 50,000 playouts",
        RUNTIME,
        table5_cells,
        schemes=(SCHEME,),
        findings=ratio_findings,
        store="cazenave2008.table3",
        remark=FITTED,
    ),
    Study(
        "cazenave2008.table6",
        "random slaves: playouts that take no time",
        RUNTIME,
        table6_cells,
        schemes=(f"{SCHEME},mode={RANDOM}",),
        findings=table6_findings,
        remark=f"Its figures are what the profile is fitted to. {FITTED}",
    ),
    Study(
        "cazenave2008.table7",
        "random master: no communication",
        "real, one thread",
        table7_cells,
        schemes=(f"{SCHEME},mode=random-master",),
        simulated=False,
        one_job=True,
        findings=table7_findings,
        remark="Real time of our own tree on this machine, beside theirs of 2008.",
    ),
    Study(
        "cazenave2008.table8",
        "fixed playout times",
        RUNTIME,
        table8_cells,
        schemes=(f"{SCHEME},mode={RANDOM}",),
        findings=table8_findings,
        remark=FITTED,
    ),
    Study(
        "cazenave2008.table9",
        "8 against 16 slaves with twice the playouts",
        RUNTIME,
        table9_cells,
        schemes=(SCHEME,),
        findings=table9_findings,
        remark=f"{FITTED} {OTHER_PROGRAM}",
    ),
)
