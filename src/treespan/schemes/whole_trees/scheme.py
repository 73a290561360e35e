"""The options that all schemes with whole trees share, and the arrays of their ranks."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from treespan.core.errors import OptionError, in_spec, named
from treespan.core.handles import EntryFunction, Handle, entries_of
from treespan.core.jit import Call, compile_together
from treespan.core.options import option
from treespan.core.records import new_records
from treespan.core.rng import generator, hash_words
from treespan.games.position import Position
from treespan.schemes.homes import Homes
from treespan.schemes.kept import Kept
from treespan.schemes.plan import Plan, Request
from treespan.schemes.protocol import evaluation
from treespan.schemes.protocol.hooks import Addition, no_hooks, with_hooks
from treespan.schemes.protocol.messages import NO_SLOT, UCT_LEVEL_WORDS, new_jobs
from treespan.schemes.protocol.port import SPARE_SLOTS, Port, Program, Seat, link_free_slots, new_port, signal_calls
from treespan.schemes.scheme import Finding, NextStep, Place, Scheme
from treespan.schemes.whole_trees import handlers
from treespan.search.options import compiled_settings
from treespan.search.result import rank_moves
from treespan.search.reuse import copy_below
from treespan.search.searcher import FOREVER_NS, drop_moves, lines_of, principal_variation, read_root
from treespan.search.shard import find
from treespan.search.tree import EDGES_PER_NODE, MAX_VISITS, NO_NODE, NODES, REFUSED, ROOT, TreeArrays, new_tree
from treespan.search.uct import find_or_add, node_calls
from treespan.search.work import new_work

WITHOUT_AMAF = ("ucb1", "tuned1", "tuned2", "puct")  # bandits that need no moves of playouts
SIMULATED_ROOM = 2**26  # moves for all trees of a simulated cluster together: 2 GB if they are ever used


@dataclass(frozen=True)
class LocalTree(Scheme):
    """Every rank, or rank 0 alone, has a whole tree."""

    has_trees: ClassVar[bool] = True  # every rank; else rank 0 alone
    shares_tree: ClassVar[bool] = False  # simulated: all ranks have the same one
    amaf_with_workers: ClassVar[bool] = False
    search_choices: ClassVar[dict[str, tuple[Any, ...]]] = {"algorithm": ("uct",)}

    def counts_as(self) -> str:
        """What simulations under way count as: `loss`, `visits`, `unobserved` or `none`."""
        return "none"

    def jobs_in_tree(self, plan: Plan) -> int:
        """Playouts that may be under way in one tree."""
        return 1

    def under_way(self, plan: Plan) -> int:
        return self.jobs_in_tree(plan) * (plan.ranks if self.has_trees else 1)

    def playouts_at_leaf(self, plan: Plan) -> int:
        return 1

    def first_player(self, ranks: int) -> int:
        """Ranks from this one on play out, where rank 0 alone has a tree."""
        return 0

    def players(self, ranks: int) -> int:
        return ranks - self.first_player(ranks)

    def spare_slots(self, request: Request, own_slots: bool) -> int:
        """Slots of each rank for messages that are no jobs; `own_slots`: messages are copied."""
        return SPARE_SLOTS

    def level_work(self) -> int:
        """What a level takes more than in a tree of one's own, in units of HANDLED."""
        return 0

    def message_levels(self, request: Request) -> int:
        """Levels that a slot must have room for beside those of jobs."""
        return 0

    def quota(self, request: Request, rank: int) -> int:
        """Playouts of the budget for the tree of a rank: dealt out evenly over the trees."""
        playouts = request.plan.playouts
        if not self.has_trees:
            return playouts if rank == 0 else 0
        return share_of(playouts, request.plan.ranks, rank)

    def most_playouts(self, request: Request) -> int:
        """Playouts that all ranks may do together."""
        return request.plan.playouts

    def stop_ns(self, request: Request) -> int:
        """How long after its start a rank begins simulations, if it must end before the search does."""
        return FOREVER_NS

    def add_to(self, rank: handlers.LocalRank, request: Request, place: Place) -> Addition:
        """What the scheme adds to the handlers: a tuple that begins with the rank, and functions by hook."""
        return Addition(rank, {"finished": handlers.end_alone})

    def evaluate_entry(self) -> Callable[[Any, int, int], int]:
        """What gives leaves their values."""
        return handlers.play_out

    def root_home(self, position: Position, ranks: int, homes: Homes | None = None) -> int:
        return 0

    def read(self, request: Request, seat: Seat) -> Finding:
        """Rank 0 has a whole tree: the line goes on."""
        game, root = request.position.game, read_root(request.position.game, seat.tree)
        best = rank_moves(root.moves, request.plan.options.choice)[0].id
        return Finding(root, principal_variation(game, seat.tree, best))

    def lines(self, request: Request, seat: Seat, step: NextStep) -> dict[int, list[str]]:
        return lines_of(request.position.game, seat.tree)

    def check(self, request: Request) -> None:
        """Refuse what cannot be done with these ranks and workers."""
        if not request.plan.options.uses_amaf():
            return
        if request.plan.worker_threads or self.jobs_in_tree(request.plan) > 1 or not self.has_trees:
            raise OptionError(
                f"{self.name}: {in_spec('bandit', request.plan.options.bandit)} needs the moves of each playout when "
                f"its result is counted; leave out {named('workers')} and {named('evaluate')}, keep jobs=1, or give "
                f"{named('bandit', 'ucb1')}"
            )

    def new_seat(self, request: Request, place: Place) -> Seat:
        self.check(request)
        request.position.require_choice()
        kept = place.kept or self.nothing_kept(request, place)
        rank = self._new_rank(request, place, kept)
        evaluators = evaluation.new_evaluators(request, place, rank)
        compile_together([*place.runtime_calls(rank.port), *_calls(rank, self.evaluate_entry(), evaluators[0])])
        self._plant(request, rank, kept)
        addition = self.add_to(rank, request, place)
        handle = with_hooks(addition)
        start, advance, absorb, evaluate = entries_of(
            [
                (handlers.start, handle),
                (handlers.advance, handle),
                (handlers.absorb, handle),
                (self.evaluate_entry(), evaluators[0]),
            ]
        )
        program = Program(start, advance, absorb, evaluate, rank=handle.number, evaluator=evaluators[0].number)
        return Seat(program, rank.port, rank.tree, handle.value, handle, evaluators, evaluation.locate)

    def nothing_kept(self, request: Request, place: Place) -> Kept:
        plan, position = request.plan, request.position
        depth = int(compiled_settings(plan.options, position.game).max_depth)
        return Kept(
            tree=self._new_tree(request, place.rows),
            work=new_work(position.game, depth, plan.seed),
            random=np.array([generator(plan.seed, place.first + row)[0] for row in range(place.rows)]),
            root_key=np.uint64(position.key),
            cut=frozenset(),
            homes=self.usual_homes(plan.ranks),
        )

    def keep(self, request: Request, seat: Seat) -> Kept:
        rank = seat.rank
        rank.work.salt[0] = 0
        return Kept(
            tree=rank.tree,
            work=rank.work,
            random=rank.random,
            root_key=np.uint64(request.position.key),
            cut=request.cut,
            homes=self.usual_homes(request.plan.ranks),
        )

    def _new_rank(self, request: Request, place: Place, kept: Kept) -> handlers.LocalRank:
        """The arrays of the ranks of a place; their trees have no roots yet."""
        position, plan, rows = request.position, request.plan, place.rows
        settings = compiled_settings(
            plan.options,
            position.game,
            unobserved=self.counts_as() == "unobserved",
            count_early=self.counts_as() == "loss",
        )
        work = kept.work
        work.states[0] = position.state
        work.standing[0] = NO_SLOT
        salts = np.zeros(rows, dtype=np.uint64)
        if not self.shares_tree:
            salts[1:] = [hash_words(row) for row in range(1, rows)]
        state = new_records(handlers.LOCAL_STATE, rows)
        state.quota = [self.quota(request, place.first + row) for row in range(rows)]
        state.stop_at = self.stop_ns(request)
        return handlers.LocalRank(
            game=position.game,
            port=self._new_port(request, place, int(settings.max_depth) + 1),
            tree=self._tree_of(request, rows, kept),
            work=work,
            settings=settings,
            random=kept.random,
            salts=salts,
            roots=np.full(rows, ROOT, dtype=np.uint32),
            state=state,
            has_trees=self.has_trees,
            jobs=self.jobs_in_tree(plan),
            playouts_per_leaf=self.playouts_at_leaf(plan),
            first_player=self.first_player(plan.ranks),
            players=self.players(plan.ranks),
            level_work=self.level_work(),
            hooks=no_hooks(),
        )

    def _new_tree(self, request: Request, rows: int) -> TreeArrays:
        """Room for the trees of all ranks of a place; with counts of simulations under way where there are several."""
        game, options = request.position.game, request.plan.options
        trees = rows if self.has_trees and not self.shares_tree else 1
        least = max(game.max_moves, EDGES_PER_NODE)  # of a root
        if trees > 1 and options.nodes < least:
            raise OptionError(
                f"{named('nodes', options.nodes)} is too small for a root at each rank; give at least {least}"
            )
        # A simulation makes one node at most in a tree: a short search of many ranks needs little room, if none follows
        playouts = self.most_playouts(request) if request.tree is None else MAX_VISITS
        needed = trees * (1 + playouts) * least
        capacity = min(options.nodes * trees, needed, max(options.nodes, SIMULATED_ROOM, trees * least))
        are_several = self.jobs_in_tree(request.plan) > 1 or (self.shares_tree and request.plan.ranks > 1)
        flights = are_several and self.counts_as() in ("visits", "unobserved")
        return new_tree(capacity, options.uses_priors(), options.uses_amaf(), game.max_moves, with_flights=flights)

    def _tree_of(self, request: Request, rows: int, kept: Kept) -> TreeArrays:
        """The arrays for the trees of a place: those before if the root stays, else new ones for what lies below it."""
        kept.tree.used[REFUSED] = 0
        is_same = int(kept.root_key) == request.position.key and kept.cut == request.cut
        return kept.tree if is_same or kept.tree.used[NODES] == 0 else self._new_tree(request, rows)

    def _plant(self, request: Request, of: handlers.LocalRank, kept: Kept) -> None:
        """Make the root of every tree, with what was kept below it."""
        position, names = request.position, np.full(int(kept.tree.used[NODES]), NO_NODE, dtype=np.uint32)
        for row, salt in enumerate(of.salts):
            if row > 0 and (not self.has_trees or self.shares_tree):
                continue
            before = find(kept.tree, position.key ^ int(salt))
            if of.tree is not kept.tree and before != NO_NODE and int(kept.root_key) != position.key:
                copy_below(kept.tree, of.tree, before, names)
            of.work.salt[0] = salt
            of.work.states[1] = position.state
            of.roots[row] = find_or_add(of.game, of.tree, of.work.states[1], of.settings, of.work)
            if of.tree is not kept.tree or before == NO_NODE:
                drop_moves(of.tree, request.cut, of.roots[row])

    def _new_port(self, request: Request, place: Place, max_levels: int) -> Port:
        """Queues and slots: first those of rank 0's jobs, if it has the only tree, then each rank's own."""
        first, rows, ranks = place.first, place.rows, request.plan.ranks
        jobs, spare = self.jobs_in_tree(request.plan), self.spare_slots(request, place.own_slots)
        at_root, own = (0, jobs + spare) if self.has_trees else (jobs, spare)
        capacity = at_root + own * (1 if place.own_slots else ranks)
        port = new_port(
            place.jobs or new_jobs(capacity, max(max_levels, self.message_levels(request))),
            first,
            rows,
            ranks=ranks,
            search=place.search,
            level_words=UCT_LEVEL_WORDS,
        )
        for row in range(rows):
            if place.own_slots:
                link_free_slots(port, row, 0, capacity)
                continue
            if first + row == 0:
                link_free_slots(port, row, 0, at_root)
            begin = at_root + own * (first + row)
            link_free_slots(port, row, begin, begin + own)
        return port


@dataclass(frozen=True)
class BusyTree(LocalTree):
    """Several simulations may be under way in a tree."""

    virtual_loss: str = option(
        "visits",
        "simulations under way count as lost (formula 1), as unobserved (WU-UCT), or not at all",
        choices=("visits", "unobserved", "none"),
    )

    def counts_as(self) -> str:
        return self.virtual_loss


def _calls(rank: handlers.LocalRank, evaluate: EntryFunction, evaluator: Handle) -> list[Call]:
    """What ranks call, to be compiled together: entries, and the units that these call."""
    handle = Handle(rank)
    return [
        (handlers.descend, (handle, 0, 0)),
        (handlers.go_on, (handle, 0)),
        *node_calls(rank.game, rank.tree, rank.settings, rank.work),
        (handlers.end_simulation, (handle, 0, 0)),
        (evaluate, (evaluator, 0, 0)),
        *signal_calls(rank.port),
        *((entry, (handle, 0, 0)) for entry in (handlers.start, handlers.advance, handlers.absorb)),
    ]


def share_of(playouts: int, ranks: int, rank: int) -> int:
    """Playouts of a rank where all have the same number, or one more."""
    return playouts // ranks + (rank < playouts % ranks)
