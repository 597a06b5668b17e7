from __future__ import annotations

import json
import warnings
from pathlib import Path

import numpy as np
import pytest

from experiments.harness.store import ResultStore, StoreWarning, config_key

CONFIG = {"dataset": "toy", "bits": 8, "alpha": 0.5}
ARRAYS = {"codes": np.arange(40, dtype=np.uint8).reshape(20, 2), "seconds": np.array(0.25)}


def test_what_is_written_is_read_back(tmp_path: Path) -> None:
    store = ResultStore(tmp_path)
    assert store.read_arrays("fits", CONFIG) is None
    assert store.read_values("measures", CONFIG) is None
    store.write_arrays("fits", CONFIG, ARRAYS)
    store.write_values("measures", CONFIG, {"map": 1 / 3, "none": None})
    found = store.read_arrays("fits", CONFIG)
    assert found is not None
    for name, array in ARRAYS.items():
        np.testing.assert_array_equal(found[name], array)
    assert store.read_values("measures", CONFIG) == {"map": 1 / 3, "none": None}
    assert store.read_arrays("fits", {**CONFIG, "bits": 16}) is None


def test_the_key_hangs_on_values_not_on_their_order() -> None:
    assert config_key(CONFIG) == config_key(dict(reversed(CONFIG.items())))
    assert len({config_key({**CONFIG, "alpha": alpha}) for alpha in (0.1, 0.3, 0.5)}) == 3


def test_a_truncated_or_altered_file_is_noticed_or_reads_the_same(tmp_path: Path) -> None:
    store = ResultStore(tmp_path)
    store.write_arrays("fits", CONFIG, ARRAYS)
    store.write_values("fits", CONFIG, {"map": 0.5, "name": "ITQ"})
    for path, read in (
        (store.path("fits", CONFIG, "npz"), store.read_arrays),
        (store.path("fits", CONFIG, "json"), store.read_values),
    ):
        good, expected = path.read_bytes(), read("fits", CONFIG)
        assert expected is not None
        noticed = 0
        step = max(1, len(good) // 150)
        damaged = [good[:cut] for cut in range(0, len(good), 5 * step)]
        damaged += [good[:i] + bytes([good[i] ^ 0xFF]) + good[i + 1 :] for i in range(0, len(good), step)]
        for data in damaged:
            path.write_bytes(data)
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", StoreWarning)
                found = read("fits", CONFIG)
            if found is None:
                noticed += 1
            else:  # a byte that carries nothing, as a date in the zip directory
                assert set(found) == set(expected)
                for name in expected:
                    np.testing.assert_array_equal(found[name], expected[name])
        assert noticed > 0.6 * len(damaged)


def test_the_notice_names_the_file(tmp_path: Path) -> None:
    store = ResultStore(tmp_path)
    store.write_arrays("fits", CONFIG, ARRAYS)
    path = store.path("fits", CONFIG, "npz")
    path.write_bytes(path.read_bytes()[:100])
    with pytest.warns(StoreWarning, match=path.name):
        assert store.read_arrays("fits", CONFIG) is None


def test_a_file_of_another_configuration_is_not_taken(tmp_path: Path) -> None:
    store = ResultStore(tmp_path)
    other = {**CONFIG, "bits": 16}
    store.write_arrays("fits", CONFIG, ARRAYS)
    store.path("fits", CONFIG, "npz").rename(store.path("fits", other, "npz"))
    with pytest.warns(StoreWarning, match="another configuration"):
        assert store.read_arrays("fits", other) is None
    store.write_values("measures", CONFIG, [1])
    path = store.path("measures", CONFIG, "json")
    content = json.loads(path.read_text())
    path.write_text(json.dumps({**content, "values": [2]}))
    with pytest.warns(StoreWarning, match="checksum"):
        assert store.read_values("measures", CONFIG) is None
