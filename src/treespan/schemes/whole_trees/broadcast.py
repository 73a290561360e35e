"""`broadcast`: every rank replays everybody's simulations (gelly2008, Algorithm 5).

    every rank, until playouts or time are used up:
        simulate; add the simulation to the stack of those to be sent
        every T = `period` seconds:  send all simulations of the stack to all other ranks; empty the stack
        for each simulation received:  add its nodes to the tree if they are missing; update the tree
    choose the move that was simulated most often

All ranks have nearly the same tree, and pay for that with their time: the paper's bound says that where updates take a
share alpha of a simulation's time, the speed-up cannot pass 1 / alpha, whatever the number of ranks.

Deviations and additions:
- A rank sends its next stack when all others have thanked for the last one, so that memory is bounded: one stack is
  under way between any two ranks. A full stack is sent at once; if it may not be sent yet, the rank waits. Ranks that
  share memory read it where the sender keeps it: 1,200 simulated ranks with a stack for each other took 18 GB.
- The playout's moves are not sent, only its value: RAVE is not possible. Proofs stay in their tree.
- Leaves are expanded after `threshold` simulations, others' among them. The shuffle of moves is the position's, so that
  all ranks have the moves of a node in the same order.

One rank equals `sequential` bit for bit.
"""

from dataclasses import dataclass
from typing import Any, ClassVar, NamedTuple

import numpy as np

from treespan.core.errors import OptionError, about
from treespan.core.handles import first_of, value_of
from treespan.core.jit import njit, njit_inline
from treespan.core.options import option
from treespan.core.records import new_records, record_dtype
from treespan.games.rules import play
from treespan.schemes.plan import RANK_OPTIONS, Plan, Request
from treespan.schemes.protocol.hooks import Addition
from treespan.schemes.protocol.messages import LEVEL, LEVEL_WORDS, NO_SLOT, SYNC_DOWN, SYNC_UP, as_records
from treespan.schemes.protocol.port import (
    HANDLED,
    SPARE_SLOTS,
    URGENT,
    announce_end,
    enqueue,
    new_slot,
    release,
    send,
)
from treespan.schemes.scheme import Place
from treespan.schemes.whole_trees.handlers import LocalRank, end_alone
from treespan.schemes.whole_trees.scheme import WITHOUT_AMAF, BusyTree
from treespan.search.options import compiled_settings
from treespan.search.tree import NO_NODE, TERMINAL
from treespan.search.uct import expand, gain_of

DUE = 0  # kind of a note to oneself: it is time to send the stack
THANKS, IS_DONE = 0, 1  # what a note upwards says: the stack was replayed; all that a rank has is with everybody
STACK_WORDS = 4096  # of simulations, if they fit between all ranks
MAX_WORDS = 22 * 10**8  # of the slots between all ranks: 17.6 GB of addresses, of which little is ever used
REPLAYING = 2  # work at one level of a simulation that is replayed, in units of HANDLED; `bench/local_trees.py costs`
EXPANDING = 16  # and of a node that is added
BROADCAST_STATE = record_dtype(
    (
        ("used", np.int64),  # words of the stack
        ("due_at", np.int64),  # when it is sent, ns; 0: not known yet
        ("unthanked", np.int64),  # ranks that have not thanked for the last one
        ("done", np.int64),  # at rank 0: ranks whose simulations are with everybody
        ("store", np.int64),  # slot in which the last one is kept
        ("has_note", np.bool_),  # the note that it shall be sent is on its way
        ("has_told", np.bool_),  # all that this rank has is with everybody, and rank 0 knows
    )
)
_BEFORE_STACK = (("length", np.int64),)  # words that follow: the stack
BROADCAST_MESSAGE = record_dtype(_BEFORE_STACK, LEVEL.itemsize)  # how a message begins, in the place of its first level
BODY = record_dtype(_BEFORE_STACK).itemsize // 8  # word of the message's levels at which the stack begins


class BroadcastRank(NamedTuple):
    """What a rank needs beside its tree; one row for each rank."""

    rank: LocalRank
    period_ns: int
    is_copied: bool  # messages have a stack each; else they tell the slot in which the sender keeps it
    reserve: int  # words that simulations under way may need
    stack: np.ndarray  # uint64[rows, words]: of each simulation length and value, then its moves, two in a word
    stack_floats: np.ndarray  # float64, the same memory
    state: Any  # records[rows] of BROADCAST_STATE
    messages: Any  # records[slots, levels] of BROADCAST_MESSAGE, the memory of `port.jobs.levels`


@njit
def record_simulation(handle, row, slot):
    """A simulation was counted here: put it on the stack."""
    mine = value_of(handle)
    state, port, stack = mine.state[row], mine.rank.port, mine.stack
    if port.ranks == 1:
        return 0
    jobs = port.jobs
    levels, at = np.int64(jobs.walks[slot].levels), state.used
    stack[row, at] = np.uint64(levels)
    mine.stack_floats[row, at + 1] = jobs.walks[slot].value
    at += 2
    for i in range(0, levels, 2):
        second = jobs.levels[slot, i + 1].move if i + 1 < levels else 0
        stack[row, at] = (np.uint64(second) << np.uint64(32)) | np.uint64(jobs.levels[slot, i].move)
        at += 1
    state.used = at
    now = port.state[row].now
    if state.due_at == 0:
        state.due_at = now + mine.period_ns
    is_full = at + mine.reserve > stack.shape[1]
    mine.rank.state[row].is_held = is_full
    if is_full or now >= state.due_at:
        write_note(port, row, state)
    return levels // 2


@njit
def finish(handle, row, slot):
    """This rank has finished: send what is left."""
    mine = value_of(handle)
    write_note(mine.rank.port, row, mine.state[row])
    return 0


@njit
def write_note(port, row, state):
    """Send the stack as soon as it may be sent, as a unit of work of its own."""
    if not state.has_note and state.unthanked == 0:
        slot = new_slot(port, row)
        if slot != NO_SLOT:
            state.has_note = True
            port.jobs.notes[slot].kind = DUE
            enqueue(port, row, URGENT, slot)


@njit
def handle_message(handle, row, slot):
    """A stack has come, or thanks for one, or it is time to send one. Returns the work."""
    mine = value_of(handle)
    state, port = mine.state[row], mine.rank.port
    note, work = port.jobs.notes[slot], np.int64(0)
    if note.kind == SYNC_DOWN:
        work += replay_stack(handle, row, slot)
        answer(port, row, slot, THANKS, np.int64(note.sender))
        return work
    if note.kind == SYNC_UP and note.what == IS_DONE:
        state.done += 1
        release(port, row, slot)
    elif note.kind == SYNC_UP:
        state.unthanked -= 1
        if state.unthanked == 0 and not mine.is_copied:
            release(port, row, state.store)
        release(port, row, slot)
    else:
        state.has_note = False
        release(port, row, slot)
        if state.used > 0:
            work += send_stack(handle, row)
    has_finished = mine.rank.state[row].has_finished
    if state.unthanked == 0 and state.used > 0 and (has_finished or mine.rank.state[row].is_held):
        write_note(port, row, state)
    elif has_finished and state.unthanked == 0 and not state.has_told and state.used == 0:
        state.has_told = True
        if port.first + row == 0:
            state.done += 1
        else:
            answer(port, row, new_slot(port, row), IS_DONE, 0)
    if state.done == port.ranks:
        announce_end(port, row)
    return work


@njit_inline
def answer(port, row, slot, what, receiver):
    note = port.jobs.notes[slot]
    note.kind, note.what, note.levels = SYNC_UP, what, 0
    send(port, row, slot, receiver)


@njit
def send_stack(handle, row):
    """Send all simulations of the stack to all other ranks. Returns the work."""
    mine = value_of(handle)
    state, port = mine.state[row], mine.rank.port
    jobs, words, me = port.jobs, state.used, port.first + row
    if not mine.is_copied:
        state.store = new_slot(port, row)
        write_stack(mine, state.store, mine.stack[row], words)
    for other in range(port.ranks):
        if other != me:
            slot = new_slot(port, row)
            if mine.is_copied:
                write_stack(mine, slot, mine.stack[row], words)
            note = jobs.notes[slot]
            note.store = NO_SLOT if mine.is_copied else state.store
            note.kind, note.levels = SYNC_DOWN, (BODY + words + LEVEL_WORDS - 1) // LEVEL_WORDS
            send(port, row, slot, other)
    state.used, state.unthanked = 0, port.ranks - 1
    state.due_at = port.state[row].now + mine.period_ns
    mine.rank.state[row].is_held = False
    return words * (port.ranks - 1) * HANDLED // 1000  # 1,000 words are copied in about the time of a handled job


@njit_inline
def write_stack(mine, slot, stack, words):
    mine.messages[slot, 0].length = words
    for i in range(words):
        mine.rank.port.jobs.level_words[slot, BODY + i] = stack[i]


@njit
def replay_stack(handle, row, slot):
    """Replay the simulations of another rank in this rank's tree. Returns the work."""
    mine = value_of(handle)
    jobs = mine.rank.port.jobs
    store = jobs.notes[slot].store
    place = slot if store == NO_SLOT else store
    words, floats = jobs.level_words[place], jobs.level_floats[place]
    end, at, work = BODY + mine.messages[place, 0].length, BODY, np.int64(0)
    while at < end:
        levels, value = np.int64(words[at]), floats[at + 1]
        work += replay_simulation(first_of(handle), row, words[at + 2 :], levels, value)
        at += 2 + (levels + 1) // 2
    return work


@njit_inline
def move_at(words, level):
    word = words[level >> 1]
    return np.int64((word >> np.uint64(32)) if level & 1 else word & np.uint64(0xFFFFFFFF))


@njit_inline
def replay_simulation(handle, row, moves, levels, value):
    """Count a simulation along its path, adding what is missing. Returns the work."""
    tree, node, work = value_of(handle).tree, value_of(handle).roots[row], np.int64(0)
    for i in range(levels):
        edge = edge_of(tree, node, move_at(moves, i))
        if edge == NO_NODE:
            return work
        tree.node_visits[node] += 1
        tree.edge_visits[edge] += 1
        tree.edge_wins[edge] += gain_of(tree.node_player[node], value)
        work += REPLAYING
        if i + 1 == levels:
            return work
        child = tree.edge_child[edge]
        if child == NO_NODE:
            child = add_node(handle, row, moves, i + 1, edge)
            work += EXPANDING
        if child >= TERMINAL:  # the tree is full: what lies below is left out
            return work
        node = child
    return work


@njit_inline
def edge_of(tree, node, move):
    first = tree.node_first[node]
    for edge in range(first, first + tree.node_count[node]):
        if tree.edge_move[edge] == move:
            return np.uint32(edge)
    return NO_NODE


@njit
def add_node(handle, row, moves, levels, edge):
    """Give the position after so many moves, behind an edge, a node."""
    rank = value_of(handle)
    game, work = rank.game, rank.work
    work.states[1] = work.states[0]
    work.salt[0], work.standing[0] = rank.salts[row], NO_SLOT
    for i in range(levels):
        play(game, work.states[1], move_at(moves, i))
    return expand(game, rank.tree, work.states[1], edge, rank.settings, work)


@dataclass(frozen=True)
class Broadcast(BusyTree):
    """A tree at each rank. Every rank sends its simulations to all others, and replays theirs.

    >>> import treespan as ts
    >>> result = ts.search("tictactoe", scheme=ts.Broadcast(period=0.0001), simulate=4, playouts=2000)
    >>> result.move, result.root_visits
    ('b2', 2000)
    """

    name = "broadcast"
    summary = "every rank replays everybody's simulations"
    paper = "gelly2008 Algorithm 5"
    search_choices = BusyTree.search_choices | {"bandit": WITHOUT_AMAF}
    search_defaults: ClassVar[dict[str, Any]] = {"max_depth": 127}  # bounds the stack that is sent

    jobs: int = option(0, "simulations under way in a tree; 0: 1, or 2 for each worker", low=0, high=10_000)
    period: float = option(0.01, "seconds between two broadcasts", low=1e-6, high=1e8)

    def jobs_in_tree(self, plan: Plan) -> int:
        return self.jobs or max(1, 2 * plan.worker_threads)

    def spare_slots(self, request: Request, own_slots: bool) -> int:
        """A message to each other rank; where they are copied, also room for theirs, else the stack that is sent."""
        return SPARE_SLOTS + 3 + (request.plan.ranks - 1) * (2 if own_slots else 1)

    def _simulation_words(self, request: Request) -> int:
        depth = int(compiled_settings(request.plan.options, request.position.game).max_depth)
        return 2 + (depth + 1) // 2

    def _stack_words(self, request: Request) -> int:
        least = (2 + self.jobs_in_tree(request.plan)) * self._simulation_words(request)
        return max(least, min(STACK_WORDS, MAX_WORDS // request.plan.ranks**2))

    def check(self, request: Request) -> None:
        super().check(request)
        path_words = (1 + int(compiled_settings(request.plan.options, request.position.game).max_depth)) * LEVEL_WORDS
        words = max(path_words, self._stack_words(request))  # of a slot
        if request.plan.ranks**2 * words > MAX_WORDS:
            most = int((MAX_WORDS / words) ** 0.5)
            raise OptionError(
                f"broadcast: {request.plan.ranks} ranks{about(RANK_OPTIONS[request.plan.runtime])} "
                "send each other more at once than fits; "
                f"give at most {most} ranks, or a smaller max_depth"
            )

    def message_levels(self, request: Request) -> int:
        return -(-(BODY + self._stack_words(request)) // LEVEL_WORDS)

    def add_to(self, rank: LocalRank, request: Request, place: Place) -> Addition:
        if request.plan.ranks == 1:
            return Addition(rank, {"finished": end_alone})
        stack = np.zeros((place.rows, self._stack_words(request)), dtype=np.uint64)
        mine = BroadcastRank(
            rank=rank,
            period_ns=round(self.period * 1e9),
            is_copied=place.own_slots,
            reserve=(1 + self.jobs_in_tree(request.plan)) * self._simulation_words(request),
            stack=stack,
            stack_floats=stack.view(np.float64),
            state=new_records(BROADCAST_STATE, place.rows),
            messages=as_records(rank.port.jobs.level_words, BROADCAST_MESSAGE),
        )
        return Addition(mine, {"called": handle_message, "counted": record_simulation, "finished": finish})
