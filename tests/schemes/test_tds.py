"""Message-level tests of the TDS handlers: a job in, a job out, no cluster."""

import numpy as np

from tests.games.test_go import SEND_TWO, at
from tests.runtimes.distributed import request
from treespan.schemes.base import Budget, Request
from treespan.schemes.messages import NO_SLOT, REPORT, SEARCH
from treespan.schemes.rank import (
    DRAINING,
    FINISHED,
    JOBS_ALIVE,
    LEAF_HEAD,
    NO_RANK,
    PLAYOUTS_DONE,
    QUEUED,
    TO_GRANT,
    TREE_HEAD,
    Rank,
    dequeue,
    enqueue,
)
from treespan.schemes.registry import make_scheme
from treespan.schemes.tds import NOT_PLAYED, handle_leaf_job, handle_tree_job, start_job
from treespan.search.tree import ROOT

SPEC = "pgame:branching=3,seed=2"
RANKS = 4


def cluster(scheme: str, playouts: int = 50) -> tuple[object, Rank, int]:
    """All ranks in one set of arrays, as the simulator has them; the game, the ranks and the root's home."""
    wanted = request(SPEC, playouts, RANKS)
    chosen = make_scheme(scheme)
    rank = chosen.new_ranks(wanted, rows=RANKS, first=0)  # type: ignore[attr-defined]
    return wanted.position.game, rank, chosen.root_home(wanted.position, RANKS)  # type: ignore[attr-defined]


def root_visits(rank: Rank) -> tuple[list[int], list[int]]:
    first, count = int(rank.tree.node_first[ROOT]), int(rank.tree.node_count[ROOT])
    here = slice(first, first + count)
    return rank.tree.edge_visits[here].tolist(), rank.tree.edge_flight[here].tolist()


def test_search_job_at_the_root_becomes_one_for_the_childs_home() -> None:
    game, rank, root_home = cluster("tds-uct")
    assert start_job(game, rank, 0)
    job = rank.jobs.headers[0]
    target = handle_tree_job(game, rank, root_home, 0)
    level = rank.jobs.levels[0, 0]
    assert (job.kind, job.levels, job.edge_visits) == (SEARCH, 1, 0)
    assert target == int(job.key) % RANKS and level.home == root_home
    assert root_visits(rank) == ([0, 0, 0], [1, 0, 0])  # under way, not yet counted


def test_leaf_plays_out_and_reports_to_its_parents_home() -> None:
    game, rank, root_home = cluster("tds-uct")
    start_job(game, rank, 0)
    home = handle_tree_job(game, rank, root_home, 0)
    assert handle_tree_job(game, rank, home, 0) == NO_RANK  # a leaf waits for its playout
    assert rank.numbers[home, LEAF_HEAD] == 0 and rank.numbers[home, TREE_HEAD] == NO_SLOT
    slot = dequeue(rank, home, True)
    target, plies = handle_leaf_job(game, rank, home, slot)
    job = rank.jobs.headers[0]
    assert (target, plies, job.kind, job.value in (0.0, 1.0)) == (root_home, 1, REPORT, True)
    assert rank.numbers[home, PLAYOUTS_DONE] == 1
    assert handle_tree_job(game, rank, root_home, 0) == root_home  # home again: a new search from the root
    assert root_visits(rank) == ([1, 0, 0], [0, 0, 0])
    assert (job.kind, job.levels) == (SEARCH, 0) and rank.shared[TO_GRANT] == 48


def test_virtual_loss_sends_jobs_apart() -> None:
    game, rank, root_home = cluster("tds-uct")
    for slot in range(3):
        start_job(game, rank, slot)
        handle_tree_job(game, rank, root_home, slot)
    assert root_visits(rank) == ([0, 0, 0], [1, 1, 1])


def test_dfuct_job_returns_only_as_far_as_a_level_has_flipped() -> None:
    game, rank, root_home = cluster("tds-dfuct:grant=50")
    start_job(game, rank, 0)
    job = rank.jobs.headers[0]
    home = handle_tree_job(game, rank, root_home, 0)
    handle_tree_job(game, rank, home, 0)
    target, _ = handle_leaf_job(game, rank, home, dequeue(rank, home, True))
    # The root's second move is unvisited, so it is best now: the job must return to level 0.
    assert (target, job.kind, job.target, job.allowance) == (root_home, REPORT, 0, 49)
    assert rank.jobs.levels[0, 0].gained_visits == 1
    handle_tree_job(game, rank, root_home, 0)
    assert job.kind == SEARCH and root_visits(rank) == ([1, 0, 0], [0, 1, 0])


def test_dfuct_job_without_allowance_goes_home_and_ends() -> None:
    game, rank, root_home = cluster("tds-dfuct:jobs=1,grant=1", playouts=1)
    assert rank.all_jobs == 1 and rank.shared[JOBS_ALIVE] == 1
    start_job(game, rank, 0)
    home = handle_tree_job(game, rank, root_home, 0)
    handle_tree_job(game, rank, home, 0)
    handle_leaf_job(game, rank, home, dequeue(rank, home, True))
    assert handle_tree_job(game, rank, root_home, 0) == NO_RANK
    assert rank.shared[JOBS_ALIVE] == 0 and rank.shared[FINISHED] == 1
    assert root_visits(rank) == ([1, 0, 0], [0, 0, 0])


def test_draining_calls_jobs_home_without_playouts() -> None:
    for scheme in ("tds-uct", "tds-dfuct"):
        game, rank, root_home = cluster(scheme)
        start_job(game, rank, 0)
        home = handle_tree_job(game, rank, root_home, 0)
        handle_tree_job(game, rank, home, 0)
        rank.shared[DRAINING] = 1
        target, plies = handle_leaf_job(game, rank, home, dequeue(rank, home, True))
        assert (target, plies) == (root_home, NOT_PLAYED)
        assert handle_tree_job(game, rank, root_home, 0) == NO_RANK
        assert root_visits(rank) == ([0, 0, 0], [0, 0, 0])
        assert rank.numbers[:, PLAYOUTS_DONE].sum() == 0


def test_queues_are_first_in_first_out_and_counted() -> None:
    _, rank, _ = cluster("tds-uct")
    for slot in (3, 1, 2):
        enqueue(rank, 0, slot, False)
    enqueue(rank, 0, 7, True)
    assert rank.numbers[0, QUEUED] == 4
    assert [dequeue(rank, 0, False) for _ in range(4)] == [3, 1, 2, NO_SLOT]
    assert [dequeue(rank, 0, True) for _ in range(2)] == [7, NO_SLOT]
    assert rank.numbers[0, QUEUED] == 0


def test_dedicated_root_holds_nothing_but_the_root() -> None:
    game, rank, root_home = cluster("tds-uct:dedicated_root=yes")
    assert root_home == 0
    homes = set()
    for slot in range(40):
        start_job(game, rank, slot)
        homes.add(int(handle_tree_job(game, rank, 0, slot)))
    assert homes and 0 not in homes
    assert np.all(rank.tree.edge_flight[:3] > 0)


def test_root_has_no_move_that_the_history_forbids() -> None:
    position = at(SEND_TWO, superko=True)
    position.play_text("A1 C1")
    (forbidden,) = position.forbidden_moves
    wanted = Request(position, Budget(playouts=10), ranks=1)
    rank = make_scheme("tds-uct").new_ranks(wanted, rows=1, first=0)  # type: ignore[attr-defined]
    count = int(rank.tree.node_count[ROOT])
    assert forbidden in position.game_moves
    assert forbidden not in rank.tree.edge_move[:count].tolist()
