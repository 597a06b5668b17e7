from __future__ import annotations

import numpy as np
import pytest
from scipy import sparse

from thpi.datasets import PairedDataset


def toy(**changes: object) -> PairedDataset:
    fields: dict[str, object] = {
        "name": "toy",
        "target": np.arange(6.0).reshape(3, 2),
        "source": sparse.csr_array(np.eye(3)),
        "names": ("a", "b", "c"),
        "labels": np.array([0, 1, 0]),
        "label_names": ("even", "odd"),
        "source_only": sparse.csr_array(np.ones((5, 3))),
        "tags": np.array([[1, 0], [0, 0], [1, 1]], dtype=np.uint8),
        "tag_names": ("red", "round"),
        "pictures": np.zeros((3, 4, 4), dtype=np.uint8),
        "target_texts": ("ta", "tb", "tc"),
        "source_texts": ("sa", "sb", "sc"),
    }
    return PairedDataset(**{**fields, **changes})  # type: ignore[arg-type]


def test_show_gathers_one_row() -> None:
    item = toy().show(2)
    assert (item.name, item.label, item.tags) == ("c", "even", ("red", "round"))
    assert (item.target_text, item.source_text) == ("tc", "sc")
    assert toy().show(1).tags == ()
    assert toy(tags=sparse.csr_array(np.array([[0, 1.0]] * 3))).show(1).tags == ("round",)


def test_show_refuses_rows_that_do_not_exist() -> None:
    with pytest.raises(IndexError, match="i=3"):
        toy().show(3)
    with pytest.raises(IndexError, match="i=-1"):
        toy().show(-1)
