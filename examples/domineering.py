"""Domineering: the first player places dominoes upright, the second flat. A player who cannot place one loses."""

from dataclasses import dataclass

import numpy as np

import treespan as ts


@dataclass(frozen=True)
class Domineering(ts.Game):
    name = "domineering"
    summary = "place dominoes, upright against flat"

    side: int = ts.option(6, "cells a side", low=2, high=8)

    fields = (("covered", np.uint8, (64,)), ("side", np.int8), ("to_play", np.int8))

    @property
    def max_moves(self):
        return self.side * self.side  # a move is the number of the domino's first cell

    @property
    def max_plies(self):
        return self.side * self.side // 2 + 1

    def setup(self, state):
        state.side = self.side

    @staticmethod
    def legal_moves(state, moves):
        side, count = state.side, 0
        step = side if state.to_play == 0 else 1
        for cell in range(side * side - step):
            fits = state.to_play == 0 or cell % side < side - 1
            if fits and state.covered[cell] == 0 and state.covered[cell + step] == 0:
                moves[count] = cell
                count += 1
        return count

    @staticmethod
    def play(state, move):
        state.covered[move] = 1
        state.covered[move + (state.side if state.to_play == 0 else 1)] = 1
        state.to_play = 1 - state.to_play

    @staticmethod
    def reward(state):
        return 1.0 * state.to_play  # the second player is to move and cannot: the first has won
