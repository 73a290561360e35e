"""What a search may ask of a game's tactical solver, if the game has one.

The solver works on copies of the position in `states`, of which states[0] is the one in question, and on words of its
own in `desk`, as many of each as the game's `solver_room` says:

    expertise(states, desk, moves, count, marks)     for each move from -1, wasted, to 1, necessary
    foresee(states, desk) -> bool            note in `desk` how fights will end; False where it knows none
    agrees(state, desk) -> bool              whether a finished position is as foreseen
"""

from typing import Any

from treespan.core.jit import njit
from treespan.games.rules import SOLVER_RULES, dispatched, find_rule


def has_solver(game: Any) -> bool:
    """Whether a game or GameType has a tactical solver."""
    return all(find_rule(game, name) is not None for name in SOLVER_RULES)


def expertise(game, states, desk, moves, count, marks):
    """Mark each of the first `count` moves in states[0] from -1, wasted, to 1, necessary; without a solver by 0."""
    (find_rule(game, "expertise") or no_expertise)(states, desk, moves, count, marks)


@dispatched(expertise)
def _expertise(game, states, desk, moves, count, marks):
    rule = find_rule(game, "expertise") or no_expertise

    def call(game, states, desk, moves, count, marks):
        rule(states, desk, moves, count, marks)

    return call


@njit
def no_expertise(states, desk, moves, count, marks):
    marks[:count] = 0.0


def foresee(game, states, desk):
    """Note how fights in states[0] will end; says whether there is anything to note."""
    return has_solver(game) and find_rule(game, "foresee")(states, desk)


@dispatched(foresee)
def _foresee(game, states, desk):
    if not has_solver(game):
        return lambda game, states, desk: False
    rule = find_rule(game, "foresee")
    return lambda game, states, desk: bool(rule(states, desk))


def agrees(game, state, desk):
    """Whether a finished position is as `foresee` noted."""
    return not has_solver(game) or find_rule(game, "agrees")(state, desk)


@dispatched(agrees)
def _agrees(game, state, desk):
    if not has_solver(game):
        return lambda game, state, desk: True
    rule = find_rule(game, "agrees")
    return lambda game, state, desk: bool(rule(state, desk))
