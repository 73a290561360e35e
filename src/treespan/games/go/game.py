"""Go as a search sees it: rules, playouts, notation, diagrams.

Rule choices: suicide is forbidden. Simple ko holds everywhere, and with `superko=yes` positional superko holds at the
root. Scoring is by area. Two passes end the game, and so do 3 x size x size plies, because a search without superko
could repeat positions for ever. Handicap stones stand on the fixed points of GTP, and White moves first. The search
does not consider filling one's own one-point eyes, though it is legal.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from treespan.core.errors import OptionError, PositionError, in_spec
from treespan.core.jit import njit
from treespan.core.options import option
from treespan.core.rng import hash_table
from treespan.games.go.board import (
    BLACK,
    BOARD_FIELDS,
    EMPTY,
    MAX_SIZE,
    NO_KO,
    PASS,
    POINTS,
    STRIDE,
    WHITE,
    ZOBRIST,
    clear_board,
    empty_near,
    is_legal,
    is_own_eye,
    place_stone,
    random_move,
)
from treespan.games.go.expertise import EXPERT_DESK, ends_as_foreseen, foresee_ends, mark_necessary
from treespan.games.go.policy import pattern_playout
from treespan.games.go.priors import PASS_WEIGHT, move_weight
from treespan.games.go.reading import LEVELS
from treespan.games.go.scoring import area_margin, filled_margin
from treespan.games.rules import FIRST, Game, noted

if TYPE_CHECKING:
    from treespan.games.go.manners import GoManners

COLUMNS = "ABCDEFGHJKLMNOPQRST"  # GTP leaves out I
SYMBOLS = ".XO"
MAX_KOMI = MAX_SIZE * MAX_SIZE
PLIES_PER_POINT = 3  # a longer game or playout is stopped and scored
STATUS_KEYS = hash_table(0x61, (2, 3))  # [to_play, passes]


@njit
def margin_of(state):
    """Return Black's area minus White's in a finished position. A playout has stored it in the record."""
    return state.margin if state.is_scored else area_margin(state)


@njit
def repeats(state, scratch, moves, count, history, result):
    """Write for each move into `result` whether it recreates a whole-board position of `history`."""
    for i in range(count):
        result[i] = False
        if moves[i] != 0:
            scratch[0] = state
            place_stone(scratch[0], np.uint64(moves[i]), scratch[0].to_play + 1, True)
            for past in history:
                result[i] |= past == scratch[0].board_key


def _within(value: float, low: float, high: float) -> float:
    if not low <= value <= high:  # written so that it also refuses nan
        raise ValueError
    return value


@dataclass(frozen=True)
class Go(Game):
    name = "go"
    summary = "Go with area scoring, 5x5 to 19x19"
    exploration = 0.4
    policies = ("light", "patterns")
    search_defaults: ClassVar[dict[str, str]] = {"policy": "patterns"}
    bandit_defaults: ClassVar[dict[str, str]] = {"bandit": "rave-mse", "rave_visits": "3000"}

    solver_room = (LEVELS, EXPERT_DESK)

    size: int = option(9, "points a side", low=5, high=MAX_SIZE)
    komi: float = option(7.5, "points for White", low=-MAX_KOMI, high=MAX_KOMI)
    handicap: int = option(0, "handicap stones for Black; 0 or 2..9", low=0, high=9)
    superko: bool = option(False, "forbid repeating a whole-board position (at the root)")

    fields = (
        *BOARD_FIELDS,
        ("komi", np.float32),
        ("plies_left", np.int16),
        ("margin", np.int16),  # Black's area minus White's, if is_scored
        ("is_scored", np.int8),  # set by a playout
        ("last_move", np.uint16),  # 0 is a pass or the start
        ("passes", np.int8),  # how many passes the last moves were, 0 to 2
        ("to_play", np.int8),
    )

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.handicap == 1 or self.handicap > len(self.handicap_points()):
            allowed = f"0 or 2..{len(self.handicap_points())}" if self.handicap_points() else "0"
            given = in_spec("handicap", self.handicap)
            raise OptionError(f"go: {given} does not fit size={self.size}; give {allowed}")

    @property
    def max_moves(self) -> int:
        return self.size * self.size + 1

    @property
    def move_ids(self) -> int:
        return POINTS

    @property
    def max_plies(self) -> int:
        return PLIES_PER_POINT * self.size * self.size

    # Rules

    @staticmethod
    def legal_moves(state, moves):
        if state.passes >= 2 or state.plies_left <= 0:
            return 0
        count = 0
        color = state.to_play + 1
        for i in range(np.uint64(state.empty_count)):
            point = np.uint64(state.empties[i])
            if is_legal(state, point, color):
                moves[count] = point
                count += 1
        moves[count] = 0  # pass
        return count + 1

    @staticmethod
    def candidates(state, moves):
        if state.passes >= 2 or state.plies_left <= 0:
            return 0
        count = 0
        color = state.to_play + 1
        for i in range(np.uint64(state.empty_count)):
            point = np.uint64(state.empties[i])
            if not is_own_eye(state, point, color) and is_legal(state, point, color):
                moves[count] = point
                count += 1
        moves[count] = 0
        return count + 1

    @staticmethod
    def play(state, move):
        if move == 0:
            state.passes += 1
            state.ko = NO_KO
        else:
            place_stone(state, np.uint64(move), state.to_play + 1, True)
            state.passes = 0
        state.last_move = move
        state.plies_left -= 1
        state.to_play = 1 - state.to_play

    @staticmethod
    def reward(state):
        margin = margin_of(state) - state.komi
        return 1.0 if margin > 0 else (0.5 if margin == 0 else 0.0)

    @staticmethod
    def key(state):
        ko = ZOBRIST[0, state.ko] if state.ko != NO_KO else np.uint64(0)
        return state.board_key ^ ko ^ STATUS_KEYS[state.to_play, state.passes]

    @staticmethod
    def playout_light(state, random, trace, moves):
        plies = 0
        limit = state.plies_left
        passes = state.passes
        player = state.to_play
        while passes < 2 and plies < limit:
            point = random_move(state, player + 1, random)
            if point == PASS:
                passes += 1
                state.ko = NO_KO
            else:
                place_stone(state, point, player + 1, False)
                passes = 0
            trace[plies] = noted(np.int32(point), player)
            plies += 1
            player = 1 - player
        if plies > 0:
            state.margin = filled_margin(state)
            state.is_scored = 1
        return plies

    playout_patterns = pattern_playout

    @staticmethod
    def priors(state, moves, count, weights):
        """See `go/priors.py`."""
        for i in range(count):
            move = moves[i]
            weights[i] = PASS_WEIGHT if move == 0 else move_weight(state, np.uint64(move), state.to_play + 1)

    expertise, foresee, agrees = mark_necessary, foresee_ends, ends_as_foreseen  # see `go/expertise.py`

    # Start, notation, diagrams

    def setup(self, state: Any) -> None:
        clear_board(state, self.size)
        state.komi = self.komi
        state.plies_left = self.max_plies
        if self.handicap:
            points = self.handicap_points()
            chosen = points[: self.handicap]
            if self.handicap in (5, 7):
                chosen[-1] = points[-1]  # the odd stone stands in the centre
            for point in chosen:
                place_stone(state, np.uint64(point), BLACK, True)
            state.to_play = 1 - FIRST

    def handicap_points(self) -> list[int]:
        """Return GTP's fixed handicap points: corners, sides, centre."""
        if self.size < 7:
            return []
        edge = 4 if self.size >= 13 else 3
        low, mid, high = edge, (self.size + 1) // 2, self.size + 1 - edge
        places = [(low, low), (high, high), (high, low), (low, high)]
        if self.size % 2 and self.size > 7:
            places += [(mid, low), (mid, high), (low, mid), (high, mid), (mid, mid)]
        return [row * STRIDE + column for row, column in places]

    def history_key(self, state: Any) -> int:
        return int(state.board_key) if self.superko else 0

    def forbidden_moves(self, state: Any, moves: Sequence[int], history: Sequence[int]) -> set[int]:
        if not self.superko or not history:
            return set()
        tried = np.array(moves, dtype=np.int32)
        marks = np.zeros(len(tried), dtype=np.bool_)
        repeats(state, self.new_states(1), tried, len(tried), np.array(history, dtype=np.uint64), marks)
        return set(tried[marks].tolist())

    def move_name(self, move: int) -> str:
        if move == 0:
            return "pass"
        return f"{COLUMNS[move % STRIDE - 1]}{move // STRIDE}"

    def parse_move(self, text: str) -> int:
        word = text.strip().upper()
        if word == "PASS":
            return 0
        column = COLUMNS.find(word[:1]) + 1 if word else 0
        row = int(word[1:]) if word[1:].isdecimal() and len(word) <= 3 else 0
        if not (1 <= column <= self.size and 1 <= row <= self.size):
            raise PositionError(
                f"go: '{text}' is not a point of {self.size}x{self.size}; "
                f"give A1..{COLUMNS[self.size - 1]}{self.size} or pass"
            )
        return row * STRIDE + column

    def cells(self, state: Any) -> list[list[str]]:
        points = range(1, self.size + 1)
        return [[SYMBOLS[state.color[row * STRIDE + column]] for column in points] for row in reversed(points)]

    def cell_of(self, state: Any, move: int) -> tuple[int, int] | None:
        return None if move == PASS else (self.size - move // STRIDE, move % STRIDE - 1)

    def diagram(self, state: Any) -> str:
        letters = "   " + " ".join(COLUMNS[: self.size])
        lines = [letters]
        for row, stones in zip(range(self.size, 0, -1), self.cells(state), strict=True):
            lines.append(f"{row:2} {' '.join(stones)} {row}")
        status = f"{('black', 'white')[state.to_play]} to play, komi {float(state.komi):g}"
        if state.ko:
            status += f", ko {self.move_name(int(state.ko))}"
        if state.passes:
            status += f", passes {state.passes}"
        return "\n".join([*lines, letters, status])

    def read_diagram(self, text: str) -> Any:
        """Read board rows from the top, then a line such as `white to play, komi 6.5, ko D4`, which may be missing."""
        rows, status = [], ""
        for line in filter(None, map(str.strip, text.splitlines())):
            cells = line.strip("0123456789 ").replace(" ", "").upper()
            if "TO PLAY" in line.upper():
                status = line
            elif cells and not set(cells) - set(SYMBOLS):
                rows.append(cells)
        if len(rows) != self.size or any(len(row) != self.size for row in rows):
            raise PositionError(f"go: a diagram has {self.size} rows of {self.size} of '.', 'X' and 'O'")
        state = self.new_states(1)[0]
        clear_board(state, self.size)
        state.komi, state.plies_left = self.komi, self.max_plies
        for row, cells in zip(range(self.size, 0, -1), rows, strict=True):
            for column, cell in enumerate(cells, start=1):
                if cell != ".":
                    point = np.uint64(row * STRIDE + column)
                    place_stone(state, point, BLACK if cell == "X" else WHITE, True)
        self._check_liberties(state, rows)
        self._read_status(state, status)
        return state

    def _check_liberties(self, state: Any, rows: list[str]) -> None:
        stones = sum(row.count("X") + row.count("O") for row in rows)
        chains = state.chain[(state.color == BLACK) | (state.color == WHITE)]
        # Stones are placed one by one: one without liberties is captured by a later one, or still stands without any.
        if len(chains) != stones or not state.liberties[chains].all():
            raise PositionError("go: the diagram has stones without liberties")
        state.ko = NO_KO

    def _read_status(self, state: Any, status: str) -> None:
        for part in filter(None, (part.strip().lower() for part in status.split(","))):
            words = part.split()
            try:
                if part.endswith("to play"):
                    state.to_play = ("black", "white").index(words[0])
                elif words[0] == "komi":
                    state.komi = _within(float(words[1]), -MAX_KOMI, MAX_KOMI)
                elif words[0] == "ko":
                    state.ko = self.parse_move(words[1])
                elif words[0] == "passes":
                    state.passes = _within(int(words[1]), 0, 2)
                else:
                    raise ValueError
            except (ValueError, IndexError):
                raise PositionError(f"go: cannot read '{part}' below the diagram") from None
        if state.ko and (state.color[state.ko] != EMPTY or empty_near(state, np.uint64(state.ko)) != 0):
            raise PositionError(f"go: {self.move_name(int(state.ko))} cannot be a ko: give an empty point amid stones")

    def manners(self) -> "GoManners":
        from treespan.games.go.manners import GoManners  # imports this module, for playouts

        return GoManners(self)

    def describe_result(self, state: Any, reward: float) -> str:
        margin = float(margin_of(state)) - float(state.komi)
        if margin == 0:
            return "draw"
        return f"{'B' if margin > 0 else 'W'}+{abs(margin):g}"
