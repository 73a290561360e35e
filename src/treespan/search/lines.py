"""Expected lines: from move to move the most visited one, wherever its node lives."""

from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from treespan.search.shard import find
from treespan.search.tree import NO_NODE, TreeArrays

LINES, LINE_MOVES = 8, 12  # moves of the root that have a line, and the moves of each


class Step(NamedTuple):
    """A move of an expected line, and the key of the position after it; 0: not known."""

    move: int
    key: int


def best_step(tree: TreeArrays, key: int) -> Step | None:
    """Return the most visited move in the position with this key; None if there is none."""
    node = find(tree, key)
    if node == NO_NODE or tree.node_visits[node] == 0:
        return None
    first, count = int(tree.node_first[node]), int(tree.node_count[node])
    edge = first + int(np.argmax(tree.edge_visits[first : first + count]))
    return Step(int(tree.edge_move[edge]), int(tree.edge_key[edge]))


def step_of(tree: TreeArrays, node: np.uint32, move: int) -> Step:
    """Return a move of a node as the first of a line."""
    first, count = int(tree.node_first[node]), int(tree.node_count[node])
    edge = first + int(np.flatnonzero(tree.edge_move[first : first + count] == move)[0])
    return Step(move, int(tree.edge_key[edge]))


def walk(first: Step, step: Callable[[int], Step | None]) -> list[int]:
    """Return a line that begins with a step; `step` tells the next one in the position with a key."""
    moves, at = [first.move], first
    while at.key and len(moves) < LINE_MOVES:
        following = step(at.key)
        if following is None:
            break
        at = following
        moves.append(at.move)
    return moves
