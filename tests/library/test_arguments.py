"""Arguments of everything that `import treespan` offers: what is wrong is told in one line that names the option."""

import dataclasses
import inspect
import math
import signal
import typing
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import treespan as ts
from treespan.core.arguments import checked
from treespan.core.jit import JIT_DISABLED
from treespan.games.registry import PACKAGE_GAMES, game_class
from treespan.library import measure
from treespan.schemes.registry import SCHEMES

pytestmark = pytest.mark.skipif(JIT_DISABLED, reason="searches that go on in spite of a value take too long")

GAME = ts.make_game("tictactoe")
LONGEST_SECONDS = 60  # of a call
NO_NUMBERS: list[Any] = ["x", "", [], {}, None, object(), b"1", 1j, math.nan, np.array([1, 2]), float, "1 2", "--3"]
HUGE: list[Any] = [10**30, -(10**30), 10**5000, 1e300, -1e300, math.inf, -math.inf, -1]
NO_TEXTS: list[Any] = [None, object(), b"light", 1j, [], "no such thing", "\n", "", "a" * 500, "a,b=c", "x=\0", True]
NO_ROWS: list[Any] = [None, 3, "x", object(), ["x"], [None], [[1]], [math.nan], [10**30], np.array([[1]]), {1: 2}, [-1]]
NO_OTHERS: list[Any] = [3, "no such thing", object(), [], b"x", math.nan, True, Path("/nowhere/at/all.py")]


def grown(**options: Any) -> None:
    with ts.Tree(GAME) as tree:
        tree.search(**options)


def watched(**options: Any) -> None:
    with ts.Tree(GAME) as tree:
        list(tree.watch(**options))


def tree_of(**options: Any) -> None:
    with ts.Tree(**options) as tree:
        tree.search(playouts=20)


def engine_of(**options: Any) -> None:
    with ts.Engine(**options) as engine:
        engine.choose()


# What is called, the function whose parameters it takes, and arguments with which the call is soon done
CALLS: dict[str, tuple[Callable[..., Any], Any, dict[str, Any]]] = {
    "search": (ts.search, ts.search, {"position": GAME, "playouts": 20}),
    "match": (ts.match, ts.match, {"a": "playouts=5", "b": "playouts=5", "game": GAME, "games": 1}),
    "speedup": (ts.speedup, ts.speedup, {"game": GAME, "scheme": "span", "simulate": [1], "playouts": 20}),
    "compare": (ts.compare, ts.compare, {"game": GAME, "simulate": 2, "playouts": 20, "schemes": ["span"]}),
    "advise": (
        ts.advise,
        ts.advise,
        {"game": GAME, "machines": 2, "network": "qdr", "policy": "wait=1ms", "playouts": 20, "searches": 1},
    ),
    "check_game": (ts.check_game, ts.check_game, {"game": GAME, "games": 1}),
    "Tree": (tree_of, ts.search, {"position": GAME}),
    "Engine": (engine_of, ts.Engine.__init__, {"game": GAME, "playouts": 20}),
    "Tree.search": (grown, ts.Tree.search, {"playouts": 20}),
    "Tree.watch": (watched, ts.Tree.watch, {"playouts": 20}),
}
RIVALS = {"seconds": "playouts", "ranks": "simulate", "threads": "simulate"}  # of which one is given
MORE = {"search": ["latency", "extend_if_unsure"], "Tree": ["latency"], "Engine": ["seconds", "threads", "seed"]}
SKIPPED = {"self", "options", "progress"}


def parameters_of(call: str) -> list[str]:
    names = [name for name in inspect.signature(CALLS[call][1]).parameters if name not in SKIPPED]
    return list(dict.fromkeys([*names, *MORE.get(call, [])]))


def wrong_values(call: str, name: str) -> list[Any]:
    """Values that no such parameter takes, and some that are odd but may do."""
    hints = typing.get_type_hints(CALLS[call][1])
    text = str(hints.get(name, float))
    if "Sequence" in text or "tuple" in text:
        return NO_ROWS
    if "int" in text or "float" in text:
        return [*NO_NUMBERS, *HUGE, True, 0.5]
    return NO_TEXTS if "str" in text else NO_OTHERS


@pytest.fixture(autouse=True)
def no_call_lasts_for_ever(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.chdir(tmp_path)  # some calls write files
    monkeypatch.setattr(
        measure, "CALIBRATE_SECONDS", 0.1
    )  # a network of None is this machine's; how exactly it is known does not matter

    def give_up(number: int, frame: object) -> None:
        raise AssertionError(f"a call took more than {LONGEST_SECONDS} s")

    before = signal.signal(signal.SIGALRM, give_up)
    signal.alarm(LONGEST_SECONDS)
    yield
    signal.alarm(0)
    signal.signal(signal.SIGALRM, before)


def complaint(call: Callable[..., Any], **options: Any) -> ts.TreespanError | None:
    """What is wrong with a call; None if it goes well. Any other exception fails the test."""
    try:
        call(**options)
    except ts.TreespanError as error:
        return error
    return None


def complaint_about(call: str, name: str, value: Any) -> ts.TreespanError | None:
    """What is wrong with a call that has this argument, and else nothing wrong."""
    run, _, base = CALLS[call]
    return complaint(run, **{**{one: base[one] for one in base if one != RIVALS.get(name)}, name: value})


def check_complaint(error: ts.TreespanError) -> None:
    text = str(error)
    assert text and len(text.splitlines()) == 1 and len(text) < 500 and "--" not in text.replace("--3", "")
    assert error.option and error.remedy, text


@pytest.mark.parametrize("call, name", [(call, name) for call in CALLS for name in parameters_of(call)])
def test_a_wrong_argument_is_told_in_one_line(call: str, name: str) -> None:
    for value in wrong_values(call, name):
        signal.alarm(LONGEST_SECONDS)
        error = complaint_about(call, name, value)
        if error is not None:
            check_complaint(error)
        else:
            assert type(value) in (type(None), str, int, float, bool, list, dict, Path), (name, value)


NUMBERS = [(call, name) for call in CALLS for name in parameters_of(call) if wrong_values(call, name)[0] == "x"]


@pytest.mark.parametrize("call, name", NUMBERS)
@pytest.mark.parametrize("value", ["x", math.nan, 10**30, -(10**30), 1e300, [], b"1"], ids=repr)
def test_numbers_that_cannot_be_are_refused_by_name(call: str, name: str, value: Any) -> None:
    error = complaint_about(call, name, value)
    assert isinstance(error, ts.OptionError) and error.option == name, (name, value, str(error))


@pytest.mark.parametrize(
    "call, wrong, near",
    [
        *[("search", "secnds", "seconds"), ("search", "latancy", "latency"), ("search", "bandid", "bandit")],
        *[("match", "gamess", "games"), ("speedup", "playout", "playouts"), ("compare", "scheme", "schemes")],
        *[("advise", "machine", "machines"), ("check_game", "sed", "seed"), ("Tree", "secnds", "seconds")],
        *[("Engine", "thread", "threads"), ("Tree.search", "playout", "playouts"), ("Tree.watch", "evry", "every")],
    ],
)
def test_unknown_options_are_named_with_the_near_one(call: str, wrong: str, near: str) -> None:
    error = complaint_about(call, wrong, 1)
    assert error is not None and (error.option, error.remedy) == (wrong, f"did you mean '{near}'?"), str(error)


@pytest.mark.parametrize("name", SCHEMES)
def test_options_of_schemes_are_checked_as_those_of_specs(name: str) -> None:
    for field in dataclasses.fields(SCHEMES[name]):
        for value in [object(), b"x", [], None, math.nan, 10**30, "no such thing"]:
            calls = [complaint(SCHEMES[name], **{field.name: value})]
            if value is not None:  # which means: not given
                calls.append(complaint(partial(ts.search, GAME, scheme=name), **{field.name: value}))
            for error in calls:
                assert error is not None and error.option == field.name, (field.name, value, str(error))
                check_complaint(error)


@pytest.mark.parametrize("name", PACKAGE_GAMES)
def test_options_of_games_are_checked(name: str) -> None:
    game = ts.make_game(name)
    fields = [field for field in dataclasses.fields(game_class(name)) if field.init]  # type: ignore[arg-type]
    for field in fields:
        for value in [object(), b"x", [], None, math.nan, 10**30, "no such thing"]:
            for make in (partial(ts.make_game, name), partial(ts.make_game, game), type(game)):
                error = complaint(make, **{field.name: value})
                assert error is not None and error.option == field.name, (field.name, value, str(error))
                check_complaint(error)
    if fields:
        wrong = fields[0].name[:-1]
        for start in (name, game):
            error = complaint(partial(ts.make_game, start), **{wrong: 9})
            assert error is not None and (error.option, error.remedy) == (wrong, f"did you mean '{fields[0].name}'?")


@pytest.mark.parametrize("spec", [3, None, b"go", "", "nogame", "go:size", "go:siz=9", "\0", "x.py", object(), ts.Game])
def test_what_is_no_game_is_refused(spec: Any) -> None:
    error = complaint(ts.make_game, spec=spec)
    assert error is not None
    check_complaint(error)


@pytest.mark.parametrize(
    "text, option, value, remedy",
    [
        ("span:grant=x", "grant", "x", "give 0..1000000000"),
        ("span:gramt=3", "gramt", None, "did you mean 'grant'?"),
        ("span:grant=-1", "grant", "-1", None),
        ("span:bandit=ucb2", "bandit", "ucb2", "did you mean 'ucb1'?"),
        ("spam", "scheme", "spam", "did you mean 'span'?"),
        ("span:policy=wait=long", "policy", "wait=long", "write for example 2s, 1ms or 50us"),
        ("span:grant", "grant", None, "write grant=VALUE"),
    ],
)
def test_options_within_a_spec_are_named(text: str, option: str, value: str | None, remedy: str | None) -> None:
    error = complaint(ts.search, position="tictactoe", simulate=2, scheme=text)
    assert error is not None and (error.option, error.value) == (option, value), str(error)
    assert error.remedy and (remedy is None or error.remedy == remedy or remedy.startswith("give 0..")), error.remedy


def test_options_within_a_game_s_spec_are_named() -> None:
    error = complaint(ts.make_game, spec="go:size=9,komi=foo")
    assert error is not None and (error.option, error.value, error.remedy) == ("komi", "foo", "give -361..361"), error
    error = complaint(ts.make_game, spec="go:size=3")
    assert error is not None and (error.option, error.value, error.remedy) == ("size", "3", "give 5..19")


def test_numbers_of_numpy_are_numbers() -> None:
    numpy: Any = np
    table = ts.speedup(GAME, "span", simulate=numpy.array([1, 2]), playouts=numpy.int64(30), problems=numpy.uint8(1))
    assert [row["workers"] for row in table.to_dicts()] == [1, 2]
    assert ts.search(GAME, playouts=numpy.int32(30), seed=numpy.uint64(3), threads=numpy.array(1)).playouts == 30
    text: Any = "3"
    assert ts.Span(grant=numpy.int16(3)) == ts.Span(grant=3) == ts.Span(grant=text)
    assert repr(ts.Span(grant=numpy.int16(3))) == repr(ts.Span(grant=3))
    schemes = numpy.array(["span"])
    assert ts.compare(GAME, simulate=numpy.int64(2), playouts=30, schemes=schemes).rows[1].scheme == "span"


MOVES: list[Any] = [None, "z9", "", "\0", -1, 10**30, 4.5, b"b2", [], np.array([1, 2]), object(), True]


@pytest.mark.parametrize("name", PACKAGE_GAMES)
def test_what_is_no_move_is_refused(name: str) -> None:
    game = ts.make_game(name)
    with ts.Tree(game) as tree, ts.Engine(game) as engine:
        for play in (game.position().play, tree.advance, engine.play):
            for move in MOVES:
                with pytest.raises(ts.PositionError) as raised:
                    play(move)
                assert len(str(raised.value).splitlines()) == 1
        for moves in (None, 3, b"x", "zz zz", ["b2"]):
            with pytest.raises(ts.PositionError):
                game.position(moves)  # type: ignore[arg-type]
        for text in (None, 3, b"x", "zz zz", ["b2"]):
            with pytest.raises(ts.PositionError):
                game.read(text)  # type: ignore[arg-type]


def test_moves_have_names_and_numbers_of_numpy() -> None:
    position = GAME.position()
    position.play("b2")
    position.play(int(np.int32(0)))
    position.play(np.array([8])[0])
    assert position.moves_made == [4, 0, 8]


@checked
def sail(knots: int, *sails: str, to: str | Path | None = None, crew: tuple[float, float] = (1, 2)) -> Any:
    return knots, sails, to, crew


def test_a_checked_function_keeps_its_signature() -> None:
    assert list(inspect.signature(sail).parameters) == ["knots", "sails", "to", "crew"]
    given: Any = [np.int64(3), [1, "2"]]
    assert sail(given[0], "jib", "main", crew=given[1]) == (3, ("jib", "main"), None, (1.0, 2.0))


@pytest.mark.parametrize(
    "arguments, options, message",
    [
        ((), {}, "sail: missing a required argument: 'knots'; its parameters are knots, sails, to, crew"),
        ((1,), {"two": 3}, "unknown option of sail 'two'; did you mean 'to'?"),
        ((1, 2), {}, "sails=2 is not a text; give one"),
        ((1.5,), {}, "knots=1.5 is not a whole number; give one such as 4"),
        ((1,), {"to": 3}, "to=3 is not a text or a path; give one"),
        ((1,), {"crew": (1, 2, 3)}, "crew=(1, 2, 3) has 3 values; give 2"),
        ((1,), {"crew": 1}, "crew=1 is not a row of values; give them in brackets, as [1, 4]"),
        ((1,), {"crew": (1, "x")}, "crew=x is not a number; give one such as 0.5"),
        ((1,), {"crew": range(10**9)}, "crew has 1,000,000,000 values; give at most 100,000"),
    ],
)
def test_what_does_not_suit_a_parameter(arguments: tuple[Any, ...], options: dict[str, Any], message: str) -> None:
    with pytest.raises(ts.OptionError) as raised:
        sail(*arguments, **options)
    assert str(raised.value) == message
