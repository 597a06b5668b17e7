from __future__ import annotations

import zipfile
from pathlib import Path

import numpy as np

from experiments.datasets import load_openclipart, take


def test_facts(shared_data: Path) -> None:
    clipart = load_openclipart(data_home=shared_data)
    assert clipart.target.shape == (7804, 225)
    assert clipart.source.shape == (7804, 645)
    assert len(clipart.label_names) == 22
    assert [clipart.label_names[label] for label in clipart.labels] == [name.split("/")[0] for name in clipart.names]


def test_pictures_follow_their_rows(shared_data: Path) -> None:
    clipart = load_openclipart(data_home=shared_data)
    part = take(clipart, [7803, 42])
    with zipfile.ZipFile(shared_data / "openclipart" / "thumbnails.zip") as archive:
        expected = archive.read("00042.webp")
    assert expected[:4] == b"RIFF"
    assert clipart.show(42).picture == part.show(1).picture == expected
    assert len(clipart.pictures[:3]) == 3


def test_tags_are_named(shared_data: Path) -> None:
    clipart = load_openclipart(data_home=shared_data)
    with np.load(shared_data / "openclipart" / "openclipart_cm225_tags.npz") as archive:
        expected = tuple(archive["vocab"][archive["tags"][99] > 0])
    assert clipart.show(99).tags == expected
    assert clipart.source[[99]].sum() == len(expected)
