"""What is kept if documents stay in old codes: against plain recalls, and in cases whose answer is known."""

from __future__ import annotations

import numpy as np
import pytest

import thpi
from experiments.migration import migrate
from thpi.index import asymmetric_distances


@pytest.fixture(scope="module")
def turned() -> tuple[np.ndarray, np.ndarray]:
    """The new model is a rotation of the old one: nothing is lost by a map."""
    rng = np.random.RandomState(0)
    old = rng.standard_normal((600, 24)) * np.linspace(2, 0.5, 24)
    return old, old @ np.linalg.qr(rng.standard_normal((24, 24)))[0]


def test_a_rotation_keeps_everything(turned):
    found = migrate(*turned, n_bits=24, n_listed=50)
    float_new, codes_new, float_old, codes_old = found.ways
    assert float_new.of_new.value == 1.0
    assert float_old.of_new.value > 0.99
    assert float_old.of_old.value > 0.99
    assert codes_old.of_new.value == pytest.approx(codes_new.of_new.value, abs=0.05)
    assert found.kept.value == pytest.approx(codes_old.of_new.value / codes_new.of_new.value)
    assert found.kept.low <= found.kept.value <= found.kept.high


def test_unrelated_models_are_to_be_re_embedded(turned):
    rng = np.random.RandomState(1)
    found = migrate(turned[0], rng.standard_normal((600, 24)), n_bits=24, n_listed=50)
    assert not found.worth_it
    assert found.kept.value < 0.4
    assert str(found).endswith("95 % were wished: re-embed.")


def test_recalls_are_those_of_a_plain_search(turned):
    old, new = turned
    found = migrate(old, new, n_bits=16, n_near=5, n_listed=20, n_queries=100, random_state=3)
    order = np.random.RandomState(3).permutation(600)
    asked, items = order[:100], np.sort(order[100:])
    hasher = thpi.TwoSidedITQ(16, random_state=3).fit(new[items], privileged=old[items])
    distances = asymmetric_distances(hasher.decision_function(new[asked]), hasher.transform_source(old[items]))
    shares = []
    for row, query in zip(distances, new[asked], strict=True):
        near = np.argsort(((new[items] - query) ** 2).sum(axis=1))[:5]
        shares.append(len(set(np.argsort(row, kind="stable")[:20]) & set(near)) / 5)
    assert found.ways[3].of_new.value == pytest.approx(np.mean(shares))
    assert (found.n_queries, found.n_items) == (100, 500)


def test_more_bits_than_dimensions(turned):
    found = migrate(*turned, n_bits=64, n_listed=50)
    assert [way.bytes_per_item for way in found.ways] == [96, 8, 96, 8]
    assert found.worth_it
    assert str(found).endswith("keep them.")


def test_the_same_seed_gives_the_same_answer(turned):
    first, second = (migrate(*turned, n_bits=16, n_listed=50) for _ in range(2))
    assert first.ways == second.ways
    assert first.kept == second.kept
    assert first.hasher.fingerprint_ == second.hasher.fingerprint_


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"least": 0.0}, "least=0.0 must be above 0 and at most 1"),
        ({"n_near": 60}, "n_near=60 must be between 1 and n_listed=50"),
        ({"n_listed": 580}, "600 rows; at least 630 are needed"),
        ({"n_queries": 590}, "n_queries=590 must be between 1 and 550"),
        ({"new": np.zeros((3, 2))}, "old has 600 rows and new 3"),
        ({"new": np.full((600, 2), np.nan)}, "of finite numbers"),
    ],
)
def test_what_is_refused(turned, change, message):
    arguments = {"old": turned[0], "new": turned[1], "n_bits": 16, "n_listed": 50} | change
    with pytest.raises(ValueError, match=message):
        migrate(**arguments)
