"""A search as a unit of work, on any runtime, and what is recorded of it."""

import hashlib
import json
from dataclasses import asdict, dataclass, field
from functools import cache
from statistics import fmean
from typing import Any

from treespan.core.machine import usable_cores
from treespan.games.position import Position
from treespan.games.registry import make_game
from treespan.games.rules import Game
from treespan.lab.measure.speed import many_playouts, playout_arguments
from treespan.lab.store.records import Figures
from treespan.lab.store.runner import Kept, Report
from treespan.runtimes.network import Network, find_profile
from treespan.runtimes.run import run_search
from treespan.runtimes.simulated import run_simulated
from treespan.schemes.plan import DEFAULT_NETWORK, MPI, SIMULATED, THREADS, Budget, Plan, Request
from treespan.schemes.registry import read_scheme
from treespan.search.result import SearchResult

# Rough seconds of a playout that does not wait, and of starting ranks, for the time left in progress bars.
_PLAYOUT_SECONDS = {"mpi": 2e-6, "threads": 2e-6, "simulated": 4e-6}
_START_SECONDS = {"mpi": 2.0, "threads": 0.01, "simulated": 0.1}
RANK_NAMES = {MPI: "MPI ranks", THREADS: "threads", SIMULATED: "simulated ranks"}  # by runtime


@dataclass(frozen=True)
class Search:
    """One search to be done, as a unit of work."""

    game: Game | str  # a game, or its spec
    plan: Plan
    problem: int
    plies: int = 0  # the position comes after this many moves of a playout
    diagram: str = ""  # the position, if it is not the first one
    start: Position | None = field(default=None, compare=False)  # the position of the diagram, with its history
    profile: Network | None = None  # measured costs of a simulated cluster, instead of those of the plan's network

    @property
    def game_text(self) -> str:
        """The game's spec."""
        return self.game if isinstance(self.game, str) else self.game.spec()

    def key(self) -> dict[str, str | int]:
        """Return the key of its record. Fields with default values are left out, so that old records stay valid."""
        plan, network = self.plan, " ".join(self.networks())
        key: dict[str, Any] = {
            "game": self.game_text,
            "scheme": plan.spec(),
            "runtime": plan.runtime,
            "workers": plan.ranks,
            "playouts": 0 if plan.budget.playouts is None else plan.budget.playouts,
            "problem": self.problem,
            "seed": plan.seed,
        }
        rest = {
            "network": network,
            "plies": self.plies,
            "diagram": self.diagram,
            "rank_workers": plan.workers,
            "seconds": plan.budget.seconds,
            "profile": profile_digest(network) if network else "",
        }
        return key | {name: value for name, value in rest.items() if value}

    def networks(self) -> list[str]:
        """Return the simulated network that it uses, if any."""
        return [self.plan.network] if self.plan.runtime == SIMULATED else []

    def request(self) -> Request:
        """Return the search as a request for a runtime."""
        if self.start is not None:
            return Request(self.start.copy(), self.plan)
        game = make_game(self.game)
        position = Position(game, game.read_diagram(self.diagram)) if self.diagram else position_after(game, self.plies)
        return Request(position, self.plan)

    def run(self, kept: Kept | None = None, report: Report | None = None) -> Figures:
        """Search. Returns the figures to record."""
        budget = self.plan.budget

        def progress(playouts: int, seconds: float) -> None:
            if report:
                report(playouts / budget.playouts if budget.playouts else seconds / (budget.seconds or 1.0))

        if self.profile is not None:
            result: SearchResult | None = run_simulated(self.request(), progress, network=self.profile)
        else:
            result = run_search(self.request(), progress)
        assert result is not None  # only ranks other than 0 have no result
        return figures(result.as_json())

    def expected_seconds(self) -> float:
        """Return about how long it takes: good enough for a progress bar."""
        plan = self.plan
        start, budget = _START_SECONDS[plan.runtime], plan.budget
        if budget.playouts is None:
            return start + (budget.seconds or 0.0)
        wait = 0.0 if plan.runtime == SIMULATED else plan.options.wait_seconds()
        return start + budget.playouts * (wait / plan.ranks + _PLAYOUT_SECONDS[plan.runtime])

    def obstacle(self) -> str | None:
        """Return why it cannot be measured on this machine; None if it can."""
        cores, ranks = usable_cores(), self.plan.ranks
        if self.plan.runtime == THREADS and ranks > cores:
            return f"{ranks} threads need as many cores; this machine has {cores}"
        return None

    def describe(self) -> str:
        """Return a line for people."""
        count = self.plan.ranks
        where = RANK_NAMES[self.plan.runtime] if count > 1 else RANK_NAMES[self.plan.runtime].removesuffix("s")
        return f"{self.plan.spec()} on {self.game_text}, problem {self.problem}, {count:,} {where}"


def start_of(position: Position) -> dict[str, Any]:
    """Return the fields of a `Search` that describe a position; none for the game's first position."""
    if not position.moves_made and position.key == Position(position.game).key:
        return {}
    return {"diagram": str(position), "start": position}


def search_of(
    game: Game | str,
    scheme: str,
    runtime: str,
    ranks: int,
    playouts: int,
    problem: int = 1,
    seed: int = 1,
    network: str = DEFAULT_NETWORK,
    workers: int = 0,
    **place: Any,
) -> Search:
    """Return a search by a scheme that is given as text, with the scheme's defaults, not the game's."""
    chosen, options = read_scheme(scheme)
    plan = Plan(chosen, options, Budget(playouts=playouts), seed, runtime, ranks, workers, network)
    return Search(game, plan, problem, **place)


def unwaited(policy: str) -> str:
    """Return the policy without waiting, for searches whose speed does not matter."""
    return "light" if policy.startswith("wait") else policy


@cache
def profile_digest(network: str) -> str:
    """Return a hash of a simulated network's costs. It is part of a key: other costs, other results."""
    costs = asdict(find_profile(network))
    del costs["name"], costs["source"]
    return hashlib.sha256(json.dumps(costs, sort_keys=True).encode()).hexdigest()[:8]


@cache
def _playout_moves(game: Game) -> list[int]:
    """Return the moves of a playout from the first position, by the game's best policy; always the same playout."""
    arguments = playout_arguments(game, game.policies[-1])
    plies, _ = many_playouts(game, *arguments, 1)
    return [int(max(move, ~move)) for move in arguments[2][:plies]]  # `noted` has ~move for the second player


def position_after(game: Game, plies: int) -> Position:
    """Return the position after the first `plies` moves of a playout."""
    position = Position(game)
    for move in _playout_moves(game)[:plies] if plies else []:
        position.play(move)
    return position


def figures(document: dict[str, Any]) -> Figures:
    """Return the figures to record of a search, from its JSON."""
    if document["interrupted"]:
        raise KeyboardInterrupt
    names = "playouts playouts_per_second seconds wall_seconds move signature best_share depth optimal nodes tree_full"
    chosen: Figures = {name: document[name] for name in f"{names} end_seconds third_best third_best_audit".split()}
    chosen["messages_per_playout"] = document["messages"]["per_playout"]
    chosen["bytes_per_playout"] = document["messages"]["bytes"] / max(document["playouts"], 1)
    chosen["distinct_leaves"] = document["distinct_leaves"]
    chosen["reports_per_playout"] = document["report_jobs"]["per_playout"]
    chosen["reports_max_rank"] = document["report_jobs"]["max_rank"]
    chosen["load"] = fmean(document["load"])
    loads = sorted(document["load"])
    chosen["load_deciles"] = [round(loads[(len(loads) - 1) * tenth // 10], 4) for tenth in range(11)]
    return chosen
