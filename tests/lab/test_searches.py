import pytest

from treespan.games.registry import make_game
from treespan.lab import searches
from treespan.lab.searches import Search, position_after
from treespan.schemes.registry import make_scheme


@pytest.mark.parametrize("game", ["go:size=9", "connect4", "havannah:base=4"])
def test_a_position_in_the_midst_of_a_game_follows_a_playout(game):
    """A playout notes the second player's moves as their complements."""
    position = position_after(make_game(game), 6)
    assert len(position.moves_made) == 6


@pytest.mark.parametrize("scheme", ["root", "leaf", "span:bandit=rave", "tds-dfuct:policy=light,c=0.5"])
def test_ranks_search_by_the_scheme_that_is_asked_for(monkeypatch, scheme):
    """Where the game has defaults of its own, as Go has bandit and policy, they do not creep in."""
    given = []

    def launch(ranks, arguments, output):
        given.extend(arguments)
        output.write(b'{"error": "none were started"}')
        return 2

    monkeypatch.setattr(searches, "launch", launch)
    with pytest.raises(searches.TreespanError, match="none were started"):
        searches.run(Search("go:size=5", scheme, "mpi", 2, "", 100, problem=1, seed=1))
    [spec] = [argument.removeprefix("--scheme=") for argument in given if argument.startswith("--scheme=")]
    assert make_scheme(spec, make_game("go:size=5")) == make_scheme(scheme)
