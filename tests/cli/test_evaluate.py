from __future__ import annotations

import json

import numpy as np
import pytest

import thpi
from thpi.cli import run
from thpi.ground_truth import label_relevance, nearest_relevance
from thpi.metrics import evaluate, query_mean


def _measures(capsys):
    return json.loads(capsys.readouterr().out)["measures"]


@pytest.fixture
def halves(shop, tmp_path):
    X = np.load(shop / "target.npy")
    labels = np.loadtxt(shop / "labels.txt", dtype=int)
    np.save(tmp_path / "q.npy", X[:50])
    np.save(tmp_path / "d.npy", X[50:])
    np.savetxt(tmp_path / "q.txt", labels[:50], fmt="%d")
    np.save(tmp_path / "l.npy", labels[50:])
    hasher = thpi.load(shop / "shop.thpi")
    del hasher.feature_names_in_
    return X, labels, hasher.transform(X)


def test_values_are_those_of_the_library(shop, tmp_path, capsys, halves):
    X, labels, codes = halves
    names = ["average_precision", "ndcg@5", "mean_average_precision"]
    command = ["evaluate", str(shop / "shop.thpi"), f"{tmp_path}/d.npy", "--queries", f"{tmp_path}/q.npy", "--json"]
    command += [part for name in names for part in ("--measure", name)]
    with_labels = ["--labels", f"{tmp_path}/l.npy", "--query-labels", f"{tmp_path}/q.txt"]
    for more, relevance in (
        (with_labels, label_relevance(labels[:50], labels[50:])),
        (["--neighbours", "7"], nearest_relevance(X[:50], X[50:], 7)),
    ):
        assert run([*command, *more]) == 0
        expected = evaluate(codes[:50], codes[50:], relevance, 24, names)
        measured = _measures(capsys)
        assert list(measured) == names
        for name in names:
            assert measured[name]["value"] == pytest.approx(float(query_mean(expected[name])), rel=1e-12)


def test_a_column_of_labels_and_a_file_of_labels_are_alike(shop, capsys):
    assert run(["evaluate", str(shop / "shop.thpi"), str(shop / "shop.csv"), "--labels", "digit", "--json"]) == 0
    first = _measures(capsys)
    command = ["evaluate", str(shop / "shop.thpi"), str(shop / "target.npy"), "--json"]
    assert run([*command, "--labels", str(shop / "labels.txt")]) == 0
    assert _measures(capsys) == first
    assert first["average_precision"]["value"] > 0.2  # chance is one in ten


def test_the_table_names_every_measure(shop, capsys):
    assert run(["evaluate", str(shop / "shop.thpi"), str(shop / "target.npy"), "--n-queries", "20"]) == 0
    out = capsys.readouterr().out
    assert "the 50 nearest rows (Euclidean)" in out
    for name in ("average_precision", "precision@10", "recall@100", "lookup_precision@2"):
        assert name in out


def test_bad_input_is_one_line(shop, tmp_path, refused, halves):
    command = ["evaluate", shop / "shop.thpi", shop / "target.npy"]
    assert "'map' must be one of average_precision," in refused([*command, "--measure", "map"])
    assert "precision_recall_curve_macro' must be" in refused([*command, "--measure", "precision_recall_curve_macro"])
    assert "'precision'" in refused([*command, "--measure", "precision"])
    assert "--n-queries 300 must be less" in refused([*command, "--n-queries", "300"])
    assert "--neighbours 200 must be at most" in refused([*command, "--neighbours", "200"])
    assert "--radius 0 must be above 0" in refused([*command, "--radius", "0"])
    table = ["evaluate", shop / "shop.thpi", shop / "shop.csv", "--labels", "sku"]
    assert "no row of DATA has the label of any query ('A-" in refused(table)
    assert "no row of DATA is that near to any query" in refused([*command, "--radius", "1e-9"])
    assert "has 50 labels" in refused([*command, "--labels", tmp_path / "q.txt"])
    assert "needs --queries" in refused([*command, "--query-labels", tmp_path / "q.txt"])
    assert "both files need labels" in refused(
        [*command, "--queries", tmp_path / "q.npy", "--labels", shop / "labels.txt"]
    )
