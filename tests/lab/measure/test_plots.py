"""Plots exist, are what their names say, and show what was measured."""

import builtins
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import numpy as np
import pytest

from tests.support.studies import new_plan
from treespan.lab.measure.compare import SchemeRow
from treespan.lab.measure.plots import (
    PlotError,
    comparison_figure,
    map_svg,
    plot_review,
    plot_speedup,
    require_matplotlib,
    review_figure,
    speedup_figure,
)
from treespan.lab.measure.review import MoveReview
from treespan.lab.measure.speedup import ScalingRow
from treespan.lab.papers.study import Map

pytest.importorskip("matplotlib", reason="matplotlib is missing; pip install treespan[plots]")


def new_row(runtime: str, workers: int) -> ScalingRow:
    speedups = {"speedup": 0.9 * workers, "speedup_min": 0.8 * workers, "speedup_max": 1.1 * workers}
    return ScalingRow(
        runtime=runtime,
        workers=workers,
        problems=2,
        playouts_per_second=900.0 * workers,
        **speedups,
        efficiency=0.9,
        best_share=0.5,
        sequential_best_share=0.6,
        depth=3.0,
        sequential_depth=3.5,
        optimal=1.0,
        sequential_optimal=1.0,
        messages_per_playout=2.0,
        reports_per_playout=1.0,
        load=0.9,
        end_seconds=0.0,
        wall_seconds=0.0,
        paper_speedup=None,
    )


def test_png_and_svg_show_all_series(tmp_path: Path) -> None:
    points = (("mpi", 1), ("mpi", 2), ("threads", 1), ("threads", 2), ("simulated", 1), ("simulated", 36))
    plan = new_plan(game="pgame", points=points)
    rows = [new_row(runtime, workers) for runtime, workers in reversed(points)]
    png, svg = plot_speedup(plan, rows, tmp_path / "c=1.5.jsonl")
    assert (png.name, svg.name) == ("c=1.5.png", "c=1.5.svg")
    assert png.read_bytes().startswith(b"\x89PNG\r\n\x1a\n") and png.read_bytes().endswith(b"IEND\xaeB`\x82")
    assert ElementTree.parse(svg).getroot().tag == "{http://www.w3.org/2000/svg}svg"
    text = svg.read_text()  # matplotlib notes each text in a comment
    expected = ("ideal", "MPI ranks", "threads", "simulated ranks", "yoshizoe2011", "sequential df-UCT", "pgame", "36")
    assert [word for word in expected if word not in text] == []
    before = svg.read_bytes()
    plot_speedup(plan, rows, tmp_path / "c=1.5.jsonl")
    assert svg.read_bytes() == before


def test_the_papers_series_ends_where_ours_does(tmp_path: Path) -> None:
    plan = new_plan(game="pgame", points=(("mpi", 2),))
    _, svg = plot_speedup(plan, [new_row("mpi", 2)], tmp_path / "some.jsonl")
    assert "yoshizoe2011" not in svg.read_text() and "sequential df-UCT" in svg.read_text()


@pytest.mark.parametrize("most, labels", [(8, {"1", "2", "5"}), (1200, {"1", "10", "100", "1,000"})])
def test_speedups_stand_at_plain_numbers(most: int, labels: set[str]) -> None:
    plan = new_plan(points=(("simulated", 1), ("simulated", most)))
    figure = speedup_figure(plan, [new_row("simulated", 1), new_row("simulated", most)])
    figure.draw_without_rendering()
    axis = figure.axes[0].yaxis
    low, high = axis.get_view_interval()
    major = {tick.label1.get_text() for tick in axis.get_major_ticks() if low <= tick.get_loc() <= high}
    assert major == labels and not any(tick.label1.get_text() for tick in axis.get_minor_ticks())


def new_scheme_row(scheme: str, speedup: float, leaves: float | None) -> SchemeRow:
    return SchemeRow(scheme, 1000.0 * speedup, speedup, 0.0, 0.0, 10.0, 3.0, 0.8 / speedup, leaves, 1.0, None, 1.0)


def test_a_line_shows_the_sequential_search_in_each_panel() -> None:
    rows = [new_scheme_row("sequential", 1.0, 0.4), new_scheme_row("root", 16.0, None)]
    figure = comparison_figure("pgame", rows)
    lines = [np.asarray(axes.get_lines()[0].get_xdata())[0] for axes in figure.axes]
    assert lines == pytest.approx([1.0, 80.0, 40.0]) and "sequential search" in figure.get_suptitle()
    bars = [[text.get_text() for text in axes.texts] for axes in figure.axes]
    assert bars == [["1.0", "16.0"], ["80.0", "5.0"], ["40.0", "not known"]]


def test_blunders_are_named_and_moves_are_whole_numbers(tmp_path: Path) -> None:
    rates = [(0.5, 0.5), (0.5, 0.1), (0.1, 0.9), (0.9, 0.95)]
    moves = enumerate(zip(["E5", "D4", "C3", "pass"], rates, strict=True), start=1)
    reviews = [MoveReview(i, (i - 1) % 2, name, before, after, "A1") for i, (name, (before, after)) in moves]
    figure = review_figure(reviews, 0.15)
    (axes,) = figure.axes
    assert [text.get_text() for text in axes.texts] == []  # moves 2 and 3 gained
    swapped = [MoveReview(r.number, 1 - r.player, r.move, r.before, r.after, "A1") for r in reviews]
    figure = review_figure(swapped, 0.15)
    (axes,) = figure.axes
    assert sorted(text.get_text() for text in axes.texts) == ["2 B D4", "3 W C3"]
    assert all(place == int(place) for place in axes.get_xticks())
    with pytest.raises(PlotError, match=r"cannot write .*\.xyz"):
        plot_review(reviews, 0.15, tmp_path / "rates.xyz")


def test_a_missing_matplotlib_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    import_module = builtins.__import__

    def without_matplotlib(name: str, *arguments: Any, **more: Any) -> Any:
        if name.startswith("matplotlib"):
            raise ImportError(name)
        return import_module(name, *arguments, **more)

    monkeypatch.setattr(builtins, "__import__", without_matplotlib)
    with pytest.raises(PlotError, match=r"pip install treespan\[plots\]"):
        require_matplotlib()


def test_a_plot_that_cannot_be_written_is_named(tmp_path: Path) -> None:
    with pytest.raises(PlotError, match=r"cannot write .*No such file"):
        plot_speedup(new_plan(points=(("mpi", 2),)), [new_row("mpi", 2)], tmp_path / "missing" / "some.jsonl")


def test_a_map_names_what_is_best_in_every_field() -> None:
    best = {("1 ms", "4"): ("span", 3.9), ("1 ms", "64"): ("root", 61.4), ("10 ms", "4"): ("span", 4.0)}
    svg = map_svg(Map("which when", "ranks", "a playout takes", ["4", "64"], ["1 ms", "10 ms"], best))
    texts = ["".join(text.itertext()) for text in ElementTree.fromstring(svg).iter("{http://www.w3.org/2000/svg}text")]
    found = " ".join(texts)
    assert found.count("span") == 2 and found.count("root") == 1 and "61×" in found
    assert found.count("none") == 1  # 10 ms, 64 ranks
    assert {"ranks", "a playout takes", "1 ms", "10 ms", "4", "64"} <= set(texts)
