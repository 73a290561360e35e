"""`treespan play` at a terminal: colours, the line while the computer thinks, keys that are typed meanwhile."""

import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from tests.support.interrupts import hear_interrupts
from tests.support.screens import Screen, open_screen

PROMPT = "your move> "
LONG = ("--seconds", "2", "--no-early-stop")
SHORT = ("--playouts", "50")


@contextmanager
def playing(*arguments: str, **variables: str) -> Iterator[tuple[Screen, "subprocess.Popen[bytes]"]]:
    """The program at a terminal of its own, at the first prompt."""
    kept = {name: value for name, value in os.environ.items() if name not in ("NO_COLOR", "COLUMNS", "LINES")}
    environment = {**kept, "TERM": "xterm-256color", "PYTHONIOENCODING": "utf-8", **variables}
    command = [sys.executable, "-m", "treespan", "play", *arguments]
    with open_screen() as screen:
        terminal = screen.terminal
        process = subprocess.Popen(
            command, stdin=terminal, stdout=terminal, stderr=terminal, env=environment, preexec_fn=at_a_terminal
        )
        try:
            screen.wait_for(PROMPT)
            yield screen, process
        finally:
            process.kill()
            process.wait()


def at_a_terminal() -> None:
    """In the new process: its stdin is the terminal whose Ctrl-C it hears."""
    import fcntl
    import termios

    hear_interrupts()
    os.setsid()
    fcntl.ioctl(0, termios.TIOCSCTTY, 0)


def test_keys_that_are_typed_while_the_computer_thinks_do_not_land_in_the_board() -> None:
    with playing("connect4", *LONG) as (screen, _):
        assert screen.has_echo
        screen.type("4\n")
        screen.wait_for("thinking… ")
        assert not screen.has_echo
        screen.type("3\nzzz")
        shown = screen.wait_for(PROMPT, times=2)
        assert screen.has_echo and "zzz" not in shown and shown.count("treespan plays") == 1
        assert ", X's chance to win " in shown and "playouts, " in shown  # the best move so far, and what it expects
        screen.type("quit\n")


def test_ctrl_c_ends_thinking_with_a_move_and_the_game_at_the_prompt() -> None:
    with playing("connect4", "--seconds", "60", "--no-early-stop") as (screen, process):
        before = screen.text
        screen.type("4\n")
        screen.wait_for("playouts, ")
        screen.type("\x03")
        assert "treespan plays" in screen.wait_for(PROMPT, times=2).removeprefix(before) and screen.has_echo
        screen.type("\x03")
        assert process.wait(60) == 130 and screen.has_echo and "Traceback" not in screen.text


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_at_the_prompt_leaves_the_terminal_as_it_was(number: int) -> None:
    with playing("tictactoe", *SHORT) as (screen, process):
        process.send_signal(number)
        assert process.wait(60) == 130 and screen.has_echo


def test_a_search_that_fails_leaves_the_terminal_as_it_was(tmp_path: Path) -> None:
    net, broken = tmp_path / "net.py", tmp_path / "broken"
    net.write_text(
        "import pathlib, numpy as np\n"
        "def values(states):\n"
        f"    if pathlib.Path({str(broken)!r}).exists(): raise RuntimeError('the net is broken')\n"
        "    return np.full(len(states), 0.5)\n"
    )
    with playing("tictactoe", *SHORT, "--evaluate", f"{net}:values") as (screen, process):
        broken.touch()
        screen.type("b2\n")
        assert process.wait(60) == 1 and screen.has_echo and "the net is broken" in screen.text


def test_a_board_has_colours_where_the_terminal_has_them() -> None:
    with playing("go:size=5", *SHORT) as (screen, _):
        screen.type("C3\n")
        shown = screen.wait_for(PROMPT, times=2)
        assert "●" in shown and ";48;5;179m" in shown and "captures: Black 0, White 0" in shown


@pytest.mark.parametrize("variables", [{"NO_COLOR": "1"}, {"TERM": "dumb"}])
def test_without_colours_stones_are_letters_and_the_last_move_stands_in_brackets(variables: dict[str, str]) -> None:
    with playing("go:size=5", *SHORT, **variables) as (screen, _):
        screen.type("C3\n")
        shown = screen.wait_for(PROMPT, times=2)
        assert "●" not in shown and "48;5;179" not in shown and "(O)" in shown and "X is Black, O is White" in shown


def test_where_there_are_no_signs_for_stones_there_are_letters() -> None:
    with playing("go:size=5", *SHORT, PYTHONIOENCODING="ascii:replace") as (screen, _):
        screen.type("C3\n")
        assert "(O)" in screen.wait_for(PROMPT, times=2)
