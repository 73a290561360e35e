"""What a tree that lives costs: to move its root, to stop it, to look at it, to save it.

    python bench/living.py [--game pgame:branching=8] [--where ranks=2] [--nodes 1000000] [--rounds 5]
    python bench/living.py --only save --seconds 60

Each row is a figure beside a bound or a ratio of the same run. The tree first grows until each rank has about so many
nodes.

    advance   milliseconds until the first playout of the next search has come back: in a new tree, in the grown one at
              the same root, and below a move
    stop      milliseconds from the wish to end a search until its result is there, as when a player ends pondering
    look      playouts a second while somebody looks ten times a second, against those while nobody does
    save      playouts in so many seconds with one save in them, against those without one; and how long the search
              pauses for it
"""

import argparse
import shutil
import statistics
import tempfile
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import treespan as ts
from treespan.engine.saving import SavedSearch, Saver
from treespan.schemes.plan import Budget

LOOKS_A_SECOND = 10
ROOM = 200_000_000  # moves of a rank's tree: more than it gets, and memory only where it is used
MOST_PORTION = 400_000  # playouts, while the tree grows


def seconds_of(work: Callable[[], Any]) -> float:
    start = time.perf_counter()
    work()
    return time.perf_counter() - start


def grown(tree: ts.Tree, nodes: int) -> int:
    """Let a tree grow until it has so many nodes. Returns them."""
    found = tree.search(playouts=1000).nodes
    while found < nodes:
        found = tree.search(playouts=MOST_PORTION).nodes
    return found


def show(name: str, figures: str) -> None:
    print(f"{name:<10}{figures}", flush=True)


def advance(game: str, where: dict[str, Any], nodes: int, rounds: int) -> None:
    with ts.Tree(game, scheme="span", threshold=1, nodes=16 * nodes, **where) as tree:
        tree.search(playouts=100)
        new = min(seconds_of(lambda: tree.search(playouts=1)) for _ in range(rounds))
        have = grown(tree, nodes * max(where.values()))
        same = min(seconds_of(lambda: tree.search(playouts=1)) for _ in range(rounds))
        below = []
        for _ in range(rounds):
            best = tree.search(playouts=1).move
            tree.advance(best)
            below.append(seconds_of(lambda: tree.search(playouts=1)))
    words = f"new tree {1e3 * new:.1f} ms, {have:,} nodes {1e3 * same:.1f} ms"
    more = f"{1e3 * (max(below) - new):.1f} ms more than in a new tree (bound 50)"
    show("advance", f"{words}, after a move at most {1e3 * max(below):.1f} ms: {more}")


def stop(game: str, where: dict[str, Any], rounds: int) -> None:
    with ts.Tree(game, scheme="span", **where) as tree:
        tree.search(playouts=1000)
        taken = []
        for number in range(4 * rounds):
            search = threading.Thread(target=tree.search, kwargs={"seconds": 60})
            search.start()
            time.sleep(0.3 + 0.013 * number)
            tree._thinker.stop()
            taken.append(seconds_of(search.join))
    show("stop", f"median {1e3 * statistics.median(taken):.1f} ms, at most {1e3 * max(taken):.1f} ms (bound 50)")


def look(game: str, where: dict[str, Any], rounds: int, seconds: float) -> None:
    def rate(looks: int) -> float:
        with ts.Tree(game, scheme="span", nodes=ROOM, **where) as tree:  # a new one each time: all begin alike
            tree.search(playouts=1000)
            if not looks:
                return tree.search(seconds=seconds).playouts_per_second
            *_, last = tree.watch(seconds=seconds, every=1 / LOOKS_A_SECOND)
            return last.playouts_per_second

    ratios = in_turns(rate, 2 * rounds)
    spread = f"{min(ratios):.3f} to {max(ratios):.3f}"
    show("look", f"{statistics.median(ratios):.3f} of the speed without looks, {spread} (bound 0.99)")


def in_turns(rate: Callable[[int], float], rounds: int) -> list[float]:
    """Ratios of a figure with something to that without it, in turns."""
    ratios = []
    for number in range(rounds):
        found = {which: rate(which) for which in (number % 2, 1 - number % 2)}
        ratios.append(found[1] / found[0])
    return ratios


def save(game: str, where: dict[str, Any], nodes: int, rounds: int, seconds: float) -> None:
    folder = Path(tempfile.mkdtemp(prefix="treespan-bench-"))
    pauses, sizes = [], []

    def playouts(saves: int) -> float:
        with ts.Tree.load(folder / "grown", nodes=ROOM, **where) as tree:  # all begin with the same tree
            tree.search(playouts=1000)
            if not saves:
                return tree.search(seconds=seconds).playouts
            saver = Saver(folder / "tree")
            search = SavedSearch(tree._thinker, tree.position, saver, seconds / 2, print)
            done = search.run(Budget(seconds=seconds)).playouts
            pauses.append(search.paused_seconds)
            saver.close()
            sizes.append(sum(path.stat().st_size for path in (folder / "tree").rglob("*") if path.is_file()))
            return done

    try:
        with ts.Tree(game, scheme="span", threshold=1, nodes=ROOM, **where) as tree:
            have = grown(tree, nodes * max(where.values()))
            tree.save(folder / "grown")
        ratios = in_turns(playouts, rounds)
    finally:
        shutil.rmtree(folder)
    words = (
        f"{statistics.median(ratios):.3f} of the playouts without a save in {seconds:g} s, {min(ratios):.3f} at least"
    )
    words += f"; {have:,} nodes, {max(sizes) / 1e6:.0f} MB, a pause of {statistics.median(pauses):.2f} s"
    show("save", f"{words} (bound 0.95 with one save a minute)")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--game", default="pgame:branching=8")
    parser.add_argument("--where", default="ranks=2", help="threads=N, ranks=N or simulate=N")
    parser.add_argument("--nodes", type=int, default=1_000_000, help="of each rank")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--seconds", type=float, default=60, help="of a search with a save; others take a tenth of it")
    parser.add_argument("--only", choices=("advance", "stop", "look", "save"))
    given = parser.parse_args()
    name, _, count = given.where.partition("=")
    where: dict[str, Any] = {name: int(count)}
    print(f"{given.game} on {given.where}")
    if given.only in (None, "advance"):
        advance(given.game, where, given.nodes, given.rounds)
    if given.only in (None, "stop"):
        stop(given.game, where, given.rounds)
    if given.only in (None, "look"):
        look(given.game, where, given.rounds, given.seconds / 10)
    if given.only in (None, "save"):
        save(given.game, where, given.nodes, max(1, given.rounds // 2), given.seconds)


if __name__ == "__main__":
    main()
