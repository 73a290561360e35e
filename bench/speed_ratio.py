"""Simulations a second of this checkout against a former one: every game, in turns, the best of several rounds.

    python bench/speed_ratio.py --before ../former [--rounds 3]

Both run in this environment, by PYTHONPATH, each in processes of its own. Ratios below 1 are slower than before.
"""

import argparse
import importlib
import json
import os
import subprocess
import sys
from pathlib import Path

HERE = Path(__file__).resolve().parents[1]
PLAIN = "bandit=ucb1,policy=light"
ROWS = {  # name: game, scheme, playouts
    "go:size=9, light": ("go:size=9", f"sequential:{PLAIN}", 60_000),
    "go:size=9, patterns, RAVE, widening": ("go:size=9", "sequential:bandit=rave,policy=patterns,widening=40", 8_000),
    "go:size=19, light": ("go:size=19", f"sequential:{PLAIN}", 15_000),
    "connect4": ("connect4", f"sequential:{PLAIN}", 600_000),
    "tictactoe": ("tictactoe", f"sequential:{PLAIN},solver=no", 1_000_000),
    "pgame, b = 8": ("pgame:branching=8", f"sequential:{PLAIN}", 600_000),
    "pgame, b = 8, df-UCT": ("pgame:branching=8", f"sequential:{PLAIN},algorithm=dfuct", 600_000),
    "pgame, b = 40, df-UCT": ("pgame:branching=40", f"sequential:{PLAIN},algorithm=dfuct", 600_000),
    "pgame, b = 150": ("pgame:branching=150", f"sequential:{PLAIN}", 300_000),
    "hex:size=11": ("hex:size=11", f"sequential:{PLAIN}", 60_000),
    "havannah:base=8": ("havannah:base=8", f"sequential:{PLAIN}", 20_000),
    "samegame": ("samegame", f"sequential:{PLAIN}", 20_000),
    "sailing": ("sailing", f"sequential:{PLAIN}", 60_000),
}


def measure() -> dict[str, float]:
    """The rates of the checkout that this process has imported; `span` by the wall clock of its simulator.

    Former checkouts have other functions: this uses only what they have, too.
    """
    from treespan.games.registry import make_game

    try:
        search_rate = importlib.import_module("treespan.lab.measure.speed").search_rate
    except ImportError:  # its place before version 0.2.0
        search_rate = importlib.import_module("treespan.lab.speed").search_rate

    rates = {}
    for name, (game, scheme, playouts) in ROWS.items():
        rates[name] = search_rate(make_game(game), scheme, playouts, rounds=4)[0].per_second
    for game in ("pgame:branching=8", "go:size=9"):
        best = min(span_seconds(game, 40_000) for _ in range(4))
        rates[f"{game}, span on 32 simulated ranks"] = 40_000 / best
    return rates


def span_seconds(game: str, playouts: int) -> float:
    """Wall time of the simulator alone, of a process of its own."""
    command = [sys.executable, "-m", "treespan", "search", game, "--scheme", f"span:{PLAIN}", "--simulate", "32"]
    command += ["--playouts", str(playouts), "--json"]
    done = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True)
    return float(json.loads(done.stdout)["wall_seconds"])


def measure_in(checkout: Path) -> dict[str, float]:
    environment = {**os.environ, "PYTHONPATH": str(checkout / "src")}
    done = subprocess.run([sys.executable, __file__, "--rates"], env=environment, capture_output=True, text=True)
    if done.returncode != 0:
        sys.exit(f"{checkout}: {done.stderr}")
    rates: dict[str, float] = json.loads(done.stdout)
    return rates


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--before", type=Path, help="a former checkout")
    parser.add_argument("--rounds", type=int, default=3, help="of both checkouts in turn")
    parser.add_argument("--rates", action="store_true", help="print the rates of this process as JSON")
    chosen = parser.parse_args()
    if chosen.rates:
        print(json.dumps(measure()))
        return
    if chosen.before is None:
        parser.error("--before DIR is missing: a former checkout to compare with")
    rounds = [(measure_in(chosen.before.resolve()), measure_in(HERE)) for _ in range(chosen.rounds)]
    print("| simulations a second | before | now | ratio |\n| --- | ---: | ---: | ---: |")
    for name in rounds[0][0]:
        before, now = (max(pair[side][name] for pair in rounds) for side in (0, 1))
        print(f"| {name} | {before:,.0f} | {now:,.0f} | {now / before:.3f} |")


if __name__ == "__main__":
    main()
