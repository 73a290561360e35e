"""What errors tell a program: the option at fault, its value, and a remedy."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import treespan as ts
from treespan.core.jit import JIT_DISABLED

GAME = ts.make_game("tictactoe")
OVER = "a1 b1 a2 b2 a3"


def search(**options: Any) -> Any:
    return ts.search(GAME, **{"playouts": 20, **options})


def match(*players: str, **options: Any) -> Any:
    a, b = players or ("playouts=5", "playouts=5")
    return ts.match(a, b, **{"game": GAME, "games": 1, **options})


# The call, the option at fault, its value, and a part of the remedy
MISTAKES: list[tuple[Callable[[], Any], str, str | None, str]] = [
    (lambda: search(ranks=2, scheme="sequential"), "scheme", "sequential", "scheme=span"),
    (lambda: search(simulate=2, scheme="sequential"), "scheme", "sequential", "scheme=span"),
    (lambda: search(threads=2, scheme="sequential"), "scheme", "sequential", "scheme=shared"),
    (lambda: search(ranks=2, scheme="shared"), "scheme", "shared", "threads"),
    (lambda: search(ranks=2, threads=2), "threads", None, "give one"),
    (lambda: search(latency=1.0), "latency", None, "ranks"),
    (lambda: search(network="qrd", simulate=2), "network", "qrd", "qdr"),
    (lambda: search(playouts=0), "playouts", "0", "give 1.."),
    (lambda: search(scheme="span", extend_if_unsure=2.0), "extend_if_unsure", "2", "slow-tree"),
    (lambda: ts.search(GAME.position(OVER)), "position", None, "earlier"),
    (lambda: ts.speedup(GAME, "span"), "simulate", None, "give"),
    (lambda: ts.speedup(GAME, "shared", threads=[1], jobs=4), "jobs", "4", "leave it out"),
    (lambda: ts.compare(GAME), "threads", None, "simulate"),
    (lambda: GAME.position("a1 a1"), "moves", "a1 a1", "legal"),
    (lambda: GAME.position("a1 zz"), "moves", "a1 zz", "as b2"),
    (lambda: GAME.position(OVER + " b3"), "moves", OVER + " b3", "fewer"),
    (lambda: GAME.position().play("zz"), "move", "zz", "as b2"),
    (lambda: GAME.position("a1").play("a1"), "move", "a1", "legal"),
    (lambda: GAME.position().play(1.5), "move", "1.5", "its name or its number"),  # type: ignore[arg-type]
    (lambda: GAME.read("XO"), "text", "XO", "str(position)"),
    (lambda: GAME.read("XXX\n...\n..."), "text", r"'XXX\n...\n...'", "X moves first"),
    (lambda: ts.make_game("go:size=5").read("XXX"), "text", "XXX", "str(position)"),
    (lambda: match(game="sailing"), "game", "sailing", "for two"),
    (lambda: match(openings=["a1 a1"]), "openings", "a1 a1", "legal"),
    (lambda: match(resume=True), "resume", None, "out"),
    (lambda: match("playouts=5", "playots=5"), "playots", None, "playouts"),
    (lambda: match("gtp: gnugo", "playouts=5"), "a", "gtp: gnugo", "search options"),
]


@pytest.mark.parametrize(("call", "option", "value", "remedy"), MISTAKES)
def test_the_option_at_fault_is_named(call: Callable[[], Any], option: str, value: str | None, remedy: str) -> None:
    with pytest.raises(ts.TreespanError) as caught:
        call()
    assert (caught.value.option, caught.value.value) == (option, value)
    assert remedy in (caught.value.remedy or "")


@pytest.mark.skipif(JIT_DISABLED, reason="workers take long as plain Python")
def test_values_out_of_range_are_a_mistake_of_the_evaluation() -> None:
    with pytest.raises(ts.TreespanError) as caught:
        search(evaluate=lambda states: [2.0] * len(states))
    assert (caught.value.option, caught.value.value) == ("evaluate", "2") and "0..1" in str(caught.value.remedy)


def test_a_picture_that_cannot_be_written(tmp_path: Path) -> None:
    pytest.importorskip("matplotlib", reason="matplotlib is missing; pip install treespan[plots]")
    from matplotlib.figure import Figure

    from treespan.lab.measure.plots import write_figure

    path = tmp_path / "no folder" / "picture.png"
    with pytest.raises(ts.TreespanError) as caught:
        write_figure(Figure(), path)
    assert caught.value.option == "path" and ".png" in str(caught.value.remedy)


def test_a_match_in_a_folder_that_has_one(tmp_path: Path) -> None:
    match(out=tmp_path)
    with pytest.raises(ts.TreespanError) as caught:
        match(out=tmp_path)
    assert caught.value.option == "out" and "resume" in str(caught.value.remedy)
