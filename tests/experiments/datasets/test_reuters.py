from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from scipy.io import loadmat

from experiments.datasets import DataNotFoundError, load_reuters


def test_sample_facts(shared_data: Path) -> None:
    reuters = load_reuters(data_home=shared_data)
    assert (reuters.target.shape, reuters.source.shape) == ((600, 24_893), (600, 21_531))
    assert np.bincount(reuters.labels).tolist() == [100] * 6


@pytest.mark.parametrize("language", ["EN", "FR", "GR", "IT", "SP"])
def test_sample_holds_every_triple(shared_data: Path, language: str) -> None:
    triples = loadmat(shared_data / "reuters" / "reuters_600.mat")[f"EN_{language}_sample"]
    target = load_reuters(target=language, data_home=shared_data).target
    assert target.nnz == len(triples)
    for row, column, value in triples[:: len(triples) // 7]:
        assert target[int(row) - 1, int(column) - 1] == value


def write_collection(home: Path, french_folder: str = "FR") -> None:
    folder = home / "reuters"
    (folder / "EN").mkdir(parents=True)
    (folder / french_folder).mkdir(exist_ok=True)
    (folder / "EN" / "Index_EN-EN").write_text("M11 1:-4.267123 3:1.233134 21531:0.5 \nC15 2:2.0 \nM11 1:-1.0 \n")
    (folder / french_folder / "Index_EN-FR").write_text("M11 1:-3.5 24893:1.25 \nC15 7:1.5 \nM11 \n")


@pytest.mark.parametrize("french_folder", ["FR", "EN"])
def test_collection_format(tmp_path: Path, french_folder: str) -> None:
    write_collection(tmp_path, french_folder)
    reuters = load_reuters(data_home=tmp_path)
    assert reuters.label_names == ("C15", "M11")
    assert reuters.labels.tolist() == [1, 0, 1]
    assert reuters.source.shape == (3, 21_531)
    assert [reuters.source[0, j] for j in (0, 1, 2, 21_530)] == [-4.267123, 0, 1.233134, 0.5]
    assert reuters.target.shape == (3, 24_893)
    assert [reuters.target[0, j] for j in (0, 24_892)] == [-3.5, 1.25]
    assert reuters.target[1, 6] == 1.5
    assert reuters.target[[2]].nnz == 0


def test_collection_with_categories_that_disagree(tmp_path: Path) -> None:
    write_collection(tmp_path)
    (tmp_path / "reuters" / "FR" / "Index_EN-FR").write_text("C15 1:1\nC15 7:1.5\nM11 1:1\n")
    with pytest.raises(ValueError, match="same categories"):
        load_reuters(data_home=tmp_path)


@pytest.mark.parametrize("index", [0, 24_894])
def test_collection_with_an_index_out_of_range(tmp_path: Path, index: int) -> None:
    write_collection(tmp_path)
    (tmp_path / "reuters" / "FR" / "Index_EN-FR").write_text(f"M11 {index}:1\n")
    with pytest.raises(ValueError, match="allowed: 1 to 24893"):
        load_reuters(data_home=tmp_path)


def test_form_can_be_asked_for(shared_data: Path, tmp_path: Path) -> None:
    write_collection(tmp_path)
    with pytest.raises(DataNotFoundError, match=r"reuters_600\.mat"):
        load_reuters(form="sample", data_home=tmp_path)
    with pytest.raises(DataNotFoundError, match="FR/Index_EN-FR or EN/Index_EN-FR"):
        load_reuters(form="collection", data_home=shared_data)
