"""A fitted model, and small collections of its codes."""

from __future__ import annotations

import numpy as np
import pytest

import thpi
from thpi.collection import Collection, Details, write

IDS = [f"A-{number}" for number in range(30)]


@pytest.fixture(scope="session")
def rows():
    return np.random.RandomState(0).standard_normal((60, 12))


@pytest.fixture(scope="session")
def hasher(rows):
    return thpi.ITQ(12, random_state=0).fit(rows)


@pytest.fixture
def path(tmp_path, hasher, rows):
    """Thirty items with texts as ids; two have something to show."""
    file = tmp_path / "shop.thpi"
    details = {"A-3": Details("a red cap"), "A-4": Details(None, b"\x89PNG picture")}
    write(file, hasher, hasher.transform(rows[:30]), IDS, about={"title": "shop"}, details=details)
    return file


@pytest.fixture
def shop(path):
    with Collection(path) as opened:
        yield opened
