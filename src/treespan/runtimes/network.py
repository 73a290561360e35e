"""The cost model of a simulated cluster: LogGP (Alexandrov et al. 1995) and the CPU cost of a job.

A message of n bytes keeps the sender busy for o, leaves at most every g, is on the way for L + n G and keeps the
receiver busy for o. Handling a job takes `handle`.
"""

from dataclasses import dataclass

import numpy as np

from treespan.core.errors import unknown_name


@dataclass(frozen=True)
class Network:
    """A profile; times in seconds."""

    name: str
    latency: float  # L
    overhead: float  # o, CPU on each side of a message
    gap: float  # g, between two messages of one sender
    per_byte: float  # G
    handle: float  # CPU of one search or report job
    per_ply: float  # CPU of a playout, a ply; virtual playouts take their set time
    sequential: float  # CPU of a playout's tree work in the sequential df-UCT, the base of speed-ups
    source: str

    def as_array(self) -> np.ndarray:
        """In nanoseconds, for compiled code: L, o, g, G, handle."""
        return np.array([self.latency, self.overhead, self.gap, self.per_byte, self.handle]) * 1e9


PROFILES = {
    profile.name: profile
    for profile in (
        Network(
            "qdr",
            latency=1.5e-6,
            overhead=2.5e-6,
            gap=0.2e-6,
            per_byte=0.3e-9,
            handle=2.0e-6,
            per_ply=0.1e-6,
            sequential=5.4e-6,
            source="estimate for the QDR InfiniBand of yoshizoe2011: 7 us CPU a message, UCT1 as in its Table 4; "
            "sequential from its Table 1 (2108 s for 20 M playouts of 0.1 ms)",
        ),
        Network(
            "shared-memory",
            latency=0.3e-6,
            overhead=0.15e-6,
            gap=0.0,
            per_byte=0.05e-9,
            handle=0.3e-6,
            per_ply=0.05e-6,
            sequential=0.5e-6,
            source="estimate, not calibrated: a message through compiled MPI in shared memory takes 0.28-0.37 us",
        ),
        Network(
            "10gbe",
            latency=15e-6,
            overhead=3e-6,
            gap=0.5e-6,
            per_byte=0.8e-9,
            handle=0.3e-6,
            per_ply=0.05e-6,
            sequential=0.5e-6,
            source="estimate, not calibrated: 5-10 us a message through MPI over TCP, 1.25 GB/s",
        ),
    )
}


def find_profile(name: str) -> Network:
    if name not in PROFILES:
        raise unknown_name("network profile", name, PROFILES)
    return PROFILES[name]
