from __future__ import annotations

import numpy as np
import pytest
from scipy import sparse

from thpi import ITQ
from thpi.evaluation import label_relevance, mean_average_precision
from thpi.hashers import ClassITQ


@pytest.fixture(scope="module")
def rows():
    rng = np.random.RandomState(0)
    y = rng.randint(4, size=500)
    means = rng.standard_normal((4, 30))
    # The classes lie in quiet directions, the noise in loud ones.
    loud = 6 * rng.standard_normal((500, 5)) @ rng.standard_normal((5, 30))
    X = means[y] + loud + 0.5 * rng.standard_normal((500, 30))
    S = np.eye(4)[y] + 0.3 * rng.standard_normal((500, 4))
    return X, y, S


def _map(hasher, X, y):
    return mean_average_precision(
        hasher.transform(X[400:]), hasher.transform(X[:400]), label_relevance(y[400:], y[:400]), 16
    ).value


def test_classes_teach_the_metric(rows):
    X, y, _ = rows
    assert _map(ClassITQ(16, random_state=0).fit(X[:100], y[:100]), X, y) > _map(ITQ(16).fit(X[:100]), X, y) + 0.2


def test_tags_of_one_class_each_are_the_same_as_classes(rows):
    X, y, S = rows
    tags = np.eye(4)[y[:100]]
    arguments = {"privileged": S[:100], "source": S[100:]}
    one = ClassITQ(16, random_state=0).fit(X[:100], y[:100], **arguments)
    for other in (tags, sparse.csr_array(tags)):
        again = ClassITQ(16, random_state=0).fit(X[:100], other, **arguments)
        np.testing.assert_allclose(again.projection_, one.projection_, atol=1e-9)


def test_without_labels_and_source_it_is_itq(rows):
    X = rows[0]
    plain = ITQ(16, tol=0, random_state=1).fit(X)
    np.testing.assert_array_equal(ClassITQ(16, random_state=1, tol=0).fit(X).transform(X), plain.transform(X))


def test_wrong_labels_are_named_and_leave_nothing_behind(rows):
    X, y, _ = rows
    hasher = ClassITQ(16)
    with pytest.raises(ValueError, match="y has shape \\(3,\\)"):
        hasher.fit(X, y[:3])
    assert set(vars(hasher)) == set(hasher.get_params())
    with pytest.raises(ValueError, match="source needs privileged"):
        hasher.fit(X, y, source=X)
