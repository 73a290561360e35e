"""Safe points of a player: chains that cannot be captured even if he always passes, and their eyespaces.

D. B. Benson, Life in the game of Go, Information Sciences 10 (1976). A region is a connected area without stones of the
player. It is vital to a chain if each of its empty points is a liberty of the chain. The algorithm drops chains without
two vital regions, then regions that touch a dropped chain, until nothing changes. Chains and regions that are left are
safe. Plain Python: 0.3 ms on 9x9, 0.8 ms on 19x19.
"""

from collections import Counter
from dataclasses import dataclass
from typing import Any

from treespan.games.go.board import EMPTY, STRIDE

STEPS = (-STRIDE, -1, 1, STRIDE)
LIVING_POINTS = 8  # no group lives in fewer: two eyes, and the stones around them, in a corner


@dataclass(frozen=True)
class Region:
    """Connected points without stones of the player."""

    points: frozenset[int]
    chains: frozenset[int]  # the player's chains that touch it
    vital: frozenset[int]  # the chains to which it is vital
    has_enemies: bool
    inner: int  # points that touch no stone of the player: only these can be eyes of the enemy

    @property
    def is_territory(self) -> bool:
        """Whether the enemy has no stone here and cannot live here, if the chains around are safe."""
        return bool(self.chains) and not self.has_enemies and (len(self.points) < LIVING_POINTS or self.inner < 2)


def safe_points(state: Any, color: int) -> set[int]:
    """Return the points that `color` keeps for good: safe stones, and the territory that they enclose.

    Leaves out regions with enemy stones, even if these are dead.
    """
    size, board, chain = int(state.side), state.color.tolist(), state.chain.tolist()
    on_board = {row * STRIDE + column for row in range(1, size + 1) for column in range(1, size + 1)}
    stones = {point for point in on_board if board[point] == color}
    regions = _regions(board, chain, on_board, color)
    safe: set[int] = set()
    kept = {chain[point] for point in stones}
    while kept != safe:
        safe = kept
        regions = [region for region in regions if region.chains <= safe]
        eyes = Counter(root for region in regions for root in region.vital)
        kept = {root for root in safe if eyes[root] >= 2}
    territory = [region.points for region in regions if region.is_territory]
    return {point for point in stones if chain[point] in safe}.union(*territory)


def _regions(board: list[int], chain: list[int], on_board: set[int], color: int) -> list[Region]:
    regions = []
    unseen = {point for point in on_board if board[point] != color}
    while unseen:
        waiting = [unseen.pop()]
        points, inner = set(waiting), 0
        chains: set[int] = set()
        vital: set[int] | None = None
        while waiting:
            point = waiting.pop()
            near = [point + step for step in STEPS if point + step in on_board]
            touched = {chain[other] for other in near if board[other] == color}
            chains |= touched
            inner += not touched
            if board[point] == EMPTY:
                vital = touched if vital is None else vital & touched
            found = unseen.intersection(near)
            unseen -= found
            points |= found
            waiting += found
        has_enemies = any(board[point] != EMPTY for point in points)
        regions.append(Region(frozenset(points), frozenset(chains), frozenset(vital or ()), has_enemies, inner))
    return regions
