"""What a scheme is: how the simulations of a search are spread over ranks.

A scheme is a frozen dataclass of its own options, with the paper's defaults. How one simulation goes down the tree it
does not say: that is `search/options.py`. It says which of those options it can do.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, fields, replace
from typing import Any, ClassVar

import numpy as np

from treespan.core.errors import OptionError, in_spec
from treespan.core.jit import Call
from treespan.core.options import changed_options, validate, word_of
from treespan.games.position import Position
from treespan.games.rules import Game
from treespan.schemes.homes import Homes, usual_homes
from treespan.schemes.kept import Kept
from treespan.schemes.plan import Budget, Looks, Plan, Progress, Request, WantsStop
from treespan.schemes.protocol.messages import Jobs
from treespan.schemes.protocol.port import Port, Seat
from treespan.search.lines import Step
from treespan.search.options import SearchOptions
from treespan.search.result import SearchResult, rank_moves
from treespan.search.searcher import FOREVER_NS, RootView, Searcher, read_root
from treespan.search.shard import Shard
from treespan.search.tree import ROOT, TreeArrays

NextStep = Callable[[int], Step | None]  # by the key of a position
News = list[Any]  # of a rank's copies, as the scheme writes it
STEADY_TRIES = 16  # to read a root between two updates


@dataclass
class Finding:
    """What the root's home knows at the end, or so far."""

    root: RootView
    line: list[str]  # expected moves
    lines: dict[int, list[str]] = field(
        default_factory=dict
    )  # expected moves that begin with a move, for the best ones
    between_ranks: dict[str, float] | None = None  # how much the ranks differ, where they have trees of their own


@dataclass(frozen=True)
class Place:
    """Where a seat is: `rows` ranks from `first` on. Ranks of one process may share the slots of jobs."""

    first: int = 0
    rows: int = 1
    jobs: Jobs | None = None  # shared slots; None: slots of its own
    own_slots: bool = False  # messages are copied, so all slots are free but those of jobs that start here
    workers: int = 0  # evaluators with buffers of their own; 0: the rank itself evaluates
    search: int = 1  # number of the search in this process
    kept: Kept | None = None  # from the search of the same tree before
    runtime_calls: Callable[[Port], Sequence[Call]] = lambda port: ()  # to be compiled with the seat's entries

    @property
    def ranks(self) -> range:
        return range(self.first, self.first + self.rows)

    @property
    def homes(self) -> Homes | None:
        """Which rank holds what of the tree that was kept."""
        return self.kept.homes if self.kept else None


@dataclass(frozen=True)
class Scheme:
    """Base of all schemes."""

    name: ClassVar[str]
    summary: ClassVar[str]
    paper: ClassVar[str]
    # Values that it can do of the options of a search; the first is the default where the usual one is not among them
    search_choices: ClassVar[dict[str, tuple[Any, ...]]] = {}
    search_defaults: ClassVar[dict[str, Any]] = {}
    in_one_process: ClassVar[bool] = False  # in threads of one process it searches without ranks, by `search_here`
    on_ranks: ClassVar[bool] = True  # it can be made into ranks, by `new_seat`
    needs_one_memory: ClassVar[bool] = False  # its ranks cannot be MPI processes
    may_ask_solver: ClassVar[bool] = False  # its workers have room for the game's tactical solver
    dfuct_has_amaf: ClassVar[bool] = False  # its df-UCT has RAVE
    divides_tree: ClassVar[bool] = False  # one tree over all ranks; else each has its own, or one has it
    amaf_with_workers: ClassVar[bool] = True  # whether RAVE goes with threads or functions that play out for ranks

    def __post_init__(self) -> None:
        validate(self, self.name)

    # Options

    @classmethod
    def default_options(cls) -> dict[str, Any]:
        """The options of a search that have another default with this scheme."""
        usual = {field.name: field.default for field in fields(SearchOptions)}
        forced = {name: values[0] for name, values in cls.search_choices.items() if usual[name] not in values}
        return {**forced, **cls.search_defaults}

    def check_options(self, options: SearchOptions) -> None:
        """Raise OptionError for options of a search that this scheme cannot do."""
        for name, values in self.search_choices.items():
            value = getattr(options, name)
            if value not in values:
                known = ", ".join(map(word_of, values))
                given = in_spec(name, word_of(value))
                raise OptionError(f"{self.name}: {given} is not possible; known: {known}")
        if options.algorithm == "dfuct" and options.uses_amaf() and not self.dfuct_has_amaf:
            raise OptionError(
                f"{in_spec('bandit', options.bandit)} needs every playout at every level; use algorithm=uct, or "
                "another bandit"
            )
        if options.asks_solver() and not self.may_ask_solver:
            raise OptionError(f"{self.name}: {options.solver_option()} is not possible; use sequential or shared")

    def spec(self, options: SearchOptions | None = None, game: Game | None = None) -> str:
        """What makes this scheme, and the options of a search beside; with a game also where that has defaults."""
        parts = [changed_options(self)]
        if options is not None:
            always = {"bandit", *game.search_defaults} if game else set()
            parts.append(changed_options(options, self.default_options(), always))
        changed = ",".join(filter(None, parts))
        return self.name + (":" + changed if changed else "")

    # Searches in one process

    def search_here(
        self,
        request: Request,
        progress: Progress | None = None,
        wants_stop: WantsStop | None = None,
        looks: Looks | None = None,
    ) -> SearchResult:
        """Search in the threads of this process, without ranks (`in_one_process`)."""
        raise NotImplementedError

    @property
    def has_searchers(self) -> bool:
        """Whether the searchers of `new_searchers` do the same in one process. An engine keeps their trees."""
        return self.in_one_process

    def new_searchers(self, game: Game, plan: Plan) -> list[Searcher]:
        """One searcher for each tree, at no position yet (`has_searchers`)."""
        raise NotImplementedError

    def with_workers(self, plan: Plan) -> "Scheme":
        """What does the same on one rank whose leaves are evaluated elsewhere (`in_one_process`)."""
        raise NotImplementedError

    # Searches on ranks

    def check(self, request: Request) -> None:
        """Raise OptionError for what cannot be done with these ranks and workers."""

    def usual_homes(self, ranks: int) -> Homes:
        """Which rank holds what while none is lost."""
        return usual_homes(ranks, 0)

    def root_home(self, position: Position, ranks: int, homes: Homes | None = None) -> int:
        """The rank that holds the root and has its statistics at the end. `homes`: None while no rank is lost."""
        raise NotImplementedError

    def under_way(self, plan: Plan) -> int:
        """Playouts that may be under way at once, at all ranks together."""
        raise NotImplementedError

    def new_seat(self, request: Request, place: Place) -> Seat:
        """A rank, or in a simulated cluster all of them, ready to run."""
        raise NotImplementedError

    def needs_root_moved(self, ranks: int, homes: Homes) -> bool:
        """Whether ranks that do not hold the root's position may need its node (`take_root`)."""
        return False

    def root_shard(self, position: Position, place: Place) -> Shard | None:
        """The root's node, if the ranks of a place have kept it."""
        return None

    def take_root(self, position: Position, homes: Homes, place: Place, root: Shard | None) -> None:
        """The root's node, from whoever had it: the ranks of a place add it to what they have kept, or give it away."""

    def nothing_kept(self, request: Request, place: Place) -> Kept:
        """An empty tree, and generators at their begin."""
        raise NotImplementedError

    def homes(self, keys: np.ndarray, position: Position, ranks: int) -> np.ndarray:
        """The ranks that hold the nodes with these keys, if this position is the root (`divides_tree`)."""
        raise NotImplementedError

    def keep(self, request: Request, seat: Seat) -> Kept:
        """What a rank keeps for the next search, when this one is over."""
        raise NotImplementedError

    # When a rank is lost (`divides_tree`)

    def salvage(self, request: Request, seat: Seat) -> tuple[Kept | None, News]:
        """What a rank keeps of a search that broke off, and what is new in its copies of other ranks' nodes."""
        return None, []

    def mend(
        self, request: Request, place: Place, news: Sequence[News], add_up: Callable[[np.ndarray], np.ndarray]
    ) -> None:
        """Before a search in a tree that has lost ranks: what is new in copies goes home, and the root is found again.

        add_up: adds up numbers of all ranks.
        """

    def root_visits(self, request: Request, place: Place) -> int:
        """The root's visits, if the ranks of a place have kept it; else 0."""
        return 0

    def time_limit(self, budget: Budget) -> float | None:
        """Seconds after which the runtime ends the search."""
        return budget.seconds

    def root_of(self, seat: Seat) -> np.uint32:
        """The root's node, at its home."""
        return ROOT

    def read(self, request: Request, seat: Seat) -> Finding:
        """What was found, from the seat of the root's home; the line beyond its first move lies at other ranks."""
        root = read_root(request.position.game, seat.tree, self.root_of(seat))
        return Finding(root, [rank_moves(root.moves, request.plan.options.choice)[0].move])

    def lines(self, request: Request, seat: Seat, step: NextStep) -> dict[int, list[str]]:
        """Expected lines of the best moves, from the seat of the root's home; `step` asks the homes of positions."""
        return {}

    def next_step(self, seat: Seat, key: int) -> Step | None:
        """The next move of an expected line, from the seat of a position's home."""
        return None

    def home_of_key(self, seat: Seat, key: int) -> int:
        """The rank that holds a position, as any rank knows."""
        return 0

    def look(self, request: Request, seat: Seat) -> Finding:
        """What `read` finds while the rank still runs: the root's visits are the sum over its moves."""
        found = self.read(request, seat)
        visits, wins = steady_root(seat.tree, self.root_of(seat))
        wins = np.minimum(wins, visits)  # a move's may be ahead of its visits
        for move, count, total in zip(found.root.moves, visits.tolist(), wins.tolist(), strict=True):
            move.visits, move.wins, move.value = count, total, total / count if count else 0.0
        found.root.visits = int(visits.sum())
        best = rank_moves(found.root.moves, request.plan.options.choice)[0].move
        return replace(found, line=found.line if found.line[0] == best else [best])


def bring_root(
    request: Request, places: Sequence[Place], gather: Callable[[list[Shard | None]], list[Shard | None]]
) -> None:
    """In a tree that goes on, the root's node comes to the ranks that need it; `gather` asks those elsewhere, too."""
    position, ranks, scheme = request.position, request.plan.ranks, request.plan.scheme
    if request.tree is None:
        return
    homes = places[0].homes or scheme.usual_homes(ranks)
    if not scheme.needs_root_moved(ranks, homes):
        return
    found = gather([scheme.root_shard(position, place) for place in places])
    root = next((shard for shard in found if shard is not None), None)
    for place in places:
        scheme.take_root(position, homes, place, root)


def steady_root(tree: TreeArrays, root: np.uint32) -> tuple[np.ndarray, np.ndarray]:
    """Visits and wins of the root's moves, of one moment if the thread that counts them leaves a gap."""
    first = int(tree.node_first[root])
    edges = slice(first, first + int(tree.node_count[root]))
    for _ in range(STEADY_TRIES):
        visits, wins = tree.edge_visits[edges].copy(), tree.edge_wins[edges].copy()
        if np.array_equal(visits, tree.edge_visits[edges]):
            break
    return visits, wins


def deadline_ns(plan: Plan, start_ns: int = 0) -> int:
    """When a search on ranks that starts at `start_ns` must end."""
    seconds = plan.scheme.time_limit(plan.budget)
    return FOREVER_NS if seconds is None else start_ns + int(seconds * 1e9)
