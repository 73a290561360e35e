"""The options that all schemes with travelling jobs share, and the arrays of their ranks."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from treespan.core.errors import OptionError, in_spec
from treespan.core.handles import Handle, entries_of
from treespan.core.jit import Call, compile_together
from treespan.core.options import option
from treespan.core.rng import generator
from treespan.games.position import Position
from treespan.schemes.divided_tree import handlers, proofs
from treespan.schemes.divided_tree.mending import add_news, children_of, end_flights, known_of, set_root
from treespan.schemes.divided_tree.rank import TdsRank, home_of
from treespan.schemes.homes import Homes, usual_homes
from treespan.schemes.kept import Kept
from treespan.schemes.plan import Plan, Request
from treespan.schemes.protocol import evaluation
from treespan.schemes.protocol.hooks import Addition, no_hooks, with_hooks
from treespan.schemes.protocol.messages import AMAF_LEVEL_WORDS, LEVEL_WORDS, NO_SLOT, UCT_LEVEL_WORDS, new_jobs
from treespan.schemes.protocol.port import (
    HEARD,
    SPARE_SLOTS,
    Port,
    Program,
    Seat,
    link_free_slots,
    new_port,
    signal_calls,
)
from treespan.schemes.scheme import Finding, News, NextStep, Place, Scheme
from treespan.search.lines import LINES, Step, best_step, walk
from treespan.search.options import SearchOptions, compiled_settings
from treespan.search.searcher import drop_moves
from treespan.search.shard import Shard, add_nodes, copy_nodes, find, forget
from treespan.search.tree import MAX_VISITS, NO_NODE, REFUSED, SEARCH, TERMINAL, UNPROVEN, new_tree, remove_node
from treespan.search.uct import find_or_add, node_calls
from treespan.search.work import new_work

MAX_DEPTH = 4095  # of a job


@dataclass(frozen=True)
class DividedTree(Scheme):
    """Nodes live at key mod N, jobs travel."""

    dfuct_has_amaf: ClassVar[bool] = True
    divides_tree: ClassVar[bool] = True
    search_defaults: ClassVar[dict[str, Any]] = {"max_depth": 127}  # bounds a job's size

    jobs: int = option(20, "jobs under way for each rank", low=1, high=100_000)
    place: str = option(
        "home", "where leaves are played out: at their home, or where less waits", choices=("home", "idle")
    )

    def check_options(self, options: SearchOptions) -> None:
        super().check_options(options)
        if options.max_depth > MAX_DEPTH:
            given = in_spec("max_depth", options.max_depth)
            raise OptionError(f"{self.name}: {given} is out of range; give 1..{MAX_DEPTH}")

    def all_jobs(self, plan: Plan) -> int:
        """J, the number of jobs under way."""
        return self.jobs * plan.ranks

    def under_way(self, plan: Plan) -> int:
        return self.all_jobs(plan)

    def reserved(self, ranks: int) -> int:
        """The first ranks that hold no nodes but perhaps the root."""
        return 0

    def starts_everywhere(self) -> bool:
        """Whether every rank starts jobs of its own, at a copy of the root; else all start at the root's home."""
        return False

    def counts_unobserved(self) -> bool:
        """Whether jobs under way count as unobserved (WU-UCT); else as lost (formula 1)."""
        return True

    def keeps_all_moves(self, options: SearchOptions) -> bool:
        """Whether jobs ask every node on their way up."""
        return options.kept_moves == "all"

    def counts_whole_grants(self) -> bool:
        """Whether a job under way counts as all playouts that it may do, not as one."""
        return False

    def portion(self) -> int:
        """Playouts that a job is granted each time that it starts at the root; 0: what is left, in halves."""
        return 1

    def large_from(self, plan: Plan) -> int:
        """The scheme takes over jobs with more playouts than this (`protocol/hooks.py`)."""
        return MAX_VISITS

    def fair_load(self, plan: Plan) -> int:
        """Leaves that may wait at a rank before chance decides where the next one goes."""
        return self.all_jobs(plan) // plan.ranks

    def slots(self, plan: Plan, all_jobs: int) -> tuple[int, int]:
        """Slots at the root's home for the jobs that start there, and slots of each rank."""
        return all_jobs, SPARE_SLOTS

    def rank_share(self, playouts: int, ranks: int) -> int:
        """Playouts after which a rank has done its share; 0: the budget is exact."""
        return 0

    def usual_homes(self, ranks: int) -> Homes:
        return usual_homes(ranks, self.reserved(ranks))

    def homes(self, keys: np.ndarray, position: Position, ranks: int) -> np.ndarray:
        homes = self.usual_homes(ranks).of(keys)
        homes[keys == np.uint64(position.key)] = self.root_home(position, ranks)
        return homes

    def root_home(self, position: Position, ranks: int, homes: Homes | None = None) -> int:
        """Rank 0, if it is reserved; else the rank that its key names, as that of any position."""
        homes = homes or self.usual_homes(ranks)
        return 0 if homes.reserved else int(homes.of(np.array([position.key], dtype=np.uint64))[0])

    def new_seat(self, request: Request, place: Place) -> Seat:
        rank = self.new_rank(request, place)
        addition = self.add_to(rank, request, place)
        evaluators = evaluation.new_evaluators(request, place, rank)
        compile_together([*place.runtime_calls(rank.port), *_calls(rank, addition, evaluators[0])])
        if self._has_root(request, place):
            rank.root[0] = find_or_add(rank.game, rank.tree, rank.work.states[1], rank.settings, rank.work)
            drop_moves(rank.tree, request.cut, rank.root[0])
            if rank.tree.node_proven[rank.root[0]] != UNPROVEN:  # by an earlier search of this tree
                rank.port.budget[0].to_grant = 0
        handle = with_hooks(addition)
        start, advance, absorb, evaluate = entries_of(
            [
                (handlers.start, handle),
                (handlers.advance, handle),
                (handlers.absorb, handle),
                (proofs.evaluate, evaluators[0]),
            ]
        )
        program = Program(start, advance, absorb, evaluate, rank=handle.number, evaluator=evaluators[0].number)
        return Seat(program, rank.port, rank.tree, handle.value, handle, evaluators, proofs.locate)

    def add_to(self, rank: TdsRank, request: Request, place: Place) -> Addition:
        """What the scheme adds to the handlers: a tuple that begins with the rank, and functions by hook."""
        return Addition(rank, {})

    def _has_root(self, request: Request, place: Place) -> bool:
        home = self.root_home(request.position, request.plan.ranks, place.homes)
        return self.starts_everywhere() or home in place.ranks

    def new_rank(self, request: Request, place: Place) -> TdsRank:
        """The arrays of the ranks of a place."""
        position, plan = request.position, request.plan
        game, ranks = position.game, plan.ranks
        position.require_choice()
        settings = self._settings(request)
        kept = place.kept or self.nothing_kept(request, place)
        tree, work = kept.tree, kept.work
        visits_before = self._go_on(request, kept)
        work.states[0] = position.state
        work.states[1] = position.state
        work.standing[0] = NO_SLOT
        all_jobs = min(self.all_jobs(plan), plan.playouts)
        port = self._new_port(request, place, all_jobs, int(settings.max_depth) + 1)
        if self._has_root(request, place):
            port.budget[0].jobs_alive = all_jobs
            port.budget[0].to_grant = min(plan.playouts, MAX_VISITS - visits_before)
        return TdsRank(
            game=game,
            port=port,
            tree=tree,
            work=work,
            settings=settings,
            random=kept.random,
            root_key=np.uint64(position.key),
            root=np.full(1, NO_NODE),
            visits_before=visits_before,
            grant=self.portion(),
            all_jobs=all_jobs,
            fair_load=self.fair_load(plan),
            rank_share=self.rank_share(plan.playouts, ranks),
            reserved=kept.homes.reserved,
            homes=kept.homes.buckets,
            place_idle=self.place == "idle",
            root_home=self.root_home(position, ranks, kept.homes),
            whole_grants=self.counts_whole_grants(),
            large_from=self.large_from(plan),
            hooks=no_hooks(),
        )

    def _settings(self, request: Request) -> Any:
        options = request.plan.options
        return compiled_settings(
            options,
            request.position.game,
            unobserved=self.counts_unobserved(),
            keep_all=self.keeps_all_moves(options),
        )

    def nothing_kept(self, request: Request, place: Place) -> Kept:
        game, options, seed = request.position.game, request.plan.options, request.plan.seed
        return Kept(
            tree=new_tree(
                options.nodes,
                options.uses_priors(),
                options.uses_amaf(),
                game.max_moves,
                with_flights=True,
                with_keys=True,
            ),
            work=new_work(game, int(compiled_settings(options, game).max_depth), seed),
            random=np.array([generator(seed, place.first + row)[0] for row in range(place.rows)]),
            root_key=np.uint64(request.position.key),
            cut=frozenset(),
            homes=self.usual_homes(request.plan.ranks),
        )

    def _go_on(self, request: Request, kept: Kept) -> int:
        """Begin the next search in a tree. Returns the visits that the root has already."""
        tree, key = kept.tree, request.position.key
        tree.used[SEARCH] += 1
        tree.used[REFUSED] = 0
        if kept.cut and (int(kept.root_key) != key or kept.cut != request.cut):
            forget(tree, int(kept.root_key))  # by other ways all its moves may be legal
        root = find(tree, key)
        if root == NO_NODE:
            return 0
        drop_moves(tree, request.cut, root)
        return int(tree.node_visits[root])

    def needs_root_moved(self, ranks: int, homes: Homes) -> bool:
        return ranks > 1 and (self.starts_everywhere() or homes.reserved > 0)

    def root_shard(self, position: Position, place: Place) -> Shard | None:
        """The root's node, if the ranks of a place have kept it."""
        tree = place.kept.tree if place.kept else None
        root = NO_NODE if tree is None else find(tree, position.key)
        return None if tree is None or root == NO_NODE else copy_nodes(tree, np.array([root]))

    def take_root(self, position: Position, homes: Homes, place: Place, root: Shard | None) -> None:
        if place.kept is None:
            return
        if place.ranks.stop <= homes.reserved and int(place.kept.root_key) != position.key:
            forget(place.kept.tree, int(place.kept.root_key))  # it is not at its home
        wants = self.starts_everywhere() or self.root_home(position, 0, homes) in place.ranks
        has = find(place.kept.tree, position.key) != NO_NODE
        if root is not None and wants and not has:
            add_nodes(place.kept.tree, root)
        if has and not wants:
            forget(place.kept.tree, position.key)

    # When a rank is lost

    def salvage(self, request: Request, seat: Seat) -> tuple[Kept | None, News]:
        kept = self.keep(request, seat)
        end_flights(kept)
        return kept, []

    def mend(
        self, request: Request, place: Place, news: Sequence[News], add_up: Callable[[np.ndarray], np.ndarray]
    ) -> None:
        kept, position = place.kept, request.position
        assert kept is not None
        for of_rank in news:
            for of_copy in of_rank:
                add_news(kept.tree, of_copy)
        lost = kept.homes.lost
        bucket = position.key % len(kept.homes.buckets)
        is_lost = lost is not None and kept.homes.reserved == 0 and bool(lost[bucket])
        has_root = find(kept.tree, position.key) != NO_NODE
        if add_up(np.array([has_root])).any() and not is_lost:  # else one from a save knows less than its children
            return
        children = children_of(position)
        known = add_up(known_of(kept.tree, children))
        if not known[0].any() or not self._has_root(request, place):
            return
        kept.work.states[0] = kept.work.states[1] = position.state
        settings = self._settings(request)
        root = find_or_add(position.game, kept.tree, kept.work.states[1], settings, kept.work)
        if root < TERMINAL:
            set_root(kept.tree, root, children, known)

    def root_visits(self, request: Request, place: Place) -> int:
        tree = place.kept.tree if place.kept else None
        root = NO_NODE if tree is None else find(tree, request.position.key)
        return 0 if tree is None or root == NO_NODE else int(tree.node_visits[root])

    def root_of(self, seat: Seat) -> np.uint32:
        return np.uint32(seat.rank.root[0])

    def read(self, request: Request, seat: Seat) -> Finding:
        found = super().read(request, seat)
        found.root.visits_before = seat.rank.visits_before
        return found

    def lines(self, request: Request, seat: Seat, step: NextStep) -> dict[int, list[str]]:
        tree, root, game = seat.tree, seat.rank.root[0], request.position.game
        first, count = int(tree.node_first[root]), int(tree.node_count[root])
        visits = tree.edge_visits[first : first + count]
        best = first + np.argsort(-visits, kind="stable")[:LINES]
        steps = [Step(int(tree.edge_move[edge]), int(tree.edge_key[edge])) for edge in best if tree.edge_visits[edge]]
        return {start.move: [game.move_name(move) for move in walk(start, step)] for start in steps}

    def next_step(self, seat: Seat, key: int) -> Step | None:
        return best_step(seat.tree, key)

    def home_of_key(self, seat: Seat, key: int) -> int:
        return int(getattr(home_of, "py_func", home_of)(np.uint64(key), seat.rank))

    def keep(self, request: Request, seat: Seat) -> Kept:
        """The tree. What only this search needed is taken out of it."""
        rank = seat.rank
        at_home = seat.port.first <= rank.root_home < seat.port.first + len(seat.port.state)
        if rank.root[0] != NO_NODE and not at_home:
            remove_node(rank.tree, rank.root[0])
        return Kept(rank.tree, rank.work, rank.random, rank.root_key, request.cut, Homes(rank.homes, rank.reserved))

    def message_levels(self, request: Request) -> int:
        """Levels that a slot must have room for beside those of jobs."""
        return 0

    def _new_port(self, request: Request, place: Place, all_jobs: int, max_levels: int) -> Port:
        """Queues and slots: those of jobs that start at the root's home come first, then each rank's own."""
        first, rows, ranks, options = place.first, place.rows, request.plan.ranks, request.plan.options
        at_root, own = self.slots(request.plan, all_jobs)
        begins = [at_root + own * rank for rank in range(ranks + 1)]
        capacity = begins[ranks]  # with slots of its own a rank has room for whatever may be under way
        levels = max(max_levels, self.message_levels(request))
        homes, depth_first = place.homes or self.usual_homes(ranks), options.algorithm == "dfuct"
        reserved = homes.reserved
        port = new_port(
            place.jobs or new_jobs(capacity, levels, request.position.game.move_ids if options.uses_amaf() else 0),
            first,
            rows,
            ranks=ranks,
            search=place.search,
            level_words=LEVEL_WORDS if depth_first else UCT_LEVEL_WORDS,
            amaf_words=AMAF_LEVEL_WORDS if options.uses_amaf() and depth_first else 0,
            common_slots=rows > 1,
        )
        for row, i in np.ndindex(rows, min(HEARD, ranks - reserved - 1)):  # at first the next ones have nothing to do
            port.heard[row, i] = reserved + (first + row - reserved + 1 + i) % (ranks - reserved), 0
        root_home = self.root_home(request.position, ranks, homes)
        for row in range(rows):
            if place.own_slots:
                free = range(at_root if first + row == root_home else 0, capacity)
            else:
                free = range(begins[first + row], begins[first + row + 1])
            link_free_slots(port, row, free.start, free.stop)
        return port


def _calls(rank: TdsRank, addition: Addition, evaluator: Handle) -> list[Call]:
    """What ranks call, to be compiled together: entries, and the units that these call."""
    whole, handle = Handle(addition.value), Handle(rank)
    return [
        *((unit, (whole, 0, 0, np.uint32(0))) for unit in addition.units),
        *((function, (whole, 0, 0)) for function in addition.functions.values()),
        (handlers.descend, (handle, 0, 0, np.uint32(0))),
        (handlers.absorb, (handle, 0, 0)),
        (handlers.advance, (handle, 0, 0)),
        *node_calls(rank.game, rank.tree, rank.settings, rank.work),
        (proofs.evaluate, (evaluator, 0, 0)),
        *signal_calls(rank.port),
        (handlers.restart_job, (handle, 0, 0)),
        (handlers.start, (handle, 0, 0)),
    ]


@dataclass(frozen=True)
class Tds(DividedTree):
    """The schemes of the papers: jobs under way count as they say."""

    virtual_loss: str = option(
        "visits",
        "jobs under way count as lost (formula 1) or as unobserved (WU-UCT)",
        choices=("visits", "unobserved"),
    )

    def counts_unobserved(self) -> bool:
        return self.virtual_loss == "unobserved"
