"""Roots on their way from their home to rank 0, without MPI."""

import numpy as np
import pytest

from treespan.core.jit import njit
from treespan.games.registry import make_game
from treespan.runtimes.mpi_looks import (
    HOME,
    READER,
    LookMail,
    collect,
    has_part,
    new_look_mail,
    post,
    take_part,
    write_part,
)
from treespan.schemes.protocol.messages import HEADER, HEADER_WORDS
from treespan.search.result import MoveStatistics
from treespan.search.searcher import RootView

GAME = make_game("tictactoe")
SEARCH = 7


@njit
def deliver(sender, reader, message, is_last):
    """Send one part."""
    words = write_part(sender, message, is_last)
    take_part(reader, message)
    return words


@njit
def waits(sender):
    return has_part(sender)


def root_of(visits: int) -> RootView:
    moves = [
        MoveStatistics(GAME.move_name(i), visits + i, 0.5, 0.25 if i else None, "win" if i == 4 else None, i, wins)
        for i in range(9)
        for wins in [(visits + i) / 2]
    ]
    return RootView(moves, 9 * visits + 36, "win", visits)


def pair() -> tuple[LookMail, LookMail]:
    return new_look_mail(9, SEARCH, HOME), new_look_mail(9, SEARCH, READER)


@pytest.mark.parametrize("room", [3, 10, 48, 100])
def test_a_root_arrives_as_it_was(room: int) -> None:
    sender, reader = pair()
    message = np.zeros(HEADER_WORDS + room, dtype=np.uint64)
    for visits in (10, 20):
        assert not waits(sender) and collect(reader, GAME) is None
        post(sender, root_of(visits))
        parts = 0
        while waits(sender):
            assert deliver(sender, reader, message, False) <= len(message)
            assert message[:HEADER_WORDS].view(HEADER)["search"] == -SEARCH
            parts += 1
        assert parts == -(-49 // (room - 2))
        assert collect(reader, GAME) == root_of(visits)


def test_a_root_that_nobody_has_read_yet_is_kept_whole() -> None:
    sender, reader = pair()
    message = np.zeros(HEADER_WORDS + 10, dtype=np.uint64)
    post(sender, root_of(10))
    while waits(sender):
        deliver(sender, reader, message, False)
    post(sender, root_of(20))
    deliver(sender, reader, message, False)  # is dropped, and so are the parts behind it
    assert collect(reader, GAME) == root_of(10)
    post(sender, root_of(30))  # is dropped: the one before is still on its way
    while waits(sender):
        deliver(sender, reader, message, False)
    assert reader.come[0] == 0


def test_the_end_drops_what_was_not_sent() -> None:
    sender, reader = pair()
    message = np.zeros(HEADER_WORDS + 10, dtype=np.uint64)
    post(sender, root_of(10))
    deliver(sender, reader, message, False)
    deliver(sender, reader, message, True)
    assert sender.to_send[0] == 0 and reader.state[0].no_more and collect(reader, GAME) is None
