"""The options of a search, as all commands that search spell them."""

from typing import Annotated

import typer

Scheme = Annotated[str | None, typer.Option(help="Scheme spec, as sequential:algorithm=dfuct.")]
Threads = Annotated[int, typer.Option(help="Threads; more than one needs a parallel scheme.")]
Ranks = Annotated[int, typer.Option(help="MPI ranks to start on this machine.")]
Simulate = Annotated[int, typer.Option(help="Ranks of a simulated cluster.")]
Workers = Annotated[int, typer.Option(help="Threads of each rank that play out; 0: the rank itself does.")]
Network = Annotated[str, typer.Option(help="Simulated network: qdr, shared-memory, 10gbe or FILE.toml.")]
Playouts = Annotated[str | None, typer.Option(help="Stop after so many playouts (default 10000).")]
Seconds = Annotated[str | None, typer.Option(help="Stop after this time, as 5, 500ms or 2m.")]
Bandit = Annotated[str | None, typer.Option(help="ucb1, tuned1, tuned2, rave, rave-mse or puct.")]
Policy = Annotated[str | None, typer.Option(help="Playouts: light, patterns (Go), bridges (Havannah), or wait=1ms.")]
Evaluate = Annotated[str | None, typer.Option(help="Python function instead of playouts, as FILE.py:NAME.")]
Latency = Annotated[str | None, typer.Option(help="Hold MPI messages back, as 50us: emulates a network.")]
ExtendIfUnsure = Annotated[
    str | None, typer.Option(help="Up to so many times the budget while the ranks' trees disagree, as 2.")
]
Nodes = Annotated[str | None, typer.Option(help="Capacity of the tree, in moves.")]
EarlyStop = Annotated[
    bool, typer.Option(help="End a search by --playouts or --seconds when no other move can catch up any more.")
]
Seed = Annotated[int, typer.Option(help="Same seed, same result; not where threads share a tree.")]
