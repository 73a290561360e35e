"""How long a user waits for a first answer: cold, after an edit of a game's file, and warm; of two checkouts in turn.

    python bench/first_answer.py                          this checkout
    python bench/first_answer.py --before ../former       a former one beside it, with the ratio
    python bench/first_answer.py --before DIR --make      `make demo` and `make test` of fresh clones, too (long)

Each figure is of one process from its start to its end. Cold means an empty compile cache. Both checkouts run in this
environment, by PYTHONPATH; `make` makes environments of its own.
"""

import argparse
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path

HERE = Path(__file__).resolve().parents[1]
EDITS = (
    ("return 1.0 * state.to_play", "return 0.5 * state.to_play + 0.5 * state.to_play"),
    ("count = state.side, 0", "count = state.side, 0 * state.side"),
)
Search = Callable[..., float]


def search_of(checkout: Path, cache: Path) -> Search:
    """A function that searches with a checkout and a compile cache, and returns the seconds."""

    def search(*arguments: str) -> float:
        environment = {**os.environ, "PYTHONPATH": str(checkout / "src"), "TREESPAN_CACHE_DIR": str(cache)}
        start = time.perf_counter()
        command = [sys.executable, "-m", "treespan", "search", *arguments, "--playouts", "1000"]
        done = subprocess.run(command, env=environment, capture_output=True, text=True)
        if done.returncode != 0:
            sys.exit(f"{checkout}: {' '.join(command)}: {done.stderr}")
        return time.perf_counter() - start

    return search


def rows(checkout: Path, folder: Path) -> Iterator[tuple[str, float]]:
    """What is measured of one checkout, in an empty folder."""
    game = folder / "domineering.py"
    source = (checkout / "examples" / "domineering.py").read_text()
    game.write_text(source)
    search = search_of(checkout, folder / "cache")
    yield "a user's game, cold", search(str(game))
    game.write_text(source.replace(*EDITS[0]))
    yield "… after an edit of its file", search(str(game))
    yield "… on two ranks, cold but for the above", search(str(game), "--ranks", "2")
    game.write_text(source.replace(*EDITS[0]).replace(*EDITS[1]))
    yield "… on two ranks, after an edit", search(str(game), "--ranks", "2")
    search("tictactoe")
    yield "tictactoe, warm", min(search("tictactoe") for _ in range(3))
    search("tictactoe", "--ranks", "2")
    yield "tictactoe on two ranks, warm", min(search("tictactoe", "--ranks", "2") for _ in range(3))
    yield "go:size=9 with its defaults, cold", search_of(checkout, folder / "cold")("go:size=9")


def make(checkout: Path, target: str) -> float:
    """Seconds of a make target in a fresh clone with an empty cache."""
    with tempfile.TemporaryDirectory() as folder:
        clone = Path(folder) / "clone"
        subprocess.run(["git", "clone", "--quiet", str(checkout), str(clone)], check=True)
        environment = {**os.environ, "TREESPAN_CACHE_DIR": str(Path(folder) / "cache")}
        start = time.perf_counter()
        done = subprocess.run(["make", target], cwd=clone, env=environment, capture_output=True, text=True)
        if done.returncode != 0:
            print(f"make {target} in {checkout} failed:\n{done.stdout[-2000:]}", file=sys.stderr)
        return time.perf_counter() - start


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--before", type=Path, help="a former checkout")
    parser.add_argument("--make", action="store_true", help="measure make demo and make test, too")
    chosen = parser.parse_args()
    checkouts = [HERE] if chosen.before is None else [chosen.before.resolve(), HERE]
    print("| what | " + " | ".join("before, s" if c != HERE else "now, s" for c in checkouts) + " | ratio |")
    print("| --- |" + " ---: |" * (len(checkouts) + 1))
    with tempfile.TemporaryDirectory() as folder:
        measured = []
        for number, checkout in enumerate(checkouts):
            own = Path(folder) / str(number)
            own.mkdir()
            measured.append(rows(checkout, own))
        for both in zip(*measured, strict=True):
            show(both[0][0], [seconds for _, seconds in both])
    for target in ("demo", "test") if chosen.make else ():
        show(f"make {target}, fresh clone, cold", [make(checkout, target) for checkout in checkouts])


def show(what: str, seconds: list[float]) -> None:
    ratio = f"{seconds[-1] / seconds[0]:.2f}" if len(seconds) > 1 else "–"
    print(f"| {what} | " + " | ".join(f"{value:.2f}" for value in seconds) + f" | {ratio} |", flush=True)


if __name__ == "__main__":
    main()
