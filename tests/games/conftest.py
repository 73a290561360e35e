"""What tests of games get as fixtures."""

from collections.abc import Iterator

import pytest

from tests.support.go_games import GnuGo
from treespan.core.programs import find_program


@pytest.fixture
def gnugo() -> Iterator[GnuGo]:
    """Only for tests that are marked with `programs("gnugo")`: they are skipped where it is missing."""
    program = find_program("gnugo")
    assert program is not None
    judge = GnuGo(program)
    try:
        yield judge
    finally:
        judge.close()
