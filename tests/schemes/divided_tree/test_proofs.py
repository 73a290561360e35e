"""Proofs that travel: every scheme with one tree over all ranks proves what the sequential search proves."""

import random
from functools import cache

import numpy as np
import pytest

from tests.schemes.divided_tree.test_living import Living
from tests.search.test_solver import Values, random_position, solve, tictactoe_values
from tests.support.cluster import Cluster
from tests.support.distributed import SCHEMES, check_result, check_seat, moves_of, one_job, request
from tests.support.searches import edges_of, position_of, sized
from treespan.core.jit import JIT_DISABLED
from treespan.games.position import Position
from treespan.runtimes.run import run_search
from treespan.runtimes.simulated import Simulation
from treespan.schemes.divided_tree.treesplit.copies import NO_COPY, CopiesRank
from treespan.schemes.plan import SIMULATED, THREADS, Request
from treespan.schemes.protocol.port import Seat
from treespan.schemes.summary import summarise_ranks
from treespan.search.result import SearchResult
from treespan.search.tree import DRAW, LOSS, NODES, UNPROVEN, WIN

BUDGET = 100_000
ENDGAMES = {  # by game: moves, and the result for whom it is to move
    "tictactoe": [("a1 c2 a3", "loss"), ("b3 a3 b1", "win"), ("b2 c1 c3", "draw")],
    "connect4": [
        ("6 6 4 6 2 7 3 5 2 4 6 7 6 1 6 2 4 7 7 7 4 2 5 1 1 2 1 4 4 7", "loss"),
        ("3 3 4 3 7 2 4 1 3 6 6 2 1 1 2 2 6 1 7 3 1 4 1 7 6 2 3 6 6 7", "win"),
        ("5 7 1 5 7 7 3 5 1 7 5 5 1 4 4 3 6 5 7 7 6 3 2 1 1 1 3 4 4 4", "draw"),
    ],
    "hex:size=4": [("a1 d3 d1 b1 c3", "loss"), ("d4 d1 c2 b2 a4", "win")],
    "go:size=5": [
        ("A5 D3 D1 A2 D5 B3 E1 B1 E3 E2 C5 C2 E4 C1 A3 D2 E1 B5 D4 A4 B4 pass E5 C3 A5 D1", "loss"),
        ("C4 A2 A5 A4 A3 D5 C1 B5 D2 B4 C3 D4 D3 E5 E4 pass C5 D4 A1 E1 B3 pass D5 pass C2 D1", "win"),
    ],
}
FEW_ENDGAMES = {"tictactoe": ENDGAMES["tictactoe"]}  # without the compiler
WITH_PRIORS = ["tds-uct:bandit=puct", "tds-dfuct:bandit=puct", "span:bandit=puct", "treesplit:bandit=puct"]
PLACES = [(SIMULATED, 1), (SIMULATED, 5), (SIMULATED, 20), (THREADS, 3)]
FEW_PLACES = [(SIMULATED, 3), (THREADS, 2)]
NAMES = {LOSS: "loss", DRAW: "draw", WIN: "win"}


def endgames(scheme: str) -> list[tuple[str, str, str]]:
    """Those that a scheme can prove soon: RAVE does not explore, and may leave out for ever what would prove a draw, or
    with priors that nobody gives, more. PUCT explores little. The last one's homes hear of every other playout."""
    games = FEW_ENDGAMES if JIT_DISABLED else ENDGAMES
    found = [(spec, moves, truth) for spec, known in games.items() for moves, truth in known]
    if "rave" in scheme:
        found = [one for one in found if one[2] != "draw" and ("mse" not in scheme or one[0] != "go:size=5")]
    if "puct" in scheme or "n_sync=2" in scheme:
        found = [one for one in found if one[2] != "draw" or one[0] == "tictactoe"]
    return found


@cache
def sequential_proof(spec: str, moves: str) -> str | None:
    result = run_search(request("sequential", spec, BUDGET, 1, runtime=THREADS, moves=moves))
    assert result is not None
    return result.proven


def with_options(scheme: str, options: str) -> str:
    return f"{scheme}{',' if ':' in scheme else ':'}{options}"


def searched(wanted: Request) -> tuple[SearchResult | None, list[Seat]]:
    """A finished search, looked at; simulated ones with their seat."""
    if wanted.plan.runtime != SIMULATED:
        return run_search(wanted), []
    simulation = Simulation(wanted)
    simulation.run()
    check_seat(simulation.seat)
    budget = simulation.port.budget[0]
    assert budget.jobs_alive == 0 or isinstance(simulation.seat.handle.whole.value, CopiesRank)
    found = wanted.plan.scheme.read(wanted, simulation.seat)
    return summarise_ranks(wanted, simulation.outcome(found, 0.0)), [simulation.seat]


@pytest.mark.parametrize("scheme", [*SCHEMES, *WITH_PRIORS])
def test_endgames_are_proven_as_by_the_sequential_search_and_that_ends_the_search(scheme: str) -> None:
    for spec, moves, truth in endgames(scheme):
        assert sequential_proof(spec, moves) == truth
        for runtime, ranks in FEW_PLACES if JIT_DISABLED else PLACES:
            result, _ = searched(
                request(with_options(scheme, "nodes=200000"), spec, BUDGET, ranks, 1, runtime, moves=moves)
            )
            assert result is not None and result.proven == truth, (spec, moves, runtime, ranks)
            assert 0 < result.playouts < BUDGET // 2
            check_result(result, result.playouts)
            best = result.moves[0]
            if truth == "win":
                assert best.proven == "win"
            else:
                assert {move.proven for move in result.moves} <= {truth, "loss"}


@pytest.mark.parametrize("scheme", SCHEMES)
def test_all_that_is_said_to_be_proven_is_true(scheme: str) -> None:
    """Against brute force, in the whole tree: nothing is seen from the wrong side, nor told of the wrong node."""
    source, proofs = random.Random(4), 0
    for i in range(sized(8, without_jit=2)):
        position = random_position("tictactoe", 4 + i if JIT_DISABLED else i % 6, source)
        proofs += check_tree(scheme, position, tictactoe_values(), sized(600, without_jit=60), 1 + 4 * (i % 3))
    for i in range(sized(2, without_jit=0)):
        position = random_position("connect4", 33, source)
        values: Values = {}
        solve(position, values)
        proofs += check_tree(scheme, position, values, 2000, 4 + i)
    assert proofs > sized(100, without_jit=0)


def check_tree(scheme: str, position: Position, values: Values, playouts: int, ranks: int) -> int:
    """Search, and check every proof at homes; give their number."""
    plan = request(with_options(scheme, "threshold=2,c=0.5"), position.game.spec(), playouts, ranks).plan
    _, (seat,) = searched(Request(position, plan))
    tree, whole, proofs = seat.tree, seat.handle.whole.value, 0
    for node in range(int(tree.used[NODES])):
        if isinstance(whole, CopiesRank) and whole.role[node] != NO_COPY:
            continue
        truth = values[int(tree.node_key[node])]
        assert tree.node_proven[node] in (UNPROVEN, truth)
        proven = tree.edge_proven[edges_of(tree, node)]
        assert proven.max() <= truth
        if proven.max() == WIN or proven.min() > UNPROVEN:  # then the node is proven, too
            assert tree.node_proven[node] == truth
        proofs += int((proven != UNPROVEN).sum())
    return proofs


@pytest.mark.parametrize("runtime", [SIMULATED, THREADS])
@pytest.mark.parametrize("algorithm", ["uct", "dfuct", "span"])
def test_one_job_on_one_rank_proves_what_the_sequential_search_does_with_as_many_playouts(
    algorithm: str, runtime: str
) -> None:
    scheme = algorithm if algorithm == "span" else one_job(algorithm)
    for options in ("", ",bandit=puct", ",bandit=tuned2", ",threshold=1"):
        of_search = f"sequential:algorithm={algorithm.replace('span', 'uct')},max_depth=127{options}"
        for spec, moves, truth in endgames(scheme):
            expected = run_search(request(of_search, spec, BUDGET, 1, 3, THREADS, moves=moves))
            result = run_search(
                request(with_options(scheme, options[1:] or "c=-1"), spec, BUDGET, 1, 3, runtime, moves=moves)
            )
            assert result is not None and expected is not None
            assert (result.proven, result.playouts) == (truth, expected.playouts)
            assert moves_of(result) == moves_of(expected)
            proofs = [{move.id: move.proven for move in one.moves} for one in (result, expected)]
            assert proofs[0] == proofs[1]


@pytest.mark.parametrize("scheme", ["tds-uct", "tds-dfuct", "span", "treesplit:n_dup=4,n_sync=5", "mp-mcts"])
def test_proofs_do_not_disturb_the_trace(scheme: str) -> None:
    traces = []
    for _ in range(2):
        spec = "tictactoe" if JIT_DISABLED else "connect4"
        result, _ = searched(request(scheme, spec, BUDGET, 7, moves=ENDGAMES[spec][2][0]))
        assert result is not None
        traces.append((result.signature, result.seconds, result.messages["sent"], result.proven))
    assert traces[0] == traces[1] and traces[0][3] == "draw"


@pytest.mark.parametrize("scheme", ["tds-uct", "tds-dfuct", "span", "treesplit:n_dup=4,n_sync=5", "mp-mcts"])
@pytest.mark.parametrize("runtime", [SIMULATED, THREADS])
def test_workers_prove_too(scheme: str, runtime: str) -> None:
    for spec, moves, truth in endgames(scheme)[:3]:
        result = run_search(request(scheme, spec, BUDGET, 3, 1, runtime, moves=moves, workers=2))
        assert result is not None and result.proven == truth and result.playouts < BUDGET
        check_result(result, result.playouts)


@pytest.mark.parametrize("runtime", [SIMULATED, THREADS])
def test_values_of_a_function_prove_nothing(runtime: str) -> None:
    """It is asked at the end of a game, too, as with all schemes."""

    def evaluate(states: np.ndarray) -> list[float]:
        return [0.5] * len(states)

    result = run_search(request("span", "tictactoe", 100, 2, 1, runtime, moves="a1 c2 a3", evaluate=evaluate))
    assert result is not None and result.proven is None and result.playouts == 100


@pytest.mark.parametrize("scheme", SCHEMES)
def test_nothing_is_proven_without_the_solver_or_with_chance(scheme: str) -> None:
    few = sized(500, without_jit=50)
    for options, spec in (("solver=no", "tictactoe"), ("solver=yes", "sailing:size=4")):
        result, (seat,) = searched(request(with_options(scheme, options), spec, few, 3))
        assert result is not None and result.proven is None and result.playouts == few
        assert not seat.tree.edge_proven[: int(seat.tree.used[1])].any()


@pytest.mark.skipif(JIT_DISABLED, reason="too slow: 20 ranks")
@pytest.mark.parametrize("scheme", ["tds-uct", "tds-uct:dedicated_root=yes", "tds-dfuct:budget=share", "treesplit"])
def test_jobs_that_need_no_playout_keep_no_leaf_waiting(scheme: str) -> None:
    """On 20 ranks 400 jobs go round between proven draws. Their messages must not keep a leaf from its playout."""
    result, _ = searched(request(scheme, "tictactoe", BUDGET, 20, moves="b2 c1 c3"))
    assert result is not None and result.proven == "draw" and result.playouts < 5000


# Trees that live


@pytest.mark.parametrize(("runtime", "ranks"), [(SIMULATED, 5), (THREADS, 3)])
@pytest.mark.parametrize("scheme", SCHEMES)
def test_what_is_proven_stays_proven_and_is_not_searched_again(scheme: str, runtime: str, ranks: int) -> None:
    living = Living(scheme, "tictactoe", runtime, ranks)
    living.position = position_of("tictactoe", "b3 a3 b1")

    def search() -> SearchResult:
        plan = request(scheme, "tictactoe", BUDGET, ranks, runtime=runtime).plan
        result = run_search(Request(living.position, plan, living.name))
        assert result is not None and result.proven == truths[len(living.position.moves_made) % 2]
        return result

    truths = ["loss", "win"]  # after the winner's move, and before it
    first = search()
    again = search()
    assert again.playouts == 0 and again.root_visits == first.root_visits == first.playouts
    assert moves_of(again) == moves_of(first)
    for _ in range(2):
        living.play(next(move.id for move in again.moves if move.proven == again.proven))
        if living.position.is_over:
            break
        before = living.visits_of_root()
        again = search()
        assert again.root_visits == before + again.playouts
        assert again.playouts == 0 or before == 0


# Messages in any order


@pytest.mark.parametrize(
    "scheme", ["tds-uct", "tds-dfuct:grant=5", "span:jobs=20,grant=3", "treesplit:n_dup=2,n_sync=3", "mp-mcts"]
)
def test_any_order_of_messages_proves_the_same(scheme: str) -> None:
    for seed, (moves, truth) in enumerate(ENDGAMES["tictactoe"]):
        cluster = Cluster("tictactoe", scheme, 4, sized(20_000, without_jit=3000), seed, moves=moves)
        cluster.run()
        check_seat(cluster.seat)
        tree, root = cluster.seat.tree, int(cluster.rank.root[0])
        assert NAMES[int(tree.node_proven[root])] == truth
        assert int(tree.node_visits[root]) == len(cluster.paths)
        counted = {place: count for place, count in cluster.statistics().items() if count[0]}
        assert counted == {place: pytest.approx(count) for place, count in cluster.counted.items()}
