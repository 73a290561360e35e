"""The simulated cluster beside real MPI runs on this machine: playouts a second, and their ratio.

    .venv/bin/python bench/simulated_against_real.py [--ranks 1,2,4,8,16] [--waits 0.1ms,1ms] [--network FILE.toml]

Without --network it calibrates first. Give no more ranks than there are idle cores: the simulator knows nothing of
ranks that share one. Of `--rounds` real runs the fastest counts, and the slowest stands beside it.
"""

import argparse
import json
import subprocess
import sys

from rich.console import Console

from treespan.core.errors import shown
from treespan.core.options import parse_seconds
from treespan.core.tables import plain_table
from treespan.games.position import Position
from treespan.games.registry import make_game
from treespan.lab.measure.calibrate import calibrate
from treespan.runtimes.network import Network, find_profile
from treespan.runtimes.plan import make_plan
from treespan.runtimes.simulated import run_simulated
from treespan.schemes.plan import Request


def real_rates(game: str, scheme: str, wait: str, ranks: int, playouts: int, rounds: int) -> list[float]:
    """Playouts a second of real runs, the fastest first."""
    command = [sys.executable, "-m", "treespan", "search", game, "--ranks", str(ranks), "--scheme", scheme]
    command += ["--policy", f"wait={wait}", "--playouts", str(playouts), "--json"]
    rates = []
    for _ in range(rounds):
        done = subprocess.run(command, capture_output=True, text=True, timeout=600)
        if done.returncode:
            sys.exit(done.stderr or done.stdout)
        rates.append(float(json.loads(done.stdout)["playouts_per_second"]))
    return sorted(rates, reverse=True)


def simulated_rate(game: str, scheme: str, wait: str, ranks: int, playouts: int, network: Network) -> float:
    plan = make_plan(scheme=scheme, policy=f"wait={wait}", playouts=playouts, simulate=ranks)
    return run_simulated(Request(Position(make_game(game)), plan), network=network).playouts_per_second


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--ranks", default="1,2")
    parser.add_argument("--waits", default="0.1ms,1ms")
    parser.add_argument("--game", default="pgame:branching=8")
    parser.add_argument("--scheme", default="tds-dfuct")
    parser.add_argument("--seconds", type=float, default=2.0, help="of each run at perfect efficiency")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--network", help="profile; default: calibrate first")
    arguments = parser.parse_args()
    if arguments.network:
        network = find_profile(arguments.network)
    else:
        network = calibrate("here", 10.0, lambda step: print(f"{step}: {step.share:.0%}", file=sys.stderr))
    table = plain_table("N", "wait", "real playouts/s", "slowest", "simulated", "simulated / real", right_from=0)
    for wait in arguments.waits.split(","):
        for ranks in map(int, arguments.ranks.split(",")):
            playouts = int(ranks * arguments.seconds / parse_seconds(wait, shown))
            run = (arguments.game, arguments.scheme, wait, ranks, playouts)
            real, simulated = real_rates(*run, arguments.rounds), simulated_rate(*run, network)
            figures = (f"{real[0]:,.0f}", f"{real[-1]:,.0f}", f"{simulated:,.0f}", f"{simulated / real[0]:.3f}")
            table.add_row(str(ranks), wait, *figures)
    console = Console(width=140)
    console.print(table)
    console.print(f"{arguments.game}, {arguments.scheme}; {network.name}: {network.source}", soft_wrap=True)


if __name__ == "__main__":
    main()
