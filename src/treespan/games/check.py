"""`check_game` checks that a game keeps the protocol of `rules.py`. It works for any game, also a user's.

It first compiles each rule alone, so that a type error points at the user's line. Then it plays random games and tests
everything that a search relies on.
"""

import contextlib
import traceback
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from treespan.core.arguments import checked
from treespan.core.compiled import CompiledCodeError
from treespan.core.diagnosis import CompileError
from treespan.core.errors import GameError, TreespanError
from treespan.core.folding import fold_all
from treespan.core.jit import JIT_DISABLED, njit
from treespan.core.options import LARGEST, check_range
from treespan.core.rng import generator
from treespan.games.declarations import require_basics
from treespan.games.position import NO_MOVE, Position, step
from treespan.games.rules import (
    CHANCE,
    NATURES_MOVE,
    Game,
    find_rule,
    playout,
    priors,
    reward,
)

MAX_GAMES = 1_000_000


@dataclass(repr=False)
class CheckReport:
    """What `check_game` checked and found. `str()` returns a list.

    >>> import treespan as ts
    >>> report = ts.check_game(ts.make_game("tictactoe"), games=5)
    >>> report.games, report.max_branching, report.warnings
    (5, 9, [])
    """

    game: str  # its spec
    games: int = 0  # random games
    positions: int = 0  # in these games
    distinct_keys: int = 0  # of these positions
    playouts: int = 0
    mean_plies: float = 0.0  # per random game
    max_branching: int = 0  # most legal moves in one position
    movers: set[int] = field(default_factory=set)  # players that had a move to choose
    steps: list[str] = field(default_factory=list)  # what was checked, in words
    warnings: list[str] = field(default_factory=list)  # what is allowed, but probably a mistake

    def conclusion(self) -> list[str]:
        """Return the warnings, and a line that sums up the check."""
        size = f"{self.mean_plies:.1f} plies a game, up to {self.max_branching} moves"
        return [*(f"warning: {warning}" for warning in self.warnings), f"{self.game}: {size}, all checks passed"]

    def __str__(self) -> str:
        lines = [*(f"ok  {step_name}" for step_name in self.steps), *self.conclusion()]
        return "\n".join(fold_all(lines, indent="    "))

    __repr__ = __str__


@checked
def check_game(
    game: Game, games: int = 100, seed: int = 1, on_step: Callable[[str], None] | None = None
) -> CheckReport:
    """Check a game: compile its rules, play random games, and test what a search relies on.

    game: the game; `make_game("mygame.py")` loads one from a file.
    games: the number of random games, and of playouts by each policy.
    seed: the same seed plays the same games.
    on_step: a function that is called with a text after each step.

    Returns a report. Raises GameError at the first breach of the protocol. Its message names the rule, and also the
    line if the rule does not compile.

    >>> import treespan as ts
    >>> ts.check_game(ts.make_game("tictactoe"), games=5).steps[0]
    'declarations: fields, bounds and required rules are there'
    """
    check_range("games", games, 1, MAX_GAMES)
    check_range("seed", seed, 0, LARGEST)
    report = CheckReport(game.spec())

    def done(step_name: str) -> None:
        report.steps.append(step_name)
        if on_step:
            on_step(step_name)

    check_declarations(game)
    done("declarations: fields, bounds and required rules are there")
    check_compiles(game)
    done("every rule compiles alone")
    with blaming_a_rule(game, games, seed):
        check_random_games(game, games, seed, report)
    done(f"{report.games} random games, {report.positions} positions: moves, keys, rewards, notation, diagrams")
    with blaming_a_rule(game, games, seed):
        check_playouts(game, games, seed, report)
    warn_of_odd_turns(game, report)
    done(f"{report.playouts} playouts end, and their traces and rewards are sound")
    return report


def require(condition: bool, game: Game, message: str) -> None:
    if not condition:
        raise GameError(f"{game.name}: {message}")


def check_declarations(game: Game) -> None:
    require_basics(game)
    for name in game.dtype.names or ():  # compiled code would read the field, plain Python NumPy's attribute
        require(
            not hasattr(np.record, name), game, f"a field may not be called `{name}`: NumPy's records have that name"
        )
    require(game.players in (1, 2), game, f"players={game.players}; give 1 or 2")
    require(game.max_moves >= 1, game, f"max_moves={game.max_moves}; give at least 1")
    require(1 <= game.max_plies <= 10**7, game, f"max_plies={game.max_plies}; give 1..10000000")
    if game.has_chance:
        require(find_rule(game, "chance") is not None, game, "has_chance is set but the rule `chance` is missing")


def check_compiles(game: Game) -> None:
    """Compile each rule with the types that a search passes."""
    if JIT_DISABLED:
        return
    from treespan.core.compiler import translate
    from treespan.games.table import ADAPTERS, adapter, parameters_of

    for name, rule in game.rules.items():
        rule.title = f"{game.name}: the rule `{name}`"
        kinds = parameters_of(name if name in ADAPTERS else "playout", game)
        try:
            translate(rule, kinds)
            if name in ADAPTERS:  # whether its answer is a number
                translate(adapter(game, name, 0), kinds)
        except CompileError as error:
            raise GameError(str(error)) from None


@njit
def one_playout(game, state, random, trace, moves, policy=0):
    plies = playout(game, state, random, trace, moves, policy)
    return plies, reward(game, state)


@njit
def ask_priors(game, state, moves, count, weights):
    priors(game, state, moves, count, weights)


def check_random_games(game: Game, games: int, seed: int, report: CheckReport) -> None:
    rng = np.random.default_rng(seed)
    random = generator(seed)
    seen: dict[int, bytes] = {}
    total_plies = 0
    for _ in range(games):
        position = Position(game)
        while True:
            check_position(position, report)
            seen.setdefault(position.key, position.state.tobytes())
            if position.is_over:
                check_reward(game, position.reward)
                break
            plies = len(position.moves_made)
            require(
                plies < game.max_plies, game, f"a game of {plies + 1} plies is longer than max_plies={game.max_plies}"
            )
            if position.is_chance:
                require(game.has_chance, game, "to_play is CHANCE but has_chance is not set")
                index = int(find_rule(game, "chance")(position.state, random))
                moves = position.legal_moves
                require(0 <= index < len(moves), game, f"chance gave index {index} of {len(moves)} moves")
                position.play(moves[index])
            elif not position.legal_moves:
                break  # the game's history forbids every move (superko); the search never goes there
            else:
                position.play(int(rng.choice(position.legal_moves)))
        total_plies += len(position.moves_made)
    report.games, report.distinct_keys = games, len(seen)
    report.mean_plies = total_plies / games
    # With so few keys, the rule `key` gives the same key to positions that differ.
    require(len(seen) > report.positions // 1000, game, f"{report.positions} positions have only {len(seen)} keys")


@contextlib.contextmanager
def blaming_a_rule(game: Game, games: int, seed: int) -> Iterator[None]:
    """If compiled code stops in the body, raise GameError with the rule and the line: as plain Python rules say it."""
    try:
        yield
    except CompiledCodeError:
        play_plainly(game, games, seed)
        raise


def play_plainly(game: Game, games: int, seed: int) -> None:
    """Play random games by the rules as plain Python. Raises GameError if a rule fails."""
    rng, random = np.random.default_rng(seed), generator(seed)

    def ask(name: str, *arguments: Any) -> Any:
        rule = game.rules[name]
        try:
            return getattr(rule, "py_func", rule)(*arguments)
        except OverflowError:  # compiled code would have gone on
            return 0
        except Exception as error:
            file = getattr(rule, "py_func", rule).__code__.co_filename
            place = [at for at in traceback.extract_tb(error.__traceback__) if at.filename == file][-1]
            where = f"{Path(file).name}, line {place.lineno}: {place.line}"
            told = f"{type(error).__name__}: {error}".removesuffix(": ")
            raise GameError(f"{game.name}: the rule `{name}` fails: {told}; {where}") from error

    others = [name for name in game.rules if name == "key" or name.startswith("playout")]
    for _ in range(games):
        state, moves = game.new_state(), np.zeros(game.max_moves, np.int32)
        for _ in range(game.max_plies):
            for name in others:
                scratch, trace = np.zeros_like(moves), np.zeros(game.max_plies, np.int32)
                ask(name, state.copy(), *((random, trace, scratch) if name != "key" else ()))
            count = ask("legal_moves", state, moves)
            if count == 0:
                ask("reward", state)
                break
            ask("play", state, rng.choice(moves[:count]))


def check_position(position: Position, report: CheckReport) -> None:
    """Check one position of a random game."""
    game, moves = position.game, position.legal_moves
    report.positions += 1
    report.max_branching = max(report.max_branching, len(moves))
    if moves and not position.is_chance:
        report.movers.add(int(position.state.to_play))
    require(len(moves) <= game.max_moves, game, f"{len(moves)} legal moves exceed max_moves={game.max_moves}")
    require(len(set(moves)) == len(moves), game, f"legal_moves lists a move twice: {moves}")
    highest = game.move_ids
    require(all(0 <= move < highest for move in moves), game, f"a move is not in 0..move_ids-1={highest - 1}: {moves}")
    require(0 <= int(position.state.to_play) <= CHANCE, game, f"to_play={position.state.to_play}; give 0, 1 or 2")
    before = position.state.tobytes()
    buffers = np.zeros(2 * game.max_moves + 64, np.int32), np.zeros(1, np.uint64), np.zeros(1)
    step(game, position.state, NO_MOVE, *buffers)
    require(position.state.tobytes() == before, game, "asking for moves, key or reward changes the position")
    require(int(buffers[1][0]) == position.key, game, "key gives different answers for one position")
    if report.positions % 7 == 1:  # text is slow; a sample suffices
        check_text(position)
        check_weights(position)


def warn_of_odd_turns(game: Game, report: CheckReport) -> None:
    """Warn if only one of two players ever moved: most likely `play` forgets to change `to_play`."""
    if game.players == 2 and len(report.movers) == 1:
        mover = ("first", "second")[report.movers.pop()]
        report.warnings.append(
            f"{game.name}: only the {mover} player ever moved; `play` should set `to_play`, or say players = 1"
        )


def check_text(position: Position) -> None:
    game = position.game
    for move in position.legal_moves:
        name = game.move_name(move)
        require(
            game.parse_move(name) == move, game, f"move {move} is written '{name}' but read {game.parse_move(name)}"
        )
    text = game.diagram(position.state)
    try:
        again = Position(game, game.read_diagram(text))
    except TreespanError as error:
        raise GameError(f"{game.name}: read_diagram refuses what diagram wrote: {error}\n{text}") from None
    require(game.diagram(again.state) == text, game, f"diagram and read_diagram disagree on\n{text}")
    if not position.is_over:
        moves = set(again.game_moves)
        require(moves == set(position.game_moves), game, f"a diagram read back has other legal moves:\n{text}")
        same_key = again.key == position.key or find_rule(game, "key") is None
        require(same_key, game, f"a diagram read back has another key:\n{text}")


def check_weights(position: Position) -> None:
    game, count = position.game, len(position.legal_moves)
    moves = np.zeros(game.max_moves, dtype=np.int32)
    moves[:count] = position.legal_moves
    weights = np.zeros(game.max_moves, dtype=np.float32)
    game.want(priors=True)
    ask_priors(game, position.state, moves, count, weights)
    sound = bool(np.all(np.isfinite(weights[:count])) and np.all(weights[:count] > 0))
    require(sound, game, f"priors gives weights that are not positive: {weights[:count]}")


def check_reward(game: Game, value: float) -> None:
    require(0.0 <= value <= 1.0, game, f"reward={value}; scale rewards to 0..1")


def check_playouts(game: Game, count: int, seed: int, report: CheckReport) -> None:
    random, again = generator(seed), generator(seed)
    trace = np.zeros(game.max_plies, dtype=np.int32)
    moves = np.zeros(game.max_moves, dtype=np.int32)
    start_is_over = Position(game).is_over
    for policy in range(len(game.policies)):
        game.want(policy)
    for policy in count * list(range(len(game.policies))):
        outcomes = [_playout_from_start(game, source, trace, moves, policy) for source in (random, again)]
        plies, value = outcomes[0]
        require(outcomes[0] == outcomes[1], game, "the same random numbers give different playouts")
        require(plies <= game.max_plies, game, f"a playout took {plies} plies; max_plies is {game.max_plies}")
        require(
            (plies == 0) == start_is_over, game, "a playout of 0 plies must mean that the game was over, and only that"
        )
        check_reward(game, value)
        if NATURES_MOVE not in trace[:plies]:
            check_trace(game, trace[:plies].tolist())
        report.playouts += 1


def check_trace(game: Game, trace: list[int]) -> None:
    """Check that the moves which a playout noted are legal, and that each was made by the player whose turn it was."""
    position = Position(game)
    for entry in trace:
        if position.is_over:
            break
        player, move = (1, ~entry) if entry < 0 else (0, entry)
        require(player == int(position.state.to_play), game, f"a playout noted a move of player {player} out of turn")
        require(move in position.game_moves, game, f"a playout noted the illegal move {move}")
        if move in position.forbidden_moves:
            return  # playouts need not know the game's history
        position.play(move)
    require(position.is_over, game, "a playout noted fewer moves than the game has")


def _playout_from_start(
    game: Game, random: np.ndarray, trace: np.ndarray, moves: np.ndarray, policy: int
) -> tuple[int, float]:
    state: Any = game.new_state()
    plies, value = one_playout(game, state, random, trace, moves, policy)
    return int(plies), float(value)
