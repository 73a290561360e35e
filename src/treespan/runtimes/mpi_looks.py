"""Results so far of a search on MPI ranks: on their way from the root's home to rank 0.

One thread at a time may call MPI, and that is the compiled loop. So Python at the root's home writes the root as
numbers. The loop sends them in parts, as messages that no handler sees, and rank 0's loop puts them together for Python
there. When the search is over the home says that no more will come, and rank 0 waits for that: no part is left for the
next search. In a search that nobody watches the loop finds nothing to send.
"""

import math
from typing import NamedTuple

import numpy as np

from treespan.core.atomics import atomic_load, atomic_store
from treespan.core.jit import njit, njit_inline
from treespan.games.rules import Game
from treespan.schemes.plan import Looks, Pace, Request
from treespan.schemes.protocol.messages import HEADER, HEADER_WORDS
from treespan.schemes.protocol.port import NO_RANK, Seat
from treespan.schemes.scheme import Finding
from treespan.schemes.summary import summarise_root
from treespan.search.result import PROOF_NAMES, MoveStatistics, rank_moves
from treespan.search.searcher import RootView

# Indices into `LookMail.state`
ROLE, TO_SEND, SENT, COME, RECEIVED, IS_LAST, STATES = range(7)
NOBODY, HOME, READER = range(3)  # roles: nobody watches, or this rank has no part in it
TOTAL, OFFSET, BODY = range(3)  # words of a part, behind its header: of the whole root; before this part; the part
VISITS, PROVEN, COUNT, MOVES = range(4)  # numbers of a root; then those of each move
MOVE_NUMBERS = 5
PROOFS = (None, *PROOF_NAMES.values())


class LookMail(NamedTuple):
    """A root on its way, at either end."""

    words: np.ndarray  # uint64[...]
    header: np.ndarray  # uint64[HEADER_WORDS], of all parts: its number of a search is minus that of this one
    state: np.ndarray  # int64[STATES]


def new_look_mail(max_moves: int, search: int, role: int) -> LookMail:
    """Return buffers for roots with so many moves; without a role they are empty."""
    header, state = np.zeros(1, dtype=HEADER), np.zeros(STATES, dtype=np.int64)
    header["search"], state[ROLE] = -search, role
    words = np.zeros(MOVES + MOVE_NUMBERS * max_moves if role != NOBODY else 0, dtype=np.uint64)
    return LookMail(words, header.view(np.uint64), state)


NO_LOOKS = new_look_mail(0, 0, NOBODY)


# In the loop


@njit_inline
def has_part(look):
    return atomic_load(look.state, TO_SEND) != 0


@njit
def write_part(look, message, is_last):
    """Write the next part of a root as a message, or that no more will come. Returns its length in words."""
    for i in range(HEADER_WORDS):
        message[i] = look.header[i]
    body = message[HEADER_WORDS:]
    total = np.int64(0) if is_last else atomic_load(look.state, TO_SEND)
    begin = np.int64(0) if is_last else look.state[SENT]
    count = min(len(body) - BODY, total - begin)
    body[TOTAL], body[OFFSET] = total, begin
    for i in range(count):
        body[BODY + i] = look.words[begin + i]
    look.state[SENT] = begin + count
    if begin + count == total:
        look.state[SENT] = 0
        atomic_store(look.state, TO_SEND, 0)
    return HEADER_WORDS + BODY + count


@njit
def take_part(look, message):
    """Add a part to the root, unless Python still reads the one before; or note that no more will come."""
    body = message[HEADER_WORDS:]
    total, begin = np.int64(body[TOTAL]), np.int64(body[OFFSET])
    if total == 0:
        look.state[IS_LAST] = 1
    elif atomic_load(look.state, COME) == 0 and (begin == 0 or begin == look.state[RECEIVED]):
        count = min(len(body) - BODY, total - begin)
        for i in range(count):
            look.words[begin + i] = body[BODY + i]
        look.state[RECEIVED] = begin + count
        if begin + count == total:
            look.state[RECEIVED] = 0
            atomic_store(look.state, COME, total)


# In Python


def post(look: LookMail, root: RootView) -> None:
    """At the root's home: give the loop a root to send, unless it still sends the one before."""
    if look.state[TO_SEND]:
        return
    numbers = look.words.view(np.float64)
    numbers[VISITS], numbers[PROVEN], numbers[COUNT] = root.visits, PROOFS.index(root.proven), len(root.moves)
    end = MOVES
    for move in root.moves:
        prior = math.nan if move.prior is None else move.prior
        numbers[end : end + MOVE_NUMBERS] = move.id, move.visits, move.wins, prior, PROOFS.index(move.proven)
        end += MOVE_NUMBERS
    look.state[TO_SEND] = end


def collect(look: LookMail, game: Game) -> RootView | None:
    """At rank 0: the root that has come, if there is one."""
    if not look.state[COME]:
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
    root = RootView(moves, int(numbers[VISITS]), PROOFS[int(numbers[PROVEN])])
    look.state[COME] = 0
    return root


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
        if self.me == 0 and self.home != 0:
            root = collect(self.look, self.request.position.game)
            if root is not None:
                found = Finding(root, [rank_moves(root.moves, self.request.plan.options.choice)[0].move])
        if found is None:
            return
        if self.me != 0:
            post(self.look, found.root)
        elif self.looks is not None:
            self.looks.tell(summarise_root(self.request, found, seconds))
