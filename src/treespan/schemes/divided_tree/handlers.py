"""Transposition-table driven scheduling: UCT and df-UCT over ranks (yoshizoe2011, Figures 2 and 3).

A node lives at its home, key mod N. A *search job* goes down: at the home of its position it is expanded or a move
is selected, and the job is sent to the home of the next position. At a leaf it waits for its playout and turns into a
*report job*, which goes up level by level. With df-UCT the job carries the local stack and returns only as far as a
best move has flipped. J jobs are under way; simulations under way count as virtual losses by formula (1).

This file is the life of a job, from top to bottom. First the three entries that a runtime calls (`protocol/port.py`),
then what they do, in the order in which it happens to a job.

Deviations and additions:
- A leaf has no table entry: its visits stand at its parent's edge and travel in the job. So the threshold counts the
  visits through that edge; with transpositions the paper's entry counts those through all edges.
- df-UCT's budget is exact: playouts are granted to jobs in portions, and a job without any left returns to the root.
  `budget=share` is the paper's rule instead: jobs are called home when every rank has done 1.05 K / N playouts.
- `place=idle`: a playout needs only the position, so a leaf may be played out by a rank that has less to do.
- A scheme may add to the handlers at a few points (`protocol/hooks.py`).
- Proven wins, draws and losses (MCTS-Solver) go up with the reports: `proofs.py`.
"""

import numpy as np

from treespan.core.handles import call_entry, value_of
from treespan.core.jit import njit, njit_inline, njit_unit
from treespan.core.rng import GOLDEN, mix64
from treespan.games.rules import CHANCE, FIRST, chance, key, play
from treespan.schemes.divided_tree.lines import begin_lines, follow_line
from treespan.schemes.divided_tree.proofs import is_news, proof_for_first, prove
from treespan.schemes.divided_tree.rank import home_of
from treespan.schemes.divided_tree.stack import has_flipped, snapshot
from treespan.schemes.divided_tree.trail import (
    add_playout,
    amaf_snapshot,
    credit,
    entries_of,
    follow_seconds,
    is_long,
)
from treespan.schemes.protocol.evaluation import replay
from treespan.schemes.protocol.messages import LINE, NO_SLOT, NO_VALUE, PLAYOUT, REPORT, SEARCH, SHARE_DONE
from treespan.schemes.protocol.port import (
    HANDLED,
    LEAVES,
    NOTHING,
    TREE,
    URGENT,
    dequeue,
    end_search,
    enqueue,
    least_loaded,
    load_of,
    note_share_done,
    send,
    send_signal,
)
from treespan.search.bandits import NO_EDGE, best_edge, best_two_edges
from treespan.search.solver import seen_by
from treespan.search.tree import TERMINAL, UNPROVEN, find_node, note_use
from treespan.search.uct import find_or_add, gain_of

ROOT_VISITS = 2**31 - 1  # as edge_visits: the root is expanded at once
SMALLEST_GRANT = 16  # with grant=0; below it jobs come home faster than the root's home can serve them
# With budget=share, after so many times the budget no rank is waited for: in a small tree some never get a leaf
PATIENCE = 4


@njit
def start(handle, row, slot):
    """Start the jobs of a search, at the root's home."""
    rank = value_of(handle)
    if call_entry(rank.hooks.begin, rank.hooks.handle, row, slot) == 0 and rank.port.first + row == rank.root_home:
        for job in range(rank.all_jobs):
            restart_job(handle, row, job)
    return HANDLED


@njit
def advance(handle, row, slot):
    """Handle one message."""
    rank = value_of(handle)
    if rank.port.line_wish[0] != 0:
        begin_lines(rank, row)
    if rank.port.state[row].leaf_is_due:
        rank.port.state[row].leaf_is_due = False
        if rank.port.queues[row, LEAVES].length > 0:
            return NOTHING
    job = dequeue(rank.port, row, URGENT)
    if job == NO_SLOT:
        job = dequeue(rank.port, row, TREE)
    if job == NO_SLOT:
        return NOTHING
    kind, work = rank.port.jobs.headers[job].kind, np.int64(HANDLED)
    if kind == REPORT:
        work += handle_report(handle, row, job)
    elif kind == SEARCH:
        rank.port.counts[row].searches += 1
        work += handle_search(handle, row, job)
    elif kind == PLAYOUT:
        enqueue(rank.port, row, LEAVES, job)
    elif kind == LINE:
        follow_line(rank, row, job)
    else:
        work += call_entry(rank.hooks.synchronise, rank.hooks.handle, row, job)
    return work


@njit
def absorb(handle, row, slot):
    """The value of a leaf is there."""
    rank = value_of(handle)
    job = rank.port.jobs.headers[slot]
    if job.value == NO_VALUE:
        send_home(handle, row, slot)
        return HANDLED
    rank.port.counts[row].playouts += 1
    rank.port.state[row].has_played = True
    is_elsewhere = home_of(job.key, rank) != rank.port.first + row
    rank.port.counts[row].played_elsewhere += is_elsewhere and job.proof == UNPROVEN
    rank.port.counts[row].levels += job.levels
    rank.port.counts[row].deepest = max(rank.port.counts[row].deepest, job.levels)
    if rank.port.counts[row].playouts == rank.rank_share:
        tell_share_done(rank.port, row)
    if rank.port.jobs.plane_words > 0:
        add_playout(rank.port.jobs, slot)
    if rank.settings.depth_first:
        after_dfuct_playout(handle, row, slot)
    else:
        send_home(handle, row, slot)
    return HANDLED


# From the root


@njit_unit("none")
def restart_job(handle, row, slot):
    """Send a job down from the root, if playouts are left to grant; otherwise it ends."""
    rank = value_of(handle)
    port, budget = rank.port, rank.port.budget[0]
    if call_entry(rank.hooks.restart, rank.hooks.handle, row, slot) != 0:
        return
    if budget.to_grant == 0 or port.state[row].draining:
        end_job(port, row)
        return
    granted = grant_of(rank)
    if rank.rank_share == 0:
        budget.to_grant -= granted
    elif rank.tree.node_visits[rank.root[0]] - rank.visits_before > PATIENCE * budget.to_grant:
        budget.to_grant = 0  # the last grants: jobs that come home end
    start_job(rank, row, slot, granted)


@njit
def grant_of(rank):
    """Playouts for a job that starts at the root."""
    left = rank.port.budget[0].to_grant
    return min(left, rank.grant or max(left // (2 * rank.all_jobs), SMALLEST_GRANT))


@njit_inline
def start_job(rank, row, slot, granted):
    """A job starts at this rank's root, for so many playouts (df-UCT)."""
    job = rank.port.jobs.headers[slot]
    job.kind, job.levels, job.target, job.value, job.trail = SEARCH, 0, 0, NO_VALUE, 0
    job.key, job.edge_visits, job.allowance = rank.root_key, ROOT_VISITS, granted
    job.top, job.proof, job.is_free = 0, UNPROVEN, False
    enqueue(rank.port, row, TREE, slot)


@njit
def end_job(port, row):
    """A job is back at the root, and nothing is left to do for it."""
    port.budget[0].jobs_alive -= 1
    if port.budget[0].jobs_alive == 0:
        end_search(port, row)


# Down: the home of a job's position selects a move


@njit
def handle_search(handle, row, slot):
    """A job has come to the home of its position. Returns the work beyond that of any message."""
    rank = value_of(handle)
    job = rank.port.jobs.headers[slot]
    if rank.port.state[row].draining:
        send_home(handle, row, slot)
        return NOTHING
    if is_leaf(rank, row, slot):
        wait_for_playout(handle, row, slot)
        return NOTHING
    node = node_of(handle, row, slot)
    if rank.settings.solver and node < TERMINAL and rank.tree.node_proven[node] != UNPROVEN:
        turn_back(handle, row, slot, node)
        return NOTHING
    if node >= TERMINAL or job.levels >= rank.settings.max_depth:
        rank.port.counts[row].cut += node < TERMINAL
        if job.allowance > rank.large_from:
            call_entry(rank.hooks.share_leaf, rank.hooks.handle, row, slot)
        wait_for_playout(handle, row, slot)
        return NOTHING
    if job.allowance > rank.large_from or job.levels == 0:
        work = call_entry(rank.hooks.take_over, rank.hooks.handle, row, slot)
        if work > 0:
            return work - 1
    descend(handle, row, slot, node)
    return NOTHING


@njit_inline
def turn_back(handle, row, slot, node):
    """A job has come to a proven node, to it a leaf. From a proven root it does not start at all."""
    rank = value_of(handle)
    job = rank.port.jobs.headers[slot]
    if job.levels == 0:
        restart_job(handle, row, slot)
    else:
        job.proof = proof_for_first(rank.tree, node)
        enqueue(rank.port, row, LEAVES, slot)


@njit_inline
def is_leaf(rank, row, slot):
    """Whether the position of a job is played out."""
    job = rank.port.jobs.headers[slot]
    if job.edge_visits >= rank.settings.threshold:
        return False
    if job.allowance <= rank.large_from:
        return True
    return call_entry(rank.hooks.expand_early, rank.hooks.handle, row, slot) == 0


@njit
def node_of(handle, row, slot):
    """The node of a job's position, added if need be; NO_NODE if there is no room, or the game is over."""
    rank = value_of(handle)
    found = call_entry(rank.hooks.find, rank.hooks.handle, row, slot)
    node = np.uint32(found - 1) if found != 0 else find_node(rank.tree, rank.port.jobs.headers[slot].key)
    if node >= TERMINAL:
        replay(rank.game, rank.work, rank.port.jobs, slot)
        return find_or_add(rank.game, rank.tree, rank.work.states[1], rank.settings, rank.work)
    note_use(rank.tree, node)
    return node


@njit_unit("none")
def descend(handle, row, slot, node):
    """Select in a node of this rank, put a level on the job, and send it to the home of the next position."""
    rank = value_of(handle)
    game, tree, settings, work, jobs = rank.game, rank.tree, rank.settings, rank.work, rank.port.jobs
    job = jobs.headers[slot]
    level = jobs.levels[slot, job.levels]
    player = tree.node_player[node]
    second = NO_EDGE
    if player == CHANCE:
        replay(game, work, jobs, slot)
        choice = chance(game, work.states[1], rank.random[row : row + 1])
        best = np.uint32(tree.node_first[node] + np.uint32(choice))
    elif settings.depth_first:
        best, second = best_two_edges(tree, node, settings, work.scores)
    else:
        best = best_edge(tree, node, settings, work.scores)
    put_level(rank, row, slot, node, best, second)
    job.edge_visits = visits_of(rank, best, tree.edge_flight[best])
    level.under_way = job.allowance if rank.whole_grants else 1
    if call_entry(rank.hooks.select, rank.hooks.handle, row, slot) == 0:
        tree.edge_flight[best] += flights_of(level, rank)
        tree.node_flight[node] += flights_of(level, rank)
    go_to_child(handle, slot, best)
    if job.proof == UNPROVEN and call_entry(rank.hooks.stay, rank.hooks.handle, row, slot) != 0:
        send(rank.port, row, slot, np.int64(level.home))
    else:
        send_down(handle, row, slot)


@njit_inline
def put_level(rank, row, slot, node, best, second):
    """Note on a job's next level which move it takes in a node of this rank, and what the stack test needs."""
    tree, settings, jobs = rank.tree, rank.settings, rank.port.jobs
    level = jobs.levels[slot, jobs.headers[slot].levels]
    level.node, level.edge, level.move = node, best, tree.edge_move[best]
    level.home = rank.port.first + row
    level.player = tree.node_player[node]
    if settings.depth_first:
        snapshot(tree, settings, level, node, best, second)
        if jobs.plane_words > 0:
            amaf_snapshot(tree, jobs, slot, best, second)


@njit_inline
def flights_of(level, rank):
    """As how many simulations under way a job counts in the node of a level."""
    return np.int32(level.under_way) if rank.whole_grants else np.int32(1)  # UCT's levels travel without it


@njit_inline
def visits_of(rank, edge, flights):
    """Visits of a move that decide whether its position is a leaf, with what is under way there before the job."""
    return rank.tree.edge_visits[edge] + (min(flights, np.int32(1)) if rank.whole_grants else flights)


@njit
def go_to_child(handle, slot, edge):
    """Address a job to the position that an edge leads to. If the move is proven, the job knows."""
    rank = value_of(handle)
    game, tree, work, job = rank.game, rank.tree, rank.work, rank.port.jobs.headers[slot]
    if tree.edge_key[edge] == 0:
        replay(game, work, rank.port.jobs, slot)
        play(game, work.states[1], tree.edge_move[edge])
        tree.edge_key[edge] = key(game, work.states[1])
    level = rank.port.jobs.levels[slot, job.levels]
    job.proof = seen_by(FIRST, tree.node_player[level.node], tree.edge_proven[edge])
    job.key, job.kind, job.levels = tree.edge_key[edge], SEARCH, job.levels + 1


@njit
def send_down(handle, row, slot):
    """Send a job to the home of its position; a leaf that may be played out anywhere need not go there first.

    Behind a proven move nothing is to be done: the job has its value here.
    """
    rank = value_of(handle)
    port, job = rank.port, rank.port.jobs.headers[slot]
    if job.proof != UNPROVEN:
        enqueue(port, row, LEAVES, slot)
    elif not rank.place_idle or not is_leaf(rank, row, slot):
        send(port, row, slot, home_of(job.key, rank))
    else:
        send_leaf(handle, row, slot)


# At a leaf


@njit
def wait_for_playout(handle, row, slot):
    """A job has reached its leaf: it waits here, or at a rank that has less to do."""
    rank = value_of(handle)
    place_leaf(rank.port, row, slot, least_loaded(rank.port, row) if rank.place_idle else rank.port.first + row)


@njit
def send_leaf(handle, row, slot):
    """Have a leaf played out somewhere, from its parent's home or its own.

    It stays here unless a rank is known to have less to do, or this one has its share: then chance shall decide. Not
    the leaf's home: many jobs may be on their way to one leaf.
    """
    rank = value_of(handle)
    port, job = rank.port, rank.port.jobs.headers[slot]
    receiver = least_loaded(port, row)
    if receiver == port.first + row and load_of(port, row) > rank.fair_load:
        number = mix64(job.key + np.uint64(job.edge_visits) * GOLDEN) % np.uint64(port.ranks - rank.reserved)
        receiver = rank.reserved + np.int64(number)
    place_leaf(port, row, slot, receiver)


@njit_inline
def place_leaf(port, row, slot, receiver):
    """Have a leaf played out at some rank."""
    if receiver == port.first + row:
        enqueue(port, row, LEAVES, slot)
    else:
        port.jobs.headers[slot].kind = PLAYOUT
        send(port, row, slot, receiver)


# With a value


@njit
def after_dfuct_playout(handle, row, slot):
    """Add the result to the stack and go to the topmost level that has flipped."""
    rank = value_of(handle)
    jobs, settings = rank.port.jobs, rank.settings
    job = jobs.headers[slot]
    job.allowance -= 1
    target = np.int64(job.levels)
    if jobs.plane_words > 0:
        follow_seconds(jobs, slot)
    for i in range(job.top, job.levels):
        level, amaf = jobs.levels[slot, i], jobs.amaf_levels[slot if jobs.plane_words > 0 else 0, i]
        level.gained_wins += gain_of(level.player, job.value)
        level.gained_visits += 1
        if i < target and level.gained_visits >= level.test_at and has_flipped(level, amaf, settings):
            target = i
    if job.allowance <= 0 or rank.port.state[row].draining:
        send_home(handle, row, slot)
        return
    if is_news(rank, row, slot):
        target = min(target, np.int64(job.levels - 1))
    if settings.keep_all != 0 or is_long(jobs, slot):
        target = np.int64(job.top)  # with keep_all only the nodes themselves know all their moves: each must be asked
    if target < job.levels:
        job.target = target
        report_to_last_level(handle, row, slot)
        return
    last = jobs.levels[slot, job.levels - 1]  # no level has flipped: go on from the same leaf
    job.edge_visits = last.best_visits + last.gained_visits
    job.kind = SEARCH
    send_down(handle, row, slot)


@njit
def tell_share_done(port, row):
    if port.first + row == 0:
        note_share_done(port, row)
    else:
        send_signal(port, row, SHARE_DONE, 0)


# Up: homes count the result


@njit
def report_to_last_level(handle, row, slot):
    rank = value_of(handle)
    job = rank.port.jobs.headers[slot]
    if job.levels == 0:  # it never left the root
        restart_job(handle, row, slot)
        return
    job.kind = REPORT
    send(rank.port, row, slot, np.int64(rank.port.jobs.levels[slot, job.levels - 1].home))


@njit
def send_home(handle, row, slot):
    """Turn the job into a report for its last level that goes all the way to the root, or to where it was dealt out."""
    rank = value_of(handle)
    job = rank.port.jobs.headers[slot]
    job.target, job.allowance = job.top, 0
    report_to_last_level(handle, row, slot)


@njit
def handle_report(handle, row, slot):
    """A result has come to the home of the job's last level: count it, then go up, or down again.

    Returns the work beyond that of any message.
    """
    rank = value_of(handle)
    jobs, tree = rank.port.jobs, rank.tree
    job = jobs.headers[slot]
    rank.port.counts[row].reports += 1
    if job.is_free:  # such jobs may go round without end, and leaves would wait as long
        rank.port.state[row].leaf_is_due = True
    job.levels -= 1
    level = jobs.levels[slot, job.levels]
    if rank.settings.depth_first:
        visits, wins = np.int64(level.gained_visits), level.gained_wins
    elif job.value == NO_VALUE:
        visits, wins = 0, 0.0
    else:
        visits, wins = 1, gain_of(tree.node_player[level.node], job.value)  # UCT's levels travel without the player
    if jobs.plane_words > 0:
        entries = entries_of(jobs, slot, job.levels, rank.settings.depth_first)
        credit(jobs, slot, level, entries, tree, tree.edge_amaf_visits, tree.edge_amaf_wins)
    is_proof = rank.settings.solver and prove(rank, row, slot)
    if call_entry(rank.hooks.count_result, rank.hooks.handle, row, slot) == 0:
        tree.edge_visits[level.edge] += visits
        tree.edge_wins[level.edge] += wins
        tree.node_visits[level.node] += visits
        tree.edge_flight[level.edge] -= flights_of(level, rank)
        tree.node_flight[level.node] -= flights_of(level, rank)
    if job.levels == job.top:
        work = call_entry(rank.hooks.come_back, rank.hooks.handle, row, slot)
        if work > 0:
            return work - 1
    if job.levels == 0:
        job.trail = 0  # the whole path has heard
    if is_proof and call_entry(rank.hooks.prove, rank.hooks.handle, row, slot) != 0:
        return NOTHING
    if job.levels > job.target or job.proof != UNPROVEN:
        report_to_last_level(handle, row, slot)
    elif job.allowance > 0 and not rank.port.state[row].draining:
        descend(handle, row, slot, level.node)
    else:
        send_home(handle, row, slot)
    return NOTHING
