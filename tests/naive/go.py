"""Go in the slowest and most obvious way: a dict of stones, and everything else found by flood fill.

Shares no idea with the fast board: chains are looked up anew, a move is tried on a copy, and ko is its
definition ("no move may recreate the board before the opponent's last move") instead of a marked point.
`check_fields` recomputes what the fast board maintains step by step.
"""

import functools
from collections.abc import Iterator
from typing import Any

from treespan.games.go.board import BLACK, BORDER, EMPTY, POINTS, STRIDE, WHITE, ZOBRIST

Point = tuple[int, int]  # row and column, from 1
Board = dict[Point, int]  # the stones: BLACK or WHITE


def number(point: Point | None) -> int:
    """A point, or None for a pass, as the fast game numbers its moves."""
    return 0 if point is None else point[0] * STRIDE + point[1]


def to_point(move: int) -> Point | None:
    return divmod(move, STRIDE) if move else None


def numbers(moves: list[Point | None]) -> list[int]:
    return sorted(map(number, moves))


class NaiveGo:
    """A position with all boards that came before it."""

    def __init__(self, size: int, stones: Board | None = None, to_play: int = BLACK):
        self.size = size
        self.stones: Board = dict(stones or {})
        self.to_play = to_play
        self.passes = 0
        self.boards = [self.stones]  # after each ply, the present one last
        self.points = _points(size)

    def copy(self) -> "NaiveGo":
        twin = NaiveGo(self.size, self.stones, self.to_play)
        twin.passes, twin.boards = self.passes, list(self.boards)
        return twin

    def neighbours(self, point: Point) -> list[Point]:
        return list(_neighbours(point, self.size))

    def chain(self, point: Point, stones: Board) -> tuple[set[Point], set[Point]]:
        """The points joined to `point` by its own colour (or emptiness), and all other points beside them."""
        color = stones.get(point, EMPTY)
        chain, edge, waiting = {point}, set(), [point]
        while waiting:
            for neighbour in _neighbours(waiting.pop(), self.size):
                if stones.get(neighbour, EMPTY) != color:
                    edge.add(neighbour)
                elif neighbour not in chain:
                    chain.add(neighbour)
                    waiting.append(neighbour)
        return chain, edge

    def has_liberty(self, point: Point, stones: Board) -> bool:
        """Whether the chain of a stone has one; the search for it ends at the first."""
        color, chain, waiting = stones[point], {point}, [point]
        while waiting:
            for neighbour in _neighbours(waiting.pop(), self.size):
                beside = stones.get(neighbour)
                if beside is None:
                    return True
                if beside == color and neighbour not in chain:
                    chain.add(neighbour)
                    waiting.append(neighbour)
        return False

    def after(self, point: Point) -> Board | None:
        """The board after a stone on `point`, or None if that is suicide."""
        stones = {**self.stones, point: self.to_play}
        for neighbour in _neighbours(point, self.size):
            if stones.get(neighbour) == BLACK + WHITE - self.to_play and not self.has_liberty(neighbour, stones):
                for dead in self.chain(neighbour, stones)[0]:
                    del stones[dead]
        return stones if self.has_liberty(point, stones) else None

    @property
    def is_over(self) -> bool:
        return self.passes >= 2

    def legal_moves(self, superko: bool = False) -> list[Point | None]:
        """Points, and None for a pass."""
        if self.is_over:
            return []
        taboo = self.boards if superko else self.boards[-2:-1]
        moves: list[Point | None] = [None]
        for point in self.points:
            if point not in self.stones:
                board = self.after(point)
                if board is not None and board not in taboo:
                    moves.append(point)
        return moves

    def play(self, point: Point | None) -> None:
        if point is None:
            self.passes += 1
        else:
            board = self.after(point)
            assert board is not None, f"{point} is suicide"
            self.stones, self.passes = board, 0
        self.boards.append(self.stones)
        self.to_play = BLACK + WHITE - self.to_play

    def is_own_eye(self, point: Point, color: int) -> bool:
        """A one-point eye of `color`; false with two enemies on its diagonals, or one at the edge of the board."""
        row, column = point
        diagonals = [(row + down, column + right) for down in (-1, 1) for right in (-1, 1)]
        enemies = sum(self.stones.get(diagonal) == BLACK + WHITE - color for diagonal in diagonals)
        allowed = 1 if all(diagonal in self.points for diagonal in diagonals) else 0
        return all(self.stones.get(beside) == color for beside in self.neighbours(point)) and enemies <= allowed

    def candidates(self) -> list[Point | None]:
        """The legal moves that fill no own eye."""
        return [move for move in self.legal_moves() if move is None or not self.is_own_eye(move, self.to_play)]

    def regions(self) -> Iterator[tuple[set[Point], int]]:
        """Each connected empty region with its owner: BLACK, WHITE, or EMPTY if it touches both or none."""
        left = {point for point in self.points if point not in self.stones}
        while left:
            region, edge = self.chain(next(iter(left)), self.stones)
            left -= region
            owners = {self.stones[point] for point in edge}
            yield region, owners.pop() if len(owners) == 1 else EMPTY

    def area_margin(self) -> int:
        """Black's stones and territory minus White's."""
        colors = list(self.stones.values())
        for region, owner in self.regions():
            colors += [owner] * len(region)
        return colors.count(BLACK) - colors.count(WHITE)

    def perft(self, depth: int) -> int:
        """The number of move sequences of exactly `depth` plies."""
        moves = self.legal_moves()
        if depth <= 1:
            return len(moves) if depth == 1 else 1
        total = 0
        for move in moves:
            child = self.copy()
            child.play(move)
            total += child.perft(depth - 1)
        return total


def twin(state: Any) -> NaiveGo:
    """The naive position with the stones of a fast one, without a past."""
    side = int(state.side)
    points = ((row, column) for row in range(1, side + 1) for column in range(1, side + 1))
    stones = {point: int(state.color[number(point)]) for point in points if state.color[number(point)] != EMPTY}
    return NaiveGo(side, stones, int(state.to_play) + 1)


@functools.cache
def _points(size: int) -> tuple[Point, ...]:
    return tuple((row, column) for row in range(1, size + 1) for column in range(1, size + 1))


@functools.cache
def _neighbours(point: Point, size: int) -> tuple[Point, ...]:
    row, column = point
    around = (row - 1, column), (row, column - 1), (row, column + 1), (row + 1, column)
    return tuple((r, c) for r, c in around if 1 <= r <= size and 1 <= c <= size)


def check_fields(state: Any, naive: NaiveGo) -> None:
    """Assert that every field of a fast board is what its stones say."""
    board_key = 0
    for point, color in naive.stones.items():
        board_key ^= int(ZOBRIST[color, number(point)])
    assert int(state.board_key) == board_key
    on_board = {number(point): naive.stones.get(point, EMPTY) for point in naive.points}
    assert state.color.tolist() == [on_board.get(point, BORDER) for point in range(POINTS)]
    _check_empties(state, naive)
    for point in naive.points:
        beside = [naive.stones.get(neighbour, EMPTY) for neighbour in naive.neighbours(point)]
        border = 4 - len(beside)  # counts as black and as white
        packed = beside.count(BLACK) + border + (beside.count(WHITE) + border << 4) + (beside.count(EMPTY) << 8)
        assert state.near[number(point)] == packed, f"near of {point}"
    left = set(naive.stones)
    while left:
        chain, _ = naive.chain(next(iter(left)), naive.stones)
        _check_chain(state, naive, chain)
        left -= chain


def _check_empties(state: Any, naive: NaiveGo) -> None:
    empty = {number(point) for point in naive.points if point not in naive.stones}
    listed = state.empties[: state.empty_count].tolist()
    assert len(listed) == len(empty) and set(listed) == empty
    assert state.slot[listed].tolist() == list(range(len(listed)))
    assert all(state.chain[point] == point for point in empty)


def _check_chain(state: Any, naive: NaiveGo, chain: set[Point]) -> None:
    names = {int(state.chain[number(point)]) for point in chain}
    assert len(names) == 1, f"chain {sorted(chain)} has the names {names}"
    name = names.pop()
    stones = [name]
    while (following := int(state.next_stone[stones[-1]])) != name:
        stones.append(following)
        assert len(stones) <= len(chain), f"the stones of {sorted(chain)} do not form a circle"
    assert sorted(stones) == sorted(number(point) for point in chain)
    assert state.stones[name] == len(chain)
    pseudo = sum(beside not in naive.stones for point in chain for beside in naive.neighbours(point))
    assert pseudo > 0, f"chain {sorted(chain)} stands without liberty"
    assert state.liberties[name] == pseudo, f"pseudo-liberties of {sorted(chain)}"
