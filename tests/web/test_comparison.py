from __future__ import annotations

import numpy as np
import pytest
from fastapi.testclient import TestClient
from scipy.spatial.distance import cdist
from sklearn.metrics import average_precision_score

from thpi.datasets import SHOP_ROLES, load_shop
from thpi.web import Catalogue, create_app

pytestmark = pytest.mark.slow


def test_two_methods_are_served_and_four_measured(compared: Catalogue) -> None:
    assert compared.methods == ["ITQ", "AutoHasher"]
    assert compared.bits == [32]
    assert compared.engine(None, None).method == "AutoHasher"
    lines = {(row["method"], row["order"]) for row in compared.truth.quality}
    assert len(lines) == len(compared.truth.quality) == 8


def test_the_rows_have_the_roles_of_the_file(compared: Catalogue) -> None:
    shop = load_shop()
    np.testing.assert_array_equal(compared.gallery, np.arange(shop.n)[SHOP_ROLES["queries"]])
    assert compared.items.names[: shop.n // 2] == shop.names[: shop.n // 2]
    assert (compared.comparison.pairs, compared.comparison.further, compared.comparison.queries) == (200, 600, 200)


def test_the_float_features_are_measured_by_euclidean_distance(compared: Catalogue) -> None:
    """Against scikit-learn."""
    shop = load_shop()
    query, database = slice(800, 1000), slice(0, 800)
    distances = cdist(shop.target[query], shop.target[database])
    same = shop.labels[query][:, None] == shop.labels[database]
    expected = np.mean([average_precision_score(s, -d) for s, d in zip(same, distances, strict=True)])
    told = [row["class"] for row in compared.truth.quality if row["method"] == "float features"]
    assert told == pytest.approx([expected] * 2, abs=2e-4)


def test_the_tags_help_and_the_learner_alone_does_not(compared: Catalogue) -> None:
    told = {row["method"]: row["class"] for row in compared.truth.quality if row["order"] == "asymmetric"}
    assert told["AutoHasher"] > told["ITQ"] + 0.05
    assert abs(told["AutoHasher alone"] - told["ITQ"]) < 0.03


def test_the_typical_picture_is_that_nearest_to_the_means(compared: Catalogue) -> None:
    """Against brute force, through requests."""
    client, query = TestClient(create_app(compared), base_url="http://localhost"), compared.gallery
    vectors, labels = compared.items.target[query].tolist(), compared.items.labels
    hits = []
    for method in ("ITQ", "AutoHasher"):
        answer = client.post("/search", json={"vectors": vectors, "method": method, "k": 25}).json()
        found = [[neighbour["id"] for neighbour in result["neighbours"]] for result in answer["results"]]
        others = [[i for i in ids if i != item][:24] for ids, item in zip(found, query, strict=True)]
        hits.append([sum(labels[ids] == labels[item]) for ids, item in zip(others, query, strict=True)])
    without, helped = np.array(hits)
    off = (without - without.mean()) ** 2 + (helped - helped.mean()) ** 2
    assert off[query.tolist().index(compared.comparison.typical)] == off.min()
    assert compared.comparison.mean_without == pytest.approx(without.mean(), abs=0.006)
    assert compared.comparison.mean_helped == pytest.approx(helped.mean(), abs=0.006)
    assert compared.comparison.better == (helped > without).sum()
    assert compared.comparison.worse == (helped < without).sum()


def test_the_page_is_the_one_of_the_catalogue(compared: Catalogue, shop: Catalogue) -> None:
    client = TestClient(create_app(compared), base_url="http://localhost")
    assert "compare.js" in client.get("/").text
    assert client.get("/about").json()["comparison"]["source_name"] == "tags"
    assert client.get("/static/compare.css").headers["content-type"].startswith("text/css")
    other = TestClient(create_app(shop), base_url="http://localhost")
    assert "page.js" in other.get("/").text
    assert other.get("/about").json()["comparison"] is None
