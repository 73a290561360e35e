"""Results of long measurements as JSON lines that are only ever appended to, so that a run can be resumed.

    with Records(Path("results/some.jsonl")) as records:
        if records.find(key) is None:
            records.append(key, figures)

A line is `{"treespan": version, "sources": digest, "key": {...}, "figures": {...}}`. A line is written as a whole or
not at all: a killed process leaves at most an unfinished last line, which the next `Records` cuts off, and a failed
write is taken back. One process writes at a time. Records of another version of treespan are refused.
"""

import fcntl
import json
import os
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import Any

import treespan
from treespan.core.errors import TreespanError, about, named, shown
from treespan.core.sources import source_digest

Key = Mapping[str, str | int]  # what was measured
Figures = dict[str, Any]  # the results, as JSON has them


class RecordsError(TreespanError):
    """A results file that cannot be read, written or continued."""


@cache
def sources() -> str:
    """Return a hash of the code that measures: it is more exact than the version."""
    return source_digest(Path(treespan.__file__).parent)[:12]


class Records:
    """A results file, opened for one run, with an index of its records."""

    def __init__(self, path: Path, fresh: bool = False):
        """Open or create the file. With `fresh` an old one is first renamed NAME.old.jsonl."""
        self.path = path
        self.older_sources = 0  # records measured by other sources of the same version
        self._index: dict[str, Figures] = {}
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            self._file = self._open()
            if fresh and os.fstat(self._file).st_size > 0:
                path.replace(path.with_suffix(".old.jsonl"))
                os.close(self._file)
                self._file = self._open()
        except OSError as error:
            which = f"'{shown(path)}'{about('out', path)}"
            raise RecordsError(
                f"cannot write results to {which}: {error.strerror}; give another folder by {named('out')}"
            ) from None
        try:
            self._read()
        except BaseException:
            self.close()
            raise

    def __enter__(self) -> "Records":
        return self

    def __exit__(self, *exception: object) -> None:
        self.close()

    def __len__(self) -> int:
        return len(self._index)

    def close(self) -> None:
        os.close(self._file)  # and with it goes the lock

    def find(self, key: Key) -> Figures | None:
        """Return the figures recorded for exactly this key; None if there are none."""
        return self._index.get(key_text(key))

    def append(self, key: Key, figures: Figures) -> None:
        """Write one record. If that fails, the file is as it was before."""
        record = {"treespan": treespan.__version__, "sources": sources(), "key": dict(key), "figures": figures}
        line = (json.dumps(record) + "\n").encode()
        end = os.fstat(self._file).st_size
        try:
            written = 0
            while written < len(line):  # a disk that fills up first takes a part of the line
                written += os.write(self._file, line[written:])
            os.fsync(self._file)
        except OSError as error:
            os.ftruncate(self._file, end)
            raise RecordsError(
                f"cannot write to '{self.path}': {error.strerror}; the {len(self)} records before are kept: make room "
                "and run the same command again"
            ) from None
        except KeyboardInterrupt:  # a line that is complete all the same may stay
            if os.fstat(self._file).st_size == end + len(line):
                self._index[key_text(key)] = figures
            else:
                os.ftruncate(self._file, end)
            raise
        self._index[key_text(key)] = figures

    def _open(self) -> int:
        file = os.open(self.path, os.O_RDWR | os.O_CREAT | os.O_APPEND, 0o644)
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            os.close(file)
            raise RecordsError(
                f"another process is writing to '{self.path}'; wait for it, or give another folder by {named('out')}"
            ) from None
        return file

    def _read(self) -> None:
        content = self.path.read_bytes()
        whole, newline, unfinished = content.rpartition(b"\n")
        for number, line in enumerate(whole.split(b"\n") if newline else [], start=1):
            self._take(line, number)
        if unfinished:
            os.ftruncate(self._file, len(content) - len(unfinished))

    def _take(self, line: bytes, number: int) -> None:
        key, figures, made_by = parse_record(line, number, self.path)
        self.older_sources += made_by != sources()
        self._index[key_text(key)] = figures


def read_records(path: Path) -> list[tuple[Key, Figures, bool]]:
    """Return key and figures of a file's records, and whether other sources made them; an empty list without a file.

    Another process may be writing to the file.
    """
    try:
        content = path.read_bytes()
    except FileNotFoundError:
        return []
    except OSError as error:
        raise RecordsError(f"cannot read '{path}': {error.strerror}") from None
    lines = content.split(b"\n")[:-1]  # anything after the last end of line is unfinished
    found = (parse_record(line, number, path) for number, line in enumerate(lines, start=1))
    return [(key, figures, made_by != sources()) for key, figures, made_by in found]


def parse_record(line: bytes, number: int, path: Path) -> tuple[Key, Figures, str | None]:
    """Return key, figures and sources of a line. Raises RecordsError if it is no record of this version."""
    remedy = f"{named('fresh')} sets the file aside and measures anew, or give another folder by {named('out')}"
    try:
        record = json.loads(line)
        version, key, figures = record["treespan"], record["key"], dict(record["figures"])
    except (ValueError, KeyError, TypeError):
        raise RecordsError(f"line {number} of '{path}' is not a record of treespan; {remedy}") from None
    if version != treespan.__version__:
        raise RecordsError(f"'{path}' is of treespan {version}, this is {treespan.__version__}; {remedy}")
    return key, figures, record.get("sources")


def key_text(key: Key) -> str:
    return json.dumps(dict(key), sort_keys=True)
