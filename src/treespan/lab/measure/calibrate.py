"""Measure the figures of a network profile (`runtimes/network.py`) on real MPI ranks.

- Latency and bandwidth: small compiled programs on the first and the last rank exchange messages, through the same
  binding as the message loop.
- CPU time of a message at its two ends: all ranks search. (Between two ranks that do nothing else all data is in the
  caches, and a message is three times as cheap.)
- CPU time of a job: one rank searches with the real handlers. Its time is divided by the number of jobs that the
  simulator counts for the same search, so that nothing here depends on how the loop works inside.

The fastest of several rounds counts, because other work on the machine only slows a round down.
"""

import os
import platform
import time
from collections.abc import Callable
from dataclasses import asdict, dataclass, fields, replace
from functools import partial
from pathlib import Path

import llvmlite.binding
import numpy as np

from treespan.core.clock import now_ns, sleep_ns
from treespan.core.errors import OptionError, TreespanError, named
from treespan.core.jit import njit, njit_inline
from treespan.core.machine import usable_cores
from treespan.games.position import Position
from treespan.games.registry import make_game
from treespan.lab.measure.speed import many_playouts, playout_arguments
from treespan.lab.store.runner import Kept, OnStep, Report, results
from treespan.runtimes.launch import alone, inside_mpi, require_own_ranks, world_size
from treespan.runtimes.mpi import wait_for_all
from treespan.runtimes.mpi_binding import (
    ANY_SOURCE,
    ANY_TAG,
    BYTE,
    COMM,
    TAG,
    MpiError,
    bind,
    find_library,
    load_mpi,
    mpi_iprobe,
    mpi_isend,
    mpi_recv,
    mpi_test,
)
from treespan.runtimes.network import Network, find_profile
from treespan.runtimes.ranks import Ranks
from treespan.runtimes.run import run_search
from treespan.runtimes.simulated import run_simulated
from treespan.runtimes.together import share
from treespan.schemes.plan import MPI, SIMULATED, THREADS, Budget, Plan, Request
from treespan.schemes.registry import read_scheme

SIZES = (64, 256, 1024, 4096, 8192)  # bytes: from a report with few levels to a deep df-UCT job
JOB_BYTES = 256  # a usual job
WINDOW = 64  # messages that are sent before the first is known to have arrived
ROUND_SECONDS = 0.25  # of each search that measures the cost of messages
MESSAGE_PLAYOUT_US = 100  # of that search's playouts
MOST_RANKS = 16  # started to measure messages
CPU_GAME, CPU_SCHEME = "pgame:branching=8", "tds-dfuct:solver=no"  # playouts that take next to no time
SEQUENTIAL = "sequential:algorithm=dfuct,solver=no"
CPU_PLAYOUTS = 200_000
PLAYOUT_GAME, GO_PLAYOUTS = "go:size=9", 10_000  # its plies represent those of real playouts
ROUND_TRIPS = 50  # in a row: few, so that some batches run without interruption even on a busy machine
STREAM = 10 * WINDOW  # messages in a row

# After this many polls a rank sleeps: the rank that it waits for may need its core.
MANY_POLLS, NAP_NS = 2000, 20_000
RESOLUTION = 25e-9  # of the clock; no message is faster

# Indices into the scratch memory of the programs
FLAG, STATUS = 0, 1


@dataclass(frozen=True)
class Messages:
    """The costs of messages between two ranks, in seconds."""

    latency: float
    overhead: float
    gap: float
    per_byte: float


@dataclass(frozen=True)
class Cpu:
    """The CPU costs of a rank's work, in seconds, as in `Network`."""

    handle: float
    per_ply: float
    sequential: float


@njit_inline
def post(buffer, size, constants, to, requests, place):
    mpi_isend(buffer.ctypes.data, size, constants[BYTE], to, TAG, constants[COMM], requests[place:].ctypes.data)


@njit_inline
def await_sent(requests, place, scratch):
    while True:
        scratch[FLAG] = 0
        mpi_test(requests[place:].ctypes.data, scratch.ctypes.data, scratch[STATUS:].ctypes.data)
        if np.int32(scratch[FLAG]) != 0:
            return


@njit_inline
def receive(buffer, constants, scratch):
    """Poll until a message comes, and receive it."""
    status, empty_polls = scratch[STATUS:].ctypes.data, 0
    while True:
        scratch[FLAG] = 0
        mpi_iprobe(constants[ANY_SOURCE], constants[ANY_TAG], constants[COMM], scratch.ctypes.data, status)
        if np.int32(scratch[FLAG]) != 0:
            break
        empty_polls += 1
        if empty_polls > MANY_POLLS:
            sleep_ns(NAP_NS)
    source, tag = constants[ANY_SOURCE], constants[ANY_TAG]
    mpi_recv(buffer.ctypes.data, len(buffer), constants[BYTE], source, tag, constants[COMM], status)


@njit
def ping_pong(buffer, size, rounds, constants, is_first, partner, requests, scratch):
    """Return the nanoseconds of `rounds` round trips."""
    start = now_ns()
    for _ in range(rounds):
        if is_first:
            post(buffer, size, constants, partner, requests, 0)
            receive(buffer, constants, scratch)
        else:
            receive(buffer, constants, scratch)
            post(buffer, size, constants, partner, requests, 0)
        await_sent(requests, 0, scratch)
    return now_ns() - start


@njit
def send_many(buffer, size, count, constants, partner, requests, scratch):
    """Send `count` messages, at most WINDOW at a time. Returns the nanoseconds of the first WINDOW calls."""
    start, end = now_ns(), np.int64(0)
    for i in range(count):
        if i == WINDOW:
            end = now_ns()
        if i >= WINDOW:
            await_sent(requests, i % WINDOW, scratch)
        post(buffer, size, constants, partner, requests, i % WINDOW)
    if count <= WINDOW:
        end = now_ns()
    for i in range(min(count, WINDOW)):
        await_sent(requests, i, scratch)
    return end - start


@njit
def receive_many(buffer, count, constants, scratch):
    """Return the nanoseconds to receive `count` messages."""
    start = now_ns()
    for _ in range(count):
        receive(buffer, constants, scratch)
    return now_ns() - start


class Bench:
    """The two ranks of this MPI job that measure. The others wait."""

    def __init__(self) -> None:
        mpi = load_mpi()
        self.comm = mpi.COMM_WORLD.Dup()  # separate from the programs' messages
        if self.comm.size < 2:
            raise MpiError("messages need two ranks; start with mpiexec -n 2, or without mpiexec")
        self.constants = bind(mpi)
        self.is_first = self.comm.rank == 0
        self.takes_part = self.comm.rank in (0, self.comm.size - 1)
        self.partner = self.comm.size - 1 if self.is_first else 0
        self.buffer = np.zeros(max(SIZES), dtype=np.uint8)
        self.requests = np.zeros(WINDOW, dtype=np.int64)
        self.scratch = np.zeros(32, dtype=np.int64)

    def agree(self, more: bool = True) -> bool:
        """Wait for the other rank. Both return the first rank's `more`. Sleeps meanwhile: MPI's own barrier spins."""
        request = self.comm.isend(more, dest=self.partner)
        heard, others = False, None
        asked = self.comm.irecv(source=self.partner)
        while not heard:
            heard, others = asked.test()
            time.sleep(0.0 if heard else NAP_NS * 1e-9)
        request.wait()
        return more if self.is_first else bool(others)

    def round_trip(self, size: int, rounds: int) -> float:
        """Return the seconds of a round trip."""
        ends = (self.constants, self.is_first, self.partner, self.requests, self.scratch)
        return float(ping_pong(self.buffer, size, rounds, *ends)) * 1e-9 / rounds

    def stream(self, count: int) -> float:
        """Return the seconds from one message to the next in a stream of messages."""
        self.agree()
        start = time.perf_counter()
        if self.is_first:
            send_many(self.buffer, JOB_BYTES, count, self.constants, self.partner, self.requests, self.scratch)
        else:
            receive_many(self.buffer, count, self.constants, self.scratch)
        return (time.perf_counter() - start) / count


def measure_messages(seconds: float) -> Messages | None:
    """Measure, in an MPI job, the costs of messages. Returns None at all ranks but the first."""
    bench = Bench()
    trips, gap = _round_trips_and_gap(bench, seconds / 2) if bench.takes_part else ([], 0.0)
    wait_for_all(bench.comm)  # sleeps: the other ranks must not spin while two measure
    overhead = message_overhead(bench.comm.size, seconds / 2)
    if overhead is None:
        return None
    per_byte = max(float(np.polyfit(SIZES, np.array(trips) / 2, 1)[0]), 0.0)
    latency = trips[SIZES.index(JOB_BYTES)] / 2 - JOB_BYTES * per_byte - 2 * gap
    return Messages(max(latency, RESOLUTION), overhead, gap, per_byte)


def _round_trips_and_gap(bench: Bench, seconds: float) -> tuple[list[float], float]:
    for size in SIZES:  # compiles, and touches all buffers
        bench.round_trip(size, 1000)
    bench.stream(STREAM)
    round_trips = [partial(bench.round_trip, size, ROUND_TRIPS) for size in SIZES]
    *trips, gap = _fastest(bench, [*round_trips, partial(bench.stream, STREAM)], seconds)
    return trips, gap


def message_overhead(ranks: int, seconds: float) -> float | None:
    """Return the CPU time of a message at either end, in searches by all ranks; None at all ranks but the first."""
    scheme = read_scheme(CPU_SCHEME, policy=f"wait={MESSAGE_PLAYOUT_US}us")
    budget = Budget(playouts=int(ranks * ROUND_SECONDS / (MESSAGE_PLAYOUT_US * 1e-6)))
    plan, best = Plan(*scheme, budget, runtime=MPI, ranks=ranks), float("inf")
    request = Request(Position(make_game(CPU_GAME)), plan)
    for _ in range(max(1, int(seconds / ROUND_SECONDS))):
        result = run_search(request)
        if result is not None:
            best = min(best, result.messages["microseconds"] * 1e-6 / 2)
    return None if best == float("inf") else best


def _fastest(bench: Bench, measures: list[Callable[[], float]], seconds: float) -> list[float]:
    """Return the least value of each measure over as many rounds as fit. Measures alternate, to share quiet moments."""
    best, end = [float("inf")] * len(measures), time.perf_counter() + seconds
    more = True
    while more:
        best = [min(before, measure()) for before, measure in zip(best, measures, strict=True)]
        more = bench.agree(time.perf_counter() < end)
    return best


def measure_cpu(seconds: float, runtime: str = MPI) -> Cpu:
    """Measure the costs of jobs, of playouts, and of the sequential search: in an MPI job of one rank, or a thread."""
    game = make_game(CPU_GAME)
    plies = simulated_seconds(CPU_PLAYOUTS, handle=0.0, per_ply=1.0)
    jobs = simulated_seconds(CPU_PLAYOUTS, handle=1.0, per_ply=0.0)

    def search(scheme: str, runtime: str, playouts: int) -> None:
        run_search(Request(Position(game), Plan(*read_scheme(scheme), Budget(playouts=playouts), runtime=runtime)))

    per_ply = go_ply_seconds(seconds / 3)
    playouts = plies * per_ply
    ranked = cpu_seconds(partial(search, CPU_SCHEME, runtime), CPU_PLAYOUTS, seconds / 3)
    alone = cpu_seconds(partial(search, SEQUENTIAL, THREADS), CPU_PLAYOUTS, seconds / 3)
    return Cpu((ranked - playouts) / jobs, per_ply, (alone - playouts) / CPU_PLAYOUTS)


def cpu_seconds(work: Callable[[int], object], count: int, seconds: float) -> float:
    """Return the CPU time of `work(count)` less that of `work(1)`, so that the time to start does not count."""

    def once(amount: int) -> float:
        start = time.process_time()
        work(amount)
        return time.process_time() - start

    once(1)  # compiles
    best, end = float("inf"), time.perf_counter() + seconds
    while best == float("inf") or time.perf_counter() < end:
        best = min(best, once(count) - once(1))
    return max(best, 0.0)


def go_ply_seconds(seconds: float) -> float:
    """Return the CPU time of a ply of a playout."""
    game = make_game(PLAYOUT_GAME)
    arguments = playout_arguments(game)
    plies = many_playouts(game, *arguments, GO_PLAYOUTS)[0]
    return cpu_seconds(partial(many_playouts, game, *arguments), GO_PLAYOUTS, seconds) / float(plies)


def simulated_seconds(playouts: int, handle: float, per_ply: float) -> float:
    """Return how long one simulated rank takes for the search of `measure_cpu` if only jobs or plies take time.

    If each takes one second, that is their number.
    """
    network = Network("counting", 0.0, 0.0, 0.0, 0.0, handle, per_ply, 0.0, "counts")
    plan = Plan(*read_scheme(CPU_SCHEME), Budget(playouts=playouts), runtime=SIMULATED)
    return run_simulated(Request(Position(make_game(CPU_GAME)), plan), network=network).seconds


@dataclass(frozen=True)
class Calibration:
    """A unit of work: it starts ranks that measure a part of the figures."""

    ranks: int  # 1: the CPU costs; more: messages
    seconds: float

    def run(self, kept: Kept, report: Report | None = None) -> Network:
        """Return a profile with the measured figures. Its other figures are those of shared memory."""
        with Ranks(self.ranks) as ranks:
            network: Network = ranks.call(calibrate_rank, find_profile("shared-memory"), "measured", self.seconds)
            return network

    def expected_seconds(self) -> float:
        return self.seconds

    def describe(self) -> str:
        """Return a line for people. It also warns of a busy machine."""
        if self.ranks == 1:
            return "CPU of jobs, of playouts and of the sequential search"
        load = os.getloadavg()[0]
        busy = f" (load {load:.1f}: they will look slower than they are; repeat when the machine is idle)"
        return f"messages between {self.ranks} ranks{busy if load > usable_cores() / 2 else ''}"


def calibrate(name: str, seconds: float, on_step: OnStep | None = None) -> Network:
    """Measure this machine: first messages between ranks, then CPU costs in one rank.

    Ranks are started for that. In an MPI job all its ranks call this, and messages are those between them; all get the
    profile.
    """
    if inside_mpi():
        of_job: Network = share(_calibrate_job(name, seconds))
        return of_job
    require_own_ranks("measuring messages", f"give {named('network')}")
    count = max(2, min(usable_cores(), MOST_RANKS))
    parts = Calibration(count, seconds / 2), Calibration(1, seconds / 2)
    messages, cpu = (network for _, network in results(parts, on_step=on_step))
    costs = {field.name: getattr(cpu, field.name) for field in fields(Cpu)}
    profile: Network = replace(messages, name=name, source=source_of(), **costs)
    return profile


def _calibrate_job(name: str, seconds: float) -> Network | None:
    """Measure in an MPI job of several ranks. Returns None at all ranks but the first."""
    if world_size() == 1:
        raise OptionError(f"messages need two ranks, and this job has one; give {named('network')}")
    messages = calibrate_rank(find_profile("shared-memory"), name, seconds / 2)
    if messages is None:
        return None
    with alone():
        return replace(messages, source=source_of(), **asdict(measure_cpu(seconds / 2, THREADS)))


def calibrate_rank(base: Network, name: str, seconds: float) -> Network | None:
    """Measure, in an MPI job, messages, or CPU costs if there is only one rank. Other figures come from `base`.

    Returns the profile at rank 0, None at the others.
    """
    ranks = world_size()
    measured = measure_cpu(seconds) if ranks == 1 else measure_messages(seconds)
    if measured is None:
        return None
    what = "CPU costs" if ranks == 1 else f"messages between {ranks} ranks, of which 0 and {ranks - 1} are farthest,"
    return replace(base, name=name, source=f"{what} {source_of()}; the rest is {base.name}'s", **asdict(measured))


def source_of() -> str:
    library, cpu = find_library(), llvmlite.binding.get_host_cpu_name()
    machine = f"{platform.system()} {platform.machine()} ({cpu}), {usable_cores()} cores"
    return f"measured by treespan calibrate: {machine}, {library.vendor} {library.version}"


def write_profile(network: Network, path: Path) -> None:
    try:
        path.write_text(network.as_toml(), encoding="utf-8")
    except OSError as error:
        raise TreespanError(f"cannot write {named('out', path)}: {error.strerror}; give another file") from None
