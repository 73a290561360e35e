"""P-game: the artificial game tree of Smith & Nau (1994), exactly as yoshizoe2011 uses it.

Every node has `branching` branches. Each branch has an integer value, in [-255, 0] for a move of the first player and
in [0, 255] for one of the second. One branch of every node has the value 0, so the minimax value of the tree is 0. A
node's score is the sum of the values along its path. No tree is stored: a branch's value is a hash of the path.
A virtual playout returns 1 with probability 1 / (1 + exp(-score / 128)). It takes no time of its own; the policy
`wait=1ms` adds some.

Rule choice: at `depth` plies the game is over and the sign of the score decides, 0 being a draw. The paper states no
limit for its speed measurements; no search reaches the default of 1000 plies.
"""

import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from treespan.core.jit import njit
from treespan.core.options import option
from treespan.core.rng import GOLDEN, hash_words, mix64, unit
from treespan.games.rules import FIRST, NATURES_MOVE, Game

SIGMOID_SCALE = 128.0
_LOW_HALF, _S32, _S56 = np.uint64(0xFFFFFFFF), np.uint64(32), np.uint64(56)
_VALUE_HASH = np.uint64(0xD6E8FEB86659FD93)  # odd; takes a branch's value from other bits than its node's key


@njit
def zero_branch(state):
    """Return the branch of value 0: the optimal move."""
    return np.int64(((state.path & _LOW_HALF) * np.uint64(state.branching)) >> _S32)


@dataclass(frozen=True)
class PGame(Game):
    name = "pgame"
    summary = "artificial game tree with known optimal moves (yoshizoe2011)"
    exploration = 2.8  # the paper does not state c; this fits the report jobs of its Table 5

    branching: int = option(8, "branches of every node", low=2, high=65535)
    depth: int = option(1000, "plies to the end of the game", low=1, high=10000)
    seed: int = option(1, "which tree")

    fields = (
        ("path", np.uint64),  # hash of seed and moves: names the node
        ("result", np.float64),  # of a finished game or virtual playout, for the first player
        ("score", np.int32),  # sum of the branch values along the path
        ("branching", np.int32),
        ("plies_left", np.int32),
        ("to_play", np.int8),
    )

    @property
    def max_moves(self) -> int:
        return self.branching

    @property
    def max_plies(self) -> int:
        return self.depth

    def setup(self, state: Any) -> None:
        state.path = hash_words(self.seed, self.branching)
        state.branching = self.branching
        state.plies_left = self.depth

    def optimal_move(self, state: Any) -> int:
        """Return the branch of value 0, which keeps the minimax value."""
        return int(zero_branch(state))

    @staticmethod
    def legal_moves(state, moves):
        if state.plies_left == 0:
            return 0
        for move in range(state.branching):
            moves[move] = move
        return state.branching

    @staticmethod
    def play(state, move):
        path = mix64(state.path + np.uint64(move + 1) * GOLDEN)
        value = 0 if move == zero_branch(state) else np.int64((path * _VALUE_HASH) >> _S56)  # uniform in [0, 255]
        state.score += -value if state.to_play == FIRST else value
        state.path = path
        state.to_play = 1 - state.to_play
        state.plies_left -= 1
        if state.plies_left == 0:
            state.result = 1.0 if state.score > 0 else (0.5 if state.score == 0 else 0.0)

    @staticmethod
    def reward(state):
        return state.result

    @staticmethod
    def key(state):
        return state.path

    @staticmethod
    def playout(state, random, trace, moves):
        if state.plies_left == 0:
            return 0
        win_probability = 1.0 / (1.0 + math.exp(-state.score / SIGMOID_SCALE))
        state.result = 1.0 if unit(random) < win_probability else 0.0
        trace[0] = NATURES_MOVE  # a virtual playout counts as one ply of nobody
        return 1
