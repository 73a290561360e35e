"""`treespan calibrate`: measure a network profile for simulated clusters."""

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from treespan.cli.app import JsonOption, app, print_json
from treespan.core.errors import OptionError

if TYPE_CHECKING:
    from treespan.lab.store.runner import Step
    from treespan.runtimes.network import Network


@app.command()
def calibrate(
    out: Annotated[Path | None, typer.Option(help="File to write (default NAME.toml).")] = None,
    name: Annotated[str, typer.Option(help="The profile's name.")] = "calibrated",
    seconds: Annotated[float, typer.Option(help="How many seconds the whole measurement takes, roughly.")] = 10.0,
    base: Annotated[
        str, typer.Option(help="Under mpiexec: the profile from which figures are taken that are not measured.")
    ] = "shared-memory",
    list_profiles: Annotated[bool, typer.Option("--list", help="List the profiles of the package.")] = False,
    json_output: JsonOption = False,
) -> None:
    """Measure the costs of messages and jobs for simulated clusters, and write them as a profile.

    Under mpiexec it measures only messages: their time between the first and the last rank, which may be on two
    machines, and their CPU time in a search by all ranks. With mpiexec -n 1 it measures only CPU costs. It takes the
    other figures from the profile --base.

    \b
    Examples:
      treespan calibrate --out here.toml
      treespan search pgame --simulate 64 --network here.toml
      mpiexec -n 2 -hosts a,b treespan calibrate --base here.toml \\
          --out cluster.toml
      treespan calibrate --list
    """
    from treespan.runtimes.launch import inside_mpi
    from treespan.runtimes.network import PROFILES, find_profile

    if not 0.1 <= seconds <= 3600:
        raise OptionError(f"--seconds {seconds:g} is out of range; give 0.1..3600")
    if list_profiles:
        show_profiles(list(PROFILES.values()), json_output)
        return
    from treespan.lab.measure import calibrate as lab

    network: Network | None  # None at ranks other than the first
    if inside_mpi():
        network = lab.calibrate_rank(find_profile(base), name, seconds)
        if network is None:
            return
    else:
        network = lab.calibrate(name, seconds, tell)
    if json_output:
        print_json(vars(network))
    if out or not json_output:
        path = out or Path(f"{name}.toml")
        lab.write_profile(network, path)
        print(f"written to {path}", file=sys.stderr)
    if not json_output:
        show_profiles([network], False)


def tell(step: "Step[Any]") -> None:
    """Say what is measured, when it begins."""
    if step.share == 0.0:
        print(f"measuring {step.unit.describe()}", file=sys.stderr)


def show_profiles(profiles: "list[Network]", as_json: bool) -> None:
    """Profiles as JSON, or as a table in microseconds with the sources below."""
    from treespan.core.tables import as_text, plain_table
    from treespan.terminal import show_folded, terminal_width

    if as_json:
        print_json([vars(profile) for profile in profiles])
        return
    columns = ("latency", "overhead", "gap", "per_byte", "handle", "per_ply", "sequential")
    table = plain_table("profile (us)", *columns)
    for profile in profiles:
        table.add_row(profile.name, *(f"{getattr(profile, column) * 1e6:.4g}" for column in columns))
    print(as_text(table, terminal_width()))
    show_folded(f"{profile.name}: {profile.source}" for profile in profiles)
