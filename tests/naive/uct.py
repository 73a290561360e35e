"""UCT as it is told: nodes in a dictionary, recursion, plain floats. The slow twin of `treespan.search.uct`.

It draws from the random generator in the same order as the fast search, so the trees must be equal. Without
the solver, without limits of memory and time, and for games whose candidates are all legal moves.
"""

import math
from dataclasses import dataclass, field

import numpy as np

from tests.naive.splitmix import shuffled
from treespan.core.rng import generator
from treespan.games.check import ask_priors, one_playout
from treespan.games.position import Position
from treespan.games.rules import CHANCE, NATURES_MOVE, SECOND, find_rule
from treespan.search.options import SearchOptions

Made = list[tuple[int, int]]  # player and move, in the order of play


@dataclass
class NaiveEdge:
    move: int
    prior: float = 0.0
    visits: int = 0
    wins: float = 0.0
    amaf_visits: int = 0
    amaf_wins: float = 0.0
    child: "NaiveNode | None" = None


@dataclass
class NaiveNode:
    player: int
    edges: list[NaiveEdge]
    visits: int = field(default=0)


class NaiveUct:
    def __init__(self, start: Position, options: SearchOptions, seed: int):
        self.start, self.options, self.game = start, options, start.game
        self.c = options.exploration(self.game)
        self.random = generator(seed)
        self.nodes: dict[int, NaiveNode] = {}
        self.root = self.find_or_add(start)

    def run(self, playouts: int) -> None:
        for _ in range(playouts):
            self.visit(self.root, self.start.copy(), 1)

    def visit(self, node: NaiveNode, position: Position, depth: int) -> tuple[float, Made]:
        """One simulation from `node` on: the first player's reward, and the moves that were made."""
        edge = self.choose(node, position)
        position.play(edge.move)
        if edge.child is None and edge.visits >= self.options.threshold and not position.is_over:
            edge.child = self.find_or_add(position)
        if edge.child is None or depth >= self.options.max_depth:
            value, made = self.playout(position)
        else:
            value, made = self.visit(edge.child, position, depth + 1)
        if node.player != CHANCE:
            made = [(node.player, edge.move), *made]
        self.count(node, edge, value)
        if self.options.uses_amaf() and node.player != CHANCE:
            self.count_amaf(node, made, value)
        return value, made

    def choose(self, node: NaiveNode, position: Position) -> NaiveEdge:
        if node.player == CHANCE:
            return self.natures_choice(node, position)
        fpu = self.urgency(node)
        return max(self.considered(node), key=lambda edge: self.score(node, edge, fpu))  # the first of equals

    def natures_choice(self, node: NaiveNode, position: Position) -> NaiveEdge:
        return node.edges[int(find_rule(self.game, "chance")(position.state, self.random))]

    def find_or_add(self, position: Position) -> NaiveNode:
        if position.key not in self.nodes:
            moves, player = position.legal_moves, int(position.state.to_play)
            if player != CHANCE:
                moves = shuffled(moves, position.key)
            edges = [NaiveEdge(move) for move in moves]
            if self.options.uses_priors() and player != CHANCE:
                for edge, prior in zip(edges, self.priors(position, moves), strict=True):
                    edge.prior = prior
            if self.options.widening > 0:
                edges.sort(key=lambda edge: -edge.prior)
            self.nodes[position.key] = NaiveNode(player, edges)
        return self.nodes[position.key]

    def priors(self, position: Position, moves: list[int]) -> list[float]:
        weights = np.zeros(len(moves), dtype=np.float32)
        ask_priors(self.game, position.state, np.array(moves, dtype=np.int32), len(moves), weights)
        if self.options.bandit == "rave-mse":  # the odds of winning
            return [float(weight / (np.float32(1) + weight)) for weight in weights]
        total = sum(map(float, weights))
        return [float(np.float32(float(weight) / total)) for weight in weights]

    def playout(self, position: Position) -> tuple[float, Made]:
        if position.is_over:
            return position.reward, []
        trace = np.zeros(self.game.max_plies, dtype=np.int32)
        moves = np.zeros(self.game.max_moves, dtype=np.int32)
        plies, value = one_playout(self.game, position.copy().state, self.random, trace, moves)
        entries = [entry for entry in trace[:plies].tolist() if entry != NATURES_MOVE]
        return float(value), [(0, entry) if entry >= 0 else (1, ~entry) for entry in entries]

    def count(self, node: NaiveNode, edge: NaiveEdge, value: float) -> None:
        node.visits += 1
        edge.visits += 1
        edge.wins += 1 - value if node.player == SECOND else value

    def count_amaf(self, node: NaiveNode, made: Made, value: float) -> None:
        """A move counts for whoever made it first, from this node on."""
        first_maker: dict[int, int] = {}
        for player, move in made:
            first_maker.setdefault(move, player)
        for edge in node.edges:
            if first_maker.get(edge.move) == node.player:
                edge.amaf_visits += 1
                gain = 1 - value if node.player == SECOND else value
                edge.amaf_wins = float(np.float32(edge.amaf_wins + gain))  # the fast tree has single precision

    def considered_count(self, visits: int) -> int:
        """Coulom's widening: move k + 1 comes in after A 1.4^(k - 1) more simulations than move k did."""
        count, needed = 1, self.options.widening
        if needed == 0:
            return 10**9
        passed = needed
        while visits >= passed:
            count, needed = count + 1, needed * 1.4
            passed += needed
        return count

    def considered(self, node: NaiveNode) -> list[NaiveEdge]:
        return node.edges[: self.considered_count(node.visits)]

    def urgency(self, node: NaiveNode) -> float:
        fpu = self.options.fpu_value()
        if not math.isnan(fpu):
            return fpu
        return sum(edge.wins for edge in node.edges) / node.visits if node.visits else 0.5

    def score(self, node: NaiveNode, edge: NaiveEdge, fpu: float) -> float:
        return naive_score(node, edge, fpu, self.c, self.options)


def naive_score(node: NaiveNode, edge: NaiveEdge, fpu: float, c: float, options: SearchOptions) -> float:
    """The formulas of `treespan.search.bandits`; `fpu` is the value of an unvisited move."""
    t, s, w, bandit = node.visits, edge.visits, edge.wins, options.bandit
    if bandit == "rave-mse":
        return naive_rave_mse(edge, fpu, options) + c * math.sqrt(math.log(max(t, 1)) / (s + options.prior_visits + 1))
    if bandit == "puct":
        return (w / s if s else fpu) + c * edge.prior * math.sqrt(t) / (1 + s)
    if s == 0:
        return edge.amaf_wins / edge.amaf_visits if bandit == "rave" and edge.amaf_visits else fpu
    p, bonus = w / s, math.log(t) / s
    if bandit in ("tuned1", "tuned2"):
        tuned = p + math.sqrt(max(0.001, p * (1 - p)) * bonus)
        return tuned if bandit == "tuned1" else tuned + bonus
    # p + c sqrt(bonus), rounded as the fast search does it: RAVE without exploration has many ties.
    ucb1 = w * (1 / s) + c * math.sqrt(math.log(t) * (1 / s))
    if bandit == "rave" and edge.amaf_visits:
        b = math.sqrt(options.rave_visits / (3 * s + options.rave_visits))
        return ucb1 + b * (edge.amaf_wins / edge.amaf_visits - p)  # (1 - b) p + b AMAF, and the bonus
    return ucb1


def naive_rave_mse(edge: NaiveEdge, fpu: float, options: SearchOptions) -> float:
    """(1 - b) w/s + b w'/s' with the prior's visits in both, as one fraction: rounded as the fast search does it."""
    m, k = options.prior_visits, options.rave_visits
    s, w = edge.visits + m, edge.wins + m * edge.prior
    later, later_wins = edge.amaf_visits + m, edge.amaf_wins + m * edge.prior
    if s + later == 0:
        return fpu
    return (later_wins + w * (1 + later / k)) / (s + later + s * (later / k))
