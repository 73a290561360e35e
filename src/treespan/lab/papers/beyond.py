"""Beyond the papers: all schemes side by side."""

from collections.abc import Sequence
from functools import cache

from treespan.lab.measure.searches import Search
from treespan.lab.measure.speedup import simulated_base_rate
from treespan.lab.papers.cells import ScalingColumn, at, games, room, win_cell
from treespan.lab.papers.study import Block, Cell, Map, Plot, Sheet, Study, Value, Verdict, judge, mean_of, share_of
from treespan.lab.store.records import Figures
from treespan.schemes.registry import SCHEMES

SMOKE_SCHEMES = ("tds-uct", "tds-dfuct")
BRANCHING = 8
SHARING = ("slow-tree", "slow-root", "broadcast")  # their period must suit the length of a search
PLAYOUTS_A_PERIOD, PERIODS_A_MOVE = 20, 6  # playouts of a rank in a period; periods per move (bourki2010: at least 6)
FEWEST_RANKS = {"master-worker": 2}  # a master needs a worker
GOOD = 0.9  # a search is as good as the sequential one if its best move's share is at least this part of the other's


def distributed_schemes(scale: str = "full") -> list[str]:
    """Return the schemes that run on simulated ranks. A smoke test takes few, because each must be compiled."""
    found = [name for name, cls in SCHEMES.items() if cls.on_ranks]
    return [name for name in found if scale != "smoke" or name in SMOKE_SCHEMES]


def with_period(scheme: str, seconds: float) -> str:
    """Return the start of a scheme's spec. Schemes with periods get a period of `seconds`."""
    return f"{scheme}:period={seconds:g}," if scheme in SHARING else f"{scheme}:"


# treespan.schemes: which scheme to use when

WAITS = {"0.01 ms": 1e-5, "0.1 ms": 1e-4, "1 ms": 1e-3, "10 ms": 1e-2}  # seconds of a playout
RANKS = (1, 4, 16, 64, 256, 1200)
MEASURES = {
    "best move's share": ("best_share", True),
    "depth": ("depth", False),
    "optimal move chosen": ("optimal", True),
    "different leaves, of the playouts (the rest is duplicate work)": ("distinct_leaves", True),
}


def speed_block(what: str) -> Block:
    return Block(f"speed-up, {what}, by ranks", Plot("simulated ranks", "speed-up", is_log=True, has_ideal=True))


def useful_block(what: str) -> Block:
    title = f"useful speed-up, {what}, by ranks: speed-up × best move's share over the sequential one's (at most 1)"
    return Block(title, Plot("simulated ranks", "useful speed-up", is_log=True, has_ideal=True))


def share_block(what: str) -> Block:
    return Block(f"best move's share, {what}, by ranks", Plot("simulated ranks", "best move's share of the visits"))


def scheme_cells(what: str, columns: Sequence[ScalingColumn]) -> list[Cell]:
    """Return cells of speed-up, useful speed-up, quality and duplicate work of some schemes."""
    found = []
    for scaling in columns:
        found += scaling.speedups(speed_block(what))
    for scaling in columns:
        found += _useful(useful_block(what), scaling)
    for title, (figure, is_share) in MEASURES.items():
        block = share_block(what) if figure == "best_share" else Block(f"{title}, {what}, by ranks")
        reduce = share_of(figure) if figure == "optimal" else mean_of(figure)
        for scaling in columns:
            equals = [scaling.plan.equal_search(problem) for problem in scaling.problems]
            found.append(Cell(block, "sequential", scaling.column, equals, reduce, is_share=is_share))
            for _, ranks in scaling.plan.points:
                units = [scaling.plan.search("simulated", ranks, problem) for problem in scaling.problems]
                found.append(Cell(block, f"{ranks:,}", scaling.column, units, reduce, is_share=is_share, x=ranks))
    return found


def _units(scaling: ScalingColumn, ranks: int) -> list[Search]:
    """Return the parallel and the sequential search of each problem, in turn."""
    plan = scaling.plan
    pairs = [(plan.search("simulated", ranks, problem), plan.equal_search(problem)) for problem in scaling.problems]
    return [unit for pair in pairs for unit in pair]


def _useful(block: Block, scaling: ScalingColumn) -> list[Cell]:
    def reduce(records: Sequence[Figures]) -> Value:
        base = simulated_base_rate(scaling.plan)
        useful = [
            a["playouts_per_second"] / base * min(1.0, a["best_share"] / b["best_share"])
            for a, b in zip(records[::2], records[1::2], strict=True)
        ]
        return Value(sum(useful) / len(useful), min(useful), max(useful), len(records))

    return [
        Cell(block, f"{ranks:,}", scaling.column, _units(scaling, ranks), reduce, needs_all=True, x=ranks)
        for _, ranks in scaling.plan.points
    ]


def room_for(scheme: str, playouts: int) -> int:
    """Return the room for a search's tree. Copies of nodes at every rank take room, too."""
    return room(playouts * (4 if scheme == "treesplit" else 1), BRANCHING)


def sensible_ranks(name: str, ranks: Sequence[int]) -> tuple[int, ...]:
    """Return the numbers of ranks at which a scheme is worth running."""
    return tuple(count for count in ranks if count >= FEWEST_RANKS.get(name, 1))


@cache
def schemes_cells(scale: str) -> list[Cell]:
    playouts, problems = at(scale, 300, 100_000, 2_000_000), at(scale, 1, 1, 10)
    found = []
    for name, wait in at(scale, {"1 ms": 1e-3}, WAITS, WAITS).items():
        ranks = at(scale, (1, 4), RANKS, RANKS)
        columns = [
            ScalingColumn.make(
                scheme,
                f"pgame:branching={BRANCHING}",
                with_period(scheme, PLAYOUTS_A_PERIOD * wait)
                + f"policy=wait={wait * 1e6:g}us,nodes={room_for(scheme, playouts)}",
                sensible_ranks(scheme, ranks),
                playouts,
                problems,
                "qdr",
            )
            for scheme in distributed_schemes(scale)
        ]
        found += scheme_cells(f"playouts of {name}", columns)
    return found


def network_schemes(scale: str = "full") -> list[str]:
    """Return the schemes whose ranks may be on several machines: all but `shared`."""
    return [scheme for scheme in distributed_schemes(scale) if scheme != "shared"]


def best_schemes(sheet: Sheet) -> dict[tuple[str, str], tuple[str, float]]:
    """Return, by playout time and ranks, the fastest scheme that searches as well as the sequential search.

    Each comes with its speed-up.
    """
    found = {}
    for name in WAITS:
        what = f"playouts of {name}"
        for ranks in (f"{count:,}" for count in RANKS[1:]):
            good: list[tuple[float, str]] = []
            for scheme in network_schemes():
                speed = sheet.value(speed_block(what), ranks, scheme)
                share = sheet.value(share_block(what), ranks, scheme)
                sequential = sheet.value(share_block(what), "sequential", scheme)
                if speed and share and sequential and share.mean >= GOOD * sequential.mean:
                    good.append((speed.mean, scheme))
            if good:
                speedup, scheme = max(good)
                found[name, ranks] = scheme, speedup
    return found


def best_in_words(sheet: Sheet) -> list[str]:
    """Return the best schemes as sentences."""
    best, found = best_schemes(sheet), []
    for name in WAITS:
        chosen = {f"{count:,}": best.get((name, f"{count:,}")) for count in RANKS[1:]}
        words = [f"{ranks} ranks {f'{one[0]} ({one[1]:,.0f}×)' if one else 'none'}" for ranks, one in chosen.items()]
        if any(chosen.values()):
            found.append(
                f"Fastest with at least {GOOD:.0%} of the sequential best-move share, playouts of {name}: "
                f"{', '.join(words)}."
            )
    return found


def best_as_map(sheet: Sheet) -> Map:
    title = f"which scheme to use when: the fastest with at least {GOOD:.0%} of the sequential best-move share"
    ranks = [f"{count:,}" for count in RANKS[1:]]
    return Map(title, "simulated ranks", "a playout takes", ranks, list(WAITS), best_schemes(sheet))


# treespan.strength: games at equal machine time

MACHINES = (4, 16, 64)
GAMES = {"Go 9×9": "go:size=9", "Havannah": "havannah:base=8"}
SMALLER_GAMES = {
    **GAMES,
    "Havannah": "havannah:base=5",
}  # of desk scale: with few playouts a search must still see beyond the first moves
SECONDS_A_PLAYOUT = 1e-3  # of a machine; playouts wait, so that the time of plies hardly counts


def strength_block(game: str) -> Block:
    title = (
        f"{game}: win rate against a sequential search with N times the playouts of a machine (half = perfect), by N"
    )
    return Block(title, Plot("simulated machines N", "win rate against N times the playouts"))


@cache
def strength_cells(scale: str) -> list[Cell]:
    each, count = at(scale, 5, 100, 1_000), at(scale, 2, 16, 1_000)  # playouts of a machine for each move; games
    found = []
    for name, spec in at(scale, dict(list(GAMES.items())[:1]), SMALLER_GAMES, GAMES).items():
        for scheme in distributed_schemes(scale):
            for machines in at(scale, MACHINES[:1], MACHINES[:2], MACHINES):
                nodes, seconds = room(machines * each, 170), each * SECONDS_A_PLAYOUT
                a = (
                    f"--scheme {with_period(scheme, seconds / PERIODS_A_MOVE)}solver=no,nodes={nodes} --bandit ucb1 "
                    f"--policy wait=1ms --simulate {machines} --seconds {seconds:g}"
                )
                b = (
                    f"--scheme sequential:solver=no,nodes={nodes} --bandit ucb1 --policy light "
                    f"--playouts {machines * each} --reuse no"
                )
                game = at(scale, "pgame:branching=4,depth=6", spec, spec)
                units = games(game, a, b, count, weight=machines * each / 500)
                found.append(win_cell(strength_block(name), f"{machines}", scheme, units, x=machines))
    return found


def strength_findings(sheet: Sheet) -> list[Verdict]:
    found = []
    for scheme in distributed_schemes():
        values = [sheet.value(strength_block(name), f"{machines}", scheme) for name in GAMES for machines in MACHINES]
        claim = f"{scheme} is as strong as a perfect speed-up (a half lies in the interval)"
        found.append(judge(claim, values, lambda value: value.low <= 0.5 <= value.high))
    return found


# treespan.internet: what scales on wide-area latencies

LATENCIES = (1, 10, 50)  # ms
WIDE_RANKS = (64, 512, 4096)
WIDE_WAIT = 1e-2  # seconds of a playout


@cache
def internet_cells(scale: str) -> list[Cell]:
    playouts, problems, found = at(scale, 300, 400_000, 4_000_000), at(scale, 1, 1, 10), []
    for latency in at(scale, (10,), LATENCIES, LATENCIES):
        columns = [
            ScalingColumn.make(
                scheme,
                f"pgame:branching={BRANCHING}",
                with_period(scheme, PLAYOUTS_A_PERIOD * WIDE_WAIT)
                + f"policy=wait={WIDE_WAIT * 1e3:g}ms,nodes={room_for(scheme, playouts)}",
                at(scale, WIDE_RANKS[:1], WIDE_RANKS, WIDE_RANKS),
                playouts,
                problems,
                f"wan-{latency}ms",
            )
            for scheme in network_schemes(scale)
        ]
        found += scheme_cells(f"latency {latency} ms, playouts of 10 ms", columns)
    return found


def internet_findings(sheet: Sheet) -> list[Verdict]:
    found = []
    for scheme in network_schemes():
        blocks = [speed_block(f"latency {latency} ms, playouts of 10 ms") for latency in LATENCIES]
        values = [sheet.value(block, f"{WIDE_RANKS[-1]:,}", scheme) for block in blocks]
        claim = f"{scheme} has at least half of the ideal speed-up at {WIDE_RANKS[-1]:,} ranks"
        found.append(judge(claim, values, lambda value: value.mean >= WIDE_RANKS[-1] / 2))
    return found


EVERY_SCHEME = "Every scheme of this version that runs on simulated ranks takes part."
EVERY_NETWORK_SCHEME = "Every scheme of this version that runs on simulated ranks takes part but shared, whose threads "
EVERY_NETWORK_SCHEME += "have one memory."
STUDIES = (
    Study(
        "treespan.schemes",
        "all schemes by ranks and playout time: speed, duplicate work, quality",
        "simulated ranks, network qdr",
        schemes_cells,
        notes=best_in_words,
        map=best_as_map,
        remark=f"{EVERY_SCHEME} Shared is measured but not recommended: its threads must be on one machine. P-game, "
        f"b = {BRANCHING}; all schemes have the same playouts whatever the ranks. "
        f"{', '.join(SHARING)} share every {PLAYOUTS_A_PERIOD} playouts of a rank.",
    ),
    Study(
        "treespan.strength",
        "strength of all schemes at 4, 16 and 64 machines",
        "simulated ranks, network qdr",
        strength_cells,
        findings=strength_findings,
        remark=f"{EVERY_SCHEME} A machine plays out once a millisecond; both sides use UCB1 and light playouts, the "
        f"solver is off. {', '.join(SHARING)} share {PERIODS_A_MOVE} times a move. At desk scale a machine has 100 ms "
        "a move, 64 machines are left out, and Havannah has 5 cells a side. Schemes whose jobs travel have 5 to 20 "
        "under way for each machine, which is much of so short a search.",
    ),
    Study(
        "treespan.internet",
        "all schemes on wide-area latencies, up to 4,096 ranks",
        "simulated ranks, networks wan-1ms, wan-10ms, wan-50ms",
        internet_cells,
        findings=internet_findings,
        remark=f"{EVERY_NETWORK_SCHEME} P-game, b = {BRANCHING}, playouts "
        "of 10 ms. "
        f"{', '.join(SHARING)} share every {PLAYOUTS_A_PERIOD} playouts of a rank.",
    ),
)
