"""What is read out of trees, ours and those of the slow twins."""

from typing import Any

from tests.naive.uct import NaiveUct
from tests.support.searches import Statistics, edges_of, root_statistics
from treespan.search.searcher import Searcher
from treespan.search.tree import TERMINAL, TreeArrays


def naive_statistics(twin: NaiveUct) -> dict[int, Statistics]:
    return {
        key: {edge.move: (edge.visits, edge.wins) for edge in node.edges}
        for key, node in twin.nodes.items()
        if node.visits > 0
    }


def most_visited(searcher: Searcher) -> int:
    statistics = root_statistics(searcher)
    return max(statistics, key=lambda move: statistics[move])


def child_of(tree: TreeArrays, node: int, move: int) -> int:
    edges = edges_of(tree, node)
    return int(tree.edge_child[edges][tree.edge_move[edges].tolist().index(move)])


def content(tree: TreeArrays, start: int) -> dict[int, Any]:
    """Every field of all nodes that can be reached from `start`, by key; children by key too."""
    found: dict[int, Any] = {}
    waiting = [start]
    while waiting:
        node = waiting.pop()
        key, edges = int(tree.node_key[node]), edges_of(tree, node)
        if key in found:
            continue
        children = [int(child) for child in tree.edge_child[edges]]
        inner = [child for child in children if child < int(TERMINAL)]
        names = {child: int(tree.node_key[child]) for child in inner}
        fields = {
            name: array[edges].tolist()
            for name, array in tree._asdict().items()
            if name.startswith("edge_") and name != "edge_child" and len(array)
        }
        found[key] = {
            **fields,
            "children": [names.get(child, child) for child in children],
            "node": [int(array[node]) for array in (tree.node_visits, tree.node_player, tree.node_proven)],
        }
        waiting += inner
    return found
