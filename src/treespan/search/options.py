"""The options that all searches share, and the record from which compiled code reads them."""

from dataclasses import dataclass
from typing import Any

import numpy as np

from treespan.core.errors import OptionError, about, in_spec, shown
from treespan.core.options import option, parse_seconds, validate
from treespan.core.records import new_records, record_dtype
from treespan.games.rules import Game
from treespan.games.solver_rules import has_solver

ALGORITHMS = ("uct", "dfuct")
BANDITS = ("ucb1", "tuned1", "tuned2", "rave", "puct", "rave-mse")
UCB1, TUNED1, TUNED2, RAVE, PUCT, RAVE_MSE = range(6)
CHOICES = ("visits", "mean", "lcb")
GAME_DEFAULT = -1.0  # as c: take the game's


@dataclass(frozen=True)
class SearchOptions:
    """The options that decide how a simulation goes down the tree. Not every scheme can do all of them."""

    algorithm: str = option("uct", "uct, or dfuct: depth-first UCT of yoshizoe2011", choices=ALGORITHMS)
    bandit: str = option("ucb1", "formula that selects moves", choices=BANDITS)
    c: float = option(GAME_DEFAULT, "exploration constant; -1: the game's (RAVE: 0, as gelly2008)", low=-1)
    threshold: int = option(4, "playouts at a leaf before it is expanded", low=1, high=10**6)
    fpu: str = option("auto", "value of an unvisited move; auto: infinite, with PUCT the node's mean")
    rave_visits: float = option(1000.0, "visits at which a move's mean weighs as much as its AMAF value", low=1)
    prior_visits: float = option(20.0, "rave-mse: visits that a move's prior is worth", low=0, high=1e6)
    widening: float = option(0.0, "progressive widening: simulations until the second move (Coulom: 40); 0: off", low=0)
    kept_moves: str = option("2", "dfuct: moves compared in the stack test", choices=("2", "all"))
    audit: bool = option(False, "dfuct: after every playout, count third-best moves that became best (slow)")
    solver: bool = option(True, "prove wins and losses (two players, no chance)")
    choice: str = option("visits", "which move is played at the end", choices=CHOICES)
    nodes: int = option(5_000_000, "capacity of the tree, in moves", low=2)
    max_depth: int = option(1000, "moves down the tree before a playout is forced", low=1, high=100_000)
    expertise: float = option(
        0.0, "virtual wins of a move that the game's tactical solver finds necessary (Go); 0: off", low=0, high=1e6
    )
    conditioning: bool = option(False, "replay playouts that contradict the game's tactical solver (Go)")
    policy: str = option("light", "playouts: light, another of the game's, or wait=TIME (light, each taking longer)")

    def __post_init__(self) -> None:
        validate(self, "search")
        self.wait_seconds()
        self.fpu_value()
        if self.c < 0 and self.c != GAME_DEFAULT:
            raise OptionError(f"{in_spec('c', self.c)} is out of range; give at least 0, or -1 for the game's")
        if self.algorithm == "dfuct" and self.asks_solver():
            raise OptionError(f"{self.solver_option()} is not possible with algorithm=dfuct; use algorithm=uct")

    def wait_seconds(self) -> float:
        """Return the seconds that a playout waits before its result."""
        name, equals, value = self.policy.partition("=")
        return parse_seconds(value, _say_wait) if name == "wait" and equals else 0.0

    def policy_index(self, game: Game) -> int:
        """Return the index of the policy among the game's policies. Raises OptionError if the game lacks it."""
        name, equals, _ = self.policy.partition("=")
        if name == "wait" and equals:
            return 0
        if self.policy not in game.policies:
            known = ", ".join((*game.policies, "wait=TIME (as wait=1ms)"))
            which = f"'{shown(self.policy)}' of {game.name}{about('policy', self.policy)}"
            raise OptionError(f"unknown policy {which}; known: {known}")
        return game.policies.index(self.policy)

    def fpu_value(self) -> float:
        """Return the first-play urgency as a number; NaN stands for the mean of the node."""
        if self.fpu == "auto":
            return float("nan") if self.bandit == "puct" else float("inf")
        try:
            return float(self.fpu)
        except ValueError:
            given = in_spec("fpu", self.fpu)
            raise OptionError(f"{given} is not a number; give auto, inf or a value such as 1.1") from None

    def asks_solver(self) -> bool:
        """Return whether the search needs the game's tactical solver."""
        return self.expertise > 0 or self.conditioning

    def solver_option(self) -> str:
        """Return the option that asks for the game's tactical solver, as a spec writes it."""
        if self.expertise > 0:
            return in_spec("expertise", f"{self.expertise:g}")
        return in_spec("conditioning", "yes")

    def check_solver(self, game: Game) -> None:
        """Raise OptionError if an option needs a tactical solver and the game has none."""
        if self.asks_solver() and not has_solver(game):
            raise OptionError(f"{self.solver_option()} needs a tactical solver, and {game.name} has none; leave it out")

    def uses_priors(self) -> bool:
        return self.bandit in ("puct", "rave-mse") or self.widening > 0

    def uses_amaf(self) -> bool:
        return self.bandit in ("rave", "rave-mse")

    def exploration(self, game: Game) -> float:
        if self.c != GAME_DEFAULT:
            return self.c
        return 0.0 if self.uses_amaf() else game.exploration


def _say_wait(text: str) -> str:
    return f"policy wait={shown(text)}{about('policy', f'wait={text}')}"


SETTINGS = record_dtype(
    (
        ("c", np.float64),  # exploration constant
        ("fpu", np.float64),  # value of an unvisited move; NaN: the node's mean
        ("rave_visits", np.float64),  # visits at which AMAF and mean weigh the same
        ("prior_visits", np.float64),  # virtual visits of each move, with its prior as value
        ("widening", np.float64),  # simulations until the second move is considered; 0: all at once
        ("expertise", np.float64),  # virtual wins of a move that the game's solver finds necessary
        ("conditioning", np.int64),  # playouts that contradict the game's solver are replayed
        ("wait_ns", np.int64),  # nanoseconds that a playout waits
        ("policy", np.int64),  # of playouts, an index into the game's policies
        ("bandit", np.int64),  # index into BANDITS
        ("threshold", np.int64),  # playouts at a leaf before it is expanded
        ("max_depth", np.int64),
        ("keep_all", np.int64),  # dfuct: the stack test looks at all moves
        ("audit", np.int64),  # dfuct: count third-best moves after every playout
        ("solver", np.int64),  # prove wins and losses
        ("depth_first", np.int64),  # df-UCT
        ("count_early", np.int64),  # shared tree: visits are counted on the way down, rewards on the way up
        ("unobserved", np.int64),  # a simulation under way counts with the mean; else as lost
    )
)


def compiled_settings(options: SearchOptions, game: Game, **of_scheme: bool) -> Any:
    """Return the options as a record that compiled code reads at run time: no option needs recompiling.

    of_scheme: further fields of the record, which the scheme decides.
    """
    settings = new_records(SETTINGS, 1)[0]
    settings.c = options.exploration(game)
    settings.fpu = options.fpu_value()
    settings.rave_visits = options.rave_visits
    settings.prior_visits = options.prior_visits
    settings.widening = options.widening
    options.check_solver(game)
    settings.expertise = options.expertise
    settings.conditioning = options.conditioning
    settings.wait_ns = round(options.wait_seconds() * 1e9)
    settings.policy = options.policy_index(game)
    settings.bandit = BANDITS.index(options.bandit)
    settings.threshold = options.threshold
    settings.max_depth = min(options.max_depth, game.max_plies)
    settings.keep_all = options.kept_moves == "all"
    settings.audit = options.audit
    settings.depth_first = options.algorithm == "dfuct"
    settings.solver = options.solver and game.players == 2 and not game.has_chance
    for name, value in of_scheme.items():
        settings[name] = value
    game.want(int(settings.policy), options.uses_priors(), options.asks_solver())
    return settings
