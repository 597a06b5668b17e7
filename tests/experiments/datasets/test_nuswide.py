from __future__ import annotations

import csv
import gzip
from pathlib import Path

import numpy as np
import pytest

from experiments.datasets import load_nuswide


def test_sample_facts(shared_data: Path) -> None:
    nuswide = load_nuswide(data_home=shared_data)
    assert nuswide.target.shape == (599, 225)
    assert nuswide.source.shape == (599, 1000)
    assert nuswide.source_only.shape == (1301, 1000)
    assert set(nuswide.labels) == {0, 1}


def test_sample_is_joined_on_the_id(shared_data: Path) -> None:
    def rows(name: str) -> dict[str, list[str]]:
        with gzip.open(shared_data / "nuswide" / name, "rt") as stream:
            return {row[0]: row[1:] for row in list(csv.reader(stream))[1:]}

    guest, host = rows("nus_wide_train_guest_600.csv.gz"), rows("nus_wide_train_host.csv.gz")
    nuswide = load_nuswide(data_home=shared_data)
    for row in (0, 300, 598):
        name = nuswide.names[row]
        np.testing.assert_array_equal(nuswide.target[row], np.array(guest[name][64:289], dtype=float))
        np.testing.assert_array_equal(nuswide.source[[row]].toarray()[0], np.array(host[name], dtype=float))
        assert nuswide.labels[row] == int(guest[name][-1])


@pytest.mark.slow
def test_all_features_contain_the_color_moments(shared_data: Path) -> None:
    everything = load_nuswide("all", data_home=shared_data)
    assert everything.target.shape[1] == 634
    np.testing.assert_array_equal(everything.target[:, 64:289], load_nuswide(data_home=shared_data).target)


SIZES = {"CH": 64, "CM55": 225, "CORR": 144, "EDH": 73, "WT": 128}


@pytest.fixture
def collection(tmp_path: Path) -> tuple[Path, dict[str, np.ndarray]]:
    """Files in the layout of the public distribution: 4 training and 3 test pictures, 2 of the concepts."""
    rng = np.random.RandomState(0)
    folder = tmp_path / "nuswide"
    for sub in ("Low_Level_Features", "NUS_WID_Tags", "ConceptsList", "Groundtruth/TrainTestLabels"):
        (folder / sub).mkdir(parents=True)
    truth: dict[str, np.ndarray] = {}
    for part, n in (("Train", 4), ("Test", 3)):
        for kind, size in SIZES.items():
            values = truth[f"{part}{kind}"] = rng.rand(n, size).round(6)
            lines = (" ".join(f"{value:.6f}" for value in row) + " \n" for row in values)
            (folder / "Low_Level_Features" / f"{part}_Normalized_{kind}.dat").write_text("".join(lines))
        tags = truth[f"{part}tags"] = (rng.rand(n, 1000) < 0.01).astype(int)
        lines = ("\t".join(map(str, row)) + "\t\n" for row in tags)
        (folder / "NUS_WID_Tags" / f"{part}_Tags1k.dat").write_text("".join(lines))
        for concept in ("animal", "sky"):
            labels = truth[f"{part}{concept}"] = rng.randint(0, 2, n)
            path = folder / "Groundtruth" / "TrainTestLabels" / f"Labels_{concept}_{part}.txt"
            path.write_text("".join(f"{label}\n" for label in labels))
    (folder / "NUS_WID_Tags" / "TagList1k.txt").write_text("".join(f"tag{j}\n" for j in range(1000)))
    (folder / "ConceptsList" / "Concepts81.txt").write_text("animal\nsky\n")
    return tmp_path, truth


def test_collection_format(collection: tuple[Path, dict[str, np.ndarray]]) -> None:
    home, truth = collection
    nuswide = load_nuswide(data_home=home)
    np.testing.assert_array_equal(nuswide.target, np.vstack([truth["TrainCM55"], truth["TestCM55"]]))
    tags = np.vstack([truth["Traintags"], truth["Testtags"]])
    np.testing.assert_array_equal(nuswide.source.toarray(), tags)
    sky = np.concatenate([truth["Trainsky"], truth["Testsky"]])
    np.testing.assert_array_equal(nuswide.tags[:, 1], sky)
    assert nuswide.labels is None
    item = nuswide.show(5)
    assert item.name == "Test-1"
    assert item.source_text.split() == [f"tag{j}" for j in np.flatnonzero(tags[5])]
    assert ("sky" in item.tags) == sky[5]


def test_collection_all_features_of_one_part(collection: tuple[Path, dict[str, np.ndarray]]) -> None:
    home, truth = collection
    nuswide = load_nuswide("all", parts=("Test",), max_rows=2, data_home=home)
    np.testing.assert_array_equal(nuswide.target, np.hstack([truth[f"Test{kind}"][:2] for kind in SIZES]))
    np.testing.assert_array_equal(nuswide.source.toarray(), truth["Testtags"][:2])


def test_unknown_part(shared_data: Path) -> None:
    with pytest.raises(ValueError, match=r"parts=\('Dev',\)"):
        load_nuswide(parts=("Dev",), data_home=shared_data)
