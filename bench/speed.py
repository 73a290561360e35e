"""Speed of games and sequential searches, beside OpenSpiel's C++ on the same machine in the same run.

    make bench            or:  .venv/bin/python bench/speed.py [--quick] [--json FILE] [--readme]

Every figure is the best of several rounds in one thread, which other work on the machine disturbs least. The
column `goal` is what the project demands of a 2-core EPYC (Zen 4) machine; `-` where it demands nothing.
Both searches are plain UCT with one uniformly random playout a simulation, from the first position.
"""

import argparse
import itertools
import json
import platform
import subprocess
import sys
import time
from collections.abc import Callable
from dataclasses import asdict, dataclass
from pathlib import Path

import pyspiel
from rich.console import Console

from treespan.core.tables import plain_table
from treespan.games.position import Position
from treespan.games.registry import make_game
from treespan.lab.measure.speed import PLAIN, playout_rate, search_rate
from treespan.schemes.registry import read_scheme
from treespan.search.searcher import Searcher
from treespan.search.tree import bytes_per_edge

README = Path(__file__).parents[1] / "README.md"
HEADER = "| what | ours | peer | ratio |\n| --- | ---: | ---: | ---: |\n"


@dataclass
class Line:
    """One row of the report."""

    what: str
    ours: float
    theirs: float | None = None
    goal: float | None = None  # of `ours`, or of the ratio where there is a peer
    smaller_is_better: bool = False

    @property
    def ratio(self) -> float | None:
        return self.ours / self.theirs if self.theirs else None

    @property
    def reached(self) -> bool | None:
        if self.goal is None:
            return None
        figure = self.ours if self.ratio is None else self.ratio
        return figure <= self.goal if self.smaller_is_better else figure >= self.goal


def openspiel_uct(name: str, simulations: int, exploration: float, rounds: int = 3) -> float:
    """Simulations a second of OpenSpiel's C++ MCTS bot, solver off, one random rollout a leaf."""
    game = pyspiel.load_game(name)
    rates = []
    for seed in range(rounds):
        evaluator = pyspiel.RandomRolloutEvaluator(1, seed)
        bot = pyspiel.MCTSBot(game, evaluator, exploration, simulations, 4000, False, seed, False)
        start = time.perf_counter()
        bot.mcts_search(game.new_initial_state())
        rates.append(simulations / (time.perf_counter() - start))
    return max(rates)


def playouts(scale: float) -> list[Line]:
    goals = {"go:size=9": 150_000, "go:size=19": 33_000}
    return [
        Line(f"light playouts/s, {spec}", playout_rate(make_game(spec), 3 * scale, rounds=8).per_second, goal=goal)
        for spec, goal in goals.items()
    ]


def uct_against_openspiel(scale: float) -> list[Line]:
    peers = [  # ours, theirs, our and their simulations, ratio demanded
        ("go:size=9", "go(board_size=9,komi=7.5)", 100_000, 20_000, 15.0),
        ("go:size=19", "go(board_size=19,komi=7.5)", 30_000, 2_000, 40.0),
        ("connect4", "connect_four", 100_000, 100_000, 3.0),
        ("tictactoe", "tic_tac_toe", 100_000, 100_000, 3.0),
    ]
    lines = []
    for spec, name, our_count, their_count, goal in peers:
        game = make_game(spec)
        ours, _ = search_rate(game, f"sequential:{PLAIN},solver=no", int(our_count * scale))
        # Its rewards lie in [-1, 1], ours in [0, 1]: twice our constant explores as much.
        theirs = openspiel_uct(name, int(their_count * scale), 2 * game.exploration)
        lines.append(Line(f"UCT simulations/s, {spec}", ours.per_second, theirs, goal))
    return lines


def go_defaults(scale: float) -> list[Line]:
    """Go as it is searched by default: RAVE, priors and playouts by patterns."""
    lines = []
    for size, count, goal in ((9, 50_000, 30_000), (19, 15_000, 7_000)):
        game = make_game(f"go:size={size}")
        scheme, defaults = read_scheme("sequential:solver=no", game)
        rate, _ = search_rate(game, scheme.spec(defaults), int(count * scale))
        lines.append(Line(f"simulations/s by default, go:size={size}", rate.per_second, goal=goal))
    return lines


def pgame(scale: float) -> list[Line]:
    """UCT and df-UCT with playouts that take no time: what is left is the search itself (yoshizoe2011, Table 1)."""
    lines = []
    for branching in (8, 40, 150):
        game = make_game(f"pgame:branching={branching}")
        count = int(4_000_000 * scale)
        best = {"uct": 0.0, "dfuct": 0.0}
        for _ in range(4):  # in turns, so that a disturbance does not hit one of them alone
            for algorithm in best:
                rate, _ = search_rate(game, f"sequential:nodes=40000000,algorithm={algorithm}", count, rounds=1)
                best[algorithm] = max(best[algorithm], rate.per_second)
        uct, dfuct = best["uct"], best["dfuct"]
        if branching == 8:
            lines.append(Line("P-game UCT playouts/s, b = 8", uct, goal=1_500_000))
        lines.append(Line(f"P-game df-UCT against UCT, b = {branching}", dfuct, uct, 1.0))
    return lines


def memory() -> list[Line]:
    lines = []
    for spec, options in (("pgame:branching=8", "bandit=ucb1"), ("go:size=9", "bandit=rave,widening=40")):
        game = make_game(spec)
        searcher = Searcher(game, read_scheme(f"sequential:{options}")[1])
        searcher.set_position(Position(game))
        searcher.run(50_000)
        name = f"tree bytes an edge, {spec} {options}"
        lines.append(Line(name, bytes_per_edge(searcher.tree), goal=40, smaller_is_better=True))
    return lines


def warm_start(rounds: int = 5) -> list[Line]:
    """Wall time of a whole `treespan search` process whose code is in the compile cache."""
    command = [sys.executable, "-m", "treespan", "search", "go:size=9", "--playouts", "100", "--json"]
    times = []
    for _ in range(rounds + 1):  # the first one may compile
        start = time.perf_counter()
        subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
        times.append(time.perf_counter() - start)
    return [Line("warm start of `treespan search`, s", min(times[1:]), goal=1.5, smaller_is_better=True)]


def cpu_name() -> str:
    info = Path("/proc/cpuinfo")
    lines = info.read_text().splitlines() if info.exists() else []
    return next((line.split(":")[1].strip() for line in lines if "model name" in line), platform.machine())


def number(value: float | None) -> str:
    if value is None:
        return "-"
    return f"{value:,.0f}" if value >= 1000 else f"{value:.3g}"


def with_table(page: str, lines: list[Line]) -> str:
    """Return the README with these lines in the rows of its table."""
    before, header, after = page.partition(HEADER)
    assert header, "the README has no table of speed"
    rows = [(line.what, number(line.ours), number(line.theirs), number(line.ratio)) for line in lines]
    table = "".join(f"| {' | '.join(row)} |\n".replace("| - ", "| – ") for row in rows)
    rest = after.splitlines(keepends=True)
    return before + header + table + "".join(itertools.dropwhile(lambda line: line.startswith("|"), rest))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--quick", action="store_true", help="a tenth of the work: noisier")
    parser.add_argument("--json", metavar="FILE", help="write the figures to a file, too")
    parser.add_argument("--readme", action="store_true", help="write the table of the README anew")
    arguments = parser.parse_args()
    scale = 0.1 if arguments.quick else 1.0
    groups: list[Callable[[], list[Line]]] = [
        lambda: playouts(scale),
        lambda: uct_against_openspiel(scale),
        lambda: go_defaults(scale),
        lambda: pgame(scale),
        memory,
        warm_start,
    ]
    console = Console(width=120)
    lines: list[Line] = []
    for group in groups:
        with Console(stderr=True).status(f"measuring {len(lines)} lines so far"):
            lines += group()
    table = plain_table("what", "ours", "peer", "ratio", "goal", "")
    signs = {True: "ok", False: "MISSED", None: ""}
    for line in lines:
        cells = (number(line.ours), number(line.theirs), number(line.ratio), number(line.goal), signs[line.reached])
        table.add_row(line.what, *cells)
    console.print(table)
    console.print(f"{cpu_name()}, {platform.python_implementation()} {platform.python_version()}")
    if arguments.readme:
        README.write_text(with_table(README.read_text(), lines))
    if arguments.json:
        with open(arguments.json, "w") as file:
            json.dump([asdict(line) | {"ratio": line.ratio, "reached": line.reached} for line in lines], file, indent=1)


if __name__ == "__main__":
    main()
