from __future__ import annotations

import hashlib
from pathlib import Path

import numpy as np
import pytest

import thpi.datasets
from experiments.datasets import info, load_openclipart_mobilenet
from thpi.datasets import SHOP_ROLES, PairedDataset, load_shop
from tools.make_shop import make

BUNDLED = Path(str(thpi.datasets.__file__)).parent / "_bundled"


@pytest.fixture(scope="module")
def shop() -> PairedDataset:
    return load_shop()


def test_facts(shop: PairedDataset) -> None:
    assert shop.target.shape == (1000, 1280)
    assert shop.source.shape == (1000, len(shop.tag_names))
    assert np.bincount(shop.labels).tolist() == [125] * 8
    assert [shop.label_names[label] for label in shop.labels] == [name.split("/")[0] for name in shop.names]
    assert all(shop.show(i).tags for i in range(shop.n))
    assert (shop.source.sum(axis=0) > 0).all()


def test_the_roles_are_all_rows_once(shop: PairedDataset) -> None:
    rows = [np.arange(shop.n)[role] for role in SHOP_ROLES.values()]
    assert [len(part) for part in rows] == [200, 600, 200]
    np.testing.assert_array_equal(np.concatenate(rows), np.arange(1000))
    # In random order: no role lacks a category.
    assert all(len(np.unique(shop.labels[part])) == 8 for part in rows)


def test_no_picture_is_there_twice(shop: PairedDataset) -> None:
    assert len(set(shop.pictures)) == len(set(shop.names)) == 1000


def test_pictures_are_files_that_the_page_shows(shop: PairedDataset) -> None:
    assert {(picture[:4], picture[8:12]) for picture in shop.pictures} == {(b"RIFF", b"WEBP")}


@pytest.mark.slow
def test_rows_are_those_of_the_library(shop: PairedDataset, shared_data: Path) -> None:
    clipart = load_openclipart_mobilenet(data_home=shared_data)
    place = {name: row for row, name in enumerate(clipart.names)}
    rows = np.array([place[name] for name in shop.names])
    np.testing.assert_allclose(shop.target, clipart.target[rows], rtol=0, atol=0.5001 * 6 / 255)
    for i in range(0, shop.n, 50):
        assert shop.show(i).tags == clipart.show(rows[i]).tags
        assert shop.show(i).picture == clipart.show(rows[i]).picture


@pytest.mark.slow
def test_the_bundled_file_can_be_made_again(shared_data: Path, tmp_path: Path) -> None:
    for name in ("one.npz", "two.npz"):
        make(shared_data, tmp_path / name)
    assert (tmp_path / "one.npz").read_bytes() == (tmp_path / "two.npz").read_bytes()
    with np.load(tmp_path / "one.npz") as again, np.load(BUNDLED / "shop.npz") as kept:
        assert again.files == kept.files
        for key in kept.files:
            np.testing.assert_array_equal(again[key], kept[key])


def test_checksum_size_and_licence() -> None:
    digest = hashlib.sha256((BUNDLED / "shop.npz").read_bytes()).hexdigest()
    assert digest == info("shop").files["shop.npz"]
    assert (BUNDLED / "shop.npz").stat().st_size < 3 * 2**20
    assert "public domain" in (BUNDLED / "SHOP_LICENSE.txt").read_text()
