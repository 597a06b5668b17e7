from __future__ import annotations

from pathlib import Path

import numpy as np

from experiments.datasets import info, load_openclipart, load_openclipart_mobilenet


def test_the_drawings_are_those_of_openclipart(shared_data: Path) -> None:
    seen, colours = load_openclipart_mobilenet(data_home=shared_data), load_openclipart(data_home=shared_data)
    assert seen.name == "openclipart-mobilenet"
    assert seen.target.shape == (7804, 1280)
    assert 0 <= seen.target.min() < seen.target.max() <= 6  # the range of the network's last layer
    assert seen.names == colours.names
    assert seen.show(42).picture == colours.show(42).picture
    np.testing.assert_array_equal(seen.labels, colours.labels)
    assert abs(seen.source - colours.source).sum() == 0


def test_copies_of_a_drawing_have_the_same_features(shared_data: Path) -> None:
    """Row by row the features belong to the thumbnails: a drawing that is filed twice has them twice."""
    seen = load_openclipart_mobilenet(data_home=shared_data)
    first, second = seen.names.index("animals/2_dead_frogs_lumen_desig_01"), 1
    assert seen.names[second] == "animals/amphibian/2_dead_frogs_lumen_desig_01"
    assert seen.show(first).picture == seen.show(second).picture
    np.testing.assert_array_equal(seen.target[first], seen.target[second])


def test_its_files_are_those_of_openclipart_and_one_more() -> None:
    assert info("openclipart-mobilenet").files.keys() == info("openclipart").files.keys() | {"mobilenet.npz"}
