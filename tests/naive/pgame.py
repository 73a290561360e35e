"""A P-game's tree written out in full, to check it against the definition of Smith & Nau."""

from dataclasses import dataclass, field

from treespan.games.pgame import PGame
from treespan.games.position import Position


@dataclass
class StoredNode:
    """A node with the values of its branches, as differences of the scores at either end."""

    plies: int
    score: int
    key: int
    optimal: int | None  # the branch that the game names as optimal; None at the end
    values: list[int] = field(default_factory=list)
    children: list["StoredNode"] = field(default_factory=list)


def store_tree(game: PGame) -> StoredNode:
    """The whole tree; mind branching ** depth."""
    return _store(Position(game))


def _store(position: Position) -> StoredNode:
    game, state = position.game, position.state
    assert isinstance(game, PGame)
    optimal = None if position.is_over else game.optimal_move(state)
    node = StoredNode(len(position.moves_made), int(state.score), position.key, optimal)
    for move in position.legal_moves:
        child = position.copy()
        child.play(move)
        node.values.append(int(child.state.score) - node.score)
        node.children.append(_store(child))
    return node


def all_nodes(node: StoredNode) -> list[StoredNode]:
    return [node] + [below for child in node.children for below in all_nodes(child)]


def minimax(node: StoredNode) -> int:
    """The score at the end under best play; the first player wants it high."""
    if not node.children:
        return node.score
    best = max if node.plies % 2 == 0 else min
    return best(minimax(child) for child in node.children)
