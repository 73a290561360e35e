"""One search as a unit of work."""

import pytest

from treespan.core.errors import TreespanError
from treespan.games.registry import make_game
from treespan.lab.measure.searches import position_after, search_of
from treespan.runtimes import ranks
from treespan.schemes.registry import read_scheme


@pytest.mark.parametrize("game", ["go:size=9", "connect4", "havannah:base=4"])
def test_a_position_in_the_midst_of_a_game_follows_a_playout(game):
    """A playout notes the second player's moves as their complements."""
    position = position_after(make_game(game), 6)
    assert len(position.moves_made) == 6


@pytest.mark.parametrize("scheme", ["root", "leaf", "span:bandit=rave", "tds-dfuct:policy=light,c=0.5"])
def test_ranks_search_by_the_scheme_that_is_asked_for(monkeypatch, scheme):
    """Where the game has defaults of its own, as Go has bandit and policy, they do not creep in."""
    given = []

    def search_on_ranks(crew, request, *rest):
        given.append(request)
        raise TreespanError("none were started")

    monkeypatch.setattr(ranks.RanksOnDemand, "start", lambda crew: None)
    monkeypatch.setattr(ranks.RanksOnDemand, "search", search_on_ranks)
    with pytest.raises(TreespanError, match="none were started"):
        search_of("go:size=5", scheme, "mpi", 2, 100).run()
    [request] = given
    plan, game = request.plan, make_game("go:size=5")
    assert (plan.scheme, plan.options) == read_scheme(scheme)
    assert (plan.runtime, plan.ranks, plan.budget.playouts, request.position.game) == ("mpi", 2, 100, game)
    assert read_scheme(plan.scheme.spec(plan.options, game), game) == read_scheme(scheme)  # as a command may say it
