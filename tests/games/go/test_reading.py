"""Reading of captures, ladders and races: by hand, against trying everything, and against GNU Go."""

from collections import Counter
from collections.abc import Iterator

import numpy as np
import pytest

from tests.naive.go import NaiveGo, Point, number, twin
from tests.naive.go_reading import is_caught
from tests.support.go_games import RACE, GnuGo, pick
from treespan.core.jit import JIT_DISABLED
from treespan.games.go import Go
from treespan.games.go import reading as r
from treespan.games.position import Position

NODES = 5000
FATES = ("unclear", "alive", "critical", "dead")
ANSWERS = ("unknown", "safe", "caught")

LADDER = """
. . . . . . .
. . X X . . .
. X O O X . .
. . X O . . .
. . . . . . .
. . . . . . .
. . . . . . .
"""
# A board; of a stone its fate, the moves that catch it, and if that matters those that save it.
POSITIONS = {
    "a stone in atari runs": (
        """
        . . . . . . .
        . . . . . . .
        . . . X . . .
        . . X O X . .
        . . . . . . .
        . . . . . . .
        . . . . . . .
        """,
        [("D4", "critical", "D3", "D3")],
    ),
    "a ladder": (LADDER, [("C5", "critical", "D3", "")]),
    "a ladder with a breaker": (
        """
        . . . . . . .
        . . X X . . .
        . X O O X . .
        . . X O . . .
        . . . . . . .
        . . . . . O .
        . . . . . . .
        """,
        [("C5", "alive", "", "")],
    ),
    "a race of two liberties each": (
        RACE,
        [("A4", "critical", "A5 B5", "A2 B2"), ("A3", "critical", "A2 B2", "A5 B5")],
    ),
    "a race of three liberties against two": (
        RACE.replace("O O O . .", "O O O O .").replace(". . O O O", ". . . O O"),
        [("A4", "alive", "", ""), ("A3", "dead", "A2 B2", "")],
    ),
    "a seki": (
        """
        . . X O . . .
        X X X O . . .
        O O O X X X .
        . . O X . . .
        X X X O . . .
        O O O O . . .
        . . . . . . .
        """,
        [("A5", "alive", "", ""), ("A3", "alive", "", "")],
    ),
    "two eyes": (
        """
        . X X O .
        X . X O .
        X X X O .
        O O O O .
        . . . . .
        """,
        [("B5", "alive", "", ""), ("A3", "alive", "", "")],
    ),
    "a net and a snapback shape: caught whoever moves": (
        """
        . . . . . . .
        . . . . . . .
        . . . . . . .
        . . X X . . .
        . X O O X X .
        . X X . O X .
        . . . X O X .
        """,
        [("C3", "dead", "D2", ""), ("E2", "dead", "D2", "")],
    ),
    "a ko, about which the reader is silent": (
        """
        . X O . .
        X O . O .
        . X O . .
        . . . . .
        . . . . .
        """,
        [("B4", "unclear", "", "")],
    ),
}


class Reader:
    """The compiled reader with its buffers, at one position."""

    def __init__(self, game: Go, state: np.record):
        self.game, self.states, self.desk = game, game.new_states(r.LEVELS), np.zeros(r.DESK, np.uint64)
        self.states[0] = state

    def fate(self, stone: int) -> str:
        return FATES[int(r.fate(self.states, self.desk, np.uint64(stone), NODES))]

    def answer(self, stone: int, attacks: bool) -> str:
        return ANSWERS[int(r.question(self.states, self.desk, np.uint64(stone), attacks, NODES))]

    def solving(self, stone: int, attacks: bool) -> set[str]:
        count = int(r.solving_moves(self.states, self.desk, np.uint64(stone), attacks, NODES))
        return {self.game.move_name(int(r.solving_move(self.desk, i))) for i in range(count)}


@pytest.mark.parametrize("name", POSITIONS)
def test_fates_by_hand(name: str) -> None:
    diagram, stones = POSITIONS[name]
    game = Go(size=len(diagram.strip().splitlines()))
    reader = Reader(game, game.read_diagram(diagram))
    for stone, fate, catching, saving in stones:
        point = game.parse_move(stone)
        assert reader.fate(point) == fate, stone
        if catching:
            assert reader.solving(point, attacks=True) == set(catching.split()), stone
        if saving:
            assert reader.solving(point, attacks=False) == set(saving.split()), stone


def test_reading_leaves_the_position_and_stops_at_its_limit() -> None:
    game = Go(size=7)
    reader = Reader(game, game.read_diagram(LADDER))
    before = reader.states[0].tobytes()
    stone = np.uint64(game.parse_move("C5"))
    assert int(r.question(reader.states, reader.desk, stone, True, 5)) == r.UNKNOWN  # a ladder is longer
    assert reader.answer(int(stone), attacks=True) == "caught"
    assert reader.states[0].tobytes() == before


def crowded_positions(size: int, empty: int, seed: int) -> Iterator[Position]:
    """Positions of random games as soon as they have only so many empty points, without a ko."""
    rng, game = np.random.default_rng(seed), Go(size=size)
    while True:
        position = Position(game)
        while not position.is_over and int(position.state.empty_count) > empty:
            position.play(pick(rng, position.legal_moves, passing=0.0))
        if not position.is_over:
            position.state.ko = 0
            yield position


def chains_of(naive: NaiveGo) -> list[Point]:
    """One stone of each chain."""
    left, found = set(naive.stones), []
    while left:
        stone = min(left)
        found.append(stone)
        left -= naive.chain(stone, naive.stones)[0]
    return found


def agreement(questions: int, empty: int, seed: int) -> Counter[tuple[str, str]]:
    """What trying everything, and what the reader says, for both sides to move, counted."""
    counts: Counter[tuple[str, str]] = Counter()
    for position in crowded_positions(5, empty, seed):
        naive = twin(position.state)
        reader = Reader(Go(size=5), position.state)
        for stone in chains_of(naive):
            for attacks in (True, False):
                if counts.total() == questions:
                    return counts
                naive.to_play = 3 - naive.stones[stone] if attacks else naive.stones[stone]
                found = reader.answer(number(stone), attacks)
                # The reader may look further than trying everything can: then it must have found nothing.
                plies = 9 if found == "caught" else 7
                caught = {is_caught(naive, stone, plies, ko_master) for ko_master in (1, 2)}
                truth = "ko" if len(caught) == 2 else ANSWERS[2 if True in caught else 1]
                counts[truth, found] += 1
    return counts


def test_reading_agrees_with_trying_everything() -> None:
    counts = agreement(questions=16 if JIT_DISABLED else 120, empty=4, seed=1)
    assert counts["safe", "caught"] <= 0.02 * counts.total(), f"{counts}"  # hardly a defence is overlooked
    decided = sum(counts[truth, found] for truth in ANSWERS for found in ("safe", "caught"))
    right = counts["safe", "safe"] + counts["caught", "caught"]
    # Where the reader takes many liberties for safety, a crowded small board may prove it wrong.
    assert right >= 0.95 * decided and decided >= 0.8 * counts.total(), f"{counts}"


def gnugo_agreement(gnugo: GnuGo, questions: int, seed: int) -> Counter[tuple[str, str]]:
    """What GNU Go's tactical reading, and what ours says about chains of random games on 9x9, counted."""
    rng, game = np.random.default_rng(seed), Go(size=9)
    counts: Counter[tuple[str, str]] = Counter()
    while counts.total() < questions:
        position = Position(game)
        gnugo.ask("boardsize 9", "clear_board")
        for _ in range(int(rng.integers(30, 60))):
            player, move = int(position.state.to_play), pick(rng, position.legal_moves, passing=0.0)
            position.play(move)
            gnugo.ask(f"play {'bw'[player]} {game.move_name(move)}")
        naive, reader = twin(position.state), Reader(game, position.state)
        for stone in chains_of(naive):
            name = game.move_name(number(stone))
            attack, defend = gnugo.ask(f"attack {name}", f"defend {name}")
            # 0 fails, 1 works, others depend on a ko.
            fates = {("1", "0"): "dead", ("1", "1"): "critical"}
            theirs = "alive" if attack[0] == "0" else fates.get((attack[0], defend[0]), "unclear")
            counts[theirs, reader.fate(number(stone))] += 1
    return counts


@pytest.mark.programs("gnugo")
def test_gnugo_reads_the_same(gnugo: GnuGo) -> None:
    counts = gnugo_agreement(gnugo, questions=80 if JIT_DISABLED else 300, seed=1)  # of twenty, chance takes some
    decided = {pair: count for pair, count in counts.items() if "unclear" not in pair}
    same = sum(count for (theirs, ours), count in decided.items() if theirs == ours)
    assert same >= 0.9 * sum(decided.values()), f"{counts}"
    assert all(decided.get((fate, fate), 0) > 0 for fate in FATES[1:]) or JIT_DISABLED, f"{counts}"
