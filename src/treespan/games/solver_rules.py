"""The questions that a search asks of a game's tactical solver, if the game has one.

The solver has room for several positions, `states`, and for words of its own, `desk`. The game's `solver_room` says how
much of each. states[0] is the position in question.

    expertise(states, desk, moves, count, marks)     write a mark for each move, from -1 (wasted) to 1 (necessary)
    foresee(states, desk) -> bool            note in `desk` how fights will end; return False if nothing is known
    agrees(state, desk) -> bool              return whether a finished position is as `foresee` noted
"""

from typing import Any

from treespan.core.jit import njit
from treespan.games.rules import SOLVER_RULES, find_rule, question


def has_solver(game: Any) -> bool:
    """Return whether a game has a tactical solver."""
    return all(find_rule(game, name) is not None for name in SOLVER_RULES)


@question
def expertise(game, states, desk, moves, count, marks):
    """Write a mark for each of the first `count` moves in states[0], from -1 (wasted) to 1 (necessary). Default: 0."""
    (find_rule(game, "expertise") or no_expertise)(states, desk, moves, count, marks)


@question
def foresee(game, states, desk):
    """Note how fights in states[0] will end. Returns whether there was anything to note."""
    return (find_rule(game, "foresee") or no_foresight)(states, desk)


@question
def agrees(game, state, desk):
    """Return whether a finished position is as `foresee` noted."""
    return (find_rule(game, "agrees") or no_agreement)(state, desk)


# The answers of games without a solver


@njit
def no_expertise(states, desk, moves, count, marks):
    for i in range(count):
        marks[i] = 0.0


@njit
def no_foresight(states, desk):
    return False


@njit
def no_agreement(state, desk):
    return True
