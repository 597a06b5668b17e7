from __future__ import annotations

import gzip
import re
import zipfile
from pathlib import Path

import pytest

import experiments.datasets
import thpi.datasets
from experiments.datasets import DATASETS, PaperRole, info, list_datasets, load, verify


@pytest.mark.parametrize("name", list_datasets())
def test_entries_are_complete(name: str) -> None:
    entry = info(name)
    for field in ("title", "home_page", "licence", "citation", "target", "source"):
        assert getattr(entry, field)
    assert entry.home_page.startswith("http")
    assert all(re.fullmatch("[0-9a-f]{64}", sha256) for sha256 in entry.files.values())
    home = thpi.datasets if entry.folder is None else experiments.datasets
    assert getattr(home, entry.loader.__name__) is entry.loader
    assert [len(pipeline.steps) > 0 for pipeline in entry.pipelines()] == [True, True]


def test_the_experiments_find_their_data_sets_in_the_registry() -> None:
    in_paper = [(name, entry.paper.name, entry.paper.kind) for name, entry in DATASETS.items() if entry.paper]
    assert in_paper == [
        ("bbc", "BBC", "rebuild"),
        ("reuters", "Reuters", "sample"),
        ("ddtp", "Reuters", "stand-in"),
        ("nuswide", "NUS-WIDE", "sample"),
        ("openclipart", "NUS-WIDE", "stand-in"),
        ("mediamill", "NUS-WIDE", "stand-in"),
    ]
    assert [name for name, entry in DATASETS.items() if entry.paper and entry.paper.comparable] == ["bbc"]
    uses = {name: entry.transfer.use for name, entry in DATASETS.items() if entry.transfer}
    assert [name for name, use in uses.items() if use == "development"] == ["digits", "bbc", "wikipedia", "openclipart"]
    assert [name for name, use in uses.items() if use == "confirmation"] == ["reuters", "ddtp", "nuswide", "mediamill"]
    assert [name for name, use in uses.items() if use == "further"] == ["stamps", "openclipart-mobilenet"]


@pytest.mark.slow
@pytest.mark.parametrize("name", list_datasets())
def test_labelled_says_whether_there_are_classes(name: str, shared_data: Path) -> None:
    if info(name).folder is not None and "missing" in verify(name, shared_data).values():
        pytest.skip(f"needs the files of {name}")
    assert (load(name, shared_data).labels is not None) == info(name).labelled


def test_the_role_in_the_paper_is_one_of_four() -> None:
    with pytest.raises(ValueError, match="kind='same' must be one of original, rebuild, sample, stand-in"):
        PaperRole("BBC", "same")  # type: ignore[arg-type]
    assert [PaperRole("A", kind).comparable for kind in ("original", "rebuild", "sample", "stand-in")] == [
        True, True, False, False,
    ]  # fmt: skip


@pytest.mark.parametrize("name", list_datasets())
def test_a_licence_is_called_checked_if_the_files_state_it(name: str, shared_data: Path) -> None:
    entry = info(name)
    stated = _texts_about(entry.folder_in(shared_data))
    if entry.licence_checked:
        for part in (entry.licence, re.split(r"doi:|, ", entry.citation)[-1]):
            assert part.lower() in stated.lower()
        assert entry.describe_licence() == f"{entry.licence} (stated with the files)"
    else:
        assert not re.search("licen[cs]e|copyright|creative commons|public domain", stated, re.IGNORECASE)
        assert entry.describe_licence().endswith("(unchecked: not stated in the files)")


def _texts_about(folder: Path) -> str:
    """Files beside the data that are texts, comments at their beginning, and the notes in archives."""
    texts = [path.read_text("utf-8") for path in folder.glob("*.txt")]
    texts += [path.name for path in folder.iterdir() if "LICENSE" not in path.name]
    for path in folder.glob("*.mtx"):
        texts += [line for line in path.read_text("utf-8").splitlines()[:20] if line.startswith("%")]
    for path in folder.glob("*.mat"):
        texts.append(path.read_bytes()[:116].decode("latin-1"))
    for path in folder.glob("*.gz"):
        with gzip.open(path, "rt", encoding="utf-8") as file:
            texts.append(file.readline())
    for path in [*folder.glob("*.npz"), *folder.glob("*.zip")]:
        with zipfile.ZipFile(path) as archive:
            texts += [archive.comment.decode("latin-1"), *archive.namelist()]
    return "\n".join(texts)
