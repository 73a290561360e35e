"""Transposition-table driven scheduling: UCT and df-UCT over ranks (yoshizoe2011, Figures 2 and 3).

A node lives at its home, key mod N. A *search job* goes down: at the home of its position it is expanded or a move
is selected, and the job is sent to the home of the next position. At a leaf it plays out and turns into a *report
job*, which goes up level by level. With df-UCT the job carries the local stack and returns only as far as a best move
has flipped. J jobs are under way; simulations under way count as virtual losses by formula (1).

Deviations and additions:
- A leaf has no table entry: its visits stand at its parent's edge and travel in the job. So the threshold counts the
  visits through that edge; with transpositions the paper's entry counts those through all edges.
- In the stack test the best move is taken without virtual losses, the second best with them, as the paper says; the
  paper leaves open whether ln t has them: here it has for the second move only.
- df-UCT's budget is exact: playouts are granted to jobs in portions, and a job without any left returns to the root.
- Proofs are not used: they would have to travel on their own.
"""

import numpy as np

from treespan.core.clock import wait_ns
from treespan.core.jit import njit, njit_inline
from treespan.games.rules import CHANCE, key, play, playout, reward
from treespan.schemes.messages import NO_SLOT, REPORT, SEARCH
from treespan.schemes.rank import (
    DRAINING,
    FINISHED,
    JOBS_ALIVE,
    LEVELS_CUT,
    LEVELS_MAX,
    LEVELS_SUM,
    NO_RANK,
    PLAYOUTS_DONE,
    REPORTS_RECEIVED,
    SEARCHES,
    TO_GRANT,
    dequeue,
    enqueue,
    home_of,
)
from treespan.search.bandits import (
    NO_EDGE,
    best_edge,
    best_two_edges,
    first_play_urgency,
    log_visits,
    move_score,
)
from treespan.search.dfuct import quiet_playouts
from treespan.search.options import PUCT, UCB1
from treespan.search.tree import TERMINAL, find_node
from treespan.search.uct import find_or_add, gain_of, pick_edge

ROOT_VISITS = 2**31 - 1  # as edge_visits: the root is expanded at once
NOT_PLAYED = -1  # as plies
NO_VALUE = -1.0  # of a job that is called home before its playout


@njit
def start_all(game, rank, row):
    """Start the jobs of a search, at the root's home."""
    for slot in range(rank.all_jobs):
        if start_job(game, rank, slot):
            enqueue(rank, row, slot, False)
        else:
            rank.shared[JOBS_ALIVE] -= 1


@njit_inline
def advance(game, rank, row, me):
    """One unit of work: a descent or a report if one waits, else a playout.

    Gives the job's slot, NO_SLOT if there was nothing to do; the other rank that the job must be sent to, or NO_RANK;
    and the plies of the playout, or NOT_PLAYED.
    """
    slot, plies = dequeue(rank, row, False), np.int64(NOT_PLAYED)
    if slot != NO_SLOT:
        target = handle_tree_job(game, rank, row, slot)
    else:
        slot = dequeue(rank, row, True)
        if slot == NO_SLOT:
            return slot, np.int64(NO_RANK), plies
        target, plies = handle_leaf_job(game, rank, row, slot)
    if target == me:
        enqueue(rank, row, slot, False)
        target = np.int64(NO_RANK)
    return slot, target, plies


@njit
def start_job(game, rank, slot):
    """A new search job at the root's home; gives False if no playouts are left to grant."""
    if rank.shared[TO_GRANT] == 0 or rank.shared[DRAINING] != 0:
        return False
    job = rank.jobs.headers[slot]
    granted = min(rank.shared[TO_GRANT], rank.grant)
    rank.shared[TO_GRANT] -= granted
    job.kind, job.levels, job.target = SEARCH, 0, 0
    job.key, job.edge_visits, job.allowance = rank.root_key, ROOT_VISITS, granted
    job.value = NO_VALUE
    return True


@njit
def handle_tree_job(game, rank, row, slot):
    """One search or report job; gives the rank that it goes to next, NO_RANK if it stays here or has ended."""
    job = rank.jobs.headers[slot]
    if job.kind == REPORT:
        return handle_report(game, rank, row, slot)
    rank.numbers[row, SEARCHES] += 1
    return handle_search(game, rank, row, slot)


@njit_inline
def handle_search(game, rank, row, slot):
    """A job has come to the home of its position."""
    job, tree = rank.jobs.headers[slot], rank.tree
    if rank.shared[DRAINING] != 0:
        return send_home(game, rank, row, slot)
    if job.edge_visits < rank.settings.threshold:
        enqueue(rank, row, slot, True)
        return NO_RANK
    node = find_node(tree, job.key)
    if node >= TERMINAL:
        replay(game, rank, slot, job.levels)
        node = find_or_add(game, tree, rank.work.states[1], rank.settings, rank.work)
    if node >= TERMINAL or job.levels >= rank.settings.max_depth:
        rank.numbers[row, LEVELS_CUT] += node < TERMINAL
        enqueue(rank, row, slot, True)
        return NO_RANK
    return descend(game, rank, slot, node, row)


@njit
def replay(game, rank, slot, levels):
    """Bring states[1] to the position after the job's first `levels` moves."""
    rank.work.states[1] = rank.work.states[0]
    for i in range(levels):
        play(game, rank.work.states[1], rank.jobs.levels[slot, i].move)


@njit
def descend(game, rank, slot, node, row):
    """Select in a node of this rank, put a level on the job, and give the home of the next position."""
    job, tree, settings, work = rank.jobs.headers[slot], rank.tree, rank.settings, rank.work
    depth = job.levels
    level = rank.jobs.levels[slot, depth]
    player = tree.node_player[node]
    second = NO_EDGE
    if player == CHANCE:
        replay(game, rank, slot, depth)
        best = pick_edge(game, tree, work.states[1], node, settings, work)
    elif settings.depth_first:
        best, second = best_two_edges(tree, node, settings, work.scores)
    else:
        best = best_edge(tree, node, settings, work.scores)
    level.node, level.edge, level.move = node, best, tree.edge_move[best]
    level.home = home_of(tree.node_key[node], rank)
    level.player = player
    if settings.depth_first:
        snapshot(tree, settings, level, node, best, second)
    job.edge_visits = tree.edge_visits[best] + tree.edge_flight[best]
    tree.edge_flight[best] += 1
    tree.node_flight[node] += 1
    if tree.edge_key[best] == 0:
        replay(game, rank, slot, depth)
        play(game, work.states[1], level.move)
        tree.edge_key[best] = key(game, work.states[1])
    job.key = tree.edge_key[best]
    job.kind = SEARCH
    job.levels = depth + 1
    return home_of(job.key, rank)


@njit_inline
def snapshot(tree, settings, level, node, best, second):
    """df-UCT: note what the stack test needs of a node that the job leaves."""
    level.best_wins, level.best_visits = tree.edge_wins[best], tree.edge_visits[best]
    level.second_visits = -1
    if second != NO_EDGE:
        level.second_wins = tree.edge_wins[second]
        level.second_visits = tree.edge_visits[second] + tree.edge_flight[second]
        level.second_is_first = second < best
    level.total, level.total_flight = tree.node_visits[node], tree.node_flight[node]
    level.fpu = first_play_urgency(tree, node, settings)
    level.gained_wins, level.gained_visits, level.test_at = 0.0, 0, 0
    if settings.bandit == PUCT:
        level.best_prior = tree.edge_prior[best]
        if second != NO_EDGE:
            level.second_prior = tree.edge_prior[second]


@njit
def handle_leaf_job(game, rank, row, slot):
    """Play out at the leaf of a job; gives the rank that it goes to next, and the plies, NOT_PLAYED if none."""
    job, work, numbers = rank.jobs.headers[slot], rank.work, rank.numbers
    if rank.shared[DRAINING] != 0:
        return send_home(game, rank, row, slot), NOT_PLAYED
    replay(game, rank, slot, job.levels)
    if rank.settings.wait_ns > 0:
        wait_ns(rank.settings.wait_ns)
    plies = playout(game, work.states[1], work.random, work.trace, work.moves, rank.settings.policy)
    job.value = reward(game, work.states[1])
    numbers[row, PLAYOUTS_DONE] += 1
    numbers[row, LEVELS_SUM] += job.levels
    numbers[row, LEVELS_MAX] = max(numbers[row, LEVELS_MAX], job.levels)
    if rank.settings.depth_first:
        return after_dfuct_playout(game, rank, row, slot), plies
    return send_home(game, rank, row, slot), plies


@njit_inline
def send_home(game, rank, row, slot):
    """Turn the job into a report for its last level that goes all the way to the root."""
    job = rank.jobs.headers[slot]
    job.target = 0
    job.allowance = 0
    if job.levels == 0:  # it never left the root
        end_job(rank)
        return NO_RANK
    job.kind = REPORT
    return np.int64(rank.jobs.levels[slot, job.levels - 1].home)


@njit_inline
def after_dfuct_playout(game, rank, row, slot):
    """Add the result to the stack and find the topmost level that has flipped."""
    job, settings = rank.jobs.headers[slot], rank.settings
    job.allowance -= 1
    target = job.levels
    for i in range(job.levels):
        level = rank.jobs.levels[slot, i]
        level.gained_wins += gain_of(level.player, job.value)
        level.gained_visits += 1
        if i < target and level.gained_visits >= level.test_at and has_flipped(level, settings):
            target = i
    if job.allowance <= 0 or rank.shared[DRAINING] != 0:
        return send_home(game, rank, row, slot)
    last = rank.jobs.levels[slot, job.levels - 1]
    if target == job.levels:  # go on from where it is: the position's home is here
        job.edge_visits = last.best_visits + last.gained_visits
        job.kind = SEARCH
        enqueue(rank, row, slot, False)
        return NO_RANK
    job.kind, job.target = REPORT, target
    return np.int64(last.home)


@njit_inline
def has_flipped(level, settings):
    """The stack test of df-UCT; the best move without virtual losses, the second best with them."""
    if level.player == CHANCE:
        return True
    if level.second_visits < 0:
        return False
    visits, total = level.best_visits + level.gained_visits, level.total + level.gained_visits
    wins = level.best_wins + level.gained_wins
    log_total, log_flight = log_visits(total), log_visits(total + level.total_flight)
    best = move_score(wins, visits, level.best_prior, total, log_total, level.fpu, settings)
    second = move_score(
        level.second_wins,
        level.second_visits,
        level.second_prior,
        total + level.total_flight,
        log_flight,
        level.fpu,
        settings,
    )
    if second > best or (second == best and level.second_is_first):
        return True
    if settings.bandit == UCB1:
        level.test_at = level.gained_visits + 1 + quiet_playouts(best, second, wins / visits, visits, total, settings.c)
    return False


@njit_inline
def handle_report(game, rank, row, slot):
    """A result has come to the home of the job's last level: count it, then go up, or down again."""
    job, tree = rank.jobs.headers[slot], rank.tree
    rank.numbers[row, REPORTS_RECEIVED] += 1
    job.levels -= 1
    level = rank.jobs.levels[slot, job.levels]
    if rank.settings.depth_first:
        visits, wins = np.int64(level.gained_visits), level.gained_wins
    elif job.value == NO_VALUE:
        visits, wins = 0, 0.0
    else:
        visits, wins = 1, gain_of(level.player, job.value)
    tree.edge_visits[level.edge] += visits
    tree.edge_wins[level.edge] += wins
    tree.edge_flight[level.edge] -= 1
    tree.node_visits[level.node] += visits
    tree.node_flight[level.node] -= 1
    if job.levels > job.target:
        return np.int64(rank.jobs.levels[slot, job.levels - 1].home)
    if job.allowance > 0 and rank.shared[DRAINING] == 0:
        return descend(game, rank, slot, level.node, row)
    if job.levels > 0:
        return send_home(game, rank, row, slot)
    return restart_job(game, rank, slot)


@njit_inline
def restart_job(game, rank, slot):
    """The job is home: give it new work, or let it end."""
    if start_job(game, rank, slot):
        return home_of(rank.root_key, rank)
    end_job(rank)
    return NO_RANK


@njit_inline
def end_job(rank):
    rank.shared[JOBS_ALIVE] -= 1
    if rank.shared[JOBS_ALIVE] == 0:
        rank.shared[FINISHED] = 1
