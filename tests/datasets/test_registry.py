from __future__ import annotations

import re
from pathlib import Path

import pytest

import thpi.datasets
from thpi.datasets import DATASETS, info, list_datasets, load, verify


@pytest.mark.parametrize("name", list_datasets())
def test_entries_are_complete(name: str) -> None:
    entry = info(name)
    for field in ("title", "home_page", "licence", "citation", "target", "source"):
        assert getattr(entry, field)
    assert entry.home_page.startswith("http")
    assert all(re.fullmatch("[0-9a-f]{64}", sha256) for sha256 in entry.files.values())
    assert getattr(thpi.datasets, entry.loader.__name__) is entry.loader
    assert [len(pipeline.steps) > 0 for pipeline in entry.pipelines()] == [True, True]


def test_the_experiments_find_their_data_sets_in_the_registry() -> None:
    in_paper = [(name, entry.paper.name, entry.paper.same) for name, entry in DATASETS.items() if entry.paper]
    assert in_paper == [
        ("bbc", "BBC", True),
        ("reuters", "Reuters", True),
        ("ddtp", "Reuters", False),
        ("nuswide", "NUS-WIDE", True),
        ("openclipart", "NUS-WIDE", False),
        ("mediamill", "NUS-WIDE", False),
    ]
    uses = {name: entry.transfer.use for name, entry in DATASETS.items() if entry.transfer}
    assert [name for name, use in uses.items() if use == "development"] == ["digits", "bbc", "wikipedia", "openclipart"]
    assert [name for name, use in uses.items() if use == "confirmation"] == ["reuters", "ddtp", "nuswide", "mediamill"]


@pytest.mark.parametrize("name", list_datasets())
def test_labelled_says_whether_there_are_classes(name: str, shared_data: Path) -> None:
    if info(name).folder is not None and "missing" in verify(name, shared_data).values():
        pytest.skip(f"needs the files of {name}")
    assert (load(name, shared_data).labels is not None) == info(name).labelled
