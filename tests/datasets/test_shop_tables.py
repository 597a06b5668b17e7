from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import thpi
from thpi.datasets import SHOP_ROLES, SHOP_TABLES, load_shop, write_shop_tables


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("drawings")
    write_shop_tables(folder)
    return folder


@pytest.mark.slow
def test_the_tables_are_the_bundled_shop(folder: Path) -> None:
    shop = load_shop()
    pictures, tags, later, new, categories = (pd.read_csv(folder / name, index_col="id") for name in SHOP_TABLES)
    assert [len(table) for table in (pictures, tags, later, new, categories)] == [200, 800, 600, 200, 1000]
    rows = pd.concat([pictures, later, new])
    np.testing.assert_allclose(rows.to_numpy() * 6 / 255, shop.target, atol=1e-12)
    assert rows.index.tolist() == categories.index.tolist()
    assert categories["category"].tolist() == [shop.label_names[label] for label in shop.labels]
    assert [name.split("-")[0] for name in categories.index] == [c.split("_")[0] for c in categories["category"]]
    assert set(tags.index) == set(pictures.index) | set(later.index)
    assert tags.index.tolist() != [*pictures.index, *later.index], "in another order: they are joined by id"
    for row in (0, 500, 999):
        thumbnail = folder / "thumbnails" / f"{rows.index[row]}.webp"
        assert thumbnail.read_bytes() == shop.pictures[row]


def test_tags_near_each_other_are_of_one_category_more_often_than_pictures(folder: Path) -> None:
    tags = pd.read_csv(folder / "tags.csv", index_col="id")
    S, kinds = tags.to_numpy(), np.array([name.split("-")[0] for name in tags.index])
    near = np.argsort(-(S @ S.T) / np.outer(*2 * [np.linalg.norm(S, axis=1)]), axis=1)[:, 1:6]
    assert (kinds[near] == kinds[:, None]).mean() > 0.6  # an eighth is chance


def test_pairs_by_id_are_the_pairs_of_the_shop(folder: Path) -> None:
    pictures, tags = (pd.read_csv(folder / name) for name in SHOP_TABLES[:2])
    both = thpi.pair(pictures, tags)
    assert len(both.X) == SHOP_ROLES["pairs"].stop
    assert len(both.views["source"]) == 600


@pytest.mark.slow
def test_writing_again_gives_the_same_bytes(folder: Path, tmp_path: Path) -> None:
    for path in write_shop_tables(tmp_path):
        if path.is_file():
            assert path.read_bytes() == (folder / path.name).read_bytes()
