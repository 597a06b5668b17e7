from __future__ import annotations

import json
from dataclasses import replace
from functools import cache

import faiss
import numpy as np
import pytest

import thpi
from thpi.codes import hamming_distances
from thpi.comparison import METHODS, Comparison, Cut, Result, compare
from thpi.comparison._methods import Training
from thpi.evaluation import Measured
from thpi.index import asymmetric_distances

rng = np.random.RandomState(0)
X = np.float32(
    rng.standard_normal((420, 24)) * np.linspace(2, 0.3, 24) + rng.standard_normal((7, 24))[np.arange(420) % 7]
)
SWIFT = [name for name in METHODS if name != "AutoHasher"]


@cache
def comparison() -> Comparison:
    return compare(X, recall=0.8, n_bytes=[3, 16], methods=SWIFT, n_queries=60)


def results(name: str) -> dict[int, Result]:
    return {result.n_bytes: result for result in comparison().results if result.name == name}


def split() -> tuple[np.ndarray, np.ndarray]:
    order = np.random.RandomState(0).permutation(len(X))
    return X[order[:60]], X[order[60:]]


def recall_of(distances: np.ndarray, k: int = 10) -> float:
    """Recall at k by sorting, of any distances to the rows of the database."""
    queries, database = split()
    true = ((queries[:, None].astype(float) - database) ** 2).sum(axis=2)
    near, found = (np.argsort(d, axis=1, kind="stable")[:, :k] for d in (true, distances))
    return float(np.mean([len(set(a) & set(b)) / k for a, b in zip(near, found, strict=True)]))


def at_ten(result: Result) -> float:
    return result.recalls[Cut(10, 10)].value


@pytest.mark.slow
def test_vectors_lose_nothing():
    assert at_ten(results("float")[96]) == 1.0


def test_signs_of_dimensions_are_those_of_the_definition():
    queries, database = split()
    codes = [np.packbits(rows >= 0, axis=1, bitorder="little") for rows in (queries, database)]
    by_name = {"Hamming": hamming_distances(*codes), "asymmetric": asymmetric_distances(queries, codes[1])}
    for order, distances in by_name.items():
        assert at_ten(results(f"sign, {order}")[3]) == pytest.approx(recall_of(distances))


def test_itq_is_that_of_the_library():
    queries, database = split()
    itq = thpi.ITQ(24, random_state=0).fit(database)
    distances = hamming_distances(itq.transform(queries), itq.transform(database))
    assert at_ten(results("ITQ, Hamming")[3]) == pytest.approx(recall_of(distances))


@pytest.mark.parametrize("name", ["PQ", "OPQ", "SQ 4", "SQ 8"])
def test_quantisers_estimate_distances_by_what_their_codes_say(name):
    """Product and scalar quantisation: distance of the query to the decoded row."""
    queries, database = split()
    coded = METHODS[name](Training(database, database, 0), 3)
    found = coded.searches["asymmetric"](queries, 10)
    recalls = results(f"{name}, asymmetric")[3]
    index = coded.searches["asymmetric"].args[0]
    decoded = index.reconstruct_n(0, index.ntotal)  # all rows share what the axes leave out
    distances = ((queries[:, None] - decoded) ** 2).sum(axis=2)
    assert recall_of(distances) == pytest.approx(at_ten(recalls), abs=0.02)  # rows of one code may be in any order
    assert found.shape == (60, 10)


def test_rabitq_has_the_bytes_that_faiss_says():
    for bits in (1, 2, 4):
        if not hasattr(faiss, "IndexRaBitQ"):
            pytest.skip("this faiss has no RaBitQ")
        for size, result in results(f"RaBitQ {bits}, asymmetric").items():
            assert size <= 16
            assert 0 < at_ten(result) <= 1


def test_no_code_is_larger_than_asked_for():
    for result in comparison().results:
        assert result.n_bytes <= 16 or result.method in ("half", "float")


def test_the_frontier_is_what_no_other_code_surpasses():
    for result in comparison().results:
        better = [
            other for other in comparison().results
            if other.n_bytes <= result.n_bytes and comparison().recall(other) > comparison().recall(result)
        ]  # fmt: skip
        if result in comparison().frontier:
            assert not better
    sizes = [result.n_bytes for result in comparison().frontier]
    assert sizes == sorted(set(sizes))


def test_the_choice_is_the_smallest_that_is_good_enough():
    enough = [result for result in comparison().results if comparison().recall(result) >= 0.8]
    assert comparison().choice.n_bytes == min(result.n_bytes for result in enough)
    assert f"{comparison().choice.n_bytes} bytes" in comparison().sentence
    assert replace(comparison(), wished=0.0).choice.n_bytes == comparison().results[0].n_bytes


def test_what_all_rows_share_is_said_if_it_is_more_than_the_codes():
    one = Result("residual", "asymmetric", 8, 2_000_000, {Cut(10, 10): Measured(0.95, 0.94, 0.96)}, 1.0, 1.0)
    few = Comparison((one,), 0.9, Cut(10, 10), 5, 1_000, 32)
    assert "take 2.00 MB besides, more than all codes (0.01 MB)." in few.sentence
    assert "besides" not in replace(few, n_database=1_000_000).sentence
    assert few.sentence.endswith("learned from the rows searched; of rows that come later they find fewer.")


def test_no_code_may_be_good_enough():
    one = Result("ITQ", "Hamming", 4, 0, {Cut(10, 10): Measured(0.5, 0.4, 0.6)}, 1.0, 1.0)
    found = Comparison((one,), 0.9, Cut(10, 10), 5, 50, 8)
    assert found.choice is None
    assert found.sentence.startswith(
        "No code reaches recall 90 % of the 10 nearest. ITQ, Hamming comes nearest: 4 bytes"
    )


def test_the_same_seed_gives_the_same_recalls():
    again = compare(X, recall=0.8, n_bytes=[3], methods=["ITQ", "OPQ", "residual"], n_queries=60)
    for result in again.results:
        assert result.recalls == results(result.name)[result.n_bytes].recalls


def test_cosine_is_the_order_of_rows_of_length_one():
    unit = X / np.linalg.norm(X, axis=1, keepdims=True)
    a = compare(X, methods=["SQ 8"], n_bytes=[8], cosine=True).results
    b = compare(unit, methods=["SQ 8"], n_bytes=[8]).results
    assert [r.recalls for r in a] == [r.recalls for r in b]


def test_the_report_is_json_and_a_page():
    facts = json.loads(json.dumps(comparison().to_dict()))
    assert facts["choice"]["method"] == comparison().choice.method
    assert len(facts["results"]) == len(comparison().results)
    page = comparison().to_html()
    assert "<script" not in page
    for name in ("PQ, asymmetric", "RaBitQ 1, asymmetric" if hasattr(faiss, "IndexRaBitQ") else "PQ"):
        assert name in page


@pytest.mark.parametrize("name", ["rotation", "ITQ", "PQ", "OPQ", "SQ 8", "residual"])
def test_codes_may_be_of_rows_that_were_not_learned_from(name):
    """Learned from one half, the other half is searched; results are those of the method on these rows."""
    found = compare(X, methods=[name], n_bytes=[3], n_queries=60, unseen=True)
    if name in ("PQ", "OPQ", "residual"):  # half of these rows are fewer than the centroids
        assert not found.results
        return
    order = np.random.RandomState(0).permutation(len(X))
    queries, learned, searched = X[order[:60]], X[order[60:240]], X[order[240:]]
    assert (found.n_queries, found.n_database, found.unseen) == (60, 180, True)
    assert found.sentence.endswith("All codes were learned from other rows than those searched.")
    near = np.argsort(((queries[:, None].astype(float) - searched) ** 2).sum(axis=2), axis=1)[:, :10]
    (coded,) = [METHODS[name](Training(learned, searched, 0), 3)]
    for result in found.results:
        rows = coded.searches[result.order](queries, 10)
        assert at_ten(result) == pytest.approx(np.mean([np.isin(a, b).mean() for a, b in zip(rows, near, strict=True)]))


@pytest.mark.parametrize(
    ("given", "text"),
    [
        ({"recall": 0}, "recall=0 must be greater than 0 and at most 1"),
        ({"n_bytes": []}, "n_bytes=[] must be positive integers"),
        ({"methods": ["XQ"]}, "methods has 'XQ'; it must be one of sign"),
        ({"n_queries": 419}, "n_queries=419 must be from 2 to 418"),
        ({"candidates": 5}, "k=10 and candidates=5"),
    ],
)
def test_errors_name_the_argument(given, text):
    with pytest.raises(ValueError, match=text.replace("[", r"\[").replace("(", r"\(")):
        compare(X, **{"methods": ["float"], **given})
