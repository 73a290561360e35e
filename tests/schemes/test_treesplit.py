"""Scheme treesplit: copies of hot nodes, whose results reach the homes once; sharing nothing and everything."""

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from tests.runtimes.distributed import check_result, check_seat, home_of_plain, moves_of, request, sequential_moves
from treespan.core.errors import OptionError
from treespan.core.jit import JIT_DISABLED
from treespan.runtimes.network import find_profile
from treespan.runtimes.simulated import run_simulated
from treespan.runtimes.threads import run_threads
from treespan.schemes import evaluation, tds
from treespan.schemes.copies import NO_COPY, copy_key
from treespan.schemes.distributed import Place
from treespan.schemes.messages import NO_SLOT
from treespan.schemes.rank import LEAVES, LEAVES_LENGTH, OUT, OVER, TREE_LENGTH, URGENT, dequeue, receive
from treespan.schemes.registry import make_scheme
from treespan.search.tree import EDGES, NODES, ROOT
from treespan.search.uct import gain_of

SPEC = "pgame:branching=5"
QDR = find_profile("qdr")
PLAYOUTS = 100 if JIT_DISABLED else 2000
FEW = 200  # for clusters driven by Python


class Cluster:
    """Ranks whose messages arrive in any order; notes the path of every playout."""

    def __init__(self, scheme: str, ranks: int, playouts: int, seed: int = 1):
        made: Any = make_scheme(scheme)
        self.seat = made.new_seat(request(SPEC, playouts, ranks), Place(rows=ranks))
        self.rank, self.copies = self.seat.rank, self.seat.handle.whole.value
        self.ranks, self.order = ranks, np.random.default_rng(seed)
        self.mail: list[int] = []  # slots of messages under way
        self.counted: dict[tuple[int, int], tuple[int, float]] = {}  # visits and wins by position and move
        self.paths: list[list[tuple[int, int]]] = []  # of each playout, its positions and the ranks that selected there
        for row in range(ranks):
            tds.start(self.seat.handle, row, 0)
            self.collect(row)

    def run(self) -> None:
        while not self.rank.port.numbers[:, OVER].all():
            action = self.order.integers(3)
            if action == 0 and self.mail:
                slot = self.mail.pop(int(self.order.integers(len(self.mail))))
                row = int(self.rank.port.jobs.headers[slot].receiver)
                receive(self.rank.port, row, slot)
            else:
                row = int(self.order.integers(self.ranks))
                numbers = self.rank.port.numbers[row]
                if action == 1 and numbers[LEAVES_LENGTH] > 0:
                    self.play_out(row)
                elif numbers[TREE_LENGTH] > 0 or numbers[URGENT] != NO_SLOT:
                    tds.advance(self.seat.handle, row, 0)
            self.collect(row)
        assert not self.mail

    def collect(self, row: int) -> None:
        while self.rank.port.numbers[row, OUT] != NO_SLOT:
            self.mail.append(int(dequeue(self.rank.port, row, OUT)))

    def play_out(self, row: int) -> None:
        slot = int(dequeue(self.rank.port, row, LEAVES))
        evaluation.evaluate(self.seat.evaluators[0], row, slot)
        jobs, gain = self.rank.port.jobs, getattr(gain_of, "py_func", gain_of)
        levels = [jobs.levels[slot, i] for i in range(jobs.headers[slot].levels)]
        self.paths.append([(self.position(int(level.node), int(level.home)), int(level.home)) for level in levels])
        for level, (position, _) in zip(levels, self.paths[-1], strict=True):
            place = (position, int(level.move))
            visits, wins = self.counted.get(place, (0, 0.0))
            self.counted[place] = visits + 1, wins + gain(level.player, jobs.headers[slot].value)
        tds.absorb(self.seat.handle, row, slot)

    def position(self, node: int, holder: int) -> int:
        """The key of the position of a node or a copy."""
        node_key = np.uint64(self.rank.tree.node_key[node])
        return int(node_key if self.copies.role[node] == NO_COPY else copy_key(node_key, holder))

    def statistics(self) -> dict[tuple[int, int], tuple[int, float]]:
        """What the homes have, where there is anything."""
        tree, found = self.rank.tree, {}
        for node in range(int(tree.used[NODES])):
            if self.copies.role[node] == NO_COPY:
                first = int(tree.node_first[node])
                edges = range(first, first + int(tree.node_count[node]))
                assert tree.node_visits[node] == sum(tree.edge_visits[edge] for edge in edges)
                for edge in edges:
                    if tree.edge_visits[edge] > 0:
                        place = (int(tree.node_key[node]), int(tree.edge_move[edge]))
                        found[place] = (int(tree.edge_visits[edge]), float(tree.edge_wins[edge]))
        return found

    def copy_count(self) -> int:
        return int((self.copies.role[: int(self.rank.tree.used[NODES])] != NO_COPY).sum())


@pytest.mark.parametrize("options", ["n_dup=0,n_sync=1", "n_dup=2,n_sync=7,jobs=9", "n_dup=16,n_sync=100"])
def test_homes_have_every_result_once(options: str) -> None:
    """Against a brute-force sum, whatever the order in which messages arrive."""
    cluster = Cluster(f"treesplit:{options}", 4, FEW)
    cluster.run()
    assert cluster.copy_count() >= 3  # of the root at least
    assert cluster.statistics() == cluster.counted
    assert cluster.rank.tree.node_visits[ROOT] == FEW == len(cluster.paths)
    assert not cluster.copies.new_visits[: int(cluster.rank.tree.used[EDGES])].any()
    check_seat(cluster.seat)


def test_sharing_nothing_is_a_split_tree() -> None:
    cluster = Cluster("treesplit:n_dup=1000000", 4, FEW)
    cluster.run()
    assert cluster.copy_count() == 3  # the root alone is everywhere
    for path in cluster.paths:
        for key, rank in path[1:]:
            assert rank == home_of_plain(key, cluster.rank)
    assert len({rank for path in cluster.paths for _, rank in path[1:]}) > 1


def test_sharing_everything_needs_messages_for_leaves_only() -> None:
    playouts = 3 * FEW
    everything, nothing = (Cluster(f"treesplit:n_dup={n_dup}", 4, playouts) for n_dup in (0, 10**6))
    for cluster in (everything, nothing):
        cluster.run()
    late = [[len({rank for _, rank in path}) == 1 for path in c.paths[playouts // 2 :]] for c in (everything, nothing)]
    alone = [float(np.mean(same)) for same in late]  # share of simulations that one rank selects
    assert alone[0] > 0.6 > alone[1] + 0.2
    messages = [
        run_simulated(make_scheme(f"treesplit:n_dup={n_dup}"), request(SPEC, playouts, 4), QDR).messages["per_playout"]  # type: ignore[arg-type]
        for n_dup in (0, 10**6)
    ]
    assert messages[0] < messages[1]


@pytest.mark.parametrize("spec", [SPEC, "tictactoe", "sailing:size=4"])
@pytest.mark.parametrize("bandit", ["ucb1", "puct"])
def test_one_rank_with_one_simulation_is_the_sequential_search(spec: str, bandit: str) -> None:
    wanted = request(spec, PLAYOUTS, 1, seed=2)
    scheme: Any = make_scheme(f"treesplit:overload=1,bandit={bandit}")
    for result in (run_threads(scheme, wanted), run_simulated(scheme, wanted, QDR)):
        check_result(result, PLAYOUTS)
        assert moves_of(result) == sequential_moves(spec, "uct", PLAYOUTS, 2, f",bandit={bandit}")


def test_every_worker_has_its_simulations() -> None:
    scheme: Any = make_scheme("treesplit:overload=4")
    wanted = request(SPEC, PLAYOUTS, 2)
    assert scheme.all_jobs(2) == 8 and scheme.all_jobs(2, workers=3) == 24
    check_result(run_threads(scheme, replace(wanted, workers=3)), PLAYOUTS)


def test_fewer_playouts_than_ranks_and_a_full_tree() -> None:
    check_result(run_simulated(make_scheme("treesplit"), request(SPEC, 3, 9), QDR), 3)  # type: ignore[arg-type]
    few: Any = make_scheme("treesplit:nodes=40,n_dup=0")
    result = run_simulated(few, request(SPEC, PLAYOUTS, 3), QDR)
    check_result(result, PLAYOUTS)
    assert result.tree_full
    with pytest.raises(OptionError, match="--nodes 19 is too small for the root and its copies; give at least 20"):
        run_simulated(replace(few, nodes=19), request(SPEC, PLAYOUTS, 3), QDR)
