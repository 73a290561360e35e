"""Lists of the games and schemes, with their options."""

from typing import TypedDict

from treespan.core.options import OptionFacts, describe
from treespan.games.registry import PACKAGE_GAMES, game_class
from treespan.schemes.registry import SCHEMES, describe_scheme


class GameFacts(TypedDict):
    """A game in the list of games."""

    name: str
    summary: str
    players: int
    chance: bool  # whether nature ever moves
    options: list[OptionFacts]


class SchemeFacts(TypedDict):
    """A scheme in the list of schemes."""

    name: str
    summary: str
    paper: str
    options: list[OptionFacts]


def games() -> list[GameFacts]:
    """List the games of the package.

    Returns, for each game, its name, a summary, the number of players, whether nature moves, and its options. An option
    has a name, a default, a line of help, and bounds.

    >>> import treespan as ts
    >>> [game["name"] for game in ts.games()][:3]
    ['connect4', 'go', 'havannah']
    """
    classes = [game_class(name) for name in PACKAGE_GAMES]
    return [
        {
            "name": cls.name,
            "summary": cls.summary,
            "players": cls.players,
            "chance": cls.has_chance,
            "options": describe(cls),
        }
        for cls in classes
    ]


def schemes() -> list[SchemeFacts]:
    """List the schemes.

    Returns, for each scheme, its name, a summary, the paper that describes it, and its options: its own, and those of a
    search that it takes.

    >>> import treespan as ts
    >>> [scheme["name"] for scheme in ts.schemes()][-1]
    'span'
    """
    return [
        {"name": cls.name, "summary": cls.summary, "paper": cls.paper, "options": describe_scheme(cls)}
        for cls in SCHEMES.values()
    ]
