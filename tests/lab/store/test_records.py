"""Results files: resumed, repaired, refused, and unharmed by a full disk."""

import json
import multiprocessing
import os
import resource
from pathlib import Path

import pytest

import treespan
from treespan.lab.store import records as module
from treespan.lab.store.records import Records, RecordsError

KEY: dict[str, str | int] = {"game": "pgame", "workers": 4}
FIGURES = {"speed": 2.5, "optimal": None}


def test_records_are_found_again(tmp_path: Path) -> None:
    path = tmp_path / "new" / "folder" / "some.jsonl"
    with Records(path) as records:
        assert records.find(KEY) is None
        records.append(KEY, FIGURES)
        assert records.find(KEY) == FIGURES
    with Records(path) as records:
        assert records.find({"workers": 4, "game": "pgame"}) == FIGURES  # whatever the order
        assert records.find({**KEY, "workers": 5}) is None
        assert len(records) == 1 and records.older_sources == 0
    assert json.loads(path.read_text()) == {
        "treespan": treespan.__version__,
        "sources": module.sources(),
        "key": KEY,
        "figures": FIGURES,
    }


@pytest.mark.parametrize("left", [1, 20, -1])
def test_an_unfinished_last_line_is_cut_off(tmp_path: Path, left: int) -> None:
    path = tmp_path / "some.jsonl"
    with Records(path) as records:
        records.append(KEY, FIGURES)
        records.append({"game": "go"}, FIGURES)
    first, second, _ = path.read_bytes().split(b"\n")
    path.write_bytes(first + b"\n" + second[:left])
    with Records(path) as records:
        assert records.find(KEY) == FIGURES and records.find({"game": "go"}) is None
        assert path.read_bytes() == first + b"\n"
        records.append({"game": "go"}, FIGURES)
    assert path.read_bytes() == first + b"\n" + second + b"\n"


@pytest.mark.parametrize("line", [b"not json", b"[1, 2]", b'{"key": {}, "figures": {}}', b""])
def test_a_line_that_is_no_record_is_refused(tmp_path: Path, line: bytes) -> None:
    path = tmp_path / "some.jsonl"
    with Records(path) as records:
        records.append(KEY, FIGURES)
    before = path.read_bytes() + line + b"\n"
    path.write_bytes(before)
    with pytest.raises(RecordsError, match=r"line 2 of '.*some.jsonl' is not a record.*fresh sets the file aside"):
        Records(path)
    assert path.read_bytes() == before


def test_another_version_is_refused_and_can_be_set_aside(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "some.jsonl"
    with monkeypatch.context() as patch:
        patch.setattr(treespan, "__version__", "0.0.1")
        with Records(path) as records:
            records.append(KEY, FIGURES)
    old = path.read_bytes()
    with pytest.raises(RecordsError, match=r"is of treespan 0\.0\.1, this is .*fresh sets the file aside.* by out$"):
        Records(path)
    with Records(path, fresh=True) as records:
        assert records.find(KEY) is None
        records.append(KEY, FIGURES)
    assert (tmp_path / "some.old.jsonl").read_bytes() == old
    with Records(path) as records:
        assert len(records) == 1


def test_records_of_other_sources_are_counted(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "some.jsonl"
    with monkeypatch.context() as patch, Records(path) as records:
        patch.setattr(module, "sources", lambda: "before")
        records.append(KEY, FIGURES)
    with Records(path) as records:
        assert records.older_sources == 1 and records.find(KEY) == FIGURES


def test_one_process_writes_at_a_time(tmp_path: Path) -> None:
    path = tmp_path / "some.jsonl"
    with Records(path), pytest.raises(RecordsError, match="another process"):
        Records(path, fresh=True)
    Records(path).close()


def fill_up(path: Path) -> None:
    """In a process of its own, for which files may have 400 bytes: to it the disk is full there."""
    resource.setrlimit(resource.RLIMIT_FSIZE, (400, 400))
    full = r"cannot write to '.*': File too large; the 1 records before are kept"
    with Records(path) as records:
        records.append(KEY, FIGURES)
        size = path.stat().st_size
        with pytest.raises(RecordsError, match=full):
            records.append({"game": "go"}, {"long": "x" * 400})
        assert path.stat().st_size == size and records.find({"game": "go"}) is None
        records.append({"game": "hex"}, FIGURES)  # what fits is still taken


def test_a_full_disk_leaves_whole_records(tmp_path: Path) -> None:
    path = tmp_path / "some.jsonl"
    process = multiprocessing.get_context("spawn").Process(target=fill_up, args=(path,))
    process.start()
    process.join()
    assert process.exitcode == 0
    with Records(path) as records:
        assert len(records) == 2 and records.find({"game": "hex"}) == FIGURES


@pytest.mark.parametrize("interrupted, kept", [("fsync", 2), ("write", 1)])
def test_an_interrupt_leaves_whole_records(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, interrupted: str, kept: int
) -> None:
    path = tmp_path / "some.jsonl"

    def interrupt(file: int, *line: bytes) -> None:
        for part in line:
            write(file, part[:20])
        raise KeyboardInterrupt

    write = os.write
    with Records(path) as records:
        records.append(KEY, FIGURES)
        with monkeypatch.context() as patch, pytest.raises(KeyboardInterrupt):
            patch.setattr(os, interrupted, interrupt)
            records.append({"game": "go"}, FIGURES)
        assert len(records) == kept and path.read_bytes().count(b"\n") == kept
        records.append({"game": "hex"}, FIGURES)
    with Records(path) as records:
        assert len(records) == kept + 1


def test_a_folder_that_cannot_be_written_is_named(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(RecordsError, match=r"cannot write results to '.*file/some.jsonl'.* by out$"):
        Records(tmp_path / "file" / "some.jsonl")
