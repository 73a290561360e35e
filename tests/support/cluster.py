"""Ranks that are driven by Python in any order, beside a brute-force sum of all results."""

from collections.abc import Callable
from functools import partial
from types import SimpleNamespace
from typing import Any

import numpy as np

from tests.support.distributed import request
from treespan.core.handles import EntryFunction, Handle, value_of
from treespan.core.jit import JIT_DISABLED, njit
from treespan.core.kinds import games_in
from treespan.games.rules import CHANCE, NATURES_MOVE
from treespan.schemes.divided_tree import handlers, proofs
from treespan.schemes.divided_tree.treesplit.copies import NO_COPY, CopiesRank, copy_key
from treespan.schemes.protocol.messages import NO_SLOT
from treespan.schemes.protocol.port import LEAVES, OUT, TREE, URGENT, dequeue, receive
from treespan.schemes.scheme import Place
from treespan.search.tree import NODES
from treespan.search.uct import gain_of


@njit
def take(handle, row, queue):
    """Take the first job of a rank's queue."""
    return np.int64(dequeue(value_of(handle), row, queue))


@njit
def deliver(handle, row, slot):
    """A message arrives at a rank."""
    receive(value_of(handle), row, slot)
    return np.int64(0)


def bound(function: EntryFunction, handle: Handle) -> Callable[[int, int], int]:
    """Return a function for one handle. Python calls it soon and often: what kind the handle has is looked up once."""
    if JIT_DISABLED:
        return partial(function, handle)
    from treespan.core.compiled import prepare

    wanted: Any = (function, (handle.kind, "int64", "int64"))
    (variant,) = prepare([wanted], list({id(game): game for game in games_in(handle)}.values()))
    return lambda first, second: int(variant((handle, first, second)))


class Cluster:
    """Ranks, with copies of nodes or without, whose messages arrive in any order; notes the path of every playout."""

    def __init__(self, game: str, scheme: str, ranks: int, playouts: int, seed: int = 1, moves: str = ""):
        wanted = request(scheme, game, playouts, ranks, moves=moves)
        self.seat = wanted.plan.scheme.new_seat(wanted, Place(rows=ranks))
        self.rank, self.copies = self.seat.rank, self.seat.handle.whole.value
        nodes = len(self.rank.tree.node_key)
        self.role = self.copies.role if isinstance(self.copies, CopiesRank) else np.full(nodes, NO_COPY)
        self.ranks, self.order = ranks, np.random.default_rng(seed)
        self.mail: list[int] = []  # slots of messages under way
        self.counted: dict[tuple[int, int], tuple[int, float]] = {}  # visits and wins by position and move
        self.later: dict[tuple[int, int], tuple[int, float]] = {}  # the same of moves that were made there or later
        self.paths: list[list[tuple[int, int]]] = []  # of each playout, its positions and the ranks that selected there
        port, jobs, handle = Handle(self.rank.port), self.rank.port.jobs, self.seat.handle
        self._take, self._deliver = bound(take, port), bound(deliver, port)
        self._advance, self._absorb = bound(handlers.advance, handle), bound(handlers.absorb, handle)
        self._evaluate = bound(proofs.evaluate, self.seat.evaluators[0])
        # Plain arrays of fields: records are slow in Python.
        self._length, self._first = self.rank.port.queues["length"], self.rank.port.queues["first"]
        self._now, self._over = self.rank.port.state["now"], self.rank.port.state["over"]
        self._receiver, self._value, self._levels = (jobs.headers[name] for name in ("receiver", "value", "levels"))
        for row in range(ranks):
            handlers.start(handle, row, 0)
            self.collect(row)

    def run(self) -> None:
        while not self.step():
            pass
        assert not self.mail

    def step(self) -> bool:
        """A message arrives somewhere, or a rank does a unit of work; says whether the search is over."""
        self._now += 10_000
        length = self._length
        busy, leaves = np.flatnonzero(length[:, TREE] + length[:, URGENT]), np.flatnonzero(length[:, LEAVES])
        # A kind of event that is possible, then one of that kind: any order of events may come up.
        kinds = [kind for kind, count in enumerate((len(self.mail), len(leaves), len(busy))) if count]
        kind = kinds[int(self.order.integers(len(kinds)))]
        if kind == 0:
            slot = self.mail.pop(int(self.order.integers(len(self.mail))))
            row = int(self._receiver[slot])
            self._deliver(row, slot)
        else:
            rows = leaves if kind == 1 else busy
            row = int(rows[self.order.integers(len(rows))])
            if kind == 1:
                self.play_out(row)
            else:
                self._advance(row, 0)
        self.collect(row)
        return bool(self._over.all())

    def collect(self, row: int) -> None:
        while self._first[row, OUT] != NO_SLOT:
            self.mail.append(self._take(row, OUT))

    def play_out(self, row: int) -> None:
        slot = self._take(row, LEAVES)
        plies = max(self._evaluate(row, slot), 0)
        value, count = float(self._value[slot]), int(self._levels[slot])
        records = self.rank.port.jobs.levels[slot, :count]
        levels = [SimpleNamespace(**dict(zip(records.dtype.names, fields, strict=True))) for fields in records.tolist()]
        gain = getattr(gain_of, "py_func", gain_of)
        self.paths.append([(self.position(int(level.node), int(level.home)), int(level.home)) for level in levels])
        for level, (position, _) in zip(levels, self.paths[-1], strict=True):
            place = (position, int(level.move))
            visits, wins = self.counted.get(place, (0, 0.0))
            self.counted[place] = visits + 1, wins + gain(level.player, value)
        self.count_later(levels, plies, value)
        self._absorb(row, slot)

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
            for move in tree.edge_move[first : first + int(tree.node_count[level.node])].tolist():
                if maker.get(move) == player:
                    visits, wins = self.later.get((position, move), (0, 0.0))
                    self.later[position, move] = visits + 1, wins + (1.0 - value if player else value)

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
