"""Rounds of slow-tree, slow-root and root: averages against a merge in NumPy, agreement, extension."""

from typing import Any

import numpy as np
import pytest

from tests.support.distributed import check_result, request
from tests.support.searches import position_of, sized
from treespan.core.handles import call_entry
from treespan.core.jit import njit
from treespan.runtimes.run import run_search
from treespan.schemes.protocol.messages import NO_SLOT
from treespan.schemes.protocol.port import LEAVES, NOTHING, OUT, dequeue, receive
from treespan.schemes.registry import read_scheme
from treespan.schemes.scheme import Place
from treespan.schemes.whole_trees.averaging import rounds
from treespan.search.result import rank_moves
from treespan.search.searcher import Searcher
from treespan.search.text import summary_lines

SPEC = "pgame:branching=4"
RANKS = 11  # more than one level of the tree of ranks
SECOND = 10**9


@njit
def call(entry, handle, row, slot):
    return call_entry(entry, handle, row, slot)


class Cluster:
    """Ranks that are driven by hand: simulations where and when the test says, messages at once."""

    def __init__(self, scheme: str, playouts: int = 10**6):
        wanted = request(scheme, SPEC, playouts, RANKS)
        seat = wanted.plan.scheme.new_seat(wanted, Place(rows=RANKS))
        self.seat, self.port, self.tree, self.program = seat, seat.port, seat.tree, seat.program
        for row in range(RANKS):
            call(self.program.start, self.program.rank, row, 0)

    def simulate(self, row: int, count: int) -> None:
        for _ in range(count):
            slot = dequeue(self.port, row, LEAVES)
            call(self.program.evaluate, self.program.evaluator, row, slot)
            call(self.program.absorb, self.program.rank, row, slot)

    def exchange(self) -> None:
        """Deliver and handle messages until there are none."""
        moved = True
        while moved:
            moved = False
            for row in range(RANKS):
                while call(self.program.advance, self.program.rank, row, 0) != NOTHING:
                    moved = True
                while (slot := dequeue(self.port, row, OUT)) != NO_SLOT:
                    receive(self.port, int(self.port.jobs.headers[slot].receiver), slot)
                    moved = True

    def hold_round(self, at: int) -> None:
        """Let the clock of all ranks reach the time of a round; each notices after one simulation more."""
        self.port.state.now = at
        for row in range(RANKS):
            self.simulate(row, 1)

    def statistics(self, row: int, *path: int) -> np.ndarray:
        """Visits and wins of the moves of a node, reached by choices from a rank's root; zeros if it has none."""
        node = int(self.seat.rank.roots[row])
        for choice in path:
            node = int(self.tree.edge_child[int(self.tree.node_first[node]) + choice])
            if node >= int(self.tree.used[0]):
                return np.zeros((2, 4))
        edges = slice(int(self.tree.node_first[node]), int(self.tree.node_first[node] + self.tree.node_count[node]))
        return np.array([self.tree.edge_visits[edges], self.tree.edge_wins[edges]], dtype=float)


def merge(parts: list[np.ndarray], divisor: int) -> np.ndarray:
    """Averages of the papers: visits rounded up to whole ones, means kept."""
    visits, wins = np.sum(parts, axis=0)
    rounded = np.ceil(visits / divisor)
    return np.array([rounded, wins / np.maximum(visits, 1) * rounded])


NODES = [(), *((i,) for i in range(4)), *((i, j) for i in range(4) for j in range(4))]


@pytest.mark.parametrize(
    "scheme, divisor, depth", [("slow-tree:share=0,depth=2", RANKS, 2), ("root", 1, 0), ("slow-root", RANKS, 0)]
)
def test_two_rounds_are_a_merge_without_double_counts(scheme: str, divisor: int, depth: int) -> None:
    cluster = Cluster(f"{scheme}{',' if ':' in scheme else ':'}period=1,c=2")
    shared = [path for path in NODES if len(path) <= depth]
    own = {path: [np.zeros((2, 4)) for _ in range(RANKS)] for path in NODES}  # what each rank itself found
    before = {path: [np.zeros((2, 4)) for _ in range(RANKS)] for path in NODES}

    def note_own() -> None:
        for path in NODES:
            for row in range(RANKS):
                now = cluster.statistics(row, *path)
                own[path][row] += now - before[path][row]
                before[path][row] = now

    for round_number in (1, 2):
        for row in range(RANKS):
            cluster.simulate(row, 40 + 7 * row)  # ranks of different speed
        cluster.hold_round(at=round_number * SECOND + 1)
        note_own()
        cluster.exchange()
        assert cluster.seat.handle.whole.value.state.rounds_done.tolist() == [round_number] * RANKS
        for path in NODES:
            for row in range(RANKS):
                now = cluster.statistics(row, *path)
                is_shared = path in shared and np.sum(own[path], axis=0).any()
                if is_shared:
                    np.testing.assert_allclose(now, merge(own[path], divisor), atol=2e-6)
                else:
                    np.testing.assert_array_equal(now, before[path][row])
                before[path][row] = now
    root_visits = [int(cluster.tree.node_visits[root]) for root in cluster.seat.rank.roots]
    assert root_visits == [int(cluster.statistics(row)[0].sum()) for row in range(RANKS)]


def test_simulations_during_a_round_are_added_on_top() -> None:
    cluster = Cluster("slow-root:period=1")
    for row in range(RANKS):
        cluster.simulate(row, 30)
    cluster.hold_round(at=SECOND + 1)
    contributed = [cluster.statistics(row) for row in range(RANKS)]
    for row in range(RANKS):  # the note to oneself: sums are on their way, totals are not back
        call(cluster.program.advance, cluster.program.rank, row, 0)
        cluster.simulate(row, 5)
    since = [cluster.statistics(row) - contributed[row] for row in range(RANKS)]
    cluster.exchange()
    for row in range(RANKS):
        np.testing.assert_allclose(cluster.statistics(row), merge(contributed, RANKS) + since[row], atol=2e-6)


@pytest.mark.parametrize("option", ["share=0.3", "min_visits=25", "copies=2"])
def test_only_nodes_with_enough_simulations_are_shared(option: str) -> None:
    cluster = Cluster(f"slow-tree:depth=2,period=1,{option}")
    for row in range(RANKS):
        cluster.simulate(row, 100)
    cluster.hold_round(at=SECOND + 1)
    totals = np.sum([cluster.statistics(row) for row in range(RANKS)], axis=0)[0]
    cluster.exchange()
    own = cluster.seat.handle.whole.value
    names, values = option.split("=")
    if names == "share":
        expected = int((totals >= float(values) * totals.sum()).sum())
    elif names == "min_visits":
        expected = int((totals >= float(values) * RANKS).sum())
    else:
        expected = 0  # no room
    first_level = [int(own.levels[0, node]) for node in range(int(own.state[0].shared))].count(1)
    assert first_level == expected


def search(
    scheme: str, ranks: int = 5, playouts: int | None = 1000, seconds: float | None = None, seed: int = 3
) -> Any:
    return run_search(request(scheme, SPEC, playouts, ranks, seed, seconds=seconds))


def test_the_ranks_tell_how_much_they_differ() -> None:
    result = search("slow-tree:period=0.0001")
    assert set(result.between_ranks) == {"agreement", "mean_value", "variance", "rounds", "extensions"}
    assert 0 <= result.between_ranks["agreement"] <= 1 and 0 < result.between_ranks["variance"] < 0.25
    assert any("of the ranks prefer it by their own simulations" in line for line in summary_lines(result))
    assert search("slow-tree", ranks=1).between_ranks is None and result.as_json()["between_ranks"]["rounds"] > 0


def test_disagreement_is_that_of_the_trees() -> None:
    """Without a period the trees are known: stream i of the seed."""
    ranks, playouts = 5, 1000
    _, options = read_scheme("root:solver=no")
    favourites, means = [], []
    result = search("root:solver=no", ranks, playouts)
    for stream in range(ranks):
        position = position_of(SPEC)
        searcher = Searcher(position.game, options, seed=3, stream=stream)
        searcher.set_position(position)
        searcher.run(playouts // ranks)
        moves = searcher.root().moves
        favourites.append(rank_moves(moves, "visits")[0].move)
        means += [move.value for move in moves if move.move == result.move]
    assert result.between_ranks["agreement"] == favourites.count(result.move) / ranks
    assert result.between_ranks["variance"] == pytest.approx(float(np.var(means)))
    assert result.between_ranks["mean_value"] == pytest.approx(float(np.mean(means)))


def test_an_unsure_search_is_extended_up_to_its_limit() -> None:
    unsure, plain = (search(f"slow-root:period=0.001{extend}", 8, 203, seed=2) for extend in (",extend=3", ""))
    assert plain.playouts == 203 and plain.between_ranks["extensions"] == 0
    steps = unsure.between_ranks["extensions"]
    assert 1 <= steps <= 4 and unsure.playouts == 203 + 2 * 203 * int(steps) // 4
    check_result(unsure, unsure.playouts)
    sure = search("slow-root:period=0.001,c=0.1,extend=3", 2, sized(20_000, without_jit=801))
    assert sure.between_ranks["agreement"] >= rounds.AGREEMENT or sure.between_ranks["extensions"] == 4


@pytest.mark.parametrize("ranks, playouts, times", [(64, 1000, 2), (16, 90, 1.05), (7, 5, 1.5)])
def test_ranks_that_hardly_know_are_unsure_and_stay_within_the_budget(ranks: int, playouts: int, times: float) -> None:
    """Most of their moves have as many visits as others: what they vote for is what they would choose."""
    for seed in range(1, 4):
        result = search(f"root:extend={times}", ranks, playouts, seed=seed)
        between = result.between_ranks
        assert between["extensions"] == 4 or between["agreement"] >= rounds.AGREEMENT
        assert result.playouts == playouts + int(playouts * (times - 1)) * int(between["extensions"]) // 4
        check_result(result, result.playouts)


def test_an_unsure_search_gets_more_time() -> None:
    scheme = "root:policy=wait=1ms"
    timed, extended = (search(scheme + more, 8, None, 0.02, seed=2) for more in ("", ",extend=2"))
    steps = extended.between_ranks["extensions"]
    assert 0.02 <= timed.seconds < 0.023 and steps >= 1
    assert 0.02 + 0.005 * steps <= extended.seconds < 0.023 + 0.005 * steps
    check_result(extended, extended.playouts)
