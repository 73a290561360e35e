"""The options that all schemes with travelling jobs share, and the arrays of their ranks."""

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from treespan.core.errors import OptionError
from treespan.core.handles import Handle, entries_of
from treespan.core.options import option
from treespan.core.rng import generator
from treespan.games.position import Position
from treespan.schemes.base import Request
from treespan.schemes.distributed import Distributed, Place
from treespan.schemes.divided_tree import handlers
from treespan.schemes.divided_tree.rank import Dealing, TdsRank
from treespan.schemes.divided_tree.treesplit.copies import SIGNALS, WINDOW
from treespan.schemes.protocol import evaluation
from treespan.schemes.protocol.hooks import no_hooks
from treespan.schemes.protocol.messages import AMAF_LEVEL_WORDS, LEVEL_WORDS, NO_SLOT, UCT_LEVEL_WORDS, new_jobs
from treespan.schemes.protocol.port import (
    FREE,
    HEARD,
    JOBS_ALIVE,
    NO_LOAD,
    NO_RANK,
    NUMBERS,
    SHARED,
    SPARE_SLOTS,
    TO_GRANT,
    Port,
    Program,
    Seat,
    link_free_slots,
)
from treespan.search.options import compiled_settings
from treespan.search.searcher import drop_forbidden
from treespan.search.tree import MAX_VISITS, Tree, new_tree
from treespan.search.uct import find_or_add
from treespan.search.work import new_work


@dataclass(frozen=True)
class Tds(Distributed):
    """Nodes live at key mod N, jobs travel."""

    dfuct_has_amaf: ClassVar[bool] = True

    solver: bool = option(False, "not used: proofs stay in one tree")
    max_depth: int = option(
        127, "moves down the tree before a playout is forced; bounds a job's size", low=1, high=4095
    )
    jobs: int = option(20, "jobs under way for each rank", low=1, high=100_000)
    virtual_loss: str = option(
        "visits",
        "jobs under way count as lost (formula 1) or as unobserved (WU-UCT)",
        choices=("visits", "unobserved"),
    )
    place: str = option(
        "home", "where leaves are played out: at their home, or where less waits", choices=("home", "idle")
    )

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.solver:
            raise OptionError(f"{self.name}: solver=yes is not possible: proofs stay in one tree; leave it out")

    def all_jobs(self, ranks: int, workers: int = 0) -> int:
        """J, the number of jobs under way."""
        return self.jobs * ranks

    def under_way(self, request: Request) -> int:
        return self.all_jobs(request.ranks, request.workers)

    def level_words(self) -> int:
        """Words of a level that travel."""
        return LEVEL_WORDS if self.algorithm == "dfuct" else UCT_LEVEL_WORDS

    def reserved(self, ranks: int) -> int:
        """The first ranks that hold no nodes but perhaps the root."""
        return 0

    def starts_everywhere(self) -> bool:
        """Whether every rank starts jobs of its own, at a copy of the root; else all start at the root's home."""
        return False

    def portion(self) -> int:
        """Playouts that a job is granted each time that it starts at the root; 0: what is left, in halves."""
        return 1

    def dealing(self, request: Request, rows: int, tree: Tree) -> Dealing:
        """How playouts are dealt out; here jobs are what they are."""
        return Dealing(0, 0, 0, 0, np.zeros(0, dtype=np.int32), np.zeros(0, dtype=np.int64))

    def fair_load(self, ranks: int, workers: int) -> int:
        """Leaves that may wait at a rank before chance decides where the next one goes."""
        return self.all_jobs(ranks, workers) // ranks

    def part_slots(self, request: Request) -> int:
        """Slots of each rank for parts of jobs."""
        return 0

    def rank_share(self, playouts: int, ranks: int) -> int:
        """Playouts after which a rank has done its share; 0: the budget is exact."""
        return 0

    def root_home(self, position: Position, ranks: int) -> int:
        reserved = self.reserved(ranks)
        return reserved + position.key % (ranks - reserved)

    def new_seat(self, request: Request, place: Place) -> Seat:
        rank = self.new_rank(request, place)
        handle = self.new_handle(request, place, rank)
        evaluators = evaluation.new_evaluators(request, place, rank)
        start, advance, absorb, evaluate = entries_of(
            [
                (handlers.start, handle),
                (handlers.advance, handle),
                (handlers.absorb, handle),
                (evaluation.evaluate, evaluators[0]),
            ]
        )
        program = Program(start, advance, absorb, evaluate, rank=handle.number, evaluator=evaluators[0].number)
        return Seat(program, rank.port, rank.tree, handle.value, handle, evaluators, evaluation.locate)

    def new_handle(self, request: Request, place: Place, rank: TdsRank) -> Handle:
        """The handle of a rank; a scheme that adds to the handlers sets its hooks."""
        return Handle(rank)

    def new_rank(self, request: Request, place: Place) -> TdsRank:
        """The arrays of the ranks of a place. The root's home gets the root's node."""
        position, ranks = request.position, request.ranks
        game = position.game
        position.require_choice()
        settings = compiled_settings(self, game)
        settings.unobserved = self.virtual_loss == "unobserved"
        tree = new_tree(
            self.nodes, self.uses_priors(), self.uses_amaf(), game.max_moves, with_flights=True, with_keys=True
        )
        work = new_work(game, int(settings.max_depth), request.seed)
        work.states[0] = position.state
        work.states[1] = position.state
        playouts = request.budget.playouts or MAX_VISITS
        all_jobs = min(self.all_jobs(ranks, request.workers), playouts)
        port = self._new_port(request, place, all_jobs, int(settings.max_depth) + 1)
        dealing = self.dealing(request, place.rows, tree)
        settings.whole_grants = dealing.grant > 0
        if self.starts_everywhere() or self.root_home(position, ranks) in place.ranks:
            find_or_add(game, tree, work.states[1], settings, work)
            drop_forbidden(tree, position)
            port.shared[JOBS_ALIVE], port.shared[TO_GRANT] = all_jobs, playouts
        return TdsRank(
            game=game,
            port=port,
            tree=tree,
            work=work,
            settings=settings,
            random=np.array([generator(request.seed, place.first + row)[0] for row in range(place.rows)]),
            root_key=np.uint64(position.key),
            grant=self.portion(),
            all_jobs=all_jobs,
            fair_load=self.fair_load(ranks, request.workers),
            rank_share=self.rank_share(playouts, ranks),
            reserved=self.reserved(ranks),
            place_idle=self.place == "idle",
            root_home=self.root_home(position, ranks),
            dealing=dealing,
            hooks=no_hooks(),
        )

    def message_levels(self, request: Request) -> int:
        """Levels that a slot must have room for beside those of jobs."""
        return 0

    def _new_port(self, request: Request, place: Place, all_jobs: int, max_levels: int) -> Port:
        """Queues and slots: those of jobs that start at the root's home come first, then each rank's own."""
        first, rows, ranks = place.first, place.rows, request.ranks
        at_root, own = all_jobs, SPARE_SLOTS + self.part_slots(request)
        if self.starts_everywhere():
            at_root, own = 0, own + SIGNALS + WINDOW - (-all_jobs // ranks)
        begins = [at_root + own * rank for rank in range(ranks + 1)]
        capacity = begins[ranks]  # with slots of its own a rank has room for whatever may be under way
        levels = max(max_levels, self.message_levels(request))
        numbers = np.zeros((rows, NUMBERS), dtype=np.int64)
        numbers[:, : FREE + 2] = NO_SLOT
        heard = np.zeros((rows, HEARD, 2), dtype=np.int32)
        heard[:, :, 0], heard[:, :, 1] = NO_RANK, NO_LOAD
        reserved = self.reserved(ranks)
        for row, i in np.ndindex(rows, min(HEARD, ranks - reserved - 1)):  # at first the next ones have nothing to do
            heard[row, i] = reserved + (first + row - reserved + 1 + i) % (ranks - reserved), 0
        port = Port(
            jobs=place.jobs or new_jobs(capacity, levels, request.position.game.move_ids if self.uses_amaf() else 0),
            numbers=numbers,
            shared=np.zeros(SHARED, dtype=np.int64),
            heard=heard,
            first=first,
            ranks=ranks,
            search=place.search,
            level_words=self.level_words(),
            amaf_words=AMAF_LEVEL_WORDS if self.uses_amaf() and self.algorithm == "dfuct" else 0,
            common_slots=rows > 1,
        )
        root_home = self.root_home(request.position, ranks)
        for row in range(rows):
            if place.own_slots:
                free = range(at_root if first + row == root_home else 0, capacity)
            else:
                free = range(begins[first + row], begins[first + row + 1])
            link_free_slots(port, row, free.start, free.stop)
        return port
