"""A game as compiled code sees it: the addresses of its rules, each compiled by itself for the game's positions.

Most rules are compiled together with the first function that asks for them. Late rules (a policy's playouts, priors,
the tactical solver) are compiled so only if a search has announced them with `want`. Until a rule is compiled, its
address is that of a stand-in, which compiles the rule when it is called.
"""

import ctypes
import os
import sys
from collections.abc import Callable
from typing import Any

import numpy as np

from treespan.core.compiled import Demand, Variant, variants_of
from treespan.core.errors import INTERRUPTED_STATUS, TreespanError
from treespan.core.jit import Function, njit
from treespan.core.kinds import LATE_RULES, TABLE, Kind, argument_types, element_kind
from treespan.core.records import hash_record
from treespan.games.declarations import require_basics
from treespan.games.rules import (
    Game,
    find_rule,
    no_chance,
    playout_rule,
    random_playout,
    uniform_priors,
)
from treespan.games.solver_rules import no_agreement, no_expertise, no_foresight

_MOVES, _WORDS = ("array", "int32", 1), ("array", "uint64", 1)
PLAYOUT = TABLE.index("playout")


def _counted(rule: Any) -> Any:
    return lambda state, moves: np.int64(rule(state, moves))


def _played(rule: Any) -> Any:
    def play(state: Any, move: Any) -> None:
        rule(state, move)

    return play


def _weighed(rule: Any) -> Any:
    def priors(state: Any, moves: Any, count: Any, weights: Any) -> None:
        rule(state, moves, count, weights)

    return priors


def _marked(rule: Any) -> Any:
    def expertise(states: Any, desk: Any, moves: Any, count: Any, marks: Any) -> None:
        rule(states, desk, moves, count, marks)

    return expertise


# For each rule a wrapper that converts the answer to a fixed type, so that the rules of all games can be called alike
ADAPTERS: dict[str, Callable[[Any], Any]] = {
    "legal_moves": _counted,
    "candidates": _counted,
    "play": _played,
    "reward": lambda rule: lambda state: np.float64(rule(state)),
    "key": lambda rule: lambda state: np.uint64(rule(state)),
    "chance": lambda rule: lambda state, random: np.int64(rule(state, random)),
    "priors": _weighed,
    "expertise": _marked,
    "foresee": lambda rule: lambda states, desk: bool(rule(states, desk)),
    "agrees": lambda rule: lambda state, desk: bool(rule(state, desk)),
    "playout": lambda rule: lambda state, random, trace, moves: np.int64(rule(state, random, trace, moves)),
}
DEFAULTS: dict[str, Any] = {
    "key": hash_record,
    "chance": no_chance,
    "priors": uniform_priors,
    "expertise": no_expertise,
    "foresee": no_foresight,
    "agrees": no_agreement,
}


def parameters_of(rule: str, game: Game) -> tuple[Kind, ...]:
    """Return the kinds of a rule's arguments."""
    state = element_kind(game.dtype)
    states = ("array", state, 1)
    return {
        "legal_moves": (state, _MOVES),
        "candidates": (state, _MOVES),
        "play": (state, "int32"),
        "reward": (state,),
        "key": (state,),
        "chance": (state, _WORDS),
        "priors": (state, _MOVES, "int64", ("array", "float32", 1)),
        "expertise": (states, _WORDS, _MOVES, "int64", ("array", "float64", 1)),
        "foresee": (states, _WORDS),
        "agrees": (state, _WORDS),
        "playout": (state, _WORDS, _MOVES, _MOVES),
    }[rule]


def adapter(game: Game, rule: str, policy: int) -> Function:
    """Return a rule in its wrapper, as compiled code calls it. It is made once for each class."""
    cls = type(game)
    made = cls.__dict__.get("_adapters")
    if made is None:
        made = {}
        cls._adapters = made  # type: ignore[attr-defined]
    name = f"{rule} {policy}"
    if name not in made:
        if rule == "playout":
            found = playout_rule(game, policy) or random_playout(cls)
        else:
            default = find_rule(game, "legal_moves") if rule == "candidates" else DEFAULTS.get(rule)
            found = find_rule(game, rule) or default
        wrapped: Any = njit(ADAPTERS[rule](found))
        wrapped.title = f"{game.name}: the rule `{rule}`"
        made[name] = wrapped
    function: Function = made[name]
    return function


class Table:
    """The words that compiled code reads: where `to_play` stands in a position, then addresses of rules."""

    def __init__(self, game: Game):
        require_basics(game)
        self._game = game
        self.words = np.zeros(PLAYOUT + len(game.policies), dtype=np.int64)
        self.address = int(self.words.ctypes.data)
        self.words[0] = game.dtype.fields["to_play"][1]  # type: ignore[index]  # every game has the field
        self._wanted: set[tuple[str, int]] = set()
        self._served: set[Function] = set()  # functions whose rules are all compiled
        self._stand_ins = [self._stand_in(*self._rule_at(place)) for place in range(1, len(self.words))]
        for place, stand_in in enumerate(self._stand_ins, start=1):
            self.words[place] = ctypes.cast(stand_in, ctypes.c_void_p).value or 0
        self._missing = set(range(1, len(self.words)))

    def _rule_at(self, place: int) -> tuple[str, int]:
        return (TABLE[place], 0) if place < PLAYOUT else ("playout", place - PLAYOUT)

    @staticmethod
    def _place_of(rule: str, policy: int) -> int:
        return TABLE.index(rule) + policy

    def want(self, policy: int = 0, priors: bool = False, solver: bool = False) -> None:
        """Announce late rules: they are compiled together with the next function that asks for them."""
        self._wanted.add(("playout", policy))
        if priors:
            self._wanted.add(("priors", 0))
        if solver:
            self._wanted |= {("expertise", 0), ("foresee", 0), ("agrees", 0)}
        self._served.clear()

    def demands(self, function: Function) -> list[tuple[int, Demand]]:
        """Return the rules that must be compiled before a function can run, each with its place in the table."""
        if function in self._served:
            return []
        asked = {question.__name__ for question in function.fingerprint.lowered}
        rules = [(name, 0) for name in ADAPTERS if name in asked and name not in LATE_RULES]
        rules += sorted(rule for rule in self._wanted if rule[0] in asked)
        places = {self._place_of(*rule): rule for rule in rules}
        return [(place, self._demand(*rule)) for place, rule in places.items() if place in self._missing]

    def _demand(self, rule: str, policy: int) -> Demand:
        return adapter(self._game, rule, policy), parameters_of(rule, self._game)

    def serve(self, function: Function, places: list[int], variants: list[Variant]) -> None:
        """Enter the addresses of rules that were compiled for a function."""
        for place, variant in zip(places, variants, strict=True):
            self.words[place] = variant.address
            self._missing.discard(place)
        self._served.add(function)

    def _stand_in(self, rule: str, policy: int) -> Any:
        """Return a function that compiles the rule when it is called, and then calls it."""
        types: list[Any] = [ctypes.c_void_p, ctypes.c_void_p]
        for kind in parameters_of(rule, self._game):
            types += argument_types(kind)

        def answer(*arguments: Any) -> int:
            try:
                variant = variants_of([self._demand(rule, policy)])[0]
                place = self._place_of(rule, policy)
                self.words[place] = variant.address
                self._missing.discard(place)
                status: int = variant.code(*arguments)
                return status
            except BaseException as error:  # compiled code cannot raise, nor go on without an answer: end the process
                kind = "" if isinstance(error, TreespanError) else f"{type(error).__name__}: "
                print(f"treespan: {kind}{error}", file=sys.stderr, flush=True)
                os._exit(INTERRUPTED_STATUS if isinstance(error, KeyboardInterrupt) else 1)

        return ctypes.CFUNCTYPE(ctypes.c_int32, *types)(answer)
