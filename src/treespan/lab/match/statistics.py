"""Statistics of a match: win rate and Elo with 95 % intervals, and the sequential probability ratio test, SPRT."""

import math
from dataclasses import dataclass

from treespan.core.errors import OptionError, named

Z95 = 1.959964  # of a 95 % interval of the normal distribution
ELO_SCALE = 400 / math.log(10)
ERROR_RATE = 0.05  # of an SPRT: probability of either wrong decision
UNSEEN = 1e-3  # games that count for an outcome that has not occurred, so that its likelihood is not zero
LOWEST_ELO, HIGHEST_ELO = -1000.0, 1000.0


@dataclass(frozen=True)
class Score:
    """Games from one player's view."""

    wins: int = 0
    losses: int = 0
    draws: int = 0

    @property
    def games(self) -> int:
        return self.wins + self.losses + self.draws

    @property
    def rate(self) -> float:
        """Wins plus half the draws, per game; one half before the first game."""
        return (self.wins + self.draws / 2) / self.games if self.games else 0.5

    def __add__(self, other: "Score") -> "Score":
        return Score(self.wins + other.wins, self.losses + other.losses, self.draws + other.draws)

    def turned(self) -> "Score":
        """Return the score from the other player's view."""
        return Score(self.losses, self.wins, self.draws)

    def __str__(self) -> str:
        return f"{self.wins}–{self.losses}–{self.draws}"


def wilson(rate: float, games: int, z: float = Z95) -> tuple[float, float]:
    """Return Wilson's interval of a win rate. A draw counts as half a win, so the interval is a little too wide."""
    if games == 0:
        return 0.0, 1.0
    spread = z * z / games
    centre = rate + spread / 2
    radius = z * math.sqrt(rate * (1 - rate) / games + spread / (4 * games))
    low, high = (centre - radius) / (1 + spread), (centre + radius) / (1 + spread)
    return 0.0 if rate == 0 else low, 1.0 if rate == 1 else high  # exact in spite of rounding


def elo(rate: float) -> float:
    """Return the Elo difference at which this win rate is expected; infinite at 0 and 1."""
    if rate <= 0:
        return -math.inf
    return math.inf if rate >= 1 else ELO_SCALE * math.log(rate / (1 - rate))


def expected_rate(difference: float) -> float:
    """Return the win rate that is expected at an Elo difference."""
    return 1 / (1 + math.exp(-difference / ELO_SCALE))


@dataclass(frozen=True)
class Sprt:
    """Wald's test of "A is stronger by elo1" against "A is stronger by elo0", generalised to three outcomes.

    The likelihood of a mean score is the greatest one over all distributions of wins, draws and losses with this mean
    (M. Van den Bergh, "The generalized maximum likelihood ratio for the expectation value of a distribution").
    """

    elo0: float
    elo1: float

    def __post_init__(self) -> None:
        if not LOWEST_ELO <= self.elo0 < self.elo1 <= HIGHEST_ELO:
            bounds = f"{LOWEST_ELO:g} <= elo0 < elo1 <= {HIGHEST_ELO:g}"
            raise OptionError(f"{named('sprt', f'{self.elo0:g},{self.elo1:g}')} is out of range; give {bounds}")

    @property
    def bound(self) -> float:
        """The log-likelihood ratio that decides for elo1. Its negative decides for elo0."""
        return math.log((1 - ERROR_RATE) / ERROR_RATE)

    def ratio(self, score: Score) -> float:
        """Return the log-likelihood ratio of elo1 to elo0."""
        if score.games == 0:
            return 0.0
        outcomes = [(1.0, score.wins), (0.5, score.draws), (0.0, score.losses)]
        seen = [(value, max(float(count), UNSEEN)) for value, count in outcomes]
        return _log_likelihood(seen, expected_rate(self.elo1)) - _log_likelihood(seen, expected_rate(self.elo0))

    def decision(self, score: Score) -> str | None:
        """Return `H1` if the games decide for elo1, `H0` if they decide for elo0, None while both are possible."""
        ratio = self.ratio(score)
        if abs(ratio) < self.bound:
            return None
        return "H1" if ratio > 0 else "H0"


def parse_sprt(text: str) -> Sprt:
    """Read a test from a text `elo0,elo1`."""
    try:
        elo0, elo1 = (float(part) for part in text.split(","))
    except ValueError:
        raise OptionError(f"{named('sprt', text)} is not two numbers; give elo0,elo1 as in 0,30") from None
    return Sprt(elo0, elo1)


def _log_likelihood(seen: list[tuple[float, float]], mean: float) -> float:
    """Return the greatest log-likelihood of the outcomes under any distribution with this mean.

    By Lagrange's method an outcome x of share q has the probability q / (1 + t (x - mean)). Bisection finds t.
    """
    total = sum(count for _, count in seen)
    low, high = -1 / (1 - mean), 1 / mean  # between these all probabilities are positive

    def excess(t: float) -> float:
        return sum(count * (value - mean) / (1 + t * (value - mean)) for value, count in seen)

    for _ in range(100):
        middle = (low + high) / 2
        if excess(middle) > 0:
            low = middle
        else:
            high = middle
    t = (low + high) / 2
    return sum(count * math.log(count / total / (1 + t * (value - mean))) for value, count in seen)
