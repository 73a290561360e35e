"""Options and specs: what is read, what is refused, and how the refusal helps."""

import math
from dataclasses import dataclass
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from treespan.core.errors import OptionError
from treespan.core.options import (
    changed_options,
    describe,
    fill,
    option,
    option_names,
    parse_seconds,
    parse_value,
    read_value,
    split_spec,
    validate,
    word_of,
)
from treespan.schemes.registry import SCHEMES, read_scheme
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


def say(value: object) -> str:
    return f"boat: size={value}"


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


def test_other_defaults_and_options_that_are_always_named() -> None:
    assert changed_options(Boat(size=9, storm=True), {"size": 9}) == "storm=yes"
    assert changed_options(Boat(), {"size": 9}) == "size=10"
    assert changed_options(Boat(depth=5), always={"wind"}) == "depth=5,wind=N"


def test_words_of_values_are_those_of_specs() -> None:
    assert [word_of(value) for value in (True, False, 1, 0, 1.5, "N")] == ["yes", "no", "1", "0", "1.5", "N"]


def test_names_of_options() -> None:
    assert option_names(Boat) == ["size", "depth", "draught", "wind", "storm", "crew"]


def test_dashes_in_names_are_underscores() -> None:
    assert fill(SearchOptions, {"max-depth": "7"}, "search").max_depth == 7


@pytest.mark.parametrize(
    "values, message",
    [
        ({"sise": "9"}, "unknown option of boat 'sise'; did you mean 'size'?"),
        ({"zzz": "9"}, "unknown option of boat 'zzz'; known: crew, depth, draught, size, storm, wind"),
        ({"size": "nine"}, "boat: size=nine is not a whole number; give 2..40"),
        ({"size": "9.5"}, "boat: size=9.5 is not a whole number; give 2..40"),
        ({"size": ""}, "boat: size= is not a whole number; give 2..40"),
        ({"draught": "deep"}, "boat: draught=deep is not a number; give at most 9.5"),
        ({"storm": "maybe"}, "boat: storm=maybe is not true or false; give yes or no"),
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


@pytest.mark.parametrize(
    "kind, value, read",
    [
        *[(int, 7, 7), (int, 7.0, 7), (int, -3, -3), (int, 10**30, 10**30), (int, "7", 7)],
        *[(float, 1.5, 1.5), (float, 2, 2.0), (float, math.inf, math.inf), (float, "1e3", 1000.0)],
        *[(bool, True, True), (bool, False, False), (bool, "off", False)],
        *[(str, "light", "light"), (str, 1.1, "1.1"), (str, 2, "2"), (str, "", "")],
    ],
)
def test_values_that_will_do_are_taken(kind: Any, value: Any, read: Any) -> None:
    found = read_value(kind, value, say)
    assert (found, type(found)) == (read, type(read))


@pytest.mark.parametrize(
    "kind, value, message",
    [
        (int, 7.5, "boat: size=7.5 is not a whole number; give one such as 4"),
        (int, True, "boat: size=True is not a whole number; give one such as 4"),
        (int, None, "boat: size=None is not a whole number; give one such as 4"),
        (int, [7], "boat: size=[7] is not a whole number; give one such as 4"),
        (int, "7.0", "boat: size=7.0 is not a whole number; give one such as 4"),
        (float, False, "boat: size=False is not a number; give one such as 0.5"),
        (float, None, "boat: size=None is not a number; give one such as 0.5"),
        (float, 1j, "boat: size=1j is not a number; give one such as 0.5"),
        (bool, 1, "boat: size=1 is not true or false; give yes or no"),
        (bool, 0.0, "boat: size=0.0 is not true or false; give yes or no"),
        (bool, None, "boat: size=None is not true or false; give yes or no"),
        (bool, "maybe", "boat: size=maybe is not true or false; give yes or no"),
        (str, True, "boat: size=True is not a text; give one in quotes"),
        (str, None, "boat: size=None is not a text; give one in quotes"),
        (str, b"x", "boat: size=b'x' is not a text; give one in quotes"),
    ],
)
def test_values_that_will_not_do_are_refused(kind: Any, value: Any, message: str) -> None:
    with pytest.raises(OptionError) as refusal:
        read_value(kind, value, say)
    assert str(refusal.value) == message


def test_values_and_texts_fill_a_dataclass_alike() -> None:
    given: dict[str, Any] = {"size": 9, "depth": 2.0, "draught": 1, "wind": "E", "storm": True, "crew": "5"}
    boat = fill(Boat, given, "boat")
    assert boat == Boat(size=9, depth=2, draught=1.0, wind="E", storm=True, crew=5)
    assert [type(value) for value in vars(boat).values()] == [int, int, float, str, bool, int]
    assert boat == fill(Boat, {name: word_of(value) for name, value in vars(boat).items()}, "boat")
    assert fill(SearchOptions, {"max-depth": 7, "fpu": 1.1}, "search") == SearchOptions(max_depth=7, fpu="1.1")
    assert fill(Boat, {}, "boat") == Boat()


@pytest.mark.parametrize(
    "values, message",
    [
        ({"sise": 9}, "unknown option of boat 'sise'; did you mean 'size'?"),
        ({"size": 9.5}, "boat: size=9.5 is not a whole number; give 2..40"),
        ({"size": None}, "boat: size=None is not a whole number; give 2..40"),
        ({"storm": 1}, "boat: storm=1 is not true or false; give yes or no"),
        ({"wind": 5}, "unknown boat wind '5'; known: E, N, S, W"),
        ({"size": 41}, "boat: size=41 is out of range; give 2..40"),
        ({"draught": math.nan}, "boat: draught=nan is out of range; give at most 9.5"),
    ],
)
def test_refusals_of_values_are_those_of_texts(values: dict[str, Any], message: str) -> None:
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
    assert parse_value(bool, word, say) is True


@pytest.mark.parametrize("word", ["no", "false", "off", "0", "NO", "False", "oFF"])
def test_words_for_no(word: str) -> None:
    assert parse_value(bool, word, say) is False


@pytest.mark.parametrize(
    "text, seconds",
    [
        *[("2", 2), ("0.5s", 0.5), ("1ms", 1e-3), ("50us", 50e-6), ("7ns", 7e-9), ("2m", 120), (" 3 ms ", 3e-3)],
        *[("1e-3", 1e-3), ("1e3ms", 1.0), ("0", 0.0), ("+4", 4.0), (".5", 0.5)],
    ],
)
def test_durations(text: str, seconds: float) -> None:
    assert parse_seconds(text, say) == pytest.approx(seconds, rel=1e-12)


@given(st.floats(0, 1e9), st.sampled_from(["ns", "us", "ms", "s", "m", ""]))
def test_printed_durations_are_read_back(number: float, unit: str) -> None:
    scale = {"ns": 1e-9, "us": 1e-6, "ms": 1e-3, "s": 1, "m": 60, "": 1}[unit]
    assert math.isclose(parse_seconds(f"{number!r}{unit}", say), number * scale, rel_tol=1e-12)


@pytest.mark.parametrize("text", ["", "s", "fast", "1h", "1 2", "1.2.3", "ms1", "--1", "1e", "inf", "nan"])
def test_what_is_no_duration_is_refused(text: str) -> None:
    with pytest.raises(OptionError, match="is not a duration; write for example 2s, 1ms or 50us"):
        parse_seconds(text, say)


@pytest.mark.parametrize("text", ["-1", "-1ms", "1e400"])
def test_durations_out_of_range_are_refused(text: str) -> None:
    with pytest.raises(OptionError, match="out of range; give a duration of at least 0"):
        parse_seconds(text, say)


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
        ({"c": -0.5}, "c=-0.5 is out of range; give at least 0, or -1 for the game's"),
        ({"c": math.nan}, "search: c=nan is out of range; give at least -1"),
    ],
)
def test_search_options_that_make_no_sense_are_refused(options: dict[str, Any], message: str) -> None:
    with pytest.raises(OptionError) as refusal:
        SearchOptions(**options)
    assert str(refusal.value) == message


@pytest.mark.parametrize(
    "spec, message",
    [
        *[
            (
                f"sequential:algorithm=dfuct,bandit={bandit}",
                f"bandit={bandit} needs every playout at every level; use algorithm=uct, or another bandit",
            )
            for bandit in ("rave", "rave-mse")
        ],
        ("root:algorithm=dfuct", "root: algorithm=dfuct is not possible; known: uct"),
        ("span:kept_moves=all", "span: kept_moves=all is not possible; known: 2"),
        ("leaf:bandit=rave", "leaf: bandit=rave is not possible; known: ucb1, tuned1, tuned2, puct"),
    ],
)
def test_options_that_a_scheme_cannot_do_are_refused(spec: str, message: str) -> None:
    with pytest.raises(OptionError) as refusal:
        read_scheme(spec)
    assert str(refusal.value) == message


def test_first_play_urgency_is_infinite_or_the_mean_with_puct() -> None:
    assert SearchOptions().fpu_value() == math.inf
    assert math.isnan(SearchOptions(bandit="puct").fpu_value())
    assert SearchOptions(bandit="puct", fpu="1.1").fpu_value() == 1.1


@pytest.mark.parametrize("name", SCHEMES)
def test_spec_of_a_scheme_makes_an_equal_scheme(name: str) -> None:
    scheme, options = read_scheme(f"{name}:bandit=puct,c=0.7,policy=wait=1ms,audit=yes,nodes=1000,fpu=1.1")
    assert read_scheme(scheme.spec(options)) == (scheme, options)
    default, usual = read_scheme(name)
    assert default.spec(usual) == default.spec() == name


def test_schemes_are_offered_by_near_names() -> None:
    with pytest.raises(OptionError, match=r"unknown scheme 'sequental'; did you mean 'sequential'\?"):
        read_scheme("sequental")
