"""RAVE for jobs that travel: who made which move in a job's playouts goes with it until its whole path has heard.

AMAF values (`search/rave.py`) need the moves of a playout at every node above its leaf, and these lie at other ranks.
So a job has a *trail*. Of each playout since it left the root the trail has an entry: the value, and for either player
a set of the moves that he was the first to make. A report reads at each level the entries of the playouts below it, and
adds the move that led there: the nodes above must count that, too. So every node gets the credits that the sequential
search gives.

df-UCT's stack test follows the AMAF values of the two moves that it compares. Those of other moves are seen when the
job is back at the node; so a job returns when its trail is LONGEST_TRAIL playouts long. (`mp-mcts`, whose
histories have no trails, has no RAVE.)
"""

import numpy as np

from treespan.core.jit import njit, njit_inline
from treespan.games.rules import CHANCE, NATURES_MOVE, SECOND
from treespan.schemes.protocol.messages import LONGEST_TRAIL
from treespan.search.bandits import NO_EDGE
from treespan.search.uct import gain_of

ONE = np.uint64(1)


@njit_inline
def entry_words(jobs):
    """Words of an entry: the value, then the first player's moves, then the second's."""
    return 1 + 2 * jobs.plane_words


@njit_inline
def mark(jobs, slot, entry, move, player):
    """In an entry `player` is now the one who made a move first."""
    sets = entry * entry_words(jobs) + 1
    bit = ONE << np.uint64(move & 63)
    mine = sets + (move >> 6) + (jobs.plane_words if player == SECOND else 0)
    other = sets + (move >> 6) + (0 if player == SECOND else jobs.plane_words)
    jobs.trails[slot, mine] |= bit
    jobs.trails[slot, other] &= ~bit


@njit_inline
def is_made(jobs, slot, entry, move, player):
    """Whether `player` made a move first, as 1 or 0."""
    word = entry * entry_words(jobs) + 1 + (move >> 6) + (jobs.plane_words if player == SECOND else 0)
    return np.int32((jobs.trails[slot, word] >> np.uint64(move & 63)) & ONE)


@njit
def write_playout(jobs, slot, trace, plies):
    """Begin a job's next entry with the moves of a playout."""
    entry = np.int64(jobs.headers[slot].trail)
    first = entry * entry_words(jobs)
    for word in range(first, first + entry_words(jobs)):
        jobs.trails[slot, word] = 0
    for ply in range(plies - 1, -1, -1):  # backwards: the earliest maker is written last and stays
        made = np.int64(trace[ply])
        if made == NATURES_MOVE:
            continue
        if made >= 0:
            mark(jobs, slot, entry, made, 0)
        else:
            mark(jobs, slot, entry, ~made, SECOND)


@njit
def add_playout(jobs, slot):
    """The playout's value is there: its entry is complete."""
    job = jobs.headers[slot]
    jobs.trail_floats[slot, np.int64(job.trail) * entry_words(jobs)] = job.value
    job.trail += 1


@njit
def append_trail(jobs, source, target):
    """Put a job's trail behind another's, if it fits."""
    words, added, present = (
        entry_words(jobs),
        np.int64(jobs.headers[source].trail),
        np.int64(jobs.headers[target].trail),
    )
    if present + added <= LONGEST_TRAIL:
        for word in range(added * words):
            jobs.trails[target, present * words + word] = jobs.trails[source, word]
        jobs.headers[target].trail += added


@njit_inline
def is_long(jobs, slot):
    return jobs.plane_words > 0 and jobs.headers[slot].trail >= LONGEST_TRAIL


@njit
def credit(jobs, slot, level, first_entry, tree, visits, wins):
    """Credit the playouts below a level to all moves of its node: `visits` and `wins` of its edges."""
    node, move = level.node, np.int64(level.move)
    player, first = tree.node_player[node], tree.node_first[node]
    if player == CHANCE:
        return
    for entry in range(first_entry, jobs.headers[slot].trail):
        mark(jobs, slot, entry, move, player)
        gain = gain_of(player, jobs.trail_floats[slot, entry * entry_words(jobs)])
        for edge in range(first, first + tree.node_count[node]):
            # Without branches, as in `update_amaf`
            made = is_made(jobs, slot, entry, np.int64(tree.edge_move[edge]), player)
            visits[edge] += made
            wins[edge] += gain if made else 0.0


@njit_inline
def entries_of(jobs, slot, depth, depth_first):
    """Where on the trail the playouts below a level begin; UCT has one playout at a time."""
    return np.int64(jobs.amaf_levels[slot, depth].trail_from) if depth_first else np.int64(0)


@njit_inline
def amaf_snapshot(tree, jobs, slot, best, second):
    """df-UCT: note the AMAF values of the moves that the stack test of a new level compares."""
    level = jobs.amaf_levels[slot, jobs.headers[slot].levels]
    level.trail_from = jobs.headers[slot].trail
    level.best_visits, level.best_wins = tree.edge_amaf_visits[best], tree.edge_amaf_wins[best]
    if second != NO_EDGE:
        level.second_visits, level.second_wins = tree.edge_amaf_visits[second], tree.edge_amaf_wins[second]
        level.second_move = tree.edge_move[second]


@njit
def follow_seconds(jobs, slot):
    """df-UCT: credit the last playout to the second-best moves of all levels.

    The entry behind the last is scratch: only nodes that are reported to may change entries.
    """
    job, words = jobs.headers[slot], entry_words(jobs)
    scratch = np.int64(job.trail)
    for word in range(words):
        jobs.trails[slot, scratch * words + word] = jobs.trails[slot, (scratch - 1) * words + word]
    for depth in range(job.levels - 1, job.top - 1, -1):
        level, amaf = jobs.levels[slot, depth], jobs.amaf_levels[slot, depth]
        if level.player == CHANCE:
            continue
        mark(jobs, slot, scratch, np.int64(level.move), level.player)
        if level.second_visits >= 0 and is_made(jobs, slot, scratch, np.int64(amaf.second_move), level.player):
            amaf.second_visits += 1
            amaf.second_wins += gain_of(level.player, job.value)
