"""The handlers of rounds: contribute, add up, take over (`rounds.py`)."""

import math

import numpy as np

from treespan.core.handles import value_of
from treespan.core.jit import njit, njit_inline
from treespan.games.rules import candidates, key, play
from treespan.schemes.protocol.messages import LEVEL_WORDS, NO_SLOT, SYNC_DOWN, SYNC_UP
from treespan.schemes.protocol.port import HANDLED, URGENT, announce_end, enqueue, new_slot, release, send
from treespan.schemes.whole_trees.averaging.agreement import may_extend, vote
from treespan.schemes.whole_trees.averaging.rounds import (
    BODY,
    DUE,
    FAN_OUT,
    FIELDS,
    GRAIN,
    PROVEN,
    VISITS,
    WINS,
    ranks_below,
)
from treespan.search.solver import node_proof
from treespan.search.tree import NO_NODE, TERMINAL
from treespan.search.uct import find_or_add, order_moves

# The points of `whole_trees/handlers.py`


@njit
def contribute_in_time(handle, row, slot):
    """After each simulation: contribute if it is time."""
    rounds = value_of(handle)
    state, now = rounds.state[row], rounds.rank.port.state[row].now
    if state.due_at == 0:
        state.due_at = now + rounds.period_ns
    if state.own_is_due and now >= state.due_at:
        write_note(rounds.rank.port, row, state)
    return 0


@njit
def contribute_all(handle, row, slot):
    """This rank has finished: contribute what it has."""
    rounds = value_of(handle)
    if rounds.state[row].own_is_due:
        write_note(rounds.rank.port, row, rounds.state[row])
    return 0


@njit
def handle_round(handle, row, slot):
    """A message of a round has come. Returns the work."""
    rounds = value_of(handle)
    state, port = rounds.state[row], rounds.rank.port
    kind = port.jobs.notes[slot].kind
    if kind == SYNC_DOWN:
        return take_totals(handle, row, slot)
    if kind == SYNC_UP:
        work = take_sums(handle, row, slot)
    else:
        state.has_note = False
        work = contribute(handle, row)
    release(port, row, slot)
    if state.missing > 0:
        return work
    me = port.first + row
    if me == 0 and state.phase == 0 and state.ended == port.ranks and not may_extend(handle, row):
        write_result(handle, row)
        announce_end(port, row)
        return work
    slot = new_slot(port, row)
    work += write_sums(handle, row, slot)
    if me == 0:
        return work + take_totals(handle, row, slot)
    send(port, row, slot, (me - 1) // FAN_OUT)
    return work


@njit
def write_note(port, row, state):
    """Contribute as soon as possible, as a unit of work of its own."""
    if not state.has_note:
        slot = new_slot(port, row)
        if slot != NO_SLOT:
            state.has_note = True
            port.jobs.notes[slot].kind = DUE
            enqueue(port, row, URGENT, slot)


# Sums


@njit_inline
def width_of(state):
    """Numbers that are summed up for each move in this phase."""
    return FIELDS if state.phase == 0 else 2


@njit_inline
def words_work(words):
    """Work of adding up numbers, in units of HANDLED: 1,000 additions are about one handled job."""
    return words * HANDLED // 1000


@njit
def contribute(handle, row):
    """Add what is new in this rank's tree to the sums of the phase. Returns the work."""
    rounds = value_of(handle)
    tree, state = rounds.rank.tree, rounds.state[row]
    state.own_is_due = False
    state.due_at = rounds.rank.port.state[row].now + rounds.period_ns
    width, at = width_of(state), 0
    for i in range(state.selected):
        shared = rounds.selected[row, i]
        node = rounds.nodes[row, shared]
        for j in range(rounds.sizes[row, shared]):
            if node != NO_NODE:
                edge, place = tree.node_first[node] + np.uint32(j), rounds.first[row, shared] + j
                visits = tree.edge_visits[edge] - rounds.base_visits[row, place]
                wins = tree.edge_wins[edge] - rounds.base_wins[row, place]
                rounds.sums[row, at + VISITS] += visits
                rounds.sums[row, at + WINS] += wins
                rounds.base_visits[row, place] += visits
                rounds.base_wins[row, place] = tree.edge_wins[edge]
                if shared == 0:
                    rounds.own_visits[row, j] += visits
                    rounds.own_wins[row, j] += wins
                    rounds.sums[row, at + PROVEN] = max(rounds.sums[row, at + PROVEN], tree.edge_proven[edge])
            at += width
    state.missing -= 1
    if state.phase == 0:
        state.ended += rounds.rank.state[row].has_finished
        vote(rounds, row)
    return words_work(at)


@njit
def take_sums(handle, row, slot):
    """A contribution of ranks below has come. Returns the work."""
    rounds = value_of(handle)
    state, port = rounds.state[row], rounds.rank.port
    message, floats = rounds.messages[slot, 0], port.jobs.level_floats[slot]
    length, width = message.length, width_of(state)
    state.ended += message.ended
    for i in range(length):
        if i % width == PROVEN:
            rounds.sums[row, i] = max(rounds.sums[row, i], floats[BODY + i])
        else:
            rounds.sums[row, i] += floats[BODY + i]
    state.missing -= 1
    return words_work(length)


@njit
def write_sums(handle, row, slot):
    """Make a message of this phase's sums. Returns the work."""
    rounds = value_of(handle)
    state, jobs = rounds.state[row], rounds.rank.port.jobs
    message, floats, width = rounds.messages[slot, 0], jobs.level_floats[slot], width_of(state)
    length = 0
    for i in range(state.selected):
        length += width * rounds.sizes[row, rounds.selected[row, i]]
    message.ended, message.length = state.ended, length
    message.extends = state.phase == 0 and state.ended == rounds.rank.port.ranks
    for i in range(length):
        floats[BODY + i] = rounds.sums[row, i]
    note = jobs.notes[slot]
    note.kind = SYNC_UP if rounds.rank.port.first + row > 0 else SYNC_DOWN
    note.levels = (BODY + length + LEVEL_WORDS - 1) // LEVEL_WORDS
    return words_work(length)


@njit
def write_result(handle, row):
    """The root of rank 0 gets the simulations of all ranks, each once."""
    rounds = value_of(handle)
    tree, root = rounds.rank.tree, rounds.nodes[row, 0]
    tree.node_visits[root] = 0
    for i in range(rounds.sizes[row, 0]):
        edge = tree.node_first[root] + np.uint32(i)
        visits = rounds.total_visits[row, i] + rounds.sums[row, FIELDS * i + VISITS]
        tree.edge_visits[edge] = np.int32(visits)
        tree.edge_wins[edge] = rounds.total_wins[row, i] + rounds.sums[row, FIELDS * i + WINS]
        tree.edge_proven[edge] = np.int8(rounds.sums[row, FIELDS * i + PROVEN])
        tree.node_visits[root] += np.int32(visits)
    tree.node_proven[root] = node_proof(tree, root)


# Totals


@njit
def take_totals(handle, row, slot):
    """The totals of a phase are there: pass them on, take them over, go to the next phase or round. Returns work."""
    rounds = value_of(handle)
    state, port = rounds.state[row], rounds.rank.port
    message, floats = rounds.messages[slot, 0], port.jobs.level_floats[slot]
    work = pass_on(port, row, slot) + words_work(2 * message.length)
    width, at = width_of(state), BODY
    for i in range(state.selected):
        shared = rounds.selected[row, i]
        take_over(handle, row, shared, floats[at:], width)
        at += width * rounds.sizes[row, shared]
    if message.extends:
        rounds.rank.state[row].quota += rounds.more_playouts[row, state.extended]
        state.extended += 1
        rounds.rank.state[row].stop_at += rounds.more_ns
        rounds.rank.state[row].has_finished = False
    release(port, row, slot)
    selected = select_below(handle, row) if state.phase < rounds.depth else 0
    work += selected * HANDLED  # each is looked up by its moves
    if selected > 0:
        state.phase += 1
    else:
        state.phase, state.selected, rounds.selected[row, 0] = 0, 1, 0
        state.rounds_done += 1
    begin_phase(handle, row)
    if state.phase > 0 or rounds.rank.state[row].has_finished:
        write_note(port, row, state)
    return work


@njit
def pass_on(port, row, slot):
    """Send copies of the totals to the ranks below. Returns the work."""
    me, jobs = port.first + row, port.jobs
    length, work = jobs.notes[slot].levels * LEVEL_WORDS, 0
    for below in range(FAN_OUT * me + 1, min(FAN_OUT * me + 1 + FAN_OUT, port.ranks)):
        copied = new_slot(port, row)
        for i in range(length):
            jobs.level_words[copied, i] = jobs.level_words[slot, i]
        jobs.notes[copied].kind, jobs.notes[copied].levels = SYNC_DOWN, jobs.notes[slot].levels
        send(port, row, copied, below)
        work += words_work(length)
    return work


@njit
def take_over(handle, row, shared, floats, width):
    """A node takes the average, or the sum, over all ranks, and on top what this rank did since it contributed."""
    rounds = value_of(handle)
    tree, node, divisor = rounds.rank.tree, rounds.nodes[row, shared], rounds.divisor
    for i in range(rounds.sizes[row, shared]):
        place = rounds.first[row, shared] + i
        rounds.total_visits[row, place] += floats[width * i + VISITS]
        rounds.total_wins[row, place] += floats[width * i + WINS]
        if node == NO_NODE:
            continue
        edge = tree.node_first[node] + np.uint32(i)
        total, wins = rounds.total_visits[row, place], rounds.total_wins[row, place]
        visits = np.int64(math.ceil(total / divisor))  # a move that any rank has tried counts as tried
        if divisor > 1 and total > 0.0:
            wins = math.floor(wins / total * visits * GRAIN + 0.5) / GRAIN
        change = np.int32(visits - rounds.base_visits[row, place])
        tree.edge_visits[edge] += change
        tree.node_visits[node] += change
        tree.edge_wins[edge] = wins + (tree.edge_wins[edge] - rounds.base_wins[row, place])
        rounds.base_visits[row, place], rounds.base_wins[row, place] = visits, wins


@njit
def begin_phase(handle, row):
    """Wait for the contributions of the ranks below and of this one."""
    rounds = value_of(handle)
    state = rounds.state[row]
    state.missing = ranks_below(rounds.rank.port.first + row, rounds.rank.port.ranks) + 1
    state.own_is_due, state.ended = True, 0
    length, width = 0, width_of(state)
    for i in range(state.selected):
        length += width * rounds.sizes[row, rounds.selected[row, i]]
    for i in range(length):
        rounds.sums[row, i] = 0.0


@njit
def select_below(handle, row):
    """Select the nodes of the next depth: those with enough of all simulations. Returns their number."""
    rounds = value_of(handle)
    state = rounds.state[row]
    total = 0.0
    for i in range(rounds.sizes[row, 0]):
        total += rounds.total_visits[row, i]
    least = max(rounds.min_visits * rounds.divisor, rounds.share * total, 1.0)
    above, found = state.selected, 0
    for i in range(above):
        rounds.above[i] = rounds.selected[row, i]
    for i in range(above):
        shared = rounds.above[i]
        for j in range(rounds.sizes[row, shared]):
            if rounds.total_visits[row, rounds.first[row, shared] + j] >= least:
                below = share_child(handle, row, shared, j)
                if below != 0 and not is_among(rounds.selected[row], found, below):
                    rounds.selected[row, found] = below
                    found += 1
    if found > 0:
        state.selected = found
    return found


@njit_inline
def is_among(numbers, count, wanted):
    found = False
    for i in range(count):
        found |= numbers[i] == wanted
    return found


@njit
def share_child(handle, row, shared, choice):
    """The number of the node that a move of a shared node leads to, 0 if it is not shared."""
    rounds, rank = value_of(handle), value_of(handle).rank
    game, tree, work, state = rank.game, rank.tree, rank.work, rounds.state[row]
    depth = rounds.levels[row, shared]
    move = rounds.moves[row, rounds.first[row, shared] + choice]
    work.states[1] = work.states[0]
    work.standing[0] = NO_SLOT
    for i in range(depth):
        play(game, work.states[1], rounds.paths[row, shared, i])
    play(game, work.states[1], move)
    position_key = key(game, work.states[1])
    for known in range(state.shared):
        if rounds.keys[row, known] == position_key:
            return np.int64(known)
    count = candidates(game, work.states[1], work.moves)
    new, first = state.shared, state.places
    if count == 0 or new == rounds.nodes.shape[1] or first + count > rounds.moves.shape[1]:
        return np.int64(0)
    state.shared, state.places = new + 1, first + count
    rounds.keys[row, new], rounds.first[row, new], rounds.sizes[row, new] = position_key, first, count
    rounds.levels[row, new] = depth + 1
    for i in range(depth):
        rounds.paths[row, new, i] = rounds.paths[row, shared, i]
    rounds.paths[row, new, depth] = move
    order_moves(game, work.states[1], position_key, count, rank.settings, work, len(tree.edge_prior) > 0)
    for i in range(count):  # all ranks need them, also one whose tree is full
        rounds.moves[row, first + i] = work.moves[i]
    work.salt[0] = rank.salts[row]
    node = find_or_add(game, tree, work.states[1], rank.settings, work)
    rounds.nodes[row, new] = node if node < TERMINAL else NO_NODE
    parent = rounds.nodes[row, shared]
    if parent != NO_NODE and node < TERMINAL:
        tree.edge_child[tree.node_first[parent] + np.uint32(choice)] = node
    return np.int64(new)
