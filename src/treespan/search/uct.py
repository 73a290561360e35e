"""UCT (Kocsis & Szepesvari 2006; gelly2008, Algorithm 3): select, expand, playout, backup.

A simulation follows the bandit from the root to a leaf, where it plays out. If the leaf has had `threshold` playouts,
the simulation expands it instead, and goes on below it (yoshizoe2011, Fig. 3). The edge that leads to a leaf counts the
leaf's visits, so that a leaf takes no memory.
"""

from typing import Any

import numpy as np

from treespan.core.atomics import atomic_load
from treespan.core.clock import now_ns, wait_ns
from treespan.core.jit import Call, njit, njit_inline, njit_unit
from treespan.core.rng import below
from treespan.games.rules import CHANCE, SECOND, candidates, chance, key, play, playout, priors, reward, to_play
from treespan.games.solver_rules import agrees, expertise, foresee
from treespan.search.bandits import best_edge, needs_amaf, score_by_formula
from treespan.search.options import RAVE_MSE
from treespan.search.rave import update_amaf
from treespan.search.solver import NO_LEVEL, proof_of, prove, proven_value, seen_by
from treespan.search.tree import NO_NODE, ROOT, TERMINAL, UNPROVEN, TreeArrays, add_node, find_node, note_use
from treespan.search.widening import sort_by_weight
from treespan.search.work import DEPTH_CUT, DEPTH_MAX, DEPTH_SUM, PLAYOUTS, PLIES, TRANSPOSED, Work

FIRST_CHECK, MAX_CHECK = 1, 4096  # simulations between two looks at the clock
CHECK_NS = 50_000  # aim at this time between two looks
MOST_PLAYOUTS = 10  # with conditioning: tries to find a playout that agrees with the game's tactical solver


@njit
def run_uct(game, tree, settings, work, playouts, deadline_ns):
    """Simulate until `playouts` are done, the deadline has come, the root is proven, or `work.stop` is set.

    Returns the number of simulations done.
    """
    done = 0
    next_check, interval, last_ns = FIRST_CHECK, FIRST_CHECK, now_ns()
    while done < playouts and tree.node_proven[ROOT] == UNPROVEN:
        simulate(game, tree, settings, work)
        done += 1
        if done >= next_check:
            now = now_ns()
            if now >= deadline_ns or atomic_load(work.stop, 0) != 0:
                break
            interval = next_interval(interval, now - last_ns)
            last_ns = now
            next_check = done + interval
    return done


@njit
def next_interval(interval, elapsed_ns):
    """Return the simulations until the next look at the clock: a look costs 24 ns, a P-game simulation 500 ns."""
    if elapsed_ns < CHECK_NS // 2:
        return min(2 * interval, MAX_CHECK)
    return max(interval // 2, FIRST_CHECK) if elapsed_ns > 2 * CHECK_NS else interval


@njit_inline
def simulate(game, tree, settings, work):
    work.states[1] = work.states[0]
    state = work.states[1]
    depth = select(game, tree, state, settings, work)
    value, plies = evaluate(game, tree, state, settings, work, depth)
    backup(tree, work, depth, value)
    if needs_amaf(settings):
        update_amaf(tree, work, depth, plies, value, False)


@njit_inline
def select(game, tree, state, settings, work):
    """Step 1: follow the bandit from the root to a leaf, and expand it if it is due. Returns the path's length."""
    node = ROOT
    depth = 0
    while True:
        edge = pick_edge(game, tree, state, node, settings, work)
        work.path_node[depth] = node
        work.path_edge[depth] = edge
        depth += 1
        play(game, state, tree.edge_move[edge])
        child = tree.edge_child[edge]
        if child == NO_NODE and tree.edge_visits[edge] >= settings.threshold:
            child = expand(game, tree, state, edge, settings, work)
        if child >= TERMINAL or tree.edge_proven[edge] != UNPROVEN or tree.node_proven[child] != UNPROVEN:
            break
        if depth >= settings.max_depth:
            work.counters[DEPTH_CUT] += 1
            break
        node = child
    work.counters[DEPTH_SUM] += depth
    work.counters[DEPTH_MAX] = max(work.counters[DEPTH_MAX], depth)
    return depth


@njit_inline
def pick_edge(game, tree, state, node, settings, work):
    """Return the edge that a simulation takes: the bandit's choice, or nature's."""
    if tree.node_player[node] == CHANCE:
        return np.uint32(tree.node_first[node] + np.uint32(chance(game, state, work.random)))
    return best_edge(tree, node, settings, work.scores)


@njit
def expand(game, tree, state, edge, settings, work):
    """Step 2: expand the leaf behind `edge`. It gets the node of its position, if that is in the tree already.

    Returns the node; TERMINAL if the game is over there, NO_NODE if the tree is full.
    """
    child = find_or_add(game, tree, state, settings, work)
    tree.edge_child[edge] = child
    return child


@njit_unit("uint32")
def find_or_add(game, tree, state, settings, work):
    """Return the node of a position, and add it if it is new; NO_NODE or TERMINAL as in `expand`."""
    position_key = key(game, state)
    node = find_node(tree, position_key ^ work.salt[0])
    if node != NO_NODE:
        work.counters[TRANSPOSED] += 1
        note_use(tree, node)
        return node
    count = candidates(game, state, work.moves)
    if count == 0:
        return TERMINAL
    node = add_node(tree, position_key ^ work.salt[0], to_play(game, state), count)
    if node != NO_NODE:
        order_moves(game, state, position_key, count, settings, work, len(tree.edge_prior) > 0)
        fill_edges(tree, tree.node_first[node], count, work, len(tree.edge_prior) > 0)
    return node


def node_calls(game: Any, tree: TreeArrays, settings: Any, work: Work) -> list[Call]:
    """Return calls of the units that select and expand, to be compiled beside what calls them."""
    scored = (tree, settings, work.scores, np.uint32(0), np.uint64(0), 0, 0.0, 0.0)
    return [(find_or_add, (game, tree, work.states[1], settings, work)), (score_by_formula, scored)]


def path_calls(game: Any, tree: TreeArrays, settings: Any, work: Work) -> list[Call]:
    """Return calls of the units that count a simulation in a tree that is all here, likewise."""
    return [
        (update_amaf, (tree, work, 0, 0, 0.0, False)),
        (prove, (tree, work, 0, 0)),
        (conditioned_playout, (game, settings, work)),
    ]


@njit
def order_moves(game, state, position_key, count, settings, work, with_priors):
    """Shuffle the moves, with the position's key as seed, so that no place in the list is favoured; sort by prior.

    With expertise the game's tactical solver looks at work.states[1], which is `state`; `work.scores` gets the virtual
    wins.
    """
    if to_play(game, state) == CHANCE:  # nature's rule gives an index into the moves as they are
        return
    work.shuffle[0] = position_key
    for i in range(count - 1, 0, -1):
        j = below(work.shuffle, i + 1)
        work.moves[i], work.moves[j] = work.moves[j], work.moves[i]
    if with_priors:
        priors(game, state, work.moves, count, work.weights)
        weights_to_priors(work.weights, count, settings)
        if settings.widening > 0.0:
            sort_by_weight(work.moves, work.weights, count)
    if settings.expertise > 0.0:
        work.solver_states[0] = work.states[1]
        expertise(game, work.solver_states, work.desk, work.moves, count, work.scores)
        for i in range(count):
            work.scores[i] *= settings.expertise


@njit
def weights_to_priors(weights, count, settings):
    """Turn weights into probabilities; for RAVE-MSE into values: there a weight is the odds that the move wins."""
    if settings.bandit == RAVE_MSE:
        for i in range(count):
            weights[i] /= np.float32(1.0) + weights[i]
        return
    total = np.float64(0.0)  # a plain 0.0 would make the sum a float32 without the JIT
    for i in range(count):
        total += weights[i]
    for i in range(count):
        weights[i] /= total


@njit
def fill_edges(tree, first, count, work, with_priors):
    """Make the edges of a new node from the moves and priors in `work`."""
    for i in range(np.uint64(count)):
        edge = first + i
        tree.edge_move[edge] = work.moves[i]
        tree.edge_child[edge] = NO_NODE
        tree.edge_visits[edge] = 0
        tree.edge_wins[edge] = 0.0
        tree.edge_proven[edge] = UNPROVEN
        if with_priors:
            tree.edge_prior[edge] = work.weights[i]
        if len(tree.edge_expert) > 0:
            tree.edge_expert[edge] = work.scores[i]
        if len(tree.edge_amaf_visits) > 0:
            tree.edge_amaf_visits[edge] = 0
            tree.edge_amaf_wins[edge] = 0.0
        if len(tree.edge_flight) > 0:
            tree.edge_flight[edge] = 0
        if len(tree.edge_key) > 0:
            tree.edge_key[edge] = 0


@njit_inline
def evaluate(game, tree, state, settings, work, depth):
    """Step 3: return the leaf's value for the first player, by a playout or a proof, and the playout's plies."""
    value, plies, _ = evaluate_leaf(game, tree, state, settings, work, depth)
    return value, plies


@njit_inline
def evaluate_leaf(game, tree, state, settings, work, depth):
    """Do step 3 and also return the topmost level at which something was proven, NO_LEVEL if nothing was."""
    node, edge = work.path_node[depth - 1], work.path_edge[depth - 1]
    player = tree.node_player[node]
    if tree.edge_proven[edge] != UNPROVEN:
        return proven_value(player, tree.edge_proven[edge]), 0, NO_LEVEL
    child = atomic_load(tree.edge_child, edge)  # another thread may have just made it
    if child < TERMINAL and tree.node_proven[child] != UNPROVEN:  # proven along another path
        proven = seen_by(player, tree.node_player[child], tree.node_proven[child])
        return proven_value(player, proven), 0, prove(tree, work, depth, proven)
    if settings.wait_ns > 0:
        wait_ns(settings.wait_ns)
    if child == TERMINAL:
        plies = 0
    elif settings.conditioning:
        plies = conditioned_playout(game, settings, work)
    else:
        plies = playout(game, state, work.random, work.trace, work.moves, settings.policy)
    value = reward(game, state)
    work.counters[PLIES] += plies
    level = NO_LEVEL
    if plies == 0:  # the game was over
        tree.edge_child[edge] = TERMINAL
        if settings.solver and proof_of(player, value) != UNPROVEN:
            level = prove(tree, work, depth, proof_of(player, value))
    return value, plies, level


@njit_unit("int64")
def conditioned_playout(game, settings, work):
    """Play out from work.states[1], and again if the result contradicts what the game's tactical solver foresees."""
    work.solver_states[0] = work.states[1]
    foreseen = foresee(game, work.solver_states, work.desk)
    plies = playout(game, work.states[1], work.random, work.trace, work.moves, settings.policy)
    done = 1
    while foreseen and plies > 0 and done < MOST_PLAYOUTS and not agrees(game, work.states[1], work.desk):
        work.states[1] = work.solver_states[0]
        plies = playout(game, work.states[1], work.random, work.trace, work.moves, settings.policy)
        done += 1
    return plies


@njit_inline
def backup(tree, work, depth, value):
    """Step 4: add the result to every edge of the path, from its player's view."""
    for level in range(depth):
        node, edge = work.path_node[level], work.path_edge[level]
        tree.node_visits[node] += 1
        tree.edge_visits[edge] += 1
        tree.edge_wins[edge] += gain_of(tree.node_player[node], value)
    work.counters[PLAYOUTS] += 1


@njit_inline
def gain_of(player, value):
    """Return the reward of `player` if the first player's is `value`. Nature counts as the first player."""
    return 1.0 - value if player == SECOND else value
