"""Graf et al. 2011, Parallel Monte-Carlo Tree Search for HPC Systems: UCT-Treesplit."""

from functools import cache

from treespan.lab.measure.searches import search_of
from treespan.lab.papers.cells import above_half, at, games, room, win_cell
from treespan.lab.papers.study import Block, Cell, Plot, Sheet, Study, Verdict, compare, judge, mean_of

GO, SMALL_GAME = "go:size=19", "pgame:branching=4,depth=6"
NETWORK = "sdr-2011"
RUNTIME = f"simulated ranks with 5 workers each, network {NETWORK}"
WORKERS = 5  # the paper uses 6 cores of each node, one of them for messages
PAPER_GAMES = 500

# Table 1a: twice the simulations

TABLE1A = {1_000: 85.8, 4_000: 86.0, 16_000: 79.6, 128_400: 82.4, 256_800: 83.9}
DOUBLED = Block("win rate of 2 N simulations a move against N", Plot("simulations a move", "win rate of 2 N against N"))


@cache
def table1a_cells(scale: str) -> list[Cell]:
    game = at(scale, SMALL_GAME, GO, GO)
    rows = at(scale, (1_000,), (1_000,), tuple(TABLE1A))
    found = []
    for simulations, published in TABLE1A.items():
        if simulations in rows:
            playouts = at(scale, 10, simulations, simulations)
            a, b = (f"--playouts {count} --reuse no --nodes {room(count, 362)}" for count in (2 * playouts, playouts))
            units = games(game, a, b, at(scale, 2, 8, PAPER_GAMES), weight=simulations / 10)
            found.append(win_cell(DOUBLED, f"{simulations:,}", "19×19", units, published, x=simulations))
    return found


def doubled_findings(sheet: Sheet) -> list[Verdict]:
    values = [filled.value for filled in sheet]
    return [judge("Twice the simulations win more than half of the games (95 % sure)", values, above_half)]


# Table 1b: twice the nodes

TABLE1B = {1: 53.3, 2: 73.0, 4: 61.3, 8: 53.8, 16: 46.1}
NODES = Block("win rate of 2 N nodes against N", Plot("nodes", "win rate of 2 N against N"))


@cache
def table1b_cells(scale: str) -> list[Cell]:
    game, rows = at(scale, SMALL_GAME, "go:size=9", GO), at(scale, (1,), (1, 2, 4, 8), tuple(TABLE1B))
    seconds, found = at(scale, 0.001, 0.02, 2.0), []  # 10 minutes per game of 300 moves
    for nodes, published in TABLE1B.items():
        if nodes in rows:
            options = f"--workers {WORKERS} --network {NETWORK} --seconds {seconds:g}"
            a, b = (f"--scheme treesplit:solver=no --simulate {count} {options}" for count in (2 * nodes, nodes))
            units = games(game, a, b, at(scale, 2, 20, 600), weight=500 * nodes * seconds)
            found.append(win_cell(NODES, f"{nodes}", "2 N against N", units, published, x=nodes))
    return found


def nodes_findings(sheet: Sheet) -> list[Verdict]:
    values = {filled.cell.row: filled.value for filled in sheet}
    return [
        judge("4 nodes beat 2 (95 % sure)", [values.get("2")], above_half),
        compare(
            "The gain of doubling gets less: 8 to 16 below 2 to 4",
            [(values.get("8"), values.get("2"))],
            lambda late, early: late < early,
        ),
    ]


# Figure 5: load and simulation rate by phase of the game

PHASES = {"first move": 0, "after 100 moves": 100, "after 200 moves": 200}
FIGURE_NODES = (1, 2, 4, 8, 16, 32)
LOAD = Block("load of the workers, by nodes", Plot("nodes", "load of the workers"))
RATE = Block("simulations a second, by nodes", Plot("nodes", "simulations a second", is_log=True))


@cache
def figure5_cells(scale: str) -> list[Cell]:
    nodes = at(scale, (1, 2), FIGURE_NODES, FIGURE_NODES)
    game, playouts = at(scale, "pgame:branching=4", GO, GO), at(scale, 200, 10_000, 100_000)
    found = []
    for block, figure in ((LOAD, "load"), (RATE, "playouts_per_second")):
        for phase, plies in PHASES.items():
            if scale == "smoke" and plies:
                continue
            for count in nodes:
                units = [
                    search_of(
                        game,
                        f"treesplit:solver=no,nodes={room(playouts, 362)}",
                        "simulated",
                        count,
                        playouts,
                        problem,
                        problem,
                        NETWORK,
                        WORKERS,
                        plies=plies,
                    )
                    for problem in range(1, at(scale, 1, 2, 10) + 1)
                ]
                found.append(Cell(block, f"{count}", phase, units, mean_of(figure), is_share=block is LOAD, x=count))
    return found


def figure5_findings(sheet: Sheet) -> list[Verdict]:
    scales = [(sheet.value(RATE, "32", phase), sheet.value(RATE, "1", phase)) for phase in PHASES]
    late = [(sheet.value(LOAD, "32", "after 200 moves"), sheet.value(LOAD, "32", "first move"))]
    return [
        compare("The simulation rate on 32 nodes is at least 16 times that of one", scales, lambda a, b: a >= 16 * b),
        compare("On 32 nodes the load is lower late in the game", late, lambda a, b: a < b),
    ]


STUDIES = (
    Study(
        "graf2011.table1a",
        "twice the simulations, 19×19",
        "real, one thread",
        table1a_cells,
        simulated=False,
        findings=doubled_findings,
        remark="Our program in place of Gomorra; at desk scale the shortest searches only.",
    ),
    Study(
        "graf2011.table1b",
        "UCT-Treesplit: twice the nodes",
        RUNTIME,
        table1b_cells,
        schemes=("treesplit",),
        findings=nodes_findings,
        remark="At desk scale 9×9 instead of 19×19, and a hundredth of the time a move.",
    ),
    Study(
        "graf2011.figure5",
        "UCT-Treesplit: load and simulation rate by nodes and phase",
        RUNTIME,
        figure5_cells,
        schemes=("treesplit",),
        findings=figure5_findings,
        remark="The paper shows curves without figures. Positions are those of one of our playouts after so many "
        "moves.",
    ),
)
