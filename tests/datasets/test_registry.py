from __future__ import annotations

import re
from importlib import import_module

import pytest

import thpi.datasets
from thpi.datasets import info, list_datasets


@pytest.mark.parametrize("name", list_datasets())
def test_entries_are_complete(name: str) -> None:
    entry = info(name)
    for field in ("title", "home_page", "licence", "citation", "target", "source"):
        assert getattr(entry, field)
    assert entry.home_page.startswith("http")
    assert all(re.fullmatch("[0-9a-f]{64}", file.sha256) for file in entry.files)
    module, function = entry.loader.split(":")
    assert getattr(import_module(module), function) is getattr(thpi.datasets, function)
