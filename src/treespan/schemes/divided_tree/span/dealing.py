"""`span`: a job with many playouts waits at a node and deals them out to its moves, in parts that go on by themselves.

All playouts under way start at the root as one job. It gives each move as many of them as a search with so many
simulations under way would, and sends each move's portion to the home of its position. A part with more playouts than
`grant` waits there and does the same; one with fewer goes down as a job of df-UCT (`handlers.py`) and comes back to the
node where it was dealt out. So near the root a message speaks for hundreds of playouts.

- Playouts under way count with the mean so far (WU-UCT), so portions are what the sequential search would give.
- Portions are lumps: no less than 1 / LUMP of a move's visits, and 1 / PARTS of what is dealt out, but of that no more
  than 1 / FEW_VISITS of the visits. Moves that are searched rarely get their playouts rarely, some at a time: else each
  would cost the root's home a message a playout.
- A part that comes to a node where another part of the same job waits joins it: at most one waits for each path.
- A job deals again when it has 1 / DEALS of what its parts have; where messages crowd, as much as they have. It gets it
  from parts that come to it, at the root from the budget. It tells the job above of results when it has 1 / REPORTS of
  what it was given, and not less than that job can bear; when all parts are back it goes home itself. So nobody waits
  for the slowest part.
- If its node is proven, it tells the job above at once, and deals nothing out any more.
- A home with very much to deal out at a node is not given leaves to play out: messages would wait for that.
"""

from typing import NamedTuple

import numpy as np

from treespan.core.handles import first_of, value_of
from treespan.core.jit import njit, njit_inline, njit_unit
from treespan.games.rules import CHANCE, SECOND, chance
from treespan.schemes.divided_tree.handlers import (
    descend,
    end_job,
    go_to_child,
    node_of,
    put_level,
    report_to_last_level,
    send_down,
    send_leaf,
    start_job,
    visits_of,
)
from treespan.schemes.divided_tree.proofs import proof_for_first
from treespan.schemes.divided_tree.rank import TdsRank
from treespan.schemes.divided_tree.trail import append_trail, is_long
from treespan.schemes.protocol.evaluation import replay
from treespan.schemes.protocol.hooks import rank_of
from treespan.schemes.protocol.messages import (
    AMAF_LEVEL_WORDS,
    HEADER_WORDS,
    LEVEL_WORDS,
    LONGEST_TRAIL,
    NO_SLOT,
    NO_VALUE,
    REPORT,
)
from treespan.schemes.protocol.port import HANDLED, NO_LOAD, NOTHING, TREE, free_slots, new_slot, release, send
from treespan.search.bandits import NO_EDGE, score_edges
from treespan.search.options import RAVE
from treespan.search.tree import UNPROVEN

# Of the playouts that may be under way: a search begins with 1 / BEGIN of them, and then may have 1 / KNOWN of those
# that the root knows of. Later they are few beside the budget, and all ranks need some
BEGIN, KNOWN = 8, 4
LUMP, FEW_VISITS, PARTS, DEALS, REPORTS, CROWD = 64, 8, 32, 8, 16, 16
# Results that a job hears of at once: no less than 1 / HEARINGS of what it has under way. With reports of 8 results,
# whatever the job above had under way, 600 of them waited at homes near the root (1,200 ranks, 0.1 ms, b = 40)
LEAST, HEARINGS = 8, 128
MOVES_PER_WORK = 400  # a move takes some 5 ns to score, a handled message 2 us


class SpanRank(NamedTuple):
    """A rank, and what it needs to deal out playouts."""

    rank: TdsRank
    grant: int  # playouts that one job does at most; one with more deals them out
    under_way: int  # playouts of the whole search that may be under way
    busy_from: int  # playouts under way at one node from which on its home shall have no leaves to play out
    spare: int  # free slots that are not for parts
    waiting: np.ndarray  # int32[nodes], 1 + slot of the job that waits at a node; 0: none
    portions: np.ndarray  # int64[max_moves], scratch: playouts for each move


# Hooks of the generic handlers (`protocol/hooks.py`)


@njit
def restart(handle, row, slot):
    """A job with all playouts that may be under way starts at the root, if any are left."""
    span = value_of(handle)
    rank = rank_of(handle)
    budget = rank.port.budget[0]
    if budget.to_grant == 0 or rank.port.state[row].draining:
        end_job(rank.port, row)
        return 1
    granted = min(budget.to_grant, may_be_under_way(span, rank))
    budget.to_grant -= granted
    start_job(rank, row, slot, granted)
    rank.port.jobs.parts[slot].whole, rank.port.jobs.parts[slot].dealt = NO_SLOT, 0
    return 1


@njit
def expand_early(handle, row, slot):
    """A leaf that would be expanded on the way, with playouts that would be dealt out then, is expanded at once: nobody
    need wait for the first ones.

    Not on the strength of nothing: unless every move is tried once before any is again, a node without results would
    give all that it has to one move, that again to one, and so on to the end of the game.
    """
    settings, job = rank_of(handle).settings, rank_of(handle).port.jobs.parts[slot]
    tries_all = np.isinf(settings.fpu) and settings.bandit < RAVE
    is_reached = job.edge_visits + job.allowance > settings.threshold
    return np.int64(is_large_part(value_of(handle), job) and is_reached and (tries_all or job.edge_visits > 0))


@njit
def take_over(handle, row, slot):
    """A job deals out its playouts at a node. Returns 1 + the work; 0: it goes on itself."""
    job = rank_of(handle).port.jobs.parts[slot]
    is_of_root = job.levels == 0 and job.allowance > 1
    if not is_of_root and not is_large_part(value_of(handle), job):
        return np.int64(0)
    return 1 + settle(handle, row, slot, node_of(first_of(handle), row, slot))


@njit
def come_back(handle, row, slot):
    """A part, or a report of one, is back where it was dealt out. Returns 1 + the work; 0: the job is no part."""
    is_part = rank_of(handle).port.jobs.parts[slot].whole != NO_SLOT
    return 1 + take_back(handle, row, slot) if is_part else np.int64(0)


@njit_inline
def is_large_part(span, job):
    """Whether a job was dealt out, has come to the first node below, and has too much for one job."""
    return job.allowance > span.grant and job.whole != NO_SLOT and job.levels == job.top + 1


@njit_inline
def may_be_under_way(span, rank):
    """Playouts that may be under way now, as the root's home knows the tree."""
    most = span.under_way
    return max(1, min(most, max(most // BEGIN, rank.tree.node_visits[rank.root[0]] // KNOWN)))


# A job that waits at a node


@njit
def settle(handle, row, slot, node):
    """A job stays at a node and deals out its playouts, or leaves them to one that waits there. Returns the work."""
    span = value_of(handle)
    rank = rank_of(handle)
    jobs, waiting = rank.port.jobs, np.int64(span.waiting[node]) - 1
    job = jobs.parts[slot]
    if waiting == NO_SLOT:
        span.waiting[node] = slot + 1
    elif is_of_same_job(jobs, slot, waiting):
        whole = jobs.parts[waiting]
        whole.allowance += job.allowance
        jobs.levels[waiting, whole.top].under_way += jobs.levels[slot, job.top].under_way
        whole.report_from = job.report_from
        take_results(handle, row, slot, job.levels - 1, waiting)  # it may have played out here when there was no node
        release(rank.port, row, slot)
        return go_on(handle, row, waiting, node)
    return deal(handle, row, slot, node)


@njit_inline
def is_of_same_job(jobs, slot, other):
    """Whether two parts were dealt out by one job, for one move: a position may be come to by several ways."""
    depth = jobs.parts[slot].top
    level, waits = jobs.levels[slot, depth], jobs.levels[other, depth]
    is_same = jobs.parts[slot].whole == jobs.parts[other].whole and depth == jobs.parts[other].top
    return is_same and level.home == waits.home and level.edge == waits.edge


@njit_unit("int64")
def deal(handle, row, slot, node):
    """Deal out the playouts of a job to the moves of a node. Returns the work."""
    span = value_of(handle)
    rank = rank_of(handle)
    tree, port = rank.tree, rank.port
    whole, portions = port.jobs.parts[slot], span.portions
    first, count = tree.node_first[node], np.int64(tree.node_count[node])
    keep_free(span, rank, row, whole.dealt + whole.allowance)
    scored = choose_portions(handle, row, slot, node)
    report_from = max(LEAST, (whole.dealt + whole.allowance) // HEARINGS)
    largest = first_largest(portions, count)
    for i in range(-1, count):  # the largest first: it has most to do
        move = largest if i < 0 else i
        if portions[move] > 0:
            if free_slots(port, row) > span.spare:
                send_part(handle, row, slot, node, np.uint32(first + move), report_from)
            else:  # they stay with the job
                tree.edge_flight[first + move] -= portions[move]
                tree.node_flight[node] -= portions[move]
            portions[move] = 0
    if whole.dealt == 0:  # no slot was free: it goes down itself
        leave(span, rank, row, slot, node)
        if is_long(port.jobs, slot):
            go_home(handle, row, slot)
        else:
            descend(first_of(handle), row, slot, node)
    return scored * count * HANDLED // MOVES_PER_WORK


@njit_inline
def keep_free(span, rank, row, playouts):
    """Keep a rank free of leaves while it deals out so many playouts at one node, or give it some again. Only the node
    that was dealt with last counts; the root's home never gets any."""
    if rank.port.first + row >= rank.reserved:
        rank.port.state[row].kept_free = NO_LOAD if playouts >= span.busy_from else 0


@njit
def choose_portions(handle, row, slot, node):
    """How many of a job's playouts each move gets; all are under way at once. Returns how often moves were scored."""
    rank, portions = rank_of(handle), value_of(handle).portions
    tree, scores = rank.tree, rank.work.scores
    first, left = tree.node_first[node], np.int64(rank.port.jobs.parts[slot].allowance)
    least, scored = left // PARTS, 0
    for i in range(np.int64(tree.node_count[node])):
        portions[i] = 0
    if tree.node_player[node] == CHANCE:
        replay(rank.game, rank.work, rank.port.jobs, slot)
    while left > 0:
        if tree.node_player[node] == CHANCE:
            move, lump = np.int64(chance(rank.game, rank.work.states[1], rank.random[row : row + 1])), np.int64(1)
        else:
            move = first_largest(scores, np.int64(score_edges(tree, node, rank.settings, scores)))
            visits = np.int64(tree.edge_visits[first + move]) + tree.edge_flight[first + move]
            lump = min(left, max(1, visits // LUMP, min(least, visits // FEW_VISITS)))
            scored += 1
        portions[move] += lump
        tree.edge_flight[first + move] += lump
        tree.node_flight[node] += lump
        left -= lump
    return scored


@njit_inline
def first_largest(values, count):
    """Where the largest of so many values is; of equal ones the first."""
    largest = 0
    for i in range(1, count):
        if values[i] > values[largest]:
            largest = i
    return largest


@njit
def send_part(handle, row, slot, node, edge, report_from):
    """Send a move's portion of a job's playouts to the home of the next position."""
    rank = rank_of(handle)
    tree, port, jobs = rank.tree, rank.port, rank.port.jobs
    part, portion = new_slot(port, row), value_of(handle).portions[edge - tree.node_first[node]]
    copy_job(jobs, slot, part)
    whole, job = jobs.parts[slot], jobs.parts[part]
    job.top, job.whole, job.report_from, job.dealt = whole.levels, slot, report_from, 0
    job.allowance, job.value, job.trail = portion, NO_VALUE, 0
    put_level(rank, row, part, node, edge, NO_EDGE)  # no second move: the portion is for this one
    jobs.levels[part, job.top].under_way = portion
    job.edge_visits = visits_of(rank, edge, np.int32(tree.edge_flight[edge] - portion))
    whole.dealt += portion
    whole.allowance -= portion
    go_to_child(first_of(handle), part, edge)
    send_down(first_of(handle), row, part)


@njit
def share_leaf(handle, row, slot):
    """A part has many playouts and a leaf that stays one, as the end of a game or in a full tree: others take some."""
    span = value_of(handle)
    rank, grant = rank_of(handle), span.grant
    jobs = rank.port.jobs
    job = jobs.parts[slot]
    while rank.place_idle and is_large_part(span, job) and free_slots(rank.port, row) > span.spare:
        other = new_slot(rank.port, row)
        copy_job(jobs, slot, other)
        helper, level = jobs.parts[other], jobs.levels[other, job.top]
        helper.allowance, level.under_way, helper.trail = grant, grant, 0
        helper.edge_visits += job.allowance  # by which chance finds a place for each of them
        level.gained_visits, level.gained_wins = 0, 0.0
        if jobs.plane_words > 0:
            for word in range(job.top * AMAF_LEVEL_WORDS, job.levels * AMAF_LEVEL_WORDS):
                jobs.amaf_level_words[other, word] = jobs.amaf_level_words[slot, word]
        job.allowance -= grant
        jobs.levels[slot, job.top].under_way -= grant
        send_leaf(first_of(handle), row, other)
    return 0


@njit
def copy_job(jobs, source, target):
    """Copy a job's header and levels, but not what RAVE adds."""
    for word in range(HEADER_WORDS):
        jobs.header_words[target, word] = jobs.header_words[source, word]
    for word in range(jobs.parts[source].levels * LEVEL_WORDS):
        jobs.level_words[target, word] = jobs.level_words[source, word]


@njit
def take_back(handle, row, slot):
    """A part, or a report of one, is back where it was dealt out, and its results are counted. Returns the work."""
    rank = rank_of(handle)
    jobs, waiting = rank.port.jobs, np.int64(rank.port.jobs.parts[slot].whole)
    part, whole = jobs.parts[slot], jobs.parts[waiting]
    node = jobs.levels[slot, part.top].node
    whole.dealt -= jobs.levels[slot, part.top].under_way
    whole.allowance += part.allowance
    if whole.levels > 0:
        take_results(handle, row, slot, part.top, waiting)
    release(rank.port, row, slot)
    return go_on(handle, row, waiting, node)


@njit
def take_results(handle, row, slot, depth, waiting):
    """What a part has gained at a level, the job that waits for it has gained, too, for whoever moved there.

    With RAVE the moves of its playouts come along. If they do not fit behind those that wait, these go up before: were
    all results told above, that job might be gone when this one goes home. Without a slot for that, they are left out.
    """
    jobs = rank_of(handle).port.jobs
    if jobs.plane_words > 0 and jobs.parts[waiting].trail + jobs.parts[slot].trail > LONGEST_TRAIL:
        tell_above(handle, row, waiting)
    level, above = jobs.levels[slot, depth], jobs.levels[waiting, jobs.parts[waiting].levels - 1]
    wins = level.gained_wins
    if (level.player == SECOND) != (above.player == SECOND):
        wins = level.gained_visits - wins
    above.gained_visits += level.gained_visits
    above.gained_wins += wins
    if jobs.plane_words > 0:
        append_trail(jobs, slot, waiting)


@njit
def go_on(handle, row, slot, node):
    """A job that waits has heard something: deal again, tell the job above, or go home. Returns the work."""
    span = value_of(handle)
    rank = rank_of(handle)
    port, whole = rank.port, rank.port.jobs.parts[slot]
    if port.state[row].draining:
        whole.allowance = 0
    elif whole.levels == 0:
        port.state[row].all_playouts = rank.tree.node_visits[node] - rank.visits_before
        granted = may_be_under_way(span, rank) - whole.dealt - whole.allowance
        granted = max(0, min(port.budget[0].to_grant, granted))
        port.budget[0].to_grant -= granted
        whole.allowance += granted
    is_told, is_proven = whole.proof != UNPROVEN, rank.tree.node_proven[node] != UNPROVEN
    whole.proof = proof_for_first(rank.tree, node)
    deals = DEALS if port.queues[row, TREE].length <= CROWD else 1
    if not is_proven and whole.allowance > 0 and whole.allowance * deals >= whole.dealt:
        return deal(handle, row, slot, node)
    if whole.dealt == 0:
        leave(span, rank, row, slot, node)
        go_home(handle, row, slot)
    elif whole.levels > 0:
        level = port.jobs.levels[slot, whole.top]
        is_enough = level.gained_visits >= max(whole.report_from, level.under_way // REPORTS)
        if is_enough or (is_proven and not is_told):
            tell_above(handle, row, slot)
    return NOTHING


@njit_inline
def leave(span, rank, row, slot, node):
    """A job waits no longer at a node."""
    keep_free(span, rank, row, 0)
    if span.waiting[node] == slot + 1:
        span.waiting[node] = 0


@njit
def go_home(handle, row, slot):
    """A job goes back to where it was dealt out, with the playouts that it has left, or starts again at the root."""
    whole = rank_of(handle).port.jobs.parts[slot]
    whole.target = whole.top
    report_to_last_level(first_of(handle), row, slot)


@njit
def tell_above(handle, row, slot):
    """Send the job above what this one has gained so far, while it waits for the rest."""
    port, jobs = rank_of(handle).port, rank_of(handle).port.jobs
    whole, level = jobs.parts[slot], jobs.levels[slot, jobs.parts[slot].levels - 1]
    if level.gained_visits == 0 or free_slots(port, row) <= value_of(handle).spare:
        return
    message = new_slot(port, row)
    copy_job(jobs, slot, message)
    report = jobs.parts[message]
    report.kind, report.target, report.allowance = REPORT, report.top, 0
    jobs.levels[message, report.top].under_way = level.gained_visits
    if jobs.plane_words > 0:
        jobs.amaf_levels[message, report.top].trail_from = 0
        report.trail = 0
        append_trail(jobs, slot, message)
        whole.trail = 0
    level.under_way -= level.gained_visits
    level.gained_visits, level.gained_wins = 0, 0.0
    send(port, row, message, np.int64(level.home))
