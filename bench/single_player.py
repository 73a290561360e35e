"""Scores of SameGame and costs of Sailing by every scheme at equal playouts, beside the sequential search's.

    .venv/bin/python bench/single_player.py [--ranks 4] [--playouts 1000] [--games 10] [--schemes span leaf]

Whole games are played, each move by a search of its own with `--playouts` playouts on `--ranks` simulated ranks that
share memory. All schemes meet the same boards and the same winds. `±` is half of the 95 % interval of the mean; `ratio`
is to the sequential search with as many playouts. A SameGame score is better when high, a Sailing cost when low.
"""

import argparse
import math
import statistics

from rich.console import Console
from rich.progress import track

from treespan.core.rng import generator
from treespan.core.tables import plain_table
from treespan.games.position import Position
from treespan.games.registry import make_game
from treespan.games.rules import chance
from treespan.games.sailing import Sailing
from treespan.games.samegame import SameGame
from treespan.runtimes.plan import make_plan
from treespan.runtimes.run import run_search
from treespan.schemes.plan import Request
from treespan.schemes.registry import SCHEMES

SAMEGAME, SAILING = "samegame:width=8,height=8,colors=4", "sailing:size=8"
SEQUENTIAL = "sequential"


def play(spec: str, scheme: str, ranks: int, playouts: int, number: int) -> float:
    """The score or cost of one game."""
    game = make_game(f"{spec},seed={number}" if spec.startswith("samegame") else spec)
    position, winds, move_number = Position(game), generator(number), 0
    while not position.is_over:
        if position.is_chance:
            position.play(position.game_moves[int(chance(game, position.state, winds))])
            continue
        move_number += 1
        seed = 1000 * number + move_number
        simulated = None if scheme == SEQUENTIAL else ranks
        plan = make_plan(game, scheme=scheme, playouts=playouts, simulate=simulated, network="shared-memory", seed=seed)
        result = run_search(Request(position.copy(), plan))
        assert result is not None
        position.play_text(result.move)
    assert isinstance(game, SameGame | Sailing)
    return game.score(position.state) if isinstance(game, SameGame) else game.cost(position.state)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--ranks", type=int, default=4)
    parser.add_argument("--playouts", type=int, default=1000)
    parser.add_argument("--games", type=int, default=10)
    others = [name for name in SCHEMES if name != SEQUENTIAL]
    parser.add_argument("--schemes", nargs="+", default=others)
    arguments = parser.parse_args()
    table = plain_table("scheme", "SameGame score", "±", "ratio", "Sailing cost", "±", "ratio")
    means: dict[str, float] = {}
    schemes = [SEQUENTIAL, *arguments.schemes]
    for scheme in track(schemes, "playing", console=Console(stderr=True), transient=True):
        cells = []
        for spec in (SAMEGAME, SAILING):
            numbers = range(1, arguments.games + 1)
            figures = [play(spec, scheme, arguments.ranks, arguments.playouts, number) for number in numbers]
            mean = statistics.fmean(figures)
            spread = 1.96 * statistics.stdev(figures) / math.sqrt(len(figures)) if len(figures) > 1 else math.nan
            cells += [f"{mean:.1f}", f"{spread:.1f}", f"{mean / means.setdefault(spec, mean):.3f}"]
        table.add_row(scheme, *cells)
    console = Console(width=120)
    console.print(table)
    console.print(f"{SAMEGAME} and {SAILING}: {arguments.games} games each, {arguments.playouts:,} playouts a move")


if __name__ == "__main__":
    main()
