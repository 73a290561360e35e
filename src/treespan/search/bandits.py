"""The bandit formulas of gelly2008 (Algorithm 2) and PUCT, and the choice of the best moves of a node.

In the formulas t is the number of simulations through the node, s and w the visits and rewards of a move:

    UCB1         w/s + c sqrt(ln t / s)
    UCB-Tuned.1  p + sqrt(V ln t / s), p = w/s, V = max(0.001, p (1 - p)); has no c
    UCB-Tuned.2  Tuned.1 + ln t / s
    RAVE         (1 - b) w/s + b w'/s' + c sqrt(ln t / s), w'/s' the AMAF mean, b = sqrt(k / (3 s + k))
    RAVE-MSE     (1 - b) w/s + b w'/s', b = s' / (s + s' + s s' / k). It minimises the mean squared error if AMAF's bias
                 equals its variance at k visits (Gelly & Silver 2011). Before that, s and s' each get m more visits of
                 the mean value P, the prior. `rave_mse` computes all as one fraction
    PUCT         w/s + c P sqrt(t) / (1 + s), P the prior

If several simulations are under way (`TreeArrays.edge_flight`), d of them through a move and d_T through the node, the
formulas take t + d_T for t and s + d for s. A simulation under way counts with a reward of 0, which makes formula (1)
of yoshizoe2011. With `settings.unobserved` it counts with the move's mean w/s (WU-UCT: Liu et al. 2020).

Moves that the game's tactical solver finds necessary get virtual wins on top of any formula (bourki2010: expertise).

Of equal scores the first edge wins, everywhere: edges are shuffled when they are made.
"""

import math

import numpy as np

from treespan.core.jit import njit_inline, njit_unit
from treespan.search.options import PUCT, RAVE, RAVE_MSE, TUNED1, UCB1
from treespan.search.tree import LOSS
from treespan.search.widening import considered_moves

NO_EDGE = np.uint32(0xFFFFFFFF)
LOGS = np.array([math.log(max(t, 1)) for t in range(1024)])  # most nodes have few visits: +5 % P-game simulations/s
_MIN_VARIANCE = 0.001


@njit_inline
def ucb1(wins, visits, log_total, c):
    # One division and a multiplication instead of two divisions.
    inverse = 1.0 / visits
    return wins * inverse + c * math.sqrt(log_total * inverse)


@njit_inline
def log_visits(total):
    """Return ln t; 0 for a node without visits, in which no formula needs the logarithm."""
    return LOGS[np.uint64(total)] if total < len(LOGS) else math.log(total)


@njit_inline
def edge_score(tree, edge, wins, visits, total, log_total, fpu, settings):
    """Return the score of a move by the chosen formula: wins and visits as given, AMAF and prior from the tree."""
    has_prior = settings.bandit == PUCT or settings.bandit == RAVE_MSE
    prior = tree.edge_prior[edge] if has_prior else np.float32(0.0)
    if needs_amaf(settings):
        amaf_visits, amaf_wins = tree.edge_amaf_visits[edge], tree.edge_amaf_wins[edge]
        return amaf_score(wins, visits, amaf_wins, amaf_visits, prior, log_total, fpu, settings)
    return move_score(wins, visits, prior, total, log_total, fpu, settings)


@njit_inline
def needs_amaf(settings):
    return settings.bandit == RAVE or settings.bandit == RAVE_MSE


@njit_inline
def amaf_score(wins, visits, amaf_wins, amaf_visits, prior, log_total, fpu, settings):
    """Return a move's score by a formula that needs AMAF values. Needs no tree."""
    if settings.bandit == RAVE:
        return rave(wins, visits, amaf_wins, amaf_visits, log_total, fpu, settings.c, settings.rave_visits)
    score = rave_mse(wins, visits, amaf_wins, amaf_visits, prior, fpu, settings)
    return score + settings.c * math.sqrt(log_total / (visits + settings.prior_visits + 1.0))


@njit_inline
def move_score(wins, visits, prior, total, log_total, fpu, settings):
    """Return a move's score by a formula without AMAF values. Needs no tree."""
    if settings.bandit == PUCT:
        mean = wins / visits if visits > 0 else fpu
        return mean + settings.c * prior * math.sqrt(total) / (1.0 + visits)
    if visits == 0:
        return fpu
    if settings.bandit == UCB1:
        return ucb1(wins, visits, log_total, settings.c)
    mean = wins / visits
    bonus = log_total / visits
    variance = max(_MIN_VARIANCE, mean * (1.0 - mean))
    score = mean + math.sqrt(variance * bonus)
    return score if settings.bandit == TUNED1 else score + bonus


@njit_inline
def rave(wins, visits, amaf_wins, amaf_visits, log_total, fpu, c, rave_visits):
    # Selections instead of branches: LLVM makes the loop over edges a vector loop.
    amaf = amaf_wins / amaf_visits
    weight = math.sqrt(rave_visits / (3.0 * visits + rave_visits))
    mean = ucb1(wins, visits, log_total, c)
    known = mean if amaf_visits == 0 else mean + weight * (amaf - wins / visits)
    unknown = fpu if amaf_visits == 0 else amaf
    return unknown if visits == 0 else known


@njit_inline
def rave_mse(wins, visits, amaf_wins, amaf_visits, prior, fpu, settings):
    """Return RAVE-MSE as one fraction, (w' + w (1 + s'/k)) / (s + s' + s s'/k), all with the virtual visits added."""
    virtual = settings.prior_visits
    own, later = visits + virtual, amaf_visits + virtual
    own_wins, later_wins = wins + virtual * prior, amaf_wins + virtual * prior
    share = later / settings.rave_visits
    whole = own + later + own * share
    return (later_wins + own_wins * (1.0 + share)) / whole if whole > 0.0 else fpu


@njit_inline
def with_virtual_wins(score, visits, wins):
    """Return a score with virtual wins, or losses if negative, mixed in beside the visits. Infinite scores stay."""
    if wins == 0.0 or score == np.inf:
        return score
    return score + abs(wins) * ((1.0 if wins > 0.0 else 0.0) - score) / (visits + abs(wins))


@njit_inline
def node_mean(tree, node):
    """Return the mean reward of a node for its player; one half if the node has no visits."""
    first, count = tree.node_first[node], tree.node_count[node]
    wins, visits = 0.0, 0
    for edge in range(first, first + count):
        wins += tree.edge_wins[edge]
        visits += tree.edge_visits[edge]
    return wins / visits if visits > 0 else 0.5


@njit_inline
def first_play_urgency(tree, node, settings):
    """Return the score of an unvisited move in this node."""
    return node_mean(tree, node) if math.isnan(settings.fpu) else settings.fpu


@njit_inline
def expected_wins(wins, visits, in_flight, unknown):
    """Return a move's wins if each simulation under way returned its mean, or `unknown` if it has no result yet."""
    mean = wins / visits if visits > 0 else unknown
    return wins + mean * in_flight


@njit_inline
def score_edges(tree, node, settings, scores):
    """Write the scores of the considered moves of a node. Returns their number."""
    first = tree.node_first[node]
    in_flight = len(tree.edge_flight) > 0
    total = tree.node_visits[node]
    if in_flight:
        total += tree.node_flight[node]
    count = considered_moves(tree.node_count[node], total, settings.widening)
    log_total = log_visits(total)
    fpu = first_play_urgency(tree, node, settings)
    unknown = fpu if math.isfinite(fpu) else 0.5  # assumed mean of a move whose first simulations are under way
    if settings.bandit == UCB1 and not in_flight:
        # This loop has no branches, so LLVM makes it a vector loop: P-game UCT is 1.26 times
        # faster at b = 8, and 2.3 times at b = 150.
        c = settings.c
        for i in range(np.uint64(count)):
            visits = tree.edge_visits[first + i]
            score = ucb1(tree.edge_wins[first + i], visits, log_total, c)
            scores[i] = score if visits > 0 else fpu
    elif settings.bandit == UCB1 and not settings.unobserved:  # simulations under way count as lost
        c = settings.c
        for i in range(np.uint64(count)):
            visits = tree.edge_visits[first + i] + tree.edge_flight[first + i]
            score = ucb1(tree.edge_wins[first + i], visits, log_total, c)
            scores[i] = score if visits > 0 else fpu
    elif settings.bandit == UCB1:
        c = settings.c
        for i in range(np.uint64(count)):
            visits, flight = tree.edge_visits[first + i], tree.edge_flight[first + i]
            wins = expected_wins(tree.edge_wins[first + i], visits, flight, unknown)
            score = ucb1(wins, visits + flight, log_total, c)
            scores[i] = score if visits + flight > 0 else fpu
    else:
        score_by_formula(tree, settings, scores, first, np.uint64(count), np.int64(total), log_total, fpu)
    if len(tree.edge_expert) > 0:
        for i in range(np.uint64(count)):
            scores[i] = with_virtual_wins(scores[i], tree.edge_visits[first + i], tree.edge_expert[first + i])
    if settings.solver:
        for i in range(np.uint64(count)):
            if tree.edge_proven[first + i] == LOSS:
                scores[i] = -np.inf
    return np.uint64(count)


@njit_unit("none")
def score_by_formula(tree, settings, scores, first, count, total, log_total, fpu):
    """Write the scores of `count` moves from edge `first` on, by any formula but UCB1.

    UCB1 stands with its callers: for its short loops even the call would count (df-UCT, b = 40: 0.95 of the speed).
    """
    in_flight = len(tree.edge_flight) > 0
    unknown = fpu if math.isfinite(fpu) else 0.5  # assumed mean of a move whose first simulations are under way
    if settings.bandit == RAVE and not in_flight:
        c, rave_visits = settings.c, settings.rave_visits
        for i in range(count):
            edge = first + i
            amaf_visits, amaf_wins = tree.edge_amaf_visits[edge], tree.edge_amaf_wins[edge]
            wins, visits = tree.edge_wins[edge], tree.edge_visits[edge]
            scores[i] = rave(wins, visits, amaf_wins, amaf_visits, log_total, fpu, c, rave_visits)
    elif settings.bandit == RAVE_MSE and not in_flight and settings.c == 0.0:
        for i in range(count):
            edge = first + i
            amaf_visits, amaf_wins = tree.edge_amaf_visits[edge], tree.edge_amaf_wins[edge]
            wins, visits, prior = tree.edge_wins[edge], tree.edge_visits[edge], tree.edge_prior[edge]
            scores[i] = rave_mse(wins, visits, amaf_wins, amaf_visits, prior, fpu, settings)
    else:
        for i in range(count):
            edge = first + i
            wins, visits = tree.edge_wins[edge], tree.edge_visits[edge]
            if in_flight:
                flight = tree.edge_flight[edge]
                if settings.unobserved:
                    wins = expected_wins(wins, visits, flight, unknown)
                visits += flight
            scores[i] = edge_score(tree, edge, wins, visits, total, log_total, fpu, settings)


@njit_inline
def first_unvisited(tree, node, settings):
    """Guess the first unvisited move without a scan. Returns NO_EDGE if there is none, or if the guess fails.

    With infinite urgency the moves of a node are tried one after the other. So a node with t visits, simulations under
    way included, tries its move t next (P-game UCT: 1.15 times faster at b = 8, 1.5 times at b = 150). If simulations
    do not end in the order in which they began, move t may have been tried already: then the guess fails.
    """
    total, count = np.uint32(tree.node_visits[node]), tree.node_count[node]
    if len(tree.node_flight) > 0:
        total += np.uint32(tree.node_flight[node])
    if settings.fpu != np.inf or needs_amaf(settings):
        return NO_EDGE
    if settings.widening > 0.0 or total >= count:
        return NO_EDGE
    edge = np.uint32(tree.node_first[node] + total)
    return edge if is_untried(tree, edge) else NO_EDGE


@njit_inline
def is_untried(tree, edge):
    return tree.edge_visits[edge] == 0 and (len(tree.edge_flight) == 0 or tree.edge_flight[edge] == 0)


@njit_inline
def best_edge(tree, node, settings, scores):
    """Return the move with the highest score; the first of equals."""
    if tree.node_count[node] == 1:
        return tree.node_first[node]
    untried = first_unvisited(tree, node, settings)
    if untried != NO_EDGE:
        return untried
    count = score_edges(tree, node, settings, scores)
    best = np.uint64(0)
    for i in range(np.uint64(1), count):
        if scores[i] > scores[best]:
            best = i
    return np.uint32(tree.node_first[node] + best)


@njit_inline
def best_two_edges(tree, node, settings, scores):
    """Return the best move and the second best; NO_EDGE for the latter if all others are proven losses."""
    first = tree.node_first[node]
    untried = first_unvisited(tree, node, settings)
    if untried != NO_EDGE and untried + 1 < first + tree.node_count[node] and is_untried(tree, untried + 1):
        return untried, np.uint32(untried + 1)
    count = score_edges(tree, node, settings, scores)
    if count == 1:
        return np.uint32(first), NO_EDGE
    best, second = np.uint64(0), np.uint64(1)
    if scores[second] > scores[best]:
        best, second = second, best
    for i in range(np.uint64(2), count):
        if scores[i] > scores[second]:
            if scores[i] > scores[best]:
                best, second = i, best
            else:
                second = i
    if scores[second] == -np.inf:
        return np.uint32(first + best), NO_EDGE
    return np.uint32(first + best), np.uint32(first + second)
