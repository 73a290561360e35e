"""SameGame as people see and play it: a board with colours, the score, and groups named by any of their blocks."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from treespan.games.board import LABEL, Cell
from treespan.games.manners import BoardManners, GetStatus
from treespan.games.position import Position
from treespan.games.samegame import CELL_SYMBOLS, SameGame
from treespan.games.samegame_groups import EMPTY

# Most kinds of colour blindness tell these apart (Okabe & Ito); the digits stay, too.
COLORS = ("#e69f00", "#56b4e9", "#009e73", "#f0e442", "#cc79a7", "#d55e00", "#0072b2", "#bbbbbb", "#8b5a2b")
BLOCKS = {".": (".", LABEL)} | {
    sign: (sign, f"#000000 on {color}") for sign, color in zip(CELL_SYMBOLS[1:], COLORS, strict=True)
}


@dataclass(frozen=True)
class SameGameManners(BoardManners):
    """Colours, the score, and any block as the name of its group."""

    game: SameGame
    painted: Mapping[str, tuple[str, str]] = field(default_factory=lambda: BLOCKS)

    def last_cell(self, positions: Sequence[Position]) -> Cell | None:
        """Return None: what was removed has no cell any more."""
        return None

    def facts(self, positions: Sequence[Position], get_status: GetStatus) -> list[str]:
        state = positions[-1].state
        if positions[-1].is_over:
            return []  # the result says it
        return [f"score {int(state.score):,}", f"groups left {len(positions[-1].legal_moves)}"]

    def prospects(self, position: Position, player: int, value: float) -> str:
        state = position.state
        return f"expected score {int(state.low) + value * (int(state.high) - int(state.low)):,.0f}"

    def read_move(self, position: Position, text: str) -> int:
        """Return the move of the group that a block belongs to: people may name any of its blocks."""
        move, board = self.game.parse_move(text), position.state.board
        group, border = {move}, [move]
        while border and board[move] != EMPTY:
            cell = border.pop()
            near = {cell - 1, cell + 1, cell - self.game.stride, cell + self.game.stride} - group
            found = [one for one in near if board[one] == board[move]]
            group.update(found)
            border += found
        return min(group)

    def why_illegal(self, position: Position, move: int) -> str:
        is_empty = position.state.board[move] == EMPTY
        return "there is no block" if is_empty else "no block of its colour touches that one"
