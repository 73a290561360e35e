"""One tree and one worker: prepare, run, finish, read the result, move on to the next position."""

from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from treespan.core.jit import compile_together
from treespan.games.position import Position
from treespan.games.rules import Game
from treespan.search.dfuct import finish_dfuct, run_dfuct
from treespan.search.lines import LINE_MOVES, LINES
from treespan.search.options import SearchOptions, compiled_settings
from treespan.search.result import MoveStatistics, proof_name
from treespan.search.reuse import keep_subtree
from treespan.search.shard import Shard, add_nodes, choose, link
from treespan.search.solver import node_proof
from treespan.search.tree import NO_NODE, NODES, ROOT, TERMINAL, TreeArrays, new_tree
from treespan.search.uct import find_or_add, node_calls, path_calls, run_uct
from treespan.search.work import COUNTERS, PLAYOUTS, Work, new_work

FOREVER_NS = 2**62
NO_CHANGE: dict[str, bool] = {}  # the scheme changes no settings


@dataclass
class RootView:
    """The root's moves, visits and proof, read from the arrays."""

    moves: list[MoveStatistics]
    visits: int
    proven: str | None
    visits_before: int = 0  # of these, when the search began


class Searcher:
    """A sequential search of one game. Not safe for two threads; each worker has its own."""

    counts_flights = False  # whether the tree counts simulations under way

    def __init__(
        self, game: Game, options: SearchOptions, seed: int = 1, stream: int = 0, of_scheme: dict[str, bool] = NO_CHANGE
    ):
        self.game, self.options = game, options
        self.settings: Any = compiled_settings(options, game, **of_scheme)
        self.depth_first = options.algorithm == "dfuct"
        self.work: Work = new_work(
            game, int(self.settings.max_depth), seed, stream, self.depth_first, options.asks_solver()
        )
        self.tree: TreeArrays = self._empty_tree()
        self.position: Position | None = None
        self.load = [1.0]  # share of the last run's time that each of its threads worked

    def _empty_tree(self) -> TreeArrays:
        options = self.options
        return new_tree(
            options.nodes,
            options.uses_priors(),
            options.uses_amaf(),
            self.game.max_moves,
            with_flights=self.counts_flights,
            with_expertise=options.expertise > 0,
        )

    def set_position(self, position: Position) -> None:
        """Start a new tree at `position`."""
        position.require_choice()
        self.position = position.copy()
        if self.tree.used[NODES]:
            self.tree = self._empty_tree()
        self._set_root_state()
        self._compile()
        find_or_add(self.game, self.tree, self.work.states[1], self.settings, self.work)
        drop_forbidden(self.tree, self.position)

    def _compile(self) -> None:
        """Compile all that a search needs, together. Takes no time if the code is there already."""
        common = (self.game, self.tree, self.settings, self.work)
        run = run_dfuct if self.depth_first else run_uct
        compile_together([(run, (*common, 0, 0)), *node_calls(*common), *path_calls(*common)])

    def _set_root_state(self) -> None:
        assert self.position is not None
        self.work.states[0] = self.position.state
        self.work.states[1] = self.position.state
        self.work.counters[:COUNTERS] = 0
        self.work.stop[0] = 0

    def advance(self, *moves: int) -> bool:
        """Play moves and keep the tree below them. Returns whether there was a tree to keep."""
        assert self.position is not None
        self.finish()
        if not moves:  # the same position goes on
            self._set_root_state()
            return True
        position, tree, node = self.position.copy(), self.tree, ROOT
        for move in moves:
            position.play(move)
            if node < TERMINAL:
                node = child_of(tree, node, move)
        if node >= TERMINAL or position.is_over or position.is_chance:
            self.set_position(position)
            return False
        kept = self._empty_tree()
        keep_subtree(tree, kept, int(node))
        self.tree, self.position = kept, position
        self._set_root_state()
        drop_forbidden(self.tree, self.position)
        return True

    def restore(self, position: Position, shards: Sequence[Shard]) -> int:
        """Go on with a tree that lies in shards. Returns how many of its nodes found no room."""
        position.require_choice()
        self.position, tree = position.copy(), self._empty_tree()
        self._set_root_state()
        self._compile()
        are_roots = [shard.node_key == np.uint64(position.key) for shard in shards]
        parts = [choose(shard, is_root) for shard, is_root in zip(shards, are_roots, strict=True)]  # it becomes node 0
        parts += [choose(shard, ~is_root) for shard, is_root in zip(shards, are_roots, strict=True)]
        lost = sum(add_nodes(tree, part) for part in parts)
        if not lost:
            link(tree, np.concatenate([part.edge_key for part in parts]))
            self.tree = self._empty_tree()
            keep_subtree(tree, self.tree, int(ROOT))
        return lost

    def run(self, playouts: int, deadline_ns: int = FOREVER_NS) -> int:
        """Simulate without holding the interpreter lock. Returns the number of simulations done."""
        run = run_dfuct if self.depth_first else run_uct
        return int(run(self.game, self.tree, self.settings, self.work, playouts, deadline_ns))

    def finish(self) -> None:
        """Bring all results into the tree. Call this before reading the tree."""
        if self.depth_first:
            finish_dfuct(self.tree, self.work)

    def stop(self) -> None:
        """Ask a `run` in another thread to return soon."""
        self.work.stop[0] = 1

    @property
    def counters(self) -> np.ndarray:
        """The counters since the position was set. `search.work` has their indices."""
        return self.work.counters

    @property
    def playouts(self) -> int:
        """Simulations done since the position was set. May be read while another thread runs."""
        return int(self.counters[PLAYOUTS])

    def root(self) -> RootView:
        """Return the moves of the root in any order."""
        return read_root(self.game, self.tree)

    def principal_variation(self, first_move: int, length: int = LINE_MOVES) -> list[str]:
        """Return the line of most visited moves that starts with `first_move`."""
        return principal_variation(self.game, self.tree, first_move, length)


def principal_variation(game: Game, tree: TreeArrays, first_move: int, length: int = LINE_MOVES) -> list[str]:
    """Return the line of most visited moves in a tree that starts with `first_move`."""
    line = [game.move_name(first_move)]
    node = child_of(tree, ROOT, first_move)
    while node < TERMINAL and len(line) < length and int(tree.node_visits[node]) > 0:
        first, count = int(tree.node_first[node]), int(tree.node_count[node])
        edge = first + int(np.argmax(tree.edge_visits[first : first + count]))
        line.append(game.move_name(int(tree.edge_move[edge])))
        node = np.uint32(tree.edge_child[edge])
    return line


def lines_of(game: Game, tree: TreeArrays) -> dict[int, list[str]]:
    """Return expected lines of the root's most visited moves, by move."""
    first, count = int(tree.node_first[ROOT]), int(tree.node_count[ROOT])
    best = first + np.argsort(-tree.edge_visits[first : first + count], kind="stable")[:LINES]
    moves = [int(tree.edge_move[edge]) for edge in best if tree.edge_visits[edge]]
    return {move: principal_variation(game, tree, move) for move in moves}


def child_of(tree: TreeArrays, node: np.uint32, move: int) -> np.uint32:
    """Return the node that a move leads to; NO_NODE if there is none."""
    first, count = int(tree.node_first[node]), int(tree.node_count[node])
    places = np.flatnonzero(tree.edge_move[first : first + count] == move)
    return NO_NODE if len(places) == 0 else np.uint32(tree.edge_child[first + int(places[0])])


def drop_forbidden(tree: TreeArrays, position: Position, root: np.uint32 = ROOT) -> None:
    """Remove those moves of the root that only the game's history forbids (superko)."""
    drop_moves(tree, position.forbidden_moves, root)


def drop_moves(tree: TreeArrays, forbidden: Collection[int], root: np.uint32 = ROOT) -> None:
    """Remove moves of the root. Does not check that others are left."""
    if not forbidden:
        return
    first, count = int(tree.node_first[root]), int(tree.node_count[root])
    kept = [edge for edge in range(first, first + count) if int(tree.edge_move[edge]) not in forbidden]
    for name, array in tree._asdict().items():
        if name.startswith("edge_") and len(array):
            array[first : first + len(kept)] = array[kept]
    tree.node_count[root] = len(kept)
    tree.node_visits[root] = tree.edge_visits[first : first + len(kept)].sum()
    tree.node_proven[root] = node_proof(tree, root)


def read_root(game: Game, tree: TreeArrays, root: np.uint32 = ROOT) -> RootView:
    """Return the moves of a tree's root in any order."""
    first = int(tree.node_first[root])
    moves = read_moves(game, tree, slice(first, first + int(tree.node_count[root])))
    return RootView(moves, int(tree.node_visits[root]), proof_name(int(tree.node_proven[root])))


def read_moves(game: Game, arrays: TreeArrays | Shard, edges: slice) -> list[MoveStatistics]:
    """Return the moves of a node whose edges stand here."""
    of_edges = (arrays.edge_move, arrays.edge_visits, arrays.edge_wins, arrays.edge_proven)
    columns = [array[edges].tolist() for array in of_edges]  # read at once: a search that runs may write meanwhile
    priors = arrays.edge_prior[edges].tolist() if len(arrays.edge_prior) else [None] * len(columns[0])
    return [
        MoveStatistics(
            move=game.move_name(move),
            visits=visits,
            value=wins / visits if visits else 0.0,
            prior=prior,
            proven=proof_name(proven),
            id=move,
            wins=wins,
        )
        for move, visits, wins, proven, prior in zip(*columns, priors, strict=True)
    ]


def merge_moves(views: list[RootView]) -> list[MoveStatistics]:
    """Add up the root moves of independent trees of one position."""
    merged: dict[int, MoveStatistics] = {}
    for view in views:
        for move in view.moves:
            if move.id not in merged:
                merged[move.id] = replace(move)
            else:
                total = merged[move.id]
                total.visits += move.visits
                total.wins += move.wins
                total.proven = total.proven or move.proven
                total.value = total.wins / total.visits if total.visits else 0.0
    return list(merged.values())
