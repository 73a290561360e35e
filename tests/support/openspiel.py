"""Random games played side by side with OpenSpiel's implementation of the rules."""

from collections.abc import Callable

import numpy as np
import pyspiel

from treespan.games.position import Position
from treespan.games.registry import make_game


def crosscheck(
    spec: str,
    openspiel_game: str,
    positions: int,
    to_openspiel: Callable[[int], int] = lambda move: move,
    seed: int = 1,
) -> int:
    """Compare legal moves, end and winner in at least `positions` positions; give how many were compared.

    `to_openspiel` translates our moves into OpenSpiel's actions.
    """
    rng = np.random.default_rng(seed)
    theirs = pyspiel.load_game(openspiel_game)
    game = make_game(spec)
    compared = 0
    while compared < positions:
        ours, state = Position(game), theirs.new_initial_state()
        while True:
            compared += 1
            assert ours.is_over == state.is_terminal(), f"{ours}\n{state}"
            if ours.is_over:
                expected = (state.returns()[0] + 1) / 2
                assert ours.reward == expected, f"reward {ours.reward}, OpenSpiel {expected}\n{ours}\n{state}"
                break
            assert int(ours.state.to_play) == state.current_player(), f"{ours}\n{state}"
            actions = {to_openspiel(move): move for move in ours.legal_moves}
            assert sorted(actions) == sorted(state.legal_actions()), f"{ours}\n{state}"
            action = int(rng.choice(sorted(actions)))
            ours.play(actions[action])
            state.apply_action(action)
    return compared
