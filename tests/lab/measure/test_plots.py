"""Plots exist, are what their names say, and show what was measured."""

import builtins
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest

from tests.support.studies import new_plan
from treespan.lab.measure.plots import PlotError, map_svg, plot_speedup, require_matplotlib
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
