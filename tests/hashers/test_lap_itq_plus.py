from __future__ import annotations

import numpy as np
import pytest
from scipy import sparse
from scipy.sparse.csgraph import connected_components

from thpi import ITQ, ITQPlus, LapITQPlus
from thpi.codes import hamming_distances, unpack_signs
from thpi.datasets import load_digits_views
from thpi.evaluation import label_relevance, mean_average_precision
from thpi.rows import Blocks


def _planted(seed: int, n_rows: int = 1200):
    """Eight groups in a latent space that both domains see; the target has stronger directions that mean nothing.

    Without a source, the leading variance of the target is noise, so ITQ hashes noise. The source shows the groups
    clearly: a graph over it says which target rows belong together, and R has to find directions that keep them so.
    """
    rng = np.random.RandomState(seed)
    groups = rng.randint(8, size=n_rows)
    latent = rng.standard_normal((8, 6))[groups] + 0.25 * rng.standard_normal((n_rows, 6))
    turn = np.linalg.qr(rng.standard_normal((18, 18)))[0]
    target = np.hstack([latent, 2 * rng.standard_normal((n_rows, 12))]) @ turn
    source = latent @ rng.standard_normal((6, 20)) + 0.1 * rng.standard_normal((n_rows, 20))
    return target, source, groups


def _quality(hasher, X, groups, query, database):
    relevant = label_relevance(groups[query], groups[database])
    return float(
        mean_average_precision(hasher.transform(X[query]), hasher.transform(X[database]), relevant, hasher.n_bits)
    )


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize(("variant", "margin"), [("loss", 0.10), ("trace", 0.02)])
def test_a_planted_source_helps_by_a_stated_margin(seed, variant, margin):
    X, S, groups = _planted(seed)
    n = 80
    query, database = slice(n, n + 200), slice(n + 200, None)
    alone = ITQ(n_bits=8, random_state=0).fit(X[:n])
    lap = LapITQPlus(n_bits=8, lambda1=0.1, lambda2=0.3, variant=variant, random_state=0)
    lap.fit(X[:n], privileged=S[:n], source=S[database])
    no_source, with_source = (_quality(h, X, groups, query, database) for h in (alone, lap))
    # Chance is 1/8. The true loss avoids directions of large variance and gains most; the trace objective seeks them.
    assert no_source < 0.16
    assert with_source > no_source + margin


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(2))
def test_the_gain_comes_from_the_pairing(seed):
    """With the source rows shuffled the graph says nothing about the target, and most of the gain is gone."""
    X, S, groups = _planted(seed)
    n = 80
    query, database = slice(n, n + 200), slice(n + 200, None)
    shuffled = S[np.random.RandomState(seed).permutation(len(S))]
    paired, unrelated = (
        _quality(
            LapITQPlus(n_bits=8, lambda2=0.3, variant="loss", random_state=0).fit(
                X[:n], privileged=source[:n], source=source[database]
            ),
            X,
            groups,
            query,
            database,
        )
        for source in (S, shuffled)
    )
    assert paired > unrelated + 0.08


@pytest.fixture(scope="module")
def digits():
    data = load_digits_views(target="pix", source="fac")
    rows = np.random.RandomState(0).permutation(2000)
    target, source = data.target.astype(np.float64), data.source.astype(np.float64)
    return target[rows[:120]], source[rows[:120]], source[rows[120:900]]


@pytest.mark.parametrize("scope", ["paired", "all"])
def test_graph_is_symmetric_without_loops_over_the_paired_rows(scope, digits):
    X, S, S_U = digits
    hasher = LapITQPlus(n_bits=16, graph_scope=scope, n_neighbors=7, random_state=0).fit(X, privileged=S, source=S_U)
    graph = hasher.graph_.toarray()
    assert graph.shape == (120, 120)
    np.testing.assert_array_equal(graph, graph.T)
    assert (np.diag(graph) == 0).all()
    assert set(np.unique(graph)) == {0, 1}
    if scope == "paired":
        assert (graph.sum(axis=1) >= 7).all()


@pytest.mark.parametrize("variant", ["loss", "trace"])
def test_the_objective_is_that_of_its_weights_and_its_graph(variant, digits):
    X, S, S_U = digits
    hasher = LapITQPlus(6, lambda1=0.3, lambda2=0.7, variant=variant, scale=None, random_state=0, max_iter=20)
    hasher.fit(X, privileged=S, source=S_U)
    B = unpack_signs(hasher.codes_, 6).astype(float)
    XR, SP = hasher.decision_function(X), (S - hasher.source_mean_) @ hasher.slack_projection_
    W = hasher.graph_.toarray()
    value = 0.7 * np.sum(W * hamming_distances(hasher.codes_, hasher.codes_)) * 2  # tr(B'LB): 4 for each bit and edge
    value += np.sum((B - XR) ** 2) + 0.3 * np.sum((B - XR - SP) ** 2)
    if variant == "trace":
        value -= 1.3 * (np.sum(XR**2) + B.size) + 0.3 * np.sum(SP**2)
    assert hasher.objective_[-1] == pytest.approx(value, rel=1e-9)


def test_unpaired_source_rows_change_the_graph(digits):
    X, S, S_U = digits
    graphs = [
        LapITQPlus(n_bits=16, random_state=0).fit(X, privileged=S, source=source).graph_ for source in (None, S_U)
    ]
    assert (graphs[0] != graphs[1]).nnz > 0


def test_symmetrisations_are_ordered(digits):
    X, S, S_U = digits
    union, mutual, mean = (
        LapITQPlus(n_bits=16, graph_symmetrize=how, random_state=0).fit(X, privileged=S, source=S_U).graph_.toarray()
        for how in ("union", "mutual", "mean")
    )
    assert (mutual <= mean).all()
    assert (mean <= union).all()
    np.testing.assert_allclose(mean, (union + mutual) / 2)


def test_a_larger_weight_makes_neighbours_more_alike(digits):
    X, S, S_U = digits
    distances = []
    for lambda2 in (0, 0.1, 1):
        hasher = LapITQPlus(n_bits=16, lambda2=lambda2, random_state=0).fit(X, privileged=S, source=S_U)
        one, other = hasher.graph_.nonzero()
        distances.append(hamming_distances(hasher.codes_, hasher.codes_)[one, other].mean())
    assert distances[0] > distances[1] > distances[2]


def test_a_tiny_domain_gets_a_complete_graph(digits):
    X, S, _ = digits
    hasher = LapITQPlus(n_bits=2, n_neighbors=50, random_state=0).fit(X[:6], privileged=S[:6])
    assert hasher.graph_.nnz == 30
    assert connected_components(hasher.graph_)[0] == 1


@pytest.mark.slow
def test_many_pairs_start_from_a_sample_if_asked_to(monkeypatch):
    """A quarter of the iterations on all rows, and codes as good."""
    X, S, groups = _planted(0, n_rows=2_400)
    query, database = slice(0, 200), slice(200, None)
    quality = []
    monkeypatch.setattr("thpi.hashers._itq_plus._COARSE", 32)
    options = {"lambda1": 0.1, "lambda2": 0.3, "variant": "loss", "tol": 0, "max_iter": 16, "random_state": 0}
    for coarse in (False, True):
        hasher = LapITQPlus(8, coarse=coarse, **options).fit(X[database], privileged=S[database])
        quality.append(_quality(hasher, X, groups, query, database))
    assert hasher.n_iter_ <= 4
    assert hasher.graph_.shape == (2_200, 2_200)
    assert quality[1] > quality[0] - 0.05 > 0.2


def test_without_a_graph_term_there_is_no_sample(monkeypatch):
    monkeypatch.setattr("thpi.hashers._itq_plus._COARSE", 8)
    X, S, _ = _planted(0, n_rows=400)
    lap = LapITQPlus(8, lambda2=0, coarse=True, max_iter=8, random_state=0).fit(X, privileged=S)
    plain = ITQPlus(8, max_iter=8, random_state=0).fit(X, privileged=S)
    assert lap.projection_.tobytes() == plain.projection_.tobytes()


def _linear(seed: int):
    """The planted groups, the target a function of the source: what is imputed is what is missing."""
    _, S, groups = _planted(seed)
    noise = np.random.RandomState(seed).standard_normal((len(S), 12))
    source = np.hstack([S, noise])
    turn = np.linalg.qr(np.random.RandomState(9).standard_normal((32, 32)))[0]
    return source @ turn[:, :18], source, groups


@pytest.mark.slow
@pytest.mark.parametrize("cca", [False, True])
def test_imputed_rows_do_what_the_missing_ones_would(cca):
    X, S, groups = _linear(0)
    n, query, database = 60, slice(600, 800), slice(800, None)
    variant = {"variant": "reduce", "reduction": "cca", "ridge": 3.0} if cca else {"variant": "loss"}
    few, imputed, all_rows = (
        LapITQPlus(8, lambda2=0.1, random_state=0, **variant),
        LapITQPlus(8, lambda2=0.1, max_imputed=1000, random_state=0, **variant),
        LapITQPlus(8, lambda2=0.1, random_state=0, **variant),
    )
    for hasher, rows in ((few, n), (imputed, n), (all_rows, 600)):
        hasher.fit(X[:rows], privileged=S[:rows], source=S[rows:600])
    found = [_quality(hasher, X, groups, query, database) for hasher in (few, imputed, all_rows)]
    assert found[1] > found[0] + 0.02
    assert found[1] == pytest.approx(found[2], abs=0.04)
    assert imputed.codes_.shape == (n, 1)
    assert imputed.graph_.shape == (600, 600)
    assert imputed.slack_projection_.shape == (S.shape[1], 8)
    assert np.all(np.diff(imputed.objective_) <= 1e-9 * abs(imputed.objective_[0]))


def test_without_unpaired_rows_there_is_nothing_to_impute(digits):
    X, S, S_U = digits
    for source in (None, S_U[:0]):
        plain, asked = (
            LapITQPlus(16, max_imputed=most, random_state=0).fit(X, privileged=S, source=source) for most in (0, 100)
        )
        assert plain.projection_.tobytes() == asked.projection_.tobytes()
    with pytest.raises(ValueError, match="'max_imputed' parameter of LapITQPlus"):
        LapITQPlus(16, max_imputed=-1).fit(X, privileged=S)


def test_imputed_rows_from_blocks_and_sparse_targets(digits):
    X, S, S_U = digits
    plain = LapITQPlus(16, max_imputed=300, random_state=0).fit(X, privileged=S, source=S_U)
    blocks = LapITQPlus(16, max_imputed=300, random_state=0).fit(X, privileged=S, source=Blocks([S_U[:200], S_U[200:]]))
    thin = LapITQPlus(16, max_imputed=300, random_state=0).fit(sparse.csr_matrix(X), privileged=S, source=S_U)
    assert plain.graph_.shape == (420, 420)
    for other in (blocks, thin):
        # Rounding may turn a bit that is close to 0, and from there on the alternation goes another way.
        assert np.mean(hamming_distances(other.codes_, plain.codes_).diagonal()) < 1


def test_with_imputed_rows_neighbours_may_be_sought_among_all_source_rows(digits):
    X, S, S_U = digits
    for source in (S_U, Blocks([S_U[:300], S_U[300:]])):
        paired, among_all = (
            LapITQPlus(16, max_imputed=50, graph_scope=scope, random_state=0).fit(X, privileged=S, source=source)
            for scope in ("paired", "all")
        )
        assert paired.graph_.shape == among_all.graph_.shape == (170, 170)
        assert among_all.graph_.nnz < paired.graph_.nnz / 2  # most neighbours are rows that were not drawn


@pytest.mark.parametrize("variant", ["reduce", "trace"])
def test_float32_stays_with_imputed_rows(digits, variant):
    X, S, S_U = (rows.astype(np.float32) for rows in digits)
    for source in (S_U, Blocks([S_U.astype(np.float64)])):
        hasher = LapITQPlus(16, max_imputed=50, variant=variant, random_state=0).fit(X, privileged=S, source=source)
        for name in ("projection_", "slack_projection_", "source_mean_", "mean_"):
            assert getattr(hasher, name).dtype == np.float32, name


@pytest.mark.parametrize("most", [0, 50])
def test_sparse_pairs_with_a_source_in_blocks(digits, most):
    X, S, S_U = digits
    blocks = Blocks([S_U[:300], S_U[300:]])
    dense, thin = (
        LapITQPlus(16, max_imputed=most, random_state=0).fit(X, privileged=privileged, source=blocks)
        for privileged in (S, sparse.csr_matrix(S))
    )
    assert np.mean(hamming_distances(thin.codes_, dense.codes_).diagonal()) < 1
