"""What a search may ask of a game, and how the question reaches the game's compiled rules.

A game is a frozen dataclass of options that derives from `Game`. A *position* ("state") is one flat record
whose fields the game declares; a field `to_play` is required and says who moves: FIRST, SECOND or CHANCE.
The rules are static functions over such records, written in plain Python and compiled by Numba:

    legal_moves(state, moves) -> count       write the moves into int32 `moves`; 0 means the game is over
    play(state, move)                        make a legal move, in place
    reward(state) -> float                   of a finished game, in [0, 1], for FIRST (SECOND gets 1 - reward)

and, where the default is too slow or too blunt:

    candidates(state, moves) -> count        the legal moves worth searching, at least one; default all
    key(state) -> uint64                     equal for positions with equal future and reward
    playout(state, random, trace, moves) -> plies    play to the end, noting each move as `noted(move, player)`;
                                             0 plies means that the game was over already; it may go on
                                             noting moves after the game is decided (a board filled up);
                                             with several `policies` one rule each, `playout_NAME`
    priors(state, moves, count, weights)     a weight > 0 for each move: what looks good before any search
    chance(state, random) -> index           which of nature's legal moves happens, if `to_play` is CHANCE

A game with a tactical solver answers three more questions: see `solver_rules.py`.

A single player always has FIRST to move. Nature's moves are ordinary moves of the player CHANCE.

A search calls the functions of this module, which take the game as first argument. To compiled code a game is a table
of the addresses of its rules, and a position an address: so searches are compiled once, whatever the game, and a game
is compiled by itself. (`Table`; compiled callers: `core/lowering.py`.)
"""

import dataclasses
import traceback
from collections.abc import Callable, Sequence
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from treespan.core.errors import GameError, PositionError
from treespan.core.jit import JIT_DISABLED, Function, lowered, njit
from treespan.core.kinds import NUMBERS
from treespan.core.options import changed_options, validate
from treespan.core.records import hash_record, new_records, record_dtype
from treespan.core.rng import below

if TYPE_CHECKING:
    from treespan.games.manners import Manners
    from treespan.games.position import Position
    from treespan.games.table import Table

FIRST, SECOND, CHANCE = 0, 1, 2  # values of `to_play`
NATURES_MOVE = np.int32(-(2**31))  # stands in a playout's trace for any move of CHANCE
REQUIRED_RULES = ("legal_moves", "play", "reward")
SOLVER_RULES = ("expertise", "foresee", "agrees")
OPTIONAL_RULES = ("candidates", "key", "playout", "priors", "chance", *SOLVER_RULES)


class Game:
    """Base of all games; a subclass is a frozen dataclass of the game's options."""

    name: ClassVar[str]  # in specs: `name:option=value`
    summary: ClassVar[str] = ""  # one line for `treespan games`
    players: ClassVar[int] = 2  # 1 or 2
    has_chance: ClassVar[bool] = False  # whether nature ever moves
    exploration: ClassVar[float] = 1.0  # default c of UCB1 for this game
    policies: ClassVar[tuple[str, ...]] = ("light",)  # names of its playouts; if several, rules `playout_NAME`
    search_defaults: ClassVar[dict[str, str]] = {}  # options of a search where the user gives none
    bandit_defaults: ClassVar[dict[str, str]] = {}  # likewise its bandit and options that go with it
    solver_room: ClassVar[tuple[int, int]] = (1, 1)  # positions and words of its tactical solver, if it has one
    source: ClassVar[str] = ""  # path of the file of a user's game
    rules: ClassVar[dict[str, Any]] = {}  # compiled rules by name; filled in below
    compiled_kind: ClassVar[str] = "game"  # what it is to compiled code (`core/kinds.py`)

    @property
    def fields(self) -> Sequence[tuple[Any, ...]]:
        """Of a position's record, as for numpy.dtype: (name, type) or (name, type, shape). May be an attribute."""
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
        """Moves are numbers below this; by default below `max_moves`."""
        return self.max_moves

    @property
    def max_plies(self) -> int:
        """An upper bound on the moves, nature's included, from any position to the end."""
        raise GameError(f"{self.name}: the game must define max_plies")

    # What a subclass may say in text

    def setup(self, state: np.record) -> None:
        """Fill a zeroed record with the first position."""

    def move_name(self, move: int) -> str:
        """A legal move in the game's notation."""
        return str(move)

    def parse_move(self, text: str) -> int:
        """A move from the game's notation. Does not check legality."""
        try:
            return int(text)
        except ValueError:
            raise PositionError(f"{self.name}: '{text}' is not a move; moves are whole numbers") from None

    def diagram(self, state: np.record) -> str:
        """A position as text that `read_diagram` understands."""
        values = (f"{name} {_flat(state[name])}" for name in state.dtype.names or ())
        return "\n".join(values)

    def read_diagram(self, text: str) -> np.record:
        """A position from text. Raises PositionError where the text is not a diagram of this game."""
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
        """The marks on a board of rows and columns; None if the game has no such board."""
        return None

    def cell_of(self, state: np.record, move: int) -> tuple[int, int] | None:
        """Row and column of the cell that a move is made at, as `cells` has them; None for other moves."""
        return None

    def history_key(self, state: np.record) -> int:
        """What must be remembered of a position to answer `forbidden_moves` later."""
        return 0

    def forbidden_moves(self, state: np.record, moves: Sequence[int], history: Sequence[int]) -> set[int]:
        """Which of `moves` the course of the game so far forbids (Go's superko)."""
        return set()

    def describe_result(self, state: np.record, reward: float) -> str:
        """The result of a finished game in words."""
        if self.players == 1:
            return f"reward {reward:.4f}"
        return {1.0: "first player wins", 0.0: "second player wins"}.get(reward, "draw")

    # What the base provides

    @cached_property
    def dtype(self) -> np.dtype:
        """The record type of a position."""
        for field in self.fields:
            _check_field(self.name, field)
        return record_dtype(self.fields)

    def new_states(self, count: int) -> np.recarray:
        """`count` zeroed records."""
        return new_records(self.dtype, count)

    def new_state(self) -> np.record:
        """The first position, a record of its own."""
        state: np.record = self.new_states(1)[0]
        self.fill(state)
        return state

    def fill(self, state: np.record) -> None:
        """Make a zeroed record the first position; a `setup` that cannot is told with its line."""
        try:
            self.setup(state)
        except (OverflowError, ValueError, TypeError, IndexError, AttributeError) as error:
            place = traceback.extract_tb(error.__traceback__)[-1]
            where = f"{Path(place.filename).name}, line {place.lineno}: {place.line}"
            raise GameError(f"{self.name}: `setup` fails: {error}; {where}") from error

    @cached_property
    def table(self) -> "Table":
        """The game as compiled code sees it."""
        from treespan.games.table import Table

        return Table(self)

    def want(self, policy: int = 0, priors: bool = False, solver: bool = False) -> None:
        """Have rules compiled that not every search needs: the playouts of a policy, priors, a tactical solver."""
        if not JIT_DISABLED:
            self.table.want(policy, priors, solver)

    def __reduce__(self) -> tuple[Any, ...]:
        """For pickling: a game is its class and its options; a class of a user's file is found by the file's path."""
        options = {field.name: getattr(self, field.name) for field in dataclasses.fields(self)}  # type: ignore[arg-type]
        cls = type(self)
        return _remade, ((cls.source, cls.__module__) if cls.source else cls, options)

    def position(self, moves: str = "") -> "Position":
        """The first position, or the one after some moves, as "E5 C3"."""
        from treespan.games.position import Position

        position = Position(self)
        position.play_text(moves)
        return position

    def read(self, text: str) -> "Position":
        """The position of a diagram, as `str(position)` prints it."""
        from treespan.games.position import Position

        return Position(self, self.read_diagram(text))

    def manners(self) -> "Manners":
        """What the game adds to an engine: a subclass of `Manners` where it adds anything."""
        from treespan.games.manners import Manners

        return Manners(self)

    @property
    def compiled_word(self) -> int:
        return int(self.table.address)

    def spec(self) -> str:
        """The text that names this game with these options."""
        changed = changed_options(self)
        return (self.source or self.name) + (":" + changed if changed else "")


def _remade(cls: type[Game] | tuple[str, str], options: dict[str, Any]) -> Game:
    """A game that was pickled."""
    if isinstance(cls, tuple):
        from treespan.games.registry import load_class

        cls = load_class(*cls)
    return cls(**options)


def _check_field(game: str, field: Any) -> None:
    """Refuse a field of a position that is none of the numbers that compiled code knows."""
    known = ", ".join(name for name in NUMBERS if name != "bool")
    try:
        dtype = np.dtype([field])
    except (TypeError, ValueError):
        raise GameError(f"{game}: the field {field!r} is not (name, type) or (name, type, shape)") from None
    base = dtype[0].base
    if base.name not in NUMBERS:
        raise GameError(f"{game}: the field `{field[0]}` has type {base.name}; give one of {known}")


def _flat(value: Any) -> str:
    return " ".join(repr(number.item()) for number in np.ravel(value))


def find_rule(game: Game | type[Game], name: str) -> Any:
    """The rule of a game, or None where the default serves."""
    return game.rules.get(name)


def require_basics(game: Game) -> None:
    """Refuse a game without a rule or field that every search needs."""
    for rule in REQUIRED_RULES:
        if find_rule(game, rule) is None:
            raise GameError(f"{game.name}: the rule `{rule}` is missing")
    if "to_play" not in (game.dtype.names or ()):
        raise GameError(f"{game.name}: a position needs a field `to_play`")
    if game.dtype["to_play"].kind not in "iu":
        raise GameError(f"{game.name}: the field `to_play` has type {game.dtype['to_play']}; give np.int8")


def playout_rule(game: Game, policy: int) -> Any:
    """The rule that plays out by a policy, or None where the default serves."""
    return game.rules.get(f"playout_{game.policies[policy]}" if len(game.policies) > 1 else "playout")


# The questions. Python asks the rule itself; compiled code calls it by the address in the game's table.

question = lowered("treespan.core.lowering")


@question
def to_play(game, state):
    """Who moves: FIRST, SECOND or CHANCE."""
    return state.to_play


@question
def legal_moves(game, state, moves):
    """Write the legal moves into `moves`; returns their number, 0 if the game is over."""
    return find_rule(game, "legal_moves")(state, moves)


@question
def candidates(game, state, moves):
    """Write the legal moves that a search should consider; returns their number, 0 if the game is over."""
    return (find_rule(game, "candidates") or find_rule(game, "legal_moves"))(state, moves)


@question
def play(game, state, move):
    """Make a legal move in place. Does not check legality."""
    find_rule(game, "play")(state, move)


@question
def reward(game, state):
    """The first player's reward in a finished game, in [0, 1]."""
    return find_rule(game, "reward")(state)


@question
def key(game, state):
    """The position's 64-bit key; by default a hash of the whole record."""
    return (find_rule(game, "key") or hash_record)(state)


@question
def chance(game, state, random):
    """Which of nature's legal moves happens, by index. Has no default."""
    rule = find_rule(game, "chance")
    if rule is None:
        raise GameError(f"{game.name}: nature moves but the game has no rule `chance`")
    return rule(state, random)


@question
def priors(game, state, moves, count, weights):
    """Write a positive weight for each of the first `count` moves; by default 1."""
    (find_rule(game, "priors") or uniform_priors)(state, moves, count, weights)


@question
def playout(game, state, random, trace, moves, policy):
    """Play to the end in place; note each move in `trace`; returns the number of plies. `moves` is scratch.

    `policy` is an index into the game's `policies`.
    """
    return (playout_rule(game, policy) or random_playout(game))(state, random, trace, moves)


@njit
def uniform_priors(state, moves, count, weights):
    for i in range(count):
        weights[i] = 1.0


def random_playout(game: Game | type[Game]) -> Callable[..., int]:
    """The default playout of a game: uniformly random legal moves until it is over."""
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
    """Never called: `to_play` is CHANCE only in games that have the rule (`check_game`)."""
    return 0


@njit
def noted(move, player):
    """A move and who made it, as one number of a playout's trace: `~move` for the second player."""
    if player == CHANCE:
        return NATURES_MOVE
    return np.int32(~move) if player == SECOND else np.int32(move)
