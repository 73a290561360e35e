"""Errors: how the library and the command line write options, and what a message says of the mistake."""

import ast
import pickle
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

import treespan
from treespan.core.errors import (
    LONGEST_VALUE,
    GameError,
    OptionError,
    PositionError,
    TreespanError,
    about,
    for_command_line,
    for_library,
    in_spec,
    named,
    shown,
    unknown_name,
)
from treespan.runtimes.job_folder import RanksLostError

# Parts of a message, how the library writes it, and how the command line does
FORMS = [
    ([named("ranks", 4)], "ranks=4", "--ranks 4"),
    ([named("ranks")], "ranks", "--ranks"),
    ([named("ranks", 0), " is out of range"], "ranks=0 is out of range", "--ranks 0 is out of range"),
    ([named("extend_if_unsure", 2.0)], "extend_if_unsure=2", "--extend-if-unsure 2"),
    ([named("seconds", 0.25)], "seconds=0.25", "--seconds 0.25"),
    ([named("seconds", 1e-7)], "seconds=1e-07", "--seconds 1e-07"),
    ([named("scheme", "slow-tree")], "scheme=slow-tree", "--scheme slow-tree"),
    ([named("evaluate", "my_net.py:values")], "evaluate=my_net.py:values", "--evaluate my_net.py:values"),
    ([named("scheme", "span:grant=3")], "scheme=span:grant=3", "--scheme span:grant=3"),
    ([named("threads"), "=x is not a number"], "threads=x is not a number", "--threads=x is not a number"),
    (
        ["give ", named("threads"), " or ", named("simulate", 8), ", not ", named("ranks", 4)],
        "give threads or simulate=8, not ranks=4",
        "give --threads or --simulate 8, not --ranks 4",
    ),
    (["go: size=3 is out of range"], "go: size=3 is out of range", "go: size=3 is out of range"),
    ([""], "", ""),
]


@pytest.mark.parametrize(("parts", "in_library", "at_terminal"), FORMS, ids=[form[1] for form in FORMS])
def test_options_are_written_as_each_reader_gives_them(parts: list[str], in_library: str, at_terminal: str) -> None:
    error = OptionError("".join(parts))
    assert str(error) == f"{error}" == in_library
    assert for_command_line(error.message) == at_terminal


@given(st.from_regex(r"[a-z_]{1,12}", fullmatch=True), st.integers(), st.text(st.characters(max_codepoint=0x2FF)))
def test_any_option_and_value_are_found_in_any_message(option: str, value: int, text: str) -> None:
    error = OptionError(f"{text}{named(option, value)}{text}")
    assert (error.option, error.value) == (option, str(value))
    assert str(error) == f"{text}{option}={value}{text}"
    assert for_command_line(error.message) == f"{text}--{option.replace('_', '-')} {value}{text}"


def test_the_first_option_is_the_one_that_is_wrong() -> None:
    error = OptionError(f"{named('simulate', 0)} is out of range; give {named('ranks', 4)}")
    assert (error.option, error.value, error.remedy) == ("simulate", "0", "give ranks=4")


@pytest.mark.parametrize(
    ("message", "option", "value", "remedy"),
    [
        (f"{named('latency')} holds messages back; give {named('ranks')}", "latency", None, "give ranks"),
        ("go: size=3 is out of range; give 5..19", None, None, "give 5..19"),
        ("a; b; c", None, None, "c"),
        ("the game is over", None, None, None),
        (f"{named('nodes', 5)} is too small", "nodes", "5", None),
    ],
)
def test_what_a_message_says(message: str, option: str | None, value: str | None, remedy: str | None) -> None:
    error = TreespanError(message)
    assert (error.option, error.value, error.remedy) == (option, value, remedy)


def test_an_error_without_a_message_says_nothing() -> None:
    error = TreespanError()
    assert (str(error), for_command_line(error.message)) == ("", "")
    assert (error.option, error.value, error.remedy) == (None, None, None)


def test_texts_without_options_are_written_as_they_are() -> None:
    assert for_command_line("give --this a=4") == for_library("give --this a=4") == "give --this a=4"


def test_an_error_quotes_another_with_its_options() -> None:
    inner = OptionError(f"{named('ranks', 0)} is out of range")
    outer = TreespanError(f"player B: {inner.message}")
    assert str(outer) == "player B: ranks=0 is out of range"
    assert for_command_line(outer.message) == "player B: --ranks 0 is out of range"


def test_errors_reach_another_process_whole() -> None:
    error = OptionError(f"{named('ranks', 0)} is out of range; give 1..4")
    copy = pickle.loads(pickle.dumps(error))
    assert type(copy) is OptionError and str(copy) == str(error)
    assert for_command_line(copy.message) == "--ranks 0 is out of range; give 1..4"


@pytest.mark.parametrize("error", [OptionError, PositionError, GameError, RanksLostError])
def test_all_errors_have_one_base(error: type[Exception]) -> None:
    assert issubclass(error, TreespanError)


def test_mistakes_of_the_user_and_losses_have_statuses_of_their_own() -> None:
    assert {error.exit_status for error in (TreespanError, OptionError, PositionError, GameError)} == {2}
    assert RanksLostError.exit_status == 1


# Unknown names


def test_near_names_are_offered_and_others_listed() -> None:
    assert str(unknown_name("game", "hx", ["go", "hex"])) == "unknown game 'hx'; did you mean 'hex'?"
    assert str(unknown_name("game", "othello", ["hex", "go"])) == "unknown game 'othello'; known: go, hex"
    assert str(unknown_name("game", "chess", [])) == "unknown game 'chess'; known: none"


@given(st.text(max_size=10), st.lists(st.text(max_size=10), max_size=5))
def test_unknown_names_never_fail_to_be_reported(name: str, known: list[str]) -> None:
    text = str(unknown_name("game", name, known))
    assert f"unknown game '{shown(name)}'" in text and len(text.splitlines()) <= 1 + len("".join(known).splitlines())


SOURCE = Path(treespan.__file__).parent
FOREIGN = ("gnugo --mode gtp", "srun the --mpi=...")  # commands of other programs


def messages_of(path: Path) -> list[str]:
    """The texts within the raise statements of a file, and those that it gives to the makers of errors."""
    found: list[str] = []
    for node in ast.walk(ast.parse(path.read_text())):
        is_maker = isinstance(node, ast.Call) and getattr(node.func, "id", "").endswith(("Error", "Died", "_name"))
        if isinstance(node, ast.Raise) or is_maker:
            constants = (one.value for one in ast.walk(node) if isinstance(one, ast.Constant))
            found += [f"{path.name}: {text}" for text in constants if isinstance(text, str)]
    return found


def test_no_error_of_the_library_speaks_command_line() -> None:
    files = [path for path in SOURCE.rglob("*.py") if path.relative_to(SOURCE).parts[0] != "cli"]
    messages = [message for path in files for message in messages_of(path)]
    assert len(messages) > 300
    assert [one for one in messages if "--" in one and not any(text in one for text in FOREIGN)] == []


def test_values_stand_on_one_line_and_are_cut_but_paths_are_whole() -> None:
    assert [shown(value) for value in ("x", 1.5, 3, None, [7], Path("a/b"))] == ["x", "1.5", "3", "None", "[7]", "a/b"]
    assert shown("a\nb") == "'a\\nb'" and shown("\ue000") == "'\\ue000'"
    assert len(shown("x" * 1000)) == LONGEST_VALUE and len(shown(list(range(10**6)))) <= LONGEST_VALUE
    path = Path("/" + "long-folder/" * 20 + "some.jsonl")
    assert shown(path) == str(path) and shown(Path("a\nb")) == "'a\\nb'"  # whole: people act on it
    assert len(shown(Path("/home") / ("x" * 256))) == LONGEST_VALUE and len(shown(Path("x" * 255))) == 255
    assert shown(10**5000) == "a number of 16,610 bits"


@pytest.mark.parametrize(
    "text, seen, option, value",
    [
        (f"span: {in_spec('grant', 'x')} is not a number", "span: grant=x is not a number", "grant", "x"),
        (f"span: {in_spec('grant', '')} is not a number", "span: grant= is not a number", "grant", None),
        (f"unknown scheme 'spam'{about('scheme', 'spam')}", "unknown scheme 'spam'", "scheme", "spam"),
    ],
)
def test_options_of_specs_are_written_alike_everywhere(text: str, seen: str, option: str, value: str | None) -> None:
    error = OptionError(text)
    assert str(error) == for_command_line(error.message) == seen
    assert (error.option, error.value) == (option, value)
