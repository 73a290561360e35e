"""`span`: a job with many playouts waits at a node and deals them out to its moves, in parts that go on by themselves.

All playouts under way start at the root as one job. It gives each move as many of them as a search with so many
simulations under way would, and sends each move's portion to the home of its position. A part with more playouts than
`grant` waits there and does the same; one with fewer goes down as a job of df-UCT (`divided_tree/handlers.py`) and comes back to the node
where it was dealt out. So near the root a message speaks for hundreds of playouts.

- Playouts under way count with the mean so far (WU-UCT), so portions are what the sequential search would give.
- Portions are lumps: no less than 1 / LUMP of a move's visits, and 1 / PARTS of what is dealt out, but of that no more
  than 1 / FEW_VISITS of the visits. Moves that are searched rarely get their playouts rarely, some at a time: else each
  would cost the root's home a message a playout.
- A part that comes to a node where another part of the same job waits joins it: at most one waits for each path.
- A job deals again when it has 1 / DEALS of what its parts have; where messages crowd, as much as they have. It gets it
  from parts that come to it, at the root from the budget. It tells the job above of results when it has 1 / REPORTS of
  what it was given, and not less than that job can bear; when all parts are back it goes home itself. So nobody waits
  for the slowest part.
- A home with very much to deal out at a node is not given leaves to play out: messages would wait for that.
"""

import numpy as np

from treespan.core.handles import value_of
from treespan.core.jit import njit, njit_inline
from treespan.games.rules import CHANCE, SECOND, chance
from treespan.schemes.divided_tree.descent import (
    descend,
    go_to_child,
    is_large_part,
    put_level,
    send_down,
    send_leaf,
    visits_of,
)
from treespan.schemes.divided_tree.grants import may_be_under_way, restart_job
from treespan.schemes.divided_tree.trail import append_trail, is_long
from treespan.schemes.protocol.evaluation import replay
from treespan.schemes.protocol.messages import (
    AMAF_LEVEL_WORDS,
    HEADER_WORDS,
    LEVEL_WORDS,
    LONGEST_TRAIL,
    NO_SLOT,
    NO_VALUE,
    REPORT,
)
from treespan.schemes.protocol.port import (
    ALL_PLAYOUTS,
    DRAINING,
    HANDLED,
    KEPT_FREE,
    NO_LOAD,
    NOTHING,
    TO_GRANT,
    TREE_LENGTH,
    free_slots,
    new_slot,
    release,
    send,
)
from treespan.search.bandits import NO_EDGE, score_edges

LUMP, FEW_VISITS, PARTS, DEALS, REPORTS, CROWD = 64, 8, 32, 8, 16, 16
# Results that a job hears of at once: no less than 1 / HEARINGS of what it has under way. With reports of 8 results,
# whatever the job above had under way, 600 of them waited at homes near the root (1,200 ranks, 0.1 ms, b = 40)
LEAST, HEARINGS = 8, 128
MOVES_PER_WORK = 400  # a move takes some 5 ns to score, a handled message 2 us


@njit_inline
def is_dealt_out(rank, job):
    """Whether a job that has come to a node deals out its playouts there: the root's whenever it has more than one, a
    part at the first node that it comes to."""
    if job.levels == 0:
        return rank.dealing.grant > 0 and job.allowance > 1
    return is_large_part(rank, job)


@njit
def settle(handle, row, slot, node):
    """A job stays at a node and deals out its playouts; or leaves them to the one that waits there. Gives the work."""
    rank = value_of(handle)
    jobs, waiting = rank.port.jobs, np.int64(rank.dealing.waiting[node]) - 1
    job = jobs.headers[slot]
    if waiting == NO_SLOT:
        rank.dealing.waiting[node] = slot + 1
    elif is_of_same_job(jobs, slot, waiting):
        whole = jobs.headers[waiting]
        whole.allowance += job.allowance
        whole.flights += job.flights
        whole.report_from = job.report_from
        take_results(handle, row, slot, job.levels - 1, waiting)  # it may have played out here when there was no node
        release(rank.port, row, slot)
        return go_on(handle, row, waiting, node)
    return deal(handle, row, slot, node)


@njit_inline
def is_of_same_job(jobs, slot, other):
    """Whether two parts were dealt out by one job, for one move: a position may be come to by several ways."""
    depth = jobs.headers[slot].top
    level, waits = jobs.levels[slot, depth], jobs.levels[other, depth]
    is_same = jobs.headers[slot].whole == jobs.headers[other].whole and depth == jobs.headers[other].top
    return is_same and level.home == waits.home and level.edge == waits.edge


@njit
def deal(handle, row, slot, node):
    """Deal out the playouts of a job to the moves of a node; gives the work."""
    rank = value_of(handle)
    tree, port = rank.tree, rank.port
    whole, portions = port.jobs.headers[slot], rank.dealing.portions
    first, count = tree.node_first[node], np.int64(tree.node_count[node])
    keep_free(rank, row, whole.dealt + whole.allowance)
    scored = choose_portions(handle, row, slot, node)
    report_from = max(LEAST, (whole.dealt + whole.allowance) // HEARINGS)
    largest = first_largest(portions, count)
    for i in range(-1, count):  # the largest first: it has most to do
        move = largest if i < 0 else i
        if portions[move] > 0:
            if free_slots(port, row) > rank.dealing.spare:
                send_part(handle, row, slot, node, np.uint32(first + move), report_from)
            else:  # they stay with the job
                tree.edge_flight[first + move] -= portions[move]
                tree.node_flight[node] -= portions[move]
            portions[move] = 0
    if whole.dealt == 0:  # no slot was free: it goes down itself
        leave(rank, row, slot, node)
        if is_long(port.jobs, slot):
            go_home(handle, row, slot)
        else:
            descend(handle, row, slot, node)
    return scored * count * HANDLED // MOVES_PER_WORK


@njit_inline
def keep_free(rank, row, playouts):
    """Keep a rank free of leaves while it deals out so many playouts at one node, or give it some again. Only the node
    that was dealt with last counts; the root's home never gets any."""
    if rank.port.first + row >= rank.reserved:
        rank.port.numbers[row, KEPT_FREE] = NO_LOAD if playouts >= rank.dealing.busy_from else 0


@njit
def choose_portions(handle, row, slot, node):
    """How many of a job's playouts each move gets; they are under way at once. Gives how often moves were scored."""
    rank = value_of(handle)
    tree, scores, portions = rank.tree, rank.work.scores, rank.dealing.portions
    first, left = tree.node_first[node], np.int64(rank.port.jobs.headers[slot].allowance)
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
    rank = value_of(handle)
    tree, port, jobs = rank.tree, rank.port, rank.port.jobs
    part, portion = new_slot(port, row), rank.dealing.portions[edge - tree.node_first[node]]
    copy_job(jobs, slot, part)
    whole, job = jobs.headers[slot], jobs.headers[part]
    job.top, job.whole, job.report_from, job.dealt = whole.levels, slot, report_from, 0
    job.allowance, job.flights, job.value, job.trail = portion, portion, NO_VALUE, 0
    put_level(rank, row, part, node, edge, NO_EDGE)  # no second move: the portion is for this one
    job.edge_visits = visits_of(tree, rank.settings, edge, np.int32(tree.edge_flight[edge] - portion))
    whole.dealt += portion
    whole.allowance -= portion
    go_to_child(handle, part, edge)
    send_down(handle, row, part)


@njit
def share_leaf(handle, row, slot):
    """A part has many playouts and a leaf that stays one, as the end of a game or in a full tree: others take some."""
    rank = value_of(handle)
    jobs, grant = rank.port.jobs, rank.dealing.grant
    job = jobs.headers[slot]
    while rank.place_idle and is_large_part(rank, job) and free_slots(rank.port, row) > rank.dealing.spare:
        other = new_slot(rank.port, row)
        copy_job(jobs, slot, other)
        helper, level = jobs.headers[other], jobs.levels[other, job.top]
        helper.allowance, helper.flights, helper.trail = grant, grant, 0
        helper.edge_visits += job.allowance  # by which chance finds a place for each of them
        level.gained_visits, level.gained_wins = 0, 0.0
        if jobs.plane_words > 0:
            for word in range(job.top * AMAF_LEVEL_WORDS, job.levels * AMAF_LEVEL_WORDS):
                jobs.amaf_level_words[other, word] = jobs.amaf_level_words[slot, word]
        job.allowance -= grant
        job.flights -= grant
        send_leaf(handle, row, other)


@njit
def copy_job(jobs, source, target):
    """Copy a job's header and levels, but not what RAVE adds."""
    for word in range(HEADER_WORDS):
        jobs.header_words[target, word] = jobs.header_words[source, word]
    for word in range(jobs.headers[source].levels * LEVEL_WORDS):
        jobs.level_words[target, word] = jobs.level_words[source, word]


@njit
def take_back(handle, row, slot):
    """A part, or a report of one, is back where it was dealt out, and its results are counted. Gives the work."""
    rank = value_of(handle)
    jobs, waiting = rank.port.jobs, np.int64(rank.port.jobs.headers[slot].whole)
    part, whole = jobs.headers[slot], jobs.headers[waiting]
    node = jobs.levels[slot, part.top].node
    whole.dealt -= part.flights
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
    jobs = value_of(handle).port.jobs
    if jobs.plane_words > 0 and jobs.headers[waiting].trail + jobs.headers[slot].trail > LONGEST_TRAIL:
        tell_above(handle, row, waiting)
    level, above = jobs.levels[slot, depth], jobs.levels[waiting, jobs.headers[waiting].levels - 1]
    wins = level.gained_wins
    if (level.player == SECOND) != (above.player == SECOND):
        wins = level.gained_visits - wins
    above.gained_visits += level.gained_visits
    above.gained_wins += wins
    if jobs.plane_words > 0:
        append_trail(jobs, slot, waiting)


@njit
def go_on(handle, row, slot, node):
    """A job that waits has heard something: deal again, tell the job above, or go home. Gives the work."""
    rank = value_of(handle)
    port, whole = rank.port, rank.port.jobs.headers[slot]
    if port.numbers[row, DRAINING] != 0:
        whole.allowance = 0
    elif whole.levels == 0:
        port.numbers[row, ALL_PLAYOUTS] = rank.tree.node_visits[node]
        granted = may_be_under_way(rank) - whole.dealt - whole.allowance
        granted = max(0, min(port.shared[TO_GRANT], granted))
        port.shared[TO_GRANT] -= granted
        whole.allowance += granted
    deals = DEALS if port.numbers[row, TREE_LENGTH] <= CROWD else 1
    if whole.allowance > 0 and whole.allowance * deals >= whole.dealt:
        return deal(handle, row, slot, node)
    if whole.dealt == 0:
        leave(rank, row, slot, node)
        go_home(handle, row, slot)
    elif whole.levels > 0:
        gained = port.jobs.levels[slot, whole.levels - 1].gained_visits
        if gained >= max(whole.report_from, whole.flights // REPORTS):
            tell_above(handle, row, slot)
    return NOTHING


@njit_inline
def leave(rank, row, slot, node):
    """A job waits no longer at a node."""
    keep_free(rank, row, 0)
    if rank.dealing.waiting[node] == slot + 1:
        rank.dealing.waiting[node] = 0


@njit
def go_home(handle, row, slot):
    """A job goes back to where it was dealt out, with the playouts that it has left, or starts again at the root."""
    port = value_of(handle).port
    whole = port.jobs.headers[slot]
    whole.target = whole.top
    if whole.levels == 0:
        restart_job(handle, row, slot)
    else:
        whole.kind = REPORT
        send(port, row, slot, np.int64(port.jobs.levels[slot, whole.levels - 1].home))


@njit
def tell_above(handle, row, slot):
    """Send the job above what this one has gained so far, while it waits for the rest."""
    rank = value_of(handle)
    port, jobs = rank.port, rank.port.jobs
    whole, level = jobs.headers[slot], jobs.levels[slot, jobs.headers[slot].levels - 1]
    if level.gained_visits == 0 or free_slots(port, row) <= rank.dealing.spare:
        return
    message = new_slot(port, row)
    copy_job(jobs, slot, message)
    report = jobs.headers[message]
    report.kind, report.target, report.allowance, report.flights = REPORT, report.top, 0, level.gained_visits
    if jobs.plane_words > 0:
        jobs.amaf_levels[message, report.top].trail_from = 0
        report.trail = 0
        append_trail(jobs, slot, message)
        whole.trail = 0
    whole.flights -= level.gained_visits
    level.gained_visits, level.gained_wins = 0, 0.0
    send(port, row, message, np.int64(level.home))
