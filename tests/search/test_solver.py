"""Proofs against brute force: what the search says is proven is true, and what is near is proven."""

import random
from functools import cache

import numpy as np
import pytest

from tests.naive.pgame import minimax, store_tree
from tests.support.searches import assert_consistent, edges_of, new_searcher, position_of, search, sized
from treespan.games.pgame import PGame
from treespan.games.position import Position
from treespan.games.rules import CHANCE, FIRST, SECOND
from treespan.search.searcher import Searcher
from treespan.search.solver import node_proof, proof_of, proven_value, seen_by
from treespan.search.tree import DRAW, LOSS, NODES, ROOT, UNPROVEN, WIN, add_node, new_tree

ALGORITHMS = ["uct", "dfuct"]
Values = dict[int, int]  # LOSS, DRAW or WIN of the player to move, by the position's key


def solve(position: Position, values: Values) -> int:
    """Minimax, without any pruning, of `position` and all that can follow."""
    if position.key not in values:
        if position.is_over:
            for_mover = position.reward if int(position.state.to_play) == FIRST else 1 - position.reward
            values[position.key] = {0.0: LOSS, 0.5: DRAW, 1.0: WIN}[for_mover]
        else:
            replies = []
            for move in position.legal_moves:
                child = position.copy()
                child.play(move)
                replies.append(solve(child, values))
            values[position.key] = max(LOSS + WIN - reply for reply in replies)
    return values[position.key]


@cache
def tictactoe_values() -> Values:
    values: Values = {}
    solve(position_of("tictactoe"), values)
    return values


def random_position(spec: str, plies: int, source: random.Random) -> Position:
    """After so many random moves; the game is not over."""
    while True:
        position = position_of(spec)
        while len(position.moves_made) < plies and not position.is_over:
            position.play(source.choice(position.legal_moves))
        if not position.is_over:
            return position


def assert_proofs_are_true(searcher: Searcher, values: Values) -> int:
    """Check every proof in the tree; give their number."""
    tree, proofs = searcher.tree, 0
    for node in range(int(tree.used[NODES])):
        key = int(tree.node_key[node])
        assert tree.node_proven[node] in (UNPROVEN, values[key])
        proofs += tree.node_proven[node] != UNPROVEN
        proven = tree.edge_proven[edges_of(tree, node)]
        assert proven.max() <= values[key]  # no move is proven better than the best
    assert searcher.position is not None
    for move in searcher.root().moves:
        child = searcher.position.copy()
        child.play(move.id)
        truth = {LOSS: "win", DRAW: "draw", WIN: "loss"}[values[child.key]]
        assert move.proven in (None, truth)
        proofs += move.proven is not None
    return proofs


@pytest.mark.parametrize("algorithm", ALGORITHMS)
def test_proofs_in_random_tictactoe_positions_are_true(algorithm: str) -> None:
    source, proofs = random.Random(1), 0
    for i in range(sized(200, without_jit=30)):
        position = random_position("tictactoe", i % 8, source)
        searcher = new_searcher(position, seed=i, algorithm=algorithm)
        done = searcher.run(sized(source.choice([20, 200, 1000]), without_jit=30))
        searcher.finish()
        assert_consistent(searcher, done)
        proofs += assert_proofs_are_true(searcher, tictactoe_values())
    assert proofs > sized(1000, without_jit=20)


@pytest.mark.parametrize("algorithm", ALGORITHMS)
@pytest.mark.parametrize("bandit", ["tuned1", "puct"])
def test_proofs_with_other_bandits_are_true(bandit: str, algorithm: str) -> None:
    searcher = search("tictactoe", sized(3000, without_jit=200), bandit=bandit, algorithm=algorithm, moves="a1 c3")
    assert_proofs_are_true(searcher, tictactoe_values())


@pytest.mark.parametrize("algorithm", ALGORITHMS)
def test_proofs_at_the_end_of_connect_four_are_true(algorithm: str) -> None:
    source, proofs = random.Random(2), 0
    for seed in range(sized(12, without_jit=2)):
        position = random_position("connect4", 33, source)
        values: Values = {}
        solve(position, values)
        searcher = search(position, sized(2000, without_jit=200), seed, algorithm=algorithm)
        proofs += assert_proofs_are_true(searcher, values)
    assert proofs > sized(20, without_jit=2)


@pytest.mark.parametrize("algorithm", ALGORITHMS)
def test_small_games_are_solved_and_the_search_stops(algorithm: str) -> None:
    """Five empty cells: few enough for a proof of every position."""
    source = random.Random(3)
    for seed in range(sized(30, without_jit=3)):
        position = random_position("tictactoe", 4, source)
        searcher = new_searcher(position, seed, algorithm=algorithm)
        done = searcher.run(100_000)
        searcher.finish()
        truth = {LOSS: "loss", DRAW: "draw", WIN: "win"}[tictactoe_values()[position.key]]
        assert searcher.root().proven == truth
        assert done < 100_000
        assert_consistent(searcher, done)
        assert searcher.run(10) == 0  # nothing is left to be found out
        searcher.finish()
        assert_consistent(searcher, done)


@pytest.mark.parametrize("algorithm", ALGORITHMS)
@pytest.mark.parametrize("branching, depth", [(2, 5), (3, 4)])
def test_small_p_games_are_solved_as_draws(branching: int, depth: int, algorithm: str) -> None:
    game = PGame(branching=branching, depth=depth)
    assert minimax(store_tree(game)) == 0
    searcher = search(Position(game), sized(50_000, without_jit=3000), algorithm=algorithm)
    assert searcher.root().proven == "draw"
    values: Values = {}
    solve(Position(game), values)
    assert_proofs_are_true(searcher, values)


# Wins and losses that are near


@pytest.mark.parametrize("algorithm", ALGORITHMS)
@pytest.mark.parametrize(
    "spec, moves, win",
    [
        ("tictactoe", "a1 b1 a2 b2", "a3"),
        ("tictactoe", "a1 b2 c1 b1 a2", "b3"),
        ("connect4", "1 2 1 2 1 2", "1"),
        ("connect4", "4 1 4 1 5 1 5", "1"),
        ("connect4", "1 2 2 3 3 4 3 4 4 7", "4"),
    ],
)
def test_win_in_one_is_proven_as_soon_as_it_is_tried(spec: str, moves: str, win: str, algorithm: str) -> None:
    position = position_of(spec, moves)
    winning = {position.game.move_name(move) for move in position.legal_moves if wins_at_once(position, move)}
    searcher = new_searcher(position, algorithm=algorithm)
    done = searcher.run(1000)
    searcher.finish()
    assert win in winning
    assert searcher.root().proven == "win" and done <= len(position.legal_moves)
    assert {m.move for m in searcher.root().moves if m.proven == "win"} <= winning
    assert_consistent(searcher, done)


def wins_at_once(position: Position, move: int) -> bool:
    child = position.copy()
    child.play(move)
    return child.is_over and child.reward == (1.0 if int(position.state.to_play) == FIRST else 0.0)


@pytest.mark.parametrize("algorithm", ALGORITHMS)
def test_double_threat_of_connect_four_is_proven(algorithm: str) -> None:
    """X holds 3, 4 and 5 of the bottom row, open at both ends: O is lost, and X has won a move before."""
    lost = search("connect4", sized(20_000, without_jit=600), moves="3 3 4 4 5", algorithm=algorithm)
    assert lost.root().proven == "loss"
    assert all(move.proven == "loss" for move in lost.root().moves)
    if sized(1, without_jit=0):
        won = search("connect4", 20_000, moves="3 3 4 4", algorithm=algorithm)
        assert won.root().proven == "win"
        assert {m.move for m in won.root().moves if m.proven == "win"} <= {"2", "5"}


# What is not proven


@pytest.mark.parametrize("algorithm", ALGORITHMS)
def test_solver_that_is_off_proves_nothing(algorithm: str) -> None:
    playouts = sized(2000, without_jit=200)
    for moves in ("", "a1 b1 a2 b2"):
        searcher = search("tictactoe", playouts, moves=moves, algorithm=algorithm, solver=False)
        tree = searcher.tree
        assert not tree.node_proven[: int(tree.used[NODES])].any()
        assert not tree.edge_proven[: int(tree.used[1])].any()
        assert searcher.root().proven is None
        assert_consistent(searcher, playouts)


@pytest.mark.parametrize("algorithm", ALGORITHMS)
def test_games_of_one_player_and_of_chance_are_not_solved(algorithm: str) -> None:
    searcher = search("sailing:size=4", sized(2000, without_jit=50), algorithm=algorithm, solver=True)
    tree = searcher.tree
    assert not tree.edge_proven[: int(tree.used[1])].any() and searcher.root().proven is None


# The rules of proof


@pytest.mark.parametrize(
    "edges, expected",
    [
        ([UNPROVEN, LOSS, WIN], WIN),
        ([WIN, UNPROVEN], WIN),
        ([LOSS, LOSS], LOSS),
        ([LOSS, DRAW, LOSS], DRAW),
        ([LOSS, UNPROVEN], UNPROVEN),
        ([UNPROVEN, DRAW], UNPROVEN),
        ([DRAW], DRAW),
    ],
)
def test_node_has_the_best_value_of_its_moves_once_all_are_proven(edges: list[int], expected: int) -> None:
    tree = new_tree(20, False, False)
    add_node(tree, np.uint64(1), 0, len(edges))
    tree.edge_proven[: len(edges)] = edges
    assert node_proof(tree, ROOT) == expected


def test_proofs_are_seen_from_each_side() -> None:
    for player in (FIRST, SECOND):
        for proven in (LOSS, DRAW, WIN):
            assert proof_of(player, proven_value(player, proven)) == proven
            assert seen_by(player, player, proven) == proven
            assert seen_by(player, 1 - player, proven) == proof_of(player, proven_value(1 - player, proven))
    assert proof_of(FIRST, 0.7) == UNPROVEN
    assert CHANCE not in (FIRST, SECOND)
