"""The options of a search, as all commands that search spell them."""

from typing import Annotated

import typer

Scheme = Annotated[str | None, typer.Option(help="Scheme spec, as sequential:algorithm=dfuct.")]
Threads = Annotated[int, typer.Option(help="Threads; more than one needs a parallel scheme.")]
Ranks = Annotated[int, typer.Option(help="MPI ranks to start on this machine.")]
Simulate = Annotated[int, typer.Option(help="Ranks of a simulated cluster.")]
Network = Annotated[str, typer.Option(help="Simulated network: qdr, shared-memory or 10gbe.")]
Playouts = Annotated[str | None, typer.Option(help="Stop after so many playouts (default 10000).")]
Seconds = Annotated[str | None, typer.Option(help="Stop after this time, as 5, 500ms or 2m.")]
Bandit = Annotated[str | None, typer.Option(help="ucb1, tuned1, tuned2, rave or puct.")]
Policy = Annotated[str | None, typer.Option(help="Playouts: light, or wait=1ms for virtual ones.")]
Nodes = Annotated[str | None, typer.Option(help="Capacity of the tree, in moves.")]
Seed = Annotated[int, typer.Option(help="Same seed, same result.")]
