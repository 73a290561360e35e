"""Figures that the papers publish, as data, to be shown beside ours."""

from treespan.core.errors import shown
from treespan.core.options import parse_seconds, split_spec

# yoshizoe2011, Table 4: mean speed-up over sequential df-UCT on the P-game, by cores;
# (scheme, branches, microseconds of a virtual playout). 20 M playouts of 0.1 ms, 6 M of 1 ms, 10 problems,
# Xeon X5670 with 12 cores a node, two rails of QDR InfiniBand.
CORES = (12, 36, 72, 144, 300, 600, 1200)
YOSHIZOE2011_TABLE4 = {
    ("UCT1", 8, 100): (3.29, 5.15, 5.78, 5.96, 6.78, 9.88, 9.93),
    ("UCT2", 8, 100): (3.13, 5.50, 6.39, 6.44, 7.36, 9.13, 9.95),
    ("DFUCT", 8, 100): (8.68, 25.6, 45.1, 84.4, 123.7, 258.7, 327.8),
    ("UCT1", 8, 1000): (7.26, 18.7, 27.1, 36.8, 47.0, 62.2, 67.7),
    ("UCT2", 8, 1000): (6.92, 19.0, 27.8, 37.6, 51.3, 62.9, 69.5),
    ("DFUCT", 8, 1000): (10.0, 30.1, 59.5, 120.7, 250.4, 473.1, 741.2),
    ("UCT1", 40, 100): (5.33, 8.08, 8.18, 8.88, 9.30, 11.2, 11.5),
    ("UCT2", 40, 100): (5.26, 8.77, 8.61, 9.26, 9.89, 11.8, 12.1),
    ("DFUCT", 40, 100): (9.20, 26.3, 50.7, 89.9, 140.5, 236.8, 257.6),
    ("UCT1", 40, 1000): (9.11, 23.7, 35.9, 50.9, 68.4, 80.4, 89.2),
    ("UCT2", 40, 1000): (8.75, 24.6, 38.8, 57.1, 78.2, 98.4, 102.2),
    ("DFUCT", 40, 1000): (10.3, 29.1, 58.7, 114.2, 229.4, 442.4, 635.6),
    ("UCT1", 150, 100): (4.74, 7.31, 7.29, 7.29, 7.35, 8.39, 9.08),
    ("UCT2", 150, 100): (5.46, 7.64, 7.49, 7.53, 7.45, 8.29, 8.93),
    ("DFUCT", 150, 100): (9.33, 25.1, 46.1, 87.0, 147.7, 239.3, 251.6),
    ("UCT1", 150, 1000): (9.01, 21.6, 30.8, 38.5, 45.0, 51.4, 64.4),
    ("UCT2", 150, 1000): (8.71, 22.3, 33.3, 44.2, 48.5, 57.7, 65.7),
    ("DFUCT", 150, 1000): (10.3, 29.7, 52.2, 110.8, 210.7, 416.0, 600.8),
}
# Options with which a run compares with the paper's. (The paper has no `grant`: its jobs return only if they must.)
_GAME_OPTIONS = {"branching", "seed"}
_SCHEME_OPTIONS = {"policy", "nodes", "dedicated_root", "grant"}


def published_speedups(game: str, scheme: str) -> dict[int, float]:
    """Return the paper's speed-up by number of cores for this game and scheme; empty if the paper has none."""
    game_name, game_options = split_spec(game)
    scheme_name, options = split_spec(scheme)
    policy, _, wait = options.get("policy", "light").partition("=")
    if game_name != "pgame" or policy != "wait" or game_options.keys() - _GAME_OPTIONS:
        return {}
    if options.keys() - _SCHEME_OPTIONS:
        return {}
    dedicated_root = options.get("dedicated_root") == "yes"
    variant = {"tds-uct": "UCT2" if dedicated_root else "UCT1", "tds-dfuct": "DFUCT"}.get(scheme_name, "")
    branching = int(game_options.get("branching", 8))
    row = YOSHIZOE2011_TABLE4.get((variant, branching, round(parse_seconds(wait, shown) * 1e6)))
    return dict(zip(CORES, row, strict=True)) if row else {}
