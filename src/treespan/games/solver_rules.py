"""What a search may ask of a game's tactical solver, if the game has one.

The solver works on copies of the position in `states`, of which states[0] is the one in question, and on words of its
own in `desk`, as many of each as the game's `solver_room` says:

    expertise(states, desk, moves, count, marks)     for each move from -1, wasted, to 1, necessary
    foresee(states, desk) -> bool            note in `desk` how fights will end; False where it knows none
    agrees(state, desk) -> bool              whether a finished position is as foreseen
"""

from typing import Any

from treespan.core.jit import njit
from treespan.games.rules import SOLVER_RULES, find_rule, question


def has_solver(game: Any) -> bool:
    """Whether a game has a tactical solver."""
    return all(find_rule(game, name) is not None for name in SOLVER_RULES)


@question
def expertise(game, states, desk, moves, count, marks):
    """Mark each of the first `count` moves in states[0] from -1, wasted, to 1, necessary; without a solver by 0."""
    (find_rule(game, "expertise") or no_expertise)(states, desk, moves, count, marks)


@question
def foresee(game, states, desk):
    """Note how fights in states[0] will end; says whether there is anything to note."""
    return (find_rule(game, "foresee") or no_foresight)(states, desk)


@question
def agrees(game, state, desk):
    """Whether a finished position is as `foresee` noted."""
    return (find_rule(game, "agrees") or no_agreement)(state, desk)


# Of games without a solver


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
