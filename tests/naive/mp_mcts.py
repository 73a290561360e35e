"""MP-MCTS with one job and one rank: df-UCT that asks the leaf's parent after every playout.

Only ancestors of a node are tested there; if none has flipped, the search goes down again from that node by its own
table, where any move may have become best. The slow twin of `treespan.schemes.divided_tree.mp_mcts`.
"""

from tests.naive.dfuct import NaiveDfUct


class NaiveMpMcts(NaiveDfUct):
    def run(self, playouts: int) -> None:
        for _ in range(playouts):
            self.descend()
            value, _ = self.playout(self.levels[-1].after)
            for level in self.levels:
                self.count(level.node, level.best, value)
            flipped = [i for i, level in enumerate(self.levels[:-1]) if self.has_flipped(level)]
            self.return_to(flipped[0] if flipped else len(self.levels) - 1)
