"""The on-disk cache: found by other processes, never stale, pruned with care. And what compiled code cannot do."""

import json
import os
import shutil
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numba.core import config
from numba.core.errors import NumbaError

import treespan
from treespan.core.jit import JIT_DISABLED, UNUSED_SECONDS, cache_folder, njit, njit_inline, prune, source_digest

pytestmark = pytest.mark.skipif(JIT_DISABLED, reason="nothing is compiled, so nothing is cached")

PACKAGE = Path(treespan.__file__).parent
DAY = 24 * 3600
numba_config: Any = config  # its settings are made at run time

# A search of tic-tac-toe that says how its compiled code was come by.
SEARCH = """
import json
from treespan.core.jit import cache_folder
from treespan.games.position import Position
from treespan.games.tictactoe import TicTacToe
from treespan.search.options import SearchOptions
from treespan.search.searcher import Searcher
from treespan.search.uct import run_uct

game = TicTacToe()
searcher = Searcher(game, SearchOptions(nodes=1000))
searcher.set_position(Position(game))
searcher.run(100)
hits, misses = (sum(counter.values()) for counter in (run_uct.stats.cache_hits, run_uct.stats.cache_misses))
print(json.dumps({"hits": hits, "misses": misses, "visits": searcher.root().visits, "folder": str(cache_folder())}))
"""

# A compiled caller; its callee `next64` lies in a file of the package.
CALLER = """
import json
import numpy as np
from treespan.core.jit import cache_folder, njit
from treespan.core.rng import next64

@njit
def draw(random):
    return next64(random)

state = np.zeros(1, dtype=np.uint64)
value = int(draw(state))
print(json.dumps({"value": value, "folder": str(cache_folder()), "hits": sum(draw.stats.cache_hits.values())}))
"""

USER_GAME = """
from dataclasses import dataclass
import numpy as np
from treespan.games.rules import Game

@dataclass(frozen=True)
class Prize(Game):
    name = "prize"
    fields = (("taken", np.int8), ("to_play", np.int8))
    max_moves = 1
    max_plies = 1

    @staticmethod
    def legal_moves(state, moves):
        moves[0] = 0
        return 1 - state.taken

    @staticmethod
    def play(state, move):
        state.taken = 1

    @staticmethod
    def reward(state):
        return 0.25
"""

ASK_GAME = """
import json, sys
from treespan.core.jit import cache_folder
from treespan.games.position import Position, step
from treespan.games.registry import make_game

game = make_game(sys.argv[1])
position = Position(game)
position.play(0)
hits = sum(step.stats.cache_hits.values())
print(json.dumps({"reward": position.reward, "key": game.type_key, "hits": hits, "folder": str(cache_folder())}))
"""


def run_program(
    program: str, folder: Path, *arguments: str, source: str | Path = PACKAGE.parent, **environment: str
) -> dict[str, Any]:
    """What the program prints, run as a file of `folder`: code that is not in a file cannot be cached."""
    path = folder / "program.py"
    if not path.exists() or path.read_text() != program:
        path.write_text(program)
    done = subprocess.run(
        [sys.executable, str(path), *arguments],
        env={**os.environ, "PYTHONPATH": str(source), **environment},
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stderr
    answer: dict[str, Any] = json.loads(done.stdout)
    return answer


def compiled_files(home: Path) -> set[Path]:
    return {path for path in home.rglob("*") if path.suffix in (".nbi", ".nbc")}


def test_search_is_found_in_the_cache_by_the_second_process(tmp_path: Path) -> None:
    # In the cache of this run: compiling the search once more, in a new one, would take long and show no more.
    first = run_program(SEARCH, tmp_path)
    second = run_program(SEARCH, tmp_path)
    assert (second["hits"], second["misses"], second["visits"]) == (1, 0, 100)
    assert first["folder"] == second["folder"] == str(cache_folder())


def test_second_process_compiles_nothing(tmp_path: Path) -> None:
    home = {"TREESPAN_CACHE_DIR": str(tmp_path / "home")}
    first = run_program(CALLER, tmp_path, **home)
    files = {path: path.stat().st_mtime_ns for path in compiled_files(tmp_path / "home")}
    second = run_program(CALLER, tmp_path, **home)
    assert files and files == {path: path.stat().st_mtime_ns for path in compiled_files(tmp_path / "home")}
    assert (first["hits"], second["hits"]) == (0, 1)
    assert first["value"] == second["value"] == 0xE220A8397B1DCDAF


def test_edited_callee_in_another_file_is_noticed(tmp_path: Path) -> None:
    copy = tmp_path / "src"
    shutil.copytree(PACKAGE, copy / "treespan", ignore=shutil.ignore_patterns("__pycache__"))
    home = {"TREESPAN_CACHE_DIR": str(tmp_path / "home")}
    before = run_program(CALLER, tmp_path, source=copy, **home)
    rng = copy / "treespan" / "core" / "rng.py"
    text = rng.read_text()
    assert text.count("    return mix64(z)\n") == 1
    rng.write_text(text.replace("    return mix64(z)\n", "    return z\n"))
    after = run_program(CALLER, tmp_path, source=copy, **home)
    assert before["value"] == 0xE220A8397B1DCDAF and after["value"] == 0x9E3779B97F4A7C15
    assert before["folder"] != after["folder"] and after["hits"] == 0


def test_edited_game_of_a_user_is_noticed(tmp_path: Path) -> None:
    game = tmp_path / "prize.py"
    home = {"TREESPAN_CACHE_DIR": str(tmp_path / "home")}
    answers = []
    for reward in ("0.25", "0.75", "0.25"):
        game.write_text(USER_GAME.replace("0.25", reward))
        answers.append(run_program(ASK_GAME, tmp_path, str(game), **home))
    assert [answer["reward"] for answer in answers] == [0.25, 0.75, 0.25]
    assert len({answer["folder"] for answer in answers}) == 1  # one folder: the type tells the versions apart
    assert answers[0]["key"] == answers[2]["key"] != answers[1]["key"]
    assert all(answer["key"].startswith("prize@") for answer in answers)
    assert [answer["hits"] for answer in answers] == [0, 0, 1]


def test_digest_depends_on_content_and_place_of_sources_only(tmp_path: Path) -> None:
    (tmp_path / "a").mkdir()
    (tmp_path / "a" / "one.py").write_text("x = 1\n")
    digests = [source_digest(tmp_path)]
    (tmp_path / "a" / "one.py").write_text("x = 2\n")
    digests.append(source_digest(tmp_path))
    (tmp_path / "a" / "one.py").rename(tmp_path / "a" / "two.py")
    digests.append(source_digest(tmp_path))
    (tmp_path / "three.py").write_text("")
    digests.append(source_digest(tmp_path))
    assert len(set(digests)) == 4
    (tmp_path / "notes.txt").write_text("nothing compiled")
    os.utime(tmp_path / "three.py", (0, 0))
    assert source_digest(tmp_path) == digests[-1]


# Folders


def aged(folder: Path, seconds: float) -> Path:
    folder.mkdir(parents=True)
    (folder / "code.nbc").write_bytes(b"compiled")
    os.utime(folder, (time.time() - seconds,) * 2)
    return folder


def test_pruning_removes_only_folders_untouched_for_a_week(tmp_path: Path) -> None:
    old = aged(tmp_path / ("0" * 16), UNUSED_SECONDS + 60)
    ancient = aged(tmp_path / ("a" * 16), 100 * DAY)
    fresh = aged(tmp_path / ("f" * 16), UNUSED_SECONDS - 600)
    current = aged(tmp_path / ("1" * 16), 100 * DAY)
    assert set(prune(tmp_path, keep=current)) == {old, ancient}
    assert set(tmp_path.iterdir()) == {fresh, current}
    assert (current / "code.nbc").exists() and UNUSED_SECONDS == 7 * DAY


def test_pruning_leaves_alone_what_is_not_a_cache_folder(tmp_path: Path) -> None:
    # TREESPAN_CACHE_DIR may name a folder that holds other things.
    kept = {aged(tmp_path / name, 100 * DAY) for name in ("letters", "0" * 15, "0" * 17, "X" * 16)}
    note = tmp_path / ("b" * 16)
    note.write_text("a file")
    os.utime(note, (0, 0))
    assert prune(tmp_path, keep=tmp_path / ("c" * 16)) == []
    assert set(tmp_path.iterdir()) == {*kept, note}


def test_start_marks_the_folder_as_used_and_prunes(tmp_path: Path) -> None:
    home = tmp_path / "home"
    used = Path(run_program(CALLER, tmp_path, TREESPAN_CACHE_DIR=str(home))["folder"])
    os.utime(used, (0, 0))
    stale = aged(home / ("0" * 16), 8 * DAY)
    again = run_program(CALLER, tmp_path, TREESPAN_CACHE_DIR=str(home))
    assert used == Path(again["folder"]) and again["hits"] == 1
    assert time.time() - used.stat().st_mtime < DAY and not stale.exists()


def test_home_that_cannot_be_written_falls_back_to_the_temporary_folder(tmp_path: Path) -> None:
    blocked = tmp_path / "file"
    blocked.write_text("not a folder")
    (tmp_path / "tmp").mkdir()
    answer = run_program(CALLER, tmp_path, TREESPAN_CACHE_DIR=str(blocked / "below"), TMPDIR=str(tmp_path / "tmp"))
    assert answer["value"] == 0xE220A8397B1DCDAF
    assert Path(answer["folder"]).parent == tmp_path / "tmp" / f"treespan-{os.getuid()}"
    assert compiled_files(tmp_path / "tmp")


def test_home_is_the_users_cache_by_default(tmp_path: Path) -> None:
    answer = run_program(CALLER, tmp_path, TREESPAN_CACHE_DIR="", XDG_CACHE_HOME=str(tmp_path / "cache"))
    assert Path(answer["folder"]).parent == tmp_path / "cache" / "treespan"


def test_bounds_checked_code_has_a_folder_of_its_own(tmp_path: Path) -> None:
    home = str(tmp_path / "home")
    folders = {
        run_program(CALLER, tmp_path, TREESPAN_CACHE_DIR=home, NUMBA_BOUNDSCHECK=mode)["folder"] for mode in "01"
    }
    assert len(folders) == 2


# The decorator


def test_decorating_restores_numbas_own_cache_setting(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(numba_config, "CACHE_DIR", str(tmp_path))

    @njit
    def twice(x):
        return 2 * x

    @njit_inline
    def thrice(x):
        return 3 * x

    assert str(tmp_path) == numba_config.CACHE_DIR
    assert twice(4) == 8 and thrice(4) == 12
    assert not list(tmp_path.iterdir())


def test_setting_is_restored_when_decorating_fails(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(numba_config, "CACHE_DIR", str(tmp_path))
    without_file: dict[str, Any] = {}
    exec("def nowhere(x):\n    return x\n", without_file)
    with pytest.raises(RuntimeError, match="no locator available"):
        njit(without_file["nowhere"])
    assert str(tmp_path) == numba_config.CACHE_DIR


def test_division_by_zero_gives_infinity_as_in_numpy() -> None:
    @njit
    def ratio(a, b):
        return a / b

    assert ratio(1.0, 0.0) == np.inf and np.isnan(ratio(0.0, 0.0))


@njit
def allocate_array(n):
    return np.zeros(n).sum()


@njit
def allocate_list(n):
    return len([n, n])


@njit
def sum_of_view(array):
    return array[1:].sum()


def test_compiled_code_cannot_allocate() -> None:
    """Without Numba's runtime there is nothing to allocate with: an array is refused as a type error, a list
    when code is generated. Both happen at the first call, before anything runs. Views allocate nothing."""
    with pytest.raises(NumbaError, match="zeros"):
        allocate_array(3)
    with pytest.raises(NumbaError, match="NRT required but not enabled"):
        allocate_list(3)
    assert sum_of_view(np.ones(3)) == 2.0
