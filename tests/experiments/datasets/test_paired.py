from __future__ import annotations

import numpy as np
import pytest
from scipy import sparse

from experiments.datasets import checked, take
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


@pytest.mark.parametrize("rows", [[2, 0], np.array([2, 0])])
def test_take_keeps_rows_together(rows: object) -> None:
    part = take(toy(), rows)  # type: ignore[arg-type]
    assert part.names == ("c", "a")
    np.testing.assert_array_equal(part.target, [[4, 5], [0, 1]])
    np.testing.assert_array_equal(part.source.toarray(), np.eye(3)[[2, 0]])
    assert part.labels.tolist() == [0, 0]
    assert part.source_texts == ("sc", "sa")
    assert part.source_only.shape == (5, 3)


def test_take_by_mask() -> None:
    assert take(toy(), np.array([False, True, True])).names == ("b", "c")


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"source": np.ones((2, 3))}, "source has 2 rows and target has 3"),
        ({"names": ("a",)}, "names has 1 rows"),
        ({"source_only": np.ones((5, 4))}, "source_only has 4 columns and source has 3"),
        ({"labels": np.array([0, 2, 0])}, "labels go up to 2"),
        ({"tag_names": ("red",)}, "tags has 2 columns"),
    ],
)
def test_fields_that_do_not_fit_are_refused(changes: dict[str, object], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        checked(toy(**changes))
