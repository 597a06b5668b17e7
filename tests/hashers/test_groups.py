from __future__ import annotations

import numpy as np
import pytest

from thpi.hashers import _groups as module
from thpi.hashers._groups import group_coordinates
from thpi.solvers.diffusion_map import diffusion_map


def test_rows_are_diffusion_coordinates_of_length_1(groups):
    rows = groups[0]
    raw = diffusion_map(rows, n_neighbors=5, steps=4).coordinates
    expected = raw / np.linalg.norm(raw, axis=1, keepdims=True)
    np.testing.assert_allclose(group_coordinates(rows, seed=0), expected, atol=1e-12)


@pytest.mark.parametrize("limit", [4000, 200])
def test_groups_are_told_apart_on_the_whole_graph_and_on_that_of_a_sample(groups, monkeypatch, limit):
    monkeypatch.setattr(module, "GRAPH_ROWS", limit)
    rows, group = groups
    T = group_coordinates(rows, seed=1)
    agreement, same = T @ T.T, group[:, None] == group
    assert agreement[same & ~np.eye(300, dtype=bool)].mean() > agreement[~same].mean() + 0.7
    assert T.tobytes() == group_coordinates(rows, seed=1).tobytes()


def test_equal_rows_have_no_groups_and_no_nan():
    assert np.isfinite(group_coordinates(np.zeros((30, 3)), seed=0)).all()
    assert group_coordinates(np.zeros((1, 3)), seed=0).tolist() == [[0.0]]
