"""One game of a match. The referee decides who moves, what is legal and who has won, and trusts no player's word."""

from collections.abc import Sequence
from dataclasses import asdict, dataclass, field
from typing import Any

from treespan.core.errors import OptionError, PositionError, about, named, shown
from treespan.core.options import LARGEST, check_range
from treespan.core.rng import below, generator, hash_words
from treespan.games.manners import Status
from treespan.games.position import Position
from treespan.games.rules import FIRST, Game
from treespan.lab.match.players import ForfeitError, Player, make_player

SIDES = ("A", "B")
SCORING_PLAYOUTS = 1000  # to find dead stones
OPENING_TRIES = 100
MAX_TIMEOUT, MAX_OPENING = 1e8, 100_000
_NATURE, _OPENING, _PLAYERS = range(3)  # streams of a match's seed


@dataclass(frozen=True)
class MatchSetup:
    """All that decides the games of a match. The same setup repeats the games, if both players are our searches.

    It has only texts and numbers, because it travels to other processes and into the folder of the match.
    """

    game: str
    a: str
    b: str
    seed: int = 1
    timeout: float = 60.0  # seconds per move
    openings: tuple[str, ...] = ()  # moves to begin with; two games begin with each, the players changing sides
    random_plies: int = 0  # random moves to begin with, the same for two games

    def __post_init__(self) -> None:
        if not 0 < self.timeout <= MAX_TIMEOUT:
            bounds = f"more than 0 and at most {MAX_TIMEOUT:g}"
            raise OptionError(f"{named('timeout', self.timeout)} is out of range; give {bounds}")
        check_range("random_opening", self.random_plies, 0, MAX_OPENING)
        check_range("seed", self.seed, -LARGEST, LARGEST)

    def player_text(self, side: str) -> str:
        return self.a if side == "A" else self.b


@dataclass
class GameRecord:
    """How a game went. It is one line of the log."""

    game: int  # its number in the match, from 0
    first: str  # which player moved first: A or B
    opening: int  # number of moves at the beginning that were given
    moves: list[str]
    result: str  # in words, or B+3.5 as in SGF
    winner: str | None  # A, B, or None for a draw
    reason: str  # score, resignation, or the loser's fault: time, illegal move, crash, error, unreadable answer
    detail: str = ""  # more on a fault
    seconds: dict[str, float] = field(default_factory=dict)  # that each player thought
    seeds: dict[str, int] = field(default_factory=dict)
    claims: dict[str, str] = field(default_factory=dict)  # the result as each player saw it, if scored (Go)

    @property
    def is_scored(self) -> bool:
        return self.reason == "score"

    def disputes(self) -> list[str]:
        """Return the players that saw another winner than the referee."""
        return [side for side, claim in self.claims.items() if claim[:1] != self.result[:1]]

    def as_json(self) -> dict[str, Any]:
        return asdict(self)


class Opponents:
    """Two players that play one game after another."""

    def __init__(self, setup: MatchSetup, game: Game):
        self.setup, self.game = setup, game
        self.players: dict[str, Player] = {}
        for side in SIDES:
            try:
                self.players[side] = make_player(setup.player_text(side), game, setup.timeout)
            except OptionError as error:
                which = about(side.lower(), setup.player_text(side))  # where the message names no option
                raise OptionError(f"player {side}: {error.message}{which}") from None

    def check(self) -> None:
        """Let both players begin a game. Compiles what is not in the cache. Raises OptionError if one cannot play."""
        for side, player in self.players.items():
            try:
                player.new_game(self.game, opening_moves(self.setup, self.game, 0), 1)
            except ForfeitError as forfeit:
                text = self.setup.player_text(side)
                which = f"player {side} ('{text}'){about(side.lower(), text)}"
                raise OptionError(f"{which} cannot play: {forfeit}") from None

    def play(self, number: int) -> GameRecord:
        """Play a game to its end, whatever faults the players make. Returns its record."""
        order = SIDES if number % 2 == 0 else SIDES[::-1]
        opening = opening_moves(self.setup, self.game, number // 2)
        words = [_PLAYERS, self.setup.seed, number]
        seeds = {side: int(hash_words(*words, index)) >> 33 for index, side in enumerate(SIDES)}
        record = GameRecord(number, order[0], len(opening), [], "", None, "score", seeds=seeds)
        record.seconds = dict.fromkeys(SIDES, 0.0)
        position = Position(self.game)
        for move in opening:
            position.play(move)
        guilty = order[0]
        try:
            for guilty in order:
                self.players[guilty].new_game(self.game, opening, seeds[guilty])
            nature = generator(self.setup.seed, int(hash_words(_NATURE, number)) >> 33)
            while not position.is_over:
                if position.is_chance:
                    move = position.game_moves[int(self.game.rules["chance"](position.state, nature))]
                else:
                    guilty = order[int(position.state.to_play)]
                    chosen = self._choose(guilty, position, record)
                    if chosen is None:
                        self._lose(record, position, guilty, "resignation", "")
                        break
                    move = chosen
                position.play(move)
                for guilty in order:
                    self.players[guilty].play(move)
            else:
                self._score(record, position, order)
        except ForfeitError as forfeit:
            self._lose(record, position, guilty, forfeit.kind, forfeit.detail)
        record.moves = [self.game.move_name(move) for move in position.moves_made]
        return record

    def _choose(self, side: str, position: Position, record: GameRecord) -> int | None:
        choice = self.players[side].choose(self.setup.timeout)
        record.seconds[side] = round(record.seconds[side] + choice.seconds, 4)
        if choice.move is not None and choice.move not in position.legal_moves:
            raise ForfeitError("illegal move", self.game.move_name(choice.move))
        return choice.move

    def _lose(self, record: GameRecord, position: Position, loser: str, reason: str, detail: str) -> None:
        record.winner = SIDES[1 - SIDES.index(loser)]
        record.reason, record.detail = reason, detail
        record.result = self.game.manners().lost_result(position.state, int(loser != record.first), reason)

    def _score(self, record: GameRecord, position: Position, order: Sequence[str]) -> None:
        manners = self.game.manners()

        def get_status() -> Status:
            return manners.status(position.state, SCORING_PLAYOUTS, self.setup.seed)

        lead, record.result = manners.outcome(position, get_status)
        if manners.has_status:
            claims = {side: self.players[side].claim() for side in SIDES}
            record.claims = {side: claim for side, claim in claims.items() if claim}
        if lead != 0:
            record.winner = order[FIRST] if lead > 0 else order[1 - FIRST]

    def close(self) -> None:
        for player in self.players.values():
            player.close()


def opening_moves(setup: MatchSetup, game: Game, number: int) -> list[int]:
    """Return the moves that the `number`-th pair of games begins with."""
    if setup.openings:
        position = Position(game)
        position.play_text(setup.openings[number % len(setup.openings)])
        return position.moves_made
    random = generator(setup.seed, int(hash_words(_OPENING, number)) >> 33)
    for _ in range(OPENING_TRIES):
        position = Position(game)
        while len(position.moves_made) < setup.random_plies and not position.is_over and not position.is_chance:
            moves = [move for move in position.legal_moves if game.move_name(move) != "pass"]
            if not moves:
                break
            position.play(moves[int(below(random, len(moves)))])
        if len(position.moves_made) == setup.random_plies and not position.is_over:
            return position.moves_made
    raise OptionError(
        f"{named('random_opening', setup.random_plies)} is too long for {setup.game}: such games are over; give less"
    )


def check_openings(setup: MatchSetup, game: Game) -> None:
    """Raise an error if an opening is illegal or ends the game."""
    for number, text in enumerate(setup.openings):
        position = Position(game)
        try:
            position.play_text(text)
        except PositionError as error:
            raise PositionError(f"opening {number + 1}{about('openings', text)}: {error.message}") from None
        if position.is_over:
            which = f"opening {number + 1} ('{shown(text)}'){about('openings', text)}"
            raise OptionError(f"{which} ends the game; give fewer moves")
