"""Whether ranks with trees of their own prefer the same move, and what an unsure search does about it.

A rank prefers the move that would be chosen if there were no others: most visits, then wins, then the first by number.
"""

from treespan.core.handles import value_of
from treespan.core.jit import njit, njit_inline
from treespan.schemes.whole_trees.averaging.rounds import AGREEMENT, FIELDS, KNOWN, MEANS, SQUARES, VISITS, VOTES, WINS


@njit_inline
def is_better(visits, wins, move, best_visits, best_wins, best_move):
    if visits != best_visits:
        return visits > best_visits
    return wins > best_wins or (wins == best_wins and move < best_move)


@njit_inline
def vote(rounds, row):
    """Tell which move this rank's own simulations prefer, and what they say of each."""
    own_visits, own_wins, moves = rounds.own_visits[row], rounds.own_wins[row], rounds.moves[row]
    best = 0
    for i in range(rounds.sizes[row, 0]):
        visits, wins = own_visits[i], own_wins[i]
        if is_better(visits, wins, moves[i], own_visits[best], own_wins[best], moves[best]):
            best = i
        if visits > 0:
            mean = wins / visits
            rounds.sums[row, FIELDS * i + KNOWN] += 1.0
            rounds.sums[row, FIELDS * i + MEANS] += mean
            rounds.sums[row, FIELDS * i + SQUARES] += mean * mean
    if own_visits[best] > 0:
        rounds.sums[row, FIELDS * best + VOTES] += 1.0


@njit
def may_extend(handle, row):
    """At rank 0, when all have finished: whether the ranks disagree, and more may be spent."""
    rounds = value_of(handle)
    moves, sums = rounds.moves[row], rounds.sums[row]
    if rounds.state[row].extended == rounds.more_playouts.shape[1] or rounds.rank.port.state[row].draining:
        return False
    best, most_visits, most_wins = 0, -1.0, 0.0
    for i in range(rounds.sizes[row, 0]):
        visits = rounds.total_visits[row, i] + sums[FIELDS * i + VISITS]
        wins = rounds.total_wins[row, i] + sums[FIELDS * i + WINS]
        if is_better(visits, wins, moves[i], most_visits, most_wins, moves[best]):
            best, most_visits, most_wins = i, visits, wins
    return sums[FIELDS * best + VOTES] < AGREEMENT * rounds.rank.port.ranks
