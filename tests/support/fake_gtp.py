"""A program that speaks just enough GTP to play badly, in a way that its first argument names.

    pass, resign, illegal, error, garbage, hang, crash, crash-once, refuse-play, claim=SCORE, no-claim, endless

A second argument is a file that gets a line for every start and every command.
"""

import sys
import time
from pathlib import Path

manner = sys.argv[1]
log = Path(sys.argv[2]) if len(sys.argv) > 2 else None


def note(text: str) -> None:
    if log:
        with log.open("a") as file:
            file.write(text + "\n")


def answer(text: str, sign: str = "=") -> None:
    sys.stdout.write(f"{sign} {text}\n\n")
    sys.stdout.flush()


def genmove() -> None:
    if manner == "crash" or (manner == "crash-once" and log and log.read_text().count("start") == 1):
        print("out of cheese", file=sys.stderr)
        sys.exit(7)
    if manner == "hang":
        time.sleep(60)
    if manner == "garbage":
        sys.stdout.write("Welcome to the machine\n\n")
        sys.stdout.flush()
    elif manner == "endless":
        while True:
            sys.stdout.write("=" * 65536)
    elif manner == "error":
        answer("I would rather not", "?")
    else:
        answer({"resign": "resign", "illegal": "Z99", "occupied": "C3"}.get(manner, "PASS"))


note("start")
for line in sys.stdin:
    note(line.strip())
    command = line.split()[0]
    if command == "genmove":
        genmove()
    elif command == "play" and manner == "refuse-play":
        answer("illegal move", "?")
    elif command == "final_score":
        claim = manner.removeprefix("claim=")
        answer(claim if claim != manner else "cannot score", "=" if "claim" in manner else "?")
    else:
        answer("")
    if command == "quit":
        break
