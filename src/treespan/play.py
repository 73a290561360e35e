"""A game against a person at a terminal: a line in, a turn out, as the protocol of `treespan gtp` but for people.

Nothing is printed here. A `Turn` is lines of pieces, each a text and its style (`games/board.py`); `terminal.py` shows
them.
"""

import time
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass, field
from pathlib import Path

from treespan.core.errors import OptionError, PositionError
from treespan.core.folding import WIDTH, fold
from treespan.core.rng import generator
from treespan.engine import Decision, GameEngine
from treespan.engine.engine import expected, win_rate
from treespan.games.board import LABEL, Board, Piece, width_of
from treespan.games.position import Position
from treespan.games.rules import FIRST

HINTS = 5
BESIDE = 3  # columns between a board and what is said beside it
SCORE_PLAYOUTS = 4000  # that tell the score while a game lasts: to about a point
LOOK_SECONDS = 0.2  # between two looks at a search that runs
MISTAKE = "#d55e00"
FOR_HELP = "? shows what you can say"

Tell = Callable[[str], None]


@contextmanager
def nobody_watches() -> Iterator[Tell]:
    """Show nothing while the computer thinks."""
    yield lambda words: None


@dataclass
class View:
    """A position as people see it."""

    board: Board | None
    diagram: str  # where there is no board
    facts: list[str]  # what stands beside it

    def lines(self, width: int, is_painted: bool) -> list[list[Piece]]:
        facts: list[list[Piece]] = [[(fact, "")] for fact in self.facts]
        if self.board is None:
            diagram = (folded for line in self.diagram.splitlines() for folded in fold(line, width))
            return [*([(line, "")] for line in diagram), *facts]
        board = self.board.lines(is_painted)
        if self.board.legend and not is_painted:
            facts.append([(self.board.legend, LABEL)])
        widest = max(map(width_of, board)) + BESIDE
        if widest + max(map(width_of, facts), default=0) > width:
            return [*board, *facts]
        board += [[] for _ in range(len(facts) + 1 - len(board))]
        beside = [[], *facts, *([] for _ in board)]  # from the second line on: the first has labels
        return [
            [*line, (" " * (widest - width_of(line)), ""), *words] if words else line
            for line, words in zip(board, beside, strict=False)
        ]


@dataclass
class Turn:
    """What to show, and whether that was all."""

    notes: list[str] = field(default_factory=list)
    view: View | None = None  # if the position is to be shown, above the notes
    is_mistake: bool = False
    is_last: bool = False
    is_folded: bool = True  # not where a note has a path, which may have blanks and has to be copied

    def lines(self, width: int = WIDTH, is_painted: bool = False) -> list[list[Piece]]:
        above = self.view.lines(width, is_painted) if self.view else []
        style = MISTAKE if self.is_mistake else ""
        notes = [line for note in self.notes for line in (fold(note, width) if self.is_folded else [note])]
        return [*above, *([(line, style)] for line in notes)]

    @property
    def text(self) -> str:
        """The lines without their styles."""
        return "\n".join("".join(text for text, _ in line).rstrip() for line in self.lines())


class PlaySession:
    """One game after the other. Mistakes are told and change nothing."""

    def __init__(
        self,
        engine: GameEngine,
        human: int,
        watch: Callable[[], AbstractContextManager[Tell]] = nobody_watches,  # is entered while the computer thinks
    ):
        if engine.game.players == 1 and human != FIRST:
            raise OptionError(f"{engine.game.name} has one player; you can only be the first")
        self.engine, self.human, self._watch = engine, human, watch
        self._begin()

    def _begin(self) -> None:
        self._nature = generator(self.engine.plan.seed, 1)
        self._notes: list[str] = []
        self._prospects = ""  # what the last search expects for the person
        self._resigned: int | None = None  # the player who gave up

    @property
    def is_over(self) -> bool:
        """Whether the game, not the session, is at its end."""
        return self._resigned is not None or self.engine.position.is_over

    @property
    def _is_alone(self) -> bool:
        return self.engine.game.players == 1

    def begin(self) -> Turn:
        """Return the first position, after the computer's move if the computer begins."""
        you = "you play alone" if self._is_alone else f"you are {self.engine.manners.names[self.human]}"
        self._notes = [f"{you}; {FOR_HELP}"]
        return self._until_human()

    def handle_line(self, line: str) -> Turn:
        """Do what the person says. A finished game is not played on, but it can be saved and taken back."""
        word, _, rest = line.strip().partition(" ")
        word, rest = word.lower(), rest.strip()
        if not word:
            return Turn()
        commands = {"undo": self.undo, "help": self.help, "?": self.help, "board": lambda: Turn(view=self._view())}
        if not self.is_over:
            commands |= {"hint": self.hint, "moves": self.moves}
            commands |= {} if self._is_alone else {"resign": self.resign}
        try:
            if word in ("quit", "exit"):
                return Turn(is_last=True)
            if word == "save":
                return self.save(rest)
            if word == "new":
                return self.new(rest)
            if word in commands and not rest:
                return commands[word]()
            if self.is_over:
                return Turn([self._end()])
            self._play(line.strip())
        except PositionError as error:
            return Turn([f"{error}; {FOR_HELP}"], is_mistake=True)
        return self._until_human()

    def _play(self, text: str) -> None:
        """Make the person's move. Raises PositionError, with the reason, if it is illegal."""
        engine = self.engine
        move = engine.manners.read_move(engine.position, text)
        if move not in engine.position.legal_moves:
            reason = engine.manners.why_illegal(engine.position, move)
            raise PositionError(f"{engine.game.name}: you cannot play {text}: {reason}")
        engine.play(move)

    def help(self) -> Turn:
        game, manners = self.engine.game, self.engine.manners
        lines = [
            ("a move", f"in the game's notation, as {self._example()}"),
            ("hint", "what the computer would play for you"),
            ("undo", "take back your last move and the answer to it"),
            ("new", "begin a new game; new first and new second choose your side"),
            ("board", "show the board once more"),
            ("moves", "all legal moves"),
            *([("save FILE", f"write the game as {manners.file_format}")] if manners.file_format else []),
            *([] if self._is_alone else [("resign", "give the game up; undo takes that back, too")]),
            ("quit", "leave; so does Ctrl-C at your move"),
            ("Ctrl-C", "while the computer thinks: it plays its best move so far"),
        ]
        words = [f"{what:<12}{meaning}" for what, meaning in lines if not (self._is_alone and what == "Ctrl-C")]
        words = [word.partition("; new first")[0] if self._is_alone else word for word in words]
        chances = [] if self._is_alone else ["A chance to win is what the search expects; a draw counts as half a win."]
        return Turn([f"{game.name}: {game.summary}", "", *words, *chances])

    def _example(self) -> str:
        """Return the name of a move, to show the notation."""
        position = self.engine.position
        moves = position.legal_moves or Position(self.engine.game).legal_moves
        return self.engine.game.move_name(moves[len(moves) // 2])

    def hint(self) -> Turn:
        """Search for the person, and return the best moves."""
        decision = self._choose(use_clock=False)
        result, game, position = decision.result, self.engine.game, self.engine.position
        if result is None:
            assert decision.move is not None  # only a search leads to resigning
            return Turn([f"{game.move_name(decision.move)}: you win as it stands"])
        seen = [move for move in result.moves[:HINTS] if move.visits]
        widest = max(len(move.move) for move in seen)
        rows = [
            f"{move.move:>{widest}}  {self.engine.manners.prospects(position, self.human, expected(move))}"
            f"  {move.visits:>9,} visits"
            for move in seen
        ]
        line = " ".join(result.line)
        return Turn([*rows, f"expected line {line}"])

    def moves(self) -> Turn:
        names = " ".join(self.engine.game.move_name(move) for move in self.engine.position.legal_moves)
        return Turn([names])

    def resign(self) -> Turn:
        self._resigned = self.human
        return Turn(["you resign", self._end()])

    def undo(self) -> Turn:
        """Go back to the person's last choice, which may be to resign."""
        if self._resigned != self.human:
            self.engine.undo()
        self._resigned, self._prospects = None, ""
        while self.engine.moves_played and not self._is_humans_turn():
            self.engine.undo()
        return self._until_human()  # the computer moves again if nothing but its first move was left

    def new(self, side: str) -> Turn:
        """Begin a new game, with the same sides or others."""
        sides = ("first",) if self._is_alone else ("first", "second")
        if side and side not in sides:
            return Turn([f"'{side}' is no side; say new {' or new '.join(sides)}"], is_mistake=True)
        self.human = sides.index(side) if side else self.human
        self.engine.start(self.engine.game)
        self._begin()
        return self.begin()

    def save(self, name: str) -> Turn:
        manners = self.engine.manners
        if not manners.file_format:
            return Turn([f"{self.engine.game.name} has no file format; only Go is saved, as SGF"], is_mistake=True)
        if not name:
            return Turn(["give the name of a file, as in: save game.sgf"], is_mistake=True)
        past = self.engine.past
        start = past[0] if past else self.engine.position
        players = [int(position.state.to_play) for position in past]
        moves = zip(players, self.engine.position.moves_made, strict=True)
        names = ("you", "treespan") if self.human == FIRST else ("treespan", "you")
        data = manners.as_file(start.state, moves, names, self._outcome()[1] if self.is_over else "")
        try:
            Path(name).write_bytes(data)
        except OSError as error:
            return Turn([f"cannot write '{name}': {error.strerror}"], is_mistake=True, is_folded=False)
        return Turn([f"saved {name}"], is_folded=False)

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
                decision = self._choose()
                if decision.move is None:
                    self._resigned = 1 - self.human
                    self._notes.append("treespan resigns")
                    break
                move, number = decision.move, engine.moves_played + 1
                self._notes.append(f"move {number}: treespan plays {engine.game.move_name(move)}")
                self._prospects = self._expects(win_rate(decision.result.moves)) if decision.result else ""
            engine.play(move)
        notes, self._notes = self._notes, []
        return Turn([*notes, self._end()] if self.is_over else notes, self._view())

    def _choose(self, use_clock: bool = True) -> Decision:
        """Let the computer think about the position, and tell what it prefers so far."""
        engine, shown, best = self.engine, 0.0, ""
        with self._watch() as tell:

            def look(playouts: int, seconds: float) -> None:
                nonlocal shown, best
                if time.monotonic() - shown < LOOK_SECONDS:
                    return
                shown = time.monotonic()
                so_far = engine.thinker.so_far()
                if so_far is not None and so_far.root_visits:
                    best = f"{so_far.move}, {self._expects(win_rate(so_far.moves))}, "
                tell(f"{best}{playouts:,} playouts, {seconds:.1f} s")

            engine.watcher = look
            try:
                return engine.choose(use_clock=use_clock)
            finally:
                engine.watcher = None

    def _expects(self, value: float) -> str:
        """Return in words what a search expects: `value` is for the player to move, the words for the person."""
        mine = value if self._is_humans_turn() else 1 - value
        return self.engine.manners.prospects(self.engine.position, self.human, mine)

    def _view(self) -> View:
        engine = self.engine
        positions, made = [*engine.past, engine.position], engine.moves_played
        if self.is_over:
            turn = f"over after {made} move{'s' * (made != 1)}"
        elif self._is_alone:
            turn = f"move {made + 1}"
        else:
            turn = f"move {made + 1}, {engine.manners.names[int(engine.position.state.to_play)]} to play"
        state, seed = engine.position.state, engine.plan.seed
        facts = [turn, *engine.manners.facts(positions, lambda: engine.manners.status(state, SCORE_PLAYOUTS, seed))]
        if self._prospects and not self.is_over:
            facts.append(self._prospects)
        board = engine.manners.board(positions)
        return View(board, "" if board else str(engine.position), facts)

    def _end(self) -> str:
        """Return the result, and what the person can say after the end."""
        lead, words = self._outcome()
        if not self._is_alone:
            mine = lead if self.human == FIRST else -lead
            words = f"{words}, {'you win' if mine > 0 else 'you lose' if mine < 0 else 'nobody wins'}"
        says = "undo, new, save FILE or quit" if self.engine.manners.file_format else "undo, new or quit"
        return f"the game is over: {words}; say {says}"

    def _outcome(self) -> tuple[float, str]:
        """Return the first player's lead, and the result in words."""
        engine = self.engine
        if self._resigned is not None:
            words = engine.manners.lost_result(engine.position.state, self._resigned, "resignation")
            return (-1.0 if self._resigned == FIRST else 1.0), words
        return engine.manners.outcome(engine.position, engine.status)
