from __future__ import annotations

import numpy as np
import pytest

from thpi.hashers._class_itq import class_indicators

LABELS = np.array(["b", "a", "b", "c", "b", "a"])
TAGS = np.array([[1, 0, 1, 0], [1, 1, 0, 0], [0, 1, 0, 0], [1, 1, 0, 0]])  # nobody has the last


@pytest.mark.parametrize("equal_classes", [False, True])
@pytest.mark.parametrize("labels", [LABELS, TAGS])
def test_a_column_is_1_for_the_members_of_a_class_over_the_root_of_their_number_and_centred(labels, equal_classes):
    if labels.ndim == 1:
        members = [np.flatnonzero(labels == name) for name in "abc"]
    else:
        members = [np.flatnonzero(column) for column in labels.T]
    found = class_indicators(labels, equal_classes=equal_classes)
    assert found.shape == (len(labels), len(members))
    for column, rows in zip(found.T, members, strict=True):
        expected = np.zeros(len(labels))
        expected[rows] = 1 / np.sqrt(len(rows)) if equal_classes and len(rows) else 1
        np.testing.assert_allclose(column, expected - expected.mean())
