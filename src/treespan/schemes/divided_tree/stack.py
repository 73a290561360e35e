"""df-UCT's local stack, which travels in a job: what a level keeps of its node, and the test (yoshizoe2011).

In the test the best move counts without virtual losses, the second best with them, as the paper says; the paper leaves
open whether ln t has them: here it has for the second move only. So jobs stay where they are, which spares messages.
"""

from treespan.core.jit import njit_inline
from treespan.games.rules import CHANCE
from treespan.search.bandits import (
    NO_EDGE,
    amaf_score,
    expected_wins,
    first_play_urgency,
    log_visits,
    move_score,
    needs_amaf,
)
from treespan.search.dfuct import quiet_playouts
from treespan.search.options import UCB1


@njit_inline
def snapshot(tree, settings, level, node, best, second):
    """df-UCT: note what the stack test needs of a node that the job leaves."""
    level.best_wins, level.best_visits = tree.edge_wins[best], tree.edge_visits[best]
    level.second_visits = -1
    if second != NO_EDGE:
        level.second_wins = tree.edge_wins[second]
        level.second_visits = tree.edge_visits[second] + tree.edge_flight[second]
        if settings.unobserved:
            level.second_wins = expected_wins(
                tree.edge_wins[second], tree.edge_visits[second], tree.edge_flight[second], 0.5
            )
        level.second_is_first = second < best
    level.total, level.total_flight = tree.node_visits[node], tree.node_flight[node]
    level.fpu = first_play_urgency(tree, node, settings)
    level.gained_wins, level.gained_visits, level.test_at = 0.0, 0, 0
    if len(tree.edge_prior) > 0:
        level.best_prior = tree.edge_prior[best]
        if second != NO_EDGE:
            level.second_prior = tree.edge_prior[second]


@njit_inline
def has_flipped(level, amaf, settings):
    """The stack test of df-UCT; the second best move counts with virtual losses. `amaf` is looked at with RAVE."""
    if level.player == CHANCE:
        return True
    if level.second_visits < 0:
        return False
    visits, total = level.best_visits + level.gained_visits, level.total + level.gained_visits
    wins = level.best_wins + level.gained_wins
    with_flights = total + level.total_flight
    log_flight = log_visits(with_flights)
    log_total = log_visits(total)
    second_wins, second_visits, fpu = level.second_wins, level.second_visits, level.fpu
    if needs_amaf(settings):
        later, later_wins = amaf.best_visits + level.gained_visits, amaf.best_wins + level.gained_wins
        best = amaf_score(wins, visits, later_wins, later, level.best_prior, log_total, fpu, settings)
        later, later_wins = amaf.second_visits, amaf.second_wins
        second = amaf_score(
            second_wins, second_visits, later_wins, later, level.second_prior, log_flight, fpu, settings
        )
    else:
        best = move_score(wins, visits, level.best_prior, total, log_total, fpu, settings)
        second = move_score(second_wins, second_visits, level.second_prior, with_flights, log_flight, fpu, settings)
    if second > best or (second == best and level.second_is_first):
        return True
    if settings.bandit == UCB1:
        level.test_at = level.gained_visits + 1 + quiet_playouts(best, second, wins / visits, visits, total, settings.c)
    return False
