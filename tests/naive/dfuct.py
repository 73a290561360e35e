"""df-UCT without any shortcut: every level is tested after every playout, and the tree is always up to date.

That is allowed: a result only reaches nodes on the stack, and nobody else looks at these before the stack
leaves them. The slow twin of `treespan.search.dfuct`, for games without cycles, without the solver.
"""

from dataclasses import dataclass

from tests.naive.uct import NaiveEdge, NaiveNode, NaiveUct
from treespan.games.position import Position
from treespan.games.rules import CHANCE
from treespan.search.options import SearchOptions


@dataclass
class NaiveLevel:
    node: NaiveNode
    best: NaiveEdge
    second: NaiveEdge | None
    fpu: float  # of an unvisited move when the level was entered
    considered: int  # moves then
    before: Position
    after: Position  # the best move


class NaiveDfUct(NaiveUct):
    def __init__(self, start: Position, options: SearchOptions, seed: int):
        super().__init__(start, options, seed)
        self.levels: list[NaiveLevel] = []
        self.reports = self.returns = self.third_best = self.audit = 0
        self.enter(self.root, start)

    def run(self, playouts: int) -> None:
        for _ in range(playouts):
            self.descend()
            value, _ = self.playout(self.levels[-1].after)
            for level in self.levels:
                self.count(level.node, level.best, value)
            self.audit += any(self.is_third_best(level, self.best_now(level)) for level in self.levels)
            flipped = [i for i, level in enumerate(self.levels) if self.has_flipped(level)]
            if flipped:
                self.return_to(flipped[0])

    def enter(self, node: NaiveNode, position: Position) -> None:
        fpu, second = self.urgency(node), None
        considered = self.considered(node)
        if node.player == CHANCE:
            best = self.natures_choice(node, position)
        else:
            ranked = sorted(considered, key=lambda edge: -self.score(node, edge, fpu))  # keeps the order of equals
            best, second = ranked[0], ranked[1] if len(ranked) > 1 else None
        after = position.copy()
        after.play(best.move)
        self.levels.append(NaiveLevel(node, best, second, fpu, len(considered), position, after))

    def descend(self) -> None:
        while True:
            level = self.levels[-1]
            if level.best.child is None and level.best.visits >= self.options.threshold and not level.after.is_over:
                level.best.child = self.find_or_add(level.after)
            if level.best.child is None or len(self.levels) >= self.options.max_depth:
                return
            self.enter(level.best.child, level.after)

    def has_flipped(self, level: NaiveLevel) -> bool:
        node, best, second = level.node, level.best, level.second
        if node.player == CHANCE or len(self.considered(node)) > level.considered:
            return True
        if self.options.kept_moves == "all":
            return self.best_now(level) is not best
        if second is None:
            return False
        # The first of equals is best: the stack test must break ties as the selection does.
        pair = sorted((best, second), key=node.edges.index)
        return max(pair, key=lambda edge: self.score(node, edge, level.fpu)) is second

    def best_now(self, level: NaiveLevel) -> NaiveEdge | None:
        """The best of all considered moves; nature has none."""
        node = level.node
        if node.player == CHANCE:
            return None
        fpu = self.urgency(node)
        return max(self.considered(node), key=lambda edge: self.score(node, edge, fpu))

    def is_third_best(self, level: NaiveLevel, edge: NaiveEdge | None) -> bool:
        return edge is not None and edge is not level.best and edge is not level.second

    def return_to(self, target: int) -> None:
        self.returns += 1
        self.reports += len(self.levels) - target
        old = self.levels[target]
        del self.levels[target:]
        self.enter(old.node, old.before)
        if old.node.player != CHANCE:
            self.third_best += self.is_third_best(old, self.levels[-1].best)
