"""The papers' figures, and which of our runs they stand beside."""

from itertools import pairwise

import pytest

from treespan.lab.measure.published import CORES, YOSHIZOE2011_TABLE4, published_speedups


@pytest.mark.parametrize(
    "game, scheme, cores, speedup",
    [
        ("pgame", "tds-dfuct:policy=wait=1ms", 1200, 741.2),
        ("pgame:seed=7", "tds-dfuct:grant=0,policy=wait=0.1ms", 1200, 327.8),
        ("pgame:branching=40", "tds-dfuct:policy=wait=1000us,nodes=100", 12, 10.3),
        ("pgame:branching=150", "tds-uct:policy=wait=0.001", 1200, 64.4),
        ("pgame:branching=150", "tds-uct:dedicated_root=yes,policy=wait=100us", 36, 7.64),
        ("pgame:branching=8", "tds-uct:policy=wait=1ms", 144, 36.8),
    ],
)
def test_figures_of_table_4(game: str, scheme: str, cores: int, speedup: float) -> None:
    assert published_speedups(game, scheme)[cores] == speedup


@pytest.mark.parametrize(
    "game, scheme",
    [
        ("pgame:branching=9", "tds-dfuct:policy=wait=1ms"),
        ("pgame:depth=30", "tds-dfuct:policy=wait=1ms"),
        ("go", "tds-dfuct:policy=wait=1ms"),
        ("pgame", "tds-dfuct"),
        ("pgame", "tds-dfuct:policy=wait=2ms"),
        ("pgame", "tds-dfuct:policy=wait=1ms,jobs=5"),
        ("pgame", "root:policy=wait=1ms"),
    ],
)
def test_other_settings_have_none(game: str, scheme: str) -> None:
    assert published_speedups(game, scheme) == {}


def test_table_4_is_whole() -> None:
    settings = {(b, wait) for _, b, wait in YOSHIZOE2011_TABLE4}
    assert settings == {(b, wait) for b in (8, 40, 150) for wait in (100, 1000)}
    assert len(YOSHIZOE2011_TABLE4) == 3 * len(settings)
    for row in YOSHIZOE2011_TABLE4.values():
        # More cores never made it slower by more than 2 %, and never were better than ideal.
        assert all(later > 0.98 * earlier for earlier, later in pairwise(row))
        assert all(speedup < cores for cores, speedup in zip(CORES, row, strict=True))
