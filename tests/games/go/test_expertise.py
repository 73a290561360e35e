"""What reading tells a search of Go: necessary and wasted moves, and how fights end."""

import numpy as np
import pytest

from tests.support.go_games import RACE
from treespan.core.jit import JIT_DISABLED
from treespan.core.rng import generator
from treespan.games.go import Go
from treespan.games.go.expertise import EXPERT_DESK, WASTE, ends_as_foreseen, foresee_ends, mark_necessary
from treespan.games.go.reading import LEVELS

GAME = Go(size=7)
WON_RACE = RACE.replace("O O O . .", "O O O O .").replace(". . O O O", ". . . O O")
QUIET = "\n".join([". . . . . . ."] * 6 + [". . . X . O ."])


def solver_of(diagram: str, to_play: str = "black") -> tuple[np.ndarray, np.ndarray]:
    states, desk = GAME.new_states(LEVELS), np.zeros(EXPERT_DESK, np.uint64)
    states[0] = GAME.read_diagram(f"{diagram}\n{to_play} to play")
    return states, desk


def marks_of(diagram: str, to_play: str = "black") -> dict[str, float]:
    """The moves that are marked."""
    states, desk = solver_of(diagram, to_play)
    moves, marks = np.zeros(GAME.max_moves, np.int32), np.zeros(GAME.max_moves)
    count = GAME.rules["candidates"](states[0], moves)
    mark_necessary(states, desk, moves, count, marks)
    return {GAME.move_name(int(moves[i])): float(marks[i]) for i in range(count) if marks[i] != 0.0}


def test_the_next_move_of_a_race_is_necessary() -> None:
    necessary = 4 / (4 + 3)  # four stones are at stake
    assert marks_of(RACE) == {"A2": necessary, "B2": necessary}
    assert marks_of(RACE, "white") == {"A5": necessary, "B5": necessary}


def test_moves_in_a_race_that_is_won_are_wasted() -> None:
    assert marks_of(WON_RACE) == {"A2": WASTE, "B2": WASTE}


def test_nothing_is_marked_where_nothing_can_be_caught() -> None:
    assert marks_of(QUIET) == {}


def test_how_fights_end() -> None:
    for diagram, to_play, dead in ((WON_RACE, "black", "A3"), (WON_RACE, "white", "A3"), (RACE, "white", "A4")):
        states, desk = solver_of(diagram, to_play)
        assert foresee_ends(states, desk)
        point = GAME.parse_move(dead)
        assert not ends_as_foreseen(states[0], desk)  # the stones of the loser still stand
        for color in (0, 3 - int(states[0].color[point])):
            end = states[0].copy()
            end.color[end.chain == end.chain[point]] = color
            assert ends_as_foreseen(end, desk)
    states, desk = solver_of(QUIET)
    assert not foresee_ends(states, desk)


@pytest.mark.skipif(JIT_DISABLED, reason="needs thousands of playouts")
def test_conditioned_playouts_agree_more_often() -> None:
    from treespan.schemes.registry import read_scheme
    from treespan.search.options import compiled_settings
    from treespan.search.uct import conditioned_playout
    from treespan.search.work import new_work

    settings = compiled_settings(read_scheme("sequential:conditioning=yes", GAME)[1], GAME)
    work = new_work(GAME, 10, seed=1, with_solver=True)
    start = solver_of(WON_RACE)[0][0].copy()
    trace, moves, random = np.zeros(GAME.max_plies, np.int32), np.zeros(GAME.max_moves, np.int32), generator(1)
    agreeing = [0, 0]
    for _ in range(200):
        work.states[1] = start
        conditioned_playout(GAME, settings, work)
        agreeing[0] += bool(ends_as_foreseen(work.states[1], work.desk))
        plain = start.copy()
        GAME.rules["playout_patterns"](plain, random, trace, moves)
        agreeing[1] += bool(ends_as_foreseen(plain, work.desk))
    assert agreeing[0] > 195 > agreeing[1], f"{agreeing}"
