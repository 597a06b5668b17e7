from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from scipy import sparse
from sklearn.decomposition import PCA
from sklearn.feature_extraction.text import TfidfTransformer
from sklearn.preprocessing import Normalizer

from experiments.datasets import UnknownDatasetError, info, list_datasets, load_bbc, take
from experiments.datasets.preprocessing import (
    fit_transform_views,
    lda_topics,
    pca_energy,
    standardised,
    tf_pca,
    tfidf_pca,
    unchanged,
)
from thpi.datasets import PairedDataset, load_digits_views


def counts(n: int, d: int, seed: int) -> sparse.csr_array:
    dense = np.random.RandomState(seed).poisson(0.7, (n, d)).astype(float)
    dense[:, 0] += 1  # no empty row
    return sparse.csr_array(dense)


@pytest.fixture
def texts() -> PairedDataset:
    return PairedDataset(
        "texts",
        counts(60, 30, 0),
        counts(60, 40, 1),
        tuple(map(str, range(60))),
        source_only=counts(15, 40, 2),
    )


TRAIN, QUERY, OTHER = np.arange(0, 20), np.arange(20, 30), np.arange(30, 60)


def disturbed(matrix: sparse.csr_array, rows: np.ndarray) -> sparse.csr_array:
    dense = matrix.toarray()
    dense[rows] = dense[rows][:, ::-1] * 3 + 1
    return sparse.csr_array(dense)


def test_tfidf_pca_equals_scikit_learn_step_by_step(texts: PairedDataset) -> None:
    found = tfidf_pca(0.6).fit_transform(texts.target)
    weights = TfidfTransformer().fit_transform(texts.target).toarray()
    expected = PCA(0.6, svd_solver="full").fit_transform(weights)
    np.testing.assert_allclose(np.abs(found), np.abs(expected), atol=1e-8)


def test_tf_pca_is_rows_of_length_1_and_pca_without_idf(texts: PairedDataset) -> None:
    found = tf_pca(0.6).fit_transform(texts.target)
    unit = Normalizer().fit_transform(texts.target).toarray()
    expected = PCA(0.6, svd_solver="full").fit_transform(unit)
    np.testing.assert_allclose(np.abs(found), np.abs(expected), atol=1e-8)
    assert not np.allclose(np.abs(found[:, 0]), np.abs(tfidf_pca(0.6).fit_transform(texts.target)[:, 0]))


def test_train_never_looks_at_the_target_of_other_rows(texts: PairedDataset) -> None:
    others = np.concatenate([QUERY, OTHER])
    changed = replace(texts, target=disturbed(texts.target, others))
    a, b = (fit_transform_views(data, tfidf_pca(), tfidf_pca(), TRAIN, query_rows=QUERY) for data in (texts, changed))
    np.testing.assert_array_equal(a.target[TRAIN], b.target[TRAIN])
    assert not np.allclose(a.target[others], b.target[others])


def test_train_never_looks_at_the_source_of_queries(texts: PairedDataset) -> None:
    changed = replace(texts, source=disturbed(texts.source, QUERY))
    a, b = (fit_transform_views(data, tfidf_pca(), tfidf_pca(), TRAIN, query_rows=QUERY) for data in (texts, changed))
    rest = np.concatenate([TRAIN, OTHER])
    np.testing.assert_array_equal(a.source[rest], b.source[rest])
    np.testing.assert_array_equal(a.source_only, b.source_only)


@pytest.mark.parametrize("what", ["source", "source_only"])
def test_train_uses_source_rows_without_target(texts: PairedDataset, what: str) -> None:
    rows = OTHER if what == "source" else np.arange(15)
    changed = replace(texts, **{what: disturbed(getattr(texts, what), rows)})
    a, b = (
        fit_transform_views(data, standardised_dense(), standardised_dense(), TRAIN, query_rows=QUERY)
        for data in (texts, changed)
    )
    assert not np.allclose(a.source[TRAIN], b.source[TRAIN])


def standardised_dense() -> object:
    from sklearn.pipeline import Pipeline
    from sklearn.preprocessing import StandardScaler

    return Pipeline([("scale", StandardScaler(with_mean=False))])


def test_all_looks_at_every_paired_row(texts: PairedDataset) -> None:
    views = fit_transform_views(texts, tfidf_pca(), tfidf_pca(), TRAIN, "all")
    np.testing.assert_array_equal(views.target, tfidf_pca().fit(texts.target).transform(texts.target))
    fitted = tfidf_pca().fit(texts.source)
    np.testing.assert_allclose(views.source, fitted.transform(texts.source), atol=1e-10)
    np.testing.assert_allclose(views.source_only, fitted.transform(texts.source_only), atol=1e-10)


def test_given_pipelines_stay_unfitted_and_masks_are_rows() -> None:
    digits = take(load_digits_views(), np.arange(0, 2000, 20))
    pipeline = pca_energy()
    rows = fit_transform_views(digits, pipeline, standardised(), range(50), query_rows=range(50, 60))
    mask, query = np.arange(100) < 50, (np.arange(100) >= 50) & (np.arange(100) < 60)
    masked = fit_transform_views(digits, pipeline, standardised(), mask, query_rows=query)
    assert not hasattr(pipeline[-1], "components_")
    np.testing.assert_array_equal(rows.target, masked.target)
    assert rows.source_only is None
    np.testing.assert_allclose(rows.source[np.r_[0:50, 60:100]].mean(axis=0), 0, atol=1e-12)


def test_sparse_rows_come_out_dense(texts: PairedDataset) -> None:
    views = fit_transform_views(texts, unchanged(), lda_topics(5), TRAIN, "all")
    np.testing.assert_array_equal(views.target, texts.target.toarray())
    np.testing.assert_allclose(views.source.sum(axis=1), 1)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"fit_on": "test"}, "fit_on='test' must be 'train' or 'all'"),
        ({"query_rows": None}, "query_rows must be given"),
        ({"query_rows": [3]}, "no row in common"),
        ({"query_rows": [60]}, "query_rows must hold row numbers from 0 to 59"),
        ({"query_rows": np.ones(3, dtype=bool)}, "query_rows is a mask of shape"),
    ],
)
def test_arguments_that_make_no_sense(texts: PairedDataset, arguments: dict[str, object], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        fit_transform_views(
            texts,
            tfidf_pca(),
            tfidf_pca(),
            TRAIN,
            **{"query_rows": QUERY, **arguments},  # type: ignore[arg-type]
        )


def test_every_data_set_has_its_pipelines() -> None:
    assert all(len(info(name).pipelines()) == 2 for name in list_datasets())
    assert [list(pipeline.named_steps) for pipeline in info("nuswide").pipelines()] == [["unchanged"], ["lda"]]
    with pytest.raises(UnknownDatasetError, match="known: digits"):
        info("mnist")


@pytest.mark.slow
def test_bbc_keeps_the_energy_with_the_fewest_components(shared_data: Path) -> None:
    bbc = load_bbc(data_home=shared_data)
    pipeline, _ = info("bbc").pipelines()
    scores = pipeline.fit_transform(bbc.target)
    weights = TfidfTransformer().fit_transform(bbc.target)
    total = weights.multiply(weights).sum() - bbc.n * (np.asarray(weights.mean(axis=0)) ** 2).sum()
    shares = np.cumsum((scores**2).sum(axis=0)) / total
    assert shares[-2] < 0.6 <= shares[-1]
    # The paper has 411 and 412 dimensions on its edition of the data; this one gives nearly as many.
    assert scores.shape[1] == 409
