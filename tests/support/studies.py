"""A study and a measurement of speed-ups that take no time."""

from pathlib import Path
from typing import Any

from treespan.core.jit import JIT_DISABLED
from treespan.games.registry import make_game
from treespan.lab.measure.searches import search_of
from treespan.lab.measure.speedup import Scaling
from treespan.lab.papers.laboratory import Backlog, plan_work, run_study
from treespan.lab.papers.study import Block, Cell, Study, mean_of, score_of_a, win_rate
from treespan.lab.papers.units import MatchGame
from treespan.lab.store.records import Records
from treespan.schemes.registry import read_scheme

PLAYOUTS = 40 if JIT_DISABLED else 400

BLOCK = Block("figures")
PLAYERS = ("--playouts 20 --scheme sequential:nodes=20000", "--playouts 5 --scheme sequential:nodes=20000")
GAMES = [MatchGame("tictactoe", *PLAYERS, number) for number in range(4)]
SEARCHES = [search_of("tictactoe", "sequential:nodes=20000", "threads", 1, 50, seed, seed) for seed in (1, 2)]


def cells(scale: str) -> list[Cell]:
    count = {"smoke": 2, "desk": 4, "full": 4}[scale]
    return [
        Cell(BLOCK, "games", "rate", GAMES[:count], win_rate(score_of_a), 0.7, is_share=True),
        Cell(BLOCK, "searches", "depth", SEARCHES, mean_of("depth"), 2.0),
    ]


STUDY = Study("test.table", "games and searches", "real, one thread", cells, simulated=False)


def run(path: Path, scale: str = "desk", jobs: int = 1, on_step: Any = None, study: Study = STUDY) -> Backlog:
    with Records(path) as records:
        work = plan_work(study, scale, records)
        run_study(study, work, records, "treespan paper run test.table", jobs, on_step)
        return work


def new_plan(scheme: str = "tds-dfuct:policy=wait=1ms", game: str = "pgame:branching=4", **options: Any) -> Scaling:
    defaults: dict[str, Any] = {"points": (("simulated", 1), ("simulated", 3)), "playouts": PLAYOUTS, "problems": 2}
    return Scaling(make_game(game), *read_scheme(scheme), **{**defaults, **options})
