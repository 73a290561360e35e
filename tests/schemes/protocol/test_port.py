"""Queues of a rank, loads that it hears of, and how it is told that a search ends."""

import numpy as np
import pytest

from treespan.core.jit import njit
from treespan.schemes.protocol.messages import END, NO_SLOT, SEARCH, SHARE_DONE, STOP, new_jobs
from treespan.schemes.protocol.port import (
    FREE,
    HEARD,
    LEAVES,
    OUT,
    TREE,
    Port,
    dequeue,
    enqueue,
    least_loaded,
    link_free_slots,
    message_bytes,
    new_port,
    new_slot,
    note_load,
    receive,
    release,
    send,
)

RANKS, SLOTS = 7, 12


@njit
def put(port, row, queue, slot):
    enqueue(port, row, queue, slot)


@njit
def get(port, row, queue):
    return dequeue(port, row, queue)


@njit
def take_slot(port, row):
    return new_slot(port, row)


@njit
def free(port, row, slot):
    release(port, row, slot)


@njit
def post(port, row, slot, receiver):
    send(port, row, slot, receiver)


@njit
def arrive(port, row, slot):
    receive(port, row, slot)


@njit
def hear(port, row, sender, load):
    note_load(port, row, sender, load)


@njit
def least(port, row):
    return least_loaded(port, row)


@njit
def size_of(port, slot):
    return message_bytes(port, slot)


def port_of(rows: int = RANKS) -> Port:
    port = new_port(new_jobs(rows * SLOTS, 4), 0, rows, ranks=RANKS, search=3, level_words=2)
    for row in range(rows):
        link_free_slots(port, row, row * SLOTS, (row + 1) * SLOTS)
    return port


def all_slots(port: Port, row: int, queue: int) -> list[int]:
    slots = []
    while (slot := int(get(port, row, queue))) != NO_SLOT:
        slots.append(slot)
    return slots


def test_queues_hand_out_what_came_first_and_know_their_length() -> None:
    port = port_of()
    for slot in (3, 1, 2):
        put(port, 0, TREE, slot)
    put(port, 0, LEAVES, 5)
    assert port.queues[0, TREE].length == 3 and port.counts[0].queue_peak == 4
    assert all_slots(port, 0, TREE) == [3, 1, 2] and all_slots(port, 0, TREE) == []
    assert port.queues[0, TREE].length == 0 and port.queues[0, LEAVES].length == 1


def test_the_slot_that_was_freed_last_is_used_first_and_none_is_given_twice() -> None:
    port = port_of()
    taken = [int(take_slot(port, 2)) for _ in range(SLOTS)]
    assert sorted(taken) == list(range(2 * SLOTS, 3 * SLOTS)) and take_slot(port, 2) == NO_SLOT
    free(port, 2, taken[4])
    free(port, 2, taken[7])
    assert [take_slot(port, 2), take_slot(port, 2), take_slot(port, 2)] == [taken[7], taken[4], NO_SLOT]


def test_a_message_to_oneself_goes_into_the_queue_and_others_are_addressed() -> None:
    port = port_of()
    port.jobs.headers[0].kind = port.jobs.headers[1].kind = SEARCH
    post(port, 0, 0, 0)
    post(port, 0, 1, 4)
    assert all_slots(port, 0, TREE) == [0] and all_slots(port, 0, OUT) == [1]
    header = port.jobs.headers[1]
    assert (header.sender, header.receiver, header.search) == (0, 4, port.search)
    assert size_of(port, 1) == 8 * len(port.jobs.header_words[1])
    header.levels = 3
    assert size_of(port, 1) == 8 * (len(port.jobs.header_words[1]) + 3 * 2)


def test_a_leaf_goes_where_least_waits_and_only_if_that_is_less_than_half() -> None:
    port = port_of()
    for sender, load in ((1, 5), (2, 3), (3, 9)):
        hear(port, 0, sender, load)
    assert least(port, 0) == 0  # nothing waits here
    for slot in range(8):
        put(port, 0, LEAVES, slot)
    assert [int(least(port, 0)), int(least(port, 0))] == [2, 0]  # it has four then: no less than half
    for slot in range(8, 12):
        put(port, 0, LEAVES, slot)
    assert int(least(port, 0)) == 2
    hear(port, 0, 1, 0)
    assert int(least(port, 0)) == 1


def test_of_more_ranks_than_it_remembers_a_rank_forgets_the_one_that_it_entered_first() -> None:
    port = port_of()
    for sender in range(1, HEARD + 2):
        hear(port, 0, sender, sender)
    known = {int(news.rank): int(news.load) for news in port.heard[0]}
    assert known == {sender: sender for sender in range(2, HEARD + 2)}


@pytest.mark.parametrize("kind", [STOP, END])
def test_news_of_the_end_reach_every_rank_once(kind: int) -> None:
    """Rank r tells 2 r + 1 and 2 r + 2."""
    port = port_of()
    slot = int(take_slot(port, 0))
    port.jobs.headers[slot].kind, port.jobs.headers[slot].load = kind, -1
    mail, heard = [(0, slot)], []
    while mail:
        row, slot = mail.pop(0)
        heard.append(row)
        arrive(port, row, slot)
        mail += [(int(port.jobs.headers[out].receiver), out) for out in all_slots(port, row, OUT)]
    assert sorted(heard) == list(range(RANKS))
    assert port.state.draining.all() and bool(port.state.over.all()) == (kind == END)
    assert int(np.sum(port.queues[:, FREE]["length"])) == RANKS * SLOTS


def test_the_search_stops_when_all_ranks_have_done_their_share() -> None:
    port = port_of()
    for done in range(1, RANKS + 1):
        slot = int(take_slot(port, 0))
        port.jobs.headers[slot].kind, port.jobs.headers[slot].load = SHARE_DONE, -1
        arrive(port, 0, slot)
        assert bool(port.state[0].draining) == (done == RANKS)
