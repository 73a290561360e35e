import pytest

from treespan.games.registry import make_game
from treespan.lab.searches import position_after


@pytest.mark.parametrize("game", ["go:size=9", "connect4", "havannah:base=4"])
def test_a_position_in_the_midst_of_a_game_follows_a_playout(game):
    """A playout notes the second player's moves as their complements."""
    position = position_after(make_game(game), 6)
    assert len(position.moves_made) == 6
