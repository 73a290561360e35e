"""Results so far of a search on MPI ranks: on their way from the root's home to rank 0.

One thread at a time may call MPI, and that is the compiled loop. So Python at the root's home writes the root as
numbers. The loop sends them in parts, as messages that no handler sees, and rank 0's loop puts them together for Python
there. When the search is over the home says that no more will come, and rank 0 waits for that: no part is left for the
next search. In a search that nobody watches the loop finds nothing to send.
"""

import math
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np

from treespan.core.atomics import atomic_load, atomic_store
from treespan.core.jit import njit, njit_inline
from treespan.core.records import new_records, record_dtype
from treespan.games.rules import Game
from treespan.schemes.plan import Looks, Pace, Request
from treespan.schemes.protocol.messages import HEADER, HEADER_WORDS
from treespan.schemes.protocol.port import NO_RANK, Port, Seat
from treespan.schemes.scheme import Finding
from treespan.schemes.summary import summarise_root
from treespan.search.result import PROOF_NAMES, MoveStatistics, rank_moves
from treespan.search.searcher import RootView

NOBODY, HOME, READER = range(3)  # roles: nobody watches, or this rank has no part in it
TOTAL, OFFSET, BODY = range(3)  # words of a part, behind its header: of the whole root; before this part; the part
VISITS, BEFORE, PROVEN, COUNT, MOVES = range(5)  # numbers of a root; then those of each move
MOVE_NUMBERS = 5
PROOFS = (None, *PROOF_NAMES.values())
LOOK_STATE = record_dtype(
    (
        ("role", np.int64),  # NOBODY, HOME or READER
        ("sent", np.int64),  # words of the root that have gone
        ("received", np.int64),  # words of the next root that have come
        ("no_more", np.bool_),  # the home has said that no more will come
    )
)


class LookMail(NamedTuple):
    """A root on its way, at either end."""

    words: np.ndarray  # uint64[...]
    header: np.ndarray  # uint64[HEADER_WORDS], of all parts: its number of a search is minus that of this one
    # Python's thread and the loop's hand roots to each other by these two. The loop reads and writes them atomically,
    # which it can do with an array's elements and not with a record's fields
    to_send: np.ndarray  # int64[1], words of a root that the loop shall send; 0: it has sent them
    come: np.ndarray  # int64[1], words of a root that Python shall read; 0: it has read them
    state: Any  # records[1] of LOOK_STATE


def new_look_mail(max_moves: int, search: int, role: int) -> LookMail:
    """Return buffers for roots with so many moves; without a role they are empty."""
    header, state = np.zeros(1, dtype=HEADER), new_records(LOOK_STATE, 1)
    header["search"], state.role = -search, role
    return LookMail(
        words=np.zeros(MOVES + MOVE_NUMBERS * max_moves if role != NOBODY else 0, dtype=np.uint64),
        header=header.view(np.uint64),
        to_send=np.zeros(1, dtype=np.int64),
        come=np.zeros(1, dtype=np.int64),
        state=state,
    )


NO_LOOKS = new_look_mail(0, 0, NOBODY)


# In the loop


@njit_inline
def has_part(look):
    return atomic_load(look.to_send, 0) != 0


@njit
def write_part(look, message, is_last):
    """Write the next part of a root as a message, or that no more will come. Returns its length in words."""
    for i in range(HEADER_WORDS):
        message[i] = look.header[i]
    body = message[HEADER_WORDS:]
    total = np.int64(0) if is_last else atomic_load(look.to_send, 0)
    begin = np.int64(0) if is_last else look.state[0].sent
    count = min(len(body) - BODY, total - begin)
    body[TOTAL], body[OFFSET] = total, begin
    for i in range(count):
        body[BODY + i] = look.words[begin + i]
    look.state[0].sent = begin + count
    if begin + count == total:
        look.state[0].sent = 0
        atomic_store(look.to_send, 0, 0)
    return HEADER_WORDS + BODY + count


@njit
def take_part(look, message):
    """Add a part to the root, unless Python still reads the one before; or note that no more will come."""
    body = message[HEADER_WORDS:]
    total, begin = np.int64(body[TOTAL]), np.int64(body[OFFSET])
    if total == 0:
        look.state[0].no_more = True
    elif atomic_load(look.come, 0) == 0 and (begin == 0 or begin == look.state[0].received):
        count = min(len(body) - BODY, total - begin)
        for i in range(count):
            look.words[begin + i] = body[BODY + i]
        look.state[0].received = begin + count
        if begin + count == total:
            look.state[0].received = 0
            atomic_store(look.come, 0, total)


# In Python


def post(look: LookMail, root: RootView) -> None:
    """At the root's home: give the loop a root to send, unless it still sends the one before."""
    if look.to_send[0]:
        return
    numbers = look.words.view(np.float64)
    numbers[VISITS], numbers[BEFORE] = root.visits, root.visits_before
    numbers[PROVEN], numbers[COUNT] = PROOFS.index(root.proven), len(root.moves)
    end = MOVES
    for move in root.moves:
        prior = math.nan if move.prior is None else move.prior
        numbers[end : end + MOVE_NUMBERS] = move.id, move.visits, move.wins, prior, PROOFS.index(move.proven)
        end += MOVE_NUMBERS
    look.to_send[0] = end


def collect(look: LookMail, game: Game) -> RootView | None:
    """At rank 0: the root that has come, if there is one."""
    if not look.come[0]:
        return None
    numbers = look.words.view(np.float64)
    rows = numbers[MOVES : MOVES + MOVE_NUMBERS * int(numbers[COUNT])].reshape(-1, MOVE_NUMBERS).tolist()
    moves = [
        MoveStatistics(
            move=game.move_name(int(number)),
            visits=int(visits),
            value=wins / visits if visits else 0.0,
            prior=None if math.isnan(prior) else prior,
            proven=PROOFS[int(proven)],
            id=int(number),
            wins=wins,
        )
        for number, visits, wins, prior, proven in rows
    ]
    root = RootView(moves, int(numbers[VISITS]), PROOFS[int(numbers[PROVEN])], int(numbers[BEFORE]))
    look.come[0] = 0
    return root


def told_lines(port: Port, game: Game) -> dict[int, list[str]]:
    """At rank 0: the expected lines that have come last, by their first moves."""
    lines: dict[int, list[str]] = {}
    for length, *moves in port.lines.tolist():
        if length:
            lines[moves[0]] = [game.move_name(move) for move in moves[:length]]
    return lines


class Lookout:
    """What a rank does a few times a second so that rank 0 can tell results so far. `every`: None if nobody watches."""

    def __init__(
        self, request: Request, seat: Seat, look: LookMail, home: int, every: float | None, looks: Looks | None
    ):
        self.request, self.seat, self.look, self.home, self.looks = request, seat, look, home, looks
        self.pace = Pace(0.0 if every is None else every)
        self.me = seat.port.first if every is not None else NO_RANK

    def tell(self, seconds: float) -> None:
        """Send the root, or tell what has come of it."""
        found: Finding | None = None
        if self.me == self.home and self.pace.is_due():
            found = self.request.plan.scheme.look(self.request, self.seat)
            self.seat.port.line_wish[0] = 1  # they come to rank 0 in time for the next look
        if self.me == 0 and self.home != 0:
            root = collect(self.look, self.request.position.game)
            if root is not None:
                found = Finding(root, [rank_moves(root.moves, self.request.plan.options.choice)[0].move])
        if found is None:
            return
        if self.me != 0:
            post(self.look, found.root)
        elif self.looks is not None:
            found = replace(found, lines=told_lines(self.seat.port, self.request.position.game))
            self.looks.tell(summarise_root(self.request, found, seconds))
