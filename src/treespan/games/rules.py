"""The protocol of a game: the questions that a search asks, and how they reach the game's compiled rules.

A game is a frozen dataclass of options that derives from `Game`. A *position* ("state") is one flat record. The game
declares its fields. The field `to_play` is required: it says who moves, FIRST, SECOND or CHANCE.
The rules are static functions of such records, written in plain Python and compiled by Numba:

    legal_moves(state, moves) -> count       write the legal moves into `moves` (int32); return their number,
                                             0 if the game is over
    play(state, move)                        make a legal move, in place
    reward(state) -> float                   return the result of a finished game for FIRST, in [0, 1];
                                             SECOND gets 1 - reward

These rules are optional. A game has them where the default is too slow or too simple:

    candidates(state, moves) -> count        write the legal moves worth searching, at least one; default: all
    key(state) -> uint64                     return a number that is equal for positions with equal future and reward
    playout(state, random, trace, moves) -> plies    play to the end, and write each move into `trace` as
                                             `noted(move, player)`; return the number of plies, 0 if the game was
                                             over already. A playout may go on after the game is decided, to fill
                                             the board. A game with several `policies` has a rule `playout_NAME`
                                             for each
    priors(state, moves, count, weights)     write a weight > 0 for each move: how good it looks before any search
    chance(state, random) -> index           return which of nature's legal moves happens, if `to_play` is CHANCE

A game with a tactical solver answers three more questions: see `solver_rules.py`.

In a game for one player FIRST always moves. Nature's moves are ordinary moves of the player CHANCE.

A search calls the functions of this module. Their first argument is the game. Compiled code sees a game as a table of
the addresses of its rules (`table.py`), and a position as an address. So a search is compiled once for all games, and
a game is compiled by itself. `core/lowering.py` has these functions for compiled callers.
"""

import dataclasses
from collections.abc import Callable, Sequence
from functools import cached_property
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from treespan.core.errors import GameError, PositionError, concerning, named
from treespan.core.jit import JIT_DISABLED, Function, lowered, njit
from treespan.core.options import changed_options, validate
from treespan.core.records import hash_record, new_records, record_dtype
from treespan.core.rng import below
from treespan.games.declarations import REQUIRED_RULES, check_fields, faulty_setup

if TYPE_CHECKING:
    from treespan.games.manners import Manners
    from treespan.games.position import Position
    from treespan.games.table import Table

FIRST, SECOND, CHANCE = 0, 1, 2  # values of `to_play`
NATURES_MOVE = np.int32(-(2**31))  # stands in a playout's trace for any move of CHANCE
SOLVER_RULES = ("expertise", "foresee", "agrees")
OPTIONAL_RULES = ("candidates", "key", "playout", "priors", "chance", *SOLVER_RULES)


class Game:
    """Base class of all games. A subclass is a frozen dataclass of the game's options.

    A subclass must have `name`, `fields`, `max_moves`, `max_plies` and the rules `legal_moves`, `play` and `reward`.
    The rules are static methods in plain Python, which are compiled. Everything else has a default.
    `treespan.check_game` checks a game.

    Raises OptionError for a wrong option, and GameError if a class lacks something that it must have.

    >>> import treespan as ts
    >>> from dataclasses import dataclass
    >>> import numpy as np
    >>> @dataclass(frozen=True)
    ... class Nim(ts.Game):
    ...     name = "nim"
    ...     fields = (("stones", np.int8), ("to_play", np.int8))
    ...     max_moves = 3
    ...     max_plies = 10
    ...
    ...     def setup(self, state):
    ...         state.stones = 10
    ...
    ...     @staticmethod
    ...     def legal_moves(state, moves):
    ...         count = min(3, state.stones)
    ...         for i in range(count):
    ...             moves[i] = i
    ...         return count
    ...
    ...     @staticmethod
    ...     def play(state, move):
    ...         state.stones -= move + 1
    ...         state.to_play = 1 - state.to_play
    ...
    ...     @staticmethod
    ...     def reward(state):
    ...         return 1.0 * state.to_play  # who took the last stone has won
    >>> ts.search(Nim(), playouts=1000).move
    '1'
    """

    name: ClassVar[str]  # in specs: `name:option=value`
    summary: ClassVar[str] = ""  # one line for `treespan games`
    players: ClassVar[int] = 2  # 1 or 2
    has_chance: ClassVar[bool] = False  # whether nature ever moves
    exploration: ClassVar[float] = 1.0  # default c of UCB1 for this game
    policies: ClassVar[tuple[str, ...]] = ("light",)  # names of its playouts; if several, rules `playout_NAME`
    search_defaults: ClassVar[dict[str, str]] = {}  # options of a search, used unless the user gives others
    bandit_defaults: ClassVar[dict[str, str]] = {}  # the bandit and its options, used unless the user names a bandit
    solver_room: ClassVar[tuple[int, int]] = (1, 1)  # positions and words that its tactical solver needs
    source: ClassVar[str] = ""  # path of the file, if the game is a user's
    rules: ClassVar[dict[str, Any]] = {}  # compiled rules by name; filled in below
    compiled_kind: ClassVar[str] = "game"  # its kind in compiled code (`core/kinds.py`)

    @property
    def fields(self) -> Sequence[tuple[Any, ...]]:
        """The fields of a position's record, as for numpy.dtype: (name, type) or (name, type, shape).

        A subclass has a property, or simply an attribute.
        """
        return ()

    def __init_subclass__(cls, **keywords: Any) -> None:
        super().__init_subclass__(**keywords)
        inherited = dict(cls.rules)
        for name in (*REQUIRED_RULES, *OPTIONAL_RULES, *(f"playout_{policy}" for policy in cls.policies)):
            function = cls.__dict__.get(name)
            if function is not None:
                plain = function.__func__ if isinstance(function, staticmethod) else function
                own = isinstance(plain, Function)
                inherited[name] = plain if own else njit(getattr(plain, "py_func", plain))
                setattr(cls, name, staticmethod(plain))
        cls.rules = inherited

    def __post_init__(self) -> None:
        validate(self, self.name)

    # What a subclass says about its size

    @property
    def max_moves(self) -> int:
        """An upper bound on the number of legal moves in any position."""
        raise GameError(f"{self.name}: the game must define max_moves")

    @property
    def move_ids(self) -> int:
        """A bound on the numbers of moves: each is less than this. Default: `max_moves`."""
        return self.max_moves

    @property
    def max_plies(self) -> int:
        """An upper bound on the number of moves, nature's included, from any position to the end."""
        raise GameError(f"{self.name}: the game must define max_plies")

    # What a subclass may say in text

    def setup(self, state: np.record) -> None:
        """Make a zeroed record the first position. Default: the zeroed record is the first position."""

    def move_name(self, move: int) -> str:
        """Return a legal move in the game's notation. Default: its number."""
        return str(move)

    def parse_move(self, text: str) -> int:
        """Return the move that a text names. Does not check legality. Raises PositionError for other texts."""
        try:
            return int(text)
        except ValueError:
            raise PositionError(f"{self.name}: '{text}' is not a move; moves are whole numbers") from None

    def diagram(self, state: np.record) -> str:
        """Return a position as text that `read_diagram` understands. Default: a line for each field."""
        values = (f"{name} {_flat(state[name])}" for name in state.dtype.names or ())
        return "\n".join(values)

    def read_diagram(self, text: str) -> np.record:
        """Return the position of a diagram. Raises PositionError if the text is not a diagram of this game."""
        state = self.new_state()
        for line in filter(str.strip, text.splitlines()):
            name, *numbers = line.split()
            if name not in (state.dtype.names or ()):
                raise PositionError(f"{self.name}: '{name}' is not a field of a position")
            read = float if state.dtype[name].base.kind == "f" else int
            try:
                values = np.array([read(n) for n in numbers]).reshape(state.dtype[name].shape)
                state[name] = values
            except (ValueError, OverflowError):
                raise PositionError(f"{self.name}: cannot read '{line.strip()}'") from None
            if not np.array_equal(state[name], values):
                raise PositionError(f"{self.name}: a number in '{line.strip()}' does not fit {state.dtype[name].base}")
        return state

    def cells(self, state: np.record) -> list[list[str]] | None:
        """Return the marks on a board, row by row; None if the game has no board of rows and columns."""
        return None

    def cell_of(self, state: np.record, move: int) -> tuple[int, int] | None:
        """Return row and column, in `cells`, of the cell where a move is made; None for moves without a cell."""
        return None

    def history_key(self, state: np.record) -> int:
        """Return the number by which `forbidden_moves` recognises a position later."""
        return 0

    def forbidden_moves(self, state: np.record, moves: Sequence[int], history: Sequence[int]) -> set[int]:
        """Return those of `moves` that are forbidden because of what was played before (Go's superko)."""
        return set()

    def describe_result(self, state: np.record, reward: float) -> str:
        """Return the result of a finished game in words."""
        if self.players == 1:
            return f"reward {reward:.4f}"
        return {1.0: "first player wins", 0.0: "second player wins"}.get(reward, "draw")

    # What the base provides

    @cached_property
    def dtype(self) -> np.dtype:
        """The record type of a position."""
        check_fields(self.name, self.fields)
        return record_dtype(self.fields)

    def new_states(self, count: int) -> np.recarray:
        """Return `count` zeroed records."""
        return new_records(self.dtype, count)

    def new_state(self) -> np.record:
        """Return the first position as a new record."""
        state: np.record = self.new_states(1)[0]
        self.fill(state)
        return state

    def fill(self, state: np.record) -> None:
        """Make a zeroed record the first position. If `setup` fails, raise GameError with its faulty line."""
        try:
            self.setup(state)
        except (OverflowError, ValueError, TypeError, IndexError, AttributeError) as error:
            raise faulty_setup(self, error) from error

    @cached_property
    def table(self) -> "Table":
        """The game as compiled code sees it: the addresses of its rules."""
        from treespan.games.table import Table

        return Table(self)

    def want(self, policy: int = 0, priors: bool = False, solver: bool = False) -> None:
        """Ask for rules that not every search needs: the playouts of a policy, priors, the tactical solver."""
        if not JIT_DISABLED:
            self.table.want(policy, priors, solver)

    def __reduce__(self) -> tuple[Any, ...]:
        """Pickle a game as its class and its options. A class from a user's file is pickled as the file's path."""
        options = {field.name: getattr(self, field.name) for field in dataclasses.fields(self)}  # type: ignore[arg-type]
        cls = type(self)
        return _remade, ((cls.source, cls.__module__) if cls.source else cls, options)

    def position(self, moves: str = "") -> "Position":
        """Return the first position, or the one after moves such as "E5 C3". Raises PositionError for illegal moves."""
        from treespan.games.position import Position

        position = Position(self)
        position.play_text(moves)
        return position

    def read(self, text: str) -> "Position":
        """Return the position of a diagram: a text such as `str(position)`. Raises PositionError for other texts."""
        from treespan.games.position import Position

        if not isinstance(text, str):
            raise PositionError(f"{self.name}: {named('text', text)} is not a diagram; give what str(position) prints")
        with concerning("text", text, "give what str(position) prints"):
            return Position(self, self.read_diagram(text))

    def manners(self) -> "Manners":
        """Return what the game adds to an engine: an object of `Manners` or of a subclass."""
        from treespan.games.manners import Manners

        return Manners(self)

    @property
    def compiled_word(self) -> int:
        return int(self.table.address)

    def spec(self) -> str:
        """Return the text that names this game with its options, such as `go:size=9`."""
        changed = changed_options(self)
        return (self.source or self.name) + (":" + changed if changed else "")


def _remade(cls: type[Game] | tuple[str, str], options: dict[str, Any]) -> Game:
    """Return a game from its pickled parts."""
    if isinstance(cls, tuple):
        from treespan.games.registry import load_class

        cls = load_class(*cls)
    return cls(**options)


def _flat(value: Any) -> str:
    return " ".join(repr(number.item()) for number in np.ravel(value))


def find_rule(game: Game | type[Game], name: str) -> Any:
    """Return a rule of a game; None if the game leaves it to the default."""
    return game.rules.get(name)


def playout_rule(game: Game, policy: int) -> Any:
    """Return the rule that plays out by a policy; None if the game leaves it to the default."""
    return game.rules.get(f"playout_{game.policies[policy]}" if len(game.policies) > 1 else "playout")


# The questions. Python calls the rule itself; compiled code calls it by its address in the game's table.

question = lowered("treespan.core.lowering")


@question
def to_play(game, state):
    """Return who moves: FIRST, SECOND or CHANCE."""
    return state.to_play


@question
def legal_moves(game, state, moves):
    """Write the legal moves into `moves`. Returns their number, 0 if the game is over."""
    return find_rule(game, "legal_moves")(state, moves)


@question
def candidates(game, state, moves):
    """Write the legal moves that a search should consider. Returns their number, 0 if the game is over."""
    return (find_rule(game, "candidates") or find_rule(game, "legal_moves"))(state, moves)


@question
def play(game, state, move):
    """Make a legal move in place. Does not check legality."""
    find_rule(game, "play")(state, move)


@question
def reward(game, state):
    """Return the first player's reward in a finished game, in [0, 1]."""
    return find_rule(game, "reward")(state)


@question
def key(game, state):
    """Return the position's 64-bit key. Default: a hash of the whole record."""
    return (find_rule(game, "key") or hash_record)(state)


@question
def chance(game, state, random):
    """Return the index of the legal move that nature makes. Has no default."""
    rule = find_rule(game, "chance")
    if rule is None:
        raise GameError(f"{game.name}: nature moves but the game has no rule `chance`")
    return rule(state, random)


@question
def priors(game, state, moves, count, weights):
    """Write a positive weight for each of the first `count` moves. Default: 1."""
    (find_rule(game, "priors") or uniform_priors)(state, moves, count, weights)


@question
def playout(game, state, random, trace, moves, policy):
    """Play to the end in place and write each move into `trace`. Returns the number of plies.

    `moves` is scratch; `policy` is an index into the game's `policies`.
    """
    return (playout_rule(game, policy) or random_playout(game))(state, random, trace, moves)


@njit
def uniform_priors(state, moves, count, weights):
    for i in range(count):
        weights[i] = 1.0


def random_playout(game: Game | type[Game]) -> Callable[..., int]:
    """Return the default playout of a game: uniformly random legal moves until the game is over."""
    cls = game if isinstance(game, type) else type(game)
    if "_random_playout" not in cls.__dict__:
        cls._random_playout = staticmethod(_new_random_playout(cls))  # type: ignore[attr-defined]
    made: Callable[..., int] = cls._random_playout  # type: ignore[attr-defined]
    return made


def _new_random_playout(cls: type[Game]) -> Callable[..., int]:
    legal_moves, play = cls.rules["legal_moves"], cls.rules["play"]
    chance = cls.rules.get("chance", no_chance)

    @njit
    def play_randomly(state, random, trace, moves):
        plies = 0
        while plies < len(trace):
            count = legal_moves(state, moves)
            if count == 0:
                break
            player = state.to_play
            if player == CHANCE:
                move = moves[chance(state, random)]
            else:
                move = moves[below(random, count)]
            play(state, move)
            trace[plies] = noted(move, player)
            plies += 1
        return plies

    return play_randomly


@njit
def no_chance(state, random):
    """Never called: `check_game` makes sure that a game where nature moves has the rule `chance`."""
    return 0


@njit
def noted(move, player):
    """Return a move and its player as one number of a playout's trace: `~move` for the second player."""
    if player == CHANCE:
        return NATURES_MOVE
    return np.int32(~move) if player == SECOND else np.int32(move)
