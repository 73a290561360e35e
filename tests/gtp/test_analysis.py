"""What lz-analyze and kata-analyze are asked for, and the lines that they write."""

import time

import pytest

from tests.support.gtp_sessions import SETTLED, ask, new_engine
from treespan.games.go import Go
from treespan.gtp.analysis import read_arguments
from treespan.gtp.protocol import GtpError
from treespan.gtp.session import new_session

GO = Go(size=5)


def first_update(command: str, *played: str) -> str:
    """The first line of an analysis after some commands."""
    engine = new_engine()
    session = new_session(engine)
    for line in played:
        assert ask(session, line) == "="
    reply = session.handle_line(command)
    assert reply is not None and reply.is_ok and reply.content.updates is not None, str(reply)
    end = time.monotonic() + 60
    while not (text := reply.content.updates()):
        assert time.monotonic() < end
        time.sleep(0.01)
    engine.halt()
    return text


def moves_in(line: str) -> set[str]:
    return {part.split()[0] for part in line.split("info move ")[1:]}


# Near the end of a game on 5x5: Black may still play in his own area, and D1, E1, D3, E3, D5 and E5 are White's.
@pytest.mark.parametrize(
    ("options", "expected"),
    [
        ("allow b D3,E3 1", {"D3", "E3"}),
        ("allow b D3 1 allow b E3 50", {"D3", "E3"}),
        ("allow b d3,e3,PASS 9 avoid b E3 1", {"D3", "pass"}),
        ("allow b D3,E3 1 avoid w D3 1", {"D3", "E3"}),
        ("allow b D3,E3 1 allow w A1 1", {"D3", "E3"}),
    ],
)
@pytest.mark.parametrize("command", ["lz-analyze", "kata-analyze b 1"])
def test_moves_are_avoided_and_allowed_at_the_root(command: str, options: str, expected: set[str]) -> None:
    shown = moves_in(first_update(f"{command} {options}", *SETTLED))
    assert shown and shown <= expected


def test_the_colour_to_analyse_is_the_one_restricted() -> None:
    assert moves_in(first_update("lz-analyze w 1 allow w C3 1 allow b D3 1")) == {"C3"}


def test_avoided_moves_are_banned_and_so_are_those_not_allowed() -> None:
    arguments = read_arguments(["avoid", "b", "A1,pass", "3", "allow", "w", "C3", "1"], GO)
    assert arguments.banned(0, GO) == {GO.parse_move("A1"), GO.parse_move("pass")}
    assert len(arguments.banned(1, GO)) == 25 and GO.parse_move("C3") not in arguments.banned(1, GO)
    assert read_arguments([], GO).banned(0, GO) == set()


def test_without_a_move_there_is_no_analysis() -> None:
    session = new_session(new_engine())
    message = "? go: no move is left to search; avoid fewer or allow others"
    for line in SETTLED:
        ask(session, line)
    assert ask(session, "lz-analyze b allow b C3 1") == message  # there is a stone
    assert ask(session, "kata-analyze allow b A1 1 avoid b A1 1") == message


MISTAKES = {
    "avoid": "avoid needs a color, vertices and a depth",
    "avoid b C3": "avoid needs a color, vertices and a depth",
    "allow b C3 0": "allow needs a depth of at least 1",
    "allow b C3 x": "'x' is not a whole number",
    "allow C3 b 1": "invalid color or coordinate",
    "avoid b C3,Z9 1": "invalid color or coordinate",
    "maxmoves": "'maxmoves' is not understood",
    "maxmoves -1": "'-1' is not a whole number",
    "ownership yes": "'yes' is neither true nor false",
    "nonsense 3": "'nonsense' is not understood",
}


@pytest.mark.parametrize("options", MISTAKES)
def test_mistakes(options: str) -> None:
    with pytest.raises(GtpError, match=MISTAKES[options]):
        read_arguments(options.split(), GO)


def test_options_without_effect_are_accepted() -> None:
    assert read_arguments(["minmoves", "3", "movesOwnership", "true", "pvVisits", "true"], GO) == read_arguments([], GO)


def test_maxmoves_cuts_the_list() -> None:
    assert len(moves_in(first_update("kata-analyze maxmoves 1"))) == 1


# Black's area is the columns A and B, White's the others.
@pytest.mark.parametrize("color", ["b", "w"])
def test_ownership_is_the_player_s(color: str) -> None:
    line = first_update(f"kata-analyze {color} ownership true", *SETTLED)
    numbers = [float(word) for word in line.partition(" ownership ")[2].split()]
    sign = 1 if color == "b" else -1
    assert len(numbers) == 25 and all(-1 <= number <= 1 for number in numbers)
    assert all((sign * number > 0) == (place % 5 < 2) for place, number in enumerate(numbers))


def test_ownership_starts_at_the_top_left() -> None:
    corner = ["A4", "B4", "B5", "C4", "C5"]
    line = first_update("kata-analyze b ownership true", *(f"play b {vertex}" for vertex in corner))
    numbers = [float(word) for word in line.partition(" ownership ")[2].split()]
    assert numbers[0] == max(numbers)


def test_root_info_is_for_all_moves() -> None:
    line = first_update("kata-analyze maxmoves 1 rootInfo true ownership true")
    info, _, root = line.partition(" rootInfo ")
    words = root.split()
    assert words[0] == "visits" and words[2] == "winrate" and words[4] == "ownership"
    assert int(words[1]) >= int(info.split()[4]) and 0 <= float(words[3]) <= 1


@pytest.mark.parametrize("command", ["lz-analyze ownership true rootInfo true", "kata-analyze ownership false"])
def test_nothing_is_added_that_was_not_asked_for(command: str) -> None:
    line = first_update(command)
    assert "ownership" not in line and "rootInfo" not in line
