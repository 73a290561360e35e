"""Depth-first UCT (yoshizoe2011): the search returns to a node only when its best move has changed.

A local stack has a level for each move of the current path. A level keeps wins and visits of the best and the
second-best move, and the visits of the node. After a playout the stack test recomputes the UCB values of the two moves
at every level. If the second has passed the best nowhere, the search goes down again from where it is. Otherwise it
returns to the topmost level that has flipped. The results of a level reach the tree when the search leaves the level.

Deviations and additions:
- The stack test breaks ties as the selection does (the first edge wins). Otherwise the two would disagree.
- With `kept_moves=all` the test compares all moves at every level, and results reach the tree at once. The search then
  chooses exactly the leaves of UCT. The paper names this as the safe but costly variant.
- The search returns to a level where nature moves after every playout, because nature's move must be drawn anew.
- After a proof (`solver.py`) the search returns to the topmost level that the proof touched.
"""

import numpy as np

from treespan.core.atomics import atomic_load
from treespan.core.clock import now_ns
from treespan.core.jit import njit, njit_inline
from treespan.games.rules import CHANCE, play
from treespan.search.bandits import (
    NO_EDGE,
    best_edge,
    best_two_edges,
    edge_score,
    first_play_urgency,
    log_visits,
)
from treespan.search.options import UCB1
from treespan.search.solver import NO_LEVEL
from treespan.search.tree import NO_NODE, ROOT, TERMINAL, UNPROVEN
from treespan.search.uct import FIRST_CHECK, evaluate_leaf, expand, gain_of, next_interval, pick_edge
from treespan.search.widening import considered_moves
from treespan.search.work import (
    DEPTH_CUT,
    DEPTH_MAX,
    DEPTH_SUM,
    LEVELS,
    PLAYOUTS,
    REPORTS,
    RETURNS,
    THIRD_BEST,
    THIRD_BEST_AUDIT,
)


@njit
def run_dfuct(game, tree, settings, work, playouts, deadline_ns):
    """Simulate, with the arguments of `run_uct`. The stack stays between calls, so that a pause changes nothing."""
    done = 0
    next_check, interval, last_ns = FIRST_CHECK, FIRST_CHECK, now_ns()
    levels = work.counters[LEVELS]
    if levels == 0:
        levels = enter(game, tree, settings, work, 0, ROOT)
    while done < playouts and tree.node_proven[ROOT] == UNPROVEN:
        levels = descend(game, tree, settings, work, levels)
        value, proof_level = playout_below(game, tree, settings, work, levels)
        levels = settle(game, tree, settings, work, levels, value, proof_level)
        done += 1
        if done >= next_check:
            now = now_ns()
            if now >= deadline_ns or atomic_load(work.stop, 0) != 0:
                break
            interval = next_interval(interval, now - last_ns)
            last_ns = now
            next_check = done + interval
    work.counters[LEVELS] = levels
    return done


@njit
def finish_dfuct(tree, work):
    """Go back to the root, so that every result is in the tree."""
    flush(tree, work, work.counters[LEVELS], 0)
    work.counters[LEVELS] = 0


@njit_inline
def enter(game, tree, settings, work, levels, node):
    """Push a level for `node`, whose position is states[levels]. Make the node's best move in states[levels + 1]."""
    level = work.stack[levels]
    work.states[levels + 1] = work.states[levels]
    level.player = tree.node_player[node]
    if level.player == CHANCE:
        best, second = pick_edge(game, tree, work.states[levels], node, settings, work), NO_EDGE
    else:
        best, second = best_two_edges(tree, node, settings, work.scores)
    level.node, level.best, level.second = node, best, second
    level.best_wins, level.best_visits = tree.edge_wins[best], tree.edge_visits[best]
    if second != NO_EDGE:
        level.second_wins, level.second_visits = tree.edge_wins[second], tree.edge_visits[second]
    level.total = tree.node_visits[node]
    level.fpu = first_play_urgency(tree, node, settings)
    level.gained_wins, level.gained_visits = 0.0, 0
    level.flushed_wins, level.flushed_visits = 0.0, 0
    level.test_at = 0
    work.path_node[levels] = node
    work.path_edge[levels] = best
    play(game, work.states[levels + 1], tree.edge_move[best])
    return levels + 1


@njit_inline
def descend(game, tree, settings, work, levels):
    """Go down from the last level's best move to a leaf, and expand it if it is due. Returns the number of levels."""
    while True:
        edge = work.stack[levels - 1].best
        child = tree.edge_child[edge]
        visits = work.stack[levels - 1].best_visits + work.stack[levels - 1].gained_visits
        if child == NO_NODE and visits >= settings.threshold:
            child = expand(game, tree, work.states[levels], edge, settings, work)
        if child >= TERMINAL or tree.edge_proven[edge] != UNPROVEN or tree.node_proven[child] != UNPROVEN:
            break
        if levels >= settings.max_depth:
            work.counters[DEPTH_CUT] += 1
            break
        levels = enter(game, tree, settings, work, levels, child)
    work.counters[DEPTH_SUM] += levels
    work.counters[DEPTH_MAX] = max(work.counters[DEPTH_MAX], levels)
    return levels


@njit_inline
def playout_below(game, tree, settings, work, levels):
    """Play out on a copy: the search needs the leaf's position again if it stays there."""
    work.states[levels + 1] = work.states[levels]
    value, _, proof_level = evaluate_leaf(game, tree, work.states[levels + 1], settings, work, levels)
    return value, proof_level


@njit_inline
def settle(game, tree, settings, work, levels, value, proof_level):
    """Add the result to the stack. If a level has flipped, go back to the topmost such level."""
    work.counters[PLAYOUTS] += 1
    target = min(levels, proof_level)
    for i in range(levels):
        level = work.stack[i]
        level.gained_wins += gain_of(level.player, value)
        level.gained_visits += 1
        if i < target and level.gained_visits >= level.test_at and not settings.keep_all:
            if has_flipped(tree, level, settings):
                target = i
    if settings.keep_all or settings.audit:
        flush(tree, work, levels, 0)
        if settings.keep_all:
            target = first_changed(tree, settings, work, target)
        else:
            work.counters[THIRD_BEST_AUDIT] += third_is_best(tree, settings, work, levels)
    if target == levels:
        return levels
    old_best, old_second = work.stack[target].best, work.stack[target].second
    work.counters[RETURNS] += 1
    work.counters[REPORTS] += levels - target
    flush(tree, work, levels, target)
    if tree.node_proven[work.path_node[target]] != UNPROVEN:  # the root is proven: the search is over
        return target
    height = enter(game, tree, settings, work, target, work.path_node[target])
    new_best = work.stack[target].best
    if proof_level == NO_LEVEL and work.stack[target].player != CHANCE:
        work.counters[THIRD_BEST] += (new_best != old_best) & (new_best != old_second)
    return height


@njit_inline
def has_flipped(tree, level, settings):
    """The stack test: return whether the second-best move of this level has passed the best."""
    if level.player == CHANCE:
        return True
    if settings.widening > 0.0 and _has_widened(tree, level, settings):
        return True
    if level.second == NO_EDGE:
        return False
    visits = level.best_visits + level.gained_visits
    total = level.total + level.gained_visits
    best = _level_score(tree, level, settings, level.best, level.best_wins + level.gained_wins, visits, total)
    second = _level_score(tree, level, settings, level.second, level.second_wins, level.second_visits, total)
    if second > best or (second == best and level.second < level.best):
        return True
    if settings.bandit == UCB1 and settings.widening <= 0.0:
        mean = (level.best_wins + level.gained_wins) / visits
        level.test_at = level.gained_visits + 1 + quiet_playouts(best, second, mean, visits, total, settings.c)
    return False


@njit_inline
def _has_widened(tree, level, settings):
    """Whether the node now considers more moves than when the level was entered."""
    count, total = tree.node_count[level.node], level.total + level.gained_visits
    before = considered_moves(count, level.total, settings.widening)
    return considered_moves(count, total, settings.widening) > before


@njit_inline
def _level_score(tree, level, settings, edge, wins, visits, total):
    return edge_score(tree, edge, wins, visits, total, log_visits(total), level.fpu, settings)


@njit_inline
def quiet_playouts(best, second, mean, visits, total, c):
    """Return a number of playouts that cannot flip a level of UCB1, not even if all are lost. It saves most tests.

    With k losses the best move's UCB falls along a convex curve, and the second's grows with ln(t + k) along a concave
    one. So both stay on the safe side of their tangents, which meet after k = gap / (sum of slopes). The second's
    slope, c / (2 t sqrt(s ln t)), is below c / t.
    """
    fall = (mean + best) / (2.0 * visits)
    rise = c / total
    return np.int32(min(0.99 * (best - second) / (fall + rise + 1e-300), 1e6))


@njit
def first_changed(tree, settings, work, below):
    """Return the topmost level, above `below`, where the best of all moves is no longer the one taken."""
    for i in range(below):
        level = work.stack[i]
        if level.player == CHANCE or best_edge(tree, level.node, settings, work.scores) != level.best:
            return i
    return below


@njit
def third_is_best(tree, settings, work, levels):
    """Whether on some level a move is best that was neither best nor second best when the level was entered."""
    for i in range(levels):
        level = work.stack[i]
        if level.player != CHANCE:
            best = best_edge(tree, level.node, settings, work.scores)
            if best != level.best and best != level.second:
                return True
    return False


@njit_inline
def flush(tree, work, levels, target):
    """Move the results of level `target` and those below it from the stack into the tree."""
    for i in range(target, levels):
        level = work.stack[i]
        visits = level.gained_visits - level.flushed_visits
        tree.node_visits[level.node] += visits
        tree.edge_visits[level.best] += visits
        tree.edge_wins[level.best] += level.gained_wins - level.flushed_wins
        level.flushed_visits, level.flushed_wins = level.gained_visits, level.gained_wins
