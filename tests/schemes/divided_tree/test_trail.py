"""RAVE for jobs that travel: every node is credited as the sequential search would, whatever way the jobs go."""

import numpy as np
import pytest

from tests.support.cluster import Cluster
from tests.support.distributed import check_seat, home_of_plain, moves_of, request, sequential_moves
from treespan.core.errors import OptionError
from treespan.core.jit import JIT_DISABLED
from treespan.games.rules import CHANCE
from treespan.runtimes.mpi_loop import mail_of, pack, unpack
from treespan.runtimes.simulated import run_simulated
from treespan.schemes.divided_tree import handlers
from treespan.schemes.divided_tree.span import dealing
from treespan.schemes.protocol.messages import HEADER_WORDS, LONGEST_TRAIL, NO_SLOT, REPORT, UCT_LEVEL_WORDS
from treespan.schemes.protocol.port import FREE, LEAVES, message_bytes
from treespan.schemes.registry import read_scheme
from treespan.search.tree import ROOT

FEW = 60 if JIT_DISABLED else 400
GAMES = ["tictactoe", "hex:size=4", "go:size=5", "sailing:size=4"]
Statistics = dict[tuple[int, int], tuple[int, float]]
BANDITS = ["rave", "rave-mse"]


def assert_same(found: Statistics, expected: Statistics) -> None:
    """Visits exactly, wins but for rounding."""
    assert {place: visits for place, (visits, _) in found.items()} == {
        place: visits for place, (visits, _) in expected.items()
    }
    assert [found[place][1] for place in expected] == pytest.approx([wins for _, wins in expected.values()], rel=1e-5)


@pytest.mark.parametrize(
    "scheme",
    [
        "tds-uct:jobs=4",
        "tds-uct:jobs=4,place=idle",
        "tds-dfuct:jobs=3,grant=7",
        "tds-dfuct:jobs=2,grant=100",
        "span:jobs=3,grant=5",
        "span:jobs=40,grant=2",
        "treesplit:n_dup=4,n_sync=3",
    ],
)
@pytest.mark.parametrize("game", GAMES)
def test_homes_have_every_credit_once(scheme: str, game: str) -> None:
    """Against a brute-force count over all playouts; transpositions, captures and chance included."""
    cluster = Cluster(game, f"{scheme},bandit=rave-mse,c=0.2", 5, FEW)
    cluster.run()
    assert len(cluster.paths) == FEW and cluster.later
    assert_same(cluster.statistics(), cluster.counted)
    assert_same(cluster.amaf(), cluster.later)
    check_seat(cluster.seat)


@pytest.mark.parametrize("game", GAMES)
@pytest.mark.parametrize("bandit", BANDITS)
@pytest.mark.parametrize("scheme", ["tds-uct", "tds-dfuct:kept_moves=all", "tds-dfuct:grant=1", "span", "treesplit"])
def test_one_job_is_the_sequential_search(game: str, bandit: str, scheme: str) -> None:
    """df-UCT, too, if it asks the nodes about all moves, or comes back after every playout."""
    options = f",bandit={bandit},c=0.2"
    one_job = scheme + ("," if ":" in scheme else ":") + "jobs=1" + options
    result = run_simulated(request(one_job, game, FEW))
    assert moves_of(result) == sequential_moves(game, "uct", FEW, 1, options)


@pytest.mark.parametrize("game", ["hex:size=4", "go:size=5"])
def test_trails_that_do_not_fit_go_up_before_the_results_that_they_belong_to(game: str) -> None:
    """A job must not tell the job above of all its results and then come home, too: that one may be gone by then."""
    playouts = 2_000  # with fewer all trails fit
    cluster = Cluster(game, "span:jobs=160,grant=31,bandit=rave-mse,c=0.2", 2, playouts)
    port, told = cluster.rank.port, 0
    while not cluster.step():
        for slot in cluster.mail:
            job = port.jobs.parts[slot]
            assert job.whole == NO_SLOT or job.kind != REPORT or port.jobs.levels[slot, job.top].under_way > 0
            told += job.kind == REPORT and job.trail > LONGEST_TRAIL // 2
    assert told > 0
    assert cluster.rank.tree.node_visits[ROOT] == playouts == len(cluster.paths)
    assert_same(cluster.statistics(), cluster.counted)
    assert_same(cluster.amaf(), cluster.later)
    check_seat(cluster.seat)


def test_a_job_with_a_long_trail_goes_home_if_it_has_no_slot_to_deal_or_tell() -> None:
    """Its next playout would have no room on the trail."""
    cluster = Cluster("hex:size=4", "span:jobs=40,grant=2,bandit=rave-mse,c=0.2", 2, FEW)
    rank, own, parts = cluster.rank, cluster.seat.handle.whole.value, cluster.rank.port.jobs.parts
    while not own.waiting[ROOT + 1 :].any():
        assert not cluster.step()
    node = ROOT + 1 + int(np.flatnonzero(own.waiting[ROOT + 1 :])[0])
    slot, row = int(own.waiting[node]) - 1, home_of_plain(rank.tree.node_key[node], rank)
    job, levels = parts[slot], int(parts[slot].levels)
    job.dealt, job.allowance, job.trail = 0, 5, LONGEST_TRAIL
    rank.port.queues[:, FREE].length = 0
    dealing.deal(cluster.seat.handle.whole, row, slot, node)
    assert (job.kind, job.levels, job.allowance, job.target) == (REPORT, levels, 5, job.top)
    assert own.waiting[node] == 0


def test_a_trail_is_never_longer_than_its_room() -> None:
    """A job that may do more playouts comes back to the root before its trail is too long, and goes on."""
    playouts = 400  # with fewer no trail becomes so long
    cluster = Cluster("hex:size=4", "tds-dfuct:jobs=1,grant=1000,bandit=rave,c=0", 1, playouts)
    longest = 0
    headers, play_out = cluster.rank.port.jobs.headers, cluster.play_out

    def watched(row: int) -> None:
        nonlocal longest
        play_out(row)
        longest = max(longest, int(headers[0].trail))

    cluster.play_out = watched  # type: ignore[method-assign]
    cluster.run()
    assert longest == LONGEST_TRAIL
    assert len(cluster.paths) == playouts and cluster.amaf() == cluster.later


@pytest.mark.parametrize("game", GAMES)
def test_the_stack_test_knows_the_amaf_values_that_its_node_will_have(game: str) -> None:
    """One job: nobody else changes a node between the job's leaving and its report."""
    cluster = Cluster(game, "tds-dfuct:jobs=1,grant=100,bandit=rave-mse,c=0.2", 1, FEW)
    port, tree, checked = cluster.rank.port, cluster.rank.tree, 0
    while not port.state[0].over:
        if port.queues[0, LEAVES].length > 0:
            cluster.play_out(0)
            continue
        job, last = port.jobs.headers[0], int(port.jobs.headers[0].levels) - 1
        is_report = job.kind == REPORT
        level, amaf = port.jobs.levels[0, last].copy(), port.jobs.amaf_levels[0, last].copy()
        handlers.advance(cluster.seat.handle, 0, 0)
        if not is_report or level.player == CHANCE:
            continue
        assert tree.edge_amaf_visits[level.edge] == amaf.best_visits + level.gained_visits
        assert tree.edge_amaf_wins[level.edge] == pytest.approx(amaf.best_wins + level.gained_wins, rel=1e-5)
        if level.second_visits >= 0:
            first = int(tree.node_first[level.node])
            moves = tree.edge_move[first : first + int(tree.node_count[level.node])].tolist()
            second = first + moves.index(int(amaf.second_move))
            assert tree.edge_amaf_visits[second] == amaf.second_visits
            assert tree.edge_amaf_wins[second] == pytest.approx(amaf.second_wins, rel=1e-5)
            checked += 1
    assert checked > 10


class Wire(Cluster):
    """Messages travel as words, as MPI sends them, and arrive in slots full of something else."""

    def collect(self, row: int) -> None:
        known = len(self.mail)
        super().collect(row)
        port, jobs = self.rank.port, self.rank.port.jobs
        for slot in self.mail[known:]:
            message = self.noise(mail_of(port).outgoing.shape[1])
            words = pack(port, slot, message)
            assert 8 * words == message_bytes(port, slot) and words <= len(message)
            for array in (jobs.header_words, jobs.level_words, jobs.amaf_level_words, jobs.trails):
                array[slot] = self.noise(array.shape[1])
            unpack(port, message, slot)

    def noise(self, words: int) -> np.ndarray:
        return self.order.integers(0, 2**63, words, dtype=np.uint64)


@pytest.mark.parametrize("scheme", ["tds-dfuct:jobs=2,grant=50", "span:jobs=40,grant=2"])
def test_messages_carry_all_that_is_needed(scheme: str) -> None:
    cluster = Wire("hex:size=4", f"{scheme},bandit=rave-mse,c=0.2", 4, FEW)
    cluster.run()
    assert_same(cluster.statistics(), cluster.counted)
    assert_same(cluster.amaf(), cluster.later)


@pytest.mark.parametrize(("bandit", "trail"), [("ucb1", 0), ("rave", 24)])
def test_messages_are_larger_by_the_trail_alone(bandit: str, trail: int) -> None:
    """Hex 4 x 4: three words a playout, and a report of UCT has one of them."""
    result = run_simulated(request(f"tds-uct:jobs=1,bandit={bandit},max_depth=1", "hex:size=4", 32, 4))
    sent, level = result.messages["sent"], 8 * UCT_LEVEL_WORDS
    jobs = (result.messages["bytes"] - 8 * HEADER_WORDS * sent) / (level + trail / 2)  # half of them are reports
    assert sent - 4 <= jobs <= sent - 3  # the others say that the search is over


def test_histories_have_no_trails() -> None:
    with pytest.raises(OptionError, match="rave"):
        read_scheme("mp-mcts:bandit=rave")
