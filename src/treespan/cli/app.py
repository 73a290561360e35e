"""What all commands share: the application, checks of numbers, JSON, and how mistakes are told.

Mistakes are one line on stderr and exit status 2; with --json also `{"error": ...}` on stdout.
"""

import io
import json
import os
import signal
import sys
import threading
from collections.abc import Callable
from dataclasses import dataclass
from functools import wraps
from types import FrameType
from typing import Annotated, Any

import typer

from treespan.core.errors import INTERRUPTED_STATUS, TreespanError, for_command_line

app = typer.Typer(
    add_completion=False,
    no_args_is_help=True,
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
    help="Monte-Carlo tree search that spans machines.",
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 120},
)

Command = Callable[..., None]
AGAIN_SECONDS = 0.05  # until an interrupt that was dropped is sent once more
USAGE_ERROR: Any = typer.BadParameter.__base__  # what the library raises for any mistake in the arguments


@dataclass
class Output:
    """How a command answers: the object of Typer's context, which is gone when the command has failed."""

    is_json: bool = False


def note_json(context: typer.Context, is_json: bool) -> bool:
    context.obj.is_json = is_json
    return is_json


JsonOption = Annotated[bool, typer.Option("--json", help="Print one JSON object instead of text.", callback=note_json)]


def print_json(document: Any) -> None:
    print(json.dumps(document, default=str))


def by_first_rank(command: Command) -> Command:
    """Let rank 0 alone run a command that measures, and print what it has found."""

    @wraps(command)
    def run_command(**values: Any) -> None:
        from treespan.runtimes.together import by_first_rank

        by_first_rank(command)(**values)

    return run_command


def accept_any_input() -> None:
    """Read bytes that are not text as question marks: what people and programs type must not end a session."""
    if isinstance(sys.stdin, io.TextIOWrapper):
        sys.stdin.reconfigure(encoding="utf-8", errors="replace")


class Interrupts:
    """Hears Ctrl-C, and SIGTERM, which means the same. It may get lost on its way up: an interrupted compilation raises
    some other exception."""

    were_heard = False

    def __enter__(self) -> "Interrupts":
        self.before = {number: signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM)}
        if self.before[signal.SIGINT] is signal.default_int_handler:  # a script's background jobs ignore it
            signal.signal(signal.SIGINT, self.hear)
        signal.signal(signal.SIGTERM, self.hear)
        sys.unraisablehook = self.hear_again
        return self

    def __exit__(self, *error: object) -> None:
        sys.unraisablehook = sys.__unraisablehook__
        for number, handler in self.before.items():
            signal.signal(number, handler)

    def hear(self, number: int, frame: FrameType | None) -> None:
        self.were_heard = True
        raise KeyboardInterrupt

    def hear_again(self, lost: Any) -> None:
        """An interrupt that a callback of the compiler has dropped is sent once more, a little later."""
        if issubclass(lost.exc_type, KeyboardInterrupt):
            threading.Timer(AGAIN_SECONDS, os.kill, (os.getpid(), signal.SIGINT)).start()
        else:
            sys.__unraisablehook__(lost)


def run() -> None:
    """Run the command that the arguments name; ends the process."""
    output = Output()
    with Interrupts() as interrupts:
        try:
            status = app(standalone_mode=False, obj=output)
        except TreespanError as error:
            fail(for_command_line(error.message), output.is_json, error.exit_status)
        except USAGE_ERROR as error:
            # Typer may have given up before it came to --json: only the arguments themselves tell.
            fail(error.format_message(), "--json" in sys.argv)
        except (typer.Abort, KeyboardInterrupt):
            sys.exit(INTERRUPTED_STATUS)
        except BrokenPipeError:  # the reader of our output has gone, as in `treespan games | head -1`
            sys.stderr.close()
            sys.exit(0)
        except Exception as error:
            if interrupts.were_heard:
                sys.exit(INTERRUPTED_STATUS)
            if "mpi4py.MPI" in sys.modules:  # the other ranks would wait for this one
                from treespan.runtimes.mpi_binding import fail_all_ranks

                fail_all_ranks(error)
            raise
        else:
            sys.exit(status if isinstance(status, int) else 0)


def fail(message: str, is_json: bool, status: int = 2) -> None:
    """One line on stderr, and for machines an object on stdout; ends the process, and in an MPI job all ranks."""
    if "mpi4py.MPI" in sys.modules:
        from treespan.runtimes.mpi_binding import await_turn, end_all_ranks

        message = await_turn() + message
        tell(message, is_json)
        end_all_ranks(status)
    else:
        tell(message, is_json)
    sys.exit(status)


def tell(message: str, is_json: bool) -> None:
    if is_json:
        print_json({"error": message})
    print(f"treespan: {message}", file=sys.stderr)
