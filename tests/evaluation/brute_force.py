"""Slow, literal forms of the measures, for tiny cases: every order of tied rows is walked through."""

from __future__ import annotations

import itertools

import numpy as np


def tie_orders(distances):
    """All rankings (row numbers) of one query that sort by distance."""
    groups = [np.flatnonzero(distances == d) for d in np.unique(distances)]
    for parts in itertools.product(*(itertools.permutations(group) for group in groups)):
        yield [int(row) for part in parts for row in part]


def average_precision(relevant):
    """AP of one ranking, given relevance in rank order."""
    hits, total = 0, 0.0
    for rank, good in enumerate(relevant, start=1):
        if good:
            hits += 1
            total += hits / rank
    return total / hits if hits else np.nan


def precision_at(relevant, k):
    return sum(bool(good) for good in relevant[:k]) / k


def recall_at(relevant, k):
    total = sum(bool(good) for good in relevant)
    return sum(bool(good) for good in relevant[:k]) / total if total else np.nan


def dcg_at(gains, k):
    return sum(gain / np.log2(1 + rank) for rank, gain in enumerate(gains[:k], start=1))


def ndcg_at(gains, k):
    ideal = dcg_at(sorted(gains, reverse=True), k)
    return dcg_at(gains, k) / ideal if ideal else np.nan


def over_orders(distances, grades, measure):
    """The values of ``measure`` over all tie orders, for each query."""
    return [
        np.array([measure([g[row] for row in order]) for order in tie_orders(d)])
        for d, g in zip(np.asarray(distances), np.asarray(grades).tolist(), strict=True)
    ]
