"""Ranks that are driven by Python in any order, beside a brute-force sum of all results."""

from typing import Any

import numpy as np

from tests.support.distributed import request
from treespan.games.rules import CHANCE, NATURES_MOVE
from treespan.schemes.divided_tree import handlers
from treespan.schemes.divided_tree.treesplit.copies import NO_COPY, CopiesRank, copy_key
from treespan.schemes.protocol import evaluation
from treespan.schemes.protocol.messages import NO_SLOT
from treespan.schemes.protocol.port import LEAVES, OUT, TREE, URGENT, dequeue, receive
from treespan.schemes.scheme import Place
from treespan.search.tree import NODES
from treespan.search.uct import gain_of


class Cluster:
    """Ranks, with copies of nodes or without, whose messages arrive in any order; notes the path of every playout."""

    def __init__(self, game: str, scheme: str, ranks: int, playouts: int, seed: int = 1):
        wanted = request(scheme, game, playouts, ranks)
        self.seat = wanted.plan.scheme.new_seat(wanted, Place(rows=ranks))
        self.rank, self.copies = self.seat.rank, self.seat.handle.whole.value
        nodes = len(self.rank.tree.node_key)
        self.role = self.copies.role if isinstance(self.copies, CopiesRank) else np.full(nodes, NO_COPY)
        self.ranks, self.order = ranks, np.random.default_rng(seed)
        self.mail: list[int] = []  # slots of messages under way
        self.counted: dict[tuple[int, int], tuple[int, float]] = {}  # visits and wins by position and move
        self.later: dict[tuple[int, int], tuple[int, float]] = {}  # the same of moves that were made there or later
        self.paths: list[list[tuple[int, int]]] = []  # of each playout, its positions and the ranks that selected there
        for row in range(ranks):
            handlers.start(self.seat.handle, row, 0)
            self.collect(row)

    def run(self) -> None:
        while not self.step():
            pass
        assert not self.mail

    def step(self) -> bool:
        """A message arrives somewhere, or a rank does a unit of work; says whether the search is over."""
        action = self.order.integers(3)
        self.rank.port.state.now += 10_000
        if action == 0 and self.mail:
            slot = self.mail.pop(int(self.order.integers(len(self.mail))))
            row = int(self.rank.port.jobs.headers[slot].receiver)
            receive(self.rank.port, row, slot)
        else:
            row = int(self.order.integers(self.ranks))
            queues = self.rank.port.queues[row]
            if action == 1 and queues[LEAVES].length > 0:
                self.play_out(row)
            elif queues[TREE].length > 0 or queues[URGENT].length > 0:
                handlers.advance(self.seat.handle, row, 0)
        self.collect(row)
        return bool(self.rank.port.state.over.all())

    def collect(self, row: int) -> None:
        while self.rank.port.queues[row, OUT].first != NO_SLOT:
            self.mail.append(int(dequeue(self.rank.port, row, OUT)))

    def play_out(self, row: int) -> None:
        slot = int(dequeue(self.rank.port, row, LEAVES))
        plies = evaluation.evaluate(self.seat.evaluators[0], row, slot)
        jobs, gain = self.rank.port.jobs, getattr(gain_of, "py_func", gain_of)
        levels = [jobs.levels[slot, i] for i in range(jobs.headers[slot].levels)]
        self.paths.append([(self.position(int(level.node), int(level.home)), int(level.home)) for level in levels])
        for level, (position, _) in zip(levels, self.paths[-1], strict=True):
            place = (position, int(level.move))
            visits, wins = self.counted.get(place, (0, 0.0))
            self.counted[place] = visits + 1, wins + gain(level.player, jobs.headers[slot].value)
        self.count_later(levels, int(plies), float(jobs.headers[slot].value))
        handlers.absorb(self.seat.handle, row, slot)

    def count_later(self, levels: list[Any], plies: int, value: float) -> None:
        """Credit a playout, at every level, to the moves that the player there was the first to make from there on."""
        tree, trace = self.rank.tree, self.seat.evaluators[0].value.work.trace[:plies]
        made = [(int(level.player), int(level.move)) for level in levels]
        made += [(0, int(entry)) if entry >= 0 else (1, ~int(entry)) for entry in trace if entry != NATURES_MOVE]
        for depth, (level, (position, _)) in enumerate(zip(levels, self.paths[-1], strict=True)):
            maker: dict[int, int] = {}
            for player, move in made[depth:]:
                if player != CHANCE:
                    maker.setdefault(move, player)
            first, player = int(tree.node_first[level.node]), int(level.player)
            for move in tree.edge_move[first : first + int(tree.node_count[level.node])]:
                if maker.get(int(move)) == player:
                    visits, wins = self.later.get((position, int(move)), (0, 0.0))
                    self.later[position, int(move)] = visits + 1, wins + (1.0 - value if player else value)

    def position(self, node: int, holder: int) -> int:
        """The key of the position of a node or a copy."""
        node_key = np.uint64(self.rank.tree.node_key[node])
        return int(node_key if self.role[node] == NO_COPY else copy_key(node_key, holder))

    def statistics(self) -> dict[tuple[int, int], tuple[int, float]]:
        """What the homes have, where there is anything."""
        tree = self.rank.tree
        return self._at_homes(tree.edge_visits, tree.edge_wins)

    def amaf(self) -> dict[tuple[int, int], tuple[int, float]]:
        """The same of AMAF statistics."""
        tree = self.rank.tree
        return self._at_homes(tree.edge_amaf_visits, tree.edge_amaf_wins)

    def _at_homes(self, visits: np.ndarray, wins: np.ndarray) -> dict[tuple[int, int], tuple[int, float]]:
        tree, found = self.rank.tree, {}
        for node in range(int(tree.used[NODES])):
            if self.role[node] == NO_COPY:
                first = int(tree.node_first[node])
                edges = range(first, first + int(tree.node_count[node]))
                assert tree.node_visits[node] == sum(tree.edge_visits[edge] for edge in edges)
                for edge in edges:
                    if visits[edge] > 0:
                        place = (int(tree.node_key[node]), int(tree.edge_move[edge]))
                        found[place] = (int(visits[edge]), float(wins[edge]))
        return found

    def copy_count(self) -> int:
        return int((self.role[: int(self.rank.tree.used[NODES])] != NO_COPY).sum())
