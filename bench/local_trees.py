"""Speed of the schemes with whole trees, each against a bound measured in the same run.

    .venv/bin/python bench/local_trees.py costs       a level of a local tree, and of a replay, against a job of TDS
    .venv/bin/python bench/local_trees.py master      master-worker: master alone, instant workers, workers that wait
    .venv/bin/python bench/local_trees.py sharing     slow-tree: share of the time that 4 ranks spend in sharing
    .venv/bin/python bench/local_trees.py broadcast   simulated: the bound 1 / alpha of gelly2008 beside the speed-up

`costs` is where BEGINNING, SELECTING and COUNTING (`whole_trees/handlers.py`) and REPLAYING (`broadcast.py`)
come from. The best of many short runs counts, so that other work on the machine disturbs little.
"""

import argparse
from dataclasses import replace
from typing import Any

import numpy as np
from rich.console import Console

from treespan.core.clock import now_ns
from treespan.core.handles import call_entry, entry_of
from treespan.core.jit import njit
from treespan.core.tables import plain_table
from treespan.games.position import Position
from treespan.games.registry import make_game
from treespan.runtimes.network import find_profile
from treespan.runtimes.plan import make_plan
from treespan.runtimes.run import run_search
from treespan.runtimes.simulated import run_simulated
from treespan.schemes.plan import Request
from treespan.schemes.protocol.messages import NO_SLOT
from treespan.schemes.protocol.port import HANDLED, LEAVES, OUT, Seat, dequeue, receive
from treespan.schemes.scheme import Place
from treespan.schemes.whole_trees.broadcast import replay_stack
from treespan.schemes.whole_trees.handlers import descend
from treespan.search.result import SearchResult

GAME = "pgame"
PLAYOUTS, BURST = 100_000, 5_000
MASTER_GOAL_US, WAITING_GOAL, SHARING_GOAL = 3.0, 0.97, 0.02
SHARING_SECONDS = 5.0


def request_of(scheme: str, playouts: int, **where: Any) -> Request:
    """A search by a scheme with `threads` or `simulate`."""
    return Request(Position(make_game(GAME)), make_plan(scheme=scheme, playouts=playouts, **where))


def search(scheme: str, playouts: int, **where: Any) -> SearchResult:
    result = run_search(request_of(scheme, playouts, **where))
    assert result is not None
    return result


@njit
def time_descents(handle, row, slot, count):
    """Nanoseconds of `count` descents of one job, from which nothing is counted."""
    begin = now_ns()
    for _ in range(count):
        descend(handle, row, slot)
    return now_ns() - begin


@njit
def simulate(port, program, count):
    """Up to `count` simulations of rank 0, until it writes a message."""
    for _ in range(count):
        slot = dequeue(port, 0, LEAVES)
        if slot != NO_SLOT:
            call_entry(program.evaluate, program.evaluator, 0, slot)
            call_entry(program.absorb, program.rank, 0, slot)
        call_entry(program.advance, program.rank, 0, 0)
        if port.queues[0, OUT].first != NO_SLOT:
            break


@njit
def deliver(port, program, row):
    """Carry a message that a rank has written to the other, which handles it."""
    slot = dequeue(port, row, OUT)
    receive(port, 1 - row, slot)
    call_entry(program.advance, program.rank, 1 - row, 0)


@njit
def time_call(entry, handle, row, slot):
    begin = now_ns()
    call_entry(entry, handle, row, slot)
    return now_ns() - begin


def least_seconds(scheme: str, rounds: int) -> tuple[float, float]:
    """Seconds of one real rank for BURST playouts, so few that some round is not disturbed; and their mean depth."""
    results = [search(scheme, BURST, threads=1) for _ in range(30 * rounds)]
    return min(result.seconds for result in results), results[0].depth


def costs(console: Console, rounds: int) -> None:
    """A simulation in a local tree as a fixed part and a part a level, from a deep and a flat search."""
    flat, deep = ("root:solver=no,c=4", "root:solver=no,c=0.05")
    (flat_time, flat_depth), (deep_time, deep_depth) = least_seconds(flat, rounds), least_seconds(deep, rounds)
    level = (deep_time - flat_time) / BURST / (deep_depth - flat_depth)
    fixed = flat_time / BURST - level * flat_depth
    # The simulator counts the jobs that one rank handles, in seconds of one each.
    counting = replace(find_profile("qdr"), overhead=0.0, handle=1.0, per_ply=0.0)
    jobs = run_simulated(request_of("tds-uct:jobs=1", BURST, simulate=1), network=counting).seconds
    job = least_seconds("tds-uct:jobs=1", rounds)[0] / jobs

    seat = scheme_seat(flat, 1, BURST)
    start_all(seat)
    simulate(seat.port, seat.program, BURST // 2)
    slot = int(seat.port.queues[0, LEAVES].first)
    depth = int(seat.port.jobs.headers[slot].levels)
    descent = min(int(time_descents(seat.handle, 0, slot, 100)) for _ in range(100 * rounds)) / 100 / depth * 1e-9

    table = plain_table("what", "ns", "units of HANDLED")
    for name, seconds in (
        ("a job of TDS in one rank", job),
        ("a simulation in a local tree, fixed part", fixed),
        ("and for each level", level),
        ("  of it the descent, by itself", descent),
        ("a level of a simulation that is replayed", replay_seconds(rounds)),
    ):
        table.add_row(name, f"{seconds * 1e9:.1f}", f"{HANDLED * seconds / job:.2f}")
    console.print(table)


def scheme_seat(spec: str, ranks: int, playouts: int) -> Seat:
    request = request_of(spec, playouts, simulate=ranks)
    return request.plan.scheme.new_seat(request, Place(rows=ranks))


def start_all(seat: Seat) -> None:
    for row in range(seat.port.ranks):
        time_call(seat.program.start, seat.program.rank, row, 0)


def replay_seconds(rounds: int) -> float:
    """CPU of a level that is replayed: rank 1 gets the stacks of rank 0."""
    seat = scheme_seat("broadcast:period=1000,solver=no", 2, PLAYOUTS)
    port, handle, times = seat.port, seat.handle.whole, []
    replay = entry_of(replay_stack, handle)
    start_all(seat)
    for _ in range(20 * rounds):
        before = int(port.counts[0].levels)
        simulate(port, seat.program, PLAYOUTS)
        levels = int(port.counts[0].levels) - before
        times.append(int(time_call(replay, handle.number, 1, int(port.queues[0, OUT].first))) / levels)
        deliver(port, seat.program, 0)  # replayed a second time, not timed; rank 1 thanks
        deliver(port, seat.program, 1)
    return float(np.median(times)) * 1e-9


def master(console: Console, rounds: int) -> None:
    """cazenave2008, Tables 6 to 8."""
    table = plain_table("what", "figure", "goal")
    alone = min(search("master-worker:mode=random-master", PLAYOUTS, threads=1).seconds for _ in range(rounds))
    table.add_row("the master alone (Table 7: 26 us), us a playout", f"{alone / PLAYOUTS * 1e6:.2f}", "")
    for workers, jobs in ((1, 1), (1, 16), (2, 16)):
        spec = f"master-worker:mode=random-workers,jobs_per_worker={jobs}"
        results = [search(spec, BURST, threads=1 + workers) for _ in range(30 * rounds)]
        best = min(result.seconds for result in results) / BURST
        busy = min(result.load[0] * result.seconds for result in results) / BURST
        name = f"{workers} instant workers, jobs_per_worker={jobs}"
        table.add_row(f"{name}, us a playout (Table 6: 39 us)", f"{best * 1e6:.2f}", "")
        table.add_row("  of it the master's handlers", f"{busy * 1e6:.2f}", f"<= {MASTER_GOAL_US}")
    for wait in ("2ms", "1ms", "0.5ms"):
        seconds, workers = float(wait.removesuffix("ms")) * 1e-3, 16
        playouts = int(2.0 / seconds) * workers
        spec = f"master-worker:mode=random-workers,policy=wait={wait},jobs_per_worker=2"
        took = min(search(spec, playouts, threads=1 + workers).seconds for _ in range(rounds))
        efficiency = playouts * seconds / workers / took
        goal = f">= {WAITING_GOAL}" if wait == "2ms" else ""
        table.add_row(f"{workers} workers that wait {wait}, share of the ideal", f"{efficiency:.3f}", goal)
    console.print(table)


def sharing(console: Console, rounds: int) -> None:
    """Time in handlers of rounds, by the clock of the rank's thread: other threads on its core are counted, too."""
    table = plain_table("search", "rounds", "share of the time in sharing", "goal")
    for spec in ("pgame", "go:size=9"):
        game = make_game(spec)
        for scheme in ("slow-tree", "slow-root"):
            request = Request(Position(game), make_plan(game, scheme=scheme, seconds=SHARING_SECONDS, threads=4))
            results = [run_search(request) for _ in range(rounds)]
            shares = [result.sync_share for result in results if result]
            done = [result.between_ranks["rounds"] for result in results if result and result.between_ranks]
            table.add_row(
                f"{scheme}, 4 ranks, {spec}", f"{max(done):.0f}", f"{max(shares):.4%}", f"<= {SHARING_GOAL:.0%}"
            )
    console.print(table)


def broadcast(console: Console, rounds: int) -> None:
    """Speed-up over one rank as the ranks grow; alpha is what a replay takes of a simulation's time."""
    columns = ("speed-up, broadcast", "time in replays", "bound 1 / alpha", "speed-up, root")
    table = plain_table("playout", "ranks", *columns)
    for wait in ("10us", "100us"):
        base: dict[str, float] = {}
        for ranks in (1, 2, 4, 8, 16, 32, 64):
            results = {
                name: search(f"{name}:policy=wait={wait},solver=no", 4000 * ranks, simulate=ranks)
                for name in ("broadcast", "root")
            }
            base.setdefault("broadcast", results["broadcast"].playouts_per_second)
            base.setdefault("root", results["root"].playouts_per_second)
            result = results["broadcast"]
            # Seconds in replays for each simulation of another rank, in relation to those of a simulation of one's own
            replays = result.sync_share * result.seconds / (result.playouts * (ranks - 1) / ranks) if ranks > 1 else 0.0
            alpha = replays * base["broadcast"]
            table.add_row(
                wait,
                str(ranks),
                f"{result.playouts_per_second / base['broadcast']:.2f}",
                f"{result.sync_share:.1%}",
                f"{1 / alpha:.1f}" if alpha else "",
                f"{results['root'].playouts_per_second / base['root']:.2f}",
            )
    console.print(table)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    measures = {"costs": costs, "master": master, "sharing": sharing, "broadcast": broadcast}
    parser.add_argument("what", choices=measures)
    parser.add_argument("--rounds", type=int, default=3)
    arguments = parser.parse_args()
    measures[arguments.what](Console(width=200), arguments.rounds)


if __name__ == "__main__":
    main()
