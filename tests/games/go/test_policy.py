"""Playouts by `patterns`: sound to the end on random games, and each rule on a diagram."""

from typing import Any

import numpy as np
import pytest

from tests.naive.go import NaiveGo, check_fields, number, numbers, to_point, twin
from tests.naive.go_tactics import liberties, liberties_after
from tests.support.go_games import read
from treespan.core.jit import JIT_DISABLED
from treespan.core.rng import generator
from treespan.games.check import one_playout
from treespan.games.go import Go, policy
from treespan.games.go.board import BLACK, WHITE
from treespan.games.position import Position
from treespan.games.registry import make_game

PATTERNS = Go.policies.index("patterns")


def scratch(game: Go) -> np.ndarray:
    return np.zeros(game.max_moves, dtype=np.int32)


def is_careful(naive: NaiveGo, point: Any) -> bool:
    """No bad self-atari, for a legal move that fills no own eye."""
    if liberties_after(naive, point) >= 2:
        return True
    beside = [stone for stone in naive.neighbours(point) if stone in naive.stones]
    stones = 1 + sum(len(naive.chain(s, naive.stones)[0]) for s in beside if naive.stones[s] == naive.to_play)
    gives_atari = any(len(liberties(naive, s)) == 2 for s in beside if naive.stones[s] != naive.to_play)
    return stones == 1 or (stones <= policy.SACRIFICE and gives_atari)


STARTS = [("go:size=5", ""), ("go:size=7,komi=3", "D4 pass"), ("go:size=9,handicap=3", "E5 E6 D5"), ("go:size=9", "")]


@pytest.mark.parametrize(("spec", "opening"), STARTS)
def test_playouts_make_sound_moves_to_the_end(spec: str, opening: str) -> None:
    game = make_game(spec)
    assert isinstance(game, Go)
    for seed in range(1 if JIT_DISABLED else 6):
        position = Position(game)
        position.play_text(opening)
        after, trace = game.new_states(1), np.zeros(game.max_plies, dtype=np.int32)
        after[0] = position.state
        plies, reward = one_playout(game, after[0], generator(seed), trace, scratch(game), PATTERNS)
        moves = [int(~entry if entry < 0 else entry) for entry in trace[:plies]]
        naive = twin(position.state)
        for move in moves:
            careful = [p for p in naive.candidates() if p is not None and is_careful(naive, p)]
            assert move in numbers(naive.legal_moves())
            assert move != 0 or not careful, f"{position}\npasses"
            position.play(move)
            naive.play(to_point(move))
        assert position.is_over and moves[-2:] == [0, 0]
        assert after[0].color.tolist() == position.state.color.tolist()
        assert int(after[0].margin) == naive.area_margin()
        assert reward == position.reward
        after[0].board_key = position.state.board_key  # playouts do not keep it up
        check_fields(after[0], naive)


RULES = {
    "capture the stone just played": ("atari_moves", "D3", {"E3"}, """
        . . . . .
        . . . X .
        . . X O .
        . . . X .
        . . . . ."""),
    "run": ("atari_moves", "D2", {"C1"}, """
        . . . . .
        . . . . .
        . . O . .
        . O X O .
        . . . . ."""),
    "running is useless at the edge; capture an attacker": ("atari_moves", "B3", {"A3"}, """
        . . . . .
        . . . . .
        . O . . .
        O X O . .
        X . O . ."""),
    "vital point": ("nakade_move", "D1", {"B1"}, """
        . . . . .
        . . . . .
        O O O O .
        O O O O .
        . . . O ."""),
    "four in a row have none": ("nakade_move", "E1", set(), """
        . . . . .
        . . . . .
        . . . . .
        O O O O O
        . . . . O"""),
    "an eye that both colours touch": ("nakade_move", "D1", set(), """
        . . . . .
        . . . . .
        O O O O .
        X O O O .
        . . . O ."""),
    "catch towards the edge": ("two_liberty_moves", "C1", {"C2", "D1"}, """
        . . . . .
        . . . . .
        . . . . .
        . X . X .
        . X O . ."""),
    "pattern": ("pattern_moves", "C3", {"B2", "C2", "D2", "B4", "C4", "D4"}, """
        . . . . .
        . . . . .
        . X O X .
        . . . . .
        . . . . ."""),
}  # fmt: skip


@pytest.mark.parametrize(("rule", "last", "expected", "diagram"), RULES.values(), ids=RULES)
def test_rules_on_diagrams(rule: str, last: str, expected: set[str], diagram: str) -> None:
    """Black is to play, White's last move stands on the board."""
    position = read(Go(size=5), diagram.strip().splitlines())
    game, found = position.game, scratch(Go(size=5))
    point = np.uint64(game.parse_move(last))
    assert position.state.color[int(point)] == WHITE
    before = twin(position.state)
    if rule == "nakade_move":
        moves = [int(policy.nakade_move(position.state, point, found))]
    else:
        moves = found[: int(getattr(policy, rule)(position.state, BLACK, point, found))].tolist()
    assert {game.move_name(move) for move in moves if move} == expected
    check_fields(position.state, before)


def test_remembered_stones_are_captured_while_in_atari() -> None:
    position = read(Go(size=5), [".....", "...X.", "..XO.", "...X.", "....."])
    game, found = position.game, scratch(Go(size=5))
    stone, liberty = (np.uint64(game.parse_move(name)) for name in ("D3", "E3"))
    assert policy.remembered_captures(position.state, BLACK, found) == 0
    policy.remember_atari(position.state, stone, found)
    assert policy.remembered_captures(position.state, WHITE, found) == 0  # not their own
    assert policy.remembered_captures(position.state, BLACK, found) == 1 and found[0] == liberty
    position.play_text("A1 E3")  # White runs
    assert policy.remembered_captures(position.state, BLACK, found) == 0
    assert not found[policy.MOST_FOUND :].any()


def test_every_move_of_a_policy_is_drawn_from_the_position_alone() -> None:
    game = Go(size=5)
    state, found = game.new_state(), scratch(game)
    centre = number((3, 3))
    state.last_move = 0
    drawn = {
        int(policy.pattern_move(state, BLACK, np.uint64(0), np.uint64(0), generator(s), found)) for s in range(200)
    }
    assert len(drawn) == 25 and centre in drawn
