"""What the tests of machines run in processes of their own: fits on the bundled sets, printed as JSON."""

from __future__ import annotations

import hashlib
import json
import tempfile
from pathlib import Path

import numpy as np

import thpi
from thpi.datasets import load_digits_views, shop_task
from thpi.evaluation import label_relevance, mean_average_precision, nearest_relevance


def digits():
    """Target, source, labels; rows of pairs, of further source rows, of queries and of the database."""
    data = load_digits_views("kar", "zer")
    order = np.random.RandomState(0).permutation(data.n)
    return data.target, data.source, data.labels, order[:150], order[150:500], order[500:800], order[:500]


def shop():
    task = shop_task()
    return task.X, task.S, task.labels, task.pairs, task.texts, task.queries, task.database


def answer(relevance, X, S, labels, pairs, texts, queries, database):
    """Choice, gain and bytes of AutoHasher, and MAP of fresh queries."""
    y = labels[pairs] if relevance == "labels" else None
    hasher = thpi.AutoHasher(32, relevance=relevance, random_state=0)
    hasher.fit(X[pairs], y, privileged=S[pairs], source=S[texts])
    if relevance in ("labels", "groups"):
        relevant = label_relevance(labels[queries], labels[database])
    else:
        space = X if relevance == "target" else S
        relevant = nearest_relevance(space[queries], space[database], 25)
    found = mean_average_precision(hasher.transform(X[queries]), hasher.transform(X[database]), relevant, n_bits=32)
    return {"choice": hasher.choice_, "gain": hasher.gain_, "map": 100 * found.value, "bytes": digest(hasher)}


def quantised():
    """Bytes of ResidualQuantiser, and how many of the ten nearest its codes find."""
    X = load_digits_views("pix").target
    database, queries = X[::2], X[1::2]
    quantiser = thpi.ResidualQuantiser(random_state=0).fit(database)
    found = np.argpartition(quantiser.distances(queries, quantiser.transform(database)), 10, axis=1)[:, :10]
    relevant = nearest_relevance(queries, database, 10)
    return {"recall": 100 * np.take_along_axis(relevant, found, axis=1).mean(), "bytes": digest(quantiser)}


def digest(model):
    with tempfile.TemporaryDirectory() as folder:
        model.save(Path(folder) / "model")
        return hashlib.sha256((Path(folder) / "model").read_bytes()).hexdigest()


if __name__ == "__main__":
    answers = {"quantised": quantised()}
    for name, views in (("digits", digits()), ("shop", shop())):
        for relevance in thpi.RELEVANCES:
            answers[f"{name} {relevance}"] = answer(relevance, *views)
    print(json.dumps(answers))
