"""Each bandit formula against its plain twin, and the choice of the best moves against sorting."""

import math
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.naive.uct import NaiveEdge, NaiveNode, naive_score
from treespan.core.jit import njit
from treespan.games.pgame import PGame
from treespan.search.bandits import (
    NO_EDGE,
    best_edge,
    best_two_edges,
    edge_score,
    first_unvisited,
    log_visits,
    score_edges,
    ucb1,
)
from treespan.search.options import BANDITS, SearchOptions, compiled_settings
from treespan.search.tree import LOSS, NO_NODE, ROOT, UNPROVEN, TreeArrays, new_tree
from treespan.search.widening import considered_moves, sort_by_weight

FEW = settings(max_examples=60)
B = 28 / (30 + 28 + 30 * 28 / 300)  # weight of AMAF in the example of RAVE-MSE
FIRST_EDGE = 3  # of the tested node: nothing may rely on 0


@njit
def all_answers(tree, settings, scores, answers):
    """Everything asked of one node, in one compiled function: each would cost seconds to compile."""
    answers[0] = score_edges(tree, ROOT, settings, scores)
    answers[1] = first_unvisited(tree, ROOT, settings)
    buffer = scores[len(scores) // 2 :]
    answers[2] = best_edge(tree, ROOT, settings, buffer)
    answers[3], answers[4] = best_two_edges(tree, ROOT, settings, buffer)


@njit
def one_score(tree, edge, wins, visits, total, fpu, settings):
    return edge_score(tree, edge, wins, visits, total, log_visits(total), fpu, settings)


def star(edges: list[NaiveEdge], flights: list[int] | None = None) -> TreeArrays:
    """A tree of one node with these edges, none at index 0; with so many simulations under way."""
    tree = new_tree(FIRST_EDGE + len(edges), with_priors=True, with_amaf=True, with_flights=flights is not None)
    if flights is not None:
        tree.node_flight[0], tree.edge_flight[FIRST_EDGE:] = sum(flights), flights
    tree.node_first[0], tree.node_count[0] = FIRST_EDGE, len(edges)
    tree.node_visits[0], tree.node_proven[0] = sum(edge.visits for edge in edges), UNPROVEN
    for place, edge in enumerate(edges, start=FIRST_EDGE):
        tree.edge_move[place], tree.edge_child[place], tree.edge_proven[place] = edge.move, NO_NODE, UNPROVEN
        tree.edge_visits[place], tree.edge_wins[place], tree.edge_prior[place] = edge.visits, edge.wins, edge.prior
        tree.edge_amaf_visits[place], tree.edge_amaf_wins[place] = edge.amaf_visits, edge.amaf_wins
    return tree


class Answers:
    def __init__(self, tree: TreeArrays, options: SearchOptions, unobserved: bool = False):
        count = int(tree.node_count[0])
        scores, answers = np.zeros(2 * count), np.zeros(5, dtype=np.int64)
        settings = compiled_settings(options, PGame())
        settings.unobserved = unobserved
        all_answers(tree, settings, scores, answers)
        self.scores: list[float] = scores[: answers[0]].tolist()
        self.unvisited, self.best, self.best_of_two, self.second = (self._place(edge) for edge in answers[1:].tolist())

    def _place(self, edge: int) -> int | None:
        return None if edge == int(NO_EDGE) else edge - FIRST_EDGE


@st.composite
def visited_edges(draw: Any, unvisited: bool = True) -> list[NaiveEdge]:
    """Edges of a node in the middle of a search; halves of wins, so that ties occur."""
    edges = []
    for move in range(draw(st.integers(1, 12))):
        visits = draw(st.integers(0 if unvisited else 1, 9))
        wins = draw(st.integers(0, 2 * visits)) / 2
        amaf_visits = draw(st.integers(0, 20))
        amaf_wins = draw(st.integers(0, amaf_visits))
        prior = draw(st.sampled_from([0.0625, 0.125, 0.25]))
        edges.append(NaiveEdge(move, prior, visits, wins, amaf_visits, amaf_wins))
    return edges


@st.composite
def early_edges(draw: Any) -> list[NaiveEdge]:
    """A node whose moves have been tried in order, and not yet all of them."""
    count = draw(st.integers(1, 12))
    tried = draw(st.integers(0, count - 1))
    wins = draw(st.lists(st.sampled_from([0.0, 0.5, 1.0]), min_size=tried, max_size=tried))
    return [NaiveEdge(i, visits=int(i < tried), wins=wins[i] if i < tried else 0.0) for i in range(count)]


def node_of(edges: list[NaiveEdge]) -> NaiveNode:
    return NaiveNode(0, edges, sum(edge.visits for edge in edges))


def urgency(edges: list[NaiveEdge], options: SearchOptions) -> float:
    fpu, visits = options.fpu_value(), sum(edge.visits for edge in edges)
    if not math.isnan(fpu):
        return fpu
    return sum(edge.wins for edge in edges) / visits if visits else 0.5


some_options = st.builds(
    SearchOptions,
    bandit=st.sampled_from(BANDITS),
    c=st.sampled_from([0.0, 0.3, 1.0, 2.8]),
    fpu=st.sampled_from(["auto", "inf", "1.1", "0.4", "nan"]),
    rave_visits=st.sampled_from([1.0, 30.0, 1000.0]),
    prior_visits=st.sampled_from([0.0, 3.0, 20.0]),
)


@FEW
@given(visited_edges(), some_options)
def test_scores_equal_the_formulas(edges: list[NaiveEdge], options: SearchOptions) -> None:
    answers, node, fpu = Answers(star(edges), options), node_of(edges), urgency(edges, options)
    expected = [naive_score(node, edge, fpu, options.c, options) for edge in edges]
    assert answers.scores == pytest.approx(expected, rel=1e-12)


@FEW
@given(visited_edges(unvisited=False), some_options)
def test_best_moves_are_the_first_of_the_highest(edges: list[NaiveEdge], options: SearchOptions) -> None:
    answers = Answers(star(edges), options)
    ranked = sorted(range(len(edges)), key=lambda i: -answers.scores[i])  # keeps the order of equals
    assert answers.best == answers.best_of_two == ranked[0]
    assert answers.second == (ranked[1] if len(edges) > 1 else None)
    assert answers.unvisited is None


@FEW
@given(early_edges(), st.sampled_from(["ucb1", "tuned1", "tuned2", "puct"]))
def test_shortcut_to_the_first_unvisited_move_equals_the_full_scan(edges: list[NaiveEdge], bandit: str) -> None:
    answers = Answers(star(edges), SearchOptions(bandit=bandit, fpu="inf"))
    ranked = sorted(range(len(edges)), key=lambda i: -answers.scores[i])
    assert answers.unvisited == node_of(edges).visits == ranked[0] == answers.best == answers.best_of_two
    assert answers.second == (ranked[1] if len(edges) > 1 else None)


@FEW
@given(early_edges(), st.sampled_from(["1.1", "0.5", "nan"]))
def test_there_is_no_shortcut_with_finite_urgency(edges: list[NaiveEdge], fpu: str) -> None:
    answers = Answers(star(edges), SearchOptions(fpu=fpu))
    assert answers.unvisited is None
    assert answers.best == max(range(len(edges)), key=lambda i: answers.scores[i])


@pytest.mark.parametrize("bandit", BANDITS)
@pytest.mark.parametrize("count", [1, 2, 7])
def test_first_of_equal_moves_is_best(bandit: str, count: int) -> None:
    edges = [NaiveEdge(move, 0.25, visits=3, wins=1.5, amaf_visits=4, amaf_wins=2.0) for move in range(count)]
    answers = Answers(star(edges), SearchOptions(bandit=bandit))
    assert len(set(answers.scores)) == 1
    assert (answers.best, answers.best_of_two, answers.second) == (0, 0, 1 if count > 1 else None)


@pytest.mark.parametrize("bandit", BANDITS)
def test_proven_losses_are_never_chosen(bandit: str) -> None:
    edges = [NaiveEdge(0, 0.5, 5, 5.0), NaiveEdge(1, 0.1, 5, 0.5), NaiveEdge(2, 0.5, 5, 4.0)]
    tree = star(edges)
    tree.edge_proven[FIRST_EDGE] = tree.edge_proven[FIRST_EDGE + 2] = LOSS
    answers = Answers(tree, SearchOptions(bandit=bandit))
    assert answers.scores[0] == answers.scores[2] == -math.inf
    assert (answers.best, answers.best_of_two) == (1, 1)
    assert answers.second is None  # a lost move cannot become best, so it need not be watched
    assert Answers(tree, SearchOptions(bandit=bandit, solver=False)).best != 1


@pytest.mark.parametrize(
    "wins, visits, total, c", [(0, 1, 1, 1), (1, 1, 2, 0.5), (7.5, 10, 99, 1.4), (3, 1000, 10**6, 2)]
)
def test_ucb1_written_out(wins: float, visits: int, total: int, c: float) -> None:
    expected = wins / visits + c * math.sqrt(math.log(total) / visits)
    assert ucb1(wins, visits, math.log(total), c) == pytest.approx(expected, rel=1e-12)


@pytest.mark.parametrize(
    "bandit, expected",
    [
        ("ucb1", 0.6 + 0.5 * math.sqrt(math.log(100) / 10)),
        ("tuned1", 0.6 + math.sqrt(0.24 * math.log(100) / 10)),
        ("tuned2", 0.6 + math.sqrt(0.24 * math.log(100) / 10) + math.log(100) / 10),
        ("puct", 0.6 + 0.5 * 0.25 * 10 / 11),
        ("rave", 0.6 + (0.75 - 0.6) * math.sqrt(300 / 330) + 0.5 * math.sqrt(math.log(100) / 10)),
        ("rave-mse", (1 - B) * 11 / 30 + B * 11 / 28 + 0.5 * math.sqrt(math.log(100) / 31)),  # 20 visits of 0.25 more
    ],
)
def test_formulas_on_one_example(bandit: str, expected: float) -> None:
    tree = star([NaiveEdge(0, prior=0.25, visits=1, wins=0.0, amaf_visits=8, amaf_wins=6.0)])
    options = compiled_settings(SearchOptions(bandit=bandit, c=0.5, rave_visits=300.0), PGame())
    # Statistics are given, not read: df-UCT scores moves whose results are still on its stack.
    assert one_score(tree, np.uint32(FIRST_EDGE), 6.0, 10, 100, 9.0, options) == pytest.approx(expected, rel=1e-12)


def test_variance_of_tuned_bandits_has_a_floor() -> None:
    edges = [NaiveEdge(0, visits=10, wins=10.0), NaiveEdge(1, visits=10, wins=0.0)]
    scores = Answers(star(edges), SearchOptions(bandit="tuned1")).scores
    bonus = math.sqrt(0.001 * math.log(20) / 10)
    assert scores == pytest.approx([1 + bonus, bonus], rel=1e-12)


def test_rave_falls_back_to_what_is_known() -> None:
    edges = [NaiveEdge(0, amaf_visits=4, amaf_wins=3.0), NaiveEdge(1), NaiveEdge(2, visits=4, wins=1.0)]
    scores = Answers(star(edges), SearchOptions(bandit="rave", c=0.0, fpu="1.1")).scores
    assert scores == [0.75, 1.1, 0.25]


def test_new_node_scores_every_move_by_urgency() -> None:
    edges = [NaiveEdge(move, prior=0.5) for move in range(2)]
    assert Answers(star(edges), SearchOptions()).scores == [math.inf] * 2
    assert Answers(star(edges), SearchOptions(bandit="puct")).scores == [0.5] * 2


# Simulations under way


@FEW
@given(visited_edges(), st.data(), some_options, st.booleans())
def test_simulations_under_way_are_lost_or_bring_the_mean(
    edges: list[NaiveEdge], data: Any, options: SearchOptions, unobserved: bool
) -> None:
    options = replace(options, fpu="1.1" if options.fpu == "nan" or options.bandit == "puct" else options.fpu)
    flights = data.draw(st.lists(st.integers(0, 3), min_size=len(edges), max_size=len(edges)))
    unknown = options.fpu_value() if math.isfinite(options.fpu_value()) else 0.5
    landed = []
    for edge, flight in zip(edges, flights, strict=True):
        mean = edge.wins / edge.visits if edge.visits else unknown
        gain = mean * flight if unobserved else 0.0
        landed.append(replace(edge, visits=edge.visits + flight, wins=edge.wins + gain))
    under_way = Answers(star(edges, flights), options, unobserved)
    assert under_way.scores == pytest.approx(Answers(star(landed), options).scores, rel=1e-12)
    if under_way.unvisited is not None:
        assert edges[under_way.unvisited].visits == flights[under_way.unvisited] == 0


@pytest.mark.parametrize("unobserved, expected", [(False, 6 / 14), (True, 6 / 10)])
def test_mean_of_a_move_with_four_simulations_under_way(unobserved: bool, expected: float) -> None:
    tree = star([NaiveEdge(0, visits=10, wins=6.0), NaiveEdge(1, visits=2, wins=0.0)], [4, 0])
    exploration = 0.5 * math.sqrt(math.log(16) / 14)
    scores = Answers(tree, SearchOptions(c=0.5), unobserved).scores
    assert scores[0] == pytest.approx(expected + exploration, rel=1e-12)


@FEW
@given(early_edges(), st.data())
def test_moves_under_way_are_not_tried_again_before_the_others(edges: list[NaiveEdge], data: Any) -> None:
    """Moves are tried in order; those tried last are still under way."""
    tried = sum(edge.visits for edge in edges)
    away = data.draw(st.integers(0, tried))
    flights = [int(tried - away <= i < tried) for i in range(len(edges))]
    home = [replace(edge, visits=0, wins=0.0) if flight else edge for edge, flight in zip(edges, flights, strict=True)]
    answers = Answers(star(home, flights), SearchOptions())
    assert answers.unvisited == answers.best == answers.best_of_two == tried
    assert answers.second == (tried + 1 if tried + 1 < len(edges) else answers.second)


# Progressive widening


@pytest.mark.parametrize("visits, expected", [(0, 1), (39, 1), (41, 2), (95, 2), (97, 3), (10**6, 28), (10**9, 48)])
def test_widening_follows_coulom(visits: int, expected: int) -> None:
    """Move k + 1 comes in 40 * 1.4^(k - 1) simulations after move k: at 40, 96, 174.4, ..."""
    assert considered_moves(100, visits, 40.0) == expected
    assert considered_moves(5, visits, 40.0) == min(expected, 5)
    assert considered_moves(100, visits, 0.0) == 100


@given(st.integers(0, 10**6), st.floats(0.01, 1e4))
def test_widening_never_takes_moves_back(visits: int, widening: float) -> None:
    now, next_ = (considered_moves(1000, n, widening) for n in (visits, visits + 1))
    assert 1 <= now <= next_ <= 1000


@pytest.mark.parametrize("bandit", BANDITS)
def test_only_considered_moves_are_scored_and_chosen(bandit: str) -> None:
    edges = [NaiveEdge(move, prior=0.1, visits=4, wins=float(move > 1)) for move in range(4)]
    tree = star(edges)
    for widening, considered in ((1000.0, 1), (10.0, 2), (5.0, 3), (1.0, 4)):
        answers = Answers(tree, SearchOptions(bandit=bandit, widening=widening))
        assert len(answers.scores) == considered
        assert answers.best is not None and answers.best < considered
        assert (answers.second is None) == (considered == 1)


@given(st.lists(st.sampled_from([0.1, 0.2, 0.3, 0.5, 1.0]), max_size=12))
def test_sorting_by_weight_is_stable(weights: list[float]) -> None:
    moves, sorted_weights = np.arange(len(weights), dtype=np.int32), np.array(weights, dtype=np.float32)
    sort_by_weight(moves, sorted_weights, len(weights))
    assert moves.tolist() == sorted(range(len(weights)), key=lambda i: -weights[i])
    assert sorted_weights.tolist() == np.sort(np.array(weights, dtype=np.float32))[::-1].tolist()
