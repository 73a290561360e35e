"""A divided tree after a loss: what was lost with a rank is found again as far as it can be.

Other nodes than the root need nothing: they are expanded anew where they are missed. The root's statistics are the
answer. If its node is lost, its moves get those of their positions' nodes, which live at other ranks. Of each move the
visits are then those that its position had since it was expanded.
"""

from typing import NamedTuple

import numpy as np

from treespan.games.position import Position
from treespan.games.rules import SECOND
from treespan.schemes.kept import Kept
from treespan.search.shard import find
from treespan.search.tree import NO_NODE, TreeArrays


class Children(NamedTuple):
    """The positions that a root's moves lead to."""

    moves: list[int]
    keys: list[int]


def children_of(position: Position) -> Children:
    """The position after each move. Where several moves lead to one position, only the first counts."""
    found: dict[int, int] = {}
    for move in position.legal_moves:
        if move not in position.forbidden_moves:
            child = position.copy()
            child.play(move)
            found.setdefault(child.key, int(move))
    return Children(list(found.values()), list(found))


def known_of(tree: TreeArrays, children: Children) -> np.ndarray:
    """Visits of each move, and their rewards for the first player, of the children whose nodes are in a tree."""
    known = np.zeros((2, len(children.moves)))
    for i, key in enumerate(children.keys):
        node = find(tree, key)
        if node != NO_NODE:
            edges = edges_of(tree, node)
            visits, wins = tree.edge_visits[edges].sum(), tree.edge_wins[edges].sum()
            known[:, i] = visits, visits - wins if tree.node_player[node] == SECOND else wins
    return known


def edges_of(tree: TreeArrays, node: np.uint32) -> slice:
    first = int(tree.node_first[node])
    return slice(first, first + int(tree.node_count[node]))


def set_root(tree: TreeArrays, root: np.uint32, children: Children, known: np.ndarray) -> None:
    """Give a root's moves what is known of them, unless they know more themselves."""
    places = {move: i for i, move in enumerate(children.moves)}
    for edge in range(edges_of(tree, root).start, edges_of(tree, root).stop):
        place = places.get(int(tree.edge_move[edge]))
        if place is None or known[0, place] <= tree.edge_visits[edge]:
            continue
        visits, wins = known[:, place]
        tree.edge_visits[edge] = visits
        tree.edge_wins[edge] = visits - wins if tree.node_player[root] == SECOND else wins
        if len(tree.edge_amaf_visits):
            tree.edge_amaf_visits[edge], tree.edge_amaf_wins[edge] = visits, tree.edge_wins[edge]
    tree.node_visits[root] = tree.edge_visits[edges_of(tree, root)].sum()


class CopyNews(NamedTuple):
    """What is new in a copy of a node, and its home has not been told."""

    key: int
    moves: np.ndarray
    visits: np.ndarray
    wins: np.ndarray
    amaf_visits: np.ndarray
    amaf_wins: np.ndarray


def add_news(tree: TreeArrays, news: CopyNews) -> None:
    """Add what is new in a copy to its node, if that is in a tree."""
    node = find(tree, news.key)
    if node == NO_NODE:
        return
    places = {int(move): i for i, move in enumerate(news.moves)}
    for edge in range(edges_of(tree, node).start, edges_of(tree, node).stop):
        place = places.get(int(tree.edge_move[edge]))
        if place is not None:
            tree.edge_visits[edge] += news.visits[place]
            tree.edge_wins[edge] += news.wins[place]
            if len(news.amaf_visits):
                tree.edge_amaf_visits[edge] += news.amaf_visits[place]
                tree.edge_amaf_wins[edge] += news.amaf_wins[place]
    tree.node_visits[node] = tree.edge_visits[edges_of(tree, node)].sum()


def end_flights(kept: Kept) -> None:
    """Nothing is under way any more."""
    kept.tree.node_flight[:] = 0
    kept.tree.edge_flight[:] = 0
