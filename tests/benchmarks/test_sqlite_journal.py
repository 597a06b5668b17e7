from __future__ import annotations

import sys
from pathlib import Path

import pytest

from benchmarks.sqlite_journal import WAYS, copied, flips, kills, speeds


def test_every_way_keeps_what_it_is_given(tmp_path: Path) -> None:
    """The table has a line for each measure; that nothing is lost on the way is asserted in it."""
    table = speeds(tmp_path, 2000, repeats=2)
    assert [len(row) for row in table] == [1 + len(WAYS)] * 7


def test_the_own_file_shows_every_flipped_bit_and_is_whole_when_copied(tmp_path: Path) -> None:
    assert flips(tmp_path, "own", 40, seed=0).endswith(" 0 wrong")
    assert copied(tmp_path, "own") == "0 of 100 lost"


@pytest.mark.slow
@pytest.mark.skipif(sys.platform == "win32", reason="forks")
@pytest.mark.parametrize("way", WAYS)
def test_no_way_loses_what_it_has_acknowledged(tmp_path: Path, way: str) -> None:
    assert kills(tmp_path, way, 3, seed=0).startswith("0 of ")
