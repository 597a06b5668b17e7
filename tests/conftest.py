"""Fixtures that more than one test file needs."""

from __future__ import annotations

from pathlib import Path

import pytest

SHARED_DATA = Path(__file__).resolve().parents[2] / "shared" / "data"


@pytest.fixture(scope="session")
def shared_data() -> Path:
    """Give the folder of real data sets that lies beside the repository, or skip."""
    if not SHARED_DATA.is_dir():
        pytest.skip("needs the real data sets in ../shared/data, which are not part of the repository")
    return SHARED_DATA
