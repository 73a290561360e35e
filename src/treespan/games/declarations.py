"""What a game declares: its fields, and the parameters of its rules. Mistakes there are told before it is compiled."""

import inspect
import re
import traceback
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from treespan.core.errors import GameError
from treespan.core.kinds import NUMBERS

if TYPE_CHECKING:
    from treespan.games.rules import Game

REQUIRED_RULES = ("legal_moves", "play", "reward")
PARAMETERS = {  # of the rules
    "legal_moves": "state, moves",
    "candidates": "state, moves",
    "play": "state, move",
    "reward": "state",
    "key": "state",
    "chance": "state, random",
    "priors": "state, moves, count, weights",
    "playout": "state, random, trace, moves",
    "expertise": "states, desk, moves, count, marks",
    "foresee": "states, desk",
    "agrees": "state, desk",
}


def check_fields(game: str, fields: Sequence[Any]) -> None:
    """Raise GameError for fields of a position that compiled code does not know, or that are listed twice."""
    names: set[str] = set()
    for field in fields:
        _check_field(game, field)
        if field[0] in names:
            raise GameError(f"{game}: the field `{field[0]}` is listed twice; give the second another name")
        names.add(field[0])


def _check_field(game: str, field: Any) -> None:
    known = f"give one of {', '.join(name for name in NUMBERS if name != 'bool')}"
    try:
        dtype = np.dtype([field])
    except (TypeError, ValueError):
        if isinstance(field, tuple) and len(field) in (2, 3) and isinstance(field[0], str) and not _is_type(field[1]):
            raise GameError(f"{game}: the field `{field[0]}` has type {field[1]!r}; {known}") from None
        raise GameError(f"{game}: the field {field!r} is not (name, type) or (name, type, shape)") from None
    base = dtype[0].base
    if base.name not in NUMBERS:
        raise GameError(f"{game}: the field `{field[0]}` has type {base.name}; {known}")


def _is_type(name: Any) -> bool:
    try:
        np.dtype(name)
    except (TypeError, ValueError):
        return False
    return True


def require_basics(game: "Game") -> None:
    """Raise GameError if a game lacks a rule or field that every search needs, or if a rule takes other parameters."""
    for rule in REQUIRED_RULES:
        if rule not in game.rules:
            raise GameError(f"{game.name}: the rule `{rule}` is missing")
    for name, rule in game.rules.items():
        _check_parameters(game.name, name, getattr(rule, "py_func", rule))
    if "to_play" not in (game.dtype.names or ()):
        raise GameError(f"{game.name}: a position needs a field `to_play`")
    if game.dtype["to_play"].kind not in "iu":
        raise GameError(f"{game.name}: the field `to_play` has type {game.dtype['to_play']}; give np.int8")


def _check_parameters(game: str, name: str, rule: Any) -> None:
    expected = PARAMETERS[name if name in PARAMETERS else "playout"]
    signature = inspect.signature(rule)
    try:
        signature.bind(*expected.split(", "))
    except TypeError:
        has = len(signature.parameters)
        remedy = f"write `def {name}({expected})`"
        if next(iter(signature.parameters), "") == "self":
            remedy = "write @staticmethod above it, and leave out `self`"
        plural = "" if has == 1 else "s"
        raise GameError(f"{game}: `{name}` takes ({expected}); it has {has} parameter{plural}; {remedy}") from None


def faulty_setup(game: "Game", error: Exception) -> GameError:
    """Return an error that says what `setup` of a game did wrong, in which line, and what to do."""
    file = type(game).setup.__code__.co_filename
    places = traceback.extract_tb(error.__traceback__)
    place = next((place for place in reversed(places) if place.filename == file), places[-1])
    where = f"{Path(place.filename).name}, line {place.lineno}: {place.line}"
    cause, remedy = str(error), ""
    unknown = re.fullmatch(r"'(?:record|recarray)' object has no attribute '(\w+)'", cause)
    if unknown:
        cause = f"a position has no field '{unknown[1]}'"
        remedy = f"; it has {', '.join(game.dtype.names or ())}"
    elif isinstance(error, OverflowError) or "out of bounds" in cause:
        remedy = "; give the field a wider type"
    return GameError(f"{game.name}: `setup` fails: {cause}; {where}{remedy}")
