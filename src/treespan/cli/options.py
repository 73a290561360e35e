"""The options of a search, as all commands that search have them."""

import inspect
from collections.abc import Callable
from functools import wraps
from typing import Annotated, Any

import typer

Resign = Annotated[
    float, typer.Option(help="The computer resigns if it expects less reward than this; 0: never.", min=0.0, max=0.99)
]
ResignMoves = Annotated[
    int | None, typer.Option(help="It resigns after so many own moves in a row below --resign (default 3).", min=1)
]
EarlyStop = Annotated[bool, typer.Option(help="End a search early when no other move can catch up any more.")]


def search_options(
    scheme: Annotated[str | None, typer.Option(help="Scheme spec, as sequential:algorithm=dfuct.")] = None,
    threads: Annotated[int, typer.Option(help="Threads; more than one needs a parallel scheme.")] = 1,
    ranks: Annotated[int, typer.Option(help="MPI ranks to start on this machine.")] = 0,
    simulate: Annotated[int, typer.Option(help="Ranks of a simulated cluster.")] = 0,
    workers: Annotated[int, typer.Option(help="Threads of each rank that play out; 0: the rank itself does.")] = 0,
    network: Annotated[str, typer.Option(help="Simulated network: qdr, shared-memory, 10gbe or FILE.toml.")] = "qdr",
    playouts: Annotated[str | None, typer.Option(help="End the search after so many playouts (default 10000).")] = None,
    seconds: Annotated[str | None, typer.Option(help="End the search after this time, as 5, 500ms or 2m.")] = None,
    bandit: Annotated[
        str | None, typer.Option(help="Formula that selects moves: ucb1, tuned1, tuned2, rave, rave-mse or puct.")
    ] = None,
    policy: Annotated[
        str | None, typer.Option(help="Playouts: light, patterns (Go), bridges (Havannah), or wait=1ms.")
    ] = None,
    evaluate: Annotated[
        str | None, typer.Option(help="A Python function that values positions instead of playouts, as FILE.py:NAME.")
    ] = None,
    latency: Annotated[
        str | None, typer.Option(help="Hold each MPI message back for this time, as 50us, to emulate a slower network.")
    ] = None,
    extend_if_unsure: Annotated[
        str | None,
        typer.Option(help="Search longer, up to so many times the budget, while the ranks prefer different moves."),
    ] = None,
    nodes: Annotated[str | None, typer.Option(help="Capacity of the tree, in moves.")] = None,
    seed: Annotated[
        int,
        typer.Option(help="Seed: the same seed gives the same result, unless threads share a tree, or on MPI ranks."),
    ] = 1,
) -> None:
    """Only its parameters are used: they are those of `make_plan`, as the user wrote them."""


def plan_of(chosen: "Chosen", game: Any) -> Any:
    """The plan that the options of a command ask for."""
    from treespan.runtimes.plan import make_plan

    return make_plan(game, **read_chosen(chosen))


def read_chosen(chosen: "Chosen") -> dict[str, Any]:
    """The options of a search that were given: those that are left at their defaults are not."""
    from treespan.runtimes.plan import read_options

    defaults = {name: one.default for name, one in inspect.signature(search_options).parameters.items()}
    given = {name: value for name, value in chosen.items() if value != defaults[name]}
    texts = {name: value for name, value in given.items() if isinstance(value, str)}
    return {name: value for name, value in given.items() if name not in texts} | read_options(texts)


MPI_OPTIONS = ("ranks", "latency")
Chosen = dict[str, Any]  # values of a search's options by name
Command = Callable[..., None]


def with_search_options(but: tuple[str, ...] = ()) -> Callable[[Command], Command]:
    """Add the options of a search, all `but` some, to a command, where its parameter `chosen` stands.

    Their values reach the command as the dict `chosen`, ready for `plan_of`.
    """
    shared = {name: one for name, one in inspect.signature(search_options).parameters.items() if name not in but}

    def decorate(command: Command) -> Command:
        parameters: list[inspect.Parameter] = []
        for name, parameter in inspect.signature(command).parameters.items():
            for one in shared.values() if name == "chosen" else [parameter]:
                parameters.append(one.replace(kind=inspect.Parameter.KEYWORD_ONLY))

        @wraps(command)
        def spread(**values: Any) -> None:
            chosen = {name: values.pop(name) for name in shared}
            command(**values, chosen=chosen)

        spread.__signature__ = inspect.Signature(parameters)  # type: ignore[attr-defined]  # a function may have one
        spread.__annotations__ = {parameter.name: parameter.annotation for parameter in parameters}
        return spread

    return decorate
