"""Compiled code on disk: whole or not there, ours alone, shared by processes, and never in the way of a search."""

import contextlib
import errno
import os
import platform
import shutil
import signal
import stat
import subprocess
import time
from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tests.support.programs import DRAW, DRAWN, MOVES, SEARCH, command, entries, environment, output, run
from tests.support.ranks import wait_for
from treespan.core import compiled, store
from treespan.core.jit import JIT_DISABLED, njit
from treespan.core.store import FORMAT, UNUSED_SECONDS, Store, pack, unpack

pytestmark = pytest.mark.skipif(JIT_DISABLED, reason="nothing is compiled, so nothing is kept")

DAY = 24 * 3600
KEY, OTHER = "0123456789abcdef" * 4, "f" * 64
FACTS = {"result": ["tuple", ["int64", "bool"]], "externals": ["memcpy"]}
CODE = bytes(range(256)) * 3
NOT_ROOT = pytest.mark.skipif(os.getuid() != 0, reason="only root can give a folder away")


def new_store(folder: Path) -> Store:
    """A store with one entry."""
    made = Store(folder)
    made.write(KEY, FACTS, CODE)
    return made


def names(folder: Path) -> set[str]:
    return {path.name for path in folder.iterdir()}


# Entries


def test_entry_is_read_as_it_was_written(tmp_path: Path) -> None:
    kept = new_store(tmp_path / "home")
    assert kept.read(KEY) == (FACTS, CODE) == Store(tmp_path / "home").read(KEY)
    assert kept.has(KEY) and not kept.has(OTHER) and kept.read(OTHER) is None
    assert not kept.problem and names(tmp_path / "home") == {f"{KEY}.code"}


def test_entry_may_be_empty_of_code_and_facts() -> None:
    assert unpack(pack({}, b"")) == ({}, b"")


def test_entry_cut_short_anywhere_is_none() -> None:
    whole = pack(FACTS, CODE)
    assert unpack(whole) == (FACTS, CODE)
    assert all(unpack(whole[:length]) is None for length in range(len(whole)))
    assert unpack(whole + b"\0") is None


def test_entry_with_any_bit_flipped_is_none() -> None:
    whole = pack(FACTS, CODE[:40])
    for place in range(len(whole)):
        for bit in range(8):
            damaged = bytearray(whole)
            damaged[place] ^= 1 << bit
            assert unpack(bytes(damaged)) is None, (place, bit)


def test_entry_of_another_format_is_none() -> None:
    assert unpack(pack(FACTS, CODE).replace(FORMAT, FORMAT.replace(b"1", b"2"))) is None


def flip(content: bytes) -> bytes:
    middle = len(content) // 2
    return content[:middle] + bytes([content[middle] ^ 16]) + content[middle + 1 :]


DAMAGES = {
    "cut": lambda content: content[:-1],
    "flipped": flip,
    "empty": lambda _: b"",
    "noise": lambda _: b"\xff" * 999,
}


@pytest.fixture(scope="module")
def compiled_once(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A home with the one entry of `DRAW`."""
    folder = tmp_path_factory.mktemp("compiled")
    assert output(DRAW, folder, home=folder / "home") == [DRAWN, "True"]
    return folder / "home"


@pytest.fixture
def home(compiled_once: Path, tmp_path: Path) -> Path:
    """The same, for one test to spoil."""
    return Path(shutil.copytree(compiled_once, tmp_path / "home"))


@pytest.mark.parametrize("damage", DAMAGES)
def test_damaged_entry_is_made_anew(damage: str, home: Path, tmp_path: Path) -> None:
    (path,) = entries(home)
    whole = path.read_bytes()
    path.write_bytes(DAMAGES[damage](whole))
    assert Store(home).read(path.stem) is None
    assert output(DRAW, tmp_path, home=home) == [DRAWN, "True"]
    assert set(entries(home)) == {path} and Store(home).read(path.stem) is not None
    assert output(DRAW, tmp_path, home=home) == [DRAWN, "False"]


# The store knows nothing of what it keeps: rules of a game, several entries, show what a search of many would.


def test_game_works_where_every_entry_is_damaged(tmp_path: Path) -> None:
    home = tmp_path / "home"
    expected = output(MOVES, tmp_path, home=home)
    assert len(entries(home)) >= len(DAMAGES)
    for path, damage in zip(sorted(entries(home)), [*DAMAGES.values()] * 99, strict=False):
        path.write_bytes(damage(path.read_bytes()))
    assert output(MOVES, tmp_path, home=home) == expected
    assert output(MOVES, tmp_path, home=home) == [*expected[:-1], "False"]


def test_folder_in_the_place_of_an_entry_does_no_harm(home: Path, tmp_path: Path) -> None:
    (path,) = entries(home)
    path.unlink()
    path.mkdir()
    done = run(DRAW, tmp_path, home=home)
    assert (done.returncode, done.stdout.split()) == (0, [DRAWN, "True"])
    assert "compiled code is not kept" in done.stderr and "Traceback" not in done.stderr


# The folder must be ours alone


def test_folder_is_made_for_its_user_alone(tmp_path: Path) -> None:
    made = Store(tmp_path / "a" / "b" / "home")
    assert made.folder == tmp_path / "a" / "b" / "home"
    assert stat.S_IMODE(made.folder.stat().st_mode) == 0o700


def test_folder_is_in_the_users_cache_by_default(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TREESPAN_CACHE_DIR", "")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    assert store.user_folder() == tmp_path / "cache" / "treespan"
    monkeypatch.delenv("XDG_CACHE_HOME")
    monkeypatch.setenv("HOME", str(tmp_path))
    assert store.user_folder() == tmp_path / ".cache" / "treespan"
    monkeypatch.setenv("TREESPAN_CACHE_DIR", str(tmp_path / "own"))
    assert store.user_folder() == tmp_path / "own"


def open_to_all(home: Path) -> None:
    home.chmod(0o777)


def open_to_the_group(home: Path) -> None:
    home.chmod(0o770)


def a_link(home: Path) -> None:
    home.rename(home.with_name("elsewhere"))
    home.symlink_to(home.with_name("elsewhere"))


def anothers(home: Path) -> None:
    os.chown(home, 65534, 65534)


def a_file(home: Path) -> None:
    home.rename(home.with_name("elsewhere"))
    home.write_text("not a folder")


REFUSED = [
    pytest.param(open_to_all, "others may have written there; remove it: rm -r ", id="mode 0777"),
    pytest.param(open_to_the_group, "others may have written there; remove it: rm -r ", id="mode 0770"),
    pytest.param(a_link, "link or a file; remove it, or set TREESPAN_CACHE_DIR", id="link"),
    pytest.param(a_file, "link or a file; remove it, or set TREESPAN_CACHE_DIR", id="file"),
    pytest.param(anothers, "another user; set TREESPAN_CACHE_DIR", id="another user's", marks=NOT_ROOT),
]


@pytest.mark.parametrize(("spoil", "remedy"), REFUSED)
def test_folder_that_others_may_have_written_is_refused(spoil: Any, remedy: str, tmp_path: Path) -> None:
    home = tmp_path / "home"
    new_store(home)
    spoil(home)
    before = names(home) if home.is_dir() else set()
    refused = Store(home)
    assert refused.folder is None and str(home) in refused.problem and remedy in refused.problem
    assert not refused.has(KEY) and refused.read(KEY) is None
    refused.write(OTHER, FACTS, CODE)
    with refused.claim(KEY, wait=True) as is_mine:
        assert is_mine
    assert refused.prune() == []
    assert (names(home) if home.is_dir() else set()) == before


@pytest.mark.parametrize(("spoil", "remedy"), REFUSED)
def test_program_works_without_a_folder_and_says_why_in_one_line(
    spoil: Any, remedy: str, home: Path, tmp_path: Path
) -> None:
    spoil(home)
    done = run(DRAW, tmp_path, home=home)
    assert (done.returncode, done.stdout.split()) == (0, [DRAWN, "True"])  # compiled: nothing is read from there
    (line,) = [line for line in done.stderr.splitlines() if line != "treespan: compiling"]  # if it took long
    assert line.startswith("treespan: compiled code is not kept: ") and remedy in line


IMPATIENT = """
import treespan.core.announce
treespan.core.announce.PATIENCE_SECONDS = 0.01
"""


def test_game_works_without_a_folder_and_says_so_once(tmp_path: Path) -> None:
    """A home below a file: it cannot be made, as on a disk that cannot be written."""
    expected = output(MOVES, tmp_path)
    (tmp_path / "file").write_text("not a folder")
    done = run(IMPATIENT + MOVES, tmp_path, home=tmp_path / "file" / "below")
    assert (done.returncode, done.stdout.split()[:-1]) == (0, expected[:-1])
    said = [line for line in done.stderr.splitlines() if "not kept" in line]
    assert len(said) == 1 and "Traceback" not in done.stderr
    assert "treespan: compiling" in done.stderr
    assert "kept for next time" not in done.stderr  # what the announcement promises must be true


def test_folder_that_cannot_be_written_is_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    # Root may write anywhere but on a disk mounted for reading only.
    new_store(tmp_path / "home")
    monkeypatch.setattr(os, "access", lambda *_: False)
    kept = Store(tmp_path / "home")
    assert not kept.may_write and "set TREESPAN_CACHE_DIR to a folder that can" in kept.problem
    kept.write(OTHER, FACTS, CODE)
    assert kept.read(KEY) == (FACTS, CODE) and names(tmp_path / "home") == {f"{KEY}.code"}


def test_entry_that_another_user_may_have_written_is_not_read(tmp_path: Path) -> None:
    kept, path = new_store(tmp_path / "home"), tmp_path / "home" / f"{KEY}.code"
    path.chmod(0o666)
    assert kept.read(KEY) is None
    path.chmod(0o600)
    assert kept.read(KEY) == (FACTS, CODE)
    if os.getuid() == 0:
        os.chown(path, 65534, 65534)
        assert kept.read(KEY) is None
        os.chown(path, 0, 0)
    path.rename(tmp_path / "elsewhere")
    path.symlink_to(tmp_path / "elsewhere")
    assert kept.read(KEY) is None


def test_pipe_in_the_place_of_an_entry_is_not_waited_for(tmp_path: Path) -> None:
    kept, path = new_store(tmp_path / "home"), tmp_path / "home" / f"{KEY}.code"
    path.unlink()
    os.mkfifo(path, 0o600)
    assert kept.read(KEY) is None


@pytest.mark.parametrize(
    ("number", "remedy"),
    [
        (errno.EACCES, "; set TREESPAN_CACHE_DIR to a folder that can be written"),
        (errno.EROFS, "; set TREESPAN_CACHE_DIR to a folder that can be written"),
        (errno.ENOSPC, "; make room there, or set TREESPAN_CACHE_DIR to a folder with room"),
        (errno.EFBIG, "; make room there, or set TREESPAN_CACHE_DIR to a folder with room"),
    ],
)
def test_what_the_system_refuses_is_told_with_a_remedy(
    number: int, remedy: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(*_: Any) -> None:
        raise OSError(number, os.strerror(number))

    kept = Store(tmp_path / "home")
    monkeypatch.setattr(os, "replace", refuse)
    kept.write(KEY, FACTS, CODE)
    monkeypatch.setattr(os, "mkdir", refuse)
    for told in (kept, Store(tmp_path / "other")):
        assert told.problem.endswith(f": {os.strerror(number)}{remedy}")


def test_user_without_a_home_is_told_what_to_set(monkeypatch: pytest.MonkeyPatch) -> None:
    def no_home() -> Path:
        raise RuntimeError("Could not determine home directory.")

    monkeypatch.setattr(Path, "home", no_home)
    for name in ("TREESPAN_CACHE_DIR", "XDG_CACHE_HOME"):
        monkeypatch.delenv(name, raising=False)
    assert Store(store.user_folder()).folder is None


def test_settings_of_numba_are_part_of_the_key(monkeypatch: pytest.MonkeyPatch) -> None:
    from treespan.core import compiled

    keys = set()
    for level in ("0", "3"):
        monkeypatch.setenv("NUMBA_OPT", level)
        keys.add(compiled._environment.__wrapped__())
    assert len(keys) == 2


# Writing


def test_entry_is_written_aside_and_renamed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    renamed = []
    real = os.replace

    def replace(source: Path, target: Path) -> None:
        assert unpack(source.read_bytes()) == (FACTS, CODE) and not target.exists()
        renamed.append((source.name, target.name))
        real(source, target)

    monkeypatch.setattr(os, "replace", replace)
    new_store(tmp_path / "home")
    assert renamed == [(f"{KEY}.{platform.node()}.{os.getpid()}.part", f"{KEY}.code")]


def full_disk(*_: Any) -> None:
    raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))


@pytest.mark.parametrize(("owner", "name", "stand_in"), [(os, "replace", full_disk), (store, "pack", full_disk)])
def test_full_disk_leaves_nothing_behind_and_is_told(
    owner: Any, name: str, stand_in: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    kept = new_store(tmp_path / "home")
    monkeypatch.setattr(owner, name, stand_in)
    kept.write(OTHER, FACTS, CODE)
    assert names(tmp_path / "home") == {f"{KEY}.code"}
    assert "No space left on device" in kept.problem and str(tmp_path / "home") in kept.problem
    monkeypatch.undo()
    assert kept.read(KEY) == (FACTS, CODE) and kept.read(OTHER) is None


FULL_DISK = """
import errno, os
def full_disk(*_):
    raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
os.replace = full_disk
"""


def test_game_works_on_a_full_disk_and_says_so_once(tmp_path: Path) -> None:
    home = tmp_path / "home"
    done = run(FULL_DISK + MOVES, tmp_path, home=home)
    assert (done.returncode, done.stdout.split()[:-1]) == (0, output(MOVES, tmp_path)[:-1])
    said = [line for line in done.stderr.splitlines() if "No space left on device" in line]
    assert len(said) == 1, done.stderr
    assert "Traceback" not in done.stderr
    assert not [name for name in names(home) if not name.endswith(".lock")]


def test_problem_is_told_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    refused = Store(tmp_path / "home")
    refused.problem = "compiled code is not kept: why"
    monkeypatch.delenv("TREESPAN_SILENT", raising=False)
    monkeypatch.setattr(store, "store", lambda: refused)
    store.tell_problem()
    store.tell_problem()
    captured = capsys.readouterr()
    assert (captured.out, captured.err) == ("", "treespan: compiled code is not kept: why\n")


# Several processes

COUNTED = """
import os, sys
import treespan.core.compiler as compiler
real = compiler.compile_variant
def compile_variant(function, kinds, symbol):
    with open(sys.argv[1], "a") as log:
        log.write(symbol + "\\n")
    return real(function, kinds, symbol)
compiler.compile_variant = compile_variant
"""


def test_processes_that_start_together_share_the_work(tmp_path: Path) -> None:
    home, log = tmp_path / "home", tmp_path / "log"
    start = command(COUNTED + SEARCH, tmp_path, str(log))
    settings: Any = {"env": environment(home), "stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "text": True}
    started = [subprocess.Popen(start, **settings) for _ in range(4)]
    answers = [process.communicate(timeout=300) for process in started]
    assert [process.returncode for process in started] == [0] * 4, answers
    assert len({out for out, _ in answers}) == 1 and answers[0][0].split() == [*output(SEARCH, tmp_path)[:-1], "True"]
    assert not any("Traceback" in err for _, err in answers)
    compiled_times = Counter(log.read_text().split())
    assert set(compiled_times) == {compiled.symbol_of(path.stem) for path in entries(home)}
    # A lock is removed with its holder, so rarely two processes hold locks of one name.
    assert sum(compiled_times.values()) <= len(compiled_times) + 2, compiled_times
    assert {path.suffix for path in home.iterdir()} == {".code"}


def test_lock_is_with_one_process_at_a_time(tmp_path: Path) -> None:
    first, second = Store(tmp_path / "home"), Store(tmp_path / "home")
    with (
        first.claim(KEY, wait=False) as mine,
        second.claim(KEY, wait=False) as also_mine,
        second.claim(OTHER, wait=False) as of_another,
    ):
        assert (mine, also_mine, of_another) == (True, False, True)
    with second.claim(KEY, wait=False) as mine_now:
        assert mine_now
    assert not names(tmp_path / "home")


def test_lock_is_given_back_when_compiling_fails(tmp_path: Path) -> None:
    first, second = Store(tmp_path / "home"), Store(tmp_path / "home")
    with pytest.raises(ValueError, match="broken"), first.claim(KEY, wait=False):
        raise ValueError("broken")
    with second.claim(KEY, wait=False) as mine_now:
        assert mine_now


STUCK = """
import sys, time
import treespan.core.compiler as compiler
def compile_variant(function, kinds, symbol):
    print("compiling", flush=True)
    time.sleep(600)
compiler.compile_variant = compile_variant
"""


def test_process_killed_while_it_compiles_leaves_the_store_usable(tmp_path: Path) -> None:
    home = tmp_path / "home"
    start = command(STUCK + DRAW, tmp_path)
    victim = subprocess.Popen(start, env=environment(home), stdout=subprocess.PIPE, text=True)
    assert victim.stdout is not None
    assert victim.stdout.readline() == "compiling\n"
    left = names(home)
    victim.send_signal(signal.SIGKILL)
    assert victim.wait() == -signal.SIGKILL
    assert [name for name in left if name.endswith(".lock")] and not entries(home)
    assert output(DRAW, tmp_path, home=home) == [DRAWN, "True"]
    assert output(DRAW, tmp_path, home=home) == [DRAWN, "False"]


SLOW = """
import os, sys, time
import treespan.core.compiler as compiler
from treespan.core import compiled
compiled.usable_cores = lambda: 2
real = compiler.compile_variant
def compile_variant(function, kinds, symbol):
    with open(sys.argv[1], "a") as log:
        log.write(f"{os.getpid()}\\n")
    time.sleep(0.5)
    return real(function, kinds, symbol)
compiler.compile_variant = compile_variant
"""


def test_helper_whose_parent_was_killed_compiles_nothing_more(tmp_path: Path) -> None:
    log = tmp_path / "log"
    log.write_text("")
    victim = subprocess.Popen(command(SLOW + SEARCH, tmp_path, str(log)), env=environment(tmp_path / "home"))

    def helpers() -> set[int]:
        return {int(word) for word in log.read_text().split()} - {victim.pid}

    assert wait_for(lambda: bool(helpers()))
    victim.kill()
    victim.wait()
    before = log.read_text().split()
    (helper,) = helpers()
    assert wait_for(lambda: is_dead(helper))
    assert log.read_text().split() in (before, [*before, str(helper)])


def is_dead(process: int) -> bool:
    """Whether a process has ended, and nobody has asked how."""
    with contextlib.suppress(OSError):
        return Path(f"/proc/{process}/stat").read_text().rpartition(") ")[2].startswith("Z")
    return True


# What nobody uses is removed


def aged(path: Path, seconds: float) -> Path:
    path.write_bytes(b"")
    os.utime(path, (time.time() - seconds,) * 2)
    return path


def test_pruning_removes_only_entries_unused_for_a_week(tmp_path: Path) -> None:
    kept = Store(tmp_path / "home")
    home = tmp_path / "home"
    old = [aged(home / f"{'a' * 64}.code", UNUSED_SECONDS + 60), aged(home / f"{'b' * 64}.code", 100 * DAY)]
    old += [aged(home / f"{'c' * 64}.123.part", 8 * DAY), aged(home / f"{'d' * 24}.lock", 8 * DAY)]
    fresh = [aged(home / f"{'e' * 64}.code", UNUSED_SECONDS - 600), aged(home / f"{'f' * 24}.lock", DAY)]
    assert set(kept.prune()) == set(old) and UNUSED_SECONDS == 7 * DAY
    assert set(home.iterdir()) == set(fresh)


def test_pruning_leaves_alone_what_is_not_ours(tmp_path: Path) -> None:
    # TREESPAN_CACHE_DIR may name a folder that holds other things.
    kept, home = Store(tmp_path / "home"), tmp_path / "home"
    (home / ("a" * 64 + ".code")).mkdir()
    others = {aged(home / name, 100 * DAY) for name in ("letter.txt", "x.code", "A" * 64 + ".code", "a" * 64, ".lock")}
    (home / "below").mkdir()
    others.add(aged(home / "below" / f"{'a' * 64}.code", 100 * DAY))
    os.utime(home / ("a" * 64 + ".code"), (0, 0))
    assert kept.prune() == []
    assert all(path.exists() for path in others) and (home / ("a" * 64 + ".code")).is_dir()


def test_reading_an_entry_keeps_it_for_another_week(tmp_path: Path) -> None:
    kept = new_store(tmp_path / "home")
    path = tmp_path / "home" / f"{KEY}.code"
    os.utime(path, (time.time() - 6 * DAY,) * 2)
    assert kept.read(KEY) is not None
    assert time.time() - path.stat().st_mtime < DAY
    recent = time.time() - 3600  # a start need not write to a disk each time
    os.utime(path, (recent, recent))
    kept.read(KEY)
    assert path.stat().st_mtime == pytest.approx(recent)


def test_compiling_prunes(tmp_path: Path) -> None:
    home = tmp_path / "home"
    Store(home)
    stale = aged(home / f"{KEY}.code", 8 * DAY)
    assert output(DRAW, tmp_path, home=home) == [DRAWN, "True"]
    assert not stale.exists() and len(entries(home)) == 1


# What an entry is named by


@njit
def half(x):
    return x / 2


def test_name_of_an_entry_depends_on_machine_function_and_kinds(monkeypatch: pytest.MonkeyPatch) -> None:
    def key(kind: str) -> str:
        return compiled.key_of((half, (kind,)))  # type: ignore[arg-type]  # what the decorator makes

    before = key("int64")
    assert key("int64") == before and key("float64") != before and len(before) == 64
    here = compiled._environment()
    monkeypatch.setattr(compiled, "_environment", lambda: here + " ")
    assert key("int64") != before


def test_machine_is_its_cpu_and_versions(monkeypatch: pytest.MonkeyPatch) -> None:
    import llvmlite.binding as llvm

    from treespan.core import sources

    def described() -> str:
        return str(compiled._environment.__wrapped__())

    descriptions = {described(), described()}
    assert len(descriptions) == 1
    changes: list[tuple[Any, str, Any]] = [
        (llvm, "get_host_cpu_name", lambda: "z80"),
        (sources, "numba_version", lambda: "0.0"),
        (sources, "compiler_digest", lambda: "edited"),
        (np, "__version__", "0.0"),
        (compiled, "BOUNDS_CHECKED", "perhaps"),
    ]
    for count, (owner, name, value) in enumerate(changes, start=2):
        with monkeypatch.context() as changed:
            changed.setattr(owner, name, value)
            descriptions.add(described())
        assert len(descriptions) == count, name


# Units

NESTED = """
import sys
from treespan.core.compiled import key_of
from treespan.core.jit import njit, njit_unit

@njit_unit("int64")
def inner(x):
    return 7 * x

@njit_unit("int64")
def outer(x):
    return inner(x) + 1

@njit
def entry(x):
    return outer(x) * 2

print(entry(5), *(key_of((one, ("int64",))) for one in (inner, outer)))
"""


@pytest.mark.parametrize("which", [[1], [2], [1, 2]], ids=["below a unit", "a unit", "both"])
@pytest.mark.parametrize("is_damaged", [False, True])
def test_a_unit_that_is_missing_or_damaged_is_made_anew(tmp_path: Path, which: list[int], is_damaged: bool) -> None:
    home = tmp_path / "home"
    words = output(NESTED, tmp_path, home=home)
    assert words[0] == "72" and len(entries(home)) == 3
    for index in which:
        path = home / f"{words[index]}.code"
        path.write_bytes(b"") if is_damaged else path.unlink()
    for _ in range(2):  # the second time all is there
        assert output(NESTED, tmp_path, home=home) == words
    assert len(entries(home)) == 3
