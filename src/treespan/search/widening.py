"""Progressive widening (Coulom 2007; gelly2008): at the n-th simulation of a node the search considers only its K(n)
best moves by the game's `priors`.

Coulom adds move k + 1 when the simulations since the last addition reach A 1.4^k, with A = 40. In sum:
K(n) = 1 + floor(log(1 + 0.4 n / A) / log 1.4).
"""

import math

from treespan.core.jit import njit, njit_inline

_GROWTH = 1.4
_LOG_GROWTH = math.log(_GROWTH)


@njit_inline
def considered_moves(count, total, widening):
    """Return how many of its `count` moves, best first, a node with `total` simulations considers.

    `widening` is Coulom's A.
    """
    if widening <= 0.0:
        return count
    grown = 1 + int(math.log(1.0 + (_GROWTH - 1.0) * total / widening) / _LOG_GROWTH)
    return min(grown, count)


@njit
def sort_by_weight(moves, weights, count):
    """Sort moves by falling weight, in place; equal weights keep their order."""
    for i in range(1, count):
        move, weight = moves[i], weights[i]
        j = i
        while j > 0 and weights[j - 1] < weight:
            moves[j], weights[j] = moves[j - 1], weights[j - 1]
            j -= 1
        moves[j], weights[j] = move, weight
