"""Message-level tests of the TDS handlers: a job in, a job out, no cluster."""

import numpy as np
import pytest

from tests.support.distributed import request
from tests.support.go_games import SEND_TWO, at
from treespan.games.rules import FIRST
from treespan.schemes.divided_tree import handlers, proofs
from treespan.schemes.plan import SIMULATED, Budget, Plan, Request
from treespan.schemes.protocol.messages import END, NO_SLOT, NO_VALUE, NOT_PLAYED, PLAYOUT, REPORT, SEARCH
from treespan.schemes.protocol.port import (
    LEAVES,
    NOTHING,
    OUT,
    TREE,
    Seat,
    dequeue,
    enqueue,
    new_slot,
    receive,
    stop_search,
)
from treespan.schemes.registry import read_scheme
from treespan.schemes.scheme import Place
from treespan.search.tree import DRAW, ROOT

SPEC = "pgame:branching=3,seed=2"
RANKS = 4


class Cluster:
    """All ranks in one set of arrays, as the simulator has them; messages are carried by hand."""

    def __init__(self, scheme: str, playouts: int = 50):
        wanted = request(scheme, SPEC, playouts, RANKS)
        self.seat: Seat = wanted.plan.scheme.new_seat(wanted, Place(rows=RANKS))
        self.root_home = wanted.plan.scheme.root_home(wanted.position, RANKS)
        self.port, self.tree = self.seat.port, self.seat.tree
        self.headers, self.levels = self.port.jobs.headers, self.port.jobs.levels

    def start(self, jobs: int = 1) -> None:
        for slot in range(jobs):
            handlers.restart_job(self.seat.handle, self.root_home, slot)

    def advance(self, row: int) -> int:
        """One unit of work. Returns the rank that a message was sent to, or -1."""
        assert handlers.advance(self.seat.handle, row, 0) != NOTHING
        return self.carry(row)

    def carry(self, row: int) -> int:
        slot = dequeue(self.port, row, OUT)
        if slot == NO_SLOT:
            return -1
        receiver = int(self.headers[slot].receiver)
        receive(self.port, receiver, slot)
        return receiver

    def play_out(self, row: int) -> int:
        slot = dequeue(self.port, row, LEAVES)
        proofs.evaluate(self.seat.evaluators[0], row, slot)
        handlers.absorb(self.seat.handle, row, slot)
        return self.carry(row)

    def root_visits(self) -> tuple[list[int], list[int]]:
        first, count = int(self.tree.node_first[ROOT]), int(self.tree.node_count[ROOT])
        here = slice(first, first + count)
        return self.tree.edge_visits[here].tolist(), self.tree.edge_flight[here].tolist()

    def waiting(self, row: int) -> tuple[int, int]:
        return int(self.port.queues[row, TREE].length), int(self.port.queues[row, LEAVES].length)

    def to_leaf(self) -> int:
        """Bring the first job to its leaf, one move below the root. Returns that leaf's home."""
        receiver = self.advance(self.root_home)
        home = self.root_home if receiver < 0 else receiver
        while self.headers[0].levels == 1 and self.waiting(home)[1] == 0:
            self.advance(home)
        return home


def test_search_job_at_the_root_becomes_one_for_the_childs_home() -> None:
    cluster = Cluster("tds-uct:jobs=1", playouts=1)
    cluster.start()
    job, level = cluster.headers[0], cluster.levels[0, 0]
    receiver = cluster.advance(cluster.root_home)
    assert (job.kind, job.levels, job.edge_visits) == (SEARCH, 1, 0)
    assert level.home == cluster.root_home
    assert receiver == -1 or receiver == int(job.key) % RANKS
    assert cluster.root_visits() == ([0, 0, 0], [1, 0, 0])  # under way, not yet counted


def test_leaf_plays_out_and_reports_to_its_parents_home() -> None:
    cluster = Cluster("tds-uct")
    cluster.start()
    home = cluster.to_leaf()
    assert cluster.waiting(home) == (0, 1)  # a leaf waits for its playout
    cluster.play_out(home)
    job = cluster.headers[0]
    assert (job.kind, job.value in (0.0, 1.0)) == (REPORT, True)
    assert cluster.port.counts[home].playouts == 1
    cluster.advance(cluster.root_home)  # home again: a new search from the root
    assert cluster.root_visits() == ([1, 0, 0], [0, 0, 0])
    assert (job.kind, job.levels) == (SEARCH, 0)
    assert cluster.port.budget[0].to_grant == 48 and cluster.waiting(cluster.root_home) == (1, 0)


def test_a_result_is_counted_for_the_player_of_the_node_for_uct_levels_travel_without_the_player() -> None:
    cluster = Cluster("tds-uct")
    cluster.start()
    leaf_home = cluster.to_leaf()
    level = cluster.levels[0, 0]
    player = int(cluster.tree.node_player[level.node])
    level.player = 1 - player  # what the slot of another job held before
    cluster.play_out(leaf_home)
    value = float(cluster.headers[0].value)
    cluster.headers[0].value = 0.25 * value + 0.1  # no result is its own opposite
    cluster.advance(cluster.root_home)
    gain = 0.25 * value + 0.1 if player == FIRST else 0.9 - 0.25 * value
    assert cluster.tree.edge_wins[level.edge] == pytest.approx(gain)


def test_virtual_loss_sends_jobs_apart() -> None:
    cluster = Cluster("tds-uct")
    cluster.start(jobs=3)
    for _ in range(3):
        cluster.advance(cluster.root_home)
    assert cluster.root_visits() == ([0, 0, 0], [1, 1, 1])


def test_dfuct_job_returns_only_as_far_as_a_level_has_flipped() -> None:
    cluster = Cluster("tds-dfuct:grant=50")
    cluster.start()
    home = cluster.to_leaf()
    cluster.play_out(home)
    job = cluster.headers[0]
    # The root's second move is unvisited, so it is best now: the job must return to level 0.
    assert (job.kind, job.target, job.allowance) == (REPORT, 0, 49)
    assert cluster.levels[0, 0].gained_visits == 1
    cluster.advance(cluster.root_home)
    assert job.kind == SEARCH and cluster.root_visits() == ([1, 0, 0], [0, 1, 0])


def test_dfuct_job_without_allowance_goes_home_and_ends() -> None:
    cluster = Cluster("tds-dfuct:jobs=1,grant=1", playouts=1)
    assert cluster.seat.rank.all_jobs == 1 and cluster.port.budget[0].jobs_alive == 1
    cluster.start()
    home = cluster.to_leaf()
    cluster.play_out(home)
    handlers.advance(cluster.seat.handle, cluster.root_home, 0)
    assert cluster.port.budget[0].jobs_alive == 0
    assert cluster.root_visits() == ([1, 0, 0], [0, 0, 0])
    for _ in range(RANKS):  # the news reaches everybody by way of rank 0
        for row in range(RANKS):
            while cluster.carry(row) >= 0:
                pass
    assert (cluster.port.state.over == 1).all()


def test_draining_calls_jobs_home_without_playouts() -> None:
    for scheme in ("tds-uct:jobs=1", "tds-dfuct:jobs=1"):
        cluster = Cluster(scheme, playouts=1)
        cluster.start()
        home = cluster.to_leaf()
        cluster.port.state.draining = True
        slot = dequeue(cluster.port, home, LEAVES)
        cluster.headers[slot].value = NO_VALUE
        handlers.absorb(cluster.seat.handle, home, slot)
        cluster.carry(home)
        handlers.advance(cluster.seat.handle, cluster.root_home, 0)
        assert cluster.port.budget[0].jobs_alive == 0
        assert cluster.root_visits() == ([0, 0, 0], [0, 0, 0])
        assert cluster.port.counts.playouts.sum() == 0


def test_leaf_goes_straight_to_a_rank_that_has_less_to_do_and_comes_back() -> None:
    cluster = Cluster("tds-dfuct:grant=50,place=idle")
    cluster.start()
    parent = cluster.root_home
    other = (parent + 1) % RANKS
    cluster.port.heard[parent, 0] = other, 0
    cluster.port.queues[parent, LEAVES].length = 3  # others wait already
    assert cluster.advance(parent) == other  # whatever the leaf's home is: it has no node there yet
    assert cluster.headers[0].kind == PLAYOUT and cluster.port.heard[parent, 0].load == 1
    cluster.advance(other)
    assert cluster.waiting(other) == (0, 1)
    assert cluster.play_out(other) in (parent, -1)  # the report goes straight to the parent's home
    assert cluster.port.counts[other].playouts == 1 and cluster.headers[0].kind == REPORT


def test_leaf_stays_where_it_is_found_if_nobody_is_known_to_have_less_to_do() -> None:
    cluster = Cluster("tds-dfuct:grant=50,place=idle")
    cluster.start()
    assert cluster.advance(cluster.root_home) == -1
    assert cluster.waiting(cluster.root_home) == (0, 1)


def test_queues_are_first_in_first_out_and_counted() -> None:
    port = Cluster("tds-uct").port
    for slot in (3, 1, 2):
        enqueue(port, 0, TREE, slot)
    enqueue(port, 0, LEAVES, 7)
    assert port.queues[0, TREE].length == 3 and port.queues[0, LEAVES].length == 1
    assert [dequeue(port, 0, TREE) for _ in range(4)] == [3, 1, 2, NO_SLOT]
    assert [dequeue(port, 0, LEAVES) for _ in range(2)] == [7, NO_SLOT]
    assert port.queues[0, TREE].length == 0 and port.queues[0, LEAVES].length == 0


def test_signals_are_passed_on_once_and_free_their_slots() -> None:
    cluster = Cluster("tds-uct")
    slot = new_slot(cluster.port, 3)
    cluster.headers[slot].kind = END
    receive(cluster.port, 0, slot)
    assert cluster.port.state[0].over == 1
    assert sorted([cluster.carry(0), cluster.carry(0), cluster.carry(0)]) == [-1, 1, 2]
    assert cluster.port.state[1].over == cluster.port.state[2].over == 1
    assert cluster.carry(1) == 3 and cluster.carry(2) == -1


def test_any_rank_may_have_all_jobs_called_home() -> None:
    cluster = Cluster("tds-uct")
    stop_search(cluster.port, 2)
    assert not cluster.port.state[2].draining  # it hears of it like the others, and tells those below it
    assert cluster.carry(2) == 0 and cluster.port.state[0].draining
    assert sorted([cluster.carry(0), cluster.carry(0)]) == [1, 2] and cluster.carry(1) == 3
    assert cluster.port.state.draining.all() and not cluster.port.state.over.any()
    stop_search(cluster.port, 0)
    assert cluster.carry(0) == -1  # all have heard


def test_a_job_behind_a_proven_move_waits_among_the_leaves_and_is_not_played_out() -> None:
    cluster = Cluster("tds-dfuct:grant=50")
    cluster.tree.edge_proven[0] = DRAW
    cluster.tree.edge_visits[1:3], cluster.tree.node_visits[ROOT] = 50, 100  # so the drawn move is taken
    cluster.start()
    home, job = cluster.root_home, cluster.headers[0]
    assert cluster.advance(home) == -1  # whatever the next position's home
    for simulation in range(1, 4):
        assert cluster.waiting(home) == (0, 1)
        slot = dequeue(cluster.port, home, LEAVES)
        assert proofs.evaluate(cluster.seat.evaluators[0], home, slot) == NOT_PLAYED and job.value == 0.5
        handlers.absorb(cluster.seat.handle, home, slot)
        assert cluster.levels[0, 0].gained_visits == cluster.port.counts[home].playouts == simulation
        assert (job.kind, job.allowance) == (SEARCH, 50 - simulation)  # the other moves have won nothing: it stays


def test_dedicated_root_holds_nothing_but_the_root() -> None:
    cluster = Cluster("tds-uct:dedicated_root=yes")
    assert cluster.root_home == 0
    handlers.start(cluster.seat.handle, 0, 0)
    homes = {cluster.advance(0) for _ in range(40)}
    assert homes and homes <= {1, 2, 3}
    assert np.all(cluster.tree.edge_flight[:3] > 0)


def test_root_has_no_move_that_the_history_forbids() -> None:
    position = at(SEND_TWO, superko=True)
    position.play_text("A1 C1")
    (forbidden,) = position.forbidden_moves
    plan = Plan(*read_scheme("tds-uct"), Budget(playouts=10), runtime=SIMULATED)
    rank = plan.scheme.new_seat(Request(position, plan), Place()).rank
    count = int(rank.tree.node_count[ROOT])
    assert forbidden in position.game_moves
    assert forbidden not in rank.tree.edge_move[:count].tolist()
