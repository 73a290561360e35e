"""The handlers of `span`: where hot nodes are copied to every rank, they take the place of those of `tds.py`."""

import numpy as np

from treespan.core.handles import value_of
from treespan.core.jit import njit
from treespan.games.rules import CHANCE, chance
from treespan.schemes.evaluation import replay
from treespan.schemes.extensions import extend
from treespan.schemes.messages import NO_VALUE, SEARCH, SYNC_UP
from treespan.schemes.rank import DRAINING, FREE, PARKED, TREE, dequeue, enqueue, send
from treespan.schemes.reduction import begin_round, contribute_if_due, handle_sums, handle_totals
from treespan.schemes.replicas import (
    ALIVE,
    CANDIDATE,
    MAX_PATH,
    MOVES,
    NO_CHOICE,
    NOT_HOT,
    OWN_IS_DUE,
    PATH,
    QUOTA,
    Replicas,
    add_result,
    adopt,
    begin_proposal,
    find_hot,
    know_keys,
    make_plan,
    next_planned_edge,
)
from treespan.schemes.tds import ROOT_VISITS, go_to_child, home_of
from treespan.search.tree import find_node

COPY_LEVEL = 2**31 - 1  # as test_at: the move was selected in a copy of a hot node, whose plan needs no stack test


@njit
def begin_everywhere(handle, row, slot):
    """The root is hot from the beginning; every rank has its share of jobs and playouts."""
    rank = value_of(handle)
    copies, tree = rank.extension, rank.tree
    node = find_node(tree, rank.root_key)
    make_plan(handle, row, adopt(handle, row, rank.root_key, node, np.int64(tree.node_count[node])), rank.all_jobs)
    know_keys(handle, row, 0)
    begin_round(handle, row)
    jobs = min(copies.jobs, copies.state[row, QUOTA])
    copies.state[row, ALIVE] = jobs
    for _ in range(jobs):
        restart_at_copy(handle, row, dequeue(rank.port, row, FREE))
    return 1


@njit
def restart_at_copy(handle, row, slot):
    """Send a job down from the copy of the root, if this rank has playouts left to grant; otherwise it ends."""
    rank = value_of(handle)
    port, state = rank.port, rank.extension.state[row]
    if state[QUOTA] == 0 or port.numbers[row, DRAINING] != 0:
        state[ALIVE] -= 1
        return 1
    granted = min(state[QUOTA], rank.grant, max(state[QUOTA] // (2 * rank.extension.jobs), 1))  # jobs end together
    state[QUOTA] -= granted
    job = port.jobs.headers[slot]
    job.kind, job.levels, job.target, job.value = SEARCH, 0, 0, NO_VALUE
    job.key, job.edge_visits, job.allowance = rank.root_key, ROOT_VISITS, granted
    enqueue(port, row, TREE, slot)
    return 1


@njit
def enter_copy(handle, row, slot):
    """A job for a position that is copied here: go down from the copy."""
    rank = value_of(handle)
    job = rank.port.jobs.headers[slot]
    hot = find_hot(rank.extension, row, job.key)
    if hot == NOT_HOT or job.levels >= rank.settings.max_depth:
        return 0
    descend_in_copies(handle, row, slot, hot)
    return 1


@njit
def descend_in_copies(handle, row, slot, hot):
    """Go down through copies of hot nodes by their plans, and on to the home of the first node that is not hot."""
    rank = value_of(handle)
    copies, tree, job = rank.extension, rank.tree, rank.port.jobs.headers[slot]
    while hot != NOT_HOT and job.levels < rank.settings.max_depth:
        node = copies.nodes[row, hot]
        if tree.node_player[node] == CHANCE:
            replay(rank.game, rank.work, rank.port.jobs, slot)
            choice = np.int64(chance(rank.game, rank.work.states[1], rank.random[row : row + 1]))
        else:
            choice = next_planned_edge(handle, row, hot)
            if choice == NO_CHOICE:
                enqueue(rank.port, row, PARKED, slot)
                return
        edge = np.uint32(tree.node_first[node] + np.uint32(choice))
        level = rank.port.jobs.levels[slot, job.levels]
        level.node, level.edge, level.move = node, edge, tree.edge_move[edge]
        level.home, level.player = rank.port.first + row, tree.node_player[node]
        level.gained_wins, level.gained_visits, level.test_at = 0.0, 0, COPY_LEVEL
        place = copies.offset[row, hot] + choice
        level.best_visits = copies.visits[row, place] + copies.new_visits[row, place]
        level.total = job.allowance
        copies.own_under_way[row, place] += job.allowance
        job.edge_visits = level.best_visits
        go_to_child(handle, slot, edge)
        hot = find_hot(copies, row, job.key)
    send(rank.port, row, slot, home_of(job.key, rank))


@njit
def consider_copying(handle, row, slot):
    """Propose the node at hand for the next round if it is hot, and the hottest that this rank has seen."""
    rank = value_of(handle)
    copies, tree, depth = rank.extension, rank.tree, rank.port.jobs.headers[slot].levels
    node = rank.port.jobs.levels[slot, depth].node
    state, visits = copies.state[row], tree.node_visits[node]
    if tree.node_flight[node] * copies.share <= rank.all_jobs or visits <= state[CANDIDATE] or depth > MAX_PATH:
        return 0
    if state[OWN_IS_DUE] == 0 or find_hot(copies, row, tree.node_key[node]) != NOT_HOT:
        return 0
    begin_proposal(copies, row, tree, node, visits)
    copies.own[row, PATH] = np.uint64(depth)
    for i in range(depth):
        copies.own[row, MOVES + i] = np.uint64(rank.port.jobs.levels[slot, i].move)
    return 0


@njit
def count_in_copy(handle, row, slot):
    """A result for a hot node goes into this rank's copy."""
    rank = value_of(handle)
    copies, tree, jobs = rank.extension, rank.tree, rank.port.jobs
    level = jobs.levels[slot, jobs.headers[slot].levels]
    hot = find_hot(copies, row, tree.node_key[level.node])
    if hot == NOT_HOT:
        return 0
    edge = np.int64(level.edge - tree.node_first[level.node])
    add_result(copies, row, hot, edge, level.gained_visits, level.gained_wins)
    if level.test_at == COPY_LEVEL:
        copies.own_under_way[row, copies.offset[row, hot] + edge] -= level.total
    else:  # the node was not hot yet when the job came by
        tree.edge_flight[level.edge] -= 1
        tree.node_flight[level.node] -= 1
    return 1


@njit
def handle_round(handle, row, slot):
    """A message of a reduction."""
    rank = value_of(handle)
    if rank.port.jobs.headers[slot].kind == SYNC_UP:
        return handle_sums(handle, row, slot)
    return handle_totals(handle, row, slot)


@njit
def contribute(handle, row, slot):
    return contribute_if_due(handle, row)


extend(
    Replicas,
    begin=begin_everywhere,
    restart=restart_at_copy,
    synchronise=handle_round,
    settle=contribute,
    enter=enter_copy,
    select=consider_copying,
    count_result=count_in_copy,
)
