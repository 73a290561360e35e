"""Win rates, Elo and SPRT against figures from textbooks and against formulas for special cases."""

import math

import pytest

from treespan.core.errors import OptionError
from treespan.lab.match.statistics import Score, Sprt, elo, expected_rate, parse_sprt, wilson


def test_scores_add_up_and_turn_round() -> None:
    score = Score(3, 1, 2) + Score(1, 0, 0)
    assert score == Score(4, 1, 2) and score.games == 7 and score.rate == 5 / 7
    assert score.turned() == Score(1, 4, 2) and str(score) == "4–1–2"
    assert Score().rate == 0.5


# Newcombe, Statistics in Medicine 17 (1998), Table I, method 3: the score interval without continuity correction
NEWCOMBE = [
    (81, 263, 0.2553, 0.3662),
    (15, 148, 0.0624, 0.1605),
    (0, 20, 0.0000, 0.1611),
    (1, 29, 0.0061, 0.1718),
]


@pytest.mark.parametrize(("wins", "games", "low", "high"), NEWCOMBE)
def test_wilson_interval(wins: int, games: int, low: float, high: float) -> None:
    assert wilson(wins / games, games) == pytest.approx((low, high), abs=5e-5)
    assert wilson(1 - wins / games, games) == pytest.approx((1 - high, 1 - low), abs=5e-5)


def test_wilson_interval_without_games_and_without_losses() -> None:
    assert wilson(0.5, 0) == (0.0, 1.0)
    assert wilson(1.0, 10)[1] == 1.0 and wilson(0.0, 10)[0] == 0.0


@pytest.mark.parametrize(("difference", "rate"), [(0, 0.5), (100, 0.640065), (200, 0.759747), (400, 10 / 11)])
def test_elo_and_win_rate(difference: float, rate: float) -> None:
    assert expected_rate(difference) == pytest.approx(rate, abs=1e-6)
    assert elo(rate) == pytest.approx(difference, abs=1e-3)
    assert expected_rate(-difference) == pytest.approx(1 - rate, abs=1e-6)


def test_elo_of_a_clean_sweep_is_infinite() -> None:
    assert elo(1.0) == math.inf and elo(0.0) == -math.inf


def test_sprt_without_draws_is_walds_test_of_a_coin() -> None:
    sprt, score = Sprt(-10, 35), Score(120, 83, 0)
    p0, p1 = expected_rate(-10), expected_rate(35)
    wald = score.wins * math.log(p1 / p0) + score.losses * math.log((1 - p1) / (1 - p0))
    assert sprt.ratio(score) == pytest.approx(wald, abs=1e-3)


def test_sprt_with_draws_is_nearly_the_normal_test() -> None:
    sprt, score = Sprt(0, 5), Score(6100, 5900, 18000)
    s0, s1, mean = 0.5, expected_rate(5), score.rate
    variance = (6100 * (1 - mean) ** 2 + 5900 * mean**2 + 18000 * (0.5 - mean) ** 2) / score.games
    normal = score.games * (s1 - s0) * (2 * mean - s0 - s1) / (2 * variance)
    assert sprt.ratio(score) == pytest.approx(normal, rel=1e-3)


def test_sprt_decides_at_walds_bounds() -> None:
    sprt = Sprt(0, 400)
    assert sprt.bound == pytest.approx(2.944, abs=1e-3)  # log(0.95 / 0.05)
    # A win weighs log(10/11 / (1/2)) = 0.598, a loss log(1/11 / (1/2)) = -1.705.
    assert [sprt.decision(Score(wins, 0, 0)) for wins in (0, 4, 5)] == [None, None, "H1"]
    assert [sprt.decision(Score(0, losses, 0)) for losses in (1, 2)] == [None, "H0"]


@pytest.mark.parametrize("text", ["30", "a,b", "0,30,60", "30,0", "5,5", "0,5000", "nan,5"])
def test_sprt_mistakes(text: str) -> None:
    with pytest.raises(OptionError, match=f"^sprt={text} is "):
        parse_sprt(text)


def test_sprt_text() -> None:
    assert parse_sprt("-5, 12.5") == Sprt(-5, 12.5)
