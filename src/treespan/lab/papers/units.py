"""A game of a match as a unit of work."""

from dataclasses import dataclass, field
from functools import cache

from treespan.core.errors import OptionError
from treespan.core.machine import usable_cores
from treespan.lab.match.gtp_process import find_command
from treespan.lab.match.play import PlayedGame
from treespan.lab.match.players import GTP_PREFIX
from treespan.lab.match.referee import SIDES, MatchSetup
from treespan.lab.measure.searches import profile_digest
from treespan.lab.store.records import Figures
from treespan.lab.store.runner import Kept, Report
from treespan.runtimes.plan import split_options
from treespan.schemes.plan import DEFAULT_NETWORK

REAL_TIMEOUT = 3600.0  # seconds per move: simulating a cluster may take long


@dataclass(frozen=True)
class MatchGame:
    """One game of a match. Players are texts, as for `treespan match`. B begins the games of odd number."""

    game: str
    a: str
    b: str
    number: int
    seed: int = 1
    weight: float = field(default=1.0, compare=False)  # about how many seconds it takes
    threads: int = field(default=1, compare=False)  # number that must run at the same time

    def key(self) -> dict[str, str | int]:
        key: dict[str, str | int] = {
            "game": self.game,
            "a": self.a,
            "b": self.b,
            "seed": self.seed,
            "number": self.number,
        }
        profiles = " ".join(map(profile_digest, self.networks()))
        return {**key, "profile": profiles} if profiles else key

    def networks(self) -> list[str]:
        """Return the simulated networks that its players search on."""
        return list(dict.fromkeys(filter(None, (simulated_network(self.a), simulated_network(self.b)))))

    def setup(self) -> MatchSetup:
        return MatchSetup(self.game, self.a, self.b, self.seed, REAL_TIMEOUT)

    def run(self, kept: Kept, report: Report | None = None) -> Figures:
        """Play the game. Returns the figures to record."""
        record = PlayedGame(self.setup(), self.number).run(kept)
        chosen: Figures = {name: getattr(record, name) for name in ("winner", "first", "result", "reason", "detail")}
        return {**chosen, "plies": len(record.moves), "seconds": {side: record.seconds[side] for side in SIDES}}

    def expected_seconds(self) -> float:
        return self.weight

    def obstacle(self) -> str | None:
        """Return what this machine lacks: cores, or a program; None if it lacks nothing."""
        if (cores := usable_cores()) < self.threads:
            return f"{self.threads} threads need as many cores; this machine has {cores}"
        for text in (self.a, self.b):
            if text.startswith(GTP_PREFIX):
                try:
                    find_command(text[len(GTP_PREFIX) :])
                except OptionError as error:
                    return str(error)
        return None

    def describe(self) -> str:
        return f"game {self.number} of '{self.a}' against '{self.b}'"


@cache
def simulated_network(player: str) -> str | None:
    """Return the network of a player that searches on simulated ranks; None for other players."""
    options = {} if player.startswith(GTP_PREFIX) else split_options(player)
    return options.get("network", DEFAULT_NETWORK) if "simulate" in options else None
