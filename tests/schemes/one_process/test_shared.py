"""The scheme `shared`: its options, its budgets, its result."""

from typing import Any

import pytest

from tests.support.distributed import request
from tests.support.searches import SMALL_GAMES, sized, statistics
from treespan.core.errors import OptionError
from treespan.schemes.plan import THREADS
from treespan.schemes.registry import read_scheme
from treespan.search.options import BANDITS
from treespan.search.result import SearchResult
from treespan.search.shared_searcher import VIRTUAL_LOSSES

PLAYOUTS = sized(3001, without_jit=201)


def run(scheme: str, spec: str = "pgame", playouts: int = PLAYOUTS, threads: int = 1, **more: Any) -> SearchResult:
    wanted = request(scheme, spec, playouts, threads, runtime=THREADS, **more)
    return wanted.plan.scheme.search_here(wanted)


@pytest.mark.parametrize("virtual_loss", VIRTUAL_LOSSES)
@pytest.mark.parametrize("spec", SMALL_GAMES)
def test_one_thread_equals_sequential_bit_for_bit(spec: str, virtual_loss: str) -> None:
    sequential = run("sequential:nodes=50000", spec, seed=5)
    shared = run(f"shared:nodes=50000,virtual_loss={virtual_loss}", spec, seed=5)
    assert statistics(sequential) == statistics(shared)
    same = ("signature", "move", "playouts", "nodes", "edges", "depth", "max_depth", "line", "proven")
    assert {name: getattr(sequential, name) for name in same} == {name: getattr(shared, name) for name in same}


@pytest.mark.parametrize("update", ["atomic", "mutex"])
@pytest.mark.parametrize("bandit", BANDITS)
def test_budget_is_exact_whatever_the_threads(bandit: str, update: str) -> None:
    result = run(f"shared:nodes=50000,solver=no,update={update},bandit={bandit}", threads=4)
    assert result.playouts == result.root_visits == PLAYOUTS == sum(move.visits for move in result.moves)
    assert result.threads == len(result.load) == 4 and all(0 <= share <= 1 for share in result.load)
    assert result.depth > 1 and result.max_depth >= result.depth


def test_more_threads_than_playouts() -> None:
    result = run("shared:nodes=1000", playouts=2, threads=4)
    assert result.playouts == result.root_visits == 2


def test_proof_ends_the_search_of_all() -> None:
    result = run("shared:nodes=1000", "tictactoe", 10**6, threads=3, moves="a1 b1 a2 b2")
    assert (result.move, result.proven) == ("a3", "win")
    assert result.root_visits == result.playouts == sum(move.visits for move in result.moves) < 10**6


def test_full_tree_is_reported() -> None:
    result = run("shared:nodes=40", threads=3)
    assert result.tree_full and result.edges <= 40 and result.playouts == PLAYOUTS


def test_searcher_goes_on_from_move_to_move() -> None:
    wanted = request("shared:nodes=50000,solver=no", "connect4", PLAYOUTS, 2, runtime=THREADS)
    (searcher,) = wanted.plan.scheme.new_searchers(wanted.position.game, wanted.plan)
    searcher.set_position(wanted.position)
    for _ in range(3):
        kept = searcher.root().visits
        assert searcher.run(PLAYOUTS) == PLAYOUTS
        assert searcher.root().visits == kept + PLAYOUTS
        assert searcher.advance(max(searcher.root().moves, key=lambda move: move.visits).id)


@pytest.mark.parametrize(
    "scheme, message",
    [
        ("shared:algorithm=dfuct", "shared: algorithm=dfuct is not possible; known: uct"),
        ("shared:virtual_loss=lots", "unknown shared virtual_loss 'lots'"),
        ("shared:update=lock", "unknown shared update 'lock'"),
    ],
)
def test_options_that_do_not_go_together_are_refused(scheme: str, message: str) -> None:
    with pytest.raises(OptionError, match=message):
        read_scheme(scheme)
