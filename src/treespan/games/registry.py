"""Games by name: those of the package, and a user's game in a file of its own."""

import contextlib
import dataclasses
import hashlib
import importlib
import importlib.util
import os
import sys
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType
from typing import Any

from treespan.core.errors import GameError, OptionError, about, shown, unknown_name
from treespan.core.options import fill, read_fields, split_spec
from treespan.games.rules import Game

# name: module and class. A module is imported on first use: a search of one game need not build tables of others.
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
    """Return the class of a game of the package, or of the only game in a Python file."""
    if name.endswith(".py") or "/" in name:
        return load_game_file(Path(name))
    if name not in PACKAGE_GAMES:
        raise unknown_name("game", name, PACKAGE_GAMES, "game")
    module, cls = PACKAGE_GAMES[name]
    found: type[Game] = getattr(importlib.import_module(module), cls)
    return found


def make_game(spec: str | Game, **options: Any) -> Game:
    """Return a game by its name.

    spec: a text such as `go:size=9,komi=7.5` or `mygame.py:size=5`, or an object of a subclass of `Game`.
    options: options of the game by name. They replace those of the spec or of the object.

    Raises OptionError for an unknown name or a value out of range, and GameError if a file has no game or several.

    >>> import treespan as ts
    >>> ts.make_game("go:size=13", komi=6.5).spec()
    'go:size=13,komi=6.5'
    """
    if isinstance(spec, Game):
        game: Any = spec  # a dataclass
        return dataclasses.replace(game, **read_fields(type(spec), options, spec.name)) if options else spec
    if not isinstance(spec, str):
        which = f"{shown(spec)}{about('game', spec)}"
        raise OptionError(f"{which} is no game; give a spec as 'go:size=9', or an object of a subclass of Game")
    name, values = split_spec(spec)
    cls = game_class(name)
    return fill(cls, {**values, **options}, cls.name)


def load_class(path: str, module: str) -> type[Game]:
    """Return the game's class from a file that another process has loaded under the name `module`.

    The name contains a hash of the file. Raises GameError if the file has changed since.
    """
    loaded = sys.modules.get(module)
    cls = _game_in(loaded, Path(path)) if loaded else load_game_file(Path(path))
    if cls.__module__ != module:
        raise GameError(f"'{path}' has changed since it was loaded; make the game anew")
    return cls


def load_game_file(path: Path) -> type[Game]:
    """Import a user's file and return the class of the only game in it."""
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
    """Import a user's Python file and return the module."""
    try:
        source = path.read_bytes()
    except OSError as error:
        which = f"'{shown(path)}'{about('game', path)}"
        raise OptionError(f"cannot read {which}: {error.strerror}; name another file") from None
    # The module's name is a hash of its content, because compiled code refers to its module by name. So the cache
    # knows the same game again at another path or in another process.
    module_name = f"treespan_user_{hashlib.sha256(source).hexdigest()[:16]}"
    spec = importlib.util.spec_from_file_location(module_name, path)
    if spec is None or spec.loader is None:
        raise OptionError(f"'{path}' is not a Python file; its name must end in .py")
    module = importlib.util.module_from_spec(spec)
    sys.modules[module_name] = module
    try:
        with _importing_from(str(path.parent.resolve())):
            exec(compile(source, str(path), "exec"), module.__dict__)
    except Exception as error:
        raise GameError(f"'{path}' cannot be imported: {type(error).__name__}: {error}") from error
    return module


_folders: list[str] = []  # of files that were loaded: the end of `sys.path`, the latest first
_helpers: dict[str, tuple[str, tuple[int, int]]] = {}  # modules that these files imported from there: file and state


@contextlib.contextmanager
def _importing_from(folder: str) -> Iterator[None]:
    """Let the body import modules of a folder as they are now. No module of a library is hidden by one of them."""
    if folder not in sys.path or folder in _folders:
        _folders[:] = [folder, *(other for other in _folders if other != folder)]
        sys.path[:] = [*(known for known in sys.path if known not in _folders), *_folders]
    if any(Path(file).parent != Path(folder) or _state(file) != state for file, state in _helpers.values()):
        for name in _helpers:  # all: they may have imported each other
            sys.modules.pop(name, None)
        _helpers.clear()
    importlib.invalidate_caches()
    before, keeps_bytecode = set(sys.modules), sys.dont_write_bytecode
    # Python takes bytecode for current whose source was changed within a second to one of equal size.
    sys.dont_write_bytecode = True
    try:
        yield
    finally:
        sys.dont_write_bytecode = keeps_bytecode
        for name in set(sys.modules) - before:
            file = getattr(sys.modules[name], "__file__", None)
            if file and Path(file).parent == Path(folder):
                _helpers[name] = file, _state(file)


def _state(file: str) -> tuple[int, int]:
    """Return what changes with a file: the time of its last change, and its size. Zeros if it is gone."""
    try:
        facts = os.stat(file)
    except OSError:
        return 0, 0
    return facts.st_mtime_ns, facts.st_size
