"""The lake of `treespan.games.sailing` written from angles and tuples, and its exact solution by value iteration."""

import math
from dataclasses import dataclass, replace

import numpy as np

COMPASS = ("N", "NE", "E", "SE", "S", "SW", "W", "NW")
VECTORS = {
    "N": (0, 1),
    "NE": (1, 1),
    "E": (1, 0),
    "SE": (1, -1),
    "S": (0, -1),
    "SW": (-1, -1),
    "W": (-1, 0),
    "NW": (-1, 1),
}
NEXT_WINDS = {
    "N": {"N": 0.4, "NE": 0.3, "NW": 0.3},
    "NE": {"N": 0.4, "NE": 0.3, "E": 0.3},
    "E": {"NE": 0.4, "E": 0.3, "SE": 0.3},
    "SE": {"E": 0.4, "SE": 0.3, "S": 0.3},
    "S": {"SE": 0.4, "S": 0.2, "SW": 0.4},
    "SW": {"S": 0.3, "SW": 0.3, "W": 0.4},
    "W": {"SW": 0.3, "W": 0.3, "NW": 0.4},
    "NW": {"N": 0.4, "W": 0.3, "NW": 0.3},
}
MINUTES = {45: 4, 90: 3, 135: 2, 180: 1}  # by degrees between bow and the direction that the wind comes from
TACKS = ("none", "port", "starboard")


@dataclass(frozen=True)
class NaiveBoat:
    """A position with the boat to move."""

    size: int
    wind: str = "N"
    x: int = 0
    y: int = 0
    tack: str = "none"
    cost: float = 0.0

    @property
    def has_arrived(self) -> bool:
        return (self.x, self.y) == (self.size - 1, self.size - 1)

    def headings(self) -> list[str]:
        return [h for h in COMPASS if h != self.wind and self._on_lake(*VECTORS[h])]

    def _on_lake(self, dx: int, dy: int) -> bool:
        return self.x + dx in range(self.size) and self.y + dy in range(self.size)

    def leg_cost(self, heading: str) -> float:
        minutes = MINUTES[abs(degrees_to_wind(heading, self.wind))] * math.hypot(*VECTORS[heading])
        changed = {self.tack, tack_of(heading, self.wind)} == {"port", "starboard"}
        return minutes + (3 if changed else 0)

    def sail(self, heading: str) -> "NaiveBoat":
        dx, dy = VECTORS[heading]
        return replace(
            self,
            x=self.x + dx,
            y=self.y + dy,
            tack=tack_of(heading, self.wind),
            cost=self.cost + self.leg_cost(heading),
        )


def degrees_to_wind(heading: str, wind: str) -> int:
    """From the bow to where the wind comes from, in (-180, 180], positive to the right."""
    (bow_x, bow_y), (wind_x, wind_y) = VECTORS[heading], VECTORS[wind]
    right_part = bow_y * wind_x - bow_x * wind_y
    angle = round(math.degrees(math.atan2(right_part, bow_x * wind_x + bow_y * wind_y)))
    return 180 if angle == -180 else angle


def tack_of(heading: str, wind: str) -> str:
    angle = degrees_to_wind(heading, wind)
    return "none" if angle in (0, 180) else ("starboard" if angle > 0 else "port")


@dataclass(frozen=True)
class LakeSolution:
    """Expected cost to the goal under optimal play, and the heading that achieves it.

    Both are indexed by x, y, tack (of TACKS) and wind (of COMPASS).
    """

    value: np.ndarray  # float64[size, size, 3, 8]
    heading: np.ndarray  # int64[size, size, 3, 8], of COMPASS; -1 at the goal

    def expected_cost(self, x: int = 0, y: int = 0, tack: str = "none", wind: str = "N") -> float:
        return float(self.value[x, y, TACKS.index(tack), COMPASS.index(wind)])

    def best_heading(self, x: int = 0, y: int = 0, tack: str = "none", wind: str = "N") -> str:
        return COMPASS[self.heading[x, y, TACKS.index(tack), COMPASS.index(wind)]]


def solve_lake(size: int, tolerance: float = 1e-10) -> LakeSolution:
    """Value iteration. Races are never given up here, and there is no bound on the cost."""
    value = np.zeros((size, size, len(TACKS), 8))
    while True:
        by_heading = heading_values(value)
        by_heading[:, size - 1, size - 1] = 0.0
        improved = by_heading.min(axis=0)
        if np.abs(improved - value).max() < tolerance:
            headings = by_heading.argmin(axis=0)
            headings[size - 1, size - 1] = -1
            return LakeSolution(improved, headings)
        value = improved


def heading_values(value: np.ndarray) -> np.ndarray:
    """Leg cost plus expected cost after it, for each heading, float64[8, size, size, 3, 8]; infinite if forbidden."""
    size = len(value)
    probability = np.array([[NEXT_WINDS[old].get(new, 0.0) for new in COMPASS] for old in COMPASS])
    after_wind = value @ probability.T  # [x, y, tack, old wind]: the mean over the new wind
    result = np.full((8, *value.shape), np.inf)
    for h, heading in enumerate(COMPASS):
        dx, dy = VECTORS[heading]
        here_x, here_y = _inside(size, dx), _inside(size, dy)
        there_x, there_y = _inside(size, -dx), _inside(size, -dy)
        for w, wind in enumerate(COMPASS):
            if heading == wind:
                continue
            new_tack = TACKS.index(tack_of(heading, wind))
            for t, tack in enumerate(TACKS):
                cost = NaiveBoat(size, wind, tack=tack).leg_cost(heading)
                result[h, here_x, here_y, t, w] = cost + after_wind[there_x, there_y, new_tack, w]
    return result


def _inside(size: int, step: int) -> slice:
    """The coordinates from which a step stays on the lake."""
    return slice(max(0, -step), size - max(0, step))
