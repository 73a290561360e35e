"""Rounds of the reduction that keeps the copies of hot nodes equal (`replicas.py`).

Sums of what is new flow up a tree of ranks to rank 0, totals flow down. With the sums travel the number of jobs alive
and proposals of nodes to copy; with the totals the nodes that are copied from now on.
"""

import numpy as np

from treespan.core.handles import value_of
from treespan.core.jit import njit, njit_inline
from treespan.games.rules import play
from treespan.schemes.messages import LEVEL_WORDS, NO_SLOT, SYNC_DOWN, SYNC_UP
from treespan.schemes.rank import (
    FREE,
    HANDLED,
    LEAVES_LENGTH,
    PARKED,
    TREE,
    TREE_LENGTH,
    announce_end,
    dequeue,
    enqueue,
    release,
    send,
)
from treespan.schemes.replicas import (
    ALIVE,
    ALIVE_SUM,
    ALIVE_WORD,
    BODY,
    CANDIDATE,
    COUNT,
    EDGES_USED,
    EDGES_WORD,
    FAN_OUT,
    HALF,
    HOT,
    KEY,
    LOW_HALF,
    MISSING,
    MOVES,
    OWN_IS_DUE,
    PATH,
    PLAN,
    PROPOSALS,
    PROPOSED,
    PROPOSED_WORD,
    QUIET_ROUNDS,
    ROUND,
    STATISTICS,
    VISITS,
    WORKED,
    adopt,
    foresee,
    has_room,
    know_keys,
    make_plan,
)
from treespan.search.tree import NO_NODE, TERMINAL, find_node
from treespan.search.uct import find_or_add


@njit
def begin_round(handle, row):
    """Wait for the contributions of the ranks below and of this one."""
    rank = value_of(handle)
    copies, me = rank.extension, rank.port.first + row
    state = copies.state[row]
    below = min(max(rank.port.ranks - (FAN_OUT * me + 1), 0), FAN_OUT)
    state[MISSING], state[OWN_IS_DUE] = below + 1, 1
    state[WORKED], state[ALIVE_SUM], state[PROPOSED] = 0, 0, 0
    state[ROUND] += 1
    for i in range(state[EDGES_USED]):
        copies.sum_visits[row, i], copies.sum_wins[row, i], copies.sum_under_way[row, i] = 0, 0.0, 0


@njit
def contribute_if_due(handle, row):
    """Contribute after some work, or when nothing else is to be done; gives the work that it took."""
    rank = value_of(handle)
    state, numbers = rank.extension.state[row], rank.port.numbers
    state[WORKED] += 1
    work = np.int64(0)
    while state[OWN_IS_DUE] != 0:
        if state[WORKED] < rank.extension.pause and numbers[row, TREE_LENGTH] + numbers[row, LEAVES_LENGTH] > 0:
            break
        work += contribute(handle, row)
        if rank.port.ranks > 1 or state[ALIVE] > 0:  # a rank alone ends its rounds by itself
            break
    return work


@njit
def contribute(handle, row):
    """Add what is new here to the sums of the round; gives the work that it took."""
    rank = value_of(handle)
    copies, state = rank.extension, rank.extension.state[row]
    state[OWN_IS_DUE] = 0
    state[ALIVE_SUM] += state[ALIVE]
    for i in range(state[EDGES_USED]):
        copies.sum_visits[row, i] += copies.new_visits[row, i]
        copies.sum_wins[row, i] += copies.new_wins[row, i]
        copies.sum_under_way[row, i] += copies.own_under_way[row, i]
        copies.new_visits[row, i], copies.new_wins[row, i] = 0, 0.0
    if state[CANDIDATE] > 0:
        propose(handle, row)
    return words_work(state[EDGES_USED]) + note_contribution(handle, row)


@njit_inline
def words_work(words):
    """Work of adding up numbers, in units of HANDLED: 1,000 additions are about one handled job."""
    return words * HANDLED // 1000


@njit
def propose(handle, row):
    """Put the statistics of this rank's candidate into its proposal."""
    rank = value_of(handle)
    copies, tree = rank.extension, rank.tree
    own, own_wins = copies.own[row], copies.own_wins[row]
    node = find_node(tree, own[KEY])
    first = tree.node_first[node]
    for i in range(np.int64(own[COUNT])):
        own[STATISTICS + 2 * i] = np.uint64(tree.edge_visits[first + i])
        own_wins[STATISTICS + 2 * i + 1] = tree.edge_wins[first + i]
    add_proposal(copies, row, own)


@njit
def add_proposal(copies, row, proposal):
    """Keep a proposal; if there are too many, the most visited ones."""
    state = copies.state[row]
    place = state[PROPOSED]
    if place == PROPOSALS:
        place = 0
        for i in range(1, PROPOSALS):
            if copies.proposals[row, i, VISITS] < copies.proposals[row, place, VISITS]:
                place = i
        if proposal[VISITS] <= copies.proposals[row, place, VISITS]:
            return
    else:
        state[PROPOSED] += 1
    for i in range(STATISTICS + 2 * np.int64(proposal[COUNT])):
        copies.proposals[row, place, i] = proposal[i]


@njit
def note_contribution(handle, row):
    """One contribution more: when all are there, pass the sums up, or at rank 0 end the round; gives the work."""
    rank = value_of(handle)
    state = rank.extension.state[row]
    state[MISSING] -= 1
    if state[MISSING] > 0:
        return 0
    me = rank.port.first + row
    if me > 0:
        slot = dequeue(rank.port, row, FREE)
        write_sums(handle, row, slot, SYNC_UP)
        send(rank.port, row, slot, (me - 1) // FAN_OUT)
        return words_work(state[EDGES_USED])
    state[QUIET_ROUNDS] = state[QUIET_ROUNDS] + 1 if state[ALIVE_SUM] == 0 else 0
    # A rank may have contributed before the last report of another rank's job reached it: one round more has all.
    is_over = state[QUIET_ROUNDS] == 2
    slot = dequeue(rank.port, row, FREE)
    write_sums(handle, row, slot, SYNC_DOWN)
    work = apply_totals(handle, row, slot, not is_over)
    if is_over:
        write_back(handle, row)
        announce_end(rank.port, row)
    return work


@njit
def write_sums(handle, row, slot, kind):
    """Make a message of this round's sums and proposals."""
    rank = value_of(handle)
    copies, jobs = rank.extension, rank.port.jobs
    state, words, floats = copies.state[row], jobs.level_words[slot], jobs.level_floats[slot]
    words[ALIVE_WORD], words[EDGES_WORD] = np.uint64(state[ALIVE_SUM]), np.uint64(state[EDGES_USED])
    words[PROPOSED_WORD] = np.uint64(state[PROPOSED])
    at = BODY
    for i in range(state[EDGES_USED]):
        words[at] = (np.uint64(copies.sum_under_way[row, i]) << HALF) | np.uint64(copies.sum_visits[row, i])
        floats[at + 1] = copies.sum_wins[row, i]
        at += 2
    for proposal in range(state[PROPOSED]):
        for i in range(STATISTICS + 2 * np.int64(copies.proposals[row, proposal, COUNT])):
            words[at] = copies.proposals[row, proposal, i]
            at += 1
    header = jobs.headers[slot]
    header.kind = kind
    header.levels = (at + LEVEL_WORDS - 1) // LEVEL_WORDS


@njit
def handle_sums(handle, row, slot):
    """A contribution of the ranks below has come; gives the work."""
    rank = value_of(handle)
    copies, jobs = rank.extension, rank.port.jobs
    state, words, floats = copies.state[row], jobs.level_words[slot], jobs.level_floats[slot]
    state[ALIVE_SUM] += np.int64(words[ALIVE_WORD])
    at, edges = BODY, np.int64(words[EDGES_WORD])
    for i in range(edges):
        copies.sum_visits[row, i] += np.int32(words[at] & LOW_HALF)
        copies.sum_under_way[row, i] += np.int32(words[at] >> HALF)
        copies.sum_wins[row, i] += floats[at + 1]
        at += 2
    for _ in range(np.int64(words[PROPOSED_WORD])):
        add_proposal(copies, row, words[at:])
        at += STATISTICS + 2 * np.int64(words[at + COUNT])
    release(rank.port, row, slot)
    return HANDLED + words_work(edges) + note_contribution(handle, row)


@njit
def handle_totals(handle, row, slot):
    """The totals of a round have come from above; gives the work."""
    return HANDLED + apply_totals(handle, row, slot, True)


@njit
def apply_totals(handle, row, slot, goes_on):
    """Pass the totals on to the ranks below, add them to the copies, plan anew; then the next round begins."""
    rank = value_of(handle)
    copies, port = rank.extension, rank.port
    state, words, floats = copies.state[row], port.jobs.level_words[slot], port.jobs.level_floats[slot]
    edges = np.int64(words[EDGES_WORD])
    work = words_work(2 * edges)
    if goes_on:
        work += pass_on(port, row, slot)
    proposed_key = copies.own[row, KEY] if state[CANDIDATE] > 0 else np.uint64(0)
    at = BODY + 2 * edges
    for _ in range(np.int64(words[PROPOSED_WORD])):
        count = np.int64(words[at + COUNT])
        if has_room(copies, row, count):
            copy_node(handle, row, words[at:], floats[at:], proposed_key)
        at += STATISTICS + 2 * count
    state[CANDIDATE] = 0
    hot = -1
    end, gained = 0, 0
    for i in range(edges):
        if i == end:
            work += plan_anew(handle, row, hot, gained)
            hot += 1
            end, gained = i + copies.edges[row, hot], 0
        visits = np.int32(words[BODY + 2 * i] & LOW_HALF)
        copies.visits[row, i] += visits
        copies.wins[row, i] += floats[BODY + 2 * i + 1]
        copies.under_way[row, i] = np.int32(words[BODY + 2 * i] >> HALF)
        gained += visits
    work += plan_anew(handle, row, hot, gained)
    release(port, row, slot)
    if goes_on:
        begin_round(handle, row)
    slot = dequeue(port, row, PARKED)
    while slot != NO_SLOT:  # other moves are open to this rank now
        enqueue(port, row, TREE, slot)
        slot = dequeue(port, row, PARKED)
    return work


@njit
def copy_node(handle, row, words, floats, proposed_key):
    """A node has become hot: build it in this rank's tree if it is not there, and take over its statistics."""
    rank = value_of(handle)
    copies, tree, work = rank.extension, rank.tree, rank.work
    key, count = words[KEY], np.int64(words[COUNT])
    node = find_node(tree, key)
    if node >= TERMINAL:
        work.states[1] = work.states[0]
        for i in range(np.int64(words[PATH])):
            play(rank.game, work.states[1], np.int64(words[MOVES + i]))
        node = find_or_add(rank.game, tree, work.states[1], rank.settings, work)
    hot = adopt(handle, row, key, node if node < TERMINAL else NO_NODE, count)
    offset, own = copies.offset[row, hot], copies.own[row]
    for i in range(count):
        at = STATISTICS + 2 * i
        copies.visits[row, offset + i], copies.wins[row, offset + i] = np.int32(words[at]), floats[at + 1]
        if key == proposed_key:  # what has come to the node's home since it was proposed
            edge = tree.node_first[node] + np.uint32(i)
            copies.new_visits[row, offset + i] = tree.edge_visits[edge] - np.int32(own[at])
            copies.new_wins[row, offset + i] = tree.edge_wins[edge] - copies.own_wins[row, at + 1]
    copies.depth[row, hot] = np.int32(words[PATH])
    for i in range(np.int64(words[PATH])):
        copies.paths[row, hot, i] = np.int32(words[MOVES + i])
    if node < TERMINAL:
        know_keys(handle, row, hot)
        make_plan(handle, row, hot, rank.all_jobs)


@njit
def pass_on(port, row, slot):
    """Send copies of the totals to the ranks below; gives the work."""
    me, jobs = port.first + row, port.jobs
    work = 0
    for below in range(FAN_OUT * me + 1, min(FAN_OUT * me + 1 + FAN_OUT, port.ranks)):
        copied = dequeue(port, row, FREE)
        length = jobs.headers[slot].levels
        for i in range(length * LEVEL_WORDS):
            jobs.level_words[copied, i] = jobs.level_words[slot, i]
        jobs.headers[copied].kind, jobs.headers[copied].levels = SYNC_DOWN, length
        send(port, row, copied, below)
        work += words_work(length * LEVEL_WORDS)
    return work


@njit
def plan_anew(handle, row, hot, gained):
    """Plan anew; gives the work."""
    rank = value_of(handle)
    if hot < 0:
        return 0
    copies = rank.extension
    if copies.nodes[row, hot] == NO_NODE:
        return 0
    make_plan(handle, row, hot, gained)
    foresee(handle, row, hot)
    return np.int64(copies.edges[row, hot]) * PLAN * HANDLED // 400  # a score takes some 5 ns, a handled job 2 us


@njit
def write_back(handle, row):
    """At the end: the copies' statistics go into the tree, where results are read."""
    rank = value_of(handle)
    copies, tree = rank.extension, rank.tree
    for hot in range(copies.state[row, HOT]):
        node, total = copies.nodes[row, hot], 0
        if node == NO_NODE:
            continue
        first = tree.node_first[node]
        for i in range(copies.edges[row, hot]):
            place = copies.offset[row, hot] + i
            tree.edge_visits[first + i] = copies.visits[row, place]
            tree.edge_wins[first + i] = copies.wins[row, place]
            total += copies.visits[row, place]
        tree.node_visits[node] = total
