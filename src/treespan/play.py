"""A game against a person at a terminal: text in, text out, as the protocol of `treespan gtp` but for people."""

from dataclasses import dataclass
from pathlib import Path

from treespan.core.errors import OptionError, PositionError
from treespan.core.rng import generator
from treespan.engine import Engine
from treespan.engine.engine import expected, win_rate
from treespan.games.rules import FIRST

HINTS = 5
HELP = """\
a move      in the game's notation, as the board shows it
hint        what the computer would play for you
undo        take back your last move and the answer to it, or your resignation
moves       all legal moves
save FILE   write the game as SGF (Go)
resign, quit
After the end of the game there are undo, save and quit."""


@dataclass
class Turn:
    """What to show, and whether that was all."""

    text: str
    is_last: bool = False


class PlaySession:
    """One game. Mistakes are told and change nothing."""

    def __init__(self, engine: Engine, human: int):
        if engine.game.players != 2:
            raise OptionError(f"{engine.game.name} has one player; `treespan search` shows its best moves")
        self.engine, self.human = engine, human
        self._nature = generator(engine.plan.seed, 1)
        self._notes: list[str] = []
        self._resigned: int | None = None  # the player who gave up

    @property
    def is_over(self) -> bool:
        """Whether the game, not the session, is at its end."""
        return self._resigned is not None or self.engine.position.is_over

    def begin(self) -> Turn:
        """The first position, after the computer's move if it is to begin."""
        self._notes = [
            f"you are the {'first' if self.human == FIRST else 'second'} player; help shows what you can say"
        ]
        return self._until_human()

    def handle_line(self, line: str) -> Turn:
        """Do what the person says. A finished game is not played on, but it can be saved and taken back."""
        word, _, rest = line.strip().partition(" ")
        if not word:
            return Turn("")
        commands = {"undo": self.undo, "help": lambda: Turn(HELP)}
        if not self.is_over:
            commands |= {"hint": self.hint, "moves": self.moves, "resign": self.resign}
        try:
            if word == "quit":
                return Turn("", is_last=True)
            if word == "save":
                return self.save(rest.strip())
            if word in commands and not rest:
                return commands[word]()
            if self.is_over:
                return Turn(self._end())
            self.engine.play(self.engine.game.parse_move(line.strip()))
        except PositionError as error:
            return Turn(f"{error}; help shows what you can say")
        return self._until_human()

    def hint(self) -> Turn:
        """The best moves by a search for the person."""
        decision = self.engine.choose(use_clock=False)
        result = decision.result
        if result is None:
            assert decision.move is not None  # only a search leads to resigning
            return Turn(f"{self.engine.game.move_name(decision.move)}: you win as it stands")
        seen = [move for move in result.moves[:HINTS] if move.visits]
        rows = [f"{move.move:>5} {expected(move):6.1%} {move.visits:>9,} visits" for move in seen]
        return Turn("\n".join([*rows, f"line {' '.join(result.line)}"]))

    def moves(self) -> Turn:
        return Turn(" ".join(self.engine.game.move_name(move) for move in self.engine.position.legal_moves))

    def resign(self) -> Turn:
        self._resigned = self.human
        return Turn(f"you resign\n{self._end()}")

    def undo(self) -> Turn:
        """Back to the person's last choice, which may be to resign."""
        if self._resigned != self.human:
            self.engine.undo()
        self._resigned = None
        while self.engine.moves_played and not self._is_humans_turn():
            self.engine.undo()
        return self._until_human()  # the computer moves again if nothing but its first move was left

    def save(self, name: str) -> Turn:
        manners = self.engine.manners
        if not manners.file_format:
            return Turn(f"{self.engine.game.name} has no file format; only Go is saved, as SGF")
        if not name:
            return Turn("give the name of a file, as in: save game.sgf")
        past = self.engine.past
        start = past[0] if past else self.engine.position
        players = [int(position.state.to_play) for position in past]
        moves = zip(players, self.engine.position.moves_made, strict=True)
        names = ("you", "treespan") if self.human == FIRST else ("treespan", "you")
        data = manners.as_file(start.state, moves, names, self._result() if self.is_over else "")
        try:
            Path(name).write_bytes(data)
        except OSError as error:
            return Turn(f"cannot write '{name}': {error.strerror}")
        return Turn(f"saved {name}")

    def _is_humans_turn(self) -> bool:
        return int(self.engine.position.state.to_play) == self.human

    def _until_human(self) -> Turn:
        """Let nature and the computer move until it is the person's turn or the game is over."""
        engine = self.engine
        while not self.is_over and not self._is_humans_turn():
            if engine.position.is_chance:
                index = int(engine.game.rules["chance"](engine.position.state, self._nature))
                move = engine.position.game_moves[index]
                self._notes.append(f"chance: {engine.game.move_name(move)}")
            else:
                decision = engine.choose()
                if decision.move is None:
                    self._resigned = 1 - self.human
                    self._notes.append("treespan resigns: you win")
                    break
                move, number = decision.move, engine.moves_played + 1
                rate = f"; your winning chances: {1 - win_rate(decision.result.moves):.1%}" if decision.result else ""
                self._notes.append(f"move {number}: treespan plays {engine.game.move_name(move)}{rate}")
            engine.play(move)
        lines = [self._board(), *self._notes]
        self._notes = []
        return Turn("\n".join([*lines, self._end()] if self.is_over else lines))

    def _board(self) -> str:
        return self.engine.manners.marked(self.engine.position)

    def _end(self) -> str:
        """The result, and what can be said after the end."""
        words = "undo, save FILE or quit" if self.engine.manners.file_format else "undo or quit"
        return f"the game is over: {self._result()}; say {words}"

    def _result(self) -> str:
        engine = self.engine
        if self._resigned is not None:
            return engine.manners.lost_result(engine.position.state, self._resigned, "resignation")
        return engine.manners.outcome(engine.position, engine.status)[1]
