"""Games by name: those of the package, and a user's in a file of its own."""

import dataclasses
import hashlib
import importlib
import importlib.util
import sys
from pathlib import Path
from types import ModuleType
from typing import Any

from treespan.core.errors import GameError, OptionError, unknown_name
from treespan.core.options import fill, split_spec
from treespan.games.rules import Game

# name: module and class. Imported on use only: a search of one game need not build the tables of others.
PACKAGE_GAMES = {
    "connect4": ("treespan.games.connect4", "ConnectFour"),
    "go": ("treespan.games.go", "Go"),
    "havannah": ("treespan.games.havannah", "Havannah"),
    "hex": ("treespan.games.hex", "Hex"),
    "pgame": ("treespan.games.pgame", "PGame"),
    "sailing": ("treespan.games.sailing", "Sailing"),
    "samegame": ("treespan.games.samegame", "SameGame"),
    "tictactoe": ("treespan.games.tictactoe", "TicTacToe"),
}


def game_class(name: str) -> type[Game]:
    """The class of a game of the package, or of the one game in a Python file."""
    if name.endswith(".py") or "/" in name:
        return load_game_file(Path(name))
    if name not in PACKAGE_GAMES:
        raise unknown_name("game", name, PACKAGE_GAMES)
    module, cls = PACKAGE_GAMES[name]
    found: type[Game] = getattr(importlib.import_module(module), cls)
    return found


def make_game(spec: str | Game, **options: Any) -> Game:
    """A game from a spec such as `go:size=9,komi=7.5` or `mygame.py:size=5`; or a game as it is.

    `options` change those of the spec or the game.

    >>> make_game("go:size=13", komi=6.5).spec()
    'go:size=13,komi=6.5'
    """
    if isinstance(spec, Game):
        game: Any = spec  # a dataclass
        return dataclasses.replace(game, **options) if options else spec
    if not isinstance(spec, str):
        raise OptionError(f"{spec!r} is no game; give a spec as 'go:size=9', or an object of a subclass of Game")
    name, values = split_spec(spec)
    cls = game_class(name)
    return fill(cls, {**values, **options}, cls.name)


def load_class(path: str, module: str) -> type[Game]:
    """The game's class of a file that another process has loaded as `module`: a name that says what is in it."""
    loaded = sys.modules.get(module)
    cls = _game_in(loaded, Path(path)) if loaded else load_game_file(Path(path))
    if cls.__module__ != module:
        raise GameError(f"'{path}' has changed since it was loaded; make the game anew")
    return cls


def load_game_file(path: Path) -> type[Game]:
    """Import a user's file and give the one game that it defines."""
    return _game_in(load_file(path), path)


def _game_in(module: ModuleType, path: Path) -> type[Game]:
    games = [
        value
        for value in vars(module).values()
        if isinstance(value, type) and issubclass(value, Game) and value.__module__ == module.__name__
    ]
    if len(games) != 1:
        raise GameError(f"'{path}' defines {len(games)} games; a game file defines exactly one subclass of Game")
    if "__dataclass_fields__" not in vars(games[0]):
        raise GameError(f"'{path}': class {games[0].__name__} is no dataclass; write @dataclass(frozen=True) above it")
    games[0].source = str(path)
    return games[0]


def load_file(path: Path) -> ModuleType:
    """Import a user's Python file."""
    try:
        source = path.read_bytes()
    except OSError as error:
        raise OptionError(f"cannot read '{path}': {error.strerror}") from None
    # Named by content, like the game's compiled code, which refers to its module by name: the same game at
    # another path, or in another process, is then found in the cache.
    module_name = f"treespan_user_{hashlib.sha256(source).hexdigest()[:16]}"
    spec = importlib.util.spec_from_file_location(module_name, path)
    if spec is None or spec.loader is None:
        raise OptionError(f"'{path}' is not a Python file; its name must end in .py")
    module = importlib.util.module_from_spec(spec)
    sys.modules[module_name] = module
    try:
        exec(compile(source, str(path), "exec"), module.__dict__)
    except Exception as error:
        raise GameError(f"'{path}' cannot be imported: {type(error).__name__}: {error}") from error
    return module
