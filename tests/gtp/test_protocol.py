"""The grammar of GTP: what a line means, and that every mistake gets an answer."""

from collections.abc import Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st

from treespan.gtp.protocol import Content, GtpError, Protocol, clean, number, only, whole_number


def protocol() -> Protocol:
    made = Protocol()

    def fail(words: Sequence[str]) -> str:
        raise ZeroDivisionError("oops")

    def refuse(words: Sequence[str]) -> str:
        raise GtpError("not today")

    made.add(
        {
            "echo": lambda words: " ".join(words),
            "board": lambda words: "\n. .\n\n. .\n\n",
            "fail": fail,
            "refuse": refuse,
        }
    )
    return made


# A line, and what comes back; None: nothing
LINES = [
    ("protocol_version", "= 2\n\n"),
    ("12 protocol_version", "=12 2\n\n"),
    ("  echo   a\tb  ", "= a b\n\n"),
    ("echo a b\r\n", "= a b\n\n"),
    ("ec\x07ho a\x00b\x7f", "= ab\n\n"),
    ("echo a # a comment", "= a\n\n"),
    ("007 echo", "=007\n\n"),
    ("echo", "=\n\n"),
    ("board", "=\n. .\n. .\n\n"),  # a blank line would end the reply
    ("quit", "=\n\n"),
    ("1 known_command quit", "=1 true\n\n"),
    ("known_command genmove", "= false\n\n"),
    ("known_command", "? syntax error: one argument is needed\n\n"),
    ("nonsense", "? unknown command\n\n"),
    ("5 nonsense", "?5 unknown command\n\n"),
    ("5", "?5 missing command\n\n"),
    ("refuse", "? not today\n\n"),
    ("9 fail", "?9 internal error: ZeroDivisionError: oops\n\n"),
    ("", None),
    ("   \t \r\n", None),
    ("# only a comment", None),
]


@pytest.mark.parametrize(("line", "expected"), LINES, ids=[repr(line) for line, _ in LINES])
def test_replies(line: str, expected: str | None) -> None:
    reply = protocol().handle_line(line)
    assert (None if reply is None else str(reply)) == expected


def test_a_fault_of_ours_is_told_on_stderr_alone(capsys: pytest.CaptureFixture[str]) -> None:
    protocol().handle_line("fail")
    out, err = capsys.readouterr()
    assert out == "" and "ZeroDivisionError" in err


def test_commands_are_listed_in_order() -> None:
    reply = protocol().handle_line("list_commands")
    assert reply is not None
    names = reply.content.text.split("\n")
    assert names == sorted(names) and {"quit", "echo", "list_commands"} <= set(names)


def test_only_quit_ends_a_session() -> None:
    made = protocol()
    ends = [reply.content.ends_session for line in ("echo", "quit", "fail") if (reply := made.handle_line(line))]
    assert ends == [False, True, False]


@given(st.text(max_size=60))
def test_any_line_gets_one_reply_or_none(line: str) -> None:
    reply = protocol().handle_line(line)
    text = "" if reply is None else str(reply)
    assert (reply is None) == (clean(line) == "")
    assert reply is None or (text[0] in "=?" and text.endswith("\n\n") and "\n\n" not in text[:-2])


def test_replies_to_several_lines() -> None:
    assert list(protocol().handle_lines("echo 1\n\n2 echo 2\n")) == ["= 1\n\n", "=2 2\n\n"]


def test_something_may_be_done_before_each_command() -> None:
    calls: list[str] = []
    made = Protocol(before_command=lambda: calls.append("called"))
    for line, known in [("name", 1), ("", 1), ("# nothing", 1), ("protocol_version", 2), ("known_command", 3)]:
        made.handle_line(line)
        assert len(calls) == known, line


@pytest.mark.parametrize("text", ["", "x", "1.5", "1_3", "-3", "+3", "\u0663", "9" * 5000])
def test_numbers_that_are_not_whole(text: str) -> None:
    with pytest.raises(GtpError, match="not a whole number"):
        whole_number(text)


@pytest.mark.parametrize("text", ["", "x", "nan", "inf", "1e999", "1_0.5", "6.5e", ".", "\u0663"])
def test_numbers_that_are_none(text: str) -> None:
    with pytest.raises(GtpError, match="not a number"):
        number(text)


def test_arguments() -> None:
    assert only(["a"]) == "a" and whole_number("013") == 13
    assert [number(text) for text in ("6.5", "-7", "+.5", "1e2", "3.")] == [6.5, -7, 0.5, 100, 3]
    assert Content().text == ""
