from __future__ import annotations

import faiss
import numpy as np
import pytest
from threadpoolctl import threadpool_limits

from thpi import ITQ, ModelFileError, ResidualQuantiser
from thpi.comparison._quantiser import _followed, _means, _near, _recall

rng = np.random.RandomState(0)
X = rng.standard_normal((500, 20)) * np.linspace(2, 0.3, 20) + 3 * rng.standard_normal((9, 20))[np.arange(500) % 9]
Q = X[:60] + 0.3 * rng.standard_normal((60, 20))
QUANTISER = ResidualQuantiser(5, n_components=12, n_neighbours=20, random_state=0).fit(X)
CODES = QUANTISER.transform(X)


def parts():
    """Coordinates, decoded coordinates and offsets, by the formulas."""
    Z = (X - QUANTISER.mean_) @ QUANTISER.axes_
    decoded = sum(QUANTISER.centroids_[m][CODES[:, m]].astype(float) for m in range(4))
    offsets = ((X - X.mean(axis=0)) ** 2).sum(axis=1) - 2 * (Z * QUANTISER.slopes_ * (Z - decoded)).sum(axis=1)
    return Z, decoded, offsets


def test_axes_are_principal():
    np.testing.assert_allclose(QUANTISER.mean_, X.mean(axis=0))
    covariance = np.cov((X - X.mean(axis=0)) @ QUANTISER.axes_, rowvar=False)
    np.testing.assert_allclose(covariance, np.diag(np.diag(covariance)), atol=1e-8)


def test_slopes_are_those_of_the_neighbours_by_brute_force():
    Z = np.float32((X - QUANTISER.mean_) @ QUANTISER.axes_).astype(float)
    distances = ((Z[:, None] - Z) ** 2).sum(axis=2)
    np.fill_diagonal(distances, np.inf)
    means = Z[np.argsort(distances, axis=1)[:, :20]].mean(axis=1)
    np.testing.assert_allclose(QUANTISER.slopes_, (Z * means).sum(axis=0) / (Z**2).sum(axis=0), rtol=1e-4)


def test_offsets_are_the_levels_nearest_to_those_of_the_formula():
    _, _, offsets = parts()
    levels = QUANTISER.offset_levels_
    said = levels[CODES[:, -1]]
    np.testing.assert_allclose(np.abs(said - offsets), np.abs(levels[:, None] - offsets).min(axis=0), atol=1e-9)
    # The best groups are at least as good as steps of equal length.
    steps = offsets.min() + (np.arange(256) + 0.5) * np.ptp(offsets) / 256
    assert ((said - offsets) ** 2).sum() <= (np.abs(steps[:, None] - offsets).min(axis=0) ** 2).sum()


def test_the_estimate_is_exact_for_the_expected_query():
    """The query with coordinates s * x, and nothing outside the axes, has the distance that the offset makes right."""
    Z, decoded, offsets = parts()
    q = Z * QUANTISER.slopes_
    outside = ((X - QUANTISER.mean_) ** 2).sum(axis=1) - (Z**2).sum(axis=1)
    true = ((q - Z) ** 2).sum(axis=1) + outside
    np.testing.assert_allclose((q**2).sum(axis=1) + offsets - 2 * (q * decoded).sum(axis=1), true)


def test_distances_are_those_of_the_formula():
    _, decoded, _ = parts()
    said = QUANTISER.offset_levels_[CODES[:, -1]]
    q = Q - QUANTISER.mean_
    expected = (q**2).sum(axis=1)[:, None] + said - 2 * (q @ QUANTISER.axes_) @ decoded.T
    np.testing.assert_allclose(QUANTISER.distances(Q, CODES), expected)


def test_faiss_finds_the_same_rows(tmp_path):
    path = str(tmp_path / "index.faiss")
    faiss.write_index(QUANTISER.index(CODES), path)
    found = faiss.read_index(path).search(Q.astype("float32"), 10)[1]
    distances = QUANTISER.distances(Q, CODES)
    chosen = np.take_along_axis(distances, found, axis=1)
    best = np.sort(distances, axis=1)[:, :10]
    np.testing.assert_allclose(chosen, best, rtol=1e-4, atol=1e-3 * distances.std())


# Few dimensions and very different lengths: centroids leave little, and 256 levels are too coarse for the offsets.
UNLIKE = rng.standard_normal((2000, 6)) * np.exp(rng.standard_normal((2000, 1)))


def test_offsets_of_rows_of_different_lengths_are_not_rounded(tmp_path):
    quantiser = ResidualQuantiser(10, n_neighbours=20, random_state=0).fit(UNLIKE)
    assert quantiser.centroids_.shape == (6, 256, 6)
    codes = quantiser.transform(UNLIKE)
    Z = (UNLIKE - quantiser.mean_) @ quantiser.axes_
    decoded = sum(quantiser.centroids_[m][codes[:, m]].astype(float) for m in range(6))
    offsets = ((UNLIKE - quantiser.mean_) ** 2).sum(axis=1) - 2 * (Z * quantiser.slopes_ * (Z - decoded)).sum(axis=1)
    np.testing.assert_allclose(codes[:, 6:].copy().view("<f4")[:, 0], offsets, rtol=1e-7)  # half a digit of float32
    queries = UNLIKE[:60] + 0.1
    distances = quantiser.distances(queries, codes)
    found = quantiser.index(codes).search(queries.astype("float32"), 10)[1]
    chosen = np.take_along_axis(distances, found, axis=1)
    np.testing.assert_allclose(chosen, np.sort(distances, axis=1)[:, :10], rtol=1e-4, atol=1e-3 * np.median(distances))
    quantiser.save(tmp_path / "q.thpi")
    np.testing.assert_array_equal(ResidualQuantiser.load(tmp_path / "q.thpi").transform(UNLIKE), codes)


# Clusters of few dimensions: centroids say nearly all, so that another one is worth more than an offset.
TIGHT = 5 * rng.standard_normal((40, 8))[np.arange(2000) % 40] + rng.standard_normal((2000, 8))


def test_a_short_code_may_have_a_centroid_in_place_of_the_offset(tmp_path):
    quantiser = ResidualQuantiser(3, n_neighbours=20, random_state=0).fit(TIGHT)
    assert quantiser.centroids_.shape == (3, 256, 8)
    codes = quantiser.transform(TIGHT)
    decoded = sum(quantiser.centroids_[m][codes[:, m]].astype(float) for m in range(3))
    queries = TIGHT[:60] + 0.1
    distances = quantiser.distances(queries, codes)
    coordinates = (queries - quantiser.mean_) @ quantiser.axes_
    np.testing.assert_allclose(distances, ((coordinates[:, None] - decoded) ** 2).sum(axis=2), rtol=1e-6)
    faiss.write_index(quantiser.index(codes), str(tmp_path / "index.faiss"))
    found = faiss.read_index(str(tmp_path / "index.faiss")).search(queries.astype("float32"), 10)[1]
    chosen = np.take_along_axis(distances, found, axis=1)
    np.testing.assert_allclose(chosen, np.sort(distances, axis=1)[:, :10], rtol=1e-4, atol=1e-3 * np.median(distances))
    quantiser.save(tmp_path / "q.thpi")
    np.testing.assert_array_equal(ResidualQuantiser.load(tmp_path / "q.thpi").transform(TIGHT), codes)
    quantiser.centroids_ = quantiser.centroids_[:1]
    quantiser.save(tmp_path / "short.thpi")
    with pytest.raises(ModelFileError, match="it has 1 centroids a row for 3 bytes"):
        ResidualQuantiser.load(tmp_path / "short.thpi")


def test_the_best_sums_are_followed_by_brute_force():
    left = np.float32(rng.standard_normal((40, 3, 6)))
    codes = np.uint8(rng.randint(0, 256, (40, 3, 2)))
    centroids = np.float32(rng.standard_normal((256, 6)))
    after, codes_after = _followed(left, codes, centroids, 4)
    every = left[:, :, None] - centroids
    squares = (every.astype(float) ** 2).sum(axis=3).reshape(40, -1)
    best = np.argsort(squares, axis=1, kind="stable")[:, :4]
    np.testing.assert_allclose(after, np.take_along_axis(every.reshape(40, -1, 6), best[:, :, None], axis=1), atol=1e-5)
    np.testing.assert_array_equal(codes_after[:, :, -1], best % 256)
    np.testing.assert_array_equal(codes_after[:, :, :-1], np.take_along_axis(codes, best[:, :, None] // 256, axis=1))


def test_centroids_from_short_rows_fit_other_rows_better_than_from_rows_as_they_are():
    draws = np.random.RandomState(2)
    rows, others = np.float32(draws.standard_normal((2, 3000, 64)) * np.exp(0.3 * draws.standard_normal((2, 3000, 1))))
    usual = faiss.Kmeans(64, 256, niter=5, seed=1, min_points_per_centroid=1)
    usual.train(rows)
    short, long = (
        ((others**2).sum(axis=1)[:, None] - 2 * others @ centroids.T + (centroids**2).sum(axis=1)).min(axis=1).mean()
        for centroids in (_means(rows, np.random.RandomState(0)), usual.centroids)
    )
    assert short < 0.99 * long


def test_the_number_of_threads_changes_nothing():
    rows = np.float32(np.random.RandomState(1).standard_normal((5000, 64)))
    codes = []
    for n in (1, 2):
        with threadpool_limits(n):
            codes.append(ResidualQuantiser(3, random_state=0).fit(rows).transform(rows))
    np.testing.assert_array_equal(*codes)


def test_the_recall_of_the_choice_is_that_of_brute_force():
    distances = ((X[:, None] - X) ** 2).sum(axis=2)
    np.fill_diagonal(distances, np.inf)
    Z = X - X.mean(axis=0)
    rounded = Z.round()
    estimates = ((Z[:, None] - rounded) ** 2).sum(axis=2)
    np.fill_diagonal(estimates, np.inf)
    near, found = (np.argsort(values, axis=1)[:, :10] for values in (distances, estimates))
    expected = np.mean([len(set(a) & set(b)) / 10 for a, b in zip(near, found, strict=True)])
    assert _recall(_near(X, 500, 10), Z, rounded, (rounded**2).sum(axis=1)) == pytest.approx(expected)


def test_rows_of_like_lengths_have_rounded_offsets():
    rows = rng.standard_normal((2000, 64))
    assert len(ResidualQuantiser(10, n_neighbours=20, random_state=0).fit(rows).offset_levels_) == 256


def test_it_finds_more_of_the_nearest_than_signs_of_as_many_bytes():
    def recall(distances: np.ndarray) -> float:
        near, found = (np.argsort(d, axis=1)[:, :10] for d in (((Q[:, None] - X) ** 2).sum(axis=2), distances))
        return float(np.mean([len(set(a) & set(b)) / 10 for a, b in zip(near, found, strict=True)]))

    itq = ITQ(20, random_state=0).fit(X)
    signs = np.sign(itq.decision_function(X))
    assert recall(QUANTISER.distances(Q, CODES)) > recall(-itq.decision_function(Q) @ signs.T) + 0.1


def test_a_saved_quantiser_gives_the_same_codes(tmp_path):
    QUANTISER.save(tmp_path / "q.thpi")
    again = ResidualQuantiser.load(tmp_path / "q.thpi")
    assert again.get_params() == QUANTISER.get_params()
    for name in ("mean_", "axes_", "slopes_", "centroids_", "offset_levels_"):
        np.testing.assert_array_equal(getattr(again, name), getattr(QUANTISER, name), strict=True)
    np.testing.assert_array_equal(again.transform(X), CODES)
    # Equal numbers elsewhere in memory: BLAS may add them up in another order.
    np.testing.assert_allclose(again.distances(Q, CODES), QUANTISER.distances(Q, CODES), rtol=1e-12)


def test_other_and_damaged_files(tmp_path):
    ITQ(4, random_state=0).fit(X).save(tmp_path / "itq.thpi")
    with pytest.raises(ModelFileError, match="it holds a 'ITQ'; this thpi knows ResidualQuantiser"):
        ResidualQuantiser.load(tmp_path / "itq.thpi")
    QUANTISER.save(tmp_path / "q.thpi")
    data = bytearray((tmp_path / "q.thpi").read_bytes())
    data[-1] ^= 1
    (tmp_path / "q.thpi").write_bytes(data)
    with pytest.raises(ModelFileError):
        ResidualQuantiser.load(tmp_path / "q.thpi")
    broken = ResidualQuantiser(5, n_components=12, random_state=0)
    broken.__dict__.update({**vars(QUANTISER), "slopes_": QUANTISER.slopes_[:5]})
    broken.save(tmp_path / "short.thpi")
    with pytest.raises(ModelFileError, match="its array slopes_ does not have shape"):
        ResidualQuantiser.load(tmp_path / "short.thpi")


def test_equal_rows_have_equal_offsets():
    same = np.repeat(X[:1], 300, axis=0)
    codes = ResidualQuantiser(2, random_state=0).fit(same).transform(same)
    assert len(np.unique(codes, axis=0)) == 1


def test_errors_name_the_argument():
    with pytest.raises(ValueError, match="X has 100 rows; 256 centroids need at least as many"):
        ResidualQuantiser(4).fit(X[:100])
    with pytest.raises(ValueError, match="'n_bytes' parameter"):
        ResidualQuantiser(1).fit(X)
    with pytest.raises(ValueError, match="X has 3 features, but ResidualQuantiser is expecting 20 features"):
        QUANTISER.transform(X[:, :3])
    with pytest.raises(ValueError, match="codes has 2 bytes per row; n_bytes=5"):
        QUANTISER.distances(Q, CODES[:, :2])
