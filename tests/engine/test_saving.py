"""Trees that are saved and loaded: on other ranks, by other schemes, and after something went wrong."""

import json
import os
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import treespan as ts
from tests.support.ranks import processes_of, ranks_of, wait_for
from tests.support.searches import sized
from treespan.core.jit import JIT_DISABLED
from treespan.engine.saving import SavedSearch, Saver
from treespan.engine.thinker import make_thinker
from treespan.games.position import Position
from treespan.games.registry import make_game
from treespan.runtimes.plan import make_plan
from treespan.schemes import saved
from treespan.schemes.plan import Budget
from treespan.schemes.saved import SaveError, read_manifest
from treespan.search.result import SearchResult, joined
from treespan.search.shard import Shard

PLAYOUTS = sized(2000, without_jit=150)
SPEC = "connect4"
with_mpi = pytest.mark.skipif(JIT_DISABLED, reason="the MPI runtime needs the compiler")


def figures(result: SearchResult | None) -> Any:
    assert result is not None
    moves = sorted((move.id, move.visits, move.wins, move.proven) for move in result.moves)
    return result.move, result.value, result.root_visits, moves


def mpi(ranks: int) -> Any:
    return pytest.param({"ranks": ranks}, marks=with_mpi)


@pytest.mark.parametrize(
    "target", [{"threads": 1}, {"threads": 3}, {"simulate": 5}, {"simulate": 120}, mpi(2)], ids=str
)
@pytest.mark.parametrize(
    "source",
    [
        {"scheme": "span", "threads": 2},
        {"scheme": "span", "simulate": 110},
        {"scheme": "treesplit:n_dup=4,n_sync=5", "simulate": 3},
        {"scheme": "tds-uct:dedicated_root=yes,bandit=rave", "threads": 3},
        {"scheme": "mp-mcts:nodes=50000", "simulate": 2},
        pytest.param({"scheme": "tds-dfuct", "ranks": 2}, marks=with_mpi),
    ],
    ids=str,
)
def test_a_saved_tree_is_the_same_on_other_ranks(
    source: dict[str, Any], target: dict[str, Any], tmp_path: Path
) -> None:
    if "ranks" in source or "ranks" in target:
        pytest.importorskip("mpi4py", reason="mpi4py is missing; pip install treespan[mpich]")
    with ts.Tree(SPEC, seed=3, **source) as tree:
        assert tree.look() is None
        first = tree.search(playouts=PLAYOUTS)
        tree.advance(first.move)
        result = tree.search(playouts=PLAYOUTS)
        before = figures(tree.look())
        assert before == figures(result)
        tree.save(tmp_path / "tree")
        assert figures(tree.look()) == before
    with ts.Tree.load(tmp_path / "tree", **target) as other:
        assert other.position.moves_made == [first.moves[0].id]
        assert figures(other.look()) == before
        more = other.search(playouts=PLAYOUTS)
        assert more.root_visits == result.root_visits + PLAYOUTS
        other.advance(more.move)
        below = other.search(playouts=PLAYOUTS)
        assert PLAYOUTS < below.root_visits <= PLAYOUTS + more.moves[0].visits


@pytest.mark.parametrize("scheme", ["sequential", "sequential:algorithm=dfuct", "shared", "span"])
@pytest.mark.parametrize("other", ["sequential", "shared", "span", "tds-uct"])
def test_a_saved_tree_goes_on_by_another_scheme(scheme: str, other: str, tmp_path: Path) -> None:
    with ts.Tree(SPEC, scheme=scheme) as tree:
        tree.search(playouts=PLAYOUTS)
        before = figures(tree.look())
        tree.save(tmp_path)
    with ts.Tree.load(tmp_path, scheme=other) as loaded:
        assert figures(loaded.look()) == before
        result = loaded.search(playouts=PLAYOUTS)
        assert result.root_visits == 2 * PLAYOUTS and result.scheme.startswith(other)
        loaded.save(tmp_path)  # in the place of the one before
        before = figures(result)
    with ts.Tree.load(tmp_path, scheme=scheme) as back:
        assert figures(back.look()) == before
    assert len(os.listdir(tmp_path)) == 2


def test_numpy_reads_a_shard(tmp_path: Path) -> None:
    with ts.Tree(SPEC, scheme="span", threads=2) as tree:
        visits = tree.search(playouts=PLAYOUTS).root_visits
        tree.save(tmp_path)
    manifest = json.loads((tmp_path / "manifest.json").read_text())
    shards = [
        np.load(tmp_path / manifest["folder"] / entry["file"], allow_pickle=False) for entry in manifest["shards"]
    ]
    assert len(shards) == 2 and manifest["root_visits"] == visits and manifest["game"] == SPEC
    keys = np.concatenate([shard["node_key"] for shard in shards])
    place = np.flatnonzero(keys == int(manifest["key"], 16))
    assert np.concatenate([shard["node_visits"] for shard in shards])[place].tolist() == [visits]
    for shard in shards:
        assert shard["node_count"].sum() == len(shard["edge_visits"])
        assert set(shard.files) == set(Shard._fields)


def test_superko_goes_with_a_saved_tree(tmp_path: Path) -> None:
    position = ts.make_game("go:size=5,superko=yes").position("C3 D3")
    with ts.Tree(position, scheme="span", simulate=3) as tree:
        tree.search(playouts=PLAYOUTS)
        tree.save(tmp_path)
    with ts.Tree.load(tmp_path) as loaded:
        assert loaded.position.history == position.history and loaded.position.forbidden_moves == set()


# What is refused, and what then is as it was


def a_save(folder: Path, spec: str = SPEC, **options: Any) -> None:
    with ts.Tree(spec, **{"scheme": "span", "simulate": 2, **options}) as tree:
        tree.search(playouts=100)
        tree.save(folder)


def contents(folder: Path) -> dict[str, bytes]:
    return {str(path.relative_to(folder)): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def test_a_folder_with_other_files_is_not_touched(tmp_path: Path) -> None:
    (tmp_path / "thesis.tex").write_text("years of work")
    (tmp_path / "file").write_text("")
    before = contents(tmp_path)
    with pytest.raises(SaveError, match="has other files, as 'file'; give a new or empty folder"):
        a_save(tmp_path)
    with pytest.raises(SaveError, match="is a file; give a folder"):
        a_save(tmp_path / "file")
    inside = tmp_path / "inside"
    inside.mkdir()
    (inside / "manifest.json.part").write_text("")  # as if ours, but no saved tree
    with pytest.raises(SaveError, match="is no saved tree"):
        a_save(inside)
    (inside / "manifest.json.part").unlink()
    inside.rmdir()
    assert contents(tmp_path) == before


@pytest.mark.skipif(os.getuid() == 0, reason="root may write anywhere")
def test_a_folder_that_may_not_be_written_is_named(tmp_path: Path) -> None:
    tmp_path.chmod(0o500)
    with pytest.raises(SaveError, match="cannot save to"):
        a_save(tmp_path / "inner")


def test_a_save_without_all_of_its_shards_is_none(tmp_path: Path) -> None:
    """As of ranks on machines that share no folder: what rank 0 does not see must not be left out of the manifest."""
    a_save(tmp_path)
    folder = tmp_path / read_manifest(tmp_path).folder
    assert len(saved.all_entries(folder, 1)) == 1
    with pytest.raises(
        SaveError, match=r"does not see what all ranks have written to .*; give a folder that they share"
    ):
        saved.all_entries(folder, 2)


def test_two_processes_do_not_save_to_one_folder(tmp_path: Path) -> None:
    saver = Saver(tmp_path)
    with pytest.raises(SaveError, match="another process saves to"):
        a_save(tmp_path)
    saver.close()
    a_save(tmp_path)


def damage(folder: Path, how: str) -> None:
    manifest = json.loads((folder / "manifest.json").read_text())
    shard = folder / manifest["folder"] / "shard-0.npz"
    if how == "truncated shard":
        shard.write_bytes(shard.read_bytes()[:-10])
    elif how == "changed shard":
        content = bytearray(shard.read_bytes())
        content[len(content) // 2] ^= 1
        shard.write_bytes(content)
    elif how == "missing shard":
        shard.unlink()
    elif how == "truncated manifest":
        (folder / "manifest.json").write_text(json.dumps(manifest)[:-20])
    elif how == "no manifest":
        (folder / "manifest.json").unlink()
    else:
        (folder / "manifest.json").write_text(json.dumps({**manifest, **json.loads(how)}))


@pytest.mark.parametrize(
    "how, complaint",
    [
        ("truncated shard", "shard-0.npz' is damaged; give another save"),
        ("changed shard", "shard-0.npz' is damaged; give another save"),
        ("missing shard", "shard-0.npz': No such file or directory; give another save"),
        ("truncated manifest", "is damaged; give another save"),
        ("no manifest", "No such file or directory; give the folder of one"),
        ('{"treespan": "9.9.9"}', "was saved by treespan 9.9.9, in format 1; this is"),
        ('{"format": 7}', "in format 7; this is .*, which reads 1"),
        ('{"game": "tictactoe"}', "is of another game than tictactoe is now: its positions have"),
        ('{"key": "12ab"}', "is of another game than connect4 is now: the key of its position is 12ab, not "),
        ('{"moves": ["c3"]}', "is damaged; give another save"),
        ('{"folder": "../elsewhere"}', "is damaged; give another save"),
        ('{"shards": [{"file": "/etc/passwd", "nodes": 1, "edges": 1, "sha256": ""}]}', "is damaged"),
        ('{"options": {"bandit": "none"}}', "bandit"),
        ('{"treespan": 3}', "is none of a saved tree"),
    ],
)
@pytest.mark.parametrize("scheme", ["span", "sequential"])
def test_a_damaged_or_foreign_save_is_refused_in_one_line(
    how: str, complaint: str, scheme: str, tmp_path: Path
) -> None:
    a_save(tmp_path)
    damage(tmp_path, how)
    before = contents(tmp_path)
    with pytest.raises(ts.TreespanError, match=complaint) as raised:
        ts.Tree.load(tmp_path, scheme=scheme)
    assert "\n" not in str(raised.value)
    assert contents(tmp_path) == before


def test_a_scheme_that_is_none_is_refused(tmp_path: Path) -> None:
    a_save(tmp_path)
    damage(tmp_path, '{"scheme": "nonsense"}')
    with pytest.raises(ts.OptionError, match="unknown scheme 'nonsense'"):
        ts.Tree.load(tmp_path)


@pytest.mark.parametrize(
    "name, values",
    [("node_count", [0]), ("edge_move", [-1]), ("edge_visits", [-5]), ("edge_wins", [np.nan]), ("node_player", [7])],
)
def test_arrays_that_are_no_tree_are_refused(name: str, values: list[Any], tmp_path: Path) -> None:
    """Also with a right checksum."""
    a_save(tmp_path)
    path = tmp_path / "manifest.json"
    manifest = json.loads(path.read_text())
    folder = tmp_path / manifest["folder"]
    with np.load(folder / "shard-0.npz") as arrays:
        content = {field: arrays[field].copy() for field in arrays.files}
    content[name][0] = values[0]
    saved.write_shard(folder, 0, Shard(**content))
    manifest["shards"] = [json.loads((folder / "shard-0.json").read_text())]
    path.write_text(json.dumps(manifest))
    with pytest.raises(SaveError, match="has arrays that do not fit together"):
        ts.Tree.load(tmp_path)


def test_a_tree_without_room_for_the_saved_one_is_refused(tmp_path: Path) -> None:
    with ts.Tree(SPEC, scheme="span", simulate=2) as tree:
        tree.search(playouts=PLAYOUTS)
        tree.save(tmp_path)
    for scheme in ("span", "sequential"):
        with pytest.raises(ts.TreespanError, match=r"nodes=20 is too small for the saved tree, which has .* moves"):
            ts.Tree.load(tmp_path, nodes=20, scheme=scheme)


@pytest.mark.parametrize("options", [{"bandit": "rave"}, {"seed": 4}, {"c": 0.3}])
def test_other_options_of_a_search_are_refused(options: dict[str, Any], tmp_path: Path) -> None:
    a_save(tmp_path)
    with pytest.raises(ts.OptionError, match=r"does not go with a saved tree, which has .*; leave it out"):
        ts.Tree.load(tmp_path, **options)


@pytest.mark.parametrize("options", [{"scheme": "root", "threads": 2}, {"scheme": "slow-tree", "simulate": 3}])
def test_trees_that_are_several_are_not_saved(options: dict[str, Any], tmp_path: Path) -> None:
    with ts.Tree(SPEC, **options) as tree:
        tree.search(playouts=100)
        with pytest.raises(SaveError, match="cannot be saved; give sequential, shared, or on ranks span"):
            tree.save(tmp_path)
    assert contents(tmp_path) == {}


def test_a_tree_that_knows_nothing_is_not_saved(tmp_path: Path) -> None:
    for scheme in ("sequential", "span"):
        with ts.Tree(SPEC, scheme=scheme) as tree, pytest.raises(SaveError, match="let it search first"):
            tree.save(tmp_path)
    assert contents(tmp_path) == {}


# Searches that save on the way


def saved_search(folder: Path, every: float, told: list[str], **options: Any) -> tuple[SavedSearch, Saver]:
    game = make_game(options.pop("spec", SPEC))
    plan = make_plan(game, **{"scheme": "span", "simulate": 3, **options})
    saver = Saver(folder)
    return SavedSearch(make_thinker(game, plan, True), Position(game), saver, every, told.append), saver


@pytest.mark.parametrize("options", [{}, {"simulate": None, "threads": 2}, {"scheme": "sequential", "simulate": None}])
def test_a_search_saves_on_the_way(options: dict[str, Any], tmp_path: Path) -> None:
    told: list[str] = []
    search, saver = saved_search(tmp_path, 0.15, told, policy="wait=0.2ms", **options)
    seen: list[tuple[int, float]] = []
    result = search.run(Budget(playouts=4 * PLAYOUTS, seconds=600), lambda *at: seen.append(at))
    saver.close()
    assert result.playouts == result.root_visits == 4 * PLAYOUTS and not told
    assert [playouts for playouts, _ in seen] == sorted(playouts for playouts, _ in seen)
    assert saver.parts_saved and (saver.parts_saved > 1 or "simulate" not in options)
    manifest = read_manifest(tmp_path)
    assert manifest.root_visits == 4 * PLAYOUTS and manifest.searches == saver.parts_saved
    assert len(list(tmp_path.glob("save-*"))) == 1
    with ts.Tree.load(tmp_path) as loaded:
        assert figures(loaded.look()) == figures(result)


def test_a_full_disk_costs_the_save_not_the_search(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    told: list[str] = []
    a_save(tmp_path)
    before = contents(tmp_path)

    def full(*_: Any, **__: Any) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(np, "savez", full)
    search, saver = saved_search(tmp_path, 0.15, told, policy="wait=0.2ms", simulate=None, threads=2)
    result = search.run(Budget(playouts=3000))
    saver.close()
    assert result.playouts == result.root_visits == 3000
    assert told and all("No space left on device; make room" in line for line in told)
    assert contents(tmp_path) == before


def test_whatever_is_killed_when_the_last_whole_save_is_there(tmp_path: Path) -> None:
    """A process that saves all the time is killed at random moments."""
    script = (
        "import sys, treespan as ts\n"
        "with ts.Tree('connect4', scheme='span', simulate=2) as tree:\n"
        "    tree.search(playouts=500)\n"
        "    while True:\n"
        "        tree.save(sys.argv[1]); print('saved', flush=True); tree.search(playouts=50)\n"
    )
    rng = np.random.default_rng(1)
    for round_ in range(4):
        process = subprocess.Popen([sys.executable, "-c", script, str(tmp_path)], stdout=subprocess.PIPE)
        assert process.stdout is not None and process.stdout.readline() == b"saved\n"
        time.sleep(float(rng.random()) * 0.2)
        process.kill()
        process.wait()
        process.stdout.close()
        with ts.Tree.load(tmp_path) as tree:
            found = tree.look()
            assert found is not None and found.root_visits >= 500, round_
    a_save(tmp_path)  # what was left of unfinished saves goes
    assert len(os.listdir(tmp_path)) == 2


@with_mpi
@pytest.mark.parametrize("victim", ["rank", "launcher"])
def test_a_lost_rank_costs_what_was_done_since_the_last_save(victim: str, tmp_path: Path) -> None:
    pytest.importorskip("mpi4py", reason="mpi4py is missing; pip install treespan[mpich]")
    command = [sys.executable, "-m", "treespan", "search", SPEC, "--ranks", "3", "--policy", "wait=1ms", "--json"]
    command += ["--seconds", "6", "--save", str(tmp_path / "tree"), "--save-every", "0.5s"]
    environment = {**os.environ, "TMPDIR": str(tmp_path)}
    process = subprocess.Popen(command, env=environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    assert wait_for(lambda: (tmp_path / "tree" / "manifest.json").exists())
    ranks = ranks_of(tmp_path)
    launchers = [other for other in processes_of(tmp_path) if other not in (*ranks, process.pid)]
    os.kill(ranks[-1] if victim == "rank" else launchers[0], signal.SIGKILL)
    out, err = process.communicate(timeout=120)
    result = json.loads(out)
    assert process.returncode == 0, err
    assert "go on from the last save" in err and "go on by: treespan search --resume" in err
    assert (result["lost_ranks"], result["ranks"]) == (1, 2) and result["lost_playouts"] >= 0
    assert result["playouts"] == result["root_visits"] == read_manifest(tmp_path / "tree").root_visits
    assert wait_for(lambda: not ranks_of(tmp_path))


@pytest.mark.parametrize("options", [["--threads", "2", "--scheme", "span"], ["--simulate", "4"]])
def test_who_is_told_to_end_saves(options: list[str], tmp_path: Path) -> None:
    """SIGTERM, as a cluster or a machine that is taken away sends it."""
    command = [sys.executable, "-m", "treespan", "search", SPEC, "--json", "--policy", "wait=1ms", *options]
    command += ["--seconds", "600", "--save", str(tmp_path / "tree"), "--save-every", "0.3s"]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    assert wait_for(lambda: (tmp_path / "tree" / "manifest.json").exists())
    process.terminate()
    start = time.monotonic()
    out, err = process.communicate(timeout=60)
    assert process.returncode == 0 and time.monotonic() - start < 30, err
    assert "the tree is saved; go on by: treespan search --resume" in err
    visits = json.loads(out)["root_visits"]
    assert visits == read_manifest(tmp_path / "tree").root_visits
    resume = [sys.executable, "-m", "treespan", "search", "--resume", str(tmp_path / "tree"), "--playouts", "100"]
    done = subprocess.run([*resume, "--json"], capture_output=True, text=True, timeout=60, check=True)
    assert json.loads(done.stdout)["root_visits"] == visits + 100


def test_parts_of_a_search_are_one_result() -> None:
    with ts.Tree(SPEC, scheme="span", simulate=4, seed=2) as tree:
        parts = [tree.search(playouts=PLAYOUTS) for _ in range(3)]
    whole = joined(parts)
    assert whole.playouts == whole.root_visits == 3 * PLAYOUTS and sum(whole.playouts_by_rank) == whole.playouts
    assert whole.messages["sent"] == sum(part.messages["sent"] for part in parts) == sum(whole.received_by_rank)
    assert whole.messages["per_playout"] == pytest.approx(whole.messages["sent"] / whole.playouts)
    assert whole.seconds == pytest.approx(sum(part.seconds for part in parts))
    assert min(part.depth for part in parts) <= whole.depth <= max(part.depth for part in parts)
    assert whole.move == parts[-1].move and joined(parts[:1]).signature == parts[0].signature


def test_no_thread_is_left(tmp_path: Path) -> None:
    before = threading.active_count()
    a_save(tmp_path)
    assert wait_for(lambda: threading.active_count() <= before, 10)
