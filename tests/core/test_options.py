"""Options and specs: what is read, what is refused, and how the refusal helps."""

import math
from dataclasses import dataclass
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from treespan.core.errors import GameError, OptionError, PositionError, TreespanError, unknown_name
from treespan.core.options import (
    changed_options,
    describe,
    fill,
    option,
    parse_seconds,
    parse_value,
    split_spec,
    validate,
)
from treespan.schemes.registry import SCHEMES, make_scheme
from treespan.search.options import SearchOptions


@dataclass(frozen=True)
class Boat:
    size: int = option(10, "waypoints", low=2, high=40)
    depth: int = option(3, "fathoms", low=1)
    draught: float = option(1.5, "of the keel", high=9.5)
    wind: str = option("N", "where from", choices=("N", "E", "S", "W"))
    storm: bool = option(False, "whether it blows")
    crew: int = 4  # not an option: has no help

    def __post_init__(self) -> None:
        validate(self, "boat")


texts = st.text("abcdefghijklmnopqrstuvwxyz_", min_size=1, max_size=8)
values = st.text("abcdefghijklmnopqrstuvwxyz0123456789.=-/", max_size=8)
boats = st.builds(
    Boat,
    size=st.integers(2, 40),
    depth=st.integers(1, 10**9),
    draught=st.floats(-1e9, 9.5),
    wind=st.sampled_from("NESW"),
    storm=st.booleans(),
)


@given(texts, st.dictionaries(texts, values, max_size=4))
def test_specs_are_split_into_what_they_were_joined_from(name: str, options: dict[str, str]) -> None:
    spec = name + ":" + ",".join(f"{key}={value}" for key, value in options.items())
    assert split_spec(spec) == (name, options)


@pytest.mark.parametrize(
    "spec, expected",
    [
        ("go", ("go", {})),
        ("go:", ("go", {})),
        ("  go : size = 9 , komi=7.5 ", ("go", {"size": "9", "komi": "7.5"})),
        ("games/my.py:size=5", ("games/my.py", {"size": "5"})),
        ("sequential:policy=wait=1ms", ("sequential", {"policy": "wait=1ms"})),
        ("go:size=9,,komi=0,", ("go", {"size": "9", "komi": "0"})),
    ],
)
def test_forms_of_a_spec(spec: str, expected: Any) -> None:
    assert split_spec(spec) == expected


def test_option_without_value_is_refused() -> None:
    with pytest.raises(OptionError, match="'size' in 'go:size' is not an option; write size=VALUE"):
        split_spec("go:size")


@given(boats)
def test_changed_options_fill_an_equal_dataclass(boat: Boat) -> None:
    _, values = split_spec("boat:" + changed_options(boat))
    assert fill(Boat, values, "boat") == boat


def test_only_changed_options_are_named() -> None:
    assert changed_options(Boat()) == ""
    assert changed_options(Boat(size=9, storm=True)) == "size=9,storm=yes"


def test_dashes_in_names_are_underscores() -> None:
    assert fill(SearchOptions, {"max-depth": "7"}, "search").max_depth == 7


@pytest.mark.parametrize(
    "values, message",
    [
        ({"sise": "9"}, "unknown option of boat 'sise'; did you mean 'size'?"),
        ({"zzz": "9"}, "unknown option of boat 'zzz'; known: crew, depth, draught, size, storm, wind"),
        ({"size": "nine"}, "boat: size=nine is not a whole number"),
        ({"size": "9.5"}, "boat: size=9.5 is not a whole number"),
        ({"size": ""}, "boat: size= is not a whole number"),
        ({"draught": "deep"}, "boat: draught=deep is not a number"),
        ({"storm": "maybe"}, "boat: storm=maybe is not yes or no"),
        ({"size": "41"}, "boat: size=41 is out of range; give 2..40"),
        ({"size": "1"}, "boat: size=1 is out of range; give 2..40"),
        ({"depth": "0"}, "boat: depth=0 is out of range; give at least 1"),
        ({"draught": "9.6"}, "boat: draught=9.6 is out of range; give at most 9.5"),
        ({"draught": "nan"}, "boat: draught=nan is out of range; give at most 9.5"),
        ({"wind": "NW"}, "unknown boat wind 'NW'; did you mean 'W'?"),
        ({"wind": "up"}, "unknown boat wind 'up'; known: E, N, S, W"),
    ],
)
def test_refusals_name_value_bound_and_remedy(values: dict[str, str], message: str) -> None:
    with pytest.raises(OptionError) as refusal:
        fill(Boat, values, "boat")
    assert str(refusal.value) == message


@given(st.integers(-(10**6), 10**6))
def test_bounds_are_inclusive(size: int) -> None:
    if 2 <= size <= 40:
        assert Boat(size=size).size == size
    else:
        with pytest.raises(OptionError, match="out of range"):
            Boat(size=size)


@pytest.mark.parametrize("word", ["yes", "true", "on", "1", "YES", "True", "On"])
def test_words_for_yes(word: str) -> None:
    assert parse_value(bool, word, "x") is True


@pytest.mark.parametrize("word", ["no", "false", "off", "0", "NO", "False", "oFF"])
def test_words_for_no(word: str) -> None:
    assert parse_value(bool, word, "x") is False


@pytest.mark.parametrize(
    "text, seconds",
    [
        *[("2", 2), ("0.5s", 0.5), ("1ms", 1e-3), ("50us", 50e-6), ("7ns", 7e-9), ("2m", 120), (" 3 ms ", 3e-3)],
        *[("1e-3", 1e-3), ("1e3ms", 1.0), ("0", 0.0), ("+4", 4.0), (".5", 0.5)],
    ],
)
def test_durations(text: str, seconds: float) -> None:
    assert parse_seconds(text, "wait") == pytest.approx(seconds, rel=1e-12)


@given(st.floats(0, 1e9), st.sampled_from(["ns", "us", "ms", "s", "m", ""]))
def test_printed_durations_are_read_back(number: float, unit: str) -> None:
    scale = {"ns": 1e-9, "us": 1e-6, "ms": 1e-3, "s": 1, "m": 60, "": 1}[unit]
    assert math.isclose(parse_seconds(f"{number!r}{unit}", "wait"), number * scale, rel_tol=1e-12)


@pytest.mark.parametrize("text", ["", "s", "fast", "1h", "1 2", "1.2.3", "ms1", "--1", "1e", "inf", "nan"])
def test_what_is_no_duration_is_refused(text: str) -> None:
    with pytest.raises(OptionError, match="is not a duration; write for example 2s, 1ms or 50us"):
        parse_seconds(text, "wait")


@pytest.mark.parametrize("text", ["-1", "-1ms", "1e400"])
def test_durations_out_of_range_are_refused(text: str) -> None:
    with pytest.raises(OptionError, match="out of range; give a duration of at least 0"):
        parse_seconds(text, "wait")


def test_describe_lists_options_with_bounds() -> None:
    listing = describe(Boat)
    assert [entry["name"] for entry in listing] == ["size", "depth", "draught", "wind", "storm"]
    assert listing[0] == {"name": "size", "default": 10, "help": "waypoints", "low": 2, "high": 40, "choices": None}
    assert listing[3]["choices"] == ("N", "E", "S", "W")


@pytest.mark.parametrize(
    "options, message",
    [
        ({"policy": "wait=long"}, "policy wait=long is not a duration; write for example 2s, 1ms or 50us"),
        ({"fpu": "high"}, "fpu=high is not a number; give auto, inf or a value such as 1.1"),
        ({"bandit": "ucb"}, "unknown search bandit 'ucb'; did you mean 'ucb1'?"),
        ({"threshold": 0}, "search: threshold=0 is out of range; give 1..1000000"),
        ({"c": -2.0}, "search: c=-2.0 is out of range; give at least -1"),
        ({"c": -0.5}, "search: c=-0.5 is out of range; give at least 0, or -1 for the game's"),
        ({"c": math.nan}, "search: c=nan is out of range; give at least -1"),
        (
            {"algorithm": "dfuct", "bandit": "rave"},
            "bandit=rave needs every playout at every level; use algorithm=uct, or another bandit",
        ),
        (
            {"algorithm": "dfuct", "bandit": "rave-mse"},
            "bandit=rave-mse needs every playout at every level; use algorithm=uct, or another bandit",
        ),
    ],
)
def test_search_options_that_make_no_sense_are_refused(options: dict[str, Any], message: str) -> None:
    with pytest.raises(OptionError) as refusal:
        SearchOptions(**options)
    assert str(refusal.value) == message


def test_first_play_urgency_is_infinite_or_the_mean_with_puct() -> None:
    assert SearchOptions().fpu_value() == math.inf
    assert math.isnan(SearchOptions(bandit="puct").fpu_value())
    assert SearchOptions(bandit="puct", fpu="1.1").fpu_value() == 1.1


@pytest.mark.parametrize("name", SCHEMES)
def test_spec_of_a_scheme_makes_an_equal_scheme(name: str) -> None:
    scheme = make_scheme(f"{name}:bandit=puct,c=0.7,policy=wait=1ms,audit=yes,nodes=1000,fpu=1.1")
    assert make_scheme(scheme.spec()) == scheme
    assert make_scheme(name).spec() == name


def test_schemes_are_offered_by_near_names() -> None:
    with pytest.raises(OptionError, match=r"unknown scheme 'sequental'; did you mean 'sequential'\?"):
        make_scheme("sequental")


# Errors


def test_near_names_are_offered_and_others_listed() -> None:
    assert str(unknown_name("game", "hx", ["go", "hex"])) == "unknown game 'hx'; did you mean 'hex'?"
    assert str(unknown_name("game", "othello", ["hex", "go"])) == "unknown game 'othello'; known: go, hex"
    assert str(unknown_name("game", "chess", [])) == "unknown game 'chess'; known: none"


@given(st.text(max_size=10), st.lists(st.text(max_size=10), max_size=5))
def test_unknown_names_never_fail_to_be_reported(name: str, known: list[str]) -> None:
    assert f"unknown game '{name}'" in str(unknown_name("game", name, known))


@pytest.mark.parametrize("error", [OptionError, PositionError, GameError])
def test_all_errors_have_one_base(error: type[Exception]) -> None:
    assert issubclass(error, TreespanError)
