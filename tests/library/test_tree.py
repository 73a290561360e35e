"""`treespan.Tree` and `treespan.Engine`: from search to search, and from move to move."""

import threading
import time
from typing import Any

import pytest

import treespan as ts
from treespan.core.jit import JIT_DISABLED

PLAYOUTS = 200 if JIT_DISABLED else 2000


@pytest.mark.parametrize(
    "options",
    [
        {"scheme": "sequential"},
        {"scheme": "shared", "threads": 2},
        {"scheme": "root", "threads": 2},
        {"scheme": "span", "threads": 2},
        {"scheme": "tds-uct", "simulate": 4},
        {"scheme": "span", "simulate": 120},
        {"scheme": "root", "simulate": 3},
        {"scheme": "broadcast", "threads": 2},
        {"scheme": "sequential", "workers": 1},
    ],
    ids=str,
)
def test_a_kept_tree_adds_up(options: dict[str, Any]) -> None:
    with ts.Tree("connect4", **options) as tree:
        first = tree.search(playouts=PLAYOUTS)
        more = tree.search(playouts=PLAYOUTS)
        assert first.root_visits == first.playouts == more.playouts == PLAYOUTS
        assert more.root_visits == 2 * PLAYOUTS
        reply = more.moves[0]
        tree.advance(reply.move)
        assert tree.position.moves_made == [reply.id]
        after = tree.search(playouts=PLAYOUTS)
        assert PLAYOUTS < after.root_visits <= reply.visits + PLAYOUTS


@pytest.mark.skipif(JIT_DISABLED, reason="the MPI runtime needs the compiler")
def test_mpi_ranks_stay_from_search_to_search() -> None:
    pytest.importorskip("mpi4py", reason="mpi4py is missing; pip install treespan[mpich]")
    with ts.Tree("tictactoe", scheme="span", ranks=2) as tree:
        first = tree.search(playouts=300)
        again = tree.search(playouts=300)
        assert again.root_visits == 600
        tree.advance(first.move)
        start = time.monotonic()
        kept = tree.search(playouts=300)
        assert kept.ranks == 2 and kept.root_visits > 300 == kept.playouts
        # who leaves the loop ends the search
        for _ in tree.watch(seconds=0.3, every=0.1):
            pass
        assert time.monotonic() - start < 60


@pytest.mark.parametrize("scheme", ["sequential", "sequential:algorithm=dfuct", "shared"])
def test_results_grow_while_one_watches(scheme: str) -> None:
    with ts.Tree("pgame:branching=8", scheme=scheme) as tree:
        seen = [so_far.playouts for so_far in tree.watch(seconds=1.0, every=0.2)]
    assert len(seen) >= 2 and seen == sorted(seen) and seen[-1] > 0


MPI_RANKS = {"scheme": "span", "ranks": 2}


@pytest.mark.parametrize(
    "options",
    [
        {"scheme": "span", "threads": 2},
        {"scheme": "tds-dfuct", "threads": 2},
        {"scheme": "leaf", "threads": 2},
        {"scheme": "root:period=0.01", "threads": 2},
        {"scheme": "sequential", "workers": 1},
        {"scheme": "span", "simulate": 8},
        {"scheme": "slow-tree", "simulate": 3},
        pytest.param(MPI_RANKS, marks=pytest.mark.skipif(JIT_DISABLED, reason="the MPI runtime needs the compiler")),
    ],
    ids=str,
)
def test_ranks_are_watched_while_they_search(options: dict[str, Any]) -> None:
    if "ranks" in options:
        pytest.importorskip("mpi4py", reason="mpi4py is missing; pip install treespan[mpich]")
    seen: list[ts.SearchResult] = []
    with ts.Tree("pgame:branching=8", **options) as tree:
        for so_far in tree.watch(seconds=600, every=0.1):
            seen.append(so_far)
            if len(seen) == 3:
                break
        last = tree.search(playouts=100)
    assert last.playouts == 100
    assert last.root_visits > 100
    playouts = [so_far.playouts for so_far in seen]
    assert 0 < playouts[0] < playouts[2] and playouts == sorted(playouts)
    for so_far in seen:
        assert so_far.root_visits == sum(move.visits for move in so_far.moves) <= so_far.playouts
        assert so_far.move == so_far.line[0] == so_far.moves[0].move
        assert all(0 <= move.value <= 1 for move in so_far.moves) and so_far.seconds > 0
        assert (so_far.scheme, so_far.ranks) == (last.scheme, last.ranks)
        assert str(so_far) and so_far.position.key == tree.position.key


def test_the_last_result_of_those_who_watch_ranks_is_the_whole_one() -> None:
    options: dict[str, Any] = {"scheme": "span", "simulate": 8}
    whole = ts.search("pgame:branching=8", playouts=PLAYOUTS, **options)
    with ts.Tree("pgame:branching=8", **options) as tree:
        assert [so_far.signature for so_far in tree.watch(playouts=PLAYOUTS, every=0.001)][-1] == whole.signature


def test_leaving_the_loop_ends_the_search() -> None:
    with ts.Tree("pgame:branching=8") as tree:
        start = time.monotonic()
        for so_far in tree.watch(seconds=600, every=0.1):
            assert so_far.moves[0].visits <= so_far.root_visits
            break
        assert time.monotonic() - start < 60
        assert threading.active_count() < 10
        assert tree.search(playouts=50).playouts == 50


def test_an_illegal_move_changes_nothing() -> None:
    tree = ts.Tree("tictactoe")
    with pytest.raises(ts.PositionError, match="it is not legal here"):
        tree.advance("a1", "a1")
    assert tree.position.moves_made == []
    with pytest.raises(ts.OptionError, match="exclude each other"):
        ts.Tree("tictactoe", threads=2, simulate=2)


def test_an_engine_plays() -> None:
    with ts.Engine("tictactoe", playouts=PLAYOUTS, ponder=True) as player:
        player.play("a1")
        answer = player.choose()
        assert answer.move == "b2" and not answer.resigns and answer.result is not None
        player.play(answer.move)
        assert len(player.position.moves_made) == 2
        player.undo()
        with pytest.raises(ts.PositionError):
            player.play("a1")
        assert len(player.position.moves_made) == 1


def test_an_engine_resigns_if_it_is_told_to() -> None:
    with ts.Engine(ts.make_game("connect4"), playouts=30, resign=0.99) as player:
        answers = []
        for move in ("1", "2", "3"):
            player.play(move)
            answers.append(player.choose())
            player.play("7")
    assert answers[-1].resigns and answers[-1].move is None


def test_one_search_at_a_time_grows_a_tree() -> None:
    tree = ts.Tree("pgame:branching=8")
    for _ in tree.watch(seconds=600, every=0.1):
        with pytest.raises(ts.TreespanError, match="the tree is growing already"):
            tree.search(playouts=10)
        break
    assert tree.search(playouts=10).playouts == 10


def test_a_result_keeps_its_position() -> None:
    position = ts.make_game("tictactoe").position()
    result = ts.search(position, playouts=50)
    position.play_text("a1")
    assert result.position.moves_made == []


@pytest.mark.parametrize("budget", ["playouts", "seconds"])
def test_a_tree_takes_no_budget(budget: str) -> None:
    with pytest.raises(
        ts.OptionError, match=f"{budget}=5 is for a search, and a tree has several; give it to `search`"
    ):
        ts.Tree("tictactoe", **{budget: 5})


@pytest.mark.parametrize(
    "options",
    [
        {"scheme": "span", "simulate": 5},
        {"scheme": "treesplit:n_dup=4,n_sync=5", "simulate": 3},
        {"scheme": "tds-uct", "threads": 2},
        {"scheme": "slow-tree", "simulate": 2},
        {"scheme": "sequential"},
        pytest.param(MPI_RANKS, marks=pytest.mark.skipif(JIT_DISABLED, reason="the MPI runtime needs the compiler")),
    ],
    ids=str,
)
def test_expected_lines_are_legal_and_begin_with_their_moves(options: dict[str, Any]) -> None:
    if "ranks" in options:
        pytest.importorskip("mpi4py", reason="mpi4py is missing; pip install treespan[mpich]")
    with ts.Tree("connect4", **options) as tree:
        results = [tree.search(playouts=3 * PLAYOUTS)]
        for so_far in tree.watch(seconds=600, every=0.1):
            results.append(so_far)
            if len(results) == 8:
                break
    for result in results:
        assert result.line == result.moves[0].line or len(result.line) == 1
        for move in result.moves:
            if move.line:
                assert move.line[0] == move.move
                ts.make_game("connect4").position(" ".join(move.line))  # refuses an illegal move
    assert len(results[0].line) > 3
    assert sum(len(move.line) > 2 for move in results[-1].moves) > 3
