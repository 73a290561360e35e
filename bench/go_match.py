"""Go matches: one search against GNU Go, or against another search. The figures of docs/go.md are made by this.

    .venv/bin/python bench/go_match.py --playouts 1000 --games 40
    .venv/bin/python bench/go_match.py "bandit=rave-mse" --against "bandit=rave" --playouts 400 --games 60

A search is given by its options, by the defaults where there are none. Colours alternate. Every move starts a new
tree, so that it costs its playouts and no more. A search resigns when it expects less than 5 % three times in a row.
GNU Go counts the score. When it passes, the search ends the game only if the stones on the board and GNU Go agree.
"""

import argparse
import math
import shutil
import subprocess
import time
from dataclasses import dataclass

from treespan.games.go import Go
from treespan.games.go.scoring import area_margin
from treespan.games.position import Position
from treespan.games.rules import FIRST, SECOND
from treespan.schemes.registry import make_scheme
from treespan.search.result import rank_moves
from treespan.search.searcher import Searcher

RESIGN_VALUE, RESIGN_TIMES = 0.05, 3
NAMES = {FIRST: "black", SECOND: "white"}
WINNERS = {"B": FIRST, "W": SECOND}


class GnuGo:
    """GNU Go as a subprocess that speaks GTP."""

    def __init__(self, game: Go, level: int, seed: int):
        program = shutil.which("gnugo", path="/usr/local/bin:/usr/bin:/usr/games")
        if program is None:
            raise SystemExit("gnugo is not installed; it is a package of most Linux distributions")
        options = ["--mode", "gtp", "--level", str(level), "--chinese-rules", "--seed", str(seed)]
        self.process = subprocess.Popen([program, *options], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        for command in (f"boardsize {game.size}", f"komi {game.komi:g}", "clear_board"):
            self.ask(command)

    def ask(self, command: str) -> str:
        assert self.process.stdin and self.process.stdout
        self.process.stdin.write(command + "\n")
        self.process.stdin.flush()
        reply = self.process.stdout.readline().strip()
        while self.process.stdout.readline().strip():
            pass  # an answer ends with an empty line
        if not reply.startswith("="):
            raise SystemExit(f"GNU Go answers '{reply}' to '{command}'")
        return reply[1:].strip()

    def winner(self) -> int | None:
        """Who is ahead when dead stones are taken off."""
        return WINNERS.get(self.ask("final_score")[:1])

    def close(self) -> None:
        self.process.communicate("quit\n")


class Player:
    """A sequential search as a player."""

    def __init__(self, game: Go, options: str, playouts: int, seed: int):
        nodes = str(max(300_000, 90 * playouts))
        self.scheme = make_scheme(f"sequential:{options}", game, nodes=nodes)
        self.searcher = Searcher(game, self.scheme, seed)
        self.playouts, self.hopeless = playouts, 0

    def choose(self, position: Position) -> int | None:
        """A move, or None to resign."""
        self.searcher.set_position(position)
        self.searcher.run(self.playouts)
        best = rank_moves(self.searcher.root().moves, self.scheme.choice)[0]
        self.hopeless = self.hopeless + 1 if best.value < RESIGN_VALUE else 0
        return None if self.hopeless >= RESIGN_TIMES else best.id


def play_gnugo(game: Go, player: Player, color: int, gnugo: GnuGo) -> bool:
    """Play one game; says whether the search has won."""
    position = Position(game)
    player.hopeless = 0
    while len(position.moves_made) < game.max_plies - 2:
        mover = int(position.state.to_play)
        if mover != color:
            text = gnugo.ask(f"genmove {NAMES[mover]}")
            if text.lower() == "resign":
                return True
            move = game.parse_move(text)
        else:
            to_search = position
            if int(position.state.passes) == 1:
                leader = FIRST if area_margin(position.state.copy()) > game.komi else SECOND
                if leader == color == gnugo.winner():
                    return True
                state = position.state.copy()  # as if GNU Go had not passed: a pass would end the game
                state.passes = 0
                to_search = Position(game, state)
            choice = player.choose(to_search)
            if choice is None:
                return False
            move = choice
            gnugo.ask(f"play {NAMES[mover]} {game.move_name(move)}")
        if move == 0 and int(position.state.passes) == 1:
            break
        position.play(move)
    return gnugo.winner() == color


def play_each_other(game: Go, black: Player, white: Player) -> int:
    """The winner of a game between two searches."""
    position = Position(game)
    black.hopeless = white.hopeless = 0
    while not position.is_over:
        mover = int(position.state.to_play)
        move = (black, white)[mover].choose(position)
        if move is None:
            return 1 - mover
        position.play(move)
    return FIRST if position.reward == 1.0 else SECOND


@dataclass
class Score:
    wins: int = 0
    games: int = 0

    def __str__(self) -> str:
        """Wins with Wilson's 95 % interval."""
        z, mean = 1.96, self.wins / self.games
        spread = z * z / self.games
        centre, radius = mean + spread / 2, z * math.sqrt(mean * (1 - mean) / self.games + spread / (4 * self.games))
        low, high = ((centre + sign * radius) / (1 + spread) for sign in (-1, 1))
        return f"{self.wins}/{self.games} = {mean:.1%} ({low:.0%} to {high:.0%})"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("options", nargs="?", default="", help="options of the search, as bandit=rave,policy=light")
    parser.add_argument("--against", metavar="OPTIONS", help="options of another search; else GNU Go")
    parser.add_argument("--playouts", type=int, default=1000, help="a move")
    parser.add_argument("--games", type=int, default=40)
    parser.add_argument("--size", type=int, default=9)
    parser.add_argument("--level", type=int, default=10, help="of GNU Go")
    parser.add_argument("--seed", type=int, default=1)
    given = parser.parse_args()
    game, score, start = Go(size=given.size), Score(), time.monotonic()
    player = Player(game, given.options, given.playouts, given.seed)
    other = Player(game, given.against, given.playouts, given.seed + 1) if given.against is not None else None
    for number in range(given.games):
        color = (FIRST, SECOND)[number % 2]
        if other is not None:
            pair = (player, other) if color == FIRST else (other, player)
            score.wins += play_each_other(game, *pair) == color
        else:
            gnugo = GnuGo(game, given.level, 1000 * given.seed + number)
            score.wins += play_gnugo(game, player, color, gnugo)
            gnugo.close()
        score.games += 1
        print(f"{score}, {time.monotonic() - start:.0f} s", flush=True)


if __name__ == "__main__":
    main()
