"""The folder of a match: the setup (match.json), a line for each game (games.jsonl), and a file for each game
that has a format of its own, as Go's SGF.

A game is written as soon as it is over. So a match that ended for any reason can go on after its last finished game.
"""

import json
import os
from dataclasses import asdict, fields
from pathlib import Path

from treespan.core.errors import OptionError, about, named
from treespan.games.position import Position
from treespan.games.rules import Game
from treespan.lab.match.referee import SIDES, GameRecord, MatchSetup

SETUP_FILE, LOG_FILE, GAMES_FOLDER = "match.json", "games.jsonl", "games"


class MatchFolder:
    """A match on disk. Not for two processes at once."""

    def __init__(self, path: Path, setup: MatchSetup, game: Game, resume: bool):
        self.path, self.setup, self.game = path, setup, game
        self.records: list[GameRecord] = []
        try:
            path.mkdir(parents=True, exist_ok=True)
            if (path / SETUP_FILE).exists():
                self._check_setup(resume)
                self.records = self.read_log()
            else:
                (path / SETUP_FILE).write_text(json.dumps(asdict(setup), indent=1) + "\n")
            self._log = (path / LOG_FILE).open("a")
        except OSError as error:
            raise OptionError(f"cannot write {named('out', path)}: {error.strerror}; give another folder") from None

    def _check_setup(self, resume: bool) -> None:
        if not resume:
            raise OptionError(
                f"'{self.path}'{about('out', self.path)} has a match already; give {named('resume')} to go on with it, "
                f"or another {named('out')}"
            )
        try:
            document = json.loads((self.path / SETUP_FILE).read_text())
        except ValueError:
            raise OptionError(
                f"cannot read '{self.path / SETUP_FILE}'{about('out', self.path)}; give another {named('out')}"
            ) from None
        ours = json.loads(json.dumps(asdict(self.setup)))
        for name in (field.name for field in fields(self.setup)):
            if document.get(name) != ours[name]:
                change = f"{name} was {document.get(name)!r}, now {ours[name]!r}"
                raise OptionError(
                    f"'{self.path}'{about('out', self.path)} has another match: {change}; "
                    f"give the same options or another {named('out')}"
                )

    def read_log(self) -> list[GameRecord]:
        """Return the games so far. Removes a line from the file that was cut off when the program died."""
        path = self.path / LOG_FILE
        if not path.exists():
            return []
        data = path.read_bytes()
        whole = data[: data.rfind(b"\n") + 1]
        if len(whole) < len(data):
            os.truncate(path, len(whole))
        records = {}
        for number, line in enumerate(whole.splitlines(), start=1):
            try:
                record = GameRecord(**json.loads(line))
            except (ValueError, TypeError):
                raise OptionError(
                    f"cannot read line {number} of '{path}'{about('out', self.path)}; "
                    f"remove it, or give another {named('out')}"
                ) from None
            records[record.game] = record
        return list(records.values())

    def add(self, record: GameRecord) -> None:
        """Write a finished game. It is on the disk when this returns."""
        if file_format := self.game.manners().file_format:
            folder = self.path / GAMES_FOLDER
            folder.mkdir(exist_ok=True)
            path = folder / f"{record.game:05}.{file_format.lower()}"
            path.write_bytes(game_file(self.game, self.setup, record))
        self._log.write(json.dumps(record.as_json()) + "\n")
        self._log.flush()
        os.fsync(self._log.fileno())
        self.records.append(record)

    def close(self) -> None:
        self._log.close()


def game_file(game: Game, setup: MatchSetup, record: GameRecord) -> bytes:
    """Return a game of a match in the game's file format."""
    position = Position(game)
    moves: list[tuple[int, int]] = []
    for text in record.moves:
        player = int(position.state.to_play)
        position.play(text)
        moves.append((player, position.moves_made[-1]))
    second = SIDES[1 - SIDES.index(record.first)]
    names = f"{record.first}: {setup.player_text(record.first)}", f"{second}: {setup.player_text(second)}"
    notes = [f"{record.reason}: {record.detail}"] if record.detail else []
    notes += [f"{side} claims {claim}" for side, claim in record.claims.items()]
    return game.manners().as_file(game.new_state(), moves, names, record.result, f"game {record.game}", notes)
