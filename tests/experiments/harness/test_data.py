from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from experiments.datasets import DataAlteredError, DataNotFoundError, UnknownDatasetError
from experiments.harness.data import (
    DataSpec,
    data_identity,
    evaluation_views,
    load_rows,
    refit_target,
    training_views,
)
from experiments.harness.store import ResultStore
from thpi.datasets import load_digits_views
from thpi.evaluation import split_rows


def test_a_sample_is_always_the_same_and_keeps_rows_paired() -> None:
    whole, sample = load_digits_views(), load_rows(DataSpec("digits", 300))
    assert sample.n == 300
    rows = [whole.names.index(name) for name in sample.names]
    np.testing.assert_array_equal(sample.target, whole.target[rows])
    np.testing.assert_array_equal(sample.source, whole.source[rows])
    load_rows.cache_clear()
    assert load_rows(DataSpec("digits", 300)).names == sample.names


def test_identity_tells_samples_and_options_apart() -> None:
    specs = [DataSpec("digits"), DataSpec("digits", 300), DataSpec("digits", options=(("source", "fou"),))]
    identities = [data_identity(spec) for spec in specs]
    assert identities[0] != identities[1] != identities[2] != identities[0]
    assert identities[0]["files"]["digits.npz"]


def test_missing_altered_and_unknown_data_raise_before_anything_runs(tmp_path: Path) -> None:
    with pytest.raises(DataNotFoundError, match="Get it from"):
        data_identity(DataSpec("wikipedia"), tmp_path)
    (tmp_path / "wiki").mkdir()
    (tmp_path / "wiki" / "wiki.npz").write_bytes(b"not it")
    with pytest.raises(DataAlteredError, match="sha256"):
        data_identity(DataSpec("wikipedia"), tmp_path)
    with pytest.raises(UnknownDatasetError, match="'bcc' is not a data set"):
        data_identity(DataSpec("bcc"))


def test_training_views_do_not_look_at_queries_and_refit_uses_the_rest(tmp_path: Path) -> None:
    data = load_rows(DataSpec("digits", 300))
    split = split_rows(data.n, 0.3, 0)
    views = training_views(data, split)
    np.testing.assert_allclose(views.target[split.train].mean(axis=0), 0, atol=1e-9)
    known = np.setdiff1d(np.arange(data.n), split.query)
    np.testing.assert_allclose(refit_target(data, split, views).target[known].mean(axis=0), 0, atol=1e-9)
    assert abs(views.target[known].mean(axis=0)).max() > 1e-3


def test_views_of_all_rows_come_back_from_disk_unchanged(tmp_path: Path) -> None:
    spec, store = DataSpec("digits", 300), ResultStore(tmp_path)
    data, identity = load_rows(spec), data_identity(spec)
    first = evaluation_views(data, spec.pipelines(), identity, store)
    again = evaluation_views(data, spec.pipelines(), identity, store)
    np.testing.assert_array_equal(first.target, again.target)
    np.testing.assert_array_equal(first.source, again.source)
    assert len(list(tmp_path.glob("views/*.npz"))) == 1
