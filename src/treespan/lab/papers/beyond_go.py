"""Beyond the papers: the worth of each part of the search of Go, and the strength of the schemes on a few ranks."""

from functools import cache

from treespan.lab.papers.beyond import PERIODS_A_MOVE, SHARING, distributed_schemes, with_period
from treespan.lab.papers.cazenave2008 import GNU_GO, NEEDS
from treespan.lab.papers.cells import at, games, win_cell
from treespan.lab.papers.study import Block, Cell, Sheet, Study, Verdict, compare, judge
from treespan.schemes.divided_tree.scheme import DividedTree
from treespan.schemes.registry import SCHEMES

GAME = "go:size=9,komi=7.5"
SMALL_GAME = "go:size=5,komi=7.5"

# treespan.go-options: one option changed, against the defaults

VARIANTS = {
    "policy=light": "--policy light",
    "bandit=ucb1 (no RAVE, no priors)": "--bandit ucb1",
    "bandit=rave (no priors)": "--bandit rave",
    "prior_visits=10": "--scheme sequential:prior_visits=10",
    "prior_visits=40": "--scheme sequential:prior_visits=40",
    "rave_visits=1000": "--scheme sequential:rave_visits=1000",
    "rave_visits=10000": "--scheme sequential:rave_visits=10000",
    "threshold=2": "--scheme sequential:threshold=2",
    "threshold=8": "--scheme sequential:threshold=8",
    "c=0.1": "--scheme sequential:c=0.1",
    "expertise=30": "--scheme sequential:expertise=30",
    "conditioning=yes": "--scheme sequential:conditioning=yes",
    "expertise=30, conditioning=yes": "--scheme sequential:expertise=30,conditioning=yes",
}
SMOKE_VARIANTS = ("policy=light", "prior_visits=40")
AGAINST_DEFAULTS = Block("Go 9×9: win rate of a changed option against the defaults, equal playouts")


@cache
def option_cells(scale: str) -> list[Cell]:
    playouts, count = at(scale, 20, 600, 3_000), at(scale, 2, 100, 1_000)
    found = []
    for name, options in VARIANTS.items():
        if scale == "smoke" and name not in SMOKE_VARIANTS:
            continue
        each = f"--playouts {playouts} --reuse no"
        units = games(at(scale, SMALL_GAME, GAME, GAME), f"{options} {each}", each, count, weight=playouts / 200)
        found.append(win_cell(AGAINST_DEFAULTS, name, "won", units))
    return found


def option_findings(sheet: Sheet) -> list[Verdict]:
    values = [sheet.value(AGAINST_DEFAULTS, name, "won") for name in VARIANTS]
    return [judge("No change beats the defaults (95 % sure)", values, lambda value: value.low <= 0.5)]


# treespan.go-ranks: all schemes against GNU Go at equal playouts

RANKS = 4
MOVE_SECONDS = 1e-2  # simulated time of a search of desk scale on four ranks; some schemes' periods must suit it
# Schemes whose defaults suit long searches only, with options for short ones
FOR_SHORT_SEARCHES = {"tds-dfuct": "tds-dfuct:jobs=2,grant=4", "treesplit": "treesplit:overload=1,n_sync=5"}
AGAINST_GNU_GO = Block(f"Go 9×9: win rate against GNU Go, level 10, by scheme, {RANKS} ranks, equal playouts")
SEQUENTIAL = "sequential"


def rank_rows(scale: str) -> dict[str, str]:
    """Return the names of rows, and the players' options."""
    seconds = MOVE_SECONDS * at(scale, 0.01, 1.0, 5.0)
    specs = {}
    for scheme in distributed_schemes(scale):
        solver = "solver=no" if issubclass(SCHEMES[scheme], DividedTree) else ""  # as when the table was published
        specs[scheme] = (with_period(scheme, seconds / PERIODS_A_MOVE) + solver).rstrip(":,")
        if other := FOR_SHORT_SEARCHES.get(scheme):
            specs[other] = f"{other},{solver}"
    return {SEQUENTIAL: ""} | {name: f"--scheme {spec} --simulate {RANKS} " for name, spec in specs.items()}


@cache
def rank_cells(scale: str) -> list[Cell]:
    playouts, count = at(scale, 20, 2_000, 10_000), at(scale, 2, 60, 1_000)
    found = []
    for name, options in rank_rows(scale).items():
        a = f"{options}--playouts {playouts} --reuse no"
        b = at(scale, "--playouts 20 --reuse no", GNU_GO, GNU_GO)
        units = games(at(scale, SMALL_GAME, GAME, GAME), a, b, count, weight=playouts / 200)
        found.append(win_cell(AGAINST_GNU_GO, name, "won", units))
    return found


def rank_findings(sheet: Sheet) -> list[Verdict]:
    alone = sheet.value(AGAINST_GNU_GO, SEQUENTIAL, "won")
    values = [sheet.value(AGAINST_GNU_GO, name, "won") for name in rank_rows("full") if name != SEQUENTIAL]
    claim = f"With {RANKS} ranks a scheme loses at most 5 points to the sequential search"
    return [compare(claim, [(value, alone) for value in values], lambda ranks, one: ranks >= one - 0.05)]


STUDIES = (
    Study(
        "treespan.go-options",
        "Go: what each option of the search is worth",
        "real, one thread",
        option_cells,
        simulated=False,
        findings=option_findings,
        remark="Each move starts from nothing. Expertise and conditioning cost time, which equal playouts do not show.",
    ),
    Study(
        "treespan.go-ranks",
        f"Go: all schemes with {RANKS} ranks against GNU Go",
        "simulated ranks, network qdr",
        rank_cells,
        needs=NEEDS,
        findings=rank_findings,
        remark="Each move starts from nothing; all have the same playouts a move. leaf, master-worker, broadcast and "
        f"mp-mcts have no RAVE and no priors. {', '.join(SHARING)} share about {PERIODS_A_MOVE} times a move. "
        "Schemes with one tree over all ranks prove nothing here (solver=no).",
    ),
)
