"""UCT: equal to its slow twin everywhere, and what holds after any search of any game."""

import time
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.naive.uct import NaiveUct
from tests.support.searches import (
    EVERY_GAME,
    SMALL_GAMES,
    assert_consistent,
    assert_same_statistics,
    assert_same_tree,
    edges_of,
    new_searcher,
    nodes_by_key,
    position_of,
    root_statistics,
    search,
    sized,
    tree_statistics,
)
from tests.support.trees import naive_statistics
from treespan.core.jit import JIT_DISABLED
from treespan.games.pgame import PGame
from treespan.games.rules import CHANCE, FIRST, NATURES_MOVE, SECOND, noted
from treespan.search.options import BANDITS, SearchOptions
from treespan.search.rave import update_amaf
from treespan.search.tree import EDGES, NODES, ROOT, TERMINAL, add_node, new_tree
from treespan.search.uct import FIRST_CHECK, MAX_CHECK, next_interval
from treespan.search.work import DEPTH_CUT, DEPTH_MAX, DEPTH_SUM, PLIES, TRANSPOSED, new_work

PLAYOUTS = sized(2000, without_jit=200)
NAIVE_PLAYOUTS = sized(400, without_jit=100)
SEEDS = (1,) if JIT_DISABLED else (1, 2)
VARIANTS: list[dict[str, Any]] = [
    {},
    {"bandit": "tuned1"},
    {"bandit": "tuned2"},
    {"bandit": "puct"},
    {"bandit": "rave"},
    {"bandit": "rave", "c": 0.5, "rave_visits": 30.0},
    {"bandit": "rave-mse"},
    {"bandit": "rave-mse", "c": 0.5, "rave_visits": 30.0, "prior_visits": 3.0},
    {"bandit": "rave-mse", "prior_visits": 0.0, "widening": 4.3},
    {"fpu": "1.1", "c": 0.3},
    {"fpu": "nan"},
    {"widening": 4.3},  # no whole number of simulations lies on a threshold, where rounding decides
    {"bandit": "puct", "widening": 7.7},
    {"threshold": 1, "max_depth": 3},
    {"threshold": 9},
]


@pytest.mark.parametrize("options", VARIANTS, ids=str)
@pytest.mark.parametrize("spec", SMALL_GAMES)
def test_tree_equals_that_of_the_slow_twin(spec: str, options: dict[str, Any]) -> None:
    for seed in SEEDS:
        twin = NaiveUct(position_of(spec), SearchOptions(**options, solver=False), seed)
        twin.run(NAIVE_PLAYOUTS)
        searcher = search(spec, NAIVE_PLAYOUTS, seed, solver=False, **options)
        assert_same_statistics(tree_statistics(searcher.tree), naive_statistics(twin))
        if searcher.options.uses_priors():
            assert prior_statistics(searcher.tree) == {
                key: [edge.prior for edge in node.edges] for key, node in twin.nodes.items() if node.player != CHANCE
            }
        if searcher.options.uses_amaf():
            assert amaf_statistics(searcher.tree) == {
                (key, edge.move): (edge.amaf_visits, edge.amaf_wins)
                for key, node in twin.nodes.items()
                for edge in node.edges
            }


def prior_statistics(tree: Any) -> dict[int, list[float]]:
    return {
        key: tree.edge_prior[edges_of(tree, node)].tolist()
        for key, node in nodes_by_key(tree).items()
        if tree.node_player[node] != CHANCE
    }


def amaf_statistics(tree: Any) -> dict[tuple[int, int], tuple[int, float]]:
    return {
        (key, int(tree.edge_move[edge])): (int(tree.edge_amaf_visits[edge]), float(tree.edge_amaf_wins[edge]))
        for key, node in nodes_by_key(tree).items()
        for edge in range(edges_of(tree, node).start, edges_of(tree, node).stop)
    }


# What holds after every search


@pytest.mark.parametrize("bandit", BANDITS)
@pytest.mark.parametrize("spec", EVERY_GAME)
def test_visits_add_up(spec: str, bandit: str) -> None:
    playouts = sized(2000, without_jit=60)
    searcher = search(spec, playouts, bandit=bandit, solver=False)
    assert_consistent(searcher, playouts)
    assert sum(visits for visits, _ in root_statistics(searcher).values()) == playouts
    counters = searcher.work.counters
    assert playouts <= int(counters[DEPTH_SUM]) <= playouts * int(counters[DEPTH_MAX])
    assert 0 <= int(counters[PLIES]) <= playouts * searcher.game.max_plies


@pytest.mark.parametrize("threshold", [1, 4, 10])
def test_visits_of_a_move_are_those_of_its_node_and_those_before_it_had_one(threshold: int) -> None:
    """In a tree without transpositions each node has one move that leads to it."""
    tree = search("pgame", PLAYOUTS, threshold=threshold).tree
    edges = int(tree.node_first[int(tree.used[NODES]) - 1] + tree.node_count[int(tree.used[NODES]) - 1])
    expanded = np.flatnonzero(tree.edge_child[:edges] < TERMINAL)
    assert len(expanded) == int(tree.used[NODES]) - 1
    children = tree.edge_child[expanded]
    assert (tree.edge_visits[expanded] == tree.node_visits[children] + threshold).all()
    assert (tree.node_player[children] == 1 - tree.node_player[[node_of(tree, int(e)) for e in expanded]]).all()
    leaves = tree.edge_child[:edges] >= TERMINAL
    assert (tree.edge_visits[:edges][leaves] <= threshold).all()


def node_of(tree: Any, edge: int) -> int:
    return int(np.searchsorted(tree.node_first[: int(tree.used[NODES])], edge, side="right")) - 1


def test_wins_below_a_move_are_what_the_opponent_lost() -> None:
    tree = search("pgame", PLAYOUTS, threshold=1).tree
    for edge in range(int(tree.node_count[ROOT])):
        child = int(tree.edge_child[edge])
        below = float(tree.edge_wins[edges_of(tree, child)].sum())
        first_playout = float(tree.edge_wins[edge]) - (int(tree.node_visits[child]) - below)
        assert first_playout in (0.0, 1.0)


def test_positions_reached_in_two_ways_share_a_node() -> None:
    searcher = search("tictactoe", 1000, solver=False, threshold=1)
    tree = searcher.tree
    children = tree.edge_child[: int(tree.used[EDGES])]
    parents = np.bincount(children[children < TERMINAL])
    assert (parents > 1).any()
    assert int(searcher.work.counters[TRANSPOSED]) == int((parents[1:] - 1).sum())


@pytest.mark.parametrize("spec", SMALL_GAMES)
def test_same_seed_gives_the_same_tree_and_another_seed_another(spec: str) -> None:
    one, same, other = (search(spec, PLAYOUTS, seed) for seed in (5, 5, 6))
    assert_same_tree(one.tree, same.tree)
    assert tree_statistics(one.tree) != tree_statistics(other.tree)


@pytest.mark.parametrize("bandit", ["ucb1", "rave"])
@pytest.mark.parametrize("spec", SMALL_GAMES)
def test_pausing_changes_nothing(spec: str, bandit: str) -> None:
    whole = search(spec, PLAYOUTS, bandit=bandit)
    paused = new_searcher(spec, bandit=bandit)
    done = 0
    for part in (0, 1, 2, PLAYOUTS // 3, 7):
        done += paused.run(part)
        assert paused.playouts == done
    paused.run(PLAYOUTS - done)
    assert_same_tree(whole.tree, paused.tree)
    assert np.array_equal(whole.work.counters, paused.work.counters)


def test_a_new_position_starts_a_new_tree() -> None:
    searcher = search("connect4", PLAYOUTS)
    position = position_of("connect4", "4 4")
    searcher.set_position(position)
    assert (searcher.playouts, searcher.root().visits, int(searcher.tree.used[NODES])) == (0, 0, 1)
    searcher.run(PLAYOUTS)
    assert_consistent(searcher, PLAYOUTS)


# When it ends


@pytest.mark.parametrize("algorithm", ["uct", "dfuct"])
def test_deadline_ends_the_search(algorithm: str) -> None:
    searcher = new_searcher("pgame", algorithm=algorithm)
    searcher.run(0)
    start = time.monotonic_ns()
    done = searcher.run(10**9, start + 50_000_000)
    elapsed = time.monotonic_ns() - start
    searcher.finish()
    assert 50_000_000 <= elapsed < 10_000_000_000  # generous: the machine is shared
    assert_consistent(searcher, done)


@pytest.mark.parametrize("algorithm", ["uct", "dfuct"])
def test_deadline_that_has_passed_allows_one_playout(algorithm: str) -> None:
    searcher = new_searcher("pgame", algorithm=algorithm)
    assert searcher.run(1000, 0) == 1


@pytest.mark.parametrize("algorithm", ["uct", "dfuct"])
def test_stop_ends_the_search_and_a_new_position_takes_it_back(algorithm: str) -> None:
    searcher = new_searcher("pgame", algorithm=algorithm)
    searcher.stop()
    assert searcher.run(1000) == 1
    searcher.set_position(position_of("pgame", "3"))
    assert searcher.run(100) == 100


@given(st.integers(FIRST_CHECK, MAX_CHECK), st.integers(0, 10**12))
def test_clock_is_looked_at_more_often_if_simulations_are_slow(interval: int, elapsed: int) -> None:
    following = next_interval(interval, elapsed)
    assert FIRST_CHECK <= following <= MAX_CHECK
    assert interval // 2 <= following <= 2 * interval
    assert (following >= interval) if elapsed < 100_000 else (following <= interval)


@pytest.mark.parametrize("policy, at_least_ns", [("wait=1ms", 10_000_000), ("wait=20us", 200_000)])
def test_playouts_wait(policy: str, at_least_ns: int) -> None:
    searcher = new_searcher("pgame", policy=policy)
    searcher.run(0)
    start = time.monotonic_ns()
    searcher.run(10)
    assert time.monotonic_ns() - start >= at_least_ns


@pytest.mark.parametrize("algorithm", ["uct", "dfuct"])
@pytest.mark.parametrize("spec", ["connect4", "pgame", "sailing:size=4"])
@pytest.mark.parametrize("max_depth", [1, 2, 5])
def test_no_path_is_longer_than_max_depth(spec: str, max_depth: int, algorithm: str) -> None:
    searcher = search(spec, PLAYOUTS, algorithm=algorithm, max_depth=max_depth, threshold=1, c=0.1)
    assert_consistent(searcher, PLAYOUTS)
    counters = searcher.work.counters
    assert int(counters[DEPTH_MAX]) == max_depth and int(counters[DEPTH_CUT]) > 0
    if max_depth == 1:
        assert int(counters[DEPTH_SUM]) == PLAYOUTS


# Progressive widening and priors


@pytest.mark.parametrize("algorithm", ["uct", "dfuct"])
@pytest.mark.parametrize("bandit", ["ucb1", "tuned2", "puct"])
def test_widening_tries_the_heuristically_best_moves_only(bandit: str, algorithm: str) -> None:
    widening, playouts = 30.0, 140
    searcher = search("connect4", playouts, algorithm=algorithm, bandit=bandit, widening=widening, solver=False)
    tree = searcher.tree
    edges = edges_of(tree, 0)
    priors, visits = tree.edge_prior[edges], tree.edge_visits[edges]
    assert (np.diff(priors) <= 0).all()
    # Moves come in after 30, 72 and 130.8 simulations.
    assert (visits[4:] == 0).all() and (visits[:4] > 0).all()
    assert tree.edge_move[edges][0] == 3  # most lines go through the middle


@pytest.mark.parametrize("algorithm", ["uct", "dfuct"])
def test_widening_reaches_all_moves_in_the_end(algorithm: str) -> None:
    searcher = search("connect4", PLAYOUTS, algorithm=algorithm, widening=0.5, solver=False)
    assert all(visits > 0 for visits, _ in root_statistics(searcher).values())


@pytest.mark.parametrize("spec", ["connect4", "tictactoe", "sailing:size=4"])
def test_priors_of_a_node_sum_to_one(spec: str) -> None:
    tree = search(spec, PLAYOUTS, bandit="puct").tree
    for node in range(int(tree.used[NODES])):
        if tree.node_player[node] != CHANCE:
            priors = tree.edge_prior[edges_of(tree, node)]
            assert (priors > 0).all() and float(priors.sum()) == pytest.approx(1.0, abs=1e-5)


def test_moves_are_shuffled_alike_in_every_search_and_differently_in_every_node() -> None:
    tree = search("pgame", PLAYOUTS).tree
    orders = [tuple(tree.edge_move[edges_of(tree, node)].tolist()) for node in range(int(tree.used[NODES]))]
    assert all(sorted(order) == list(range(8)) for order in orders)
    assert len(set(orders)) > len(orders) // 2
    assert orders[0] == tuple(search("pgame", 10, seed=77).tree.edge_move[:8].tolist())


# AMAF


def amaf_after(
    path: list[tuple[int, int]], trace: list[tuple[int, int]], value: float, is_shared: bool = False
) -> list[dict[int, Any]]:
    """What one simulation adds to the nodes of its path, each with the moves 0 to 5."""
    tree, work = new_tree(100, False, True), new_work(PGame(branching=6), 20, seed=1)
    for level, (player, move) in enumerate(path):
        node = add_node(tree, np.uint64(level), player, 6)
        first = int(tree.node_first[node])
        tree.edge_move[first : first + 6] = range(6)
        tree.edge_amaf_visits[first : first + 6] = tree.edge_amaf_wins[first : first + 6] = 0
        work.path_node[level], work.path_edge[level] = node, first + move
    for _ in range(2):  # marks of the simulation before must not be seen
        tree.edge_amaf_visits[:] = tree.edge_amaf_wins[:] = 0
        work.trace[: len(trace)] = [int(noted(move, player)) for player, move in trace]
        update_amaf(tree, work, len(path), len(trace), value, is_shared)
    counted = []
    for level in range(len(path)):
        rows = range(6 * level, 6 * level + 6)
        counted.append({e % 6: float(tree.edge_amaf_wins[e]) for e in rows if tree.edge_amaf_visits[e] == 1})
        assert all(tree.edge_amaf_visits[e] in (0, 1) for e in rows)
    return counted


def test_amaf_credits_moves_of_the_same_player_made_later() -> None:
    path, trace = [(FIRST, 0), (SECOND, 1)], [(FIRST, 2), (SECOND, 3), (FIRST, 4)]
    assert amaf_after(path, trace, 1.0) == [{0: 1.0, 2: 1.0, 4: 1.0}, {1: 0.0, 3: 0.0}]
    assert amaf_after(path, trace, 0.25) == [{0: 0.25, 2: 0.25, 4: 0.25}, {1: 0.75, 3: 0.75}]


def test_amaf_counts_a_move_for_its_first_maker() -> None:
    assert amaf_after([(FIRST, 0), (SECOND, 1)], [(FIRST, 1), (SECOND, 0)], 1.0) == [{0: 1.0}, {1: 0.0, 0: 0.0}]


def test_amaf_ignores_nature() -> None:
    """Nature's moves are nobody's, even if a player's move has the same number."""
    path = [(FIRST, 0), (CHANCE, 3), (FIRST, 1)]
    trace = [(CHANCE, 0), (FIRST, 4), (CHANCE, 5)]
    assert int(noted(5, CHANCE)) == int(NATURES_MOVE)
    assert amaf_after(path, trace, 0.5) == [{0: 0.5, 1: 0.5, 4: 0.5}, {}, {1: 0.5, 4: 0.5}]


@settings(max_examples=50)
@given(
    st.lists(st.tuples(st.sampled_from([FIRST, SECOND, CHANCE]), st.integers(0, 5)), min_size=1, max_size=6),
    st.lists(st.tuples(st.sampled_from([FIRST, SECOND, CHANCE]), st.integers(0, 5)), max_size=12),
    st.booleans(),
)
def test_amaf_equals_a_recount(path: list[tuple[int, int]], trace: list[tuple[int, int]], is_shared: bool) -> None:
    expected = []
    for level, (player, _) in enumerate(path):
        makers: dict[int, int] = {}
        for maker, move in path[level:] + trace:
            if maker != CHANCE:
                makers.setdefault(move, maker)
        credited = sorted(move for move, maker in makers.items() if maker == player)
        expected.append({} if player == CHANCE else dict.fromkeys(credited, 1.0 if player == FIRST else 0.0))
    assert amaf_after(path, trace, 1.0, is_shared) == expected
