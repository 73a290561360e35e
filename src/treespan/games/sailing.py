"""Sailing: the stochastic shortest path of Kocsis & Szepesvári (2006), after Vanderbei's "Sailing Strategies".

A boat crosses a square lake of size x size waypoints from the south-west corner to the north-east one. A leg
leads to one of the eight neighbours within the lake, but never straight into the wind. It costs 4, 3, 2 or 1
if the wind comes from 45 (up), 90 (cross), 135 (down) or 180 degrees (away) off the bow. A diagonal leg costs sqrt(2)
times as much, and a change of tack costs 3 more: a leg costs 1 to 4 * sqrt(2) + 3 = 8.66.
After each leg the wind stays or turns by 45 degrees. That is a move of nature, with the probabilities of Vanderbei's
matrix as public code has them, the row of NW included.

Rule choices:
- A wind is named by where it comes *from*, as sailors do: a heading N is into the wind N, and away from the wind S.
- Wind from the right is starboard tack, from the left port tack. A leg straight before the wind is on neither tack,
  and so is the boat at the start. Such a leg costs no delay, and the next leg costs none either.
- The race is given up at a cost of 15 * size, about three times the optimum. Every leg costs at least 1, so every race
  ends. The reward is 1 - cost / (15 * size), and 0 for a race given up.
- The total cost a + b * sqrt(2) is kept in the whole numbers a and b: it is exact, and part of the key.
"""

import math
import re
from dataclasses import dataclass
from typing import Any

import numpy as np

from treespan.core.errors import PositionError
from treespan.core.jit import njit
from treespan.core.options import option
from treespan.core.rng import below, next64
from treespan.games.rules import CHANCE, FIRST, Game, noted

COMPASS = ("N", "NE", "E", "SE", "S", "SW", "W", "NW")  # headings and winds, clockwise; diagonals are odd
EASTING = np.array([0, 1, 1, 1, 0, -1, -1, -1])
NORTHING = np.array([1, 1, 0, -1, -1, -1, 0, 1])
NO_TACK, PORT, STARBOARD = 0, 1, 2
TACK_NAMES = ("none", "port", "starboard")
# By the angle from the heading clockwise to the wind, (wind - heading) & 7:
INTO = 0  # forbidden
LEG_COST = np.array([0, 4, 3, 2, 1, 2, 3, 4])
TACK = np.array([NO_TACK, STARBOARD, STARBOARD, STARBOARD, NO_TACK, PORT, PORT, PORT])
DELAY = 3  # cost of a change of tack
SQRT2 = math.sqrt(2.0)
GIVE_UP = 15  # times the lake's size: the cost at which a race is given up

WIND_TENTHS = np.array(  # probability, times ten, of the next wind (column) after a wind (row)
    [
        [4, 3, 0, 0, 0, 0, 0, 3],
        [4, 3, 3, 0, 0, 0, 0, 0],
        [0, 4, 3, 3, 0, 0, 0, 0],
        [0, 0, 4, 3, 3, 0, 0, 0],
        [0, 0, 0, 4, 2, 4, 0, 0],
        [0, 0, 0, 0, 3, 3, 4, 0],
        [0, 0, 0, 0, 0, 3, 3, 4],
        [4, 0, 0, 0, 0, 0, 3, 3],
    ]
)
WINDS = 3  # that may follow a wind
NEXT_WINDS = np.array([np.flatnonzero(row) for row in WIND_TENTHS])
CUMULATIVE = np.cumsum(np.take_along_axis(WIND_TENTHS, NEXT_WINDS, axis=1), axis=1)
WIND_MOVE = 8  # + wind: a move of nature; 0..7 are the boat's headings
NO_HEADING = -1
_GOALWARD_PICK = np.uint64(3)  # playouts head for the goal unless two random bits are 0


@njit
def total_cost(state):
    return state.straight_cost + state.diagonal_cost * SQRT2


@njit
def has_arrived(state):
    return state.x == state.lake - 1 and state.y == state.lake - 1


@njit
def is_over(state):
    return has_arrived(state) or total_cost(state) >= GIVE_UP * np.int64(state.lake)


@njit
def can_sail(state, heading):
    """Whether the leg stays on the lake and does not lead straight into the wind."""
    x, y = state.x + EASTING[heading], state.y + NORTHING[heading]
    return 0 <= x < state.lake and 0 <= y < state.lake and ((state.wind - heading) & 7) != INTO


@njit
def delay(old_tack, new_tack):
    """Return the cost of a change of tack, 0 if there is none."""
    return DELAY if old_tack + new_tack == PORT + STARBOARD and old_tack != new_tack else 0


@njit
def sail(state, heading):
    """Sail a leg. Nature moves next unless the race is over."""
    angle = (state.wind - heading) & 7
    if heading & 1:
        state.diagonal_cost += LEG_COST[angle]
    else:
        state.straight_cost += LEG_COST[angle]
    state.straight_cost += delay(state.tack, TACK[angle])
    state.tack = TACK[angle]
    state.x += EASTING[heading]
    state.y += NORTHING[heading]
    state.to_play = FIRST if is_over(state) else CHANCE


@njit
def next_wind(wind, random):
    """Draw the next wind. Returns its index among the winds that may follow."""
    tenth = np.int64(below(random, 10))
    index = 0
    while tenth >= CUMULATIVE[wind, index]:
        index += 1
    return index


@njit
def goalward_heading(state):
    """Return the legal heading of N, NE and E with the least cost per gain, or NO_HEADING. NE gains double."""
    best, best_cost = NO_HEADING, np.inf
    for heading in range(3):
        if can_sail(state, heading):
            angle = (state.wind - heading) & 7
            tacking = delay(state.tack, TACK[angle])
            if heading & 1:
                cost = (LEG_COST[angle] * SQRT2 + tacking) / 2.0
            else:
                cost = 1.0 * (LEG_COST[angle] + tacking)
            if cost < best_cost:
                best, best_cost = heading, cost
    return best


@dataclass(frozen=True)
class Sailing(Game):
    name = "sailing"
    summary = "cross a lake under changing winds, one player (Kocsis & Szepesvari 2006)"
    players = 1
    has_chance = True
    exploration = 0.3  # the cost of a playout varies by about a tenth of the scale

    size: int = option(10, "waypoints along each shore", low=2, high=40)
    wind: str = option("N", "where the first wind comes from", choices=COMPASS)

    fields = (
        ("x", np.int8),  # waypoints east of the start
        ("y", np.int8),  # waypoints north of it
        ("wind", np.int8),  # where it comes from, an index of COMPASS
        ("tack", np.int8),  # of the last leg: NO_TACK, PORT or STARBOARD
        ("straight_cost", np.int16),  # whole part of the cost so far, with delays
        ("diagonal_cost", np.int16),  # the part that counts sqrt(2) times
        ("lake", np.int8),  # waypoints along each shore
        ("to_play", np.int8),
    )
    max_moves = 8
    move_ids = WIND_MOVE + 8

    @property
    def max_plies(self) -> int:
        return 2 * GIVE_UP * self.size  # legs cost at least 1, and a move of nature lies between them

    def setup(self, state: Any) -> None:
        state.lake = self.size
        state.wind = COMPASS.index(self.wind)

    def cost(self, state: Any) -> float:
        """Return the cost of the legs so far."""
        return int(state.straight_cost) + int(state.diagonal_cost) * SQRT2

    @staticmethod
    def legal_moves(state, moves):
        if is_over(state):
            return 0
        if state.to_play == CHANCE:
            for index in range(WINDS):
                moves[index] = WIND_MOVE + NEXT_WINDS[state.wind, index]
            return WINDS
        count = 0
        for heading in range(8):
            if can_sail(state, heading):
                moves[count] = heading
                count += 1
        return count

    @staticmethod
    def play(state, move):
        if move >= WIND_MOVE:
            state.wind = move - WIND_MOVE
            state.to_play = FIRST
        else:
            sail(state, move)

    @staticmethod
    def reward(state):
        return max(0.0, 1.0 - total_cost(state) / (GIVE_UP * np.int64(state.lake)))

    # The key is the default, a hash of the whole record: two words, all of which matter.

    @staticmethod
    def chance(state, random):
        return next_wind(state.wind, random)

    @staticmethod
    def playout(state, random, trace, moves):
        """Sail three legs in four towards the goal at the least cost, and the others at random.

        Random legs alone seldom arrive on a large lake. The paper instead evaluates leaves by a perturbed optimal value
        function, for which the lake must be solved first.
        """
        plies = 0
        while not is_over(state):
            if state.to_play == CHANCE:
                state.wind = NEXT_WINDS[state.wind, next_wind(state.wind, random)]
                state.to_play = FIRST
                trace[plies] = noted(0, CHANCE)
            else:
                heading = NO_HEADING
                if (next64(random) & _GOALWARD_PICK) != np.uint64(0):
                    heading = goalward_heading(state)
                while heading == NO_HEADING:
                    pick = np.int64(below(random, 8))
                    if can_sail(state, pick):
                        heading = pick
                sail(state, heading)
                trace[plies] = noted(heading, FIRST)
            plies += 1
        return plies

    @staticmethod
    def priors(state, moves, count, weights):
        """Weigh a wind by its probability, and a leg by its gain towards the goal divided by its cost."""
        for i in range(count):
            if moves[i] >= WIND_MOVE:
                weights[i] = WIND_TENTHS[state.wind, moves[i] - WIND_MOVE] / 10.0
            else:
                heading = moves[i]
                angle = (state.wind - heading) & 7
                length = SQRT2 if heading & 1 else 1.0
                gain = EASTING[heading] + NORTHING[heading]  # -2 to 2
                weights[i] = (gain + 3) / (LEG_COST[angle] * length + delay(state.tack, TACK[angle]))

    def describe_result(self, state: Any, reward: float) -> str:
        return f"{'arrived' if has_arrived(state) else 'gave up'} at cost {self.cost(state):.2f}"

    def move_name(self, move: int) -> str:
        return COMPASS[move] if move < WIND_MOVE else f"wind={COMPASS[move - WIND_MOVE]}"

    def parse_move(self, text: str) -> int:
        is_wind = text.lower().startswith("wind=")
        direction = text[len("wind=") :] if is_wind else text
        if direction.upper() not in COMPASS:
            raise PositionError(f"sailing: '{text}' is not a move; give a heading as NE, or nature's wind as wind=NE")
        return COMPASS.index(direction.upper()) + (WIND_MOVE if is_wind else 0)

    def diagram(self, state: Any) -> str:
        lake = [["."] * self.size for _ in range(self.size)]  # from the north
        lake[0][-1] = "G"
        lake[self.size - 1 - int(state.y)][int(state.x)] = "B"
        lines = [
            f"wind {COMPASS[int(state.wind)]}",
            f"tack {TACK_NAMES[int(state.tack)]}",
            f"cost {state.straight_cost} + {state.diagonal_cost} sqrt2",
            f"next {'wind' if int(state.to_play) == CHANCE else 'leg'}",
        ]
        return "\n".join(["".join(row) for row in lake] + lines)

    def read_diagram(self, text: str) -> Any:
        """Return the position of a diagram. Lines that are left out have their values at the start."""
        lines = [line.strip() for line in text.splitlines() if line.strip()]
        lake, rest = lines[: self.size], lines[self.size :]
        if [len(row) for row in lake] != [self.size] * self.size or set("".join(lake)) - set(".BG"):
            raise PositionError(f"sailing: a diagram begins with {self.size} rows of {self.size} of '.', 'B' and 'G'")
        if "".join(lake).count("B") != 1:
            raise PositionError("sailing: a diagram shows the boat, 'B', once")
        if lake[0][-1] not in "BG" or "".join(lake).count("G") != (lake[0][-1] == "G"):
            raise PositionError("sailing: the goal, 'G', is the north-east corner and nothing else")
        state = self.new_state()
        north = next(row for row in range(self.size) if "B" in lake[row])
        state.x, state.y = lake[north].index("B"), self.size - 1 - north
        for line in rest:
            self._read_line(state, line)
        if is_over(state):
            state.to_play = FIRST
        return state

    def _read_line(self, state: Any, line: str) -> None:
        """Read one of the lines below the lake."""
        name, _, value = line.partition(" ")
        cost = re.fullmatch(r"(\d{1,4}) \+ (\d{1,4}) sqrt2", value)
        if name == "wind" and value in COMPASS:
            state.wind = COMPASS.index(value)
        elif name == "tack" and value in TACK_NAMES:
            state.tack = TACK_NAMES.index(value)
        elif name == "cost" and cost:
            state.straight_cost, state.diagonal_cost = int(cost[1]), int(cost[2])
        elif name == "next" and value in ("leg", "wind"):
            state.to_play = CHANCE if value == "wind" else FIRST
        else:
            raise PositionError(
                f"sailing: cannot read '{line}'; below the lake stand 'wind NE', 'tack none|port|starboard', "
                "'cost 5 + 2 sqrt2' and 'next leg|wind'"
            )
