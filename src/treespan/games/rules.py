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
                                             with several `policies` a last argument says which, by its index
    priors(state, moves, count, weights)     a weight > 0 for each move: what looks good before any search
    chance(state, random) -> index           which of nature's legal moves happens, if `to_play` is CHANCE

A game with a tactical solver answers three more questions: see `solver_rules.py`.

A single player always has FIRST to move. Nature's moves are ordinary moves of the player CHANCE.
A search calls the functions of this module, which take the game as first argument; Numba picks the
game's rules by the *type* of that argument (an `@overload`), because compiled code that takes functions
as arguments is never found in the on-disk cache.
"""

import hashlib
import inspect
from collections.abc import Callable, Sequence
from functools import cached_property
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
from numba import types
from numba.extending import NativeValue, models, overload, register_model, typeof_impl, unbox

from treespan.core.errors import GameError, PositionError
from treespan.core.jit import COMPILE_OPTIONS, njit
from treespan.core.options import changed_options, validate
from treespan.core.records import hash_record, new_records, record_dtype
from treespan.core.rng import below

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
    policies: ClassVar[tuple[str, ...]] = ("light",)  # names of its playouts; `playout` gets the index if several
    search_defaults: ClassVar[dict[str, str]] = {}  # options of a search where the user gives none
    bandit_defaults: ClassVar[dict[str, str]] = {}  # likewise its bandit and options that go with it
    solver_room: ClassVar[tuple[int, int]] = (1, 1)  # positions and words of its tactical solver, if it has one
    source: ClassVar[str] = ""  # path of the file of a user's game
    type_key: ClassVar[str] = ""  # names the compiled variant; filled in below
    rules: ClassVar[dict[str, Any]] = {}  # compiled rules by name; filled in below

    fields: Any = ()  # of a position's record, as for numpy.dtype; an attribute or a property

    def __init_subclass__(cls, **keywords: Any) -> None:
        super().__init_subclass__(**keywords)
        inherited = dict(cls.rules)
        for name in REQUIRED_RULES + OPTIONAL_RULES:
            function = cls.__dict__.get(name)
            if function is not None:
                plain = function.__func__ if isinstance(function, staticmethod) else function
                inherited[name] = plain if hasattr(plain, "py_func") else njit(plain)
                setattr(cls, name, staticmethod(plain))
        cls.rules = inherited
        if "name" in cls.__dict__:
            cls.type_key = cls.name + _file_mark(cls)
            _GAMES[cls.type_key] = cls

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

    def setup(self, state: Any) -> None:
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

    def diagram(self, state: Any) -> str:
        """A position as text that `read_diagram` understands."""
        values = (f"{name} {_flat(state[name])}" for name in state.dtype.names)
        return "\n".join(values)

    def read_diagram(self, text: str) -> Any:
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

    def history_key(self, state: Any) -> int:
        """What must be remembered of a position to answer `forbidden_moves` later."""
        return 0

    def forbidden_moves(self, state: Any, moves: Sequence[int], history: Sequence[int]) -> set[int]:
        """Which of `moves` the course of the game so far forbids (Go's superko)."""
        return set()

    def describe_result(self, state: Any, reward: float) -> str:
        """The result of a finished game in words."""
        if self.players == 1:
            return f"reward {reward:.4f}"
        return {1.0: "first player wins", 0.0: "second player wins"}.get(reward, "draw")

    # What the base provides

    @cached_property
    def dtype(self) -> np.dtype:
        """The record type of a position."""
        return record_dtype(self.fields)

    def new_states(self, count: int) -> Any:
        """`count` zeroed records."""
        return new_records(self.dtype, count)

    def new_state(self) -> Any:
        """The first position, a record of its own."""
        state = self.new_states(1)[0]
        self.setup(state)
        return state

    def spec(self) -> str:
        """The text that names this game with these options."""
        changed = changed_options(self)
        return (self.source or self.name) + (":" + changed if changed else "")


_GAMES: dict[str, type[Game]] = {}


def _flat(value: Any) -> str:
    return " ".join(repr(number.item()) for number in np.ravel(value))


def _file_mark(cls: type[Game]) -> str:
    """A hash of the file of a game outside the package: an edited game must not find old compiled code."""
    if cls.__module__.startswith("treespan."):
        return ""  # the cache folder's name covers the package
    try:
        source = Path(inspect.getfile(cls)).read_bytes()
    except (OSError, TypeError):
        return ""
    return "@" + hashlib.sha256(source).hexdigest()[:16]


class GameType(types.Opaque):
    """The Numba type of a game. It holds a name only, so that cached code can be loaded without the game's module."""

    def __init__(self, type_key: str):
        self.type_key = type_key
        super().__init__(name=f"Game({type_key})")


register_model(GameType)(models.OpaqueModel)


@typeof_impl.register(Game)
def _typeof_game(value: Game, context: Any) -> GameType:
    return GameType(value.type_key)


@unbox(GameType)
def _unbox_game(numba_type: Any, value: Any, context: Any) -> NativeValue:
    return NativeValue(context.context.get_dummy_value())


def game_class_of(game: Any) -> type[Game]:
    """The class of a game or GameType."""
    return _GAMES[game.type_key] if isinstance(game, GameType) else type(game)


def find_rule(game: Any, name: str) -> Any:
    """The compiled rule of a game or GameType, or None where the default serves."""
    return game_class_of(game).rules.get(name)


def has_policies(game: Any) -> bool:
    """Whether the rule `playout` of a game or GameType asks which policy to play by."""
    return len(game_class_of(game).policies) > 1


def dispatched(function: Callable[..., Any]) -> Callable[[Callable[..., Any]], Any]:
    """Make the decorated function choose the compiled code of a question, by the type of the game."""
    options: Any = COMPILE_OPTIONS
    return overload(function, jit_options=options)


# The questions. Each is plain Python for runs without the JIT, and an overload for compiled callers.


def legal_moves(game, state, moves):
    """Write the legal moves into `moves`; give their number, 0 if the game is over."""
    return find_rule(game, "legal_moves")(state, moves)


@dispatched(legal_moves)
def _legal_moves(game, state, moves):
    rule = find_rule(game, "legal_moves")
    return lambda game, state, moves: rule(state, moves)


def candidates(game, state, moves):
    """Write the legal moves that a search should consider; give their number, 0 if the game is over."""
    return (find_rule(game, "candidates") or find_rule(game, "legal_moves"))(state, moves)


@dispatched(candidates)
def _candidates(game, state, moves):
    rule = find_rule(game, "candidates") or find_rule(game, "legal_moves")
    return lambda game, state, moves: rule(state, moves)


def play(game, state, move):
    """Make a legal move in place. Does not check legality."""
    find_rule(game, "play")(state, move)


@dispatched(play)
def _play(game, state, move):
    rule = find_rule(game, "play")

    def call(game, state, move):
        rule(state, move)

    return call


def reward(game, state):
    """The first player's reward in a finished game, in [0, 1]."""
    return find_rule(game, "reward")(state)


@dispatched(reward)
def _reward(game, state):
    rule = find_rule(game, "reward")
    return lambda game, state: np.float64(rule(state))


def key(game, state):
    """The position's 64-bit key; by default a hash of the whole record."""
    return (find_rule(game, "key") or hash_record)(state)


@dispatched(key)
def _key(game, state):
    rule = find_rule(game, "key") or hash_record
    return lambda game, state: rule(state)


def chance(game, state, random):
    """Which of nature's legal moves happens, by index. Has no default."""
    rule = find_rule(game, "chance")
    if rule is None:
        raise GameError(f"{game.name}: nature moves but the game has no rule `chance`")
    return rule(state, random)


@dispatched(chance)
def _chance(game, state, random):
    rule = find_rule(game, "chance")
    if rule is None:  # never called: `to_play` is CHANCE only in games that have the rule (check_game)
        return lambda game, state, random: 0
    return lambda game, state, random: np.int64(rule(state, random))


def priors(game, state, moves, count, weights):
    """Write a positive weight for each of the first `count` moves; by default 1."""
    (find_rule(game, "priors") or uniform_priors)(state, moves, count, weights)


@dispatched(priors)
def _priors(game, state, moves, count, weights):
    rule = find_rule(game, "priors") or uniform_priors

    def call(game, state, moves, count, weights):
        rule(state, moves, count, weights)

    return call


@njit
def uniform_priors(state, moves, count, weights):
    weights[:count] = 1.0


def playout(game, state, random, trace, moves, policy):
    """Play to the end in place; note each move in `trace`; give the number of plies. `moves` is scratch.

    `policy` is an index into the game's `policies`.
    """
    rule = find_rule(game, "playout")
    if rule is None:
        return random_playout(game, state, random, trace, moves)
    if has_policies(game):
        return rule(state, random, trace, moves, policy)
    return rule(state, random, trace, moves)


@dispatched(playout)
def _playout(game, state, random, trace, moves, policy):
    rule = find_rule(game, "playout")
    if rule is None:
        return lambda game, state, random, trace, moves, policy: random_playout(game, state, random, trace, moves)
    if has_policies(game):
        return lambda game, state, random, trace, moves, policy: np.int64(rule(state, random, trace, moves, policy))
    return lambda game, state, random, trace, moves, policy: np.int64(rule(state, random, trace, moves))


@njit
def random_playout(game, state, random, trace, moves):
    """Uniformly random legal moves until the game is over."""
    plies = 0
    while plies < len(trace):
        count = legal_moves(game, state, moves)
        if count == 0:
            break
        player = state.to_play
        if player == CHANCE:
            move = moves[chance(game, state, random)]
        else:
            move = moves[below(random, count)]
        play(game, state, move)
        trace[plies] = noted(move, player)
        plies += 1
    return plies


@njit
def noted(move, player):
    """A move and who made it, as one number of a playout's trace: `~move` for the second player."""
    if player == CHANCE:
        return NATURES_MOVE
    return np.int32(~move) if player == SECOND else np.int32(move)
